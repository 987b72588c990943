"""Changes to a program, and agents with changes made to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surpass.engine.kernels import ANY
from surpass.engine.specialise import specialise
from surpass.table import Agent
from surpass.tasks.task import Task

__all__ = ["ANY", "AmendedAgent", "Change", "RememberedAgent", "amend"]

Ints = npt.NDArray[np.int64]


class Change(NamedTuple):
    """Where `features` have the value numbers `digits` and the action would be `old`, or for `ANY`, it is `new`."""

    features: Ints
    digits: Ints
    old: int
    new: int


class RememberedAgent:
    """An agent that is asked once for each observation."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.task, self.name = agent, agent.task, agent.name
        self._answers: dict[int, int] = {}

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        wanted = observations.tolist()
        new = np.array([o for o in wanted if o not in self._answers], np.int64)
        if len(new):
            self._answers.update(zip(new.tolist(), self.agent.actions(new).tolist(), strict=True))
        return np.array([self._answers[o] for o in wanted], np.int64)


class AmendedAgent:
    """An agent with changes made to it, one after the other."""

    def __init__(self, base: Agent, changes: Sequence[Change], name: str = "amended") -> None:
        self.base, self.task, self.name = base, base.task, name
        self.changes = list(changes)

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        return amend(self.task, self.changes, observations, np.array(self.base.actions(observations), np.int64))


def amend(task: Task, changes: Sequence[Change], observations: Ints, actions: Ints) -> Ints:
    """Make changes to the actions [m] of observations [m] in place, and return them."""
    kernels, interface = specialise(task), task.interface
    strides, radices = np.array(interface.strides), np.array(interface.radices)
    for features, digits, old, new in changes:
        kernels.amend(observations, actions, digits, strides[features], radices[features], old, new)
    return actions
