"""Count how often each observation occurs in a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.engine.advance import CountProgress, Player
from surpass.engine.run import Results, core_count, run_by
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit


class Tally(NamedTuple):
    """What a run saw."""

    results: Results
    observations: Ints
    """[m] the observations that the agent saw and acted on, in ascending order."""
    actions: Ints
    """[m] the action for each."""
    counts: Ints
    """[m] at how many steps it saw each."""


def tally(
    agent: Agent, instances: Instances, *, limit: Limit | None = None, progress: CountProgress | None = None
) -> Tally:
    """Run an agent on every instance and count how often it sees each observation."""
    player = Player(Table.of(agent), is_counting=True, threads=core_count())
    results = run_by(player.finish, agent.task, instances, limit, progress)
    table, counts = player.table, player.counts
    used = np.flatnonzero(counts)
    used = used[np.argsort(table.keys[used])]
    return Tally(results, table.keys[used], table.values[used], counts[used])
