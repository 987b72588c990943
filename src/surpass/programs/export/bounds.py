"""Registers that are always positions of the list, 0 to n - 1, and what that makes superfluous.

A register is a position throughout if its first value is one and everything that is ever written to it is one,
provided that the others are. That holds where an empty instance ends at once, so that n is 1 or more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from surpass.machine.state import SIZE
from surpass.programs.export.cleanup import all_statements, change_expressions, functions_in, with_blocks
from surpass.programs.export.code import (
    Back,
    Binary,
    Block,
    Const,
    Expr,
    Register,
    Select,
    SetRegister,
    SetVar,
    Site,
    Statement,
    Var,
    rebuild,
)

__all__ = ["drop_needless_limits"]


@dataclass(frozen=True)
class _Range:
    """What is known of a number: at least `low`, and at most n - 1 + `high`."""

    low: int | None = None
    high: int | None = None


POSITION = _Range(0, 0)


def drop_needless_limits(blocks: Sequence[Block], candidates: Iterable[int], sites: Iterable[Site]) -> list[Block]:
    """Return code without the `min` and `max` that keep positions where they are anyway."""
    written = {index for b in blocks for f in functions_in(b) for index in _written(f.body)}
    positions = set(candidates) - written
    resolved = [statement for block in blocks for statement in _resolve(block)]
    settings = [s for s in resolved if isinstance(s, SetRegister)]
    receivers = {site.receiver for site in sites if site.receiver is not None}
    settings += [SetRegister(index, s.result) for s in resolved if isinstance(s, Back) for index in receivers]
    while True:
        wrong = {s.index for s in settings if s.index in positions and not _is_position(s.value, positions)}
        if not wrong:
            break
        positions -= wrong
    return [_drop(block, lambda expr: _shorten(expr, positions)) for block in blocks]


def _written(block: Block) -> Iterable[int]:
    return (s.index for s in all_statements(block) if isinstance(s, SetRegister))


def _resolve(block: Block) -> Iterable[Statement]:
    """Yield the statements of a block, with variables that are set once replaced by their values."""
    statements = list(all_statements(block))
    set_vars = [s for s in statements if isinstance(s, SetVar)]
    values = {s.var: s.value for s in set_vars if sum(other.var == s.var for other in set_vars) == 1}

    def put(expr: Expr) -> Expr:
        return rebuild(expr, lambda part: put(values[part]) if isinstance(part, Var) and part in values else None)

    for statement in statements:
        yield change_expressions(statement, put) if isinstance(statement, SetRegister | Back) else statement


def _is_position(expr: Expr, positions: set[int]) -> bool:
    found = _range(expr, positions)
    return found.low is not None and found.low >= 0 and found.high is not None and found.high <= 0


def _range(expr: Expr, positions: set[int]) -> _Range:
    if isinstance(expr, Const) and not isinstance(expr.value, float):
        return _Range(int(expr.value), int(expr.value))
    if isinstance(expr, Register):
        return POSITION if expr.index in positions else _Range(1, 1) if expr.index == SIZE else _Range()
    if isinstance(expr, Select):
        return _either(_range(expr.then, positions), _range(expr.otherwise, positions))
    if not isinstance(expr, Binary):
        return _Range()
    left, right = _range(expr.left, positions), _range(expr.right, positions)
    if expr.sign == "+" and isinstance(expr.right, Const):
        return _shift(left, int(expr.right.value)) if isinstance(expr.right.value, int) else _Range()
    if expr.sign == "//" and expr.right == Const(2) and _is_sum_of_positions(expr.left, positions):
        return POSITION
    if expr.sign == "min":
        return _Range(_of_both(min, left.low, right.low), _of_either(min, left.high, right.high))
    if expr.sign == "max":
        return _Range(_of_either(max, left.low, right.low), _of_both(max, left.high, right.high))
    return _Range()


def _is_sum_of_positions(expr: Expr, positions: set[int]) -> bool:
    return (
        isinstance(expr, Binary)
        and expr.sign == "+"
        and _is_position(expr.left, positions)
        and _is_position(expr.right, positions)
    )


def _shift(known: _Range, by: int) -> _Range:
    return _Range(None if known.low is None else known.low + by, None if known.high is None else known.high + by)


def _either(a: _Range, b: _Range) -> _Range:
    return _Range(_of_both(min, a.low, b.low), _of_both(max, a.high, b.high))


def _of_both(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _of_either(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else choose(a, b)


def _shorten(expr: Expr, positions: set[int]) -> Expr:
    """Return an expression without a `min` or `max` whose outcome is known."""

    def change(part: Expr) -> Expr | None:
        if not isinstance(part, Binary) or part.sign not in ("min", "max"):
            return None
        left, right = (_shorten(side, positions) for side in (part.left, part.right))
        first = _range(left, positions)
        if part.sign == "max" and isinstance(right, Const) and first.low is not None and first.low >= right.value:
            return left
        last = Binary("+", Register(SIZE), Const(-1))
        if part.sign == "min" and right == last and first.high is not None and first.high <= 0:
            return left
        return Binary(part.sign, left, right)

    return rebuild(expr, change)


def _drop(block: Block, shorten: Callable[[Expr], Expr]) -> Block:
    found: list[Statement] = []
    for statement in block:
        statement = with_blocks(statement, lambda inner: _drop(inner, shorten))
        found.append(change_expressions(statement, shorten))
    return tuple(found)
