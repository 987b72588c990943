"""The core of single and vector environments: episodes side by side, started, stepped and seen in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from surpass.arrays import Array, Flags, Ints, Reals
from surpass.engine.advance import advance
from surpass.engine.batch import allocate
from surpass.engine.specialise import Kernels, specialise
from surpass.environments.settings import Settings
from surpass.environments.spaces import read_actions
from surpass.errors import InstanceError
from surpass.machine.state import PREVIOUS, SCORE, SIZE, Outcome
from surpass.tasks.lists import edge_features
from surpass.tasks.task import Instances, Task

RUNNING, SOLVED, WRONG = int(Outcome.RUNNING), int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER)
NOT_STARTED = int(Outcome.NEEDS_INSTANCE)
"""All episodes start together, so the first one's outcome tells it for all."""

EVERY = slice(None)
NOTHING = -1
"""Stands for no action, at the start of an episode."""
FIRST_OUTCOME = min(Outcome).value
REASONS = np.array([outcome.reason for outcome in sorted(Outcome)], object)
"""[K] each outcome in words, from `FIRST_OUTCOME` on."""


@cache
def action_names(task: Task) -> Array:
    """Return every action of a task in words, and None at the end, where `NOTHING` finds it."""
    return np.array([*map(str, task.interface.actions), None], object)


