"""Teachers speak in the names of their interface; a name that is not there is an error that lists those that are."""

from __future__ import annotations

import numpy as np
import pytest

from surpass import Action
from surpass.agents.teachers import find_teacher, known_teachers
from surpass.errors import DeclarationError, UnknownNameError
from surpass.full_view.agent import FullViewAgent
from surpass.machine.interface import NO_ACTION
from surpass.table import Agent
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.teacher import Do, See, Teacher, teacher

SEE = See(SORT_BUBBLE.interface, [0] * 20)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError):
        SEE("v1 < v5")
    with pytest.raises(UnknownNameError):
        Do(SORT_BUBBLE.interface).Swap(1, 2)
    with pytest.raises(UnknownNameError):
        find_teacher("bogo_sort")
    lost = Teacher("teacher:lost", SORT_BUBBLE, lambda _see, do: do.MoveVar(7, +1), "")
    with pytest.raises(UnknownNameError):
        lost.actions(np.array([0]))


def test_an_interface_without_the_previous_action_does_not_show_it() -> None:
    with pytest.raises(DeclarationError):
        _ = SEE.previous


def test_the_previous_action_is_none_or_the_action() -> None:
    digits = [0] * 24
    assert See(SEARCH.interface, [*digits, 0]).previous is None
    for number, action in enumerate(SEARCH.interface.actions):
        assert See(SEARCH.interface, [*digits, number + 1]).previous == action


def test_a_plain_number_and_a_printed_step_are_the_same_operand() -> None:
    assert Do(SORT_BUBBLE.interface).MoveVar(1, +1) == SORT_BUBBLE.interface.actions[5] == Action("MoveVar", (1, 1))


def test_a_teacher_answers_none_with_no_action() -> None:
    mute = Teacher("teacher:mute", SORT_BUBBLE, lambda _see, _do: None, "")
    assert mute.actions(np.array([0, 1])).tolist() == [NO_ACTION, NO_ACTION]


def test_every_paper_task_has_a_teacher_and_every_teacher_a_summary() -> None:
    for task in PAPER_TASKS:
        assert known_teachers(task)
    for known in known_teachers():
        assert known.summary.endswith(".")
        assert isinstance(known, FullViewAgent if known.task.interface.is_full_view else Agent)
        assert find_teacher(known.name.removeprefix("teacher:")) is known


def test_a_second_teacher_of_a_tasks_own_name_is_refused() -> None:
    def bubble_sort(see: See, do: Do) -> None: ...

    with pytest.raises(DeclarationError):
        teacher(SORT_BUBBLE)(bubble_sort)


@pytest.mark.parametrize(
    "name",
    ["bubble_sort", "insertion_sort", "quick_sort", "hoare_sort"]
    + ["linear_search", "binary_search", "bracket_search", "depth_first"],
)
def test_a_teacher_answers_any_observation_as_when_asked_about_it_alone(name: str) -> None:
    """A learner asks its teacher about states that the teacher would never have come to."""
    known = find_teacher(name)
    count = known.task.interface.observation_count
    observations = np.unique(np.random.default_rng(0).integers(0, count, 500))
    together = known.actions(observations)
    alone = [known.actions(observations[[k]])[0] for k in range(len(observations))]
    assert together.tolist() == alone
    assert ((together >= NO_ACTION) & (together < known.task.interface.action_count)).all()
