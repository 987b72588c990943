"""Whether an agent that is being learned fails anywhere: on every small instance, on drawn ones and on odd ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from surpass.engine.explore import Explorer, Run, can_explore
from surpass.engine.run import Results, run
from surpass.learning.derived import drawable_sizes
from surpass.table import Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Request, Task, join_instances

SMALL_SIZES = range(1, 13)
"""Sizes at which instances of every distribution are drawn."""
LARGE_SIZES = (20, 50, 100, 300)
MOST_ENUMERATED = 600_000
"""Every instance is run of those sizes that have no more than these, up to the largest of the small sizes."""
DRAWN_ITEMS = 4000
"""About how many items the instances of a size and distribution have together."""
MOST_DRAWN = 200
ROUNDS = 60
"""How many rounds the search for odd instances takes."""
ENOUGH = 40
"""How many failing instances are returned at most, unless more are asked for."""
THOROUGH = 8
"""How many times as many instances a thorough check draws and changes."""


def find_failures(
    table: Table, hard: Sequence[str] = (), *, seed: int = 0, enough: int = ENOUGH, is_thorough: bool = False
) -> list[str]:
    """Return some instances, as text, that an agent fails on; `hard` ones are run first.

    A thorough check goes on, if none has failed, with more that are drawn and changed. The table keeps what the agent
    was asked. A task that does not write and read its instances has none to return.
    """
    task = table.task
    if task.inputs.write is None or task.inputs.read is None:
        return []
    failures: list[str] = []

    def run_all(instances: Instances) -> Results:
        return run(table, instances, find_loops=task.measure == "steps")

    for effort in (1, THOROUGH) if is_thorough else (1,):
        for instances, results in _tried(task, run_all, hard if effort == 1 else (), seed, effort):
            wrong = np.flatnonzero(~results.solved)
            failures += [task.write_instance(instances.part(int(k), int(k) + 1)) for k in wrong[: enough // 2]]
            if len(failures) >= enough:
                break
        if failures:
            break
    return list(dict.fromkeys(failures))[:enough]


def _tried(
    task: Task, run_all: Run, hard: Sequence[str], seed: int, effort: int
) -> Iterator[tuple[Instances, Results]]:
    """Yield instances and what came of them: drawn ones, and then odd ones that a search comes to."""
    if effort == 1:
        for instances in _hard_and_small(task, hard):
            yield instances, run_all(instances)
    for instances in _drawn(task, seed, effort):
        yield instances, run_all(instances)
    if can_explore(task):
        yield from islice(Explorer(task, run_all, seed=seed).rounds(), ROUNDS * effort)


def _hard_and_small(task: Task, hard: Sequence[str]) -> Iterator[Instances]:
    """Yield hard instances, and every small one."""
    if hard:
        yield join_instances(task, [task.parse_instance(text)[0] for text in hard])
    small = enumeration_of(task)
    for size in range(min(small.largest, SMALL_SIZES[-1]) + 1):
        if small.count(size) <= MOST_ENUMERATED:
            yield from small.instances(size)


def _drawn(task: Task, seed: int, effort: int) -> Iterator[Instances]:
    """Yield some instances of every distribution at all sizes; with another effort they are others, and more."""
    for size in (*drawable_sizes(task, SMALL_SIZES), *LARGE_SIZES):
        for data, kind in task.inputs.kinds:
            count = effort * min(MOST_DRAWN, max(2, DRAWN_ITEMS // size))
            yield task.draw(Request(size=size, count=count, seed=1000 * (effort - 1) + seed, data=data, queries=kind))
