"""A table asks its source once, and keeps every answer while it grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.errors import SurpassError
from surpass.machine.interface import NO_ACTION
from surpass.table import EMPTY, Table
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task

LARGEST = SORT_QUICK.interface.observation_count - 1


class Remainder:
    """An agent whose action is the observation's remainder, or none for multiples of 7."""

    name = "remainder"
    task: Task = SORT_QUICK

    def actions(self, observations: np.ndarray) -> np.ndarray:
        return np.where(observations % 7 == 0, NO_ACTION, observations % 2096)


def check_holds_all(table: Table, observations: np.ndarray) -> None:
    """Raise AssertionError unless the table holds exactly these observations with the agent's answers."""
    expected = np.unique(observations)
    found, actions = table.entries()
    assert found.tolist() == expected.tolist()
    assert actions.tolist() == Remainder().actions(expected).tolist()
    assert len(table) == len(expected)
    assert 2 * len(table) <= len(table.keys)
    assert len(table.keys) & (len(table.keys) - 1) == 0, "the hash needs a power of two"


@settings(max_examples=60)
@given(st.lists(st.sets(st.integers(0, LARGEST), min_size=1, max_size=40), max_size=8))
def test_a_table_that_grows_keeps_every_entry(batches: list[set[int]]) -> None:
    table, known = Table.of(Remainder()), set()
    table._allocate(4)
    for batch in batches:
        new = np.array(sorted(batch - known), np.int64)
        if new.size:
            table.extend(new)
        known |= batch
        check_holds_all(table, np.array(sorted(known), np.int64))


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
    table = Table.of(Remainder())
    for part in np.array_split(observations, 7):
        table.extend(part)
    check_holds_all(table, observations)


def test_a_lost_a_changed_and_a_foreign_entry_are_noticed() -> None:
    def fresh() -> Table:
        table = Table.of(Remainder())
        table.extend(np.arange(10))
        return table

    check_holds_all(fresh(), np.arange(10))
    lost, changed, foreign = fresh(), fresh(), fresh()
    lost.keys[lost.keys == 3] = EMPTY
    changed.values[changed.keys == 3] += 1
    foreign.keys[foreign.keys == 3] = 99
    for broken in (lost, changed, foreign):
        with pytest.raises(AssertionError):
            check_holds_all(broken, np.arange(10))


@pytest.mark.parametrize("answers", [[2096, 0], [-2, 0], [0]], ids=["too large", "too small", "too few"])
def test_an_answer_that_is_no_action_is_refused(answers: list[int]) -> None:
    class Wrong(Remainder):
        def actions(self, observations: np.ndarray) -> np.ndarray:
            return np.array(answers, np.int64)

    with pytest.raises(SurpassError):
        Table.of(Wrong()).extend(np.array([1, 2]))


# Asking


class Noting(Remainder):
    """An agent that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def actions(self, observations: np.ndarray) -> np.ndarray:
        self.asked += observations.tolist()
        return super().actions(observations)


def test_a_source_is_asked_once_about_each_observation_in_whatever_order_they_come() -> None:
    source = Noting()
    table = Table.of(source)
    for observations in ([5, 3, 5, 14], [3, 3], [99, 5, 1]):
        wanted = np.array(observations)
        assert table.actions(wanted).tolist() == Remainder().actions(wanted).tolist()
    assert sorted(source.asked) == [1, 3, 5, 14, 99]
    assert len(table) == 5


def test_a_table_is_its_own_table_and_carries_the_name_of_its_source() -> None:
    table = Table.of(Remainder())
    assert Table.of(table) is table
    assert (table.name, table.task) == ("remainder", SORT_QUICK)


def test_a_table_without_a_source_has_no_action_for_what_it_lacks_and_does_not_keep_it() -> None:
    table = Table.holding(SORT_QUICK, np.array([4, 2]), np.array([1, NO_ACTION]))
    assert table.actions(np.array([2, 3, 4])).tolist() == [NO_ACTION, NO_ACTION, 1]
    assert table.holds(np.array([2, 3, 4])).tolist() == [True, False, True]
    assert table.observations.tolist() == [2, 4]


def test_what_is_put_in_again_takes_the_place_of_what_was_there() -> None:
    table = Table.holding(SORT_QUICK, np.array([4, 2]), np.array([1, 2]))
    table.insert(np.array([2, 9]), np.array([7, 8]))
    assert [column.tolist() for column in table.entries()] == [[2, 4, 9], [7, 1, 8]]
    assert len(table) == 3
    table.clear()
    assert (len(table), table.observations.tolist()) == (0, [])
