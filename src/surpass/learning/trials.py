"""Run many changed versions of a program on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import numpy.typing as npt

from surpass.engine.batch import allocate
from surpass.engine.kernels import EMPTY
from surpass.engine.run import core_count, make_room, raise_bad_observation
from surpass.engine.specialise import specialise
from surpass.learning.changes import AmendedAgent, Change, RememberedAgent, amend
from surpass.machine.state import SCORE, Outcome
from surpass.table import NO_ACTION
from surpass.tasks.task import Instances, Limit, Task

__all__ = ["Known", "Trial"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

MOST_ROUNDS = 40
"""How often a candidate may wait for actions of observations that nobody has met before."""
TABLE_WORDS = 1 << 22
"""About how many places the tables of candidates that are run together may have."""


class Known:
    """Every observation that any candidate met, with the program's action for it, as the engine reads it."""

    def __init__(self, task: Task) -> None:
        self.task, self.kernels = task, specialise(task)
        self.forget()

    def forget(self) -> None:
        """Empty it in place."""
        self.keys: Ints = np.full(1024, EMPTY, np.int64)
        self.values: Ints = np.full(1024, NO_ACTION, np.int64)
        self.count = 0

    @property
    def observations(self) -> Ints:
        """What is known, in ascending order."""
        return np.sort(self.keys[self.keys != EMPTY])

    def extend(self, observations: Ints, actions: Ints) -> bool:
        """Add new, distinct observations [m] and their actions in place; return whether everything has moved."""
        moves = 2 * (self.count + len(observations)) > len(self.keys)
        if moves:
            taken = self.keys != EMPTY
            old_keys, old_values = self.keys[taken], self.values[taken]
            capacity = 1 << (2 * (self.count + len(observations))).bit_length()
            self.keys, self.values = np.full(capacity, EMPTY, np.int64), np.full(capacity, NO_ACTION, np.int64)
            self.kernels.insert(self.keys, self.values, old_keys, old_values)
        self.kernels.insert(self.keys, self.values, observations, actions)
        self.count += len(observations)
        return moves

    def with_changes(self, changes: Sequence[Change]) -> Ints:
        """Return the actions of the program with these changes."""
        return amend(self.task, changes, self.keys, self.values.copy())


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

    def measure_program(self, base: RememberedAgent, changes: list[Change], known: Known, slack: float) -> None:
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
        self, base: RememberedAgent, changes: list[Change], known: Known, candidate: list[Change]
    ) -> tuple[Ints, Ints]:
        """Return how often a candidate meets what is at each place of `known`, and its action there, if it has one."""
        self.run(base, changes, known, [candidate])
        values = known.with_changes(candidate)
        counts = np.zeros(len(known.keys), np.int64)
        self._start(self.count)
        while (self.batch.outcomes[: self.count] <= Outcome.RUNNING).any():
            self.kernels.tally(self.batch, known.keys, values, self.rows, self.limits, counts, 0, self.count)
            if (self.batch.outcomes == Outcome.STACK_FULL).any():
                self.batch = make_room(self.task, self.batch)
            self.batch.outcomes[self.batch.outcomes < Outcome.RUNNING] = Outcome.RUNNING
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
        base: RememberedAgent,
        changes: list[Change],
        known: Known,
        candidates: Sequence[list[Change]],
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
        self, program: AmendedAgent, known: Known, candidates: Sequence[list[Change]], first: int, last: int
    ) -> None:
        """Run candidates `first` to `last - 1` on their episodes to the end, in place."""
        tables: dict[int, Ints] = {}
        used = slice(first * self.count, last * self.count)
        threads = core_count()
        with ThreadPoolExecutor(threads) as pool:
            do_all = pool.map if threads > 1 else map
            for round_number in count(1):
                active = [
                    k for k in range(first, last) if (self.batch.outcomes[self._slice(k)] <= Outcome.RUNNING).any()
                ]
                if not active:
                    break
                list(do_all(lambda k: self._run_one(known, candidates[k], tables, k), active))
                outcomes, pending = self.batch.outcomes[used], self.batch.pending[used]
                if (outcomes == Outcome.BAD_OBSERVATION).any():
                    raise_bad_observation(self.task, self.batch)
                waiting = outcomes == Outcome.UNKNOWN_OBSERVATION
                if waiting.any():
                    self._learn(program, known, candidates, tables, np.unique(pending[waiting]))
                if (outcomes == Outcome.STACK_FULL).any():
                    self.batch = make_room(self.task, self.batch)
                    outcomes = self.batch.outcomes[used]
                if round_number >= MOST_ROUNDS and len(candidates) > 1:
                    outcomes[outcomes < Outcome.RUNNING] = Outcome.STEP_LIMIT
                outcomes[outcomes < Outcome.RUNNING] = Outcome.RUNNING

    def _run_one(self, known: Known, candidate: list[Change], tables: dict[int, Ints], k: int) -> None:
        if k not in tables:
            tables[k] = known.with_changes(candidate)
        part = self._slice(k)
        self.kernels.run(self.batch, known.keys, tables[k], self.rows, self.limits, part.start, part.stop)

    def _learn(
        self,
        program: AmendedAgent,
        known: Known,
        candidates: Sequence[list[Change]],
        tables: dict[int, Ints],
        fresh: Ints,
    ) -> None:
        """Add new observations to what is known, and to the tables of the candidates, in place."""
        actions = program.actions(fresh)
        if known.extend(fresh, actions):
            tables.clear()
            return
        for k, table in tables.items():
            self.kernels.insert(known.keys, table, fresh, amend(self.task, candidates[k], fresh, actions.copy()))

    def _slice(self, k: int) -> slice:
        """Return the episodes of candidate `k`."""
        return slice(k * self.count, (k + 1) * self.count)
