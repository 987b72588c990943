"""A search for instances that lead an agent somewhere new, or take it many steps.

The observations that have occurred are a map of the inputs tried. An instance that leads to a new one is worth keeping
and changing: inputs that are too rare to be drawn are often a few small changes away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from random import Random

import numpy as np

from surpass.engine.run import Results
from surpass.tasks.changes import Changer, Parts, written_parts
from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Instances, Request, Task, join_instances

Run = Callable[[Instances], Results]
"""Runs the agent by a table that keeps its answers."""

FIRST_SIZES, LARGEST = (1, 2, 3, 5, 8, 12, 20, 30), 48
"""The sizes that the search among small instances begins with, and the one beyond which they do not grow."""
FIRST = 3
"""How many instances of each size and kind the search begins with."""
LARGE_SIZES = (100, 300, 1000)
"""The sizes that the search among large instances begins with; they do not grow beyond the last."""
LARGE_STEPS = 20_000
"""A size is left out if the agent takes more steps there."""
LARGE_EVERY = 4
"""One round in so many changes large instances."""
TOGETHER, LARGE_TOGETHER = 256, 64
"""How many changed instances are run at once."""
MOST_REFUSED = 20
"""How many times as many changes are tried before a task is taken not to allow any."""
MOST_KEPT = 4096
PARENTS = 32
"""How many of the slowest instances are changed in turn."""
RECENT = 64
"""Every second instance to change is one of so many that were kept last."""


def can_explore(task: Task) -> bool:
    """Tell whether a task reads and writes its instances, which the changes need."""
    return task.inputs.read is not None and task.inputs.write is not None


class Explorer:
    """Changes instances and keeps those that lead to observations not seen before, or take the most steps of a size."""

    def __init__(self, task: Task, run: Run, *, seed: int = 0) -> None:
        self.task = task
        self.tried = 0
        """How many instances were run."""
        self.since_new = 0
        """How many of them since the last one that led to something new."""
        self._run, self._seed = run, seed

    def rounds(self) -> Iterator[tuple[Instances, Results]]:
        """Yield the instances of each round and what became of them, without end unless the task takes no changes."""
        small = _Pool(self.task, self._seed, LARGEST, TOGETHER)
        yield self._begin(small, FIRST_SIZES, FIRST)
        large, steps = _Pool(self.task, self._seed, LARGE_SIZES[0], LARGE_TOGETHER), 0.0
        for size in LARGE_SIZES:
            if steps <= LARGE_STEPS and drawable_sizes(self.task, [size]):
                batch, results = self._begin(large, [size], 1)
                yield batch, results
                steps, large.changer.largest = float(results.steps.mean()), size
        for number in count(1):
            pool = large if large.kept and number % LARGE_EVERY == 0 else small
            written, changed = pool.change()
            if changed is None:
                return
            yield changed, self._try(pool, written, changed)

    def _begin(self, pool: _Pool, sizes: Iterable[int], each: int) -> tuple[Instances, Results]:
        """Run some instances of every distribution, and keep them all."""
        seeds = {size: size for size in drawable_sizes(self.task, sizes)}
        written, batch = _draw_all(self.task, seeds, each)
        pool.kept += written
        return batch, self._try(pool, written, batch)

    def _try(self, pool: _Pool, written: list[Parts], batch: Instances) -> Results:
        results = self._run(batch)
        pool.keep(written, batch.sizes.tolist(), results)
        self.tried += batch.count
        last_new = np.flatnonzero(results.asked)
        self.since_new = batch.count - 1 - int(last_new[-1]) if last_new.size else self.since_new + batch.count
        return results


class _Pool:
    """Instances that are worth changing."""

    def __init__(self, task: Task, seed: int, largest: int, together: int) -> None:
        self.kept: list[Parts] = []
        self.changer = Changer(task, seed, largest)
        self._task, self._random, self._together = task, Random(seed), together
        self._slowest: dict[int, tuple[int, Parts]] = {}
        """For each size the most steps that a run took, and the instance."""

    def change(self) -> tuple[list[Parts], Instances | None]:
        """Return changed instances as their parts and as a batch, which is None if the task takes none."""
        return _change_many(
            self._task, lambda: self.changer.change(self._choose(), self._random.choice(self.kept)), self._together
        )

    def _choose(self) -> Parts:
        """Return an instance to change: a late one, any, or the slowest of a size."""
        chance = self._random.random()
        if chance < 0.15:
            return self._slowest[self._random.choice(list(self._slowest))][1]
        return self._random.choice(self.kept[-RECENT:] if chance < 0.6 else self.kept)

    def keep(self, written: list[Parts], sizes: list[int], results: Results) -> None:
        """Keep instances that led to something new, and the slowest ones."""
        for parts, size, steps, asked in zip(written, sizes, results.steps.tolist(), results.asked, strict=True):
            if asked:
                self.kept.append(parts)
            if steps > self._slowest.get(size, (-1, parts))[0]:
                self._slowest[size] = steps, parts
        if len(self.kept) > MOST_KEPT:
            self.kept = self._random.sample(self.kept, MOST_KEPT // 2)


def find_slowest(task: Task, run: Run, size: int, rounds: int, seed: int = 0) -> tuple[Instances, Results]:
    """Return the instance of a size that takes the most steps of all that a search tries, and its results.

    The search changes the slowest ones again and again. It ends early with an instance that is not solved.
    """
    random, changer = Random(seed), Changer(task, seed, size)
    written, batch = _draw_all(task, {size: seed}, FIRST)
    best: list[tuple[int, Parts]] = []
    slowest, most = batch.part(0, 1), -1

    def change() -> tuple[Parts, Instances] | None:
        return changer.change(random.choice(best)[1], random.choice(best)[1], keep_size=True)

    for _ in range(rounds):
        results = run(batch)
        if not results.solved.all():
            slowest = batch.part(int(results.solved.argmin()), int(results.solved.argmin()) + 1)
            break
        k = int(results.steps.argmax())
        if results.steps[k] > most:
            slowest, most = batch.part(k, k + 1), int(results.steps[k])
        best += zip(results.steps.tolist(), written, strict=True)
        best[:] = sorted(best, key=lambda one: -one[0])[:PARENTS]
        written, changed = _change_many(task, change)
        if changed is None:
            break
        batch = changed
    return slowest, run(slowest)


def _draw_all(task: Task, seeds: Mapping[int, int], each: int) -> tuple[list[Parts], Instances]:
    """Return some instances of every distribution at each size, drawn by its seed: as their parts and as a batch."""
    drawn = [
        task.draw(Request(size=size, count=each, seed=seed, data=data, queries=kind))
        for size, seed in seeds.items()
        for data, kind in task.inputs.kinds
    ]
    batch = join_instances(task, drawn)
    return [written_parts(task, batch.part(k, k + 1)) for k in range(batch.count)], batch


def _change_many(
    task: Task, change: Callable[[], tuple[Parts, Instances] | None], together: int = TOGETHER
) -> tuple[list[Parts], Instances | None]:
    """Return changed instances as their parts and as a batch, which is None if the task took none."""
    found: list[tuple[Parts, Instances]] = []
    for _ in range(MOST_REFUSED * together):
        one = change()
        found += [one] if one else []
        if len(found) == together:
            break
    batch = join_instances(task, [instance for _, instance in found]) if found else None
    return [parts for parts, _ in found], batch
