"""Tests and actions of a program in the words of its interface."""

from __future__ import annotations

from surpass.agents.agent import NO_ACTION
from surpass.machine.interface import Interface
from surpass.programs.program import Test

__all__ = ["show_action", "show_test", "show_tests", "vagueness"]


def show_tests(interface: Interface, tests: tuple[Test, ...]) -> str:
    """Return the condition that all of some tests hold."""
    return " and ".join(show_test(interface, test) for test in tests)


def show_test(interface: Interface, test: Test) -> str:
    """Return a test as a condition, such as `v1 <= v2`."""
    named = _name(interface, test)
    if named is not None:
        return named
    negated = _name(interface, test.negated(interface))
    if negated is not None:
        return f"not {negated}"
    feature, values = interface.features[test.feature], interface.feature_values(test.feature)
    if "?" not in feature.name:
        return f"{feature.name} in {{{', '.join(str(values[v]) for v in sorted(test.values))}}}"
    return "(" + " or ".join(feature.condition(values[v]) for v in sorted(test.values)) + ")"


def vagueness(interface: Interface, test: Test) -> int:
    """Return how far a test is from saying a single thing; of two tests that do the same, less is better."""
    if len(test.values) == 1:
        return 0
    if _name(interface, test) is not None:
        return 1
    negation = test.negated(interface)
    if _name(interface, negation) is not None:
        return 2 if len(negation.values) == 1 else 3
    return 3 + len(test.values)


def show_action(interface: Interface, action: int) -> str:
    """Return an action as text."""
    return "no action" if action == NO_ACTION else str(interface.actions[action])


def _name(interface: Interface, test: Test) -> str | None:
    """Return the condition of the interface that says the same as a test."""
    feature = interface.features[test.feature]
    if len(test.values) == 1:
        return feature.condition(interface.feature_values(test.feature)[min(test.values)])
    if "?" in feature.name:
        for sign in ("<=", ">=", "!="):
            text = feature.name.replace("?", sign)
            if interface.conditions[text] == (test.feature, test.values):
                return text
    return None
