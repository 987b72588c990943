"""Stable-Baselines3 as its users type it, and its models as agents."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import surpass
from surpass.environments import environment_id
from surpass.errors import SettingError
from surpass.tasks.registry import PAPER_TASKS

sb3 = pytest.importorskip("stable_baselines3")


@pytest.mark.parametrize("name", [task.name for task in PAPER_TASKS])
def test_every_environment_passes_the_checker_of_stable_baselines(name: str) -> None:
    from stable_baselines3.common.env_checker import check_env

    env = gymnasium.make(environment_id(name), render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a graph of 20 x 20 looks like an image
        check_env(env)


def test_the_two_usual_calls_work_and_the_model_is_an_agent() -> None:
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env("surpass/sort-bubble-v0", n_envs=2, seed=0, env_kwargs={"size": 3})
    model = sb3.PPO("MlpPolicy", env, n_steps=8, batch_size=16, n_epochs=1, device="cpu", seed=0)
    model.learn(16)
    assert sb3.PPO("MlpPolicy", "surpass/sort-bubble-v0", n_steps=8, device="cpu").n_envs == 1
    agent = surpass.agent(model)
    assert (agent.name, agent.task.name) == ("PPO", "sort-bubble")
    observation = env.reset()[:1]
    packed = np.array([agent.task.interface.pack_digits(observation)[0]])
    assert agent.actions(packed).tolist() == model.predict(observation, deterministic=True)[0].tolist()
    assert surpass.evaluate(agent, sizes=[2], instances=5, limit="5").rows[0].instances == 5
    with pytest.raises(SettingError, match="PPO was not trained on search"):
        surpass.agent(model, task="search")


def test_the_compiled_episodes_are_a_vec_env() -> None:
    from surpass.environments.sb3 import make_vec_env

    env, again = (make_vec_env("surpass/sort-bubble-v0", 6, seed=3, size=(2, 3)) for _ in range(2))
    assert np.array_equal(env.reset(), again.reset())
    random, ended = np.random.default_rng(0), 0
    lengths, returns = np.zeros(6), np.zeros(6)
    for _ in range(200):
        seen, rewards, dones, infos = env.step(random.integers(0, 28, 6))
        lengths, returns = lengths + 1, returns + rewards
        assert seen in gymnasium.vector.utils.batch_space(env.observation_space, 6)
        for row in np.flatnonzero(dones).tolist():
            ended += 1
            assert infos[row]["episode"]["l"] == lengths[row]
            assert infos[row]["episode"]["r"] == pytest.approx(returns[row])
            assert infos[row]["is_success"] == (infos[row]["outcome"] == "solved")
            assert infos[row]["terminal_observation"] in env.observation_space
            assert "(" in infos[row]["action"]
            lengths[row] = returns[row] = 0
    assert ended > 10
    sb3.PPO("MlpPolicy", env, n_steps=4, batch_size=24, n_epochs=1, device="cpu").learn(24)
