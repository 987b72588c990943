from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from surpass.environments.single import SurpassEnv
from surpass.errors import InstanceError, SettingError, UnknownNameError
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


@pytest.mark.parametrize("options", [{"data": "sorted"}, {"size": 1}, {"data": "all-equal", "size": (2, 5)}], ids=str)
def test_data_that_is_always_solved_is_refused(options: Any) -> None:
    with pytest.raises(SettingError):
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


@pytest.mark.parametrize("written", ["1,2,2", "", "3,x", [3, None], 7], ids=repr)
def test_instances_that_do_not_fit_are_refused(written: Any) -> None:
    with pytest.raises(InstanceError):
        SurpassEnv("sort-bubble").reset(options={"instance": written})


def test_instances_of_another_kind_or_size_are_refused() -> None:
    with pytest.raises(InstanceError):
        SurpassEnv("search").reset(options={"instance": [1, 2]})
    with pytest.raises(InstanceError):
        SurpassEnv("sort-full").reset(options={"instance": "3,1"})
    with pytest.raises(UnknownNameError):
        SurpassEnv("sort-full").reset(options={"instances": "3,1"})


@pytest.mark.parametrize(
    ("name", "action"),
    [("sort-bubble", wrong) for wrong in (28, -1, 1.5, [1, 2])] + [("sort-full", wrong) for wrong in ([3, 20], 3)],
)
def test_what_is_not_an_action_is_refused(name: str, action: Any) -> None:
    env = SurpassEnv(name)
    env.reset(seed=0)
    with pytest.raises(SettingError):
        env.step(action)
