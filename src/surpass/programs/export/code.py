"""The small language between kernels and exported source: expressions and statements over one episode's memory.

Expressions have no effects. The memory is that of a `State`: registers, integers (`items`) and reals, and the
machine's call stack, which only `Push` and `Back` touch. `Step`, `Jump`, `End` and `NoRule` are what the
engine does around an action.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Apply",
    "Back",
    "Binary",
    "Block",
    "Break",
    "Call",
    "Cell",
    "Comment",
    "Compare",
    "Const",
    "Continue",
    "End",
    "Expr",
    "For",
    "Function",
    "If",
    "Jump",
    "Logic",
    "Look",
    "NoRule",
    "Not",
    "Push",
    "Register",
    "Return",
    "Select",
    "SetCell",
    "SetRegister",
    "SetVar",
    "Site",
    "Statement",
    "Step",
    "Var",
    "While",
    "arithmetic",
    "compare",
    "expressions",
    "inner_blocks",
    "is_whole",
    "logic",
    "negate",
    "parts",
    "rebuild",
    "select",
    "walk",
]

Array = Literal["items", "reals"]


@dataclass(frozen=True)
class Const:
    """A number, or a truth value."""

    value: int | float | bool
    label: str = field(default="", compare=False)
    """What the value is called in exported files, if it has a name there."""


@dataclass(frozen=True)
class Var:
    """A local variable or a parameter."""

    name: str


@dataclass(frozen=True)
class Register:
    """A register, by its number."""

    index: int


@dataclass(frozen=True)
class Cell:
    """A place in the integers or reals."""

    array: Array
    index: Expr


@dataclass(frozen=True)
class Not:
    """True if the operand is not."""

    operand: Expr


@dataclass(frozen=True)
class Binary:
    """Arithmetic on two numbers, with the meaning that Python gives to the sign; `min` and `max` are signs too."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare:
    """A comparison."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logic:
    """`and` or `or`; the right side is looked at only if it matters."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Select:
    """One of two expressions; the other is not looked at."""

    test: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True)
class Apply:
    """A function of numbers: `abs`, `int`, `float`, or one of the module `math`."""

    function: str
    argument: Expr


Expr = Const | Var | Register | Cell | Not | Binary | Compare | Logic | Select | Apply


@dataclass(frozen=True)
class SetVar:
    """Sets a local variable."""

    var: Var
    value: Expr


@dataclass(frozen=True)
class SetRegister:
    """Sets a register."""

    index: int
    value: Expr


@dataclass(frozen=True)
class SetCell:
    """Sets a place in the integers or reals."""

    cell: Cell
    value: Expr


@dataclass(frozen=True)
class If:
    """Goes one of two ways."""

    test: Expr
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True)
class While:
    """Repeats while a condition holds."""

    test: Expr
    body: Block


@dataclass(frozen=True)
class For:
    """Counts a variable from `first` on by `step` and stops before `end`."""

    var: Var
    first: Expr
    end: Expr
    step: int
    body: Block


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True)
class Continue:
    """Goes on with the next turn of the innermost loop."""


@dataclass(frozen=True)
class Call:
    """Runs a function on the memory and keeps what it returns."""

    target: Var | None
    function: Function
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Return:
    """Ends a function with a value."""

    value: Expr | None


@dataclass(frozen=True)
class Comment:
    """Words for the reader."""

    text: str


@dataclass(frozen=True)
class Step:
    """Ends the run if no step is left; counts one."""


@dataclass(frozen=True)
class Look:
    """Counts the observation if the program has never met it."""

    function: Function
    """Gives the packed observation."""


@dataclass(frozen=True)
class Jump:
    """Goes on at a place; None is a place that the program does not have."""

    place: int | None


@dataclass(frozen=True)
class NoRule:
    """Ends the run before an action that the program does not have; the step is not counted."""


@dataclass(frozen=True)
class End:
    """Ends the run with an outcome."""

    outcome: Expr


@dataclass(frozen=True)
class Site:
    """Where a call comes back to."""

    place: int | None
    receiver: int | None
    """The register that receives the result."""
    previous: int
    """The value of the previous action that a return restores."""


@dataclass(frozen=True)
class Push:
    """Opens a call: saves the locals and where it comes back to; ends the run if too many calls are open."""

    site: int
    """The number of the `Site`."""


@dataclass(frozen=True)
class Back:
    """Closes the newest call: restores the locals, gives the result to its receiver and goes on behind the call."""

    result: Expr


