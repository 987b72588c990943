"""Run programs on instances: a few of them in full, or thousands of random edits on a few instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine import chance
from surpass.engine.advance import Player
from surpass.engine.batch import allocate, grow_stack
from surpass.engine.pool import Call, InterruptiblePool
from surpass.engine.run import run_by
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import record_of, types_of
from surpass.learning.discover import draft_kernels, drafts, trial_kernels
from surpass.learning.discover.drafts import (
    Draft,
    EditContext,
    Prices,
    ScreeningSet,
    blank,
    draft_of,
    edit_context,
    program_of,
)
from surpass.learning.discover.edits import tidy
from surpass.learning.discover.objective import Sample, weights_of
from surpass.learning.unsolved import largest_loss
from surpass.machine.calls import stack_limit
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.task import Task

_RECORDS = {
    "draft": record_of(Draft, "h2 i1 i1 i2 i2 h3 i4 i1"),
    "chosen": record_of(ScreeningSet, "i1 i2 f2 i1 f1 f1 b1 f1"),
    "prices": record_of(Prices, "f f f f b f"),
    "context": record_of(EditContext, "i1 i1 i1 i1 i2 i1 i2 i2 i2 i3 i2 b1 h2 f1"),
}
TEMPLATE = Template(
    trial_kernels,
    {
        "screen": types_of("batch i draft draft draft context chosen prices i2 f1 i1", **_RECORDS),
        "redo": types_of("draft draft draft context i2", **_RECORDS),
    },
    (chance, drafts, draft_kernels),
    general=frozenset({"redo"}),
)


def failure_costs(task: Task, sample: Sample) -> Reals:
    """Return what each instance [m] costs that is not solved: all of its steps, or no reward.

    Where a score must be finished, no solution of the instance costs more.
    """
    if task.limit_is_budget:
        return np.zeros(sample.instances.count)
    step_cost = task.reward.step_cost if task.measure == "reward" else 1.0
    return (step_cost + largest_loss(task)) * sample.limits.astype(np.float64)


class Trial:
    """A sample on which programs are compared with the reference."""

    def __init__(self, task: Task, sample: Sample, reference: Program, threads: int = 1) -> None:
        self.task, self.sample, self.threads = task, sample, threads
        self.instances, self.count = sample.instances, sample.instances.count
        self.limits: Ints = sample.limits
        """[m] after how many steps a program is stopped."""
        self.failure_costs = failure_costs(task, sample)
        self.observations, self.visits = np.zeros(0, np.int64), np.zeros(0, np.int64)
        """What the last measured program saw, in ascending order, and how often."""
        self.reference_costs: Reals = self.finite(self._play(reference))
        self.weights: Reals = weights_of(sample, self.reference_costs)

    def finite(self, costs: Reals) -> Reals:
        """Return costs [..., m] with that of a failure in the place of infinite ones."""
        return np.where(np.isfinite(costs), costs, self.failure_costs)

    def relative(self, costs: Reals) -> Reals:
        """Return the relative costs of programs [K] from those on all instances [K, m]; the reference has 1."""
        relative: Reals = 1 + ((self.finite(costs) - self.reference_costs) * self.weights).sum(axis=-1)
        return relative

    def by_size(self, costs: Reals) -> Reals:
        """Return the relative costs of a program, given those on all instances [m], at each size [s]."""
        each = (self.finite(costs) - self.reference_costs) * self.weights
        counts = 1 + int(self.sample.sizes.max())
        known = self.sample.sizes >= 0
        relative: Reals = 1 + counts * np.bincount(self.sample.sizes[known], each[known], counts).astype(np.float64)
        return relative

    def means(self, costs: Reals) -> Reals:
        """Return the mean costs of a program on the first distribution at each size [s], given those on all [m].

        At a size that the first distribution does not have, they are those on all others.
        """
        costs, means = self.finite(costs), list[float]()
        for size in range(1 + int(self.sample.sizes.max())):
            at_size = self.sample.sizes == size
            first = at_size & (self.sample.sources == 0)
            means.append(float(costs[first if first.any() else at_size].mean()))
        return np.array(means)

    def run(self, programs: Sequence[Program]) -> Reals:
        """Return the costs [K, m] of programs: steps, or what they lose of the reward; infinite where they fail."""
        return np.stack([self._play(program) for program in programs])

    def measure(self, program: Program) -> Reals:
        """Return the costs [m] of a program, and keep what it sees, in place."""
        return self._play(program, is_counting=True)

    def _play(self, program: Program, *, is_counting: bool = False) -> Reals:
        table = Table(self.task, program)
        # Edited programs see much of what the measured one saw: so they have few questions while they play.
        table.extend(self.observations)
        player = Player(table, is_counting=is_counting, threads=self.threads)
        results = run_by(player.finish, self.task, self.instances, self.limits)
        if is_counting:
            places = np.flatnonzero(player.counts)
            places = places[np.argsort(table.keys[places])]
            self.observations, self.visits = table.keys[places], player.counts[places]
        return np.where(results.solved, results.steps if self.task.measure == "steps" else -results.rewards, np.inf)

    def limit_steps(self, costs: Reals, times: float, more: int) -> None:
        """Stop programs from now on that take much longer than one with costs [m]."""
        allowed = np.where(np.isfinite(costs), times * costs + more, self.sample.limits)
        self.limits = np.minimum(allowed, self.sample.limits).astype(np.int64)


class Screen:
    """Edits a program at random by the thousand in compiled code, and runs each edit on a few instances."""

    def __init__(self, task: Task, sample: Sample, threads: int = 1) -> None:
        self.task, self.sample, self.instances = task, sample, sample.instances
        size = int(self.instances.sizes.max())
        self._batch = allocate(task, threads, size)
        if task.frame_size:
            self._batch = grow_stack(self._batch, (stack_limit(size) + 2) * task.frame_size)

    def prepare(
        self,
        program: Program,
        mate: Program | None,
        costs: Reals,
        limits: Ints,
        weights: Reals,
        observations: Ints,
        visits: Ints,
    ) -> None:
        """Take in a program to edit, what it does on the instances, and what it sees.

        It may copy from its `mate`. Its `costs` [m] are infinite where it fails; edits may take as many steps as
        `limits` [m]; `weights` [m] are those of the costs. It sees `observations` [k], each as often as `visits` [k]
        say.
        """
        if not len(observations):  # all instances are solved at the start; edits are made where something was seen
            observations, visits = np.zeros(1, np.int64), np.ones(1, np.int64)
        self._program, self._draft = program, draft_of(program)
        self._mate = self._draft if mate is None else draft_of(mate)
        self._context = edit_context(program, observations, visits)
        is_solved, penalty = np.isfinite(costs), failure_costs(self.task, self.sample)
        self._chosen = ScreeningSet(
            sizes=np.ascontiguousarray(self.instances.sizes),
            items=np.ascontiguousarray(self.instances.items),
            reals=np.ascontiguousarray(self.instances.reals),
            limits=limits,
            costs=np.where(is_solved, costs, penalty),
            failure_costs=penalty,
            needed=is_solved,
            weights=weights,
        )

    def run(self, states: Ints, rule_prices: tuple[float, float], least: float) -> Reals:
        """Return what the program gains, rules included, when it is edited with each of some generators [K, 2]."""
        reward, stop = self.task.reward, np.zeros(1, np.int64)
        worth = (1.0, 0.0) if self.task.measure == "steps" else (reward.step_cost, reward.progress)
        prices = Prices(*rule_prices, *worth, not self.task.limit_is_budget, least)
        gains = np.full(len(states), -np.inf)
        threads = len(self._batch.outcomes)
        parts = [part for part in np.array_split(np.arange(len(states)), threads) if len(part)]
        kernel = specialise(self.task, TEMPLATE).screen
        calls: list[Call] = []
        for b, part in enumerate(parts):
            piece = slice(int(part[0]), int(part[-1]) + 1)
            shared = (self._batch, b, self._draft, blank(self._draft), self._mate, self._context, self._chosen, prices)
            calls.append((kernel, (*shared, states[piece], gains[piece], stop)))
        with InterruptiblePool(threads, stop, self.task.name) as pool:
            pool.make(calls)
        return gains

    def edited(self, state: Ints) -> Program:
        """Return the program that one of the generators [2] gives."""
        room = blank(self._draft)
        specialise(self.task, TEMPLATE).redo(self._draft, room, self._mate, self._context, state[None].copy())
        return tidy(program_of(room, self._program))
