"""What a program asks as expressions: the tests of its rules, from the features that they are about."""

from __future__ import annotations

import ast
from collections.abc import Callable

from surpass.machine.features import SIGNS, Comparison, CurrentFunction, Feature, PreviousAction, Value
from surpass.machine.state import FUNCTION, PREVIOUS
from surpass.programs.export.code import (
    all_of,
    any_of,
    compare,
    constant,
    fold,
    is_true,
    is_truth,
    may_be_real,
    negate,
    number,
)
from surpass.programs.export.kernels import Translator

__all__ = ["is_one_of", "write_condition"]

_SIGNS = {"<": "<", "=": "==", ">": ">", "<=": "<=", "=>": ">=", "<>": "!="}


def write_condition(feature: Feature | PreviousAction, values: frozenset[int], translator: Translator) -> ast.expr:
    """Return the condition that a feature has one of some values, given by their numbers."""
    if isinstance(feature, PreviousAction | CurrentFunction):
        register = PREVIOUS if isinstance(feature, PreviousAction) else FUNCTION
        return _is_any(translator.register(register), values)
    read: Callable[[Value], ast.expr] = lambda value: translator.expression(value.kernel, value.arguments)  # noqa: E731
    if not isinstance(feature, Comparison):
        seen = translator.expression(feature.kernel, feature.arguments)
        return is_one_of(seen, values, len(feature.values))
    signs = "".join(sign for sign in SIGNS if feature.number(sign) in values)
    if signs in ("", "<=>"):
        found: ast.expr = constant(bool(signs))
    else:
        left, right = read(feature.left), read(feature.right)
        if signs in ("<", "<=") and (may_be_real(left) or may_be_real(right)):
            # Where one is no number, the machine sees `<`.
            found = negate(compare(">=" if signs == "<" else ">", left, right))
        else:
            found = compare(_SIGNS[signs], left, right)
    if feature.edge is None:
        return found
    edge = is_one_of(read(feature.edge), frozenset([1]), 2)
    return any_of(edge, found) if feature.edge_number in values else all_of(negate(edge), found)


def is_one_of(seen: ast.expr, values: frozenset[int], count: int) -> ast.expr:
    """Return the condition that an expression, which has one of the values 0 to count - 1, has one of some."""
    known = number(seen)
    if known is not None or len(values) in (0, count):
        return constant(known in values if known is not None else bool(values))
    if is_truth(seen):
        return seen if 1 in values else negate(seen)
    if isinstance(seen, ast.IfExp):
        then, otherwise = (is_one_of(way, values, count) for way in (seen.body, seen.orelse))
        if is_true(then) is not None:
            return any_of(seen.test, otherwise) if is_true(then) else all_of(negate(seen.test), otherwise)
        if is_true(otherwise) is not None:
            return any_of(negate(seen.test), then) if is_true(otherwise) else all_of(seen.test, then)
        return fold(ast.IfExp(seen.test, then, otherwise))
    rest = frozenset(range(count)) - values
    return _is_any(seen, values) if len(values) <= len(rest) else negate(_is_any(seen, rest))


def _is_any(seen: ast.expr, values: frozenset[int]) -> ast.expr:
    return any_of(*(compare("==", seen, constant(value)) for value in sorted(values)))
