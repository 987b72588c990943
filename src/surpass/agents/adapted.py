"""Adapt an agent to a task that shows and does more."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints
from surpass.errors import SettingError
from surpass.machine.features import Feature
from surpass.machine.interface import NO_ACTION
from surpass.table import Agent
from surpass.tasks.task import Task


class AdaptedAgent:
    """An agent of another task, which sees those features that both tasks have and does the same.

    Every feature and instruction of the agent's own task must be one of `task`.
    """

    def __init__(self, agent: Agent, task: Task) -> None:
        self.agent, self.task, self.name = agent, task, agent.name
        own, other = agent.task.interface, task.interface
        hidden = [f for f in own.features if not isinstance(f, Feature) or f not in other.features]
        missing = [instruction for instruction in own.instructions if instruction not in other.instructions]
        for lack in (*hidden, *missing):
            raise SettingError(
                f"{agent.name} is an agent of {agent.task.name} and cannot be carried over to {task.name}, "
                f"which has no {lack.name}"
            )
        self._shown = [other.features.index(feature) for feature in own.features]
        self._actions = np.array([other.pack_action(action) for action in own.actions], np.int64)

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        digits = self.task.interface.digits(observations)[:, self._shown]
        shown, places = np.unique(self.agent.task.interface.pack_digits(digits), return_inverse=True)
        answers = np.asarray(self.agent.actions(shown))
        carried: Ints = np.where(answers == NO_ACTION, NO_ACTION, self._actions[answers])[places.reshape(-1)]
        return carried
