"""From the source of a kernel to code: names replaced by what they stand for, small kernels written out.

Operands are constants, so a register is a variable with a name. A kernel without loops and effects comes to one
expression, a small one stands where it is called, and a large one is kept as a subroutine.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surpass.errors import ExportError
from surpass.machine.calls import enter, leave
from surpass.machine.state import FIRST, SIZE, Outcome, State
from surpass.programs.export import syntax
from surpass.programs.export.source import KernelSource, is_kernel, read_source

HAD_FRAME = "was open"
"""Stands for what `leave` returns; no name that a kernel could use itself."""
OUTCOMES = tuple(outcome.name for outcome in (Outcome.RUNNING, Outcome.SOLVED, Outcome.WRONG_ANSWER))
"""The outcomes that kernels return, as exported files call them, by their numbers."""
MOST_TURNS = 64
"""How many turns of a loop are written out."""

_FUNCTIONS: dict[Any, str] = {abs: "abs", math.fabs: "abs", int: "int", np.int64: "int", float: "float"} | {
    np.float64: "float",
    **{getattr(math, known): known for known in ("sqrt", "floor", "ceil", "exp", "log")},
}
ALLOWED = (
    "is not in the part of Python that is exported: numbers, tuples, the arrays of the state, if, while, for over a"
    f" range, min, max, {', '.join(sorted(set(_FUNCTIONS.values())))} and other kernels"
)


class StateArray(str):
    """One of the arrays of the state, by its name."""


STATE: Any = State(*map(StateArray, State._fields))  # type: ignore[arg-type]  # names stand for the arrays
AbstractValue = Any
"""The value of an expression of a kernel: code for a number, else what it is: an array, a tuple, a module, a kernel."""


class _DependsOnRunError(ExportError):
    """A register, or a single real, whose number depends on the run; exported code keeps them in variables."""


@dataclass
class _Scope:
    """A kernel while it is written."""

    source: KernelSource
    meanings: dict[str, AbstractValue]
    is_action: bool = False
    """Whether it may open and close calls."""
    code: list[ast.stmt] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """What its own variables are called in the exported code."""
    loops: int = 0
    conditional: int = 0
    """Above 0 inside what may not be looked at: a part of a condition, or a loop's test."""


