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
from types import ModuleType
from typing import Any

import numpy as np

from surpass.errors import ExportError
from surpass.machine.calls import enter, leave
from surpass.machine.state import FIRST, SIZE, Outcome, State
from surpass.programs.export.code import (
    Block,
    CloseCall,
    OpenCall,
    Subroutine,
    all_of,
    assign,
    assigned,
    call,
    compare,
    constant,
    fold,
    is_true,
    is_truth,
    name,
    names_in,
    number,
    place,
    same,
    statements,
    truth,
    whole,
)
from surpass.programs.export.source import KernelSource, is_kernel, opens_calls, read_source

__all__ = ["FUNCTIONS", "OUTCOMES", "WAS_OPEN", "Translator"]

WAS_OPEN = "was open"
"""Stands for what `leave` returns; no name that a kernel could use itself."""
OUTCOMES = tuple(outcome.name for outcome in (Outcome.RUNNING, Outcome.SOLVED, Outcome.WRONG_ANSWER))
"""The outcomes that kernels return, as exported files call them, by their numbers."""
MOST_TURNS = 64
"""How many turns of a loop are written out."""

FUNCTIONS: dict[Any, str] = {
    abs: "abs",
    math.fabs: "abs",
    int: "int",
    np.int64: "int",
    float: "float",
    np.float64: "float",
    math.sqrt: "sqrt",
    math.floor: "floor",
    math.ceil: "ceil",
    math.exp: "exp",
    math.log: "log",
}
"""The functions of one number that are exported."""
_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod) + (
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.LShift,
    ast.RShift,
)
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">="}
ALLOWED = (
    "is not in the part of Python that is exported: numbers, tuples, the arrays of the state, if, while, for over a"
    f" range, min, max, {', '.join(sorted(set(FUNCTIONS.values())))} and other kernels"
)


class StateArray(str):
    """One of the arrays of the state, by its name."""


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing of Python that is no number: the state, a module, a class, a tuple with names or a kernel."""

    what: Any


STATE = Thing(State)
Meaning = ast.expr | StateArray | Thing | tuple["Meaning", ...] | None
"""What an expression of a kernel comes to: code, or something that is known beforehand."""


class _DependsOnRunError(ExportError):
    """A register, or a single real, whose number depends on the run; exported code keeps them in variables."""


@dataclass
class _Scope:
    """A kernel while it is written."""

    source: KernelSource
    meanings: dict[str, Meaning]
    is_action: bool = False
    """Whether it may open and close calls."""
    code: list[ast.stmt] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """What its own variables are called in the exported code."""
    conditional: int = 0
    """Above 0 inside what may not be looked at: a part of a condition, or a loop's test."""
    loops: int = 0


