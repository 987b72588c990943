"""The table of an agent keeps every answer while it grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.engine.kernels import EMPTY
from surpass.engine.lookup import Lookup
from surpass.errors import SurpassError
from surpass.table import NO_ACTION
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task

LARGEST = SORT_QUICK.interface.observation_count - 1


class Remainder:
    """An agent whose action is the observation's remainder, or none for multiples of 7."""

    name = "remainder"
    task: Task = SORT_QUICK

    def actions(self, observations: np.ndarray) -> np.ndarray:
        return np.where(observations % 7 == 0, NO_ACTION, observations % 2096)


def check_holds_all(lookup: Lookup, observations: np.ndarray) -> None:
    """Raise AssertionError unless the table holds exactly these observations with the agent's answers."""
    expected = np.unique(observations)
    found, actions = lookup.entries()
    assert found.tolist() == expected.tolist()
    assert actions.tolist() == Remainder().actions(expected).tolist()
    assert lookup.count == len(expected)
    assert 2 * lookup.count <= len(lookup.keys)
    assert len(lookup.keys) & (len(lookup.keys) - 1) == 0, "the hash needs a power of two"


@settings(max_examples=60)
@given(st.lists(st.sets(st.integers(0, LARGEST), min_size=1, max_size=40), max_size=8))
def test_a_table_that_grows_keeps_every_entry(batches: list[set[int]]) -> None:
    lookup, known = Lookup(Remainder(), capacity=4), set()
    for batch in batches:
        new = np.array(sorted(batch - known), np.int64)
        if new.size:
            lookup.extend(new)
        known |= batch
        check_holds_all(lookup, np.array(sorted(known), np.int64))


@pytest.mark.parametrize(
    "observations",
    [
        np.arange(5000),
        np.arange(5000) << 31,
        (np.arange(5000) << 31) | np.arange(5000),
        LARGEST - np.arange(5000),
        np.arange(5000) * 2**20,
    ],
    ids=["neighbours", "equal low halves", "equal when folded", "the largest", "multiples of the shift"],
)
def test_observations_that_hash_alike_are_all_kept(observations: np.ndarray) -> None:
    lookup = Lookup(Remainder())
    for part in np.array_split(observations, 7):
        lookup.extend(part)
    check_holds_all(lookup, observations)


def test_a_lost_a_changed_and_a_foreign_entry_are_noticed() -> None:
    def fresh() -> Lookup:
        lookup = Lookup(Remainder())
        lookup.extend(np.arange(10))
        return lookup

    check_holds_all(fresh(), np.arange(10))
    lost, changed, foreign = fresh(), fresh(), fresh()
    lost.keys[lost.keys == 3] = EMPTY
    changed.values[changed.keys == 3] += 1
    foreign.keys[foreign.keys == 3] = 99
    for broken in (lost, changed, foreign):
        with pytest.raises(AssertionError):
            check_holds_all(broken, np.arange(10))


def test_a_table_holds_nothing_at_first() -> None:
    observations, actions = Lookup(Remainder()).entries()
    assert (len(observations), len(actions)) == (0, 0)


@pytest.mark.parametrize("answers", [[2096, 0], [-2, 0], [0]], ids=["too large", "too small", "too few"])
def test_an_answer_that_is_no_action_is_refused(answers: list[int]) -> None:
    class Wrong(Remainder):
        def actions(self, observations: np.ndarray) -> np.ndarray:
            return np.array(answers, np.int64)

    with pytest.raises(SurpassError):
        Lookup(Wrong()).extend(np.array([1, 2]))