class Episodes:
    """A number of episodes; those that have ended stand still until they are started anew."""

    def __init__(self, settings: Settings, count: int) -> None:
        task, widest = settings.task, settings.sizes[1]
        self.settings = settings
        self.batch = allocate(task, count, widest)
        self.batch.outcomes[:] = NOT_STARTED
        self.limits: Ints = np.ones(count, np.int64)
        self.instances = Instances(
            np.zeros(count, np.int64), np.zeros_like(self.batch.items), np.zeros_like(self.batch.reals)
        )
        """What each episode started on, to judge its end by."""
        self._numbers: Ints = np.full(count, NOTHING, np.int64)
        """[B] the action that each episode executed last, or `NOTHING`."""
        self._executed: Ints = np.zeros((count, 1 + max(1, task.interface.most_operands)), np.int64)
        if not settings.is_full_view:
            self._radices, self._strides = np.array(task.interface.radices), np.array(task.interface.strides)

    @property
    def _kernels(self) -> Kernels:
        return specialise(self.settings.task)

    # Change

    def start(self, rows: Ints, instances: Instances) -> None:
        """Start episode `rows[k]` on instance `k`, in place."""
        self._widen(instances.items.shape[1], instances.reals.shape[1])
        self._kernels.reset(self.batch, *map(np.ascontiguousarray, instances), rows)
        self._numbers[rows] = NOTHING
        self.limits[rows] = self.settings.limit.steps(instances.sizes)
        self.instances.sizes[rows] = instances.sizes
        self.instances.items[rows, : instances.items.shape[1]] = instances.items
        self.instances.reals[rows, : instances.reals.shape[1]] = instances.reals

    def start_written(self, rows: Ints, instances: Instances, written: Sequence[Any]) -> None:
        """Start episodes in place on a user's own instances, none of which may start solved."""
        self.start(rows, instances)
        for row, one in zip(rows, written, strict=True):
            if self.batch.outcomes[row] != RUNNING:
                raise InstanceError(
                    f"the instance {one!r} of {self.settings.task.name} starts solved: nothing is left to do"
                )

    def _widen(self, items: int, reals: int) -> None:
        """Make room in place for instances that are larger than those which the environment draws."""
        batch, before = self.batch, self.instances
        if items > batch.items.shape[1] or reals > batch.reals.shape[1]:
            self.batch = batch._replace(items=_pad(batch.items, items), reals=_pad(batch.reals, reals))
            self.instances = Instances(before.sizes, _pad(before.items, items), _pad(before.reals, reals))

    def step(self, actions: Any) -> Reals:
        """Execute one action in each running episode in place, and return the rewards [B]; others get 0."""
        if self.batch.outcomes[0] == NOT_STARTED:
            raise ResetNeeded(f"the environment of {self.settings.task.name} has not started: call reset before step")
        numbers, rows = read_actions(self.settings, actions, len(self.limits))
        running = self.batch.outcomes == RUNNING
        scores, steps = self.batch.reals[:, SCORE].copy(), self.batch.steps.copy()
        step = self._kernels.step
        self.batch = advance(
            self.settings.task, self.batch, lambda batch: [(step, (batch, numbers, rows, self.limits))]
        )
        self._executed = rows
        self._numbers = np.where(running, numbers, self._numbers)
        self._judge(running)
        reward, batch = self.settings.task.reward, self.batch
        gains = (reward.progress + self.settings.shaping) * (batch.reals[:, SCORE] - scores)
        rewards: Reals = gains - reward.step_cost * (batch.steps - steps)
        if reward.wrong_cost:
            rewards -= reward.wrong_cost * (running & (batch.outcomes == WRONG))
        return rewards

    def _judge(self, running: Flags) -> None:
        """Turn claimed solutions that do not hold into wrong answers, in place."""
        batch = self.batch
        is_claimed = running & self.solved
        if np.count_nonzero(is_claimed):
            claimed = np.flatnonzero(is_claimed)
            before = self.instances.rows(claimed)
            after = batch.registers[claimed], batch.items[claimed], batch.reals[claimed]
            batch.outcomes[claimed[self.settings.task.judge(before, *after)]] = WRONG

    # What can be seen

    def observe(self, rows: Ints | slice = EVERY) -> Array:
        """Return what each episode, or each of some, shows, as a new array [B, ...] of the observation space."""
        settings, interface = self.settings, self.settings.task.interface
        if settings.is_full_view:
            return edge_features(self.batch.items[rows, : settings.fixed_size])
        seen = np.zeros((len(self.limits), len(interface.features)), np.int64)
        self._kernels.look(self.batch, seen)
        digits = seen[rows]
        if digits.min() < 0 or (digits >= self._radices).any():
            interface.pack_digits(digits)  # it goes through the features one by one, and says which is out of range
        return digits if settings.observation == "features" else interface.encode(digits @ self._strides)

    @property
    def ended(self) -> Flags:
        """[B] which episodes have ended."""
        ended: Flags = self.batch.outcomes > RUNNING
        return ended

    @property
    def terminated(self) -> Flags:
        """[B] which episodes ended by an answer, right or wrong."""
        terminated: Flags = (self.batch.outcomes > RUNNING) & (self.batch.outcomes <= WRONG)
        return terminated

    @property
    def truncated(self) -> Flags:
        """[B] which episodes ended because the steps or the stack ran out."""
        truncated: Flags = self.batch.outcomes > WRONG
        return truncated

    @property
    def solved(self) -> Flags:
        """[B] which episodes are solved; where the score counts, spending the budget of steps is not a failure."""
        solved: Flags = self.batch.outcomes == SOLVED
        if self.settings.task.measure == "reward":
            solved |= self.batch.outcomes == Outcome.STEP_LIMIT
        return solved

    def describe(self) -> dict[str, Array]:
        """Return what `info` holds, as new arrays [B]."""
        batch = self.batch
        return {
            "action": self._names(),
            "outcome": REASONS[batch.outcomes - FIRST_OUTCOME],
            "steps": batch.steps.copy(),
            "size": batch.registers[:, SIZE].copy(),
            "solved": self.solved,
        }

    def _names(self) -> Array:
        """Return the action that each episode executed last in words [B], None before the first."""
        if not self.settings.is_full_view:
            return action_names(self.settings.task)[self._numbers]
        names = np.full(len(self._numbers), None, object)
        for row in np.flatnonzero(self._numbers != NOTHING).tolist():
            names[row] = self._show_executed(row)
        return names

    def previous_action(self, row: int) -> str:
        """Return the previous action of an episode's current function in words; `None` if there is none."""
        interface, previous = self.settings.task.interface, int(self.batch.registers[row, PREVIOUS])
        if previous == 0:
            return "None"
        if not interface.is_full_view:
            return str(interface.actions[previous - 1])
        return self._show_executed(row)

    def _show_executed(self, row: int) -> str:
        """Return the last action of an episode of a full view in words."""
        instruction = self.settings.task.interface.instructions[0]
        choices = self._executed[row, 1 : 1 + len(instruction.operands)].tolist()
        operands = (o.values[c] if o.values else c for o, c in zip(instruction.operands, choices, strict=True))
        return f"{instruction.name}({', '.join(map(str, operands))})"


def _pad(array: Array, width: int) -> Array:
    """Return an array [B, w] as [B, width or more], filled up with zeros."""
    return np.pad(array, ((0, 0), (0, max(0, width - array.shape[1]))))
