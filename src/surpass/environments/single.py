"""One episode of a task as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, Unpack

import gymnasium
from gymnasium.error import ResetNeeded

from surpass.arrays import Array
from surpass.environments.episodes import Episodes, read_option
from surpass.environments.screen import render_episode
from surpass.environments.settings import RENDER_MODES, Options, read_settings
from surpass.tasks.task import Task

ROUND_SIZE = 64
"""How many instances are drawn at once."""


class SurpassEnv(gymnasium.Env[Array, Any]):
    """A task to act in, one instruction per step. `Options` lists what it can be told.

    A step is worth `progress * gain - step_cost`, as the task declares them, plus `shaping * gain`, where `gain` is
    what the score gained; a wrong answer costs `wrong_cost` more. An episode terminates by an answer, right or wrong,
    and is truncated when its steps or its stack run out. `info` names the `action` that was executed, and says how
    the episode stands (`outcome`), how many `steps` it took, the `size` of its instance and whether it is `solved`.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012  # Gymnasium's own type

    def __init__(self, task: str | Task, **options: Unpack[Options]) -> None:
        self.settings = read_settings(task, **options)
        self.render_mode = self.settings.render_mode
        self.observation_space = self.settings.observation_space
        self.action_space = self.settings.action_space
        self._episodes = Episodes(self.settings, 1, ROUND_SIZE)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start a new episode and return its observation; `options={"instance": "5,2,9,1"}` starts it on your own."""
        super().reset(seed=seed)
        written = read_option(options, "instance")
        self._episodes.reset(self.np_random, None if written is None else [written], is_new=seed is not None)
        return self._episodes.observe()[0], self._describe()

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Execute an action and return what shows then, its reward, and whether and how the episode has ended."""
        episodes = self._episodes
        if episodes.ended[0]:
            reason = episodes.describe()["outcome"][0]
            raise ResetNeeded(f"this episode of {self.settings.task.name} has ended ({reason}): call reset before step")
        reward = float(episodes.step([action])[0])
        terminated, truncated = bool(episodes.terminated[0]), bool(episodes.truncated[0])
        return episodes.observe()[0], reward, terminated, truncated, self._describe()

    def _describe(self) -> dict[str, Any]:
        return {name: column.tolist()[0] for name, column in self._episodes.describe().items()}

    def render(self) -> str | Array | None:
        """Return the episode as text or as pixels [height, width, 3], or None without a render mode."""
        return render_episode(self._episodes, 0)