class Translator:
    """Writes the code of kernels."""

    def __init__(
        self,
        registers: Mapping[int, str],
        *,
        assumed: Mapping[int, int],
        query: str = "",
        reals: Sequence[str] | None = None,
        reserved: Iterable[str] = (),
    ) -> None:
        self.registers, self.assumed, self.query = registers, assumed, query
        self.has_real_array = reals is None
        self.subroutines: dict[str, syntax.Subroutine] = {}
        """The kernels kept as subroutines, by name, each after those that it calls."""
        self._by_key: dict[Any, syntax.Subroutine | None] = {}
        self._memory = {*registers.values(), *(reals or ()), query, "items", "reals", *OUTCOMES, *keyword.kwlist}
        # The names that no variable may have, those that are taken, and those of variables that are set once.
        self._names: tuple[set[str], set[str], set[str]] = set(reserved), set(), set()

    def expression(self, kernel: Any, *arguments: int | ast.expr, state: AbstractValue = STATE) -> ast.expr:
        """Return a kernel as an expression, given the state, if it takes it, and numbers."""
        scope = _Scope(read_source(kernel), {}, conditional=1)
        given = [*([] if state is None else [state]), *map(_lift, arguments)]
        return self._need(self._run(scope.source, given, scope, scope.source.tree), scope.source.tree, scope)

    def action(self, kernel: Any, numbers: Sequence[int] = (), *, is_start: bool = False) -> syntax.Block:
        """Return the code of a kernel that acts, given the state and numbers; it ends with the outcomes returned.

        A start runs once, so it is written out even if it is large.
        """
        self._names = self._names[0], set(), set()
        source = read_source(kernel)
        arguments: list[AbstractValue] = [STATE, *map(syntax.constant, numbers)]
        scope = _Scope(source, {}, is_action=True)
        if source.is_small or source.opens_calls or (is_start and not source.returns_from_loop):
            self._write_out(source, arguments, scope)
        else:
            outcome = self._run(source, arguments, scope, source.tree)
            scope.code.append(ast.Return(self._need(outcome, source.tree, scope)))
        return tuple(scope.code)

    # Statements

    def _block(self, lines: Sequence[ast.stmt], scope: _Scope, loops: int = 0) -> list[ast.stmt]:
        outside, scope.code = scope.code, []
        scope.loops += loops
        self._statements(lines, scope)
        scope.loops -= loops
        written, scope.code = scope.code, outside
        return written

    def _statements(self, lines: Sequence[ast.stmt], scope: _Scope) -> bool:
        """Write statements; return whether nothing can come behind them."""
        return any(self._statement(line, scope) for line in lines)

    def _statement(self, line: ast.stmt, scope: _Scope) -> bool:
        match line:
            case ast.Return(value=ast.Call() as made) if self._is_written_out(made, scope):
                self._write_out(read_source(scope.source.called(made)), self._arguments(made, scope), scope)
                return True
            case ast.Return():
                scope.code.append(ast.Return(None if line.value is None else self._code(line.value, scope)))
                return True
            case ast.If():
                test = syntax.truth(self._code(line.test, scope))
                known = syntax.is_true(test)
                if known is not None:
                    return self._statements(line.body if known else line.orelse, scope)
                scope.code.append(ast.If(test, self._block(line.body, scope), self._block(line.orelse, scope)))
            case ast.While(orelse=[]):
                test = syntax.truth(self._code(line.test, scope, 1))
                scope.code.append(ast.While(test, self._block(line.body, scope, 1), []))
                return syntax.is_true(test) is True and not any(isinstance(n, ast.Break) for n in ast.walk(line))
            case ast.For(orelse=[], target=ast.Name(id=own)) if scope.source.assignments[own] == 1:
                return self._count(line, own, scope)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(line, scope)
            case ast.Break() | ast.Continue():
                scope.code.append(line)
                return True
            case ast.Expr(value=ast.Call() as made):
                self._meaning(made, scope)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise scope.source.refuse(line, ALLOWED)
        return False

    def _is_written_out(self, made: ast.Call, scope: _Scope) -> bool:
        """Tell whether what a kernel returns is another small kernel's work on the state."""
        kernel = scope.source.called(made)
        if not scope.is_action or scope.loops or not is_kernel(kernel) or kernel in (enter, leave):
            return False
        source = read_source(kernel)
        return not source.is_expression and (source.is_small or source.opens_calls)

    def _write_out(self, source: KernelSource, arguments: Sequence[AbstractValue], scope: _Scope) -> None:
        """Write the statements of a kernel in the place of its call, which is the last thing that a scope does."""
        inner = _Scope(source, {}, scope.is_action, scope.code)
        for parameter, value in source.given(arguments).items():
            self._set_name(parameter, value, inner)
        self._statements(source.body, inner)

    def _count(self, loop: ast.For, own: str, scope: _Scope) -> bool:
        """Write a loop over a range; turn by turn if they are few and known."""
        source, ranged = scope.source, loop.iter
        if not isinstance(ranged, ast.Call) or source.called(ranged) is not range or not 1 <= len(ranged.args) <= 3:
            raise source.refuse(loop.iter, "is not a range")
        bounds = [self._need(bound, ranged, scope) for bound in self._arguments(ranged, scope)]
        bounds = [syntax.constant(0), *bounds] if len(bounds) == 1 else bounds
        bounds = [*bounds, syntax.constant(1)][:3]
        known = [found for bound in bounds if isinstance(found := syntax.number(bound), int)]
        inner = [node for part in loop.body for node in ast.walk(part)]
        leaves = any(isinstance(node, ast.Break | ast.Continue) for node in inner)
        if len(known) == 3 and len(range(*known)) <= MOST_TURNS and not leaves:
            for turn in range(*known):
                scope.meanings[own] = syntax.constant(turn)
                if self._statements(loop.body, scope):
                    return True
            return False
        if not syntax.number(bounds[2]):
            raise source.refuse(loop, "must have a step that is known")
        reads = [sum(isinstance(n, ast.Name) and n.id == own for n in part) for part in (ast.walk(source.tree), inner)]
        if reads[0] > reads[1] + 1:
            raise source.refuse(loop.target, "is read outside its loop")
        counter = self._fresh(own)
        scope.meanings[own] = syntax.whole(counter)
        body = self._block(loop.body, scope, 1)
        if (set(syntax.assigned(body)) | self._changed_by_calls(body)) & syntax.names_in(bounds[1]):
            bounds[1] = self._keep("last", bounds[1], scope)
        scope.code.append(ast.For(syntax.name(counter), syntax.call("range", *bounds), body, []))
        return False

    def _assign(self, line: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope) -> None:
        pairs = self._pairs(line, scope)
        if len(pairs) > 1:
            # All values are taken before the first is written.
            pairs = [(t, self._keep(t.id if isinstance(t, ast.Name) else "value", v, scope)) for t, v in pairs]
        for target, value in pairs:
            if isinstance(target, ast.Name):
                self._set_name(target.id, value, scope)
                continue
            if not isinstance(target, ast.Subscript):
                raise scope.source.refuse(line, ALLOWED)
            where = self._element(target, scope, is_set=True)
            if isinstance(where, ast.Name | ast.Subscript):  # and not a register that is taken to hold a value
                scope.code.append(syntax.assign(where, self._need(value, line, scope)))

    def _pairs(
        self, line: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope
    ) -> list[tuple[ast.expr, AbstractValue]]:
        """Return each target of an assignment with its value."""
        if line.value is None:
            return []
        if isinstance(line, ast.AugAssign):
            return [(line.target, self._meaning(ast.BinOp(line.target, line.op, line.value), scope))]
        value = self._meaning(line.value, scope)
        target = line.targets[0] if isinstance(line, ast.Assign) else line.target
        if isinstance(line, ast.Assign) and len(line.targets) > 1:
            raise scope.source.refuse(line, "sets several things to one value; write one line for each")
        if not isinstance(target, ast.Tuple):
            return [(target, value)]
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            raise scope.source.refuse(line, ALLOWED)
        return [(own, _lift(part)) for own, part in zip(target.elts, value, strict=True)]

    def _set_name(self, own: str, value: AbstractValue, scope: _Scope) -> None:
        is_kept = _is_fixed(value) or (isinstance(value, ast.Name) and value.id in self._names[2])
        if not isinstance(value, ast.expr) or (is_kept and scope.source.assignments[own] == 1):
            scope.meanings[own] = self._keep(own, value, scope) if isinstance(value, tuple) else value
            return
        if own not in scope.variables:
            scope.variables[own] = self._fresh(own)
        scope.meanings[own] = variable = syntax.name(scope.variables[own])
        scope.code.append(syntax.assign(variable, value))

    def _keep(self, like: str, value: Any, scope: _Scope) -> Any:
        """Return a value that nothing changes: a constant, or a variable that is set once."""
        if _is_fixed(value):
            return value
        if isinstance(value, tuple):
            return tuple(self._keep(like, part, scope) for part in value)
        variable = syntax.name(self._fresh(like))
        self._names[2].add(variable.id)
        scope.code.append(syntax.assign(variable, value))
        return variable

    def _fresh(self, like: str) -> str:
        """Return a name for a new variable, like one that is given."""
        like = like.strip("_") or "value"
        count, found = 1, like
        while any(found in names for names in (*self._names, self.subroutines)):
            count += 1
            found = f"{like}{count}"
        self._names[1].add(found)
        return found

    # Expressions

    def _code(self, node: ast.expr, scope: _Scope, conditional: int = 0) -> ast.expr:
        """Return the value of an expression of a kernel, which must be a number."""
        scope.conditional += conditional
        found = self._need(self._meaning(node, scope), node, scope)
        scope.conditional -= conditional
        return found

    def _need(self, meaning: AbstractValue, node: ast.AST, scope: _Scope) -> ast.expr:
        if not isinstance(meaning, ast.expr):
            raise scope.source.refuse(node, "must be a number")
        return meaning

    def _meaning(self, node: ast.expr, scope: _Scope) -> AbstractValue:
        """Return the value of an expression of a kernel."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node
            case ast.Name(id=own):
                if own in scope.meanings:
                    return scope.meanings[own]
                if own in scope.source.names:
                    return _lift(scope.source.names[own], own)
                raise scope.source.refuse(node, "has no value here")
            case ast.Tuple():
                return tuple(self._meaning(element, scope) for element in node.elts)
            case ast.Attribute(attr=own):
                owner = self._meaning(node.value, scope)
                if not isinstance(owner, ast.expr) and hasattr(owner, own):
                    return _lift(getattr(owner, own), own)
            case ast.Subscript():
                return self._element(node, scope)
            case ast.BinOp() if isinstance(node.op, syntax.ARITHMETIC):
                return syntax.fold(ast.BinOp(self._code(node.left, scope), node.op, self._code(node.right, scope)))
            case ast.UnaryOp(op=ast.Not()):
                return syntax.negate(syntax.truth(self._code(node.operand, scope)))
            case ast.UnaryOp(op=ast.USub()):
                return syntax.fold(ast.BinOp(syntax.constant(-1), ast.Mult(), self._code(node.operand, scope)))
            case ast.BoolOp():
                sides = [self._code(side, scope, int(side is not node.values[0])) for side in node.values]
                for side in sides:
                    if not isinstance(side, ast.Constant | ast.Name | ast.Call) and not syntax.is_truth(side):
                        raise scope.source.refuse(node, "must join truth values")
                return syntax.fold(ast.BoolOp(node.op, sides))
            case ast.Compare() if all(isinstance(op, syntax.COMPARISONS) for op in node.ops):
                sides = [self._code(side, scope) for side in (node.left, *node.comparators)]
                pairs = zip(sides, node.ops, sides[1:], strict=False)
                return syntax.all_of(*(syntax.fold(ast.Compare(a, [op], [b])) for a, op, b in pairs))
            case ast.IfExp():
                test = syntax.truth(self._code(node.test, scope))
                known = syntax.is_true(test)
                if known is not None:
                    return self._meaning(node.body if known else node.orelse, scope)
                return syntax.fold(ast.IfExp(test, self._code(node.body, scope, 1), self._code(node.orelse, scope, 1)))
            case ast.Call():
                return self._call(node, scope)
        raise scope.source.refuse(node, ALLOWED)

    def _element(self, node: ast.Subscript, scope: _Scope, *, is_set: bool = False) -> AbstractValue:
        """Return what stands at a place of an array or a tuple, or, where it is set, the place."""
        owner, source = self._meaning(node.value, scope), scope.source
        if isinstance(node.slice, ast.Slice):
            raise source.refuse(node, ALLOWED)
        index = self._code(node.slice, scope)
        known = syntax.number(index)
        array = owner if isinstance(owner, StateArray) else None
        if array == "registers":
            if not isinstance(known, int) or known < 0:
                raise _DependsOnRunError(str(source.refuse(node, "is a register whose number depends on the run")))
            if known not in {*self.registers, *self.assumed} or (is_set and known < FIRST):
                raise source.refuse(node, "belongs to the machine")
            known_value = self.assumed.get(known)
            return syntax.whole(self.registers[known]) if known_value is None else syntax.constant(known_value)
        if array == "stack":
            raise source.refuse(node, "is on the call stack; only the machine's enter and leave are exported")
        if self.query and array == "items" and syntax.same(index, syntax.name(self.registers[SIZE])):
            if is_set:
                raise source.refuse(node, f"is the {self.query}, which cannot be changed")
            return syntax.whole(self.query)
        if array == "reals" and not self.has_real_array and known is None:
            raise _DependsOnRunError(str(source.refuse(node, "is a real whose number depends on the run")))
        if array is not None:
            return syntax.place(array, index)
        if is_set or not isinstance(owner, tuple) or not isinstance(known, int) or not 0 <= known < len(owner):
            raise source.refuse(node, ALLOWED)
        return _lift(owner[known])

    # Calls

    def _arguments(self, node: ast.Call, scope: _Scope) -> list[AbstractValue]:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise scope.source.refuse(node, "has named or starred arguments; give them in their places")
        return [self._meaning(argument, scope) for argument in node.args]

    def _call(self, node: ast.Call, scope: _Scope) -> AbstractValue:
        thing = self._meaning(node.func, scope)
        if not callable(thing):
            raise scope.source.refuse(node, ALLOWED)
        arguments = self._arguments(node, scope)
        if thing in (enter, leave):
            return self._enter_or_leave(thing, arguments, node, scope)
        if is_kernel(thing):
            return self._run(read_source(thing), arguments, scope, node)
        numbers = [self._need(argument, node, scope) for argument in arguments]
        if thing in (min, max) and len(numbers) > 1:
            found, *rest = numbers
            for more in rest:
                found = syntax.fold(syntax.call(thing.__name__, found, more))
            return found
        if thing is bool and len(numbers) == 1:
            return syntax.truth(numbers[0])
        if thing not in _FUNCTIONS or len(numbers) != 1:
            raise scope.source.refuse(node, ALLOWED)
        is_whole = _FUNCTIONS[thing] == "int" and syntax.is_truth(numbers[0])
        return numbers[0] if is_whole else syntax.call(_FUNCTIONS[thing], numbers[0])

    def _enter_or_leave(
        self, thing: Any, arguments: list[AbstractValue], node: ast.Call, scope: _Scope
    ) -> AbstractValue:
        if not scope.is_action or scope.loops or scope.conditional:
            raise scope.source.refuse(node, "must stand on its own in the kernel of an instruction")
        numbers = [self._need(argument, node, scope) for argument in arguments[1:]]
        if thing is leave:
            scope.code.append(syntax.CloseCall(numbers[0]))
            return syntax.name(HAD_FRAME)
        function, receiver = map(syntax.number, numbers)
        if not isinstance(function, int) or not isinstance(receiver, int):
            raise scope.source.refuse(node, "must open a function that is known beforehand")
        scope.code.append(syntax.OpenCall(function, receiver))
        return None

    def _run(
        self, source: KernelSource, arguments: Sequence[AbstractValue], scope: _Scope, node: ast.AST
    ) -> AbstractValue:
        """Return a call of a kernel as an expression; one with effects is a statement before it."""
        if source.is_expression:
            return self._follow(source.body, _Scope(source, source.given(arguments)))
        try:
            subroutine, given = self._subroutine(source, arguments, baked=False)
        except _DependsOnRunError:
            subroutine, given = self._subroutine(source, arguments, baked=True)
        made = syntax.call(subroutine.name, *given)
        returned = [line.value for line in syntax.statements(subroutine.body) if isinstance(line, ast.Return)]
        has_effects = bool(self._changed_by_calls([ast.Expr(made)]))
        if has_effects and scope.conditional:
            raise scope.source.refuse(node, "has effects, so it cannot stand in a part of a condition")
        if not any(returned):
            scope.code.append(ast.Expr(made))
            return None
        if not has_effects:
            return made
        is_outcome = all(isinstance(value, ast.Name) and value.id in OUTCOMES for value in returned)
        kept: ast.expr = self._keep("outcome" if is_outcome else source.name, made, scope)
        return kept

    def _follow(self, lines: Sequence[ast.stmt], scope: _Scope) -> AbstractValue:
        """Return what a kernel without loops and effects returns."""
        for at, line in enumerate(lines):
            match line:
                case ast.Return():
                    return None if line.value is None else self._meaning(line.value, scope)
                case ast.If():
                    test = syntax.truth(self._code(line.test, scope))
                    rest, ways = lines[at + 1 :], (line.body, line.orelse)
                    known = syntax.is_true(test)
                    if known is not None:
                        return self._follow([*ways[not known], *rest], scope)
                    values = [self._follow([*way, *rest], _Scope(scope.source, dict(scope.meanings))) for way in ways]
                    return syntax.fold(ast.IfExp(test, *(self._need(value, line, scope) for value in values)))
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    for target, value in self._pairs(line, scope):
                        assert isinstance(target, ast.Name)
                        scope.meanings[target.id] = value
                case _ if not isinstance(line, ast.Pass | ast.Expr):
                    raise scope.source.refuse(line, ALLOWED)
        return None

    def _changed_by_calls(self, block: Iterable[ast.stmt]) -> set[str]:
        """Return the registers and arrays that the subroutines change which a block calls."""
        found: set[str] = set()
        for title in syntax.names_in(*block) & self.subroutines.keys():
            body = self.subroutines[title].body
            found |= (set(syntax.assigned(body)) & self._memory) | self._changed_by_calls(body)
        return found

    def _subroutine(
        self, source: KernelSource, arguments: Sequence[AbstractValue], *, baked: bool
    ) -> tuple[syntax.Subroutine, list[ast.expr]]:
        """Return the subroutine of a kernel and the arguments to call it with; those it cannot take are worked in."""
        values = source.given(arguments)
        given = {
            own: value
            for own, value in values.items()
            if isinstance(value, ast.expr) and not (baked and isinstance(value, ast.Constant))
        }
        key = (source.function, *(_identify(value) for own, value in values.items() if own not in given))
        if key in self._by_key:
            made = self._by_key[key]
            if made is None:
                raise ExportError(f"kernel {source.name!r} cannot be exported: it calls itself")
            return made, list(given.values())
        outside, self._by_key[key] = self._names, None
        self._names = self._memory, set(), set()
        try:
            scope = _Scope(source, {})
            parameters = {own: self._fresh(own) for own in given}
            self._names[2].update(parameters.values())
            for own, value in values.items():
                self._set_name(own, syntax.name(parameters[own]) if own in given else value, scope)
            self._statements(source.body, scope)
        finally:
            self._names = outside
            del self._by_key[key]
        title = self._fresh(source.name)
        made = syntax.Subroutine(title, source.summary, tuple(parameters.values()), tuple(scope.code))
        self._by_key[key] = self.subroutines[title] = made
        return made, list(given.values())


def _is_fixed(value: AbstractValue) -> bool:
    """Tell whether nothing can change a value."""
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return not isinstance(value, ast.expr) or isinstance(value, ast.Constant) or syntax.same(value, syntax.name("n"))


def _identify(value: AbstractValue) -> object:
    if isinstance(value, tuple):
        return tuple(_identify(_lift(part)) for part in value)
    return ast.dump(value) if isinstance(value, ast.expr) else id(value)


def _lift(thing: Any, label: str = "") -> AbstractValue:
    """Return what a thing of Python means in a kernel: a number as code, all else as it is."""
    if isinstance(thing, bool | np.bool_ | float | np.floating):
        return syntax.constant(thing.item() if isinstance(thing, np.generic) else thing)
    if isinstance(thing, int | np.integer):
        label = "WRONG_ANSWER" if label == "WRONG" else label
        is_outcome = label in OUTCOMES and OUTCOMES.index(label) == thing
        return syntax.whole(label) if is_outcome else syntax.constant(int(thing))
    return thing
