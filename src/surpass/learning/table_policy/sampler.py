"""Play whole episodes by a table of logits in compiled code, and sum up what they showed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.crew import Call, Crew
from surpass.engine.run import core_count
from surpass.engine.specialise import specialise
from surpass.learning.table_policy.arrays import Critic, RowSums, StepRecord, Trials
from surpass.learning.table_policy.compiled import TEMPLATE
from surpass.learning.table_policy.policy import TablePolicy, with_room
from surpass.machine.state import Outcome
from surpass.tasks.task import Instances, Task

PARTS = 2
"""Episodes are summed up in this many parts, whatever the number of threads, so that results are the same."""
SLICES = 16
"""Threads take this many slices of the episodes in turn."""


class TableSampler:
    """Plays episodes of a task by a policy, which grows as new observations come up."""

    def __init__(self, task: Task, policy: TablePolicy) -> None:
        self.task, self.policy = task, policy
        self.hints = len(task.all_hints) + 1
        """How many hints the critic gets: the task's, and the steps that are left."""
        self._kernels = specialise(task, TEMPLATE)
        self._sums: list[RowSums] = []

    def play(
        self, instances: Instances, limits: Ints, strays: Ints, random: Ints, tried: float = 0.0
    ) -> tuple[Batch, StepRecord, Trials]:
        """Play every instance to its end, and return how each ended, every step, and what was tried beside them.

        `limits` [B] are those of the steps, `strays` [B] how many actions at random each begins with, and `random`
        [B, 2] the states of the generators, which move on in place. At a share `tried` of the steps another action is
        tried as well.
        """
        count, total, stop = instances.count, int(limits.sum()), np.zeros(1, np.int64)
        widest = int(instances.sizes.max())
        batch = allocate(self.task, count, widest)
        specialise(self.task).reset(batch, *instances, np.arange(count))
        record = StepRecord(
            np.cumsum(limits) - limits,
            strays,
            np.empty(total, np.int32),
            np.empty(total, np.int32),
            np.empty(total, np.float32),
            np.empty((total, self.hints), np.float32),
        )
        noted = total if tried else 0
        numbers = [np.empty(noted, np.int32) for _ in range(4)]
        reals = np.empty(noted, np.float32), np.empty((noted, self.hints), np.float32)
        trials = Trials(numbers[0], numbers[1], numbers[2], numbers[3], *reals)
        bounds = [
            part for part in pairwise(np.linspace(0, count, SLICES + 1).astype(int).tolist()) if part[0] < part[1]
        ]

        def calls(batch: Batch) -> list[Call]:
            shared = (batch, self.policy.choices, self.policy.odds, random, limits, record, trials, tried)
            copies = grow_stack(allocate(self.task, len(bounds), widest), batch.stack.shape[1])
            return [(self._kernels.sample, (*shared, copies, own, *part, stop)) for own, part in enumerate(bounds)]

        def add_decisions(waiting: Ints) -> None:
            self.policy.add_after(np.unique(batch.pending[waiting]))

        batch = advance(
            self.task,
            batch,
            calls,
            answer=self.policy.add_observations,
            others={Outcome.UNKNOWN_DECISION: add_decisions},
            threads=core_count(),
            stop=stop,
        )
        return batch, record, trials

    def sum_up(
        self, batch: Batch, record: StepRecord, trials: Trials, critic: Critic, settings: Reals, limits: Ints
    ) -> tuple[RowSums, Ints]:
        """Return what the episodes showed, and the rows of the decisions that were made; see `kernels.sum_up`."""
        bounds = list(pairwise(np.linspace(0, len(limits), PARTS + 1).astype(int).tolist()))
        self._sums = self._with_room()
        shared = (batch, self.policy.choices, self.policy.odds, record, trials, critic, settings, limits)
        calls: list[Call] = [
            (self._kernels.sum_up, (*shared, sums, *part)) for sums, part in zip(self._sums, bounds, strict=True)
        ]
        with Crew(min(core_count(), PARTS), np.zeros(1, np.int64), self.task.name) as crew:
            crew.make(calls)
        first, *others = self._sums
        for other in others:
            rows = np.flatnonzero(other.totals)
            for whole, part in zip(first[:-2], other[:-2], strict=True):
                whole[rows] += part[rows]
            for whole, part in zip(first[-2:], other[-2:], strict=True):
                whole += part
            _clear(other, rows)
        return first, np.flatnonzero(first.totals)

    def clear(self, rows: Ints) -> None:
        """Set the sums of the last batch, which touched some rows, to nothing."""
        _clear(self._sums[0], rows)

    def _with_room(self) -> list[RowSums]:
        """Return sums with room for all rows."""
        count, width, hints = self.policy.count, self.policy.width, self.hints
        if not self._sums:
            shapes = ((0,), *[(0, width)] * 4, (0,), (0,), (0, hints), (hints, hints + 1), (2,))
            self._sums = [RowSums(*(np.zeros(shape) for shape in shapes)) for _ in range(PARTS)]
        return [RowSums(*[with_room(array, count) for array in sums[:-2]] + list(sums[-2:])) for sums in self._sums]


def _clear(sums: RowSums, rows: Ints) -> None:
    """Set the sums of some rows to nothing, in place: they are all that is not."""
    for array in sums[:-2]:
        array[rows] = 0
    for array in sums[-2:]:
        array[:] = 0
