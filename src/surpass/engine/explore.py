"""A search for instances that lead an agent somewhere new, or take it many steps.

The observations that have occurred are a map of what was tried. An instance that leads to a new one is worth keeping
and changing: what is too rare to be drawn is often a few small changes away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np

from surpass.engine.run import Results
from surpass.tasks.changes import Changer, Parts, written_parts
from surpass.tasks.task import Instances, Request, Task, join_instances

Run = Callable[[Instances], Results]
"""Runs the agent by a table that keeps what it asks."""

LARGEST = 48
"""Instances do not grow beyond this size."""
FIRST_SIZES = (1, 2, 3, 5, 8, 12, 20, 30)
FIRST = 3
"""How many instances of each size and kind the search begins with."""
TOGETHER = 256
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
    """Changes instances and keeps those that lead to observations not met before, or take the most steps of a size."""

    def __init__(self, task: Task, run: Run, *, seed: int = 0, largest: int = LARGEST) -> None:
        self.task = task
        self.tried = 0
        """How many instances were run."""
        self.since_new = 0
        """How many of them since the last one that led to something new."""
        self._run = run
        self._changer = Changer(task, seed, largest)
        self._random = Random(seed)
        self._kept: list[Parts] = []
        self._slowest: dict[int, tuple[int, Parts]] = {}
        """For each size the most steps that a run took, and the instance."""

    def rounds(self) -> Iterator[tuple[Instances, Results]]:
        """Yield the instances of each round and what came of them, without end unless the task takes no changes."""
        yield self._begin()
        while (found := self._go_on()) is not None:
            yield found

    def _begin(self) -> tuple[Instances, Results]:
        """Run some instances of every distribution."""
        drawn = [
            self.task.draw(Request(size=size, count=FIRST, seed=size, data=data, queries=kind))
            for size in FIRST_SIZES
            for data, kind in self.task.inputs.kinds
        ]
        batch = join_instances(self.task, drawn)
        return batch, self._try([written_parts(self.task, batch.part(k, k + 1)) for k in range(batch.count)], batch)

    def _go_on(self) -> tuple[Instances, Results] | None:
        """Run a round of changed instances, unless the task takes none."""
        written, batch = _change_many(
            self.task, lambda: self._changer.change(self._choose(), self._random.choice(self._kept))
        )
        return None if batch is None else (batch, self._try(written, batch))

    def _choose(self) -> Parts:
        """Return an instance to change: a late one, any, or the slowest of a size."""
        chance = self._random.random()
        if chance < 0.15:
            return self._slowest[self._random.choice(list(self._slowest))][1]
        late = self._kept[-RECENT:] if chance < 0.6 else self._kept
        return self._random.choice(late)

    def _try(self, written: list[Parts], batch: Instances) -> Results:
        results = self._run(batch)
        is_first = not self._kept
        for k, parts in enumerate(written):
            size, steps = int(batch.sizes[k]), int(results.steps[k])
            if results.asked[k] or is_first:
                self._kept.append(parts)
            if steps > self._slowest.get(size, (-1, parts))[0]:
                self._slowest[size] = steps, parts
        if len(self._kept) > MOST_KEPT:
            self._kept = self._random.sample(self._kept, MOST_KEPT // 2)
        self.tried += batch.count
        last_new = np.flatnonzero(results.asked)
        self.since_new = batch.count - 1 - int(last_new[-1]) if last_new.size else self.since_new + batch.count
        return results


def find_slowest(task: Task, run: Run, size: int, rounds: int, seed: int = 0) -> tuple[Instances, Results]:
    """Return the instance of a size that takes the most steps of all that a search comes to, and what came of it.

    The search changes the slowest ones again and again. It ends early with an instance that is not solved.
    """
    random, changer = Random(seed), Changer(task, seed, size)
    drawn = [
        task.draw(Request(size=size, count=FIRST, seed=seed, data=data, queries=kind))
        for data, kind in task.inputs.kinds
    ]
    batch = join_instances(task, drawn)
    written = [written_parts(task, batch.part(k, k + 1)) for k in range(batch.count)]
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


def _change_many(
    task: Task, change: Callable[[], tuple[Parts, Instances] | None]
) -> tuple[list[Parts], Instances | None]:
    """Return changed instances as their parts and as a batch, which is None if the task took none."""
    found: list[tuple[Parts, Instances]] = []
    for _ in range(MOST_REFUSED * TOGETHER):
        one = change()
        found += [one] if one else []
        if len(found) == TOGETHER:
            break
    batch = join_instances(task, [instance for _, instance in found]) if found else None
    return [parts for parts, _ in found], batch
