"""Single deviations: save steps once the task is solved.

An update plays episodes by the most likely actions. Then it plays each again on the same instance with one other
action at one step (the vine estimator of TRPO; Schulman et al., 2015). The difference of the two returns is the
advantage of that action there:

    A(o, a) = return after the deviation - return without it

Both play the same instance, so the difference has hardly any noise ("common random numbers"; Glasserman, 2003), and an
action that saves one step in a thousand is seen to. For a policy that rarely deviates this is the policy gradient with
the return of the undisturbed episode as the baseline.

Some episodes deviate twice. The first deviation leads off the path, the second tries an action at an observation that
the policy has not met, so that actions which pay only together are found. After an update, changes that lose are
undone (`repair.revert_losses`): actions that are good one by one can form loops together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.learning.renamings import renamings_of
from surpass.learning.table.episodes import (
    Costs,
    begin,
    observe,
    part_of,
    play,
    play_all,
    resume,
    returns_of,
    take_step,
)
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.repair import Reference, revert_losses
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import SCORE, Outcome
from surpass.table import Table
from surpass.tasks.task import Instances, Task, join_instances

STEP_SIZE, PRIOR_COUNT = 0.3, 10.0
OFF_PATH_RATE, MAX_OFF_PATH_STEPS = 0.5, 4
"""The share of episodes that deviate twice, and at which unmet observation the second comes at the latest."""
RANDOM_ACTION_RATE = 0.5
"""The share of deviations by a random action: one operand changed, one that the policy takes elsewhere, what it would
do if two variables changed their names, or any. The others are drawn by their logits."""
MAX_ADVANTAGE = 50.0
MAX_REMEMBERED = 100_000
"""How many observations of an update are looked up at once at the start of the next."""


class Deviations:
    """Improves the most likely actions of a table of logits by trying others, one at a time."""

    patience = 20

    def __init__(self, logits: LogitTable, costs: Costs, deviations: int) -> None:
        self.logits, self.task, self.costs, self.deviations = logits, logits.task, costs, deviations
        self.plays = 1 + deviations
        self.met: Ints = np.zeros(0, np.int64)
        """The observations of the last update, which the next one looks up at once."""

    def update(
        self,
        instances: Instances,
        limits: Ints,
        fresh: Callable[[], tuple[Instances, Ints]],
        random: np.random.Generator,
    ) -> tuple[float, int]:
        """Make one update; return the mean gain on these and fresh instances, and about how many steps were played."""
        table = Table(self.task, self.logits.greedy())
        table.extend(self.met)
        whole, returns, path = play_all(table, instances, limits, self.costs)
        which, gained = np.repeat(np.flatnonzero(whole.steps > 0), self.deviations), 0.0
        if which.size and path.size:
            before = self.logits.logits[: self.logits.count].copy()
            at = random.integers(0, whole.steps[which])
            self._deviate(instances.rows(which), limits[which], returns[which], at, table, path, random)
            others, other_limits = fresh()
            _, other_returns, _ = play_all(table, others, other_limits, self.costs)
            trial = Reference(
                join_instances(self.task, [instances, others]),
                np.concatenate([limits, other_limits]),
                np.concatenate([returns, other_returns]),
            )
            gained = revert_losses(self.logits, before, trial, path, self.costs)
        self.met = table.observations if len(table) < MAX_REMEMBERED else path
        return gained, int(whole.steps.sum()) * self.plays

    def _deviate(
        self,
        instances: Instances,
        limits: Ints,
        returns: Reals,
        at: Ints,
        table: Table,
        path: Ints,
        random: np.random.Generator,
    ) -> None:
        """Play instances [F] up to a step [F], take another action there, and learn from the returns."""
        known = np.unique(table.actions(path))
        known = known[known != NO_ACTION]
        batch = begin(self.task, instances)
        scores = batch.reals[:, SCORE].copy()
        batch = play(table, batch, at, find_loops=False)
        is_off = random.random(len(at)) < OFF_PATH_RATE
        on, off = np.flatnonzero(~is_off), np.flatnonzero(is_off)
        parts = [(part_of(batch, on), returns[on], scores[on], limits[on])]
        if off.size:
            parts.append(self._leave_path(part_of(batch, off), scores[off], limits[off], table, path, known, random))
        for episodes, usual, first_scores, most in parts:
            if not len(most):
                continue
            resume(episodes)
            seen = observe(self.task, episodes)
            tried = self._try(seen, table.actions(seen), known, random)
            episodes = play(table, take_step(self.task, episodes, tried, most), most)
            found = returns_of(self.task, episodes, most, self.costs, first_scores)
            advantages = np.minimum(found - usual, MAX_ADVANTAGE)
            ones = np.ones(len(seen))
            self.logits.update(seen, tried, advantages, ones, step_size=STEP_SIZE, prior_count=PRIOR_COUNT)

    def _leave_path(
        self,
        batch: Batch,
        first_scores: Reals,
        limits: Ints,
        table: Table,
        path: Ints,
        known: Ints,
        random: np.random.Generator,
    ) -> tuple[Batch, Reals, Reals, Ints]:
        """Let episodes take another action and continue until they meet something new.

        Return those that do, their returns if they continue by the most likely actions, the scores that they began
        with, and their limits.
        """
        task = self.task
        resume(batch)
        seen = observe(task, batch)
        batch = take_step(task, batch, self._try(seen, table.actions(seen), known, random), limits)
        on_path = Table(task, _OnPath(table, path))
        skipped = random.integers(0, MAX_OFF_PATH_STEPS, len(limits))
        for turn in range(MAX_OFF_PATH_STEPS):
            batch = play(on_path, batch, limits)
            skipping = np.flatnonzero((batch.outcomes == Outcome.NO_ACTION) & (skipped > turn))
            if not skipping.size:
                break
            outcomes = batch.outcomes.copy()
            batch.outcomes[skipping] = Outcome.RUNNING
            batch = take_step(task, batch, np.maximum(table.actions(observe(task, batch)), 0), limits)
            others = np.setdiff1d(np.arange(len(limits)), skipping)
            batch.outcomes[others] = outcomes[others]
        new = np.flatnonzero(batch.outcomes == Outcome.NO_ACTION)
        if not new.size:
            return part_of(batch, new), np.zeros(0), first_scores[new], limits[new]
        batch, first_scores, limits = part_of(batch, new), first_scores[new], limits[new]
        usual = part_of(batch, np.arange(len(new)))
        resume(usual)
        usual = play(table, usual, limits)
        return batch, returns_of(task, usual, limits, self.costs, first_scores), first_scores, limits

    def _try(self, observations: Ints, best: Ints, known: Ints, random: np.random.Generator) -> Ints:
        """Return an action [m] other than the best [m] for each observation [m]."""
        count = len(observations)
        drawn = self.logits.draw_others(observations, best, random)
        is_random = (random.random(count) < RANDOM_ACTION_RATE) | (drawn == NO_ACTION)
        anything = _any_action(self.task, count, random)
        elsewhere = known[random.integers(0, len(known), count)] if len(known) else anything
        kinds = [anything, elsewhere, _change_operand(self.task, best, random), *self._rename(observations, random)]
        return np.where(is_random, np.choose(random.integers(0, len(kinds), count), kinds), drawn)

    def _rename(self, observations: Ints, random: np.random.Generator) -> list[Ints]:
        """Return what the policy does [m] if two variables swap names, if any can."""
        renamings = renamings_of(self.task)
        if not len(renamings.actions):
            return []
        which = random.integers(0, len(renamings.actions), len(observations))
        best = self.logits.best_actions(renamings.of(observations, which, self.task.interface))
        return [np.where(best == NO_ACTION, 0, renamings.actions[which, best])]


class _OnPath:
    """An agent that acts only on observations that the most likely actions have met."""

    def __init__(self, table: Table, path: Ints) -> None:
        self.table, self.path, self.task, self.name = table, path, table.task, "path"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        return np.where(np.isin(observations, self.path), self.table.actions(observations), NO_ACTION)


def _radices(task: Task) -> Ints:
    """Return how many values each operand of each instruction has [I, operands], 1 where there is none."""
    instructions = task.interface.instructions
    radices = np.ones((len(instructions), max(1, task.interface.most_operands)), np.int64)
    for k, instruction in enumerate(instructions):
        radices[k, : len(instruction.operands)] = [len(operand.values) for operand in instruction.operands]
    return radices


def _pack(task: Task, instructions: Ints, operands: Ints) -> Ints:
    """Return the actions [m] of instructions [m] with their operands [m, k]."""
    weights = task.interface.operand_weights[instructions, : operands.shape[1]]
    packed: Ints = np.array(task.interface.offsets)[instructions] + (operands * weights).sum(axis=1)
    return packed


def _any_action(task: Task, count: int, random: np.random.Generator) -> Ints:
    """Return random actions [count], of each instruction equally many."""
    instructions = random.integers(0, len(task.interface.instructions), count)
    return _pack(task, instructions, random.integers(0, _radices(task)[instructions]))


def _change_operand(task: Task, actions: Ints, random: np.random.Generator) -> Ints:
    """Return actions [m] with one operand changed; those without operands as they are."""
    rows = task.interface.action_rows[np.maximum(actions, 0)]
    instructions, operands = rows[:, 0], rows[:, 1:].copy()
    radices, places = _radices(task)[instructions], np.arange(len(rows))
    counts = np.array([len(instruction.operands) for instruction in task.interface.instructions])[instructions]
    slots = random.integers(0, np.maximum(counts, 1))
    moves = random.integers(1, np.maximum(radices[places, slots], 2))
    operands[places, slots] = (operands[places, slots] + moves) % radices[places, slots]
    return _pack(task, instructions, operands)
