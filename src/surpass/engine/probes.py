"""The instances on which an agent is tried: every small one, drawn ones of all sizes, and changed ones.

`check`, `find_failures` and the extraction of programs all draw on these generators; they differ only in the `Effort`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surpass.engine.explore import Explorer, Run, can_explore
from surpass.engine.run import Results
from surpass.tasks.enumeration import drawable_sizes, enumeration_of
from surpass.tasks.task import Instances, Request, Task, join_instances

SEARCH = "search"
"""The source of changed instances, in the place of a distribution."""
SMALL_SIZES = (*range(1, 13), 16, 20, 30, 50)
LARGE_FROM, LARGEST = 13, 1000
"""Sizes in this range count as large."""
LARGE_SIZES = 24
"""How many large sizes are chosen at random, one in each part of that range: a fault can show at a few sizes only."""
LARGE_SHARE = 1 / 3
"""The share of the time that goes into drawn instances of large sizes."""
MOST_WORDS = 1 << 22
"""About how many numbers the instances of one batch have together."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How many instances to try. A cost is the number of steps and items together."""

    up_to: int = 12
    """The largest size that is enumerated."""
    enumerated: int = 600_000
    """Sizes with more instances than these are not enumerated."""
    sizes: Sequence[int] = SMALL_SIZES
    """Sizes at which every distribution is drawn, with every kind of query."""
    drawn: int = 200
    """How many instances of each distribution and kind of query are drawn at each of these sizes."""
    cost: float = math.inf
    """The most that those of one size, distribution and kind may cost together; two are always drawn."""
    large: int = 60_000
    """What those of a large size cost, at least; further large sizes are chosen at random. 0 for none."""
    changed: int = 15_000
    """How many changed instances are tried at most."""
    quiet: int | None = None
    """End after so many changed instances in a row that lead to no new observation."""
    seconds: float = math.inf
    """How long it may take to draw large instances and to change instances."""
    before: Effort | None = None
    """A cheaper search that comes first. If it finds failures, there is no other."""


QUICK = Effort(enumerated=5_000, drawn=50, large=5_000, changed=0)
NORMAL = Effort()
THOROUGH = Effort(drawn=1_600, large=500_000, changed=120_000, before=NORMAL)


class Probe(NamedTuple):
    """A batch of instances of one size, unless they are changed ones, and what became of them."""

    instances: Instances
    results: Results
    data: str = ""
    """The distribution and the kind of query; empty if the instances are known or enumerated."""

    @property
    def size(self) -> int:
        """The size of the first instance."""
        return int(self.instances.sizes[0])

    def failed(self) -> Iterator[Instances]:
        """Yield the instances that are not solved, each by itself."""
        return (self.instances.part(int(k), int(k) + 1) for k in np.flatnonzero(~self.results.solved))


def probes(task: Task, run: Run, effort: Effort, *, known: Sequence[str] = (), seed: int = 0) -> Iterator[Probe]:
    """Run the agent on known instances, given as text, then on small, drawn and changed ones; yield each batch."""
    if known:
        instances = join_instances(task, [task.parse_instance(text)[0] for text in known])
        yield Probe(instances, run(instances))
    for instances in small_instances(task, min(effort.up_to, enumeration_of(task).largest), effort.enumerated):
        yield Probe(instances, run(instances))
    yield from drawn_probes(task, run, effort, seed)
    if effort.changed and can_explore(task):
        yield from changed_probes(Explorer(task, run, seed=seed), effort)


def small_instances(task: Task, up_to: int, most: float = math.inf) -> Iterator[Instances]:
    """Yield every instance of the sizes up to `up_to` that have at most `most`, smaller sizes first."""
    small = enumeration_of(task)
    for size in range(up_to + 1):
        if small.count(size) <= most:
            yield from small.instances(size)


def drawn_probes(task: Task, run: Run, effort: Effort, seed: int = 0) -> Iterator[Probe]:
    """Run the agent on instances of every distribution and kind of query, smaller sizes first; yield each batch.

    A kind of which the agent fails on most instances is left out at larger sizes: they would only use up its steps.
    Large sizes chosen at random end, for each kind, where two instances cost more than the share.
    """
    named, kinds, started = set(effort.sizes), list(task.inputs.kinds), time.monotonic()
    too_costly: set[tuple[str, str]] = set()
    sizes = drawable_sizes(task, sorted({*named, *(_large_sizes(seed) if effort.large else ())}))
    large = [size for size in sizes if size >= LARGE_FROM]
    for size in sizes:
        # Every large size has its part of the time, so that the largest ones get theirs.
        part = (large.index(size) + 1) / len(large) if size in large else 0
        is_in_time = time.monotonic() - started < part * LARGE_SHARE * effort.seconds
        own = effort.large if size >= LARGE_FROM and is_in_time else 0
        wanted = effort.drawn if size in named else 0
        asked = [_Asked(task, kind, size, seed, wanted, 0 if kind in too_costly else own) for kind in kinds]
        asked = [one for one in asked if one.wanted or one.share]
        for probe_of, probe in _draw_all(task, run, asked, effort.cost):
            yield probe
            probe_of.failed += int((~probe.results.solved).sum())
            probe_of.tried += probe.instances.count
            if 0 < probe_of.share < 2 * (size + probe.results.steps.mean()):
                too_costly.add(probe_of.kind)
        for one in asked:
            if 2 * one.failed > one.tried:
                kinds.remove(one.kind)


