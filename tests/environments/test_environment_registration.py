from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import pytest

from surpass.environments import environment_id
from surpass.environments.single import SurpassEnv
from surpass.environments.vector import SurpassVectorEnv
from surpass.tasks import registry
from surpass.tasks.task import Task

BY_MODULE = "surpass.environments:surpass/mine-v0"
WAYS = {
    "gymnasium first": ("import gymnasium, surpass", "surpass/mine-v0"),
    "a name of surpass used after gymnasium": ("import surpass, gymnasium; surpass.find_task", "surpass/mine-v0"),
    "the environments": ("import surpass.environments, gymnasium", "surpass/mine-v0"),
    "asking": ("import surpass, gymnasium; gymnasium.register_envs(surpass.environments)", "surpass/mine-v0"),
    "by module, gymnasium first": ("import gymnasium, surpass", BY_MODULE),
    "by module, surpass first": ("import surpass, gymnasium", BY_MODULE),
}


@pytest.mark.parametrize(("imports", "name"), WAYS.values(), ids=WAYS.keys())
def test_a_task_is_an_environment_whatever_was_imported_first(imports: str, name: str) -> None:
    program = f"""{imports}
import dataclasses
task = dataclasses.replace(surpass.find_task("search"), name="mine")
surpass.register_task(task)
print(gymnasium.make({name!r}).spec.id, "surpass/search-v0" in gymnasium.registry)
"""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["surpass/mine-v0", "True"], done.stderr


@pytest.mark.parametrize("name", [task.name for task in registry.PAPER_TASKS])
def test_every_task_can_be_made_and_nothing_warns(name: str) -> None:
    single = gymnasium.make(environment_id(name))
    assert isinstance(single.unwrapped, SurpassEnv)
    vector = gymnasium.make_vec(environment_id(name), num_envs=64)
    assert isinstance(vector, SurpassVectorEnv)
    assert vector.num_envs == 64
    assert vector.single_observation_space == single.observation_space
    assert vector.single_action_space == single.action_space
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vector.reset(seed=1)[0] in vector.observation_space
        for _ in range(20):
            assert vector.step(vector.action_space.sample())[0] in vector.observation_space
        vector.close()


def test_a_users_task_is_known_to_gymnasium_until_it_is_forgotten(pile: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    monkeypatch.delitem(gymnasium.registry, environment_id("pile"), raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            registry.register_task(pile)
    assert gymnasium.make("surpass/pile-v0", size=2).unwrapped.settings.task is pile
    assert gymnasium.make_vec("surpass/pile-v0", num_envs=2).settings.task is pile
    registry.forget_task(pile)
    assert "surpass/pile-v0" not in gymnasium.registry
