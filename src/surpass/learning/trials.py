"""Run many changed versions of a program on the same instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surpass.engine.advance import Call, advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.run import core_count
from surpass.engine.specialise import specialise
from surpass.learning.changes import AmendedAgent
from surpass.machine.state import SCORE, Outcome
from surpass.table import Amendment, Table, amended, put
from surpass.tasks.task import Instances, Limit, Task

__all__ = ["Trial", "with_changes"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

MOST_ROUNDS = 40
"""How often a candidate may wait for actions of observations that nobody has met before."""
TABLE_WORDS = 1 << 22
"""About how many places the tables of candidates that are run together may have."""


def with_changes(known: Table, changes: Sequence[Amendment]) -> Ints:
    """Return the actions at all places of a table as they are after some changes; the table stays as it is."""
    return amended(known.task.interface, changes, known.keys, known.values.copy())


class Trial:
    """Instances, what the program does on them, and room to run candidates on them side by side."""

    def __init__(self, task: Task, instances: Instances, is_counted: npt.NDArray[np.bool_], copies: int) -> None:
        self.task, self.copies, self.count = task, copies, instances.count
        self.kernels, self.rows = specialise(task), task.interface.action_rows
        self.is_counted = is_counted
        """[m] whether the cost of an instance matters, or only that it is solved."""
        self.weights = np.zeros(instances.count)
        """[m] what the cost of an instance counts for."""
        self.instances = Instances(
            *(np.concatenate([part] * copies) for part in (instances.sizes, instances.items, instances.reals))
        )
        self.batch = allocate(task, instances.count * copies, int(instances.sizes.max()))
        self.full_limits = Limit.parse(task.limit).steps(instances.sizes)
        self.limits = np.concatenate([self.full_limits] * copies)
        self.unsolved = np.zeros(instances.count, bool)
        self.costs = np.zeros(instances.count)
        """[m] what the program takes."""

    @property
    def sizes(self) -> Ints:
        """[m] the sizes of the instances."""
        return self.instances.sizes[: self.count]

    def measure_program(self, base: Table, changes: list[Amendment], known: Table, slack: float) -> None:
        """Run the program, keep its costs, and let candidates take not much longer, in place.

        An instance that it does not solve costs the whole limit.
        """
        self.limits = np.concatenate([self.full_limits] * self.copies)
        costs = self.run(base, changes, known, [[]], is_program=True)[0]
        unsolved = ~np.isfinite(costs)
        self.costs = np.where(unsolved, self.full_limits, costs)
        if self.task.measure == "steps":
            allowed = np.where(unsolved, self.full_limits, slack * self.costs + 12).astype(np.int64)
            self.limits = np.concatenate([np.minimum(allowed, self.full_limits)] * self.copies)
        self.unsolved = unsolved

    def visits(
        self, base: Table, changes: list[Amendment], known: Table, candidate: list[Amendment]
    ) -> tuple[Ints, Ints]:
        """Return how often a candidate meets what is at each place of `known`, and its action there, if it has one."""
        self.run(base, changes, known, [candidate])
        values = with_changes(known, candidate)
        counts = np.zeros(len(known.keys), np.int64)
        self._start(self.count)
        table = (known.keys, values, self.rows, self.limits, counts, False, 0, self.count)
        self.batch = advance(self.task, self.batch, lambda batch: [(self.kernels.advance, (batch, *table))])
        lost = self.batch.outcomes[: self.count] == Outcome.NO_ACTION
        ends, often = np.unique(self.batch.pending[: self.count][lost], return_counts=True)
        if len(ends):
            member = np.isin(known.keys, ends)
            counts[member] += often[np.searchsorted(ends, known.keys[member])]
        return counts, values

    def _start(self, episodes: int) -> Instances:
        """Start the first episodes in place and return their instances."""
        instances = self.instances.part(0, episodes)
        self.kernels.reset(self.batch, instances.sizes, instances.items, instances.reals, np.arange(episodes))
        return instances

    def run(
        self,
        base: Table,
        changes: list[Amendment],
        known: Table,
        candidates: Sequence[list[Amendment]],
        *,
        is_program: bool = False,
    ) -> Reals:
        """Return the costs [K, m] of candidates, infinite where they fail.

        A candidate is the program (`base` with `changes`) with further changes. Where the program itself fails, a
        candidate that fails as well costs the same.
        """
        used = slice(0, len(candidates) * self.count)
        instances = self._start(used.stop)
        before = self.batch.reals[used, SCORE].copy()
        program = AmendedAgent(base, changes)
        group = max(1, TABLE_WORDS // len(known.keys))
        for first in range(0, len(candidates), group):
            self._finish(program, known, candidates, first, min(first + group, len(candidates)))
        batch, reward = self.batch, self.task.reward
        outcomes = batch.outcomes[used].copy()
        if self.task.measure == "reward":
            outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.SOLVED
            costs = -reward.progress * (batch.reals[used, SCORE] - before) + reward.step_cost * batch.steps[used]
        else:
            costs = batch.steps[used].astype(float)
        solved = outcomes == Outcome.SOLVED
        if is_program:
            solved &= ~self.task.find_wrong(instances, batch.registers[used], batch.items[used], batch.reals[used])
        costs = np.where(solved, costs, np.inf).reshape(len(candidates), self.count)
        if not is_program:
            costs = np.where(self.unsolved & ~np.isfinite(costs), self.costs, costs)
        return costs

    def _finish(
        self, program: AmendedAgent, known: Table, candidates: Sequence[list[Amendment]], first: int, last: int
    ) -> None:
        """Run candidates `first` to `last - 1` on their episodes to the end, in place."""
        tables: dict[int, Ints] = {}
        used, no_counts, rounds = slice(first * self.count, last * self.count), np.zeros(0, np.int64), 0

        def run_one(batch: Batch, k: int) -> None:
            if k not in tables:
                tables[k] = with_changes(known, candidates[k])
            part = self._slice(k)
            shared = (batch, known.keys, tables[k], self.rows, self.limits, no_counts)
            self.kernels.advance(*shared, False, part.start, part.stop)

        def calls(batch: Batch) -> list[Call]:
            nonlocal rounds
            rounds += 1
            outcomes = batch.outcomes[used]
            if rounds > MOST_ROUNDS and len(candidates) > 1:
                outcomes[outcomes == Outcome.RUNNING] = Outcome.STEP_LIMIT
            running = (outcomes.reshape(last - first, self.count) == Outcome.RUNNING).any(axis=1)
            return [(run_one, (batch, first + k)) for k in np.flatnonzero(running).tolist()]

        def answer(fresh: Ints) -> None:
            before, actions = known.keys, program.actions(fresh)
            known.insert(fresh, actions)
            if known.keys is not before:
                tables.clear()
            for k, table in tables.items():
                put(known.keys, table, fresh, amended(self.task.interface, candidates[k], fresh, actions.copy()))

        self.batch = advance(self.task, self.batch, calls, answer=answer, threads=core_count())

    def _slice(self, k: int) -> slice:
        """Return the episodes of candidate `k`."""
        return slice(k * self.count, (k + 1) * self.count)
