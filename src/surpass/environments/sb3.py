"""The compiled vector environment as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode

from surpass.arrays import Array
from surpass.environments.settings import Options
from surpass.environments.vector import SurpassVectorEnv
from surpass.errors import SettingError
from surpass.extras import load
from surpass.tasks.task import Task


class SurpassVecEnv(load("stable_baselines3.common.vec_env").VecEnv):  # type: ignore[misc]
    """Episodes of a task side by side, stepped by one call of compiled code; the options are those of `SurpassEnv`.

    The infos of an episode that has ended say how (`outcome`, `solved`, `is_success`), its last `action`, and its
    reward and length (`episode`), so that Stable-Baselines3 logs them without a monitor. Others are empty.
    """

    def __init__(self, task: str | Task, num_envs: int = 1, **options: Unpack[Options]) -> None:
        name = task.removeprefix("surpass/").removesuffix("-v0") if isinstance(task, str) else task
        self.env = SurpassVectorEnv(name, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._actions: Array = np.zeros(num_envs, np.int64)
        self._returns = np.zeros(num_envs)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)

    def reset(self) -> Array:
        """Start every episode anew and return the observations."""
        seen, infos = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._returns[:] = 0
        self.reset_infos = [_row(infos, row) for row in range(self.num_envs)]
        return seen

    def step_async(self, actions: Array) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Execute the actions; return what the episodes show, the rewards, which ended, and how those ended."""
        seen, rewards, terminated, truncated, found = self.env.step(self._actions)
        ended = terminated | truncated
        self._returns += rewards
        # The episodes that continue share one dictionary: a new one for each would only cost time.
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        for row in np.flatnonzero(ended).tolist():
            last = _row(found["final_info"], row)
            infos[row] = {
                **last,
                "terminal_observation": found["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row]),
                "is_success": last["solved"],
                "episode": {"r": float(self._returns[row]), "l": last["steps"], "t": 0.0},
            }
        self._returns[ended] = 0
        return seen, rewards.astype(np.float32), ended, infos

    def get_images(self) -> list[Any]:
        """Return each episode as pixels, if the render mode is `rgb_array`."""
        frames = self.env.render() if self.env.render_mode == "rgb_array" else None
        return list(frames or [None] * self.num_envs)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment for each episode: they share it."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which all episodes share."""
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
        """Refuse: the episodes are not separate environments that could be called."""
        raise SettingError(f"the episodes of SurpassVecEnv have no method {method_name!r} of their own")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return for each episode that nothing is wrapped around it."""
        return [False for _ in self._get_indices(indices)]


def make_vec_env(
    task: str | Task, n_envs: int = 64, *, seed: int | None = None, **options: Unpack[Options]
) -> SurpassVecEnv:
    """Return `n_envs` episodes of a task, named by itself or as Gymnasium does, for Stable-Baselines3."""
    env = SurpassVecEnv(task, n_envs, **options)
    if seed is not None:
        env.seed(seed)
    return env


def _row(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """Return what the infos of a vector environment say of one episode."""
    return {
        name: column[row].item() if hasattr(column[row], "item") else column[row]
        for name, column in infos.items()
        if not name.startswith("_")
    }
