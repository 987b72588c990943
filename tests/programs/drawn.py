"""Programs drawn at random, for the tests of what holds for every program."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from surpass.machine.interface import NO_ACTION
from surpass.programs.program import Function, Place, Program, Rule, Test, place_features


def _tests(interface):
    free = [k for k in range(len(interface.features)) if k not in place_features(interface)]
    tests = {
        k: st.builds(Test, st.just(k), st.frozensets(st.integers(0, interface.radices[k] - 1), min_size=1))
        for k in free
    }
    return st.lists(st.sampled_from(free).flatmap(tests.__getitem__), min_size=1, max_size=4).map(_agreeing)


def _agreeing(tests):
    """Return tests of which those on one feature have a value in common, so that they can hold together."""
    common = {}
    for k, test in enumerate(tests):
        common.setdefault(test.feature, min(test.values))
        tests[k] = Test(test.feature, test.values | {common[test.feature]})
    return tuple(tests)


@cache
def _rules(task):
    """Return how rules of a task are drawn; to build this takes longer than to draw from it."""
    interface = task.interface
    actions = st.integers(NO_ACTION, interface.action_count - 1)
    conditional = st.lists(st.builds(Rule, _tests(interface), actions), max_size=6).map(tuple)
    otherwise = st.one_of(st.just(()), actions.map(lambda action: (Rule((), action),)))
    return st.tuples(conditional, otherwise).map(lambda parts: parts[0] + parts[1]).filter(bool)


@st.composite
def programs(draw, task):
    """Draw a program of a task, whose places lie anywhere."""
    interface = task.interface
    function, previous = place_features(interface)

    def split(values, most):
        """Return some of the values, in groups."""
        chosen = draw(st.lists(st.sampled_from(values), unique=True, min_size=1, max_size=most))
        groups = [[chosen[0]]]
        for value in chosen[1:]:
            if draw(st.booleans()):
                groups.append([value])
            else:
                groups[-1].append(value)
        return [tuple(group) for group in groups]

    def after():
        if previous is None:
            return [()]
        if draw(st.integers(0, 4)) == 0:
            return [tuple(range(interface.radices[previous]))]
        return split(range(interface.radices[previous]), 5)

    ids = [()] if function is None else split(range(interface.radices[function]), 3)
    functions = (Function(one, tuple(Place(values, draw(_rules(task))) for values in after())) for one in ids)
    return Program("drawn", task, tuple(functions))
