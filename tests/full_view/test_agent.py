"""Agents that see whole lists run themselves, and their traces replay."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.record import record, replay
from surpass.engine.run import run
from surpass.errors import SurpassError, TraceError
from surpass.full_view.agent import FullViewTeacher
from surpass.machine.state import Outcome
from surpass.machine.trace import read_trace, write_trace
from surpass.tasks.lists import from_lists
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.task import Instances


@pytest.mark.parametrize("pointers", [(0, 0), (0, 1)], ids=["nothing", "back and forth"])
def test_a_full_view_agent_that_meets_a_list_again_is_in_a_loop_and_counts_the_limit(pointers: tuple[int, int]) -> None:
    stuck = FullViewTeacher("teacher:stuck", SORT_FULL, lambda lists: np.tile(pointers, (len(lists), 1)), "")
    results = run(stuck, from_lists(np.array([[0, 2, 1], [0, 1, 2]])))
    assert results.outcomes.tolist() == [Outcome.LOOP, Outcome.SOLVED]
    assert results.steps.tolist() == [9, 0]


def test_a_pointer_behind_the_list_is_refused() -> None:
    stray = FullViewTeacher("teacher:stray", SORT_FULL, lambda lists: np.tile((0, 3), (len(lists), 1)), "")
    instances = Instances(np.array([2, 4]), np.array([[1, 0, 0, 0], [3, 1, 2, 0]]), np.zeros((2, 1)))
    with pytest.raises(SurpassError):
        run(stray, instances)


def test_a_trace_of_a_loop_ends_when_the_list_comes_back_and_replays() -> None:
    swapping = FullViewTeacher("teacher:swapping", SORT_FULL, lambda lists: np.tile((0, 1), (len(lists), 1)), "")
    trace = record(swapping, "1,2,0")
    assert (trace.outcome, len(trace.steps)) == ("loop", 2)
    replay(SORT_FULL, trace)


@pytest.mark.parametrize("forged", ["Swap(0, 2)", "Swap(0, 99)", "Swap(0, -1)", "Swap(0)", "Swap(one, two)"])
def test_a_forged_trace_does_not_replay(forged: str) -> None:
    text = write_trace(record(find_teacher("selection_sort"), "3,1,2,5,4"))
    assert "Swap(0, 1)" in text
    with pytest.raises(TraceError):
        replay(SORT_FULL, read_trace(text.replace("Swap(0, 1)", forged, 1)))
