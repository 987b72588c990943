"""Run many programs on the same instances, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surpass.engine.advance import Call, advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.run import core_count
from surpass.engine.specialise import specialise
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import SCORE, Outcome
from surpass.programs.evaluate import answer_split, split_observations
from surpass.programs.program import Program
from surpass.table import EMPTY, Table, put
from surpass.tasks.task import Instances, Limit, Task

__all__ = ["Seen", "Trial"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

MOST_ROUNDS = 40
"""How often a program may wait for its actions at observations that none has come to before; then it is stopped."""


class Seen:
    """Every observation that some program came to: what programs are written out as tables over."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.table = Table(task)
        self._split = split_observations(task.interface, np.zeros(0, np.int64))
        self._places: Ints = np.zeros(0, np.int64)

    @property
    def keys(self) -> Ints:
        """The observations as they lie in a table."""
        return self.table.keys

    def add(self, observations: Ints) -> None:
        """Add new observations [m] in place."""
        self.table.insert(observations, np.full(len(observations), NO_ACTION, np.int64))
        self._places = np.flatnonzero(self.table.keys != EMPTY)
        self._split = split_observations(self.task.interface, self.table.keys[self._places])

    def add_to(self, tables: dict[int, Ints], programs: Sequence[Program], observations: Ints) -> None:
        """Add new observations [m] in place, and to the tables of some programs by their numbers."""
        before = self.keys
        self.add(observations)
        for k in tables:
            if self.keys is before:
                put(self.keys, tables[k], observations, programs[k].actions(observations))
            else:
                tables[k] = self.actions_of(programs[k])

    def actions_of(self, program: Program) -> Ints:
        """Return the action of a program at each place of the table."""
        actions = np.full(len(self.table.keys), NO_ACTION, np.int64)
        found = np.empty(len(self._places), np.int64)
        answer_split(program.compiled, self._split, found)
        actions[self._places] = found
        return actions


class Trial:
    """Instances that programs are compared on, and room to run some programs on them at once."""

    def __init__(self, task: Task, instances: Instances, seen: Seen, copies: int) -> None:
        self.task, self.seen, self.count, self.sizes = task, seen, instances.count, instances.sizes
        self.limits = Limit.parse(task.limit).steps(instances.sizes)
        """[m] how many steps a program may take; at first those that the task allows."""
        self.failure_costs = self.limits * float(task.measure == "steps")
        """[m] what an instance costs that is not solved: all of its steps, or the reward that is not had."""
        self._copies = Instances(*(np.concatenate([part] * copies) for part in instances))
        self._batch = allocate(task, instances.count * copies, int(instances.sizes.max()))

    def run(self, programs: Sequence[Program]) -> Reals:
        """Return the costs [K, m] of programs: steps, or what they lose of the reward; infinite where they fail."""
        kernels, used = specialise(self.task), len(programs) * self.count
        instances = self._copies.part(0, used)
        kernels.reset(self._batch, *instances, np.arange(used))
        before = self._batch.reals[:used, SCORE].copy()
        limits = np.tile(self.limits, len(programs))
        self._finish(programs, limits)
        outcomes = self._batch.outcomes[:used].copy()
        if self.task.measure == "reward":
            outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.SOLVED
        solved = outcomes == Outcome.SOLVED
        solved[solved] &= ~self._find_wrong(instances, np.flatnonzero(solved))
        return np.where(solved, self._costs(before, used), np.inf).reshape(len(programs), self.count)

    def visits(self, program: Program) -> tuple[Ints, Ints]:
        """Return the observations that a program comes to, in ascending order, and how often it does."""
        self.run([program])
        kernels, counts = specialise(self.task), np.zeros(len(self.seen.keys), np.int64)
        stop = np.zeros(1, np.int64)
        kernels.reset(self._batch, *self._copies.part(0, self.count), np.arange(self.count))
        rest = (self.seen.keys, self.seen.actions_of(program), self.task.interface.action_rows, self.limits, counts)
        self._batch = advance(
            self.task,
            self._batch,
            lambda batch: [(kernels.advance, (batch, *rest, False, 0, self.count, stop))],
            stop=stop,
        )
        places = np.flatnonzero(counts)
        places = places[np.argsort(self.seen.keys[places])]
        return self.seen.keys[places], counts[places]

    def _costs(self, before: Reals, used: int) -> Reals:
        batch, reward = self._batch, self.task.reward
        if self.task.measure == "steps":
            return batch.steps[:used].astype(np.float64)
        costs: Reals = reward.step_cost * batch.steps[:used] - reward.progress * (batch.reals[:used, SCORE] - before)
        return costs

    def _find_wrong(self, instances: Instances, rows: Ints) -> npt.NDArray[np.bool_]:
        chosen = Instances(*(part[rows] for part in instances))
        batch = self._batch
        return self.task.judge(chosen, batch.registers[rows], batch.items[rows], batch.reals[rows])

    def _finish(self, programs: Sequence[Program], limits: Ints) -> None:
        """Run each program on its own episodes to the end, in place."""
        kernel, rows, nothing = specialise(self.task).advance, self.task.interface.action_rows, limits[:0]
        tables = {k: self.seen.actions_of(program) for k, program in enumerate(programs)}
        threads, rounds, used = core_count(), 0, len(programs) * self.count
        stop = np.zeros(1, np.int64)
        bounds = np.linspace(0, self.count, max(1, threads // len(programs)) + 1).astype(np.int64).tolist()

        def calls(batch: Batch) -> list[Call]:
            by_program = batch.outcomes[:used].reshape(len(programs), self.count)
            is_running: npt.NDArray[np.bool_] = np.any(by_program <= Outcome.RUNNING, axis=1)
            for k in [k for k in tables if not is_running[k]]:
                del tables[k]
            return [
                (kernel, (batch, self.seen.keys, table, rows, limits, nothing, False, at + first, at + last, stop))
                for at, table in ((k * self.count, table) for k, table in tables.items())
                for first, last in pairwise(bounds)
            ]

        def answer(observations: Ints) -> None:
            nonlocal rounds
            self.seen.add_to(tables, programs, observations)
            rounds += 1
            if rounds > MOST_ROUNDS and len(programs) > 1:
                limits[:] = 0

        self._batch.outcomes[used:] = Outcome.SOLVED
        self._batch = advance(self.task, self._batch, calls, answer=answer, threads=threads, stop=stop)
