"""Any function of an observation is an agent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surpass
from surpass.errors import DeclarationError, SettingError, UnknownNameError

INSERTION = surpass.find_teacher("insertion_sort")


def named(seen: dict[str, Any]) -> str:
    if seen["v1 ? v2"] == "=":
        return "MoveVar(1, +1)"
    if seen["A[v2] ? A[v2+1]"] == ">":
        return "SwapWithNext(2)"
    if seen["A[v2] ? A[v2-1]"] == "<" and seen["A[v2] ? A[v2+1]"] == "<":
        return "MoveVar(2, -1)"
    return "AssignVar(2, 1)"


def test_a_function_of_names_is_evaluated_and_checked() -> None:
    agent = surpass.agent(named, task="sort-bubble", observation="named")
    row = surpass.evaluate(agent, sizes=[8], instances=50, against=INSERTION).rows[0]
    assert (row.solved, row.difference) == (1.0, 0.0)
    assert surpass.check(agent, up_to=4, instances=2, sizes=[10], effort=100).passed


@pytest.mark.parametrize("observation", ["features", "one-hot"])
def test_a_function_of_arrays_gets_what_the_environments_show(observation: str) -> None:
    interface, seen = INSERTION.task.interface, []

    def remember(shown: Any) -> int:
        seen.append(shown)
        return 0

    packed = np.array([0, 5, interface.observation_count - 1])
    answers = surpass.agent(remember, task="sort-bubble", observation=observation).actions(packed)
    wanted = interface.digits(packed) if observation == "features" else interface.encode(packed)
    assert np.array_equal(seen, wanted)
    assert answers.tolist() == [0, 0, 0]


@pytest.mark.parametrize("answer", [28, -1, 1.5, [0, 1]])
def test_an_answer_that_is_no_action_is_refused(answer: Any) -> None:
    with pytest.raises(SettingError):
        surpass.agent(lambda _: answer, task="sort-bubble").actions(np.array([0]))


def test_an_unknown_action_a_failing_function_and_other_things_are_refused() -> None:
    with pytest.raises(UnknownNameError):
        surpass.agent(lambda _: "Jump()", task="sort-bubble").actions(np.array([0]))
    with pytest.raises(DeclarationError, match=r"test_adapters.py, line"):
        surpass.agent(lambda _: 1 // 0, task="sort-bubble").actions(np.array([0]))
    for policy, task in ((named, None), (7, "sort-bubble"), (named, "sort-full")):
        with pytest.raises(SettingError):
            surpass.agent(policy, task=task)
    with pytest.raises(UnknownNameError):
        surpass.agent(named, task="sort-bubble", observation="all")


def test_none_is_no_action() -> None:
    found = surpass.evaluate(surpass.agent(lambda _: None, task="sort-bubble", name="idle"), sizes=[3], instances=5)
    assert found.agent == "idle"
    assert found.rows[0].solved < 1
