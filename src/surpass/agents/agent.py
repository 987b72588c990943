"""What an agent is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from surpass.tasks.task import Task

__all__ = ["NO_ACTION", "Agent", "FullViewAgent"]

NO_ACTION = -1
"""The answer of an agent that has no action for an observation."""


@runtime_checkable
class Agent(Protocol):
    """A function from observations to actions."""

    @property
    def name(self) -> str:
        """How the agent is called on the command line."""

    @property
    def task(self) -> Task:
        """The task whose observations it understands."""

    def actions(self, observations: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""


@runtime_checkable
class FullViewAgent(Protocol):
    """A function from whole lists to two positions."""

    @property
    def name(self) -> str:
        """How the agent is called on the command line."""

    @property
    def task(self) -> Task:
        """The task whose lists it understands."""

    def pointers(self, lists: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the operands [m, 2] for lists [m, n] of one size."""
