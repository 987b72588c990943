"""Run many programs on the same instances, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine import chance
from surpass.engine.advance import Player, advance
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.pool import Call, InterruptiblePool
from surpass.engine.run import core_count, run_by
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import record_of, types_of
from surpass.learning.improvement import draft_kernels, drafts, trial_kernels
from surpass.learning.improvement.drafts import (
    Draft,
    EditContext,
    Prices,
    ScreeningSet,
    blank,
    draft_of,
    edit_context,
    program_of,
)
from surpass.learning.improvement.edits import tidy
from surpass.machine.calls import stack_limit
from surpass.machine.state import SCORE, Outcome
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.task import Instances, Limit, Task

_RECORDS = {
    "draft": record_of(Draft, "h2 i1 i1 i2 i2 h3 i4 i1"),
    "chosen": record_of(ScreeningSet, "i1 i2 f2 i1 f1 f1 b1 f1"),
    "prices": record_of(Prices, "f f f f b f"),
    "context": record_of(EditContext, "i1 i1 i1 i1 i2 i1 i2 i2 i2 i3 i2 b1 h2 f1"),
}
TEMPLATE = Template(
    trial_kernels,
    {
        "play": types_of("batch draft context i1 b1 i i1", **_RECORDS),
        "screen": types_of("batch i draft draft context chosen prices i2 f1 i1", **_RECORDS),
        "redo": types_of("draft draft context i2", **_RECORDS),
    },
    (chance, drafts, draft_kernels),
    general=frozenset({"redo"}),
)


class Trial:
    """Instances on which programs are compared, and room to run some programs on them at once."""

    def __init__(self, task: Task, instances: Instances, copies: int) -> None:
        self.task, self.count, self.sizes = task, instances.count, instances.sizes
        self.most_steps: Ints = Limit.parse(task.limit).steps(instances.sizes)
        """[m] how many steps are allowed."""
        self.limits: Ints = self.most_steps
        """[m] after how many a program is stopped."""
        self.needed: Flags = np.zeros(instances.count, np.bool_)
        """[m] what a program must solve: one that fails there is not run on the rest."""
        self.failure_costs = self.most_steps * float(task.measure == "steps")
        """[m] what an instance costs that is not solved: all of its steps, or no reward."""
        self._instances = instances
        self._copies = Instances(*(np.concatenate([part] * copies) for part in instances))
        self._batch = allocate(task, instances.count * copies, int(instances.sizes.max()))

    def run(self, programs: Sequence[Program]) -> Reals:
        """Return the costs [K, m] of programs: steps, or what they lose of the reward; infinite where they fail."""
        used = len(programs) * self.count
        instances = self._copies.part(0, used)
        specialise(self.task).reset(self._batch, *instances, np.arange(used))
        before = self._batch.reals[:used, SCORE].copy()
        self._finish(programs)
        outcomes = self._batch.outcomes[:used].copy()
        if self.task.measure == "reward":
            outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.SOLVED
        solved = outcomes == Outcome.SOLVED
        solved[solved] &= ~self._find_wrong(instances, np.flatnonzero(solved))
        return np.where(solved, self._costs(before, used), np.inf).reshape(len(programs), self.count)

    def give_up(self, costs: Reals, times: float, more: int) -> None:
        """Stop programs from now on that take much longer than one with costs [m], or fail where it does not."""
        allowed = np.where(np.isfinite(costs), times * costs + more, self.limits)
        self.limits = np.minimum(allowed, self.limits).astype(np.int64)
        self.needed[:] = np.isfinite(costs)

    def visits(self, program: Program) -> tuple[Ints, Ints]:
        """Return the observations that occur in runs of a program, in ascending order, and how often each does."""
        player = Player(Table(self.task, program), is_counting=True, threads=core_count())
        run_by(player.finish, self.task, self._instances)
        places = np.flatnonzero(player.counts)
        places = places[np.argsort(player.table.keys[places])]
        return player.table.keys[places], player.counts[places]

    def _costs(self, before: Reals, used: int) -> Reals:
        batch, reward = self._batch, self.task.reward
        if self.task.measure == "steps":
            return batch.steps[:used].astype(np.float64)
        costs: Reals = reward.step_cost * batch.steps[:used] - reward.progress * (batch.reals[:used, SCORE] - before)
        return costs

    def _find_wrong(self, instances: Instances, rows: Ints) -> Flags:
        batch = self._batch
        chosen = instances.rows(rows)
        return self.task.judge(chosen, batch.registers[rows], batch.items[rows], batch.reals[rows])

    def _finish(self, programs: Sequence[Program]) -> None:
        """Run each program on its own episodes to the end, in place."""
        kernel, used = specialise(self.task, TEMPLATE).play, len(programs)
        given = [(draft_of(program), edit_context(program)) for program in programs]
        parts = np.array_split(np.arange(self.count), max(1, core_count() // len(programs)))
        pieces = [slice(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]
        stop = np.zeros(1, np.int64)

        def calls(batch: Batch) -> list[Call]:
            is_running = (batch.outcomes[: used * self.count] <= Outcome.RUNNING).reshape(used, self.count)
            return [
                (kernel, (batch, *given[k], self.limits[piece], self.needed[piece], first, stop))
                for k in range(used)
                for piece, first in ((piece, k * self.count + piece.start) for piece in pieces)
                if is_running[k, piece].any()
            ]

        self._batch.outcomes[used * self.count :] = Outcome.SOLVED
        self._batch = advance(self.task, self._batch, calls, threads=core_count(), stop=stop)


class ReferenceRun(NamedTuple):
    """What a program does on the instances of a screen, and which observations occur in its runs."""

    limits: Ints
    """[m] how many steps an edited program may take."""
    costs: Reals
    """[m] infinite where it fails."""
    failure_costs: Reals
    """[m]"""
    weights: Reals
    """[m] the weight of a cost."""
    observations: Ints
    """[k] what it sees,"""
    visits: Ints
    """[k] and how often."""


def reference_run(program: Program, trial: Trial, weights: Reals, visits: tuple[Ints, Ints]) -> ReferenceRun:
    """Return what a program does on the instances of a trial, whose costs have weights [m]."""
    return ReferenceRun(trial.limits, trial.run([program])[0], np.asarray(trial.failure_costs), weights, *visits)


class Screen:
    """Few instances, on which a program is edited at random by the thousand in compiled code."""

    def __init__(self, task: Task, instances: Instances) -> None:
        self.task = task
        self.instances = instances.rows(np.argsort(instances.sizes, kind="stable"))
        """The small ones first: most edited programs fail on those."""
        size = int(instances.sizes.max())
        self._batch = allocate(task, core_count(), size)
        if task.frame_size:
            self._batch = grow_stack(self._batch, (stack_limit(size) + 2) * task.frame_size)

    def prepare(self, program: Program, reference: ReferenceRun) -> None:
        """Take in a program to edit, and what it does."""
        is_solved = np.isfinite(reference.costs)
        self._program, self._draft = program, draft_of(program)
        self._context: EditContext = edit_context(program, reference.observations, reference.visits)
        self._chosen = ScreeningSet(
            sizes=np.ascontiguousarray(self.instances.sizes),
            items=np.ascontiguousarray(self.instances.items),
            reals=np.ascontiguousarray(self.instances.reals),
            limits=reference.limits,
            costs=np.where(is_solved, reference.costs, reference.failure_costs),
            failure_costs=np.asarray(reference.failure_costs, np.float64),
            needed=is_solved,
            weights=reference.weights,
        )

    def run(self, states: Ints, rule_prices: tuple[float, float], least: float) -> Reals:
        """Return what the program gains, rules included, when it is edited with each of some generators [K, 2]."""
        reward, stop = self.task.reward, np.zeros(1, np.int64)
        by_steps = self.task.measure == "steps"
        worth = (1.0, 0.0) if by_steps else (reward.step_cost, reward.progress)
        prices = Prices(*rule_prices, *worth, by_steps, least)
        gains = np.full(len(states), -np.inf)
        threads = len(self._batch.outcomes)
        parts = [part for part in np.array_split(np.arange(len(states)), threads) if len(part)]
        kernel = specialise(self.task, TEMPLATE).screen
        calls: list[Call] = []
        for b, part in enumerate(parts):
            piece = slice(int(part[0]), int(part[-1]) + 1)
            shared = (self._batch, b, self._draft, blank(self._draft), self._context, self._chosen, prices)
            calls.append((kernel, (*shared, states[piece], gains[piece], stop)))
        with InterruptiblePool(threads, stop, self.task.name) as pool:
            pool.make(calls)
        return gains

    def edited(self, state: Ints) -> Program:
        """Return the program that one of the generators [2] gives."""
        room = blank(self._draft)
        specialise(self.task, TEMPLATE).redo(self._draft, room, self._context, state[None].copy())
        return tidy(program_of(room, self._program))
