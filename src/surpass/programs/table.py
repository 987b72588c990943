"""Tables: the observations that an agent meets, and its action for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surpass.agents.agent import Agent, FullViewAgent
from surpass.engine.lookup import Lookup
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.tasks.task import Request, Task

__all__ = ["Collector", "Table", "need_table"]

Ints = npt.NDArray[np.int64]
Progress = Callable[[str, int, int | None], None]

SMALL_SIZES = tuple(range(1, 11))
SMALL_COUNT = 1000
"""Instances of each small size, distribution and kind of query in a round."""
LARGE_ITEMS = 4000
"""About how many items the instances of a larger size have together."""


@dataclass(frozen=True, eq=False)
class Table:
    """The observations that an agent met, and its action for each."""

    task: Task
    observations: Ints
    """[m] in ascending order."""
    actions: Ints
    """[m]"""

    def holds(self, observations: Ints) -> npt.NDArray[np.bool_]:
        """Tell for each observation [k] whether it is in the table."""
        if not len(self.observations):
            return np.zeros(len(observations), np.bool_)
        places = np.minimum(np.searchsorted(self.observations, observations), len(self.observations) - 1)
        holds: npt.NDArray[np.bool_] = self.observations[places] == observations
        return holds


def need_table(agent: Agent | FullViewAgent) -> Agent:
    """Return the agent if it is one with a table; a full view has none."""
    if isinstance(agent, FullViewAgent):
        raise SettingError(f"{agent.name} sees whole lists, so it has no table to make a program of")
    return agent


class Collector:
    """Runs an agent round by round, each time on fresh instances of every kind, and keeps what it meets."""

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        self.agent, self.task = agent, agent.task
        self.seed = seed
        self.rounds = 0
        self._lookup = Lookup(agent)

    @property
    def table(self) -> Table:
        """Everything met so far."""
        return Table(self.task, *self._lookup.entries())

    def collect(self, progress: Progress | None = None) -> None:
        """Run the agent on a round of fresh instances: all sizes, every distribution, every kind of query."""
        sizes = sorted({*SMALL_SIZES, *self.task.training_sizes, *self.task.sizes})
        for size in sizes:
            if progress:
                progress("observations met", self._lookup.count, None)
            count = SMALL_COUNT if size in SMALL_SIZES else max(2, LARGE_ITEMS // size)
            for data in self.task.data:
                for queries in self.task.queries or ("mixed",):
                    seed = self.seed * 1_000_000 + self.rounds
                    request = Request(size=size, count=count, seed=seed, data=data, queries=queries)
                    run(self.agent, self.task.draw(request), lookup=self._lookup)
        self.rounds += 1
