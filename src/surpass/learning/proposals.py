"""Random changes to a program, at the places where it goes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surpass.machine.features import PreviousAction
from surpass.table import ANY, Amendment
from surpass.tasks.task import Task

__all__ = ["Proposer"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

INSERTIONS = 0.3
"""The share of candidates that put an action before another one, instead of in its place."""


class Proposer:
    """It knows what the program meets and how often, and draws candidates for better ones."""

    def __init__(self, task: Task, random: np.random.Generator) -> None:
        self.task, self.random = task, random
        self.observations: Ints = np.zeros(0, np.int64)
        """What the program meets, in ascending order."""
        self.actions: Ints = np.zeros(0, np.int64)
        self._often: Reals = np.zeros(0)
        self._failed_at: Sequence[tuple[int, int]] = ()
        self._rows = task.interface.action_rows
        self._numbers = {tuple(row): number for number, row in enumerate(self._rows.tolist())}
        features = task.interface.features
        self._previous = [k for k, f in enumerate(features) if isinstance(f, PreviousAction)]
        self._where = [k for k, f in enumerate(features) if k in self._previous or f.name == "function"]
        self._others = [k for k in range(len(features)) if k not in self._where]

    def learn(self, observations: Ints, actions: Ints, counts: Ints, failed_at: Sequence[tuple[int, int]]) -> None:
        """Take in what the program meets, its actions and how often, and both for what it meets where it fails."""
        self.observations, self.actions, self._failed_at = observations, actions, failed_at
        self._often = np.cumsum(counts) / counts.sum()

    def some(self, wanted: int) -> list[list[Amendment]]:
        """Return candidates: half where the program often is, half anywhere it has been.

        As long as it fails somewhere, half of them are made where it goes then.
        """
        candidates: list[list[Amendment]] = []
        while len(candidates) < wanted:
            if self._failed_at and self.random.random() < 0.5:
                observation, old = self._failed_at[int(self.random.integers(len(self._failed_at)))]
            else:
                if self.random.random() < 0.5:
                    at = int(np.searchsorted(self._often, self.random.random(), side="right"))
                else:
                    at = int(self.random.integers(len(self.observations)))
                observation, old = int(self.observations[at]), int(self.actions[at])
            changes = self.at(observation, old)
            if changes:
                candidates.append(changes)
        return candidates

    def at(self, observation: int, old: int) -> list[Amendment]:
        """Return random changes at an observation where the action is `old`; none if they would change nothing."""
        if self._previous and self.random.random() < INSERTIONS:
            return self._insert(observation, old)
        new = self._other_action(old)
        if new == old:
            return []
        features, digits = self._some_features(), self._digits(observation)
        return [Amendment(features, digits[features], old, new)]

    def _insert(self, observation: int, old: int) -> list[Amendment]:
        """Return changes that do one or two things before an action; it comes next, whatever is seen then."""
        features, digits = self._some_features(), self._digits(observation)
        if old < 0 or not set(self._where) <= set(features.tolist()):
            return []
        first, *rest = [self._other_action(old) for _ in range(1 + int(self.random.integers(2)))]
        changes = [Amendment(features, digits[features], old, first)]
        where = np.array(self._where, np.int64)
        here = int(digits[self._previous[0]]) - 1
        for done, new in zip([first, *rest], [*rest, old], strict=True):
            # After the action that led here comes the insertion itself, so that cannot be one of its actions.
            if done in (new, old, here):
                return []
            digits[self._previous] = done + 1
            changes.append(Amendment(where, digits[where], ANY, new))
        return changes

    def _digits(self, observation: int) -> Ints:
        digits: Ints = self.task.interface.digits(np.array([observation]))[0].copy()
        return digits

    def _other_action(self, old: int) -> int:
        """Return an action: the old one with another operand, one that the program uses, or any."""
        kind, interface = self.random.random(), self.task.interface
        if kind < 0.35 and old >= 0:
            row = self._rows[old].copy()
            operands = interface.instructions[row[0]].operands
            if operands:
                k = int(self.random.integers(len(operands)))
                row[1 + k] = self.random.integers(len(operands[k].values))
            return self._numbers[tuple(row.tolist())]
        if kind < 0.65:
            return int(self.actions[self.random.integers(len(self.actions))])
        row = np.zeros(self._rows.shape[1], np.int64)
        row[0] = self.random.integers(len(interface.instructions))
        for k, operand in enumerate(interface.instructions[row[0]].operands):
            row[1 + k] = self.random.integers(len(operand.values))
        return self._numbers[tuple(row.tolist())]

    def _some_features(self) -> Ints:
        """Return the features that a change looks at: all, a few, or most; where it is almost always among them."""
        kind = self.random.random()
        if kind < 0.25:
            return np.arange(len(self.task.interface.features))
        chosen = list(self._where) if kind > 0.85 or self.random.random() < 0.9 else []
        if kind < 0.85:
            some = min(len(self._others), int(self.random.integers(0, 5)))
            chosen += self.random.choice(self._others, some, replace=False).tolist()
        else:
            chosen += [k for k in self._others if self.random.random() < 0.6]
        return np.array(sorted(chosen), np.int64)
