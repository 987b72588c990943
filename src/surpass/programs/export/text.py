"""Expressions as text, and what functions need of the memory: shared by the languages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from surpass.machine.state import DEPTH
from surpass.programs.export.cleanup import all_statements, functions_in, read_parts
from surpass.programs.export.code import (
    Apply,
    Binary,
    Cell,
    Compare,
    Const,
    Expr,
    Function,
    Logic,
    Not,
    Register,
    Select,
    SetCell,
    SetRegister,
    Var,
)
from surpass.programs.export.values import QUERY

__all__ = ["ATOM", "Needs", "Notation", "needs_of"]

CHOICE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, ATOM = 1, 2, 3, 4, 5, 9, 10, 11, 20
_PRECEDENCE = {"|": 6, "^": 7, "&": 8, "<<": 8, ">>": 8, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


class Notation(ABC):
    """How a language writes expressions."""

    def __init__(self, names: dict[Expr, str]) -> None:
        self.names = names
        """What registers and reals are called."""

    def text(self, expr: Expr, least: int = 0) -> str:
        """Return an expression as text, in brackets if it binds less tightly than `least`."""
        text, binds = self._write(expr)
        return text if binds >= least else f"({text})"

    def _write(self, expr: Expr) -> tuple[str, int]:
        """Return an expression as text and how tightly it binds."""
        if expr in self.names:
            return self.names[expr], ATOM
        if isinstance(expr, Const):
            text = self.constant(expr)
            return text, SIGN if text.startswith("-") else ATOM
        if isinstance(expr, Var):
            return expr.name, ATOM
        if isinstance(expr, Register):
            return f"register{expr.index}", ATOM
        if isinstance(expr, Cell):
            return self.cell(expr), ATOM
        if isinstance(expr, Not):
            return self.negation(expr)
        if isinstance(expr, Select):
            return self.choice(expr)
        if isinstance(expr, Logic):
            return self.logic(expr)
        if isinstance(expr, Compare):
            left, right = (self.text(side, COMPARISON + 1) for side in (expr.left, expr.right))
            return f"{left} {expr.sign} {right}", COMPARISON
        if isinstance(expr, Apply):
            return self.apply(expr), ATOM
        return self.arithmetic(expr)

    def cell(self, cell: Cell) -> str:
        """Return a place in an array as text."""
        return f"{cell.array}[{self.text(cell.index)}]"

    def infix(self, expr: Binary) -> tuple[str, int]:
        """Return arithmetic written with its sign between the two sides."""
        binds = _PRECEDENCE.get(expr.sign, PRODUCT)
        sign, right = expr.sign, expr.right
        if sign == "+" and isinstance(right, Const) and right.value < 0:
            sign, right = "-", Const(-right.value)
        # Brackets beside signs that few know the order of.
        least = binds if sign in "+-*" else SIGN
        return f"{self.text(expr.left, least)} {sign} {self.text(right, max(binds + 1, least))}", binds

    @abstractmethod
    def constant(self, const: Const) -> str:
        """Return a constant as text."""

    @abstractmethod
    def negation(self, expr: Not) -> tuple[str, int]:
        """Return `not` as text and how tightly it binds."""

    @abstractmethod
    def choice(self, expr: Select) -> tuple[str, int]:
        """Return a choice as text and how tightly it binds."""

    @abstractmethod
    def logic(self, expr: Logic) -> tuple[str, int]:
        """Return `and` or `or` as text and how tightly it binds."""

    @abstractmethod
    def apply(self, expr: Apply) -> str:
        """Return a function of a number as text."""

    @abstractmethod
    def arithmetic(self, expr: Binary) -> tuple[str, int]:
        """Return arithmetic as text and how tightly it binds."""


@dataclass(frozen=True)
class Needs:
    """What a function needs of the memory, and what it changes."""

    reads: tuple[Expr, ...]
    """The registers and single reals that it reads or changes."""
    writes: tuple[Expr, ...]
    """Those that it changes."""
    arrays: tuple[str, ...]
    """The arrays that it uses."""
    changes: tuple[str, ...]
    """Those that it changes."""
    has_query: bool


def needs_of(function: Function, *, real_array: bool) -> Needs:
    """Return what a function and those that it calls need; `real_array` if the reals are an array."""
    bodies = [function.body, *(inner.body for inner in functions_in(function.body))]
    parts = [part for body in bodies for part in read_parts(body)]
    statements = [statement for body in bodies for statement in all_statements(body)]
    cells = [statement.cell for statement in statements if isinstance(statement, SetCell)]

    def is_single(expr: Expr) -> bool:
        if isinstance(expr, Cell):
            return expr.array == "reals" and not real_array
        return isinstance(expr, Register) and expr.index != DEPTH

    writes = [Register(s.index) for s in statements if isinstance(s, SetRegister)]
    written: list[Expr] = [*writes, *(cell for cell in cells if is_single(cell))]
    reads = [part for part in parts if is_single(part)] + written
    used = [part for part in parts if isinstance(part, Cell) and not is_single(part)]
    changed = [cell for cell in cells if not is_single(cell)]

    def in_order(exprs: list[Expr]) -> tuple[Expr, ...]:
        return tuple(sorted(set(exprs), key=lambda e: (isinstance(e, Cell), e.index if isinstance(e, Register) else 0)))

    return Needs(
        in_order(reads),
        in_order(written),
        tuple(sorted({cell.array for cell in [*used, *changed]})),
        tuple(sorted({cell.array for cell in changed})),
        QUERY in parts,
    )
