"""Many episodes of a task as one Gymnasium vector environment, stepped by one call of compiled code."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from surpass.arrays import Array
from surpass.environments.episodes import Episodes, read_option
from surpass.environments.screen import render_episode
from surpass.environments.settings import RENDER_MODES, Options, read_settings
from surpass.errors import SettingError, UnknownNameError
from surpass.tasks.task import Task

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
"""When an ended episode can start anew."""
ROUND_SIZE = 1024
"""How many instances are drawn at once, at least."""
ROUND_SIZE_PER_EPISODE = 4
"""How many instances are drawn at once for each episode, at least."""


class SurpassVectorEnv(VectorEnv[Array, Array, Array]):
    """`num_envs` episodes of a task side by side, each as `SurpassEnv` describes it, with the same options.

    An episode that has ended starts anew in the next step, which ignores its action and pays it nothing. With
    `autoreset_mode=AutoresetMode.SAME_STEP` it starts anew at once: the step returns what the new episode shows, and
    what the old one showed last is in `final_obs` and `final_info` of the infos.
    All episodes draw from one stream of random numbers, so one seed gives all of them.
    """

    metadata = {  # noqa: RUF012  # Gymnasium's own type
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Unpack[Options],
    ) -> None:
        if num_envs < 1:
            raise SettingError(f"num_envs is {num_envs}; it must be 1 or more")
        if autoreset_mode not in MODES:
            raise UnknownNameError("autoreset mode", str(autoreset_mode), map(str, MODES))
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self.settings = read_settings(task, **options)
        self.num_envs = num_envs
        self.render_mode = self.settings.render_mode
        self.single_observation_space = self.settings.observation_space
        self.single_action_space = self.settings.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes = Episodes(self.settings, num_envs, max(ROUND_SIZE, ROUND_SIZE_PER_EPISODE * num_envs))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start every episode anew and return the observations; `options={"instances": [...]}` gives each its own."""
        super().reset(seed=seed)
        given = read_option(options, "instances")
        written = None if given is None else list(given)
        if written is not None and len(written) != self.num_envs:
            raise SettingError(f"{len(written)} instances were given for {self.num_envs} environments")
        self._episodes.reset(self.np_random, written, is_new=seed is not None)
        return self._episodes.observe(), self._describe()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Execute an action in each running episode and start each ended one anew."""
        episodes = self._episodes
        # An ended episode stands still in a step, so it can be started anew after it.
        ended = np.flatnonzero(episodes.ended)
        rewards = episodes.step(actions)
        if ended.size:
            episodes.start(ended, self.np_random)
        seen, infos = episodes.observe(), self._describe()
        terminated, truncated = episodes.terminated, episodes.truncated
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP and episodes.ended.any():
            infos = self._start_anew(seen, infos)
        return seen, rewards, terminated, truncated, infos

    def _start_anew(self, seen: Array, infos: dict[str, Any]) -> dict[str, Any]:
        """Restart the episodes that have just ended, put their observations into `seen` in place; return all infos."""
        over = self._episodes.ended
        rows, last = np.flatnonzero(over), np.full(self.num_envs, None, object)
        for row in rows.tolist():
            last[row] = seen[row].copy()
        final = {name: over if name.startswith("_") else array for name, array in infos.items()}
        self._episodes.start(rows, self.np_random)
        seen[rows] = self._episodes.observe(rows)
        return {**self._describe(), "final_obs": last, "_final_obs": over, "final_info": final, "_final_info": over}

    def _describe(self) -> dict[str, Any]:
        """Return `info` in Gymnasium's form: each array with a mask of the episodes for which it says something."""
        infos: dict[str, Any] = self._episodes.describe()
        return infos | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in infos}

    def render(self) -> tuple[Any, ...] | None:
        """Return each episode as text or as pixels [height, width, 3], or None without a render mode."""
        return tuple(render_episode(self._episodes, row) for row in range(self.num_envs)) if self.render_mode else None
