"""Agents of a full view, which have no table."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from surpass.table import Agent
from surpass.tasks.task import Task

__all__ = ["AnyAgent", "FullViewAgent"]


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


AnyAgent = Agent | FullViewAgent
