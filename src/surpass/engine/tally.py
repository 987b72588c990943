"""Count how often each observation is met in a run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surpass.engine.batch import Batch, allocate
from surpass.engine.lookup import Lookup
from surpass.engine.run import Results, core_count, make_room, run
from surpass.machine.state import Outcome
from surpass.table import Agent
from surpass.tasks.task import Instances, Limit

__all__ = ["Tally", "tally"]

Ints = npt.NDArray[np.int64]


class Tally(NamedTuple):
    """What a run met."""

    results: Results
    observations: Ints
    """[m] the observations that were met and acted on, in ascending order."""
    actions: Ints
    """[m] the action for each."""
    counts: Ints
    """[m] at how many steps each was met."""


def tally(
    agent: Agent,
    instances: Instances,
    *,
    limit: Limit | None = None,
    lookup: Lookup | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """Run an agent on every instance and count how often it meets each observation.

    The instances are run twice: the first run fills the agent's table, the second counts the use of its places.
    """
    lookup = lookup or Lookup(agent)
    results = run(agent, instances, limit=limit, lookup=lookup, progress=progress)
    counts = np.zeros(len(lookup.keys), np.int64)
    if instances.count:
        limits = (limit or Limit.parse(agent.task.limit)).steps(instances.sizes)
        threads = core_count()
        share = -(-instances.count // threads)
        parts = [slice(first, first + share) for first in range(0, instances.count, share)]
        with ThreadPoolExecutor(threads) as pool:
            for counted in pool.map(lambda part: _count(lookup, instances, limits, part), parts):
                counts += counted
    met = np.flatnonzero(counts)
    met = met[np.argsort(lookup.keys[met])]
    return Tally(results, lookup.keys[met], lookup.values[met], counts[met])


AT_ONCE = 256
"""How many episodes a thread has in memory together."""


def _count(lookup: Lookup, instances: Instances, limits: Ints, part: slice) -> Ints:
    """Return how often each place of a full table is used on a part of the instances."""
    task, kernels = lookup.agent.task, lookup.kernels
    counts = np.zeros(len(lookup.keys), np.int64)
    for first in range(part.start, min(part.stop, instances.count), AT_ONCE):
        last = min(first + AT_ONCE, part.stop, instances.count)
        some = Instances(*(np.ascontiguousarray(array[first:last]) for array in instances))
        batch = _start(lookup, some)
        while (batch.outcomes <= Outcome.RUNNING).any():
            kernels.tally(
                batch, lookup.keys, lookup.values, task.interface.action_rows, limits[first:last], counts, 0, some.count
            )
            if (batch.outcomes == Outcome.STACK_FULL).any():
                batch = make_room(task, batch)
                batch.outcomes[batch.outcomes == Outcome.STACK_FULL] = Outcome.RUNNING
    return counts


def _start(lookup: Lookup, instances: Instances) -> Batch:
    batch = allocate(lookup.agent.task, instances.count, int(instances.sizes.max()))
    widest = [batch.items.shape[1], batch.reals.shape[1]]
    items, reals = np.ascontiguousarray(instances.items[:, : widest[0]]), instances.reals[:, : widest[1]]
    lookup.kernels.reset(batch, instances.sizes, items, np.ascontiguousarray(reals), np.arange(instances.count))
    return batch
