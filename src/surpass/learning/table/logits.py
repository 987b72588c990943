"""A table of logits, the one policy of this learner.

The logit of an action a after an observation o is

    logit(a | o) = base_logit [a = base(o)] + cell(o, a)

`base` is the agent that learning begins with, if there is one. Cells exist only for actions that were tried.

The natural gradient of the expected return with respect to the logits of a softmax policy is the advantage itself
(Kakade, 2001: "A natural policy gradient"), so an update adds advantages to logits, whatever the probabilities:

    cell <- (1 - decay) cell + clip(step_size * S / (N + prior_count), +-MAX_CHANGE)

with S and N the discounted sum and count of the advantages of the cell's action.
"""

from __future__ import annotations

import numpy as np

from surpass.arrays import Array, Ints, Reals
from surpass.bundles import Tensors, checked_tensor
from surpass.errors import SavedFileError
from surpass.learning.table.cells import choose_best, draw_others, find_cells, sum_logits
from surpass.learning.updates import SOURCE, take_numbers
from surpass.machine.interface import NO_ACTION
from surpass.table import EMPTY, Agent, Table, find_all, put
from surpass.tasks.task import Task

ROOM = 1024
"""How many rows and cells there is room for at first, a power of two."""
MARGIN = 1.0
"""By how much a logit exceeds another after its action was preferred."""
MAX_CHANGE = 0.5
"""The most that one update changes a cell."""
ADVANTAGE_DECAY = 0.8
"""What remains of the sums of advantages when a cell is updated again."""
LOWEST, HIGHEST = -8.0, 12.0
"""The range that updates keep cells in."""


