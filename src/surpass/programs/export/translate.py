"""From the source of a kernel to code: constants worked out, small kernels written out where they are called.

A kernel is followed statement by statement. Where it goes two ways and one of them returns, the rest is followed
once for each way (`finish` says what comes after a return), so that what is known on a way stays known. Large kernels
are kept as functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from surpass.errors import ExportError
from surpass.machine.calls import enter, leave
from surpass.machine.state import DEPTH, FUNCTION, PREVIOUS, SIZE
from surpass.programs.export.cleanup import tidy
from surpass.programs.export.code import (
    Back,
    Break,
    Call,
    Cell,
    Compare,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Push,
    Register,
    Return,
    SetCell,
    SetRegister,
    SetVar,
    Statement,
    Var,
    While,
    inner_blocks,
)
from surpass.programs.export.source import Source, assigned_names, has_return, is_kernel, read_source
from surpass.programs.export.values import (
    ALLOWED,
    ArrayName,
    Evaluator,
    Frame,
    Path,
    UnknownRegisterError,
    Value,
    enter_frame,
    is_pure,
)

__all__ = ["OPEN", "Finish", "NeedsFunctionError", "Translator", "written_registers"]

Finish = Callable[[Value, Path], list[Statement]]
"""What comes after a kernel, given what it returned and what is known then."""
Fall = Callable[[Path], list[Statement]]
"""What comes where statements end without a return."""
MakeSite = Callable[[int], int]
"""Gives the number of the site of a call with a receiver."""

LARGE = 8
"""A kernel with more statements is kept as a function."""
OPEN = Const(-1)
"""Stands for the function and the previous action after a return to a caller that is not known."""


class NeedsFunctionError(Exception):
    """A kernel returns from inside a loop, where the code that follows cannot stand."""


class Translator(Evaluator):
    """Writes the code of kernels."""

    def __init__(
        self,
        fixed: dict[int, Const] | None = None,
        *,
        has_query: bool = False,
        local_count: int = 0,
        reserved: Iterable[str] = (),
    ) -> None:
        super().__init__(fixed, has_query=has_query)
        self._local_count = local_count
        self.functions: dict[Any, Function] = {}
        """The kernels kept as functions, in the order in which they are needed."""
        self._open: set[Any] = set()
        self._reserved = set(reserved)
        self._taken: set[str] = set()
        self._varying: set[Var] = set()
        self._make_site: MakeSite | None = None

    def begin_scope(self) -> None:
        """Let the names of variables be used again."""
        self._taken, self._varying = set(), set()

    def translate(
        self,
        kernel: Any,
        arguments: Sequence[Value],
        path: Path,
        finish: Finish,
        make_site: MakeSite | None = None,
    ) -> list[Statement]:
        """Return the code of a kernel; `make_site` numbers the sites of the calls that it opens."""
        source = read_source(kernel)
        self._make_site = make_site
        self._taken.discard("outcome")
        try:
            return self._run(source.body, enter_frame(source, arguments), path.copy(), finish)
        except NeedsFunctionError:
            return self._call_function(source, list(arguments), path.copy(), finish, baked=True)

    def follow_kernel(self, kernel: Any, arguments: Sequence[Value], path: Path) -> Value:
        """Return what a kernel without effects returns."""
        return self.follow(read_source(kernel), arguments, path)

    def keep_as_function(self, kernel: Any, arguments: Sequence[Value], put: Callable[[Value], Expr]) -> Function:
        """Return a kernel as a function that returns what `put` makes of its value."""
        source = read_source(kernel)
        self.begin_scope()
        body = self._run(source.body, enter_frame(source, arguments), Path(), lambda value, path: [Return(put(value))])
        return Function(self._function_name(source), source.summary, (), tidy(tuple(body)))

    # Statements

    def _run(
        self, statements: list[ast.stmt], frame: Frame, path: Path, finish: Finish, fall: Fall | None = None
    ) -> list[Statement]:
        """Return the code of statements, followed by `finish` where they return and by `fall` where they end."""
        code: list[Statement] = []
        for at, statement in enumerate(statements):
            rest = statements[at + 1 :]
            lifted = self._lift_effect(statement, frame)
            if lifted is not None:
                call, name, changed = lifted
                go_on = self._go_on_with(name, [changed, *rest], frame.copy(), finish, fall)
                return code + self._effect(call, frame, path, go_on)
            if isinstance(statement, ast.Return):
                value = None if statement.value is None else self.value(statement.value, frame, path)
                return code + finish(value, path)
            if isinstance(statement, ast.If):
                test = self.truth(statement.test, frame, path)
                if isinstance(test, Const):
                    chosen = statement.body if test.value else statement.orelse
                    return code + self._run(chosen + rest, frame, path, finish, fall)
                if has_return([statement]) or self._has_effects_on_flow(statement, frame):
                    then = self._run(statement.body + rest, frame.copy(), path.copy(), finish, fall)
                    other = self._run(statement.orelse + rest, frame.copy(), path.copy(), finish, fall)
                    return [*code, If(test, tuple(then), tuple(other))]
                code += self._branch(statement, test, frame, path)
            elif isinstance(statement, ast.For | ast.While):
                written_out = self._turns(statement, frame, path)
                if written_out is not None:
                    return code + self._run(written_out + rest, frame, path, finish, fall)
                code += self._loop(statement, frame, path, finish)
                if _is_endless(code[-1]):
                    return code
            elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                code += self._assign(statement, frame, path)
            elif isinstance(statement, ast.Break):
                return [*code, Break()]
            elif isinstance(statement, ast.Continue):
                return [*code, Continue()]
            elif not isinstance(statement, ast.Pass | ast.Expr):
                raise frame.source.refuse(statement, ALLOWED)
        return code + (finish(None, path) if fall is None else fall(path))

    def _assign(
        self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, frame: Frame, path: Path
    ) -> list[Statement]:
        code: list[Statement] = []
        pairs = self.assignments(statement, frame, path)
        if len(pairs) > 1:
            # All values are taken before the first is written.
            pairs = [(target, self._keep(_hint(target), value, code)) for target, value in pairs]
        for target, value in pairs:
            if isinstance(target, ast.Name):
                self._set_name(target.id, value, frame, code)
            elif isinstance(target, ast.Subscript):
                self._set_place(target, value, frame, path, code)
            else:
                raise frame.source.refuse(statement, ALLOWED)
        return code

    def _set_name(self, name: str, value: Value, frame: Frame, code: list[Statement]) -> None:
        if name in frame.variables:
            code.append(SetVar(frame.variables[name], _number(value, name, frame)))
        else:
            frame.names[name] = self._keep(name, value, code)

    def _set_place(self, target: ast.Subscript, value: Value, frame: Frame, path: Path, code: list[Statement]) -> None:
        array = self.value(target.value, frame, path)
        if not isinstance(array, ArrayName):
            raise frame.source.refuse(target, "is not a place of the state")
        place = self.place(array, self.number(target.slice, frame, path), target, frame)
        number = _number(value, ast.unparse(target), frame)
        if isinstance(place, Cell):
            code.append(SetCell(place, number))
        elif isinstance(place, Var):
            raise frame.source.refuse(target, "is the query, which cannot be changed")
        elif place.index in (SIZE, DEPTH):
            raise frame.source.refuse(target, "belongs to the machine")
        elif place.index not in self.fixed:
            code.append(SetRegister(place.index, number))
            path.registers.pop(place.index, None)
            if isinstance(number, Const) and not isinstance(number.value, float):
                path.registers[place.index] = number

    def _keep(self, name: str, value: Value, code: list[Statement]) -> Value:
        """Return a value that stays what it is whatever is changed: a constant, or a variable that is set once."""
        if isinstance(value, tuple):
            return tuple(self._keep(name, element, code) for element in value)
        if not isinstance(value, Expr) or isinstance(value, Const) or value == Register(SIZE):
            return value
        if isinstance(value, Var) and value not in self._varying:
            return value
        var = self.fresh(name)
        code.append(SetVar(var, value))
        return var

    def fresh(self, name: str) -> Var:
        """Return a new variable with a name like this."""
        name = name.strip("_") or "value"
        number, found = 1, name
        while found in self._taken or found in self._reserved:
            number += 1
            found = f"{name}{number}"
        self._taken.add(found)
        return Var(found)

    def _vary(self, names: Iterable[str], frame: Frame, code: list[Statement]) -> None:
        """Make variables of names, since what follows may change them on some ways only."""
        for name in dict.fromkeys(names):
            if name in frame.variables:
                continue
            value = frame.names.get(name, Const(0))
            var = self.fresh(name)
            code.append(SetVar(var, _number(value, name, frame)))
            frame.names[name] = frame.variables[name] = var
            self._varying.add(var)

    def _branch(self, statement: ast.If, test: Expr, frame: Frame, path: Path) -> list[Statement]:
        """Return the code of two ways that come together again."""
        code: list[Statement] = []
        inside = set(assigned_names([statement]))
        used_outside = _read_names(frame.source.body, but=statement)
        self._vary([name for name in sorted(inside) if name in used_outside], frame, code)
        paths = [path.copy(), path.copy()]
        ways = [
            tuple(self._run(statements, frame.copy(), way, _never, _stop))
            for statements, way in zip((statement.body, statement.orelse), paths, strict=True)
        ]
        path.registers = {k: v for k, v in paths[0].registers.items() if paths[1].registers.get(k) == v}
        return [*code, If(test, *ways)]

    def _turns(self, loop: ast.For | ast.While, frame: Frame, path: Path) -> list[ast.stmt] | None:
        if isinstance(loop, ast.While):
            return None
        if not all(isinstance(bound, Const) for bound in self.bounds(loop, frame, path)):
            return None
        return self.write_out(loop, frame, path)

    def _loop(self, loop: ast.For | ast.While, frame: Frame, path: Path, finish: Finish) -> list[Statement]:
        """Return the code of a loop whose number of turns is not known."""
        if loop.orelse:
            raise frame.source.refuse(loop, "has an else")
        code: list[Statement] = []
        carried = set(assigned_names(loop.body))
        if isinstance(loop, ast.For):
            if not isinstance(loop.target, ast.Name) or loop.target.id in carried:
                raise frame.source.refuse(loop, "must count one variable, which its body leaves alone")
            if loop.target.id in _read_names(frame.source.body, but=loop):
                raise frame.source.refuse(loop.target, "is read outside its loop")
        bounds = self.bounds(loop, frame, path) if isinstance(loop, ast.For) else None
        used = _read_names(frame.source.body)
        self._vary([name for name in sorted(carried) if name in used], frame, code)
        path.in_loop, was_in_loop = True, path.in_loop
        while True:
            # What the body writes is not known at its start, since a turn may have come before.
            taken, inside, way = set(self._taken), frame.copy(), path.copy()
            var = None
            if isinstance(loop, ast.For):
                assert isinstance(loop.target, ast.Name)
                var = self.fresh(loop.target.id)
                inside.names[loop.target.id] = var
            test = self.truth(loop.test, inside, way) if isinstance(loop, ast.While) else None
            body = tuple(self._run(loop.body, inside, way, finish, _stop))
            written = written_registers(body) & path.registers.keys()
            if not written:
                break
            for index in written:
                del path.registers[index]
            self._taken = taken
        path.in_loop = was_in_loop
        if var is None or bounds is None:
            assert test is not None
            return [*code, While(test, body)]
        step = bounds[2]
        if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
            raise frame.source.refuse(loop, "must have a step that is known")
        return [*code, For(var, bounds[0], bounds[1], step.value, body)]

    # Calls

    def _lift_effect(self, statement: ast.stmt, frame: Frame) -> tuple[ast.Call, str, ast.stmt] | None:
        """Return the first call in a statement that has effects, and a name with the statement that has it instead."""
        if isinstance(statement, ast.For | ast.While):
            return None
        within = statement.test if isinstance(statement, ast.If) else statement
        for call in _calls(within):
            thing = frame.source.called(call)
            if not is_kernel(thing) or is_pure(thing):
                continue
            if any(
                call in ast.walk(part)
                for node in ast.walk(within)
                if isinstance(node, ast.BoolOp | ast.IfExp)
                for part in ast.iter_child_nodes(node)
            ):
                raise frame.source.refuse(call, "has effects, so it cannot stand in a condition's part")
            name = f"value of {ast.unparse(call)}"  # no name that a kernel could use itself
            return call, name, _replace(statement, call, ast.Name(name, ast.Load()))
        return None

    def _go_on_with(
        self, name: str, statements: list[ast.stmt], frame: Frame, finish: Finish, fall: Fall | None
    ) -> Finish:
        """Return what comes after a call: the statements that follow it, in which a name stands for its value."""

        def go_on(value: Value, path: Path) -> list[Statement]:
            after = frame.copy()
            after.names[name] = value
            return self._run(statements, after, path, finish, fall)

        return go_on

    def _effect(self, call: ast.Call, frame: Frame, path: Path, go_on: Finish) -> list[Statement]:
        """Return the code of a call with effects, and of what follows it."""
        kernel = frame.source.called(call)
        arguments = self.arguments(call, frame, path)
        if kernel is enter:
            return self._enter(call, arguments, frame, path, go_on)
        if kernel is leave:
            return self._leave(call, arguments, frame, path, go_on)
        source = read_source(kernel)
        if self._opens_calls(source):
            return self._inline(source, arguments, path, go_on)
        if _is_large(source) or _returns_from_loop(source):
            try:
                return self._call_function(source, arguments, path, go_on, baked=False)
            except UnknownRegisterError:
                return self._call_function(source, arguments, path, go_on, baked=True)
        return self._inline(source, arguments, path, go_on)

    def _inline(self, source: Source, arguments: Sequence[Value], path: Path, finish: Finish) -> list[Statement]:
        code: list[Statement] = []
        kept = [self._keep(name, value, code) for name, value in zip(source.parameters, arguments, strict=False)]
        return code + self._run(source.body, enter_frame(source, kept), path, finish)

    def _enter(
        self, call: ast.Call, arguments: list[Value], frame: Frame, path: Path, go_on: Finish
    ) -> list[Statement]:
        numbers = [a.value for a in arguments[1:] if isinstance(a, Const)]
        if self._make_site is None or path.in_loop or len(numbers) != 2:
            raise frame.source.refuse(call, "must open a known function while an action is executed")
        function, receiver = int(numbers[0]), int(numbers[1])
        site = self._make_site(receiver)
        path.registers |= {FUNCTION: Const(function), PREVIOUS: Const(0)}
        path.registers.pop(DEPTH, None)
        opened: list[Statement] = [Push(site), SetRegister(FUNCTION, Const(function)), SetRegister(PREVIOUS, Const(0))]
        return [*opened, *go_on(None, path)]

    def _leave(
        self, call: ast.Call, arguments: list[Value], frame: Frame, path: Path, go_on: Finish
    ) -> list[Statement]:
        result = arguments[1]
        if self._make_site is None or path.in_loop or not isinstance(result, Expr):
            raise frame.source.refuse(call, "must close a call while an action is executed")
        returned = path.copy()
        returned.registers |= {FUNCTION: OPEN, PREVIOUS: OPEN}
        if go_on(Const(True), returned) != []:
            raise frame.source.refuse(call, "must be the last thing that an action does")
        stay = go_on(Const(False), path)
        return [If(Compare("==", Register(DEPTH), Const(0)), tuple(stay), (Back(result),))]

    def _call_function(
        self, source: Source, arguments: list[Value], path: Path, go_on: Finish, *, baked: bool
    ) -> list[Statement]:
        """Return a call of a kernel that is kept as a function, and what follows."""
        function, given = self._function(source, arguments, baked=baked)
        for index in written_registers(function.body):
            path.registers.pop(index, None)
        if not _returns_value(function.body):
            return [Call(None, function, given), *go_on(None, path)]
        target = self.fresh("outcome" if _returns_outcome(function.body) else source.name)
        return [Call(target, function, given), *go_on(target, path)]

    def _function(self, source: Source, arguments: list[Value], *, baked: bool) -> tuple[Function, tuple[Expr, ...]]:
        """Return the function of a kernel and the arguments to call it with; those it cannot take are worked in."""
        given = {i: a for i, a in enumerate(arguments) if isinstance(a, Expr) and not (baked and isinstance(a, Const))}
        worked_in = tuple((i, a) for i, a in enumerate(arguments) if i not in given)
        key = (source.function, worked_in)
        if key not in self.functions:
            if key in self._open:
                raise ExportError(f"kernel {source.name!r} cannot be exported: it calls itself")
            self._open.add(key)
            outside = self._taken, self._varying, self._make_site
            self._taken, self._varying, self._make_site = set(), set(), None
            name = self._function_name(source)
            values = list(arguments)
            parameters = []
            for i in given:
                values[i] = var = self.fresh(source.parameters[i])
                parameters.append(var)
            try:
                body = self._run(source.body, enter_frame(source, values), Path(), _return)
            finally:
                self._taken, self._varying, self._make_site = outside
                self._open.remove(key)
            self.functions[key] = Function(name, source.summary, tuple(parameters), tidy(tuple(body)))
        return self.functions[key], tuple(given.values())

    def _function_name(self, source: Source) -> str:
        taken = {function.name for function in self.functions.values()} | self._reserved
        name, number = source.name.strip("_"), 1
        found = name
        while found in taken:
            number += 1
            found = f"{name}{number}"
        self._reserved.add(found)
        return found

    def _opens_calls(self, source: Source) -> bool:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                thing = source.called(node)
                if thing in (enter, leave) or (is_kernel(thing) and self._opens_calls(read_source(thing))):
                    return True
        return False

    def _has_effects_on_flow(self, statement: ast.If, frame: Frame) -> bool:
        """Tell whether a branch opens or closes calls, so that its ways do not come together again."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                thing = frame.source.called(node)
                if thing in (enter, leave) or (is_kernel(thing) and self._opens_calls(read_source(thing))):
                    return True
        return False


