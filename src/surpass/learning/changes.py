"""Agents with amendments to what they do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surpass.table import Agent, Amendment, amended

__all__ = ["AmendedAgent"]

Ints = npt.NDArray[np.int64]


class AmendedAgent:
    """An agent with amendments made to it, one after the other."""

    def __init__(self, base: Agent, amendments: Sequence[Amendment], name: str = "amended") -> None:
        self.base, self.task, self.name = base, base.task, name
        self.amendments = list(amendments)

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        actions = np.array(self.base.actions(observations), np.int64)
        return amended(self.task.interface, self.amendments, observations, actions)