class Translator:
    """Writes the code of kernels."""

    def __init__(
        self,
        registers: Mapping[int, str],
        *,
        assumed: Mapping[int, int],
        query: str = "",
        has_real_array: bool = False,
        reserved: Iterable[str] = (),
    ) -> None:
        self.registers, self.assumed, self.query, self.has_real_array = registers, assumed, query, has_real_array
        self.subroutines: dict[str, Subroutine] = {}
        """The kernels kept as subroutines, by name, each after those that it calls."""
        self._by_key: dict[Any, Subroutine] = {}
        self._open: set[Any] = set()
        self._reserved = set(reserved)
        """The names that no variable beside the code of the program may have."""
        self._memory = {*registers.values(), query, "items", "reals", *OUTCOMES, *keyword.kwlist}
        """The names that no variable of a subroutine may have."""
        self._taken: set[str] = set()
        self._kept: set[str] = set()
        """The names of the variables that are set once: their values stay what they are."""

    def expression(self, kernel: Any, numbers: Sequence[int]) -> ast.expr:
        """Return what a kernel that is asked comes to, given the state and numbers."""
        arguments = [STATE, *map(constant, numbers)]
        source = read_source(kernel)
        if source.is_expression:
            found = self._follow(source, arguments)
        else:
            subroutine, given = self._subroutine(source, arguments)
            if self.changes(subroutine):
                raise ExportError(f"kernel {source.name!r} cannot be exported: it changes the state it is asked about")
            found = call(subroutine.name, *given)
        if not isinstance(found, ast.expr):
            raise ExportError(f"kernel {source.name!r} cannot be exported: it must return a number")
        return found

    def follow(self, kernel: Any, *arguments: ast.expr) -> ast.expr:
        """Return what a kernel without loops and effects makes of numbers."""
        found = self._follow(read_source(kernel), arguments)
        assert isinstance(found, ast.expr)
        return found

    def register(self, index: int) -> ast.expr:
        """Return a register as a variable."""
        return whole(self.registers[index])

    def action(self, kernel: Any, numbers: Sequence[int] = (), *, is_start: bool = False) -> Block:
        """Return the code of a kernel that acts, given the state and numbers; it ends with the outcomes returned.

        A start runs once, so it is written out even if it is large.
        """
        self._taken, self._kept = set(), set()
        source, arguments = read_source(kernel), [STATE, *map(constant, numbers)]
        scope = _Scope(source, {}, is_action=True)
        if source.is_small or opens_calls(kernel) or (is_start and not source.returns_from_loop):
            self._write_out(source, arguments, scope)
        else:
            scope.code.append(
                ast.Return(self._number(self._run(source, arguments, scope, source.tree), source.tree, scope))
            )
        return tuple(scope.code)

    # Statements

    def _block(self, lines: Sequence[ast.stmt], scope: _Scope) -> list[ast.stmt]:
        outside, scope.code = scope.code, []
        self._statements(lines, scope)
        inside, scope.code = scope.code, outside
        return inside

    def _statements(self, lines: Sequence[ast.stmt], scope: _Scope) -> bool:
        """Write statements; return whether nothing can come behind them."""
        return any(self._statement(line, scope) for line in lines)

    def _statement(self, line: ast.stmt, scope: _Scope) -> bool:
        match line:
            case ast.Return(value=ast.Call() as made) if self._is_written_out(made, scope):
                self._write_out(read_source(scope.source.called(made)), self._arguments(made, scope), scope)
                return True
            case ast.Return(value=None):
                scope.code.append(ast.Return(None))
                return True
            case ast.Return(value=ast.expr() as value):
                scope.code.append(ast.Return(self._number(self._meaning(value, scope), value, scope)))
                return True
            case ast.If():
                return self._if(line, scope)
            case ast.For() | ast.While() if not line.orelse:
                return self._loop(line, scope)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(line, scope)
            case ast.Break() | ast.Continue():
                scope.code.append(type(line)())
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
        return not source.is_expression and (source.is_small or opens_calls(kernel))

    def _write_out(self, source: KernelSource, arguments: Sequence[Meaning], scope: _Scope) -> None:
        """Write the statements of a kernel in the place of its call, which is the last thing that a scope does."""
        self._check_arguments(source, arguments)
        inner = _Scope(source, {}, scope.is_action, scope.code)
        for parameter, value in zip(source.parameters, arguments, strict=True):
            self._set_name(parameter, value, inner)
        self._statements(source.body, inner)

    def _if(self, line: ast.If, scope: _Scope) -> bool:
        test = truth(self._number(self._meaning(line.test, scope), line.test, scope))
        known = is_true(test)
        if known is not None:
            return self._statements(line.body if known else line.orelse, scope)
        then, otherwise = self._block(line.body, scope), self._block(line.orelse, scope)
        scope.code.append(ast.If(test, then or [ast.Pass()], otherwise))
        return False

    def _loop(self, loop: ast.For | ast.While, scope: _Scope) -> bool:
        source = scope.source
        if isinstance(loop, ast.While):
            scope.conditional += 1
            test = truth(self._number(self._meaning(loop.test, scope), loop.test, scope))
            scope.conditional -= 1
            scope.loops += 1
            scope.code.append(ast.While(test, self._block(loop.body, scope), []))
            scope.loops -= 1
            return is_true(test) is True and not any(isinstance(node, ast.Break) for node in ast.walk(loop))
        ranged = loop.iter
        if not isinstance(ranged, ast.Call) or source.called(ranged) is not range or not 1 <= len(ranged.args) <= 3:
            raise source.refuse(loop.iter, "is not a range")
        bounds = [self._number(m, ranged, scope) for m in self._arguments(ranged, scope)]
        bounds = [constant(0), *bounds] if len(bounds) == 1 else bounds
        bounds = [*bounds, constant(1)] if len(bounds) == 2 else bounds
        known = [found for bound in bounds if isinstance(found := number(bound), int)]
        nodes = [node for part in loop.body for node in ast.walk(part)]
        if not isinstance(loop.target, ast.Name) or source.assignments[loop.target.id] > 1:
            raise source.refuse(loop, "must count one variable, which nothing else sets")
        if (
            len(known) == 3
            and len(range(*known)) <= MOST_TURNS
            and not any(isinstance(node, ast.Break | ast.Continue) for node in nodes)
        ):
            for turn in range(*known):
                scope.meanings[loop.target.id] = constant(turn)
                if self._statements(loop.body, scope):
                    return True
            return False
        step = number(bounds[2])
        if not isinstance(step, int) or step == 0:
            raise source.refuse(loop, "must have a step that is known")
        reads = sum(isinstance(node, ast.Name) and node.id == loop.target.id for node in ast.walk(source.tree))
        if reads - 1 > sum(isinstance(node, ast.Name) and node.id == loop.target.id for node in nodes):
            raise source.refuse(loop.target, "is read outside its loop")
        counter = self._fresh(loop.target.id)
        scope.meanings[loop.target.id] = whole(counter)
        scope.loops += 1
        body = self._block(loop.body, scope)
        scope.loops -= 1
        changed = set(assigned(body)) | self._changed_by_calls(body)
        if changed & names_in(bounds[1]):
            bounds[1] = self._keep("last", bounds[1], scope)
        scope.code.append(ast.For(name(counter), call("range", *bounds), body, []))
        return False

    def _assign(self, line: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope) -> None:
        if line.value is None:
            return
        if isinstance(line, ast.AugAssign):
            value, targets = self._meaning(ast.BinOp(line.target, line.op, line.value), scope), [line.target]
        else:
            value = self._meaning(line.value, scope)
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
        pairs: list[tuple[ast.expr, Meaning]] = []
        for target in targets:
            if not isinstance(target, ast.Tuple):
                pairs.append((target, value))
                continue
            parts = tuple(StateArray(array) for array in State._fields) if value is STATE else value
            if not isinstance(parts, tuple) or len(parts) != len(target.elts):
                raise scope.source.refuse(line, ALLOWED)
            pairs += zip(target.elts, parts, strict=True)
        if len(pairs) > 1:
            # All values are taken before the first is written.
            pairs = [(target, self._keep(_hint(target), value, scope)) for target, value in pairs]
        for target, value in pairs:
            if isinstance(target, ast.Name):
                self._set_name(target.id, value, scope)
            elif isinstance(target, ast.Subscript):
                self._set_place(target, value, scope)
            else:
                raise scope.source.refuse(line, ALLOWED)

    def _set_name(self, own: str, value: Meaning, scope: _Scope) -> None:
        is_kept = _is_fixed(value) or (isinstance(value, ast.Name) and value.id in self._kept)
        if not isinstance(value, ast.expr) or (is_kept and scope.source.assignments[own] == 1):
            scope.meanings[own] = self._keep(own, value, scope) if isinstance(value, tuple) else value
            return
        if own not in scope.variables:
            scope.variables[own] = self._fresh(own)
        scope.meanings[own] = variable = name(scope.variables[own])
        scope.code.append(assign(variable, value))

    def _set_place(self, target: ast.Subscript, value: Meaning, scope: _Scope) -> None:
        where = self._element(target, scope, is_set=True)
        if not isinstance(where, ast.Name | ast.Subscript):
            return  # a register that is taken to hold a value
        if not isinstance(value, ast.expr):
            raise scope.source.refuse(target, "must be given a number")
        scope.code.append(assign(where, value))

    def _keep(self, like: str, value: Meaning, scope: _Scope) -> Any:
        """Return a value that stays what it is whatever is changed: a constant, or a variable that is set once."""
        if isinstance(value, tuple):
            return tuple(self._keep(like, part, scope) for part in value)
        if not isinstance(value, ast.expr) or _is_fixed(value):
            return value
        variable = name(self._fresh(like))
        self._kept.add(variable.id)
        scope.code.append(assign(variable, value))
        return variable

    def _fresh(self, like: str) -> str:
        """Return a name for a new variable, like one that is given."""
        like = like.strip("_") or "value"
        count, found = 1, like
        while found in self._taken or found in self._reserved or found in self.subroutines:
            count += 1
            found = f"{like}{count}"
        self._taken.add(found)
        return found

    # Expressions

    def _meaning(self, node: ast.expr, scope: _Scope) -> Meaning:
        """Return what an expression of a kernel comes to."""
        source = scope.source
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node
            case ast.Constant(value=None):
                return None
            case ast.Name(id=own):
                if own in scope.meanings:
                    return scope.meanings[own]
                if own in source.names:
                    return _lift(source.names[own], own)
                raise source.refuse(node, "has no value here")
            case ast.Tuple():
                return tuple(self._meaning(element, scope) for element in node.elts)
            case ast.Attribute():
                owner = self._meaning(node.value, scope)
                if owner is STATE and node.attr in State._fields:
                    return StateArray(node.attr)
                if isinstance(owner, Thing) and owner is not STATE and hasattr(owner.what, node.attr):
                    if isinstance(owner.what, ModuleType | type) or node.attr in getattr(owner.what, "_fields", ()):
                        return _lift(getattr(owner.what, node.attr), node.attr)
            case ast.Subscript():
                return self._element(node, scope)
            case ast.BinOp() if isinstance(node.op, _SIGNS):
                left, right = self._meaning(node.left, scope), self._meaning(node.right, scope)
                if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(node.op, ast.Add):
                    return left + right
                return fold(ast.BinOp(self._number(left, node, scope), node.op, self._number(right, node, scope)))
            case ast.UnaryOp(op=ast.Not()):
                return fold(ast.UnaryOp(node.op, truth(self._number(self._meaning(node.operand, scope), node, scope))))
            case ast.UnaryOp(op=ast.USub()):
                operand = self._number(self._meaning(node.operand, scope), node, scope)
                return fold(ast.BinOp(constant(-1), ast.Mult(), operand))
            case ast.BoolOp():
                sides = []
                for side in node.values:
                    scope.conditional += bool(sides)
                    sides.append(self._number(self._meaning(side, scope), side, scope))
                    scope.conditional -= len(sides) > 1
                    if not isinstance(sides[-1], ast.Constant | ast.Name | ast.Call) and not is_truth(sides[-1]):
                        raise source.refuse(side, "must be a truth value, since it stands beside `and` or `or`")
                return fold(ast.BoolOp(node.op, sides))
            case ast.Compare() if all(type(op) in _COMPARISONS for op in node.ops):
                numbers = [
                    self._number(self._meaning(side, scope), side, scope) for side in (node.left, *node.comparators)
                ]
                signs = [_COMPARISONS[type(op)] for op in node.ops]
                return all_of(*(compare(s, a, b) for s, a, b in zip(signs, numbers, numbers[1:], strict=False)))
            case ast.IfExp():
                return self._choice(node, scope)
            case ast.Call():
                return self._call(node, scope)
        raise source.refuse(node, ALLOWED)

    def _number(self, meaning: Meaning, node: ast.AST, scope: _Scope) -> ast.expr:
        if not isinstance(meaning, ast.expr):
            raise scope.source.refuse(node, "must be a number")
        return meaning

    def _choice(self, node: ast.IfExp, scope: _Scope) -> Meaning:
        test = truth(self._number(self._meaning(node.test, scope), node.test, scope))
        known = is_true(test)
        if known is not None:
            return self._meaning(node.body if known else node.orelse, scope)
        scope.conditional += 1
        ways = [self._meaning(way, scope) for way in (node.body, node.orelse)]
        scope.conditional -= 1
        return self._choose(test, ways[0], ways[1], node, scope)

    def _choose(self, test: ast.expr, then: Meaning, otherwise: Meaning, node: ast.AST, scope: _Scope) -> Meaning:
        """Return one of two meanings by a test that is not known."""
        if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
            return tuple(self._choose(test, a, b, node, scope) for a, b in zip(then, otherwise, strict=True))
        return fold(ast.IfExp(test, self._number(then, node, scope), self._number(otherwise, node, scope)))

    def _element(self, node: ast.Subscript, scope: _Scope, *, is_set: bool = False) -> Meaning:
        """Return what stands at a place of an array or a tuple, or, where it is set, the place."""
        owner, source = self._meaning(node.value, scope), scope.source
        if isinstance(node.slice, ast.Slice):
            raise source.refuse(node, ALLOWED)
        index = self._number(self._meaning(node.slice, scope), node.slice, scope)
        known = number(index)
        if isinstance(owner, StateArray):
            if owner == "registers":
                if not isinstance(known, int) or known < 0:
                    raise _DependsOnRunError(str(source.refuse(node, "is a register whose number depends on the run")))
                if is_set and known < FIRST:
                    raise source.refuse(node, "belongs to the machine")
                if known in self.assumed:
                    return constant(self.assumed[known])
                return whole(self.registers[known])
            if owner == "stack":
                raise source.refuse(node, "is on the call stack; only the machine's enter and leave are exported")
            if self.query and owner == "items" and same(index, name(self.registers[SIZE])):
                if is_set:
                    raise source.refuse(node, f"is the {self.query}, which cannot be changed")
                return whole(self.query)
            if owner == "reals" and not self.has_real_array and known is None:
                raise _DependsOnRunError(str(source.refuse(node, "is a real whose number depends on the run")))
            return place(owner, index)
        parts: Any = owner.what if isinstance(owner, Thing) else owner
        if owner is STATE:
            parts = tuple(StateArray(array) for array in State._fields)
        if (
            is_set
            or not isinstance(parts, tuple)
            or not isinstance(known, int)
            or not -len(parts) <= known < len(parts)
        ):
            raise source.refuse(node, ALLOWED)
        return _lift(parts[known], "") if isinstance(owner, Thing) and owner is not STATE else parts[known]

    # Calls

    def _arguments(self, node: ast.Call, scope: _Scope) -> list[Meaning]:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise scope.source.refuse(node, "has named or starred arguments; give them in their places")
        return [self._meaning(argument, scope) for argument in node.args]

    def _call(self, node: ast.Call, scope: _Scope) -> Meaning:
        called = self._meaning(node.func, scope)
        thing = called.what if isinstance(called, Thing) else None
        arguments = self._arguments(node, scope)
        if thing is len and len(arguments) == 1 and isinstance(arguments[0], tuple):
            return constant(len(arguments[0]))
        if thing in (min, max) and len(arguments) > 1:
            found, *rest = (self._number(argument, node, scope) for argument in arguments)
            for more in rest:
                found = fold(call(thing.__name__, found, more))
            return found
        if thing in (enter, leave):
            return self._enter_or_leave(thing, arguments, node, scope)
        if thing is not None and is_kernel(thing):
            source = read_source(thing)
            return (
                self._follow(source, arguments) if source.is_expression else self._run(source, arguments, scope, node)
            )
        if len(arguments) == 1 and thing is not None and (thing is bool or thing in FUNCTIONS):
            operand = self._number(arguments[0], node, scope)
            if thing is bool:
                return truth(operand)
            return operand if FUNCTIONS[thing] == "int" and is_truth(operand) else call(FUNCTIONS[thing], operand)
        raise scope.source.refuse(node, ALLOWED)

    def _follow(self, source: KernelSource, arguments: Sequence[Meaning]) -> Meaning:
        """Return what a kernel without loops and effects returns."""
        self._check_arguments(source, arguments)
        scope = _Scope(source, dict(zip(source.parameters, arguments, strict=True)))
        return self._follow_block(source.body, scope)

    def _follow_block(self, lines: Sequence[ast.stmt], scope: _Scope) -> Meaning:
        for at, line in enumerate(lines):
            match line:
                case ast.Return(value=None):
                    return None
                case ast.Return(value=ast.expr() as value):
                    return self._meaning(value, scope)
                case ast.If():
                    test = truth(self._number(self._meaning(line.test, scope), line.test, scope))
                    known = is_true(test)
                    rest, ways = list(lines[at + 1 :]), (line.body, line.orelse)
                    if known is not None:
                        return self._follow_block([*ways[not known], *rest], scope)
                    then, otherwise = (
                        self._follow_block([*way, *rest], _Scope(scope.source, dict(scope.meanings))) for way in ways
                    )
                    return self._choose(test, then, otherwise, line, scope)
                case ast.Assign(targets=[ast.Name(id=own)]) | ast.AnnAssign(target=ast.Name(id=own)) if line.value:
                    scope.meanings[own] = self._meaning(line.value, scope)
                case ast.AugAssign(target=ast.Name(id=own)):
                    changed = ast.BinOp(name(own), line.op, line.value)
                    scope.meanings[own] = self._meaning(changed, scope)
                case ast.Assign(targets=[ast.Tuple(elts=elements)]):
                    value = self._meaning(line.value, scope)
                    parts = tuple(StateArray(array) for array in State._fields) if value is STATE else value
                    if not isinstance(parts, tuple) or len(parts) != len(elements):
                        raise scope.source.refuse(line, ALLOWED)
                    for target, part in zip(elements, parts, strict=True):
                        if not isinstance(target, ast.Name):
                            raise scope.source.refuse(line, ALLOWED)
                        scope.meanings[target.id] = part
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise scope.source.refuse(line, ALLOWED)
        return None

    def _enter_or_leave(self, thing: Any, arguments: list[Meaning], node: ast.Call, scope: _Scope) -> Meaning:
        if not scope.is_action or scope.loops or scope.conditional:
            raise scope.source.refuse(node, "must stand on its own in the kernel of an instruction")
        if thing is leave:
            scope.code.append(CloseCall(self._number(arguments[1], node, scope)))
            return name(WAS_OPEN)
        function, receiver = (number(self._number(a, node, scope)) for a in arguments[1:])
        if not isinstance(function, int) or not isinstance(receiver, int):
            raise scope.source.refuse(node, "must open a function that is known beforehand")
        scope.code.append(OpenCall(function, receiver))
        return None

    def _run(self, source: KernelSource, arguments: Sequence[Meaning], scope: _Scope, node: ast.AST) -> Meaning:
        """Return what a call of a kernel that is kept as a subroutine comes to; one with effects stands on its own."""
        subroutine, given = self._subroutine(source, arguments)
        made = call(subroutine.name, *given)
        returned = [s.value for s in statements(subroutine.body) if isinstance(s, ast.Return)]
        if not any(returned):
            scope.code.append(ast.Expr(made))
            return None
        if not self.changes(subroutine):
            return made
        if scope.conditional:
            raise scope.source.refuse(node, "has effects, so it cannot stand in a part of a condition")
        is_outcome = all(isinstance(value, ast.Name) and value.id in OUTCOMES for value in returned)
        return self._keep("outcome" if is_outcome else source.name, made, scope)

    def changes(self, subroutine: Subroutine) -> set[str]:
        """Return the registers and arrays that a subroutine changes."""
        memory = {*self.registers.values(), "items", "reals"}
        return (set(assigned(subroutine.body)) & memory) | self._changed_by_calls(subroutine.body)

    def _changed_by_calls(self, block: Iterable[ast.stmt]) -> set[str]:
        called = {found for line in block for found in names_in(line) if found in self.subroutines}
        return {changed for found in called for changed in self.changes(self.subroutines[found])}

    def _subroutine(self, source: KernelSource, arguments: Sequence[Meaning]) -> tuple[Subroutine, list[ast.expr]]:
        """Return the subroutine of a kernel and the arguments to call it with; those it cannot take are worked in."""
        self._check_arguments(source, arguments)
        try:
            return self._make_subroutine(source, arguments, baked=False)
        except _DependsOnRunError:
            return self._make_subroutine(source, arguments, baked=True)

    def _make_subroutine(
        self, source: KernelSource, arguments: Sequence[Meaning], *, baked: bool
    ) -> tuple[Subroutine, list[ast.expr]]:
        given = {
            k: a
            for k, a in enumerate(arguments)
            if isinstance(a, ast.expr) and not (baked and isinstance(a, ast.Constant))
        }
        key = (source.function, *(_identify(a) for k, a in enumerate(arguments) if k not in given))
        if key not in self._by_key:
            if key in self._open:
                raise ExportError(f"kernel {source.name!r} cannot be exported: it calls itself")
            outside = self._taken, self._kept, self._reserved
            self._taken, self._kept, self._reserved = set(), set(), self._memory
            self._open.add(key)
            try:
                scope = _Scope(source, {})
                parameters = {k: self._fresh(source.parameters[k]) for k in given}
                self._kept.update(parameters.values())
                for k, own in enumerate(source.parameters):
                    self._set_name(own, name(parameters[k]) if k in given else arguments[k], scope)
                self._statements(source.body, scope)
            finally:
                self._open.remove(key)
                self._taken, self._kept, self._reserved = outside
            title = self._fresh(source.name)
            made = Subroutine(title, source.summary, tuple(parameters.values()), tuple(scope.code))
            self._by_key[key] = self.subroutines[title] = made
        return self._by_key[key], list(given.values())

    def _check_arguments(self, source: KernelSource, arguments: Sequence[Meaning]) -> None:
        if len(source.parameters) != len(arguments):
            raise ExportError(
                f"kernel {source.name!r} cannot be exported: it is called with {len(arguments)} arguments instead of"
                f" {len(source.parameters)}"
            )


def _is_fixed(value: Meaning) -> bool:
    """Tell whether something stays what it is whatever is changed."""
    return not isinstance(value, ast.expr | tuple) or (
        all(map(_is_fixed, value))
        if isinstance(value, tuple)
        else isinstance(value, ast.Constant) or same(value, name("n"))
    )


def _identify(value: Meaning) -> object:
    if isinstance(value, tuple):
        return tuple(map(_identify, value))
    return ast.dump(value) if isinstance(value, ast.expr) else id(value.what) if isinstance(value, Thing) else value


def _lift(thing: Any, label: str) -> Meaning:
    """Return what a thing of Python means in a kernel."""
    if isinstance(thing, bool | np.bool_):
        return constant(bool(thing))
    if isinstance(thing, int | np.integer):
        label = "WRONG_ANSWER" if label == "WRONG" else label
        if label in OUTCOMES and OUTCOMES.index(label) == thing:
            return whole(label)
        return constant(int(thing))
    if isinstance(thing, float | np.floating):
        return constant(float(thing))
    if isinstance(thing, tuple) and not hasattr(thing, "_fields"):
        return tuple(_lift(element, "") for element in thing)
    return Thing(thing)


def _hint(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else "value"
