from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from surpass.environments.single import SurpassEnv
from surpass.errors import InstanceError, SettingError, SurpassError, UnknownNameError
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


@pytest.mark.parametrize("options", [{"data": "sorted"}, {"size": 1}, {"data": "all-equal", "size": (2, 5)}], ids=str)
def test_data_that_is_always_solved_is_refused(options: Any) -> None:
    with pytest.raises(SettingError, match="that start solved, 200 times in a row; choose other data or a larger size"):
        SurpassEnv("sort-bubble", **options).reset(seed=0)


def test_no_instance_starts_solved_and_sizes_are_drawn_uniformly() -> None:
    env = SurpassEnv("sort-bubble", size=(1, 4))
    env.reset(seed=2)
    sizes = [env.reset()[1]["size"] for _ in range(600)]
    assert np.bincount(sizes).tolist() == pytest.approx([0, 0, 200, 200, 200], abs=45)
    assert all(env.reset()[1] == {**env._describe(), "outcome": "running", "solved": False} for _ in range(100))


@pytest.mark.parametrize(
    ("name", "written", "listed"),
    [
        ("sort-bubble", "5,2,9,1", [5, 2, 9, 1]),
        ("sort-full", "5,2,9,1", np.array([5, 2, 9, 1])),
        ("search", "1,3.5,9:3.5", [[1, 3.5, 9], [3.5]]),
        ("search", "1,3,9:3", ((1, 3, 9), 3)),
        ("knapsack", "0.2,0.7:0.5,0.9:0.8", [np.array([0.2, 0.7]), [0.5, 0.9], [0.8]]),
    ],
)
def test_ones_own_instance_may_be_text_or_lists(name: str, written: str, listed: Any) -> None:
    env = SurpassEnv(name, size=4)
    env.reset(options={"instance": written})
    from_text = copy.deepcopy(env._episodes.instances)
    env.reset(options={"instance": listed})
    for a, b in zip(from_text, env._episodes.instances, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", ["sort-bubble", "knapsack"])
def test_ones_own_instance_may_be_larger_than_the_drawn_ones(name: str) -> None:
    task = find_task(name)
    instance = task.draw(Request(size=40, count=1, seed=1))
    env = SurpassEnv(task, size=3)
    _, info = env.reset(seed=0, options={"instance": task.write_instance(instance)})
    assert info["size"] == 40
    assert np.array_equal(env._episodes.batch.items[0, :40], instance.items[0, :40])
    assert env.reset()[1]["size"] == 3


@pytest.mark.parametrize(
    ("name", "options", "error", "sentence"),
    [
        ("sort-bubble", {"instance": "1,2,2"}, InstanceError, "the instance '1,2,2' of sort-bubble starts solved"),
        ("sort-bubble", {"instance": ""}, InstanceError, "starts solved: nothing is left to do"),
        ("sort-bubble", {"instance": "3,x"}, InstanceError, "'x' is not a number"),
        ("sort-bubble", {"instance": [3, None]}, InstanceError, "'None' is not a number"),
        (
            "sort-bubble",
            {"instance": 7},
            InstanceError,
            "5,2,9,1",
        ),
        ("search", {"instance": [1, 2]}, InstanceError, "search"),
        ("sort-full", {"instance": "3,1"}, InstanceError, "'3,1' has size 2, but this environment is for size 20"),
        (
            "sort-full",
            {"instances": "3,1"},
            UnknownNameError,
            "unknown option of reset 'instances', perhaps instance; known: instance",
        ),
    ],
)
def test_instances_that_do_not_fit_are_refused(
    name: str, options: Any, error: type[SurpassError], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        SurpassEnv(name).reset(options=options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "action", "sentence"),
    [
        ("sort-bubble", 28, "sort-bubble has no action 28; allowed: 0 to 27"),
        ("sort-bubble", -1, "sort-bubble has no action -1; allowed: 0 to 27"),
        ("sort-bubble", 1.5, "actions of sort-bubble are whole numbers of shape (1,), not float64 of shape (1,)"),
        ("sort-bubble", [1, 2], "actions of sort-bubble are whole numbers of shape (1,), not int64 of shape (1, 2)"),
        ("sort-full", [3, 20], "sort-full has no action 20; allowed: 0 to 19"),
        ("sort-full", 3, "actions of sort-full are whole numbers of shape (1, 2), not int64 of shape (1,)"),
    ],
)
def test_what_is_not_an_action_is_refused(name: str, action: Any, sentence: str) -> None:
    env = SurpassEnv(name)
    env.reset(seed=0)
    with pytest.raises(SettingError) as caught:
        env.step(action)
    assert sentence in str(caught.value)
