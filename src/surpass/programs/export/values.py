"""What the expressions of a kernel come to, with everything worked out that is known before a run."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

from surpass.errors import ExportError
from surpass.machine.calls import enter, leave
from surpass.machine.state import SIZE, Outcome, State
from surpass.programs.export.code import (
    Apply,
    Array,
    Cell,
    Compare,
    Const,
    Expr,
    Logic,
    Not,
    Register,
    Var,
    arithmetic,
    compare,
    logic,
    negate,
    select,
)
from surpass.programs.export.source import Source, is_kernel, read_source

__all__ = ["QUERY", "ArrayName", "Evaluator", "Frame", "Known", "Memory", "Path", "UnknownRegisterError", "Value"]

QUERY = Var("query")
"""The item that stands behind a list, at position n, where the caller gives it on its own."""

MOST_TURNS = 64
"""How many turns of a loop are written out."""


@dataclass(frozen=True)
class Memory:
    """The state that a kernel works on."""


@dataclass(frozen=True)
class ArrayName:
    """One of the arrays of the state."""

    name: str


@dataclass(frozen=True, eq=False)
class Known:
    """A thing of Python that is no number: a module, a class or a kernel."""

    thing: Any


Value = Expr | Memory | ArrayName | Known | tuple["Value", ...] | None


@dataclass
class Frame:
    """The names of a kernel while it is followed."""

    source: Source
    names: dict[str, Value]
    variables: dict[str, Var] = field(default_factory=dict)
    """The names that are variables of the exported code, since their value depends on the way."""

    def copy(self) -> Frame:
        """Return a frame that can go another way."""
        return Frame(self.source, dict(self.names), dict(self.variables))


@dataclass
class Path:
    """What is known of the registers at a point of the code."""

    registers: dict[int, Const] = field(default_factory=dict)
    in_loop: bool = False

    def copy(self) -> Path:
        """Return a path that can go another way."""
        return Path(dict(self.registers), self.in_loop)


class UnknownRegisterError(ExportError):
    """A register whose number depends on the run; the exported code keeps registers in variables."""


_SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FUNCTIONS: dict[Any, str] = {
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
_OUTCOMES = {outcome.name: outcome for outcome in (Outcome.RUNNING, Outcome.SOLVED, Outcome.WRONG_ANSWER)} | {
    "WRONG": Outcome.WRONG_ANSWER
}
ALLOWED = (
    "is not in the part of Python that is exported: numbers, tuples, the arrays of the state, if, while, for over a"
    f" range, min, max, {', '.join(sorted(set(_FUNCTIONS.values())))} and other kernels"
)


class Evaluator:
    """Works out expressions, and kernels without effects."""

    def __init__(self, fixed: dict[int, Const] | None = None, *, has_query: bool = False) -> None:
        self.fixed = fixed or {}
        """Registers that are taken to hold a value throughout."""
        self.has_query = has_query

    def value(self, node: ast.expr, frame: Frame, path: Path) -> Value:
        """Return what an expression comes to."""
        source = frame.source
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return Const(node.value)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Name):
            return self._name(node, frame)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(element, frame, path) for element in node.elts)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, frame, path)
        if isinstance(node, ast.Subscript):
            return self._element(node, frame, path)
        if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
            left, right = self.value(node.left, frame, path), self.value(node.right, frame, path)
            if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(node.op, ast.Add):
                return left + right
            return arithmetic(_SIGNS[type(node.op)], _need(left, node, source), _need(right, node, source))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, frame, path)
        if isinstance(node, ast.BoolOp):
            sign = "and" if isinstance(node.op, ast.And) else "or"
            sides = [self._truth_only(side, frame, path) for side in node.values]
            found = sides[-1]
            for side in reversed(sides[:-1]):
                found = logic(sign, side, found)
            return found
        if isinstance(node, ast.Compare):
            return self._comparison(node, frame, path)
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test, frame, path)
            if isinstance(test, Const):
                return self.value(node.body if test.value else node.orelse, frame, path)
            return self._choose(
                test, self.value(node.body, frame, path), self.value(node.orelse, frame, path), node, source
            )
        if isinstance(node, ast.Call):
            return self._call(node, frame, path)
        raise source.refuse(node, ALLOWED)

    def number(self, node: ast.expr, frame: Frame, path: Path) -> Expr:
        """Return what an expression comes to, which must be a number."""
        return _need(self.value(node, frame, path), node, frame.source)

    def truth(self, node: ast.expr, frame: Frame, path: Path) -> Expr:
        """Return whether an expression counts as true."""
        found = self.number(node, frame, path)
        if isinstance(found, Const):
            return Const(bool(found.value))
        return found if _is_truth(found) else compare("!=", found, Const(0))

    def _truth_only(self, node: ast.expr, frame: Frame, path: Path) -> Expr:
        found = self.number(node, frame, path)
        if isinstance(found, Const | Var) or _is_truth(found):
            return found
        raise frame.source.refuse(node, "must be a truth value, since it stands beside `and` or `or`")

    def _name(self, node: ast.Name, frame: Frame) -> Value:
        if node.id in frame.names:
            return frame.names[node.id]
        if node.id in frame.source.names:
            return _lift(frame.source.names[node.id], node.id)
        raise frame.source.refuse(node, "has no value here")

    def _attribute(self, node: ast.Attribute, frame: Frame, path: Path) -> Value:
        if isinstance(node.value, ast.Name):
            thing = frame.source.names.get(node.value.id)
            if node.attr in getattr(thing, "_fields", ()) and node.value.id not in frame.names:
                return _lift(getattr(thing, node.attr), node.attr)
        owner = self.value(node.value, frame, path)
        if isinstance(owner, Memory) and node.attr in State._fields:
            return ArrayName(node.attr)
        if isinstance(owner, Known) and isinstance(owner.thing, ModuleType | type) and hasattr(owner.thing, node.attr):
            return _lift(getattr(owner.thing, node.attr), node.attr)
        raise frame.source.refuse(node, ALLOWED)

    def _element(self, node: ast.Subscript, frame: Frame, path: Path) -> Value:
        owner = self.value(node.value, frame, path)
        if isinstance(node.slice, ast.Slice):
            raise frame.source.refuse(node, ALLOWED)
        index = self.number(node.slice, frame, path)
        if isinstance(owner, ArrayName):
            return self.read(self.place(owner, index, node, frame), path)
        if isinstance(owner, Memory):
            owner = tuple(ArrayName(name) for name in State._fields)
        if isinstance(owner, tuple) and isinstance(index, Const) and isinstance(index.value, int):
            return owner[index.value]
        raise frame.source.refuse(node, ALLOWED)

    def place(self, array: ArrayName, index: Expr, node: ast.AST, frame: Frame) -> Register | Cell | Var:
        """Return a place of an array."""
        if array.name == "registers":
            if not isinstance(index, Const) or not isinstance(index.value, int) or index.value < 0:
                raise UnknownRegisterError(
                    str(frame.source.refuse(node, "is a register whose number depends on the run"))
                )
            return Register(index.value)
        if array.name == "stack":
            raise frame.source.refuse(node, "is on the call stack; only the machine's enter and leave are exported")
        if self.has_query and array.name == "items" and index == Register(SIZE):
            return QUERY
        name: Array = "items" if array.name == "items" else "reals"
        return Cell(name, index)

    def read(self, place: Register | Cell | Var, path: Path) -> Expr:
        """Return what stands at a place."""
        if isinstance(place, Register):
            return self.fixed.get(place.index) or path.registers.get(place.index) or place
        return place

    def _unary(self, node: ast.UnaryOp, frame: Frame, path: Path) -> Value:
        if isinstance(node.op, ast.Not):
            return negate(self.truth(node.operand, frame, path))
        operand = self.number(node.operand, frame, path)
        if isinstance(node.op, ast.USub):
            return arithmetic("*", Const(-1), operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        raise frame.source.refuse(node, ALLOWED)

    def _comparison(self, node: ast.Compare, frame: Frame, path: Path) -> Value:
        sides = [self.number(side, frame, path) for side in (node.left, *node.comparators)]
        found: Expr = Const(True)
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) not in _SIGNS:
                raise frame.source.refuse(node, ALLOWED)
            found = logic("and", found, compare(_SIGNS[type(op)], left, right))
        return found

    def _choose(self, test: Expr, then: Value, otherwise: Value, node: ast.AST, source: Source) -> Value:
        """Return one of two values by a test that is not known."""
        if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
            return tuple(self._choose(test, a, b, node, source) for a, b in zip(then, otherwise, strict=True))
        return select(test, _need(then, node, source), _need(otherwise, node, source))

    # Calls

    def callee(self, node: ast.Call, frame: Frame) -> Any:
        """Return what a call calls."""
        found = self.value(node.func, frame, Path())
        return found.thing if isinstance(found, Known) else None

    def arguments(self, node: ast.Call, frame: Frame, path: Path) -> list[Value]:
        """Return the arguments of a call."""
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise frame.source.refuse(node, "has named or starred arguments; give them in their places")
        return [self.value(argument, frame, path) for argument in node.args]

    def _call(self, node: ast.Call, frame: Frame, path: Path) -> Value:
        thing, source = self.callee(node, frame), frame.source
        arguments = self.arguments(node, frame, path)
        if thing is len and len(arguments) == 1 and isinstance(arguments[0], tuple):
            return Const(len(arguments[0]))
        if thing in (min, max) and len(arguments) > 1:
            numbers = [_need(argument, node, source) for argument in arguments]
            found = numbers[0]
            for number in numbers[1:]:
                found = arithmetic("min" if thing is min else "max", found, number)
            return found
        if thing is bool and len(arguments) == 1:
            return self.truth(node.args[0], frame, path)
        if thing is not None and not is_kernel(thing) and thing in _FUNCTIONS and len(arguments) == 1:
            return _apply(_FUNCTIONS[thing], _need(arguments[0], node, source))
        if is_kernel(thing) and is_pure(thing):
            return self.follow(read_source(thing), arguments, path)
        raise source.refuse(node, ALLOWED)

    def follow(self, source: Source, arguments: Sequence[Value], path: Path) -> Value:
        """Return what a kernel without effects returns."""
        return self._follow_block(source.body, enter_frame(source, arguments), path)

    def _follow_block(self, statements: list[ast.stmt], frame: Frame, path: Path) -> Value:
        for at, statement in enumerate(statements):
            rest = statements[at + 1 :]
            if isinstance(statement, ast.Return):
                return None if statement.value is None else self.value(statement.value, frame, path)
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._assign_name(statement, frame, path)
            elif isinstance(statement, ast.If):
                test = self.truth(statement.test, frame, path)
                if isinstance(test, Const):
                    return self._follow_block((statement.body if test.value else statement.orelse) + rest, frame, path)
                then = self._follow_block(statement.body + rest, frame.copy(), path)
                otherwise = self._follow_block(statement.orelse + rest, frame.copy(), path)
                return self._choose(test, then, otherwise, statement, frame.source)
            elif isinstance(statement, ast.For):
                return self._follow_block(self.write_out(statement, frame, path) + rest, frame, path)
            elif not isinstance(statement, ast.Pass):
                raise frame.source.refuse(statement, ALLOWED)
        return None

    def _assign_name(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, frame: Frame, path: Path) -> None:
        for target, value in self.assignments(statement, frame, path):
            if not isinstance(target, ast.Name):
                raise frame.source.refuse(statement, "changes the state, which a kernel that is asked may not")
            frame.names[target.id] = value

    def assignments(
        self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, frame: Frame, path: Path
    ) -> list[tuple[ast.expr, Value]]:
        """Return each target of an assignment with its value."""
        source = frame.source
        if isinstance(statement, ast.AugAssign):
            if type(statement.op) not in _SIGNS:
                raise source.refuse(statement, ALLOWED)
            old, more = self.number(_as_read(statement.target), frame, path), self.number(statement.value, frame, path)
            return [(statement.target, arithmetic(_SIGNS[type(statement.op)], old, more))]
        if statement.value is None:
            return []
        value = self.value(statement.value, frame, path)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [pair for target in targets for pair in self._pair(target, value, statement, source)]

    def _pair(
        self, target: ast.expr, value: Value, statement: ast.stmt, source: Source
    ) -> Iterable[tuple[ast.expr, Value]]:
        if not isinstance(target, ast.Tuple):
            return [(target, value)]
        if isinstance(value, Memory):
            value = tuple(ArrayName(name) for name in State._fields)
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            raise source.refuse(statement, ALLOWED)
        return [pair for t, v in zip(target.elts, value, strict=True) for pair in self._pair(t, v, statement, source)]

    def write_out(self, loop: ast.For, frame: Frame, path: Path) -> list[ast.stmt]:
        """Return the turns of a loop one after another, if their number is known and small."""
        bounds = self.bounds(loop, frame, path)
        numbers = [bound.value for bound in bounds if isinstance(bound, Const) and isinstance(bound.value, int)]
        leaves = any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(loop))
        if len(numbers) < 3 or len(range(*numbers)) > MOST_TURNS or leaves:
            raise frame.source.refuse(loop, "is a loop whose number of turns is not known")
        turns: list[ast.stmt] = []
        for number in range(*numbers):
            turns += [ast.Assign([loop.target], ast.Constant(number)), *loop.body]
        return turns

    def bounds(self, loop: ast.For, frame: Frame, path: Path) -> tuple[Expr, Expr, Expr]:
        """Return the first number, the end and the step of a loop over a range."""
        call = loop.iter
        if not isinstance(call, ast.Call) or self.callee(call, frame) is not range or loop.orelse:
            raise frame.source.refuse(loop.iter, "is not a range")
        numbers = [_need(v, loop.iter, frame.source) for v in self.arguments(call, frame, path)]
        if len(numbers) == 1:
            numbers.insert(0, Const(0))
        if len(numbers) == 2:
            numbers.append(Const(1))
        if len(numbers) != 3:
            raise frame.source.refuse(loop.iter, "is not a range")
        return numbers[0], numbers[1], numbers[2]


def enter_frame(source: Source, arguments: Sequence[Value]) -> Frame:
    """Return the frame of a kernel that is called."""
    parameters = source.parameters
    if len(parameters) != len(arguments):
        raise ExportError(
            f"kernel {source.name!r} cannot be exported: it is called with {len(arguments)} arguments instead of"
            f" {len(parameters)}"
        )
    return Frame(source, dict(zip(parameters, arguments, strict=True)))


@cache
def is_pure(kernel: Any) -> bool:
    """Tell whether a kernel only returns something, without loops and without a change of the state."""
    if kernel in (enter, leave):
        return False
    source = read_source(kernel)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.For | ast.While):
            return False
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Call):
            called = source.called(node)
            if is_kernel(called) and (called is kernel or not is_pure(called)):
                return False
    return True


def _lift(thing: Any, name: str) -> Value:
    """Return a thing of Python as a value."""
    if name in _OUTCOMES and thing == _OUTCOMES[name]:
        return Const(int(thing), _OUTCOMES[name].name)
    if isinstance(thing, bool | np.bool_):
        return Const(bool(thing))
    if isinstance(thing, int | np.integer):
        return Const(int(thing))
    if isinstance(thing, float | np.floating) and isinstance(thing, Number):
        return Const(float(thing))
    if isinstance(thing, tuple):
        return tuple(_lift(element, "") for element in thing)
    return Known(thing)


def _need(value: Value, node: ast.AST, source: Source) -> Expr:
    if value is None or isinstance(value, Memory | ArrayName | Known | tuple):
        raise source.refuse(node, "must be a number")
    return value


def _is_truth(expr: Expr) -> bool:
    return isinstance(expr, Compare | Logic | Not) or (isinstance(expr, Const) and isinstance(expr.value, bool))


def _apply(function: str, argument: Expr) -> Expr:
    if function == "int" and _is_truth(argument):
        return arithmetic("*", argument, Const(1))
    return Apply(function, argument)


def _as_read(target: ast.expr) -> ast.expr:
    """Return the target of an assignment as the expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return target
