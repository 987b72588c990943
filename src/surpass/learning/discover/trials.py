"""Run programs on instances: a few of them in full, or thousands of random edits on a few instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine import chance
from surpass.engine.advance import CountProgress
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.pool import Call, InterruptiblePool
from surpass.engine.run import Results, run_by
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import record_of, types_of
from surpass.learning.discover import draft_kernels, drafts, trial_kernels
from surpass.learning.discover.drafts import (
    BITS,
    Draft,
    EditContext,
    Prices,
    ScreeningSet,
    blank,
    draft_of,
    edit_context,
    program_of,
    with_functions_of,
)
from surpass.learning.discover.edits import tidy
from surpass.learning.discover.objective import Sample, weights_of
from surpass.learning.unsolved import largest_loss
from surpass.machine.calls import stack_limit
from surpass.programs.program import Program, place_features
from surpass.tasks.task import Task

_RECORDS = {
    "draft": record_of(Draft, "h2 i1 i1 i2 i2 h3 i4 i1"),
    "chosen": record_of(ScreeningSet, "i1 i2 f2 i1 f1 f1 b1 f1 h2 i1 i1 i2 i1"),
    "prices": record_of(Prices, "f f f f b f"),
    "context": record_of(EditContext, "i1 i1 i1 i1 i2 i1 i2 i2 i2 i3 i2 b1 h2 f1"),
}
TEMPLATE = Template(
    trial_kernels,
    {
        "screen": types_of("batch i draft draft draft context chosen prices i2 f1 i1", **_RECORDS),
        "play_all": types_of("batch draft context i1 i1 i1 i1 i1", **_RECORDS),
        "redo": types_of("draft draft draft context i2", **_RECORDS),
    },
    (chance, drafts, draft_kernels),
    general=frozenset({"redo"}),
)

COUNTEREXAMPLE_COST = 0.01
"""What it costs to fail on a counter-example, so that programs that fail are edited until they do not."""
UNSOLVED_FACTOR = 4
"""How many times the steps of the longest solved instance an edited program gets for one that was not solved."""
FIRST_PLAYED = 64
"""On how many instances a shorter program is played first."""
MOST_NOTED = 100_000
"""How many observations of an episode are noted at most."""


def failure_costs(task: Task, sample: Sample) -> Reals:
    """Return what each instance [m] costs that is not solved: all of its steps, or no reward.

    Where a score must be finished, no solution of the instance costs more.
    """
    if task.limit_is_budget:
        return np.zeros(sample.instances.count)
    step_cost = task.reward.step_cost if task.measure == "reward" else 1.0
    return (step_cost + largest_loss(task)) * sample.limits.astype(np.float64)


class Seen(NamedTuple):
    """What a program saw on some instances."""

    observations: Ints
    """[k] in ascending order."""
    visits: Ints
    """[k] how often."""
    met: Flags
    """[k, m] which instances met which."""
    is_cut: Flags
    """[m] whether the instance met more than was noted."""

    @staticmethod
    def nothing(count: int) -> Seen:
        """Return what is seen on so many instances that are solved at the start."""
        none = np.zeros(0, np.int64)
        return Seen(none, none, np.zeros((0, count), np.bool_), np.zeros(count, np.bool_))


class DraftPlayer:
    """Plays episodes by a program as a draft: it is read at every step, so that no table has to be filled first."""

    def __init__(self, program: Program, size: int) -> None:
        self.task, self._draft, none = program.task, draft_of(program), np.zeros(0, np.int64)
        self._context = edit_context(program, none, none)
        self._stack = np.zeros((stack_limit(size) + 2) * self.task.frame_size, np.int64)
        self.notes = none
        """What the episodes see, one after the other."""
        self._played = 0
        """How many episodes were played since then."""
        self._ends: Ints = none
        """[B + 1] where the notes of each begin, and where the last ones end; empty if nothing is noted."""

    def note(self, steps: Ints) -> None:
        """Note in place, from now on, what episodes see in so many steps [B]."""
        self._ends, self._played = np.append(0, np.cumsum(np.minimum(steps, MOST_NOTED))), 0
        self.notes = np.zeros(self._ends[-1], np.int64)

    def seen(self, steps: Ints) -> Seen:
        """Return what episodes that took so many steps [B] saw."""
        observations, which, visits = np.unique(self.notes, return_inverse=True, return_counts=True)
        met = np.zeros((len(observations), len(steps)), np.bool_)
        met[which.reshape(-1), np.repeat(np.arange(len(steps)), np.diff(self._ends))] = True
        return Seen(observations, visits, met, steps > MOST_NOTED)

    def finish(self, batch: Batch, limits: Ints, progress: CountProgress | None = None) -> Batch:
        """Return a batch whose episodes are played to their ends, with at most so many steps [B]."""
        ends, stop = np.zeros(len(limits) + 1, np.int64), np.zeros(1, np.int64)
        if len(self._ends):  # a large sample is played in several batches
            ends = self._ends[self._played : self._played + len(limits) + 1]
            self._played += len(limits)
        kernel = specialise(self.task, TEMPLATE).play_all
        arguments = (batch, self._draft, self._context, limits, self._stack, self.notes, ends, stop)
        with InterruptiblePool(1, stop, self.task.name) as pool:
            pool.make([(kernel, arguments)])
        return batch


class Trial:
    """A sample on which programs are compared with the reference."""

    def __init__(self, task: Task, sample: Sample, reference: Program) -> None:
        self.task, self.sample = task, sample
        self.instances, self.count = sample.instances, sample.instances.count
        self.limits: Ints = sample.limits
        """[m] after how many steps a program is stopped."""
        self.failure_costs = failure_costs(task, sample)
        self.seen = Seen.nothing(self.count)
        """What the last measured program saw,"""
        self._actions: Ints = np.zeros(0, np.int64)
        """and what it did there."""
        self.reference_costs: Reals = self.finite(self._play(reference))
        self.weights: Reals = weights_of(sample, self.reference_costs)
        known = (sample.sizes < 0) & (self.failure_costs > 0)
        self.weights[known] = COUNTEREXAMPLE_COST / self.failure_costs[known]

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
        player = self._player(program)
        results = run_by(player.finish, self.task, self.instances, self.limits)
        player.note(results.steps)
        run_by(player.finish, self.task, self.instances, self.limits, judged=False)
        self.seen = player.seen(results.steps)
        self._actions = program.actions(self.seen.observations)
        return self._costs(results)

    def run_shorter(self, programs: Sequence[Program], costs: Reals) -> Reals:
        """Return the costs [K, m] of programs that differ little from the last measured one, which has costs [m].

        Each is played where it does anything else, on small instances first. Where one fails that must not, those
        behind it count as failures, too.
        """
        found = np.tile(costs, (len(programs), 1))
        for own, program in zip(found, programs, strict=True):
            differs = program.actions(self.seen.observations) != self._actions
            rows = np.flatnonzero(self.seen.met[differs].any(axis=0) | self.seen.is_cut)
            rows = rows[np.argsort(self.instances.sizes[rows], kind="stable")]
            player, done = self._player(program), 0
            while done < len(rows):
                part = rows[done : max(FIRST_PLAYED, 2 * done)]
                done += len(part)
                own[part] = self._costs(run_by(player.finish, self.task, self.instances.rows(part), self.limits[part]))
                if (~np.isfinite(own[part]) & np.isfinite(costs[part])).any():
                    own[rows[done:]] = np.inf
                    break
        return found

    def _player(self, program: Program) -> DraftPlayer:
        return DraftPlayer(program, int(self.instances.sizes.max()))

    def _play(self, program: Program) -> Reals:
        return self._costs(run_by(self._player(program).finish, self.task, self.instances, self.limits))

    def _costs(self, results: Results) -> Reals:
        return np.where(results.solved, results.steps if self.task.measure == "steps" else -results.rewards, np.inf)

    def limit_steps(self, costs: Reals, times: float, more: int) -> None:
        """Stop programs from now on that take much longer than one with costs [m].

        Where that one fails, they get some times as many steps as it takes for any instance that it solves.
        """
        solved = np.isfinite(costs)
        most = UNSOLVED_FACTOR * (costs[solved].max() + more) if solved.any() else np.inf
        allowed = np.where(solved, times * costs + more, most)
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
        seen: Seen,
        edited: Seen,
    ) -> None:
        """Take in a program to edit, what it does on the instances, and what it has `seen` there.

        It may copy from its `mate`. Its `costs` [m] are infinite where it fails; edits may take as many steps as
        `limits` [m]; `weights` [m] are those of the costs. Edits are made where it goes according to `edited`.
        """
        observations, visits = edited.observations, edited.visits
        if not len(observations):  # all instances are solved at the start; edits are made where something was seen
            observations, visits = np.zeros(1, np.int64), np.ones(1, np.int64)
        self._program, self._draft = program, draft_of(program)
        self._mate = self._draft if mate is None else draft_of(with_functions_of(program, mate))
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
            **self._group(program, seen),
        )

    def _group(self, program: Program, seen: Seen) -> dict[str, Any]:
        """Return what a program has seen, in the order in which edited programs are compared with it."""
        digits = self.task.interface.digits(seen.observations).astype(np.int16)
        where = np.stack(
            [np.zeros_like(digits[:, 0]) if k is None else digits[:, k] for k in place_features(self.task.interface)]
        )
        order = np.lexsort((-seen.visits, *where))
        places = where[:, order]
        begins = np.flatnonzero((places[:, 1:] != places[:, :-1]).any(axis=0)) + 1
        return {
            "digits": np.ascontiguousarray(digits[order]),
            "actions": program.actions(seen.observations[order]),
            "groups": np.array([0, *begins, len(order)] if len(order) else [0], np.int64),
            "met_by": _as_bits(seen.met[order]),
            "always": _as_bits(seen.is_cut[None])[0],
        }

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


def _as_bits(flags: Flags) -> Ints:
    """Return flags [k, m] as words of bits [k, words]."""
    words = -(-flags.shape[1] // BITS)
    padded = np.zeros((len(flags), words * BITS), np.int64)
    padded[:, : flags.shape[1]] = flags
    bits: Ints = (padded.reshape(len(flags), words, BITS) << np.arange(BITS)).sum(axis=2)
    return bits
