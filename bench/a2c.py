"""A2C of Stable-Baselines3 on our environments, set up as our learner is."""

from __future__ import annotations

from importlib.metadata import version
from time import process_time
from typing import Any

import numpy.typing as npt
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from bench.timing import Timing, Work
from surpass.agents.networks.agent import HIDDEN
from surpass.environments import sb3
from surpass.errors import WrongAnswerError

__all__ = ["NAME", "make_environment", "make_learner", "make_usual_environment", "teach", "updating"]

NAME = f"A2C of Stable-Baselines3 {version('stable_baselines3')}"

Array = npt.NDArray[Any]

SECONDS_PER_TURN = 0.5
"""How long a turn takes at least; it has one update or more."""
STEPS_PER_CALL = 1000
"""How many steps one call of `learn` makes at least, so that to call it costs nothing."""
MOST_LESSONS = 2000
TAUGHT = 0.05
"""The mean negative log-likelihood of the answers at which a network counts as taught."""


def make_environment(task: str, episodes: int, **options: Any) -> VecEnv:
    """Return episodes of a task that show the inputs of a network; `options` are those of our environments."""
    return sb3.make_vec_env(task, episodes, seed=0, observation="one-hot", **options)


def make_usual_environment(task: str, episodes: int, **options: Any) -> VecEnv:
    """Return the same episodes as a user of Stable-Baselines3 makes them: single environments, one after the other."""
    settings = {"observation": "one-hot", "render_mode": None, **options}  # it would ask for pictures
    return make_vec_env(f"surpass/{task}-v0", n_envs=episodes, seed=0, env_kwargs=settings)


def make_learner(env: VecEnv, steps: int, *, has_value_network: bool) -> A2C:
    """Return A2C with hidden layers of our sizes, which updates after every `steps` steps of each episode.

    Where our baseline is one number, the critic is the smallest that A2C can have: a linear one.
    """
    layers = {"pi": list(HIDDEN), "vf": list(HIDDEN) if has_value_network else []}
    network = {"net_arch": layers, "activation_fn": torch.nn.ReLU}
    return A2C("MlpPolicy", env, n_steps=steps, policy_kwargs=network, device="cpu", seed=0)


def teach(learner: A2C, inputs: Array, actions: Array) -> None:
    """Train a learner's policy in place until it gives these actions [m] for these inputs [m, input_size]."""
    policy = learner.policy
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
    seen, answers = torch.from_numpy(inputs), torch.from_numpy(actions)
    for _ in range(MOST_LESSONS):
        loss = -policy.get_distribution(seen).log_prob(answers).mean()
        if loss.item() <= TAUGHT:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    raise WrongAnswerError(f"A2C's network does not give the answers it was taught: the loss is {loss.item():.3g}")


def updating(learner: A2C) -> Work:
    """Return the work of some more updates, with the sampling that each needs, in seconds of the processor."""
    batch = learner.n_envs * learner.n_steps
    steps = -(-STEPS_PER_CALL // batch) * batch

    def work() -> Timing:
        before, begin = learner.num_timesteps, process_time()
        while process_time() - begin < SECONDS_PER_TURN:
            learner.learn(steps, reset_num_timesteps=False)
        return Timing(learner.num_timesteps - before, process_time() - begin)

    return work