def written_registers(code: Iterable[Statement]) -> set[int]:
    """Return the registers that some code writes."""
    found: set[int] = set()
    for statement in code:
        if isinstance(statement, SetRegister):
            found.add(statement.index)
        if isinstance(statement, Call):
            found |= written_registers(statement.function.body)
        for block in inner_blocks(statement):
            found |= written_registers(block)
    return found


def _is_endless(statement: Statement) -> bool:
    """Tell whether a loop is left by a return alone."""
    return isinstance(statement, While) and statement.test == Const(True) and not _breaks(statement.body)


def _breaks(block: Iterable[Statement]) -> bool:
    """Tell whether a block leaves the loop that it is in."""
    for statement in block:
        if isinstance(statement, Break):
            return True
        if isinstance(statement, If) and (_breaks(statement.then) or _breaks(statement.otherwise)):
            return True
    return False


def _stop(path: Path) -> list[Statement]:
    return []


def _never(value: Value, path: Path) -> list[Statement]:
    raise AssertionError("statements without a return have returned")


def _return(value: Value, path: Path) -> list[Statement]:
    if value is not None and not isinstance(value, Expr):
        raise ExportError(f"a kernel that is kept as a function returns {value!r}, which is no number")
    return [Return(value)]


def _returns(code: Iterable[Statement]) -> Iterable[Return]:
    for statement in code:
        if isinstance(statement, Return):
            yield statement
        for block in inner_blocks(statement):
            yield from _returns(block)