class LogitTable:
    """Logits of actions after observations, of which some features, or all, are looked at."""

    def __init__(
        self, task: Task, base: Agent | None = None, base_logit: float = 0.0, features: list[int] | None = None
    ) -> None:
        """Begin without cells; `features` are those that tell observations apart, by default all."""
        self.task, self.base_logit = task, base_logit
        self.features = list(range(len(task.interface.features))) if features is None else features
        self.base = None if base is None else Table.of(base)
        self.clear()

    def clear(self) -> None:
        """Forget every cell, in place."""
        self.count = 0
        self._keys, self._rows = (np.full(4 * ROOM, EMPTY, np.int64) for _ in range(2))
        self._shown: Ints = np.zeros(0, np.int64)
        """What each row shows, in the order in which they were added."""
        self.heads: Ints = np.full(ROOM, -1, np.int64)
        self.following, self.actions = (np.full(ROOM, -1, np.int64) for _ in range(2))
        self.logits, self.sums, self.counts = (np.zeros(ROOM) for _ in range(3))

    logits: Reals
    """[C] the logit of each cell,"""
    sums: Reals
    """[C] the discounted sum of its advantages"""
    counts: Reals
    """[C] and their discounted number."""

    # Rows and cells

    def rows_of(self, observations: Ints) -> Ints:
        """Return the row of each observation [m]; -1 where there is none."""
        return self._rows[find_all(self._keys, project(self.task, observations, self.features))]

    @property
    def observations(self) -> Ints:
        """What each row shows: an observation, with the value 0 in the features that are not looked at."""
        return self._shown

    def _add_rows(self, shown: Ints) -> None:
        """Add rows for what is seen [m] for the first time, in place."""
        before, count = len(self._shown), len(self._shown) + len(shown)
        self._shown = np.concatenate([self._shown, shown])
        self.heads = with_room(self.heads, count, -1)
        if 4 * count > len(self._keys):
            self._keys, self._rows = (np.full(1 << (8 * count).bit_length(), EMPTY, np.int64) for _ in range(2))
            put(self._keys, self._rows, self._shown, np.arange(count))
        else:
            put(self._keys, self._rows, shown, np.arange(before, count))

    def cells_of(self, observations: Ints, actions: Ints) -> Ints:
        """Return the cell [m] of an action [m] after an observation [m]; add the missing ones."""
        shown = project(self.task, observations, self.features)
        new = np.unique(shown[self._rows[find_all(self._keys, shown)] == EMPTY])
        if new.size:
            self._add_rows(new)
        rows = self._rows[find_all(self._keys, shown)]
        for name in ("following", "actions", "logits", "sums", "counts"):
            setattr(self, name, with_room(getattr(self, name), self.count + len(rows)))
        found = np.empty(len(rows), np.int64)
        self.count = find_cells(rows, actions, self.heads, self.following, self.actions, self.count, found)
        return found

    # Actions

    def base_actions(self, observations: Ints) -> Ints:
        """Return the base agent's action for each observation [m], or `NO_ACTION`."""
        if self.base is None:
            return np.full(len(observations), NO_ACTION, np.int64)
        return self.base.actions(observations)

    def best_actions(self, observations: Ints, logits: Reals | None = None) -> Ints:
        """Return the action [m] with the largest logit for each observation [m], or `NO_ACTION`.

        With `logits` [c], return the one that was best when the first c cells had these.
        """
        found = np.empty(len(observations), np.int64)
        logits = self.logits[: self.count] if logits is None else logits
        cells = (self.heads, self.following, self.actions, logits)
        choose_best(self.rows_of(observations), self.base_actions(observations), self.base_logit, *cells, found)
        return found

    def all_logits(self, observations: Ints) -> Reals:
        """Return the logit of every action [m, A] for each observation [m]."""
        sums = np.zeros((len(observations), self.task.interface.action_count))
        base = self.base_actions(observations)
        (known,) = np.nonzero(base != NO_ACTION)
        sums[known, base[known]] = self.base_logit
        cells = self.heads, self.following, self.actions, self.logits[: self.count]
        sum_logits(self.rows_of(observations), *cells, sums)
        return sums

    def draw_others(self, observations: Ints, best: Ints, random: np.random.Generator) -> Ints:
        """Return an action [m] other than the best [m] that was tried, drawn by its logit, or `NO_ACTION`."""
        found = np.empty(len(observations), np.int64)
        cells = (self.heads, self.following, self.actions, self.logits, self.task.interface.action_count)
        rows, base = self.rows_of(observations), self.base_actions(observations)
        draw_others(rows, base, self.base_logit, best, *cells, random.random(len(observations)), found)
        return found

    def greedy(self) -> Greedy:
        """Return the most likely actions as an agent."""
        return Greedy(self)

    # Learning

    def update(
        self,
        observations: Ints,
        actions: Ints,
        advantages: Reals,
        counts: Reals,
        *,
        step_size: float,
        prior_count: float,
        decay: float = 0.0,
    ) -> None:
        """Move the logits of actions [m] after observations [m] by sums of advantages [m] of `counts` [m], in place."""
        cells = self.cells_of(observations, actions)
        touched, places = np.unique(cells, return_inverse=True)
        sums, numbers = (np.bincount(places, column, len(touched)) for column in (advantages, counts))
        self.sums[touched] = ADVANTAGE_DECAY * self.sums[touched] + sums
        self.counts[touched] = ADVANTAGE_DECAY * self.counts[touched] + numbers
        change = step_size * self.sums[touched] / (self.counts[touched] + prior_count)
        moved = (1 - decay) * self.logits[touched] + np.clip(change, -MAX_CHANGE, MAX_CHANGE)
        # `prefer` may have set a cell below the range.
        self.logits[touched] = np.clip(moved, np.minimum(LOWEST, self.logits[touched]), HIGHEST)

    def prefer(self, observations: Ints, wanted: Ints, unwanted: Ints) -> None:
        """Give one action [m] a larger logit than another [m] after observations [m], in place."""
        base = self.base_actions(observations)
        cells = self.cells_of(observations, unwanted), self.cells_of(observations, wanted)
        less, more = (
            self.logits[found] + self.base_logit * (base == action)
            for found, action in zip(cells, (unwanted, wanted), strict=True)
        )
        self.logits[cells[0]] -= np.maximum(0.0, less - more) + MARGIN

    def restore(self, logits: Reals) -> None:
        """Go back to the time when the first cells [c] had these logits and there were no others, in place."""
        count, heads = len(logits), self.heads[: len(self._shown)]
        while (late := np.flatnonzero(heads >= count)).size:
            heads[late] = self.following[heads[late]]
        for array in (self.logits, self.sums, self.counts):
            array[count : self.count] = 0
        self.logits[:count] = logits
        self.count = count

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        names = ("following", "actions", "logits", "sums", "counts")
        cells = {name: getattr(self, name)[: self.count] for name in names}
        return {**cells, "shown": self._shown, "heads": self.heads[: len(self._shown)]}

    def load(self, tensors: Tensors) -> None:
        """Go back to a saved state in place."""
        self.clear()
        interface = self.task.interface
        shown = take_numbers(tensors, "shown", interface.observation_count)
        actions = take_numbers(tensors, "actions", interface.action_count)
        count = len(actions)
        following = checked_tensor(tensors, "following", np.zeros(count, np.int64), SOURCE)
        heads = checked_tensor(tensors, "heads", np.zeros(len(shown), np.int64), SOURCE)
        if len(np.unique(shown)) < len(shown):
            raise SavedFileError(f"{SOURCE} has two rows for one observation")
        # Each cell is followed by an older one, so every list ends.
        if (following >= np.arange(count)).any() or (following < -1).any() or ((heads < -1) | (heads >= count)).any():
            raise SavedFileError(f"{SOURCE} has lists of cells that do not end")
        if len(shown):
            self._add_rows(shown)
        self.heads[: len(heads)] = heads
        self.count = count
        self.following, self.actions = with_room(following, count + 1), with_room(actions, count + 1)
        for name in ("logits", "sums", "counts"):
            setattr(self, name, with_room(checked_tensor(tensors, name, np.zeros(count), SOURCE), count + 1))


class Greedy:
    """The most likely actions of a table of logits, as an agent."""

    def __init__(self, logits: LogitTable) -> None:
        self.logits, self.task, self.name = logits, logits.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        return self.logits.best_actions(observations)


def project(task: Task, observations: Ints, features: list[int]) -> Ints:
    """Return observations [m] with the value 0 in every feature that is not listed."""
    strides, radices = task.interface.strides, task.interface.radices
    if len(features) == len(strides):
        return observations
    shown = np.zeros(len(observations), np.int64)
    for k in features:
        shown += observations // strides[k] % radices[k] * strides[k]
    return shown


def with_room(array: Array, count: int, filling: float = 0) -> Array:
    """Return an array with room for `count` rows at least: this one, or a larger copy."""
    if count <= len(array):
        return array
    larger = np.full((1 << count.bit_length(), *array.shape[1:]), filling, array.dtype)
    larger[: len(array)] = array
    return larger
