"""Short lists of rules that are sought at random: always right, and shorter than code whose branches are nested."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from surpass.machine.features import Feature
from surpass.machine.instructions import Instruction
from surpass.machine.interface import Interface
from surpass.programs.cover import cover_rows
from surpass.programs.program import Rule
from surpass.programs.tree import all_hold

INTERFACE = Interface(
    [Feature(name, tuple("<=>")) for name in ("a", "b", "c", "d")], [Instruction(name) for name in "PQRST"]
)
ROWS = np.array(list(product(range(3), repeat=4)), np.int64)


def answers(rules: tuple[Rule, ...], digits: np.ndarray) -> np.ndarray:
    """Return the action of the first rule that fits each row, or -1."""
    found = np.full(len(digits), -1)
    for rule in reversed(rules):
        found[all_hold(rule.conditions, digits)] = rule.action
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_row_gets_its_action(seed: int) -> None:
    random = np.random.default_rng(seed)
    actions = random.integers(0, 5, len(ROWS))
    rules = cover_rows(INTERFACE, ROWS, actions, range(4), tries=3, random=random)
    assert rules is not None
    assert (answers(rules, ROWS) == actions).all()


def test_a_rule_relies_on_those_before_it() -> None:
    """Four rules made these actions, and no more than six are found; where actions do not differ, one rule does."""
    lists = [(ROWS[:, 0] == 0) & (ROWS[:, 1] == 2), (ROWS[:, 2] == 1), (ROWS[:, 1] == 0) & (ROWS[:, 3] > 0)]
    actions = np.select(lists, [0, 1, 0], 2)
    found = cover_rows(INTERFACE, ROWS, actions, range(4), tries=40, random=np.random.default_rng(1))
    assert found is not None
    assert (answers(found, ROWS) == actions).all()
    assert len(found) <= 6
    assert cover_rows(INTERFACE, ROWS, np.full(len(ROWS), 3), range(4), tries=1, random=np.random.default_rng(1)) == (
        Rule((), 3),
    )


def test_rows_that_only_other_features_tell_apart_have_no_rules() -> None:
    actions = ROWS[:, 3]
    assert cover_rows(INTERFACE, ROWS, actions, range(3), tries=1, random=np.random.default_rng(1)) is not None
    both = np.concatenate([ROWS[:2], ROWS[:2]])
    assert cover_rows(INTERFACE, both, np.array([0, 1, 0, 1]), range(4), tries=1, random=np.random.default_rng(1))