def _returns_value(code: Iterable[Statement]) -> bool:
    return any(found.value is not None for found in _returns(code))


def _returns_outcome(code: Iterable[Statement]) -> bool:
    return all(isinstance(found.value, Const) and found.value.label for found in _returns(code))


def _number(value: Value, what: str, frame: Frame) -> Expr:
    if not isinstance(value, Expr):
        raise ExportError(f"kernel {frame.source.name!r} cannot be exported: {what!r} must be a number")
    return value


def _hint(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else "value"


def _calls(node: ast.AST) -> Iterable[ast.Call]:
    """Yield the calls in a node in the order in which they are made: arguments first."""
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _replace(statement: ast.stmt, call: ast.Call, name: ast.Name) -> ast.stmt:
    """Return a statement with a name in the place of a call; the one given stays as it is."""

    def copy(part: Any) -> Any:
        if part is call:
            return name
        if isinstance(part, list):
            return [copy(element) for element in part]
        if isinstance(part, ast.expr):
            return type(part)(**{field: copy(value) for field, value in ast.iter_fields(part)})
        return part

    changed: ast.stmt = type(statement)(**{field: copy(value) for field, value in ast.iter_fields(statement)})
    return changed


def _read_names(statements: list[ast.stmt], but: ast.stmt | None = None) -> set[str]:
    """Return the names that some statements read, those inside one of them left out."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if node is but:
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return found


def _is_large(source: Source) -> bool:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(source.tree)) - 1 > LARGE


def _returns_from_loop(source: Source) -> bool:
    return any(has_return(node.body) for node in ast.walk(source.tree) if isinstance(node, ast.For | ast.While))
