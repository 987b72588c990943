"""The core of single and vector environments: episodes side by side, started, stepped and seen in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from surpass.arrays import Array, Flags, Ints, Reals
from surpass.engine.advance import advance, judge_spent
from surpass.engine.batch import allocate
from surpass.engine.specialise import Kernels, specialise
from surpass.environments.settings import Settings
from surpass.environments.supply import Supply, read_instance
from surpass.errors import InstanceError, SettingError, UnknownNameError
from surpass.machine.state import PREVIOUS, SCORE, SIZE, Outcome
from surpass.tasks.lists import edge_features
from surpass.tasks.task import Instances, Task, join_instances

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
    """Return every action of a task in words, none of a full view, and None at the end, where `NOTHING` finds it."""
    actions = () if task.interface.is_full_view else task.interface.actions
    return np.array([*map(str, actions), None], object)


def read_option(options: Mapping[str, Any] | None, name: str) -> Any:
    """Return the one option that a reset has, or None; raise if there are others."""
    for given in options or {}:
        if given != name:
            raise UnknownNameError("option of reset", given, [name])
    return (options or {}).get(name)


class Episodes:
    """A number of episodes; those that have ended stand still until they are started anew."""

    def __init__(self, settings: Settings, count: int, round_size: int) -> None:
        task, widest = settings.task, settings.sizes[1]
        self.settings = settings
        self.batch = allocate(task, count, widest)
        self.batch.outcomes[:] = NOT_STARTED
        self.limits: Ints = np.ones(count, np.int64)
        self._first_scores: Reals = np.zeros(count)
        """[B] the score with which each episode began."""
        self.instances = Instances(
            np.zeros(count, np.int64), np.zeros_like(self.batch.items), np.zeros_like(self.batch.reals)
        )
        """What each episode started on, to judge its end by."""
        self.labels: dict[int, tuple[str, ...]] = {}
        """How to write the values of a user's own lists, whose items are their ranks, by episode."""
        self._supply = Supply(settings, round_size)
        self._numbers: Ints = np.full(count, NOTHING, np.int64)
        """[B] the action that each episode executed last, or `NOTHING`."""
        self._executed: Ints = np.zeros((count, 1 + max(1, task.interface.most_operands)), np.int64)
        if not settings.is_full_view:
            self._radices, self._strides = np.array(task.interface.radices), np.array(task.interface.strides)

    @property
    def _kernels(self) -> Kernels:
        return specialise(self.settings.task)

    # Change

    def reset(self, stream: np.random.Generator, written: Sequence[Any] | None, *, is_new: bool) -> None:
        """Start every episode in place, on a user's own instances if there are any.

        `is_new` tells whether the stream of random numbers has been seeded since the last reset.
        """
        rows = np.arange(len(self.limits))
        if is_new:
            self._supply.forget()
        if written is None:
            self.start(rows, stream)
            return
        task, read = self.settings.task, [read_instance(self.settings, one) for one in written]
        self._start(rows, join_instances(task, [instances for instances, _ in read]))
        self.labels = {row: labels for row, (_, labels) in enumerate(read)}
        for row, one in enumerate(written):
            if self.batch.outcomes[row] != RUNNING:
                raise InstanceError(f"the instance {one!r} of {task.name} starts solved: nothing is left to do")

    def start(self, rows: Ints, stream: np.random.Generator) -> None:
        """Start some episodes in place on instances that are drawn from a stream of random numbers."""
        self._start(rows, self._supply.take(len(rows), stream))
        if self.labels:
            for row in rows.tolist():
                self.labels.pop(row, None)

    def _start(self, rows: Ints, instances: Instances) -> None:
        """Start episode `rows[k]` on instance `k`, in place."""
        self._widen(instances.items.shape[1], instances.reals.shape[1])
        self._kernels.reset(self.batch, *map(np.ascontiguousarray, instances), rows)
        self._first_scores[rows] = self.batch.reals[rows, SCORE]
        self._numbers[rows] = NOTHING
        self.limits[rows] = self.settings.limit.steps(instances.sizes)
        self.instances.sizes[rows] = instances.sizes
        self.instances.items[rows, : instances.items.shape[1]] = instances.items
        self.instances.reals[rows, : instances.reals.shape[1]] = instances.reals

    def _widen(self, items: int, reals: int) -> None:
        """Make room in place for instances that are larger than those which the environment draws."""
        batch, before = self.batch, self.instances
        if items > batch.items.shape[1] or reals > batch.reals.shape[1]:
            self.batch = batch._replace(items=_pad(batch.items, items), reals=_pad(batch.reals, reals))
            self.instances = Instances(before.sizes, _pad(before.items, items), _pad(before.reals, reals))

    def step(self, actions: Any) -> Reals:
        """Execute one action in each running episode in place, and return the rewards [B]; others get 0."""
        task = self.settings.task
        if self.batch.outcomes[0] == NOT_STARTED:
            raise ResetNeeded(f"the environment of {task.name} has not started: call reset before step")
        numbers, self._executed = self._read_actions(actions)
        running = self.batch.outcomes == RUNNING
        scores, steps = self.batch.reals[:, SCORE].copy(), self.batch.steps.copy()
        kernel, rows, limits = self._kernels.step, self._executed, self.limits
        self.batch = advance(task, self.batch, lambda batch: [(kernel, (batch, numbers, rows, limits))])
        self._numbers = np.where(running, numbers, self._numbers)
        self._judge(running)
        reward, batch = task.reward, self.batch
        gains = (reward.progress + self.settings.shaping) * (batch.reals[:, SCORE] - scores)
        rewards: Reals = gains - reward.step_cost * (batch.steps - steps)
        wrong = running & (batch.outcomes == WRONG)
        if task.must_finish_score:
            wrong = running & self.ended & ~self.solved
            earned = reward.progress * (batch.reals[:, SCORE] - self._first_scores)
            rewards -= np.where(wrong, np.maximum(earned, 0.0), 0.0)
        if reward.wrong_cost:
            rewards -= reward.wrong_cost * wrong
        return rewards

    def _read_actions(self, actions: Any) -> tuple[Ints, Ints]:
        """Return the actions' numbers [B] and their rows to execute [B, 1 + operands]; refuse anything but actions."""
        task, given = self.settings.task, np.asarray(actions)
        choices = np.array(self.settings.action_choices)
        shape = (len(self.limits), *choices.shape)
        if given.dtype.kind not in "iu" or given.shape != shape:
            raise SettingError(
                f"actions of {task.name} are whole numbers of shape {shape}, not {given.dtype} of shape {given.shape}"
            )
        bad = (given < 0) | (given >= choices)
        if bad.any():
            raise SettingError(f"{task.name} has no action {given[bad][0]}; allowed: 0 to {choices.min() - 1}")
        numbers = given.astype(np.int64)
        if self.settings.is_full_view:
            only = np.zeros(len(numbers), np.int64)
            return only, np.column_stack([only, numbers])
        return numbers, task.interface.action_rows[numbers]

    def _judge(self, running: Flags) -> None:
        """Turn claimed solutions that do not hold into wrong answers, in place."""
        batch, task = self.batch, self.settings.task
        if task.limit_is_budget and task.is_right is not None:
            outcomes = batch.outcomes.copy()
            judge_spent(task, batch)
            batch.outcomes[batch.outcomes != WRONG] = outcomes[batch.outcomes != WRONG]
        claimed = np.flatnonzero(running & self.solved)
        if claimed.size:
            after = batch.registers[claimed], batch.items[claimed], batch.reals[claimed]
            batch.outcomes[claimed[task.judge(self.instances.rows(claimed), *after)]] = WRONG

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
        return np.asarray(self.batch.outcomes > RUNNING)

    @property
    def terminated(self) -> Flags:
        """[B] which episodes ended by an answer, right or wrong."""
        return self.ended & (self.batch.outcomes <= WRONG)

    @property
    def truncated(self) -> Flags:
        """[B] which episodes ended because the steps or the stack ran out."""
        return np.asarray(self.batch.outcomes > WRONG)

    @property
    def solved(self) -> Flags:
        """[B] which episodes are solved; where steps are a budget, spending it is not a failure."""
        solved: Flags = self.batch.outcomes == SOLVED
        if self.settings.task.limit_is_budget:
            solved |= self.batch.outcomes == Outcome.STEP_LIMIT
        return solved

    def describe(self) -> dict[str, Array]:
        """Return what `info` holds, as new arrays [B]."""
        batch, names = self.batch, action_names(self.settings.task)[self._numbers]
        if self.settings.is_full_view:
            for row in np.flatnonzero(self._numbers != NOTHING).tolist():
                names[row] = self._executed_action(row)
        return {
            "action": names,
            "outcome": REASONS[batch.outcomes - FIRST_OUTCOME],
            "steps": batch.steps.copy(),
            "size": batch.registers[:, SIZE].copy(),
            "solved": self.solved,
        }

    def previous_action(self, row: int) -> str:
        """Return the previous action of an episode's current function in words; `None` if there is none."""
        interface, previous = self.settings.task.interface, int(self.batch.registers[row, PREVIOUS])
        if previous == 0:
            return "None"
        return self._executed_action(row) if interface.is_full_view else str(interface.actions[previous - 1])

    def _executed_action(self, row: int) -> str:
        """Return the last action of an episode of a full view in words."""
        instruction = self.settings.task.interface.instructions[0]
        choices = self._executed[row, 1 : 1 + len(instruction.operands)].tolist()
        operands = (o.values[c] if o.values else c for o, c in zip(instruction.operands, choices, strict=True))
        return f"{instruction.name}({', '.join(map(str, operands))})"


def _pad(array: Array, width: int) -> Array:
    """Return an array [B, w] as [B, width or more], filled up with zeros."""
    return np.pad(array, ((0, 0), (0, max(0, width - array.shape[1]))))