class _Asked:
    """How many instances of a kind are asked for at a size, and what became of them."""

    def __init__(self, task: Task, kind: tuple[str, str], size: int, seed: int, wanted: int, share: int) -> None:
        self.task, self.kind, self.size, self.seed, self.wanted, self.share = task, kind, size, seed, wanted, share
        self.data = f"{kind[0]}, {kind[1]}" if kind[1] else kind[0]
        self.failed = self.tried = 0

    def draw(self, count: int, part: int = 0) -> Instances:
        """Return instances; each part has random numbers of its own."""
        seed = (self.seed + 1_000_003 * part) % 10**20
        data, queries = self.kind
        return self.task.draw(Request(size=self.size, count=count, seed=seed, data=data, queries=queries))

    def count(self, first: Instances, results: Results, cost: float) -> int:
        """Return how many instances to run in all, given the first two: as many as are wanted and the share pays for.

        A distribution whose first two are alike has only one of this size.
        """
        each = self.size + float(results.steps.mean())
        return 0 if first.count == 1 else int(max(min(self.wanted, cost / each), self.share / each))


def _draw_all(task: Task, run: Run, asked: Sequence[_Asked], cost: float) -> Iterator[tuple[_Asked, Probe]]:
    """Run the instances of several kinds at one size, those of all kinds together; yield each batch with its kind."""
    counts = {id(one): one.wanted for one in asked}
    done = 0
    if cost < math.inf or any(one.share for one in asked):
        for one, probe in _run_together(task, run, [(one, distinct(one.draw(2))) for one in asked]):
            yield one, probe
            counts[id(one)] = one.count(probe.instances, probe.results, cost)
        done = 2
    waiting: list[tuple[_Asked, Instances]] = []
    words = 0
    for one in asked:
        step = MOST_WORDS // (1 + one.size) + 3
        for at in range(0, counts[id(one)] if counts[id(one)] > done else 0, step):
            # The first batch begins with the two that were run.
            drawn = one.draw(min(step, counts[id(one)] - at), at // step).part(0 if at else done, step)
            waiting.append((one, distinct(drawn)))
            words += drawn.count * (1 + one.size)
            if words > MOST_WORDS:
                yield from _run_together(task, run, waiting)
                waiting, words = [], 0
    yield from _run_together(task, run, waiting)


def _run_together(task: Task, run: Run, drawn: Sequence[tuple[_Asked, Instances]]) -> Iterator[tuple[_Asked, Probe]]:
    """Run several batches as one, and yield each with its results."""
    if not drawn:
        return
    results, at = run(join_instances(task, [instances for _, instances in drawn])), 0
    for one, instances in drawn:
        yield one, Probe(instances, results.part(at, at + instances.count), one.data)
        at += instances.count


def changed_probes(explorer: Explorer, effort: Effort) -> Iterator[Probe]:
    """Run the agent on changed copies of instances that led to new observations; yield each batch."""
    started = time.monotonic()
    for instances, results in explorer.rounds():
        yield Probe(instances, results, SEARCH)
        is_quiet = effort.quiet is not None and explorer.since_new >= effort.quiet
        is_late = time.monotonic() - started > (1 - LARGE_SHARE) * effort.seconds
        if is_quiet or is_late or explorer.tried >= effort.changed:
            return


def _large_sizes(seed: int) -> list[int]:
    """Return some large sizes: one at random of each part, up to the largest."""
    bounds = np.geomspace(LARGE_FROM, LARGEST, LARGE_SIZES + 1)
    shares = np.random.default_rng([seed, 11]).random(LARGE_SIZES)
    return [*np.round(bounds[:-1] + shares * np.diff(bounds)).astype(int).tolist()]


def distinct(batch: Instances) -> Instances:
    """Return each instance of a batch once, the first of those that are equal."""
    if batch.count < 2:
        return batch
    rows = np.column_stack([batch.sizes, batch.items, np.ascontiguousarray(batch.reals).view(np.int64)])
    _, first = np.unique(rows.view(f"V{8 * rows.shape[1]}"), return_index=True)
    return batch.rows(np.sort(first))
