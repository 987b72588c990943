"""Code is exact on every row that was met, and the smallest there is where that can be found out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from surpass.machine.features import Feature, flag
from surpass.machine.instructions import Instruction, integer
from surpass.machine.interface import Interface
from surpass.programs.program import Test as OneTest
from surpass.programs.rules import SearchEffort, code_size, write_code
from surpass.programs.tree import Branch, Leaf, follow_code, leaves
from surpass.programs.words import show_test

INTERFACE = Interface(
    [
        Feature("a ? b", ("<", "=", ">")),
        Feature("c ? d", ("<", "=", ">")),
        flag("last"),
        Feature("n ? m", ("low", ">", "=", "<"), labels=("n = low", "n > m", "n = m", "n < m")),
        Feature("shade", ("red", "green", "blue", "grey", "black")),
    ],
    [Instruction("Go", integer("way", tuple(range(6))))],
)
FEATURES = range(len(INTERFACE.features))
EVERY_ROW = INTERFACE.digits(np.arange(INTERFACE.observation_count))
SOME_ROWS = EVERY_ROW[::3]


def write(digits, actions, effort=None):
    code = write_code(INTERFACE, np.asarray(digits), np.asarray(actions), FEATURES, effort)
    assert (follow_code(code, np.asarray(digits)) == actions).all()
    return code


def smallest_size(digits, actions, most=8):
    """Return the size of the smallest code, by trying every test and every pair of tests at every branch."""
    tests = [
        OneTest(k, frozenset(values))
        for k in FEATURES
        for count in range(1, INTERFACE.radices[k])
        for values in itertools.combinations(range(INTERFACE.radices[k]), count)
    ]
    holds = [np.isin(digits[:, t.feature], list(t.values)) for t in tests]

    def fits(rows, size):
        if len(set(actions[rows])) == 1:
            return True
        if size < 2:
            return False
        splits = {tuple(h[rows]): 1 for h in holds}
        if size >= 3:
            for a, b in itertools.combinations(list(splits), 2):
                splits.setdefault(tuple(np.logical_and(a, b)), 2)
        for split, cost in splits.items():
            inside = np.array(split)
            if inside.all() or not inside.any():
                continue
            left = size - 1 - cost
            for first in range(left + 1):
                if fits(rows[inside], first) and fits(rows[~inside], left - first):
                    return True
        return False

    return next(size for size in range(most + 1) if fits(np.arange(len(digits)), size))


def test_rows_with_one_action_need_no_test():
    assert write(EVERY_ROW, np.full(len(EVERY_ROW), 3)) == Leaf(3)
    assert write(EVERY_ROW[:1], [2]) == Leaf(2)


@pytest.mark.parametrize("seed", range(6))
def test_the_code_is_the_smallest_by_trying_every_code(seed):
    random = np.random.default_rng(seed)
    digits = EVERY_ROW[random.choice(len(EVERY_ROW), 8, replace=False)]
    actions = random.integers(0, 3, len(digits))
    assert code_size(write(digits, actions)) == smallest_size(digits, actions)


@pytest.mark.parametrize("seed", range(20))
def test_code_is_never_larger_than_the_code_that_made_the_table(seed):
    random = np.random.default_rng(seed)

    def draw(depth):
        if depth == 0 or random.random() < 0.2:
            return Leaf(int(random.integers(6)))
        k = int(random.integers(len(FEATURES)))
        count = int(random.integers(1, INTERFACE.radices[k]))
        values = random.choice(INTERFACE.radices[k], count, replace=False)
        return Branch((OneTest(k, frozenset(values.tolist())),), draw(depth - 1), draw(depth - 1))

    hidden = draw(2)
    code = write(EVERY_ROW, follow_code(hidden, EVERY_ROW))
    assert code_size(code) <= code_size(hidden)
    # Rows that are left out only make it easier.
    some = EVERY_ROW[random.random(len(EVERY_ROW)) < 0.3]
    assert code_size(write(some, follow_code(hidden, some))) <= code_size(code)


@pytest.mark.parametrize("steps", [0, 50, 500])
def test_noise_is_told_exactly_whatever_the_effort(steps):
    actions = np.random.default_rng(5).integers(0, 6, len(SOME_ROWS))
    code = write(SOME_ROWS, actions, SearchEffort(steps=steps, rows=50 * steps))
    assert len(list(leaves(code))) <= len(SOME_ROWS)


def test_equal_effort_gives_equal_code():
    actions = np.random.default_rng(6).integers(0, 4, len(SOME_ROWS))
    assert write(SOME_ROWS, actions, SearchEffort(steps=200)) == write(SOME_ROWS, actions, SearchEffort(steps=200))


def test_a_conjunction_is_one_branch():
    actions = ((EVERY_ROW[:, 0] == 0) & (EVERY_ROW[:, 2] == 1)).astype(int)
    code = write(EVERY_ROW, actions)
    assert isinstance(code, Branch)
    assert [show_test(INTERFACE, test) for test in code.tests] == ["a < b", "last"]
    assert code == Branch(code.tests, Leaf(1), Leaf(0))


def test_tests_are_said_in_the_plainest_words_for_what_was_met():
    met = EVERY_ROW[EVERY_ROW[:, 3] != 0]
    code = write(met, (met[:, 3] < 3).astype(int))
    assert isinstance(code, Branch)
    assert show_test(INTERFACE, code.tests[0]) == "n < m"
    assert (code.then, code.otherwise) == (Leaf(0), Leaf(1))


def test_every_test_has_words():
    said = {}
    for k in FEATURES:
        for count in range(1, INTERFACE.radices[k]):
            for values in itertools.combinations(range(INTERFACE.radices[k]), count):
                said[show_test(INTERFACE, OneTest(k, frozenset(values)))] = k, values
    assert len(said) == sum(2**radix - 2 for radix in INTERFACE.radices)
    assert said["a <= b"] == (0, (0, 1))
    assert said["not last"] == (2, (0,))
    assert said["n >= m"] == (3, (1, 2))
    assert said["not n >= m"] == (3, (0, 3))
    assert said["not n = low"] == (3, (1, 2, 3))
    assert said["shade in {red, blue}"] == (4, (0, 2))


def test_a_feature_with_many_values_is_not_told_value_by_value():
    wide = Interface([Feature("x", tuple(range(30)))], [Instruction("Go", integer("way", tuple(range(30))))])
    digits = np.arange(30)[:, None]
    for actions in (np.arange(30), np.arange(30) // 5):
        code = write_code(wide, digits, actions, [0])
        assert (follow_code(code, digits) == actions).all()
        assert len(list(leaves(code))) == len(set(actions.tolist()))


def test_without_features_there_is_one_action():
    assert write_code(INTERFACE, EVERY_ROW, np.full(len(EVERY_ROW), 2), []) == Leaf(2)