Statement = (
    SetVar
    | SetRegister
    | SetCell
    | If
    | While
    | For
    | Break
    | Continue
    | Call
    | Return
    | Comment
    | Step
    | Look
    | Jump
    | NoRule
    | End
    | Push
    | Back
)
Block = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A kernel kept as a function of its own: it works on the memory in place."""

    name: str
    summary: str
    parameters: tuple[Var, ...]
    body: Block


# Expressions are made by the functions below, which work out what is known.

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
    "min": min,
    "max": max,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITES = {"<": ">=", "<=": ">", "==": "!=", "!=": "==", ">": "<=", ">=": "<"}


def is_whole(expr: Expr) -> bool:
    """Tell whether an expression is made of registers and whole numbers alone."""
    if isinstance(expr, Const):
        return not isinstance(expr.value, float)
    if isinstance(expr, Binary):
        return expr.sign != "/" and is_whole(expr.left) and is_whole(expr.right)
    return isinstance(expr, Register | Compare | Logic | Not)


def arithmetic(sign: str, left: Expr, right: Expr) -> Expr:
    """Return the result of arithmetic."""
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(_ARITHMETIC[sign](left.value, right.value))
    if sign == "-" and isinstance(right, Const) and not isinstance(right.value, float):
        sign, right = "+", Const(-right.value)
    if sign == "+" and isinstance(left, Const):
        left, right = right, left
    if isinstance(right, Const) and not isinstance(right.value, float):
        if (sign, right.value) == ("*", 1) or ((sign, right.value) == ("+", 0) and is_whole(left)):
            return left
        # Whole numbers may be added in any order; reals may not.
        if sign == "+" and isinstance(left, Binary) and left.sign == "+" and is_whole(left):
            more = left.right
            if isinstance(more, Const):
                return arithmetic("+", left.left, Const(more.value + right.value))
    if sign == "*" and left == Const(1) and is_whole(left):
        return right
    return Binary(sign, left, right)


def compare(sign: str, left: Expr, right: Expr) -> Expr:
    """Return whether a comparison holds."""
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(_COMPARISONS[sign](left.value, right.value))
    if left == right and is_whole(left):
        return Const(sign in ("<=", "==", ">="))
    if (
        isinstance(left, Binary)
        and left.sign == "+"
        and is_whole(left)
        and isinstance(right, Const)
        and is_whole(right)
    ):
        more = left.right
        if isinstance(more, Const):
            return Compare(sign, left.left, Const(right.value - more.value))
    return Compare(sign, left, right)


def negate(expr: Expr) -> Expr:
    """Return whether an expression does not hold."""
    if isinstance(expr, Const):
        return Const(not expr.value)
    if isinstance(expr, Not):
        return expr.operand
    if isinstance(expr, Compare) and not any(_is_real(side) for side in (expr.left, expr.right)):
        return Compare(_OPPOSITES[expr.sign], expr.left, expr.right)
    if isinstance(expr, Logic):
        return Logic("or" if expr.sign == "and" else "and", negate(expr.left), negate(expr.right))
    return Not(expr)


def _is_real(expr: Expr) -> bool:
    """Tell whether an expression may be a real, which could be no number at all; items never are."""
    return any(
        (isinstance(part, Cell) and part.array == "reals")
        or isinstance(part, Var | Apply)
        or (isinstance(part, Const) and isinstance(part.value, float))
        for part in walk(expr)
    )


def logic(sign: str, left: Expr, right: Expr) -> Expr:
    """Return `left and right` or `left or right`, for truth values."""
    for known, other in ((left, right), (right, left)):
        if isinstance(known, Const):
            return other if bool(known.value) == (sign == "and") else Const(sign == "or")
    return left if left == right else Logic(sign, left, right)


def select(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `then` if the test holds, else `otherwise`."""
    if isinstance(test, Const):
        return then if test.value else otherwise
    return then if then == otherwise else Select(test, then, otherwise)


# Looking through code.


def parts(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions that an expression is directly made of."""
    if isinstance(expr, Cell):
        return (expr.index,)
    if isinstance(expr, Not):
        return (expr.operand,)
    if isinstance(expr, Apply):
        return (expr.argument,)
    if isinstance(expr, Select):
        return (expr.test, expr.then, expr.otherwise)
    if isinstance(expr, Binary | Compare | Logic):
        return (expr.left, expr.right)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all it is made of."""
    yield expr
    for part in parts(expr):
        yield from walk(part)


def rebuild(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Return an expression with those parts replaced for which `change` returns something."""
    changed = change(expr)
    if changed is not None:
        return changed
    if isinstance(expr, Cell):
        return Cell(expr.array, rebuild(expr.index, change))
    if isinstance(expr, Not):
        return negate(rebuild(expr.operand, change))
    if isinstance(expr, Apply):
        return Apply(expr.function, rebuild(expr.argument, change))
    if isinstance(expr, Select):
        return select(*(rebuild(part, change) for part in parts(expr)))
    if isinstance(expr, Binary):
        return arithmetic(expr.sign, *(rebuild(part, change) for part in parts(expr)))
    if isinstance(expr, Compare):
        return compare(expr.sign, *(rebuild(part, change) for part in parts(expr)))
    if isinstance(expr, Logic):
        return logic(expr.sign, *(rebuild(part, change) for part in parts(expr)))
    return expr


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """Return the expressions that a statement itself reads, those of inner blocks left out."""
    if isinstance(statement, SetVar | SetRegister):
        return (statement.value,)
    if isinstance(statement, SetCell):
        return (statement.cell.index, statement.value)
    if isinstance(statement, If | While):
        return (statement.test,)
    if isinstance(statement, For):
        return (statement.first, statement.end)
    if isinstance(statement, Call):
        return statement.arguments
    if isinstance(statement, Return):
        return () if statement.value is None else (statement.value,)
    if isinstance(statement, End):
        return (statement.outcome,)
    if isinstance(statement, Back):
        return (statement.result,)
    return ()


def inner_blocks(statement: Statement) -> Sequence[Block]:
    """Return the blocks inside a statement."""
    if isinstance(statement, If):
        return (statement.then, statement.otherwise)
    if isinstance(statement, While | For):
        return (statement.body,)
    return ()
