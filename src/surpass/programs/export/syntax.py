"""The code of programs and kernels: Python's own syntax trees, with a few statements of the machine.

Expressions are `ast` expressions without effects over names (variables, registers, `n`, the query) and over places in
the arrays `items` and `reals`. Statements are `ast` assignments to one target, `If`, `While`, `For` over a range,
`Break`, `Continue`, `Return` and calls of subroutines, and those below. Trees are never changed, only built anew.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Block = tuple[ast.stmt, ...]
Code = TypeVar("Code", bound=ast.stmt | ast.expr)


@dataclass(eq=False)
class Remark(ast.stmt):
    """Words for the reader."""

    text: str
    _fields = ("text",)


class CountStep(ast.stmt):
    """Ends the run if no step is left; counts one."""


@dataclass(eq=False)
class GoTo(ast.stmt):
    """Goes on at a place, by its number; None is a place that the program does not have."""

    place: int | None
    _fields = ("place",)


@dataclass(eq=False)
class Finish(ast.stmt):
    """Ends the run with an outcome; None where there is no action, whose step is not counted."""

    outcome: ast.expr | None
    _fields = ("outcome",)


@dataclass(frozen=True)
class Site:
    """Where a call returns to."""

    place: int | None
    receiver: str
    """The register that receives the result, if one does."""


@dataclass(eq=False)
class OpenCall(ast.stmt):
    """Opens a call of a function: saves the locals and where to continue; ends the run if too many calls are open."""

    function: int
    receiver: int
    site: Site = Site(None, "")
    """Where the call returns to, once known."""
    _fields = ("function", "receiver", "site")


@dataclass(eq=False)
class CloseCall(ast.stmt):
    """Closes the newest call: restores the locals, gives the result to its receiver and continues behind the call."""

    result: ast.expr
    _fields = ("result",)


@dataclass(frozen=True, eq=False)
class Subroutine:
    """A kernel kept as a function of its own: it works on the memory in place."""

    name: str
    summary: str
    parameters: tuple[str, ...]
    body: Block


# Making expressions

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool], type[ast.cmpop]]] = {
    ast.Lt: ("<", operator.lt, ast.GtE),
    ast.LtE: ("<=", operator.le, ast.Gt),
    ast.Eq: ("==", operator.eq, ast.NotEq),
    ast.NotEq: ("!=", operator.ne, ast.Eq),
    ast.Gt: (">", operator.gt, ast.LtE),
    ast.GtE: (">=", operator.ge, ast.Lt),
}
ARITHMETIC, COMPARISONS = tuple(_ARITHMETIC), tuple(_COMPARISONS)
"""The signs that are exported."""
_BY_SIGN = {sign: op for op, (sign, _, _) in _COMPARISONS.items()}


def name(text: str) -> ast.Name:
    """Return a variable."""
    return ast.Name(text, ast.Load())


def whole(text: str) -> ast.Name:
    """Return a variable that is always a whole number, or an item of a list, which can be ordered."""
    found = name(text)
    vars(found)["is_whole"] = True
    return found


def constant(value: float) -> ast.Constant:
    """Return a number or a truth value as an expression."""
    return ast.Constant(value)


def place(array: str, index: ast.expr) -> ast.Subscript:
    """Return a place in an array."""
    return ast.Subscript(name(array), index, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """Return the call of a function."""
    return ast.Call(name(function), list(arguments), [])


def assign(target: ast.expr, value: ast.expr) -> ast.Assign:
    """Return the statement that sets a variable or a place."""
    return ast.Assign([target], value)


def compare(sign: str, left: ast.expr, right: ast.expr) -> ast.expr:
    """Return whether a comparison holds."""
    return fold(ast.Compare(left, [_BY_SIGN[sign]()], [right]))


def all_of(*conditions: ast.expr) -> ast.expr:
    """Return whether all conditions hold; each is looked at only if those before it do."""
    return fold(ast.BoolOp(ast.And(), list(conditions)))


def any_of(*conditions: ast.expr) -> ast.expr:
    """Return whether any condition holds; each is looked at only if those before it do not."""
    return fold(ast.BoolOp(ast.Or(), list(conditions)))


def same(a: ast.AST, b: ast.AST) -> bool:
    """Tell whether two pieces of code are alike."""
    return ast.dump(a) == ast.dump(b)


def number(expr: ast.expr) -> int | float | None:
    """Return the number that an expression is, if it is one."""
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, int | float) else None


def is_true(expr: ast.expr) -> bool | None:
    """Tell whether a condition is known to hold or not to hold."""
    found = number(expr)
    return None if found is None else bool(found)


def is_truth(expr: ast.expr) -> bool:
    """Tell whether an expression is a truth value."""
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, bool)
    return isinstance(expr, ast.Compare | ast.BoolOp) or (
        isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not)
    )


def truth(expr: ast.expr) -> ast.expr:
    """Return whether an expression counts as true."""
    return expr if is_truth(expr) else compare("!=", expr, constant(0))


def negate(expr: ast.expr) -> ast.expr:
    """Return whether a condition does not hold."""
    if isinstance(expr, ast.Constant):
        return constant(not expr.value)
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        return expr.operand
    if isinstance(expr, ast.BoolOp):
        other = ast.Or() if isinstance(expr.op, ast.And) else ast.And()
        return fold(ast.BoolOp(other, [negate(side) for side in expr.values]))
    # For NaN neither a comparison nor its opposite holds.
    if isinstance(expr, ast.Compare) and not any(map(may_be_real, (expr.left, *expr.comparators))):
        return ast.Compare(expr.left, [_COMPARISONS[type(expr.ops[0])][2]()], expr.comparators)
    return ast.UnaryOp(ast.Not(), truth(expr))


def may_be_real(expr: ast.expr) -> bool:
    """Tell whether an expression may be a real, which is rounded and could be NaN."""
    match expr:
        case ast.Constant():
            return isinstance(expr.value, float)
        case ast.Name():
            return not getattr(expr, "is_whole", False)
        case ast.Subscript():
            return same(expr.value, name("reals"))
        case ast.BinOp():
            return isinstance(expr.op, ast.Div) or may_be_real(expr.left) or may_be_real(expr.right)
        case ast.IfExp():
            return may_be_real(expr.body) or may_be_real(expr.orelse)
        case ast.Call(func=ast.Name(id="min" | "max" | "abs")):
            return any(map(may_be_real, expr.args))
    return not is_truth(expr)


def fold(expr: ast.expr) -> ast.expr:
    """Return an expression in short, given that its parts are: with what is known worked out."""
    if isinstance(expr, ast.BinOp):
        return _fold_arithmetic(expr)
    if isinstance(expr, ast.Compare):
        left, right = expr.left, expr.comparators[0]
        test = _COMPARISONS[type(expr.ops[0])][1]
        a, b = number(left), number(right)
        if a is not None and b is not None:
            return constant(test(a, b))
        return constant(test(0, 0)) if same(left, right) and not may_be_real(left) else expr
    if isinstance(expr, ast.BoolOp):
        return _fold_logic(expr)
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        return negate(expr.operand)
    if isinstance(expr, ast.IfExp):
        known = is_true(expr.test)
        if known is None:
            return expr.body if same(expr.body, expr.orelse) else expr
        return expr.body if known else expr.orelse
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id in ("min", "max"):
        numbers = [value for argument in expr.args if (value := number(argument)) is not None]
        if len(numbers) == len(expr.args):
            return constant((min if expr.func.id == "min" else max)(numbers))
    return expr


def _fold_arithmetic(expr: ast.BinOp) -> ast.expr:
    left, op, right = expr.left, expr.op, expr.right
    a, b = number(left), number(right)
    if a is not None and b is not None:
        return constant(_ARITHMETIC[type(op)](a, b))
    if isinstance(op, ast.Mult) and (a == 1 or b == 1):
        return right if a == 1 else left
    if not isinstance(op, ast.Add | ast.Sub) or may_be_real(left) or may_be_real(right):
        return expr
    # Whole numbers may be added in any order; reals may not.
    if a is not None and isinstance(op, ast.Add):
        left, b = right, a
    if b is None:
        return expr
    more = int(b) if isinstance(op, ast.Add) else -int(b)
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add | ast.Sub):
        before = number(left.right)
        if before is not None:
            more, left = more + int(before if isinstance(left.op, ast.Add) else -before), left.left
    if more == 0:
        return left
    return ast.BinOp(left, ast.Add() if more > 0 else ast.Sub(), constant(abs(more)))


def _fold_logic(expr: ast.BoolOp) -> ast.expr:
    neutral = isinstance(expr.op, ast.And)
    kept: list[ast.expr] = []
    for side in expr.values:
        inner = side.values if isinstance(side, ast.BoolOp) and type(side.op) is type(expr.op) else [side]
        for part in inner:
            known = is_true(part)
            if known is None:
                kept += [] if any(same(part, other) for other in kept) else [part]
            elif known != neutral:
                # What comes before has no effects.
                return constant(not neutral)
    if len(kept) < 2:
        return kept[0] if kept else constant(neutral)
    return ast.BoolOp(expr.op, kept)


# Going through code


def rebuild(code: Code, change: Callable[[ast.expr], ast.expr]) -> Code:
    """Return code built anew: `change` is given every expression in it, the innermost first."""

    def build(part: Any) -> Any:
        if isinstance(part, list):
            return [build(element) for element in part]
        return rebuild(part, change) if isinstance(part, ast.expr | ast.stmt) else part

    found: Any = code
    if not isinstance(code, ast.Name | ast.Constant):
        found = type(code)(**{key: build(value) for key, value in ast.iter_fields(code)})
    if isinstance(found, ast.expr):
        found = change(found)
    return found  # type: ignore[no-any-return]  # of the kind that was given


def put(block: Iterable[ast.stmt], values: dict[str, ast.expr]) -> Block:
    """Return a block with values in the places of names, and with what is then known worked out."""

    def change(part: ast.expr) -> ast.expr:
        return values.get(part.id, part) if isinstance(part, ast.Name) else fold(part)

    return tuple(rebuild(line, change) if values.keys() & names_in(line) else line for line in block)


def change_blocks(statement: ast.stmt, change: Callable[[Sequence[ast.stmt]], Iterable[ast.stmt]]) -> ast.stmt:
    """Return a statement with the blocks in it changed."""
    fields = dict(ast.iter_fields(statement))
    return type(statement)(**fields | {key: list(change(fields[key])) for key in ("body", "orelse") if key in fields})


def expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions that a statement itself reads: the values, and the indices of what it sets."""
    for key, value in ast.iter_fields(statement):
        if key == "targets":
            yield from (target.slice for target in value if isinstance(target, ast.Subscript))
        elif key != "target" and isinstance(value, ast.expr):
            yield value


def names_in(*code: ast.AST) -> set[str]:
    """Return the names in some code."""
    return {part.id for node in code for part in ast.walk(node) if isinstance(part, ast.Name)}


def statements(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block and of the blocks in it."""
    for statement in block:
        yield statement
        yield from statements((*getattr(statement, "body", ()), *getattr(statement, "orelse", ())))


def assigned(block: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield each name that a block sets, once for each time; an array's name for a place in it."""
    for statement in statements(block):
        if isinstance(statement, ast.Assign | ast.For):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Subscript):
                target = target.value
            assert isinstance(target, ast.Name)
            yield target.id
