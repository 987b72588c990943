"""A2C of Stable-Baselines3 on our environments, set up as our learner is."""

from __future__ import annotations

from importlib.metadata import version
from time import process_time
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

import surpass.environments  # noqa: F401  (it makes the environments known)
from bench.timing import Timing, Work
from surpass.agents.networks.structured import HIDDEN
from surpass.errors import WrongAnswerError

__all__ = ["NAME", "GymnasiumVecEnv", "make_environment", "make_learner", "make_usual_environment", "teach", "updating"]

NAME = f"A2C of Stable-Baselines3 {version('stable_baselines3')}"

Array = npt.NDArray[Any]

SECONDS_PER_TURN = 0.5
"""How long a turn takes at least; it has one update or more."""
STEPS_PER_CALL = 1000
"""How many steps one call of `learn` makes at least, so that to call it costs nothing."""
MOST_LESSONS = 2000
TAUGHT = 0.05
"""The mean negative log-likelihood of the answers at which a network counts as taught."""


class GymnasiumVecEnv(VecEnv):  # type: ignore[misc]  # mypy does not look into the peer
    """A Gymnasium vector environment whose episodes start anew at once, in the form that Stable-Baselines3 steps."""

    def __init__(self, env: gymnasium.vector.VectorEnv[Array, Array, Array], *, seed: int = 0) -> None:
        self.env, self.first_seed = env, seed
        self.num_envs = env.num_envs
        self.actions: Array = np.zeros(env.num_envs, np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Array:
        """Start every episode anew and return what they show."""
        return self.env.reset(seed=self.first_seed)[0]

    def step_async(self, actions: Array) -> None:
        """Keep the actions for `step_wait`."""
        self.actions = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Execute the actions; return what the episodes show, the rewards, which ended, and how those ended."""
        seen, rewards, terminated, truncated, found = self.env.step(self.actions)
        ended = terminated | truncated
        # The episodes that go on share one dictionary: a new one for each would only cost the peer time.
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        for row in np.flatnonzero(ended).tolist():
            cut = bool(truncated[row])
            infos[row] = {"terminal_observation": found["final_obs"][row], "TimeLimit.truncated": cut}
        return seen, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment for each episode: they share it."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: A2C asks for nothing of the kind."""
        raise NotImplementedError

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
        """Refuse: A2C asks for nothing of the kind."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return for each episode that nothing is wrapped around it."""
        return [False for _ in self._get_indices(indices)]


def make_environment(task: str, episodes: int, **options: Any) -> GymnasiumVecEnv:
    """Return episodes of a task that show the inputs of a network; `options` are those of our environments."""
    env = gymnasium.make_vec(
        f"surpass/{task}-v0",
        num_envs=episodes,
        observation="one-hot",
        autoreset_mode=AutoresetMode.SAME_STEP,
        **options,
    )
    return GymnasiumVecEnv(env)


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
