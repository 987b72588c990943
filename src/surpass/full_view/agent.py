"""Agents that see whole lists: how they run a batch, and teachers among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.engine.batch import Batch
from surpass.engine.specialise import specialise
from surpass.errors import SettingError
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import SIZE, Outcome
from surpass.tasks.task import Task
from surpass.tasks.teacher import declared_teacher


class FullViewAgent(ABC):
    """A function from whole lists to two positions."""

    name: str
    task: Task

    @abstractmethod
    def pointers(self, lists: Ints) -> Ints:
        """Return the operands [m, 2] for lists [m, n] of one size."""

    def rows(self, lists: Ints) -> Ints:
        """Return what to execute [m, 3] for lists [m, n], once the operands are known to point into them."""
        pointers = np.asarray(self.pointers(lists))
        if pointers.shape != (len(lists), 2) or not np.issubdtype(pointers.dtype, np.integer):
            raise SettingError(f"{self.name} gave pointers of shape {pointers.shape}; they must be ({len(lists)}, 2)")
        bad = pointers[(pointers < 0) | (pointers >= lists.shape[1])]
        if bad.size:
            raise SettingError(f"{self.name} points to {bad[0]}; positions are 0 to {lists.shape[1] - 1}")
        return np.insert(pointers, 0, 0, axis=1)

    def finish(self, batch: Batch, limits: Ints, progress: Callable[[int], None] | None) -> Batch:
        """Run all episodes of a batch to their end in place, and return it; a list that comes back is a loop."""
        kernels, count = specialise(self.task), len(batch.steps)
        sizes = batch.registers[:, SIZE]
        seen: list[set[bytes]] = [set() for _ in range(count)]
        numbers, rows = np.full(count, NO_ACTION), np.zeros((count, 3), np.int64)
        while (batch.outcomes == Outcome.RUNNING).any():
            running = np.flatnonzero(batch.outcomes == Outcome.RUNNING)
            for b in running:
                before = batch.items[b].tobytes()
                if before in seen[b]:
                    batch.outcomes[b], batch.steps[b] = Outcome.LOOP, limits[b]
                seen[b].add(before)
            running = running[batch.outcomes[running] == Outcome.RUNNING]
            for size in np.unique(sizes[running]):
                chosen = running[sizes[running] == size]
                rows[chosen] = self.rows(batch.items[chosen, :size])
            kernels.step(batch, numbers, rows, limits)
            if progress:
                progress(int((batch.outcomes > Outcome.RUNNING).sum()))
        return batch


@dataclass(frozen=True, eq=False)
class FullViewTeacher(FullViewAgent):
    """An agent that is a hand-written function of whole lists."""

    name: str
    task: Task
    choose: Callable[[Ints], Ints]
    summary: str

    def pointers(self, lists: Ints) -> Ints:
        """Return the operands [m, 2] for lists [m, n] of one size."""
        return self.choose(lists)

    def __reduce__(self) -> tuple[Any, ...]:
        """Write a teacher for another process as it was declared."""
        return _found_again, (self.task, self.name)


def _found_again(task: Task, name: str) -> FullViewTeacher:
    """Return the teacher of a name, once the file of its task, which declares it, has been loaded."""
    declared = declared_teacher(task, name)
    return FullViewTeacher(name, task, declared.choose, declared.summary)


def are_sorted(lists: Ints) -> Flags:
    """Tell which of lists [m, n] are sorted."""
    found: Flags = np.all(lists[:, :-1] <= lists[:, 1:], axis=1)
    return found


def swapped(lists: Ints, pairs: Ints) -> Ints:
    """Return copies of lists [m, n] in which the two positions of each pair [m, 2] are swapped."""
    found, rows = lists.copy(), np.arange(len(lists))[:, None]
    found[rows, pairs] = lists[rows, pairs[:, ::-1]]
    return found
