"""An agent run on many instances by all workers of a runner."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.engine.run import AnyAgent, Results, run
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit
from surpass.workers.runner import Runner

PIECES = 4
"""Into how many pieces for each worker instances are cut: some take longer than others."""


class Played(NamedTuple):
    """What one piece showed."""

    results: Results
    observations: Ints
    """[k] what the table of the worker was asked for the first time,"""
    actions: Ints
    """[k] and its answers."""
    margins: dict[int, float]
    """For a network: by how much each of these answers led."""


class RemotePlayer:
    """An agent with a worker, by a table of its own."""

    def __init__(self, agent: AnyAgent) -> None:
        self._agent = agent
        self._table = Table(agent.task, agent) if isinstance(agent, Agent) else None
        self._told: Ints = np.zeros(0, np.int64)

    def play(self, instances: Instances, limit: Limit | None, find_loops: bool) -> Played:
        """Run the agent on instances."""
        results = run(self._table or self._agent, instances, limit=limit, find_loops=find_loops, threads=1)
        if self._table is None:
            return Played(results, self._told, self._told, {})
        observations, actions = self._table.entries()
        is_new = ~np.isin(observations, self._told, assume_unique=True)
        self._told = observations
        margins: dict[int, float] = getattr(self._agent, "margins", {})
        new = observations[is_new]
        return Played(results, new, actions[is_new], {key: margins[key] for key in new.tolist() if key in margins})


class PlayedElsewhere:
    """Runs an agent by the workers of a cluster; what they ask it comes into a table here."""

    def __init__(self, runner: Runner, agent: AnyAgent, table: Table | None = None) -> None:
        self._agent, self._table, self._runner = agent, table, runner
        self._replicas = runner.replicate(RemotePlayer, agent)

    def run(
        self,
        instances: Instances,
        *,
        limit: Limit | None = None,
        find_loops: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Results:
        """Run the agent on every instance and return what became of each."""
        bounds = np.linspace(0, instances.count, 1 + min(instances.count, PIECES * self._runner.count)).astype(int)
        pieces = [instances.part(first, last) for first, last in pairwise(bounds.tolist())]
        if not pieces:
            return run(self._table or self._agent, instances, limit=limit, find_loops=find_loops)
        played: list[Played] = self._replicas.ask("play", [(piece, limit, find_loops) for piece in pieces])
        if progress:
            progress(instances.count)
        for one in played:
            if self._table is not None:
                self._table.insert(one.observations, one.actions)
            if one.margins:
                self._agent.margins.update(one.margins)  # type: ignore[union-attr]
        columns = zip(*(vars(one.results).values() for one in played), strict=True)
        return Results(*(np.concatenate(column) for column in columns))
