"""Tests of features as plain conditions: `compare(v1, v2)` is one of 0 and 1 becomes `v1 <= v2`."""

from __future__ import annotations

from collections.abc import Callable

from surpass.programs.export.code import (
    Apply,
    Binary,
    Cell,
    Compare,
    Const,
    Expr,
    Logic,
    Not,
    Register,
    Select,
    compare,
    logic,
    negate,
    rebuild,
    select,
    walk,
)

__all__ = ["is_one_of"]

Numbers = frozenset[int]

ORDERS = ("<", "=", ">", "none")
"""How two numbers can stand to each other; none if one of them is not a number."""
_TRUE_IN = {
    "<": {"<"},
    "<=": {"<", "="},
    "==": {"="},
    "!=": {"<", ">", "none"},
    ">": {">"},
    ">=": {">", "="},
}


def is_one_of(expr: Expr, values: Numbers, possible: Numbers) -> Expr:
    """Return the condition that an expression, which has one of the `possible` values, has one of `values`."""
    values &= possible
    if not values or values == possible:
        return Const(bool(values))
    if isinstance(expr, Const):
        return Const(expr.value in values)
    if isinstance(expr, Select):
        then = _within(expr.then, values, possible)
        otherwise = _within(expr.otherwise, values, possible)
        return _either(expr.test, then, otherwise)
    if isinstance(expr, Binary) and isinstance(expr.right, Const) and expr.sign == "+" and _is_number(expr.right):
        shift = int(expr.right.value)
        return is_one_of(expr.left, _map(values, lambda v: v - shift), _map(possible, lambda v: v - shift))
    if isinstance(expr, Binary) and isinstance(expr.left, Const) and expr.sign == "-" and _is_number(expr.left):
        start = int(expr.left.value)
        return is_one_of(expr.right, _map(values, lambda v: start - v), _map(possible, lambda v: start - v))
    found = _as_comparison(expr, values)
    if found is not None:
        return found
    if isinstance(expr, Compare | Logic | Not):
        return is_truth(expr, values)
    return _as_equalities(expr, values, possible)


def is_truth(expr: Expr, values: Numbers) -> Expr:
    """Return the condition that a truth value, as 0 or 1, is one of `values`."""
    if {0, 1} <= values:
        return Const(True)
    if 1 in values:
        return expr
    return negate(expr) if 0 in values else Const(False)


def _within(expr: Expr, values: Numbers, possible: Numbers) -> Expr:
    """Return the condition for one side of a choice, which may have fewer values than the whole."""
    if isinstance(expr, Const):
        return Const(expr.value in values)
    found = _as_comparison(expr, values)
    return found if found is not None else is_one_of(expr, values, possible)


def _either(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return the condition `then` where a test holds, else `otherwise`."""
    if isinstance(then, Const):
        return logic("or", test, otherwise) if then.value else logic("and", negate(test), otherwise)
    if isinstance(otherwise, Const):
        return logic("or", negate(test), then) if otherwise.value else logic("and", test, then)
    return select(test, then, otherwise)


def _as_comparison(expr: Expr, values: Numbers) -> Expr | None:
    """Return the condition as one comparison, if the expression tells nothing but how two numbers compare."""
    pair = _compared(expr)
    if pair is None:
        return None
    left, right = pair
    orders = {order for order in ORDERS if _under(expr, left, order) in values}
    # Items and whole numbers are always numbers.
    possible = set(ORDERS) if _is_real(left) or _is_real(right) else set(ORDERS[:3])
    if not orders & possible or possible <= orders:
        return Const(bool(orders & possible))
    for sign, true_in in _TRUE_IN.items():
        if true_in & possible == orders & possible:
            return compare(sign, left, right)
    for sign, true_in in _TRUE_IN.items():
        if possible - true_in == orders & possible:
            return Not(compare(sign, left, right))
    return None


def _compared(expr: Expr) -> tuple[Expr, Expr] | None:
    """Return the two numbers on whose order alone an expression depends."""
    found: tuple[Expr, Expr] | None = None
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Compare):
            pair = (part.left, part.right)
            if found is not None and pair != found and pair != found[::-1]:
                return None
            found = found or pair
        elif isinstance(part, Binary) and part.sign in "+-*":
            waiting += [part.left, part.right]
        elif not isinstance(part, Const):
            return None
    return found


def _under(expr: Expr, left: Expr, order: str) -> int | float:
    """Return what an expression comes to if its two numbers compare in a way."""
    swapped = {"<": ">", ">": "<"}.get(order, order)

    def decide(part: Expr) -> Expr | None:
        if not isinstance(part, Compare):
            return None
        return Const((order if part.left == left else swapped) in _TRUE_IN[part.sign])

    found = rebuild(expr, decide)
    assert isinstance(found, Const)
    return found.value


def _as_equalities(expr: Expr, values: Numbers, possible: Numbers) -> Expr:
    rest = possible - values
    chosen, sign, joined = (values, "==", "or") if len(values) <= len(rest) else (rest, "!=", "and")
    found: Expr = Const(joined == "and")
    for value in sorted(chosen, reverse=True):
        found = logic(joined, compare(sign, expr, Const(value)), found)
    return found


def _map(values: Numbers, change: Callable[[int], int]) -> Numbers:
    return frozenset(change(value) for value in values)


def _is_number(const: Const) -> bool:
    return isinstance(const.value, int)


def _is_real(expr: Expr) -> bool:
    if isinstance(expr, Cell):
        return expr.array == "reals"
    if isinstance(expr, Register):
        return False
    return isinstance(expr, Apply) or any(_is_real(part) for part in walk(expr) if part is not expr)
