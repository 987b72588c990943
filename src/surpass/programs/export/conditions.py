"""What a program asks as expressions: the tests of its rules, from the features that they are about."""

from __future__ import annotations

import ast

from surpass.machine.features import SIGNS, Comparison, CurrentFunction, Feature, PreviousAction, Value
from surpass.machine.state import FUNCTION
from surpass.programs.export import syntax
from surpass.programs.export.kernels import Translator

_SIGNS = {"<": "<", "=": "==", ">": ">", "<=": "<=", "=>": ">=", "<>": "!="}


def write_condition(feature: Feature | PreviousAction, values: frozenset[int], translator: Translator) -> ast.expr:
    """Return the condition that a feature has one of some values, given by their numbers."""
    assert not isinstance(feature, PreviousAction), "the place tells the previous action"
    if isinstance(feature, CurrentFunction):
        return _is_any(syntax.whole(translator.registers[FUNCTION]), values)

    def read(value: Value) -> ast.expr:
        return translator.expression(value.kernel, *value.arguments)

    if not isinstance(feature, Comparison):
        seen = translator.expression(feature.kernel, *feature.arguments)
        return is_one_of(seen, values, len(feature.values))
    signs = "".join(sign for sign in SIGNS if feature.number(sign) in values)
    if signs in ("", "<=>"):
        found: ast.expr = syntax.constant(bool(signs))
    else:
        left, right = read(feature.left), read(feature.right)
        if signs in ("<", "<=") and (syntax.may_be_real(left) or syntax.may_be_real(right)):
            # Where one is not a number, the machine sees `<`.
            found = syntax.negate(syntax.compare(">=" if signs == "<" else ">", left, right))
        else:
            found = syntax.compare(_SIGNS[signs], left, right)
    if feature.edge is None:
        return found
    edge = is_one_of(read(feature.edge), frozenset([1]), 2)
    return syntax.any_of(edge, found) if feature.edge_number in values else syntax.all_of(syntax.negate(edge), found)


def is_one_of(seen: ast.expr, values: frozenset[int], count: int) -> ast.expr:
    """Return the condition that an expression, which has one of the values 0 to count - 1, has one of some."""
    known = syntax.number(seen)
    if known is not None or len(values) in (0, count):
        return syntax.constant(known in values if known is not None else bool(values))
    if syntax.is_truth(seen):
        return seen if 1 in values else syntax.negate(seen)
    if isinstance(seen, ast.IfExp):
        test, (then, otherwise) = seen.test, (is_one_of(way, values, count) for way in (seen.body, seen.orelse))
        return syntax.any_of(syntax.all_of(test, then), syntax.all_of(syntax.negate(test), otherwise))
    rest = frozenset(range(count)) - values
    return _is_any(seen, values) if len(values) <= len(rest) else syntax.negate(_is_any(seen, rest))


def _is_any(seen: ast.expr, values: frozenset[int]) -> ast.expr:
    return syntax.any_of(*(syntax.compare("==", seen, syntax.constant(value)) for value in sorted(values)))
