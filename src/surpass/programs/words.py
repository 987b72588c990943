"""Tests and actions of a program in the words of its interface."""

from __future__ import annotations

from surpass.machine.interface import NO_ACTION, Interface
from surpass.programs.program import START, Function, Place, Test, place_features


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


def show_condition(interface: Interface, tests: tuple[Test, ...], holds: bool) -> str:
    """Return the condition that all of some tests hold, or that not all do."""
    if holds:
        return show_tests(interface, tests)
    if len(tests) == 1:
        return show_test(interface, tests[0].negated(interface))
    return f"not ({show_tests(interface, tests)})"


def show_function(interface: Interface, function: Function) -> str:
    """Return the name of a function, or nothing where the interface has none."""
    feature, _ = place_features(interface)
    if feature is None:
        return ""
    values = [interface.feature_values(feature)[k] for k in function.ids]
    return " and ".join("main" if value is None else f"function {value}" for value in values)


def show_after(interface: Interface, after: tuple[int, ...]) -> str:
    """Return where in a function a place stands, or nothing where the interface has no previous action."""
    _, previous = place_features(interface)
    if previous is None:
        return ""
    if after == tuple(range(interface.radices[previous])):
        return "anywhere"
    return " or ".join("at the start" if k == START else f"after {interface.actions[k - 1]}" for k in after)


def show_place(interface: Interface, function: Function, place: Place) -> str:
    """Return where in a program a place stands: in which function, after which actions."""
    return ", ".join(filter(None, (show_function(interface, function), show_after(interface, place.after))))


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
