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


def run_python(program: str) -> str:
    """Return what a program prints in a fresh interpreter; warnings are errors."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["import surpass", "import gymnasium", "pass"])
def test_gymnasium_finds_the_environments_by_the_name_of_their_module(first: str) -> None:
    program = f"{first}\nimport gymnasium\nprint(gymnasium.make('surpass.environments:surpass/sort-bubble-v0').spec.id)"
    assert run_python(program) == "surpass/sort-bubble-v0"


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


def test_a_users_task_is_registered_in_both_places(pile: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    monkeypatch.delitem(gymnasium.registry, environment_id("pile"), raising=False)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            registry.register_task(pile)
    assert gymnasium.make("surpass/pile-v0", size=2).unwrapped.settings.task is pile
    assert gymnasium.make_vec("surpass/pile-v0", num_envs=2).settings.task is pile
    registry.forget_task(pile)
    assert "surpass/pile-v0" not in gymnasium.registry
