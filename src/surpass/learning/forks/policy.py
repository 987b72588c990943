"""A policy whose logits are sums: each view of an observation adds what was learned of the actions in it.

A view is some of the features. What is learned in a view of few features is known wherever they are the same; a view of
all features corrects it where it is wrong. Only what was tried is kept: everything else follows from the teacher.
"""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.errors import SavedFileError
from surpass.learning.forks.kernels import choose_best, draw_others, find_cells
from surpass.learning.table_policy.policy import with_room
from surpass.learning.updates import SOURCE, take_numbers
from surpass.machine.interface import NO_ACTION
from surpass.table import EMPTY, Table, find_all, put
from surpass.tasks.task import Task

ROOM = 1024
"""How many places there are at first, a power of two."""


MARGIN = 1.0
"""By how much a logit is larger than another after it was preferred."""


class SummedPolicy:
    """Logits of actions in views of observations; the teacher's action has more to begin with.

    All features are a view as well, the last one.
    """

    def __init__(self, task: Task, teacher: Table | None, softness: float, views: list[list[int]]) -> None:
        self.task, self.teacher, self.softness = task, teacher, softness
        self.views = [*views, list(range(len(task.interface.features)))]
        self._clear()

    def _clear(self) -> None:
        self.row_count = self.count = 0
        self._keys: list[Ints] = [np.full(4 * ROOM, EMPTY, np.int64) for _ in self.views]
        self._rows: list[Ints] = [np.full(4 * ROOM, EMPTY, np.int64) for _ in self.views]
        self._order: list[Ints] = [np.zeros(0, np.int64) for _ in self.views]
        """What each view shows in the rows that it has, in the order in which they were added,"""
        self._numbers: list[Ints] = [np.zeros(0, np.int64) for _ in self.views]
        """and the numbers of these rows."""
        self.heads: Ints = np.full(ROOM, -1, np.int64)
        self.following, self.actions = (np.full(ROOM, -1, np.int64) for _ in range(2))
        self.logits, self.sums, self.counts = (np.zeros(ROOM) for _ in range(3))

    logits: Reals
    """[C] the logit of each cell,"""
    sums: Reals
    """[C] the sum of its advantages of late,"""
    counts: Reals
    """[C] and how many there were."""

    # Views

    def see(self, observations: Ints, view: int) -> Ints:
        """Return what a view shows of each observation [m], as a number."""
        strides, radices = self.task.interface.strides, self.task.interface.radices
        if len(self.views[view]) == len(strides):
            return observations
        shown = np.zeros(len(observations), np.int64)
        for k in self.views[view]:
            shown += observations // strides[k] % radices[k] * strides[k]
        return shown

    def rows_of(self, observations: Ints) -> Ints:
        """Return the row of each observation in each view [m, V]; -1 where nothing was tried."""
        found = [self._rows[v][find_all(self._keys[v], self.see(observations, v))] for v in range(len(self.views))]
        return np.ascontiguousarray(np.column_stack(found))

    def add_rows(self, observations: Ints) -> Ints:
        """Return the row of each observation in each view [m, V], with rows added for what is new."""
        for v in range(len(self.views)):
            shown = self.see(observations, v)
            new = np.unique(shown[self._rows[v][find_all(self._keys[v], shown)] == EMPTY])
            if new.size:
                self._add(v, new)
        return self.rows_of(observations)

    def _add(self, v: int, shown: Ints) -> None:
        numbers = np.arange(self.row_count, self.row_count + len(shown))
        self.row_count += len(shown)
        self._order[v] = np.concatenate([self._order[v], shown])
        self._numbers[v] = np.concatenate([self._numbers[v], numbers])
        if self.row_count > len(self.heads):
            grown = np.full(2 * self.row_count, -1, np.int64)
            grown[: len(self.heads)] = self.heads
            self.heads = grown
        if 4 * len(self._order[v]) > len(self._keys[v]):
            places = 1 << (8 * len(self._order[v])).bit_length()
            self._keys[v], self._rows[v] = np.full(places, EMPTY, np.int64), np.full(places, EMPTY, np.int64)
            put(self._keys[v], self._rows[v], self._order[v], self._numbers[v])
        else:
            put(self._keys[v], self._rows[v], shown, numbers)

    # Actions

    def taught(self, observations: Ints) -> Ints:
        """Return the teacher's action for each observation [m], or `NO_ACTION`."""
        if self.teacher is None:
            return np.full(len(observations), NO_ACTION, np.int64)
        return self.teacher.actions(observations)

    def best_actions(self, observations: Ints, logits: Reals | None = None) -> Ints:
        """Return the action [m] that has the largest logit for each observation [m], or `NO_ACTION`.

        With `logits` [c], the one that had it when there were c cells with these.
        """
        found = np.empty(len(observations), np.int64)
        logits = self.logits if logits is None else logits
        cells = (self.heads, self.following, self.actions, logits, self.task.interface.action_count)
        choose_best(self.rows_of(observations), self.taught(observations), self.softness, *cells, found)
        return found

    def go_back(self, logits: Reals) -> None:
        """Go back to the logits that the first cells [c] had, in place; cells that were added since then are dropped.

        They may not stay with a logit of 0: where the teacher has no action, one that has a cell can be chosen.
        """
        count, heads = len(logits), self.heads[: self.row_count]
        while (late := np.flatnonzero(heads >= count)).size:
            heads[late] = self.following[heads[late]]
        for array in (self.logits, self.sums, self.counts):
            array[count : self.count] = 0
        self.logits[:count] = logits
        self.count = count

    def draw_others(self, observations: Ints, best: Ints, uniforms: Reals) -> Ints:
        """Return an action [m] other than the best [m] that was tried, by probability, or `NO_ACTION`."""
        found = np.empty(len(observations), np.int64)
        cells = (self.heads, self.following, self.actions, self.logits, self.task.interface.action_count)
        views, taught = self.rows_of(observations), self.taught(observations)
        draw_others(views, taught, self.softness, best, *cells, uniforms, found)
        return found

    def cells_of(self, observations: Ints, tried: Ints) -> Ints:
        """Return the cell [m, V] of an action [m] in each view of an observation [m], with cells added for new ones."""
        views = self.add_rows(observations)
        most = self.count + views.size
        for name in ("following", "actions", "logits", "sums", "counts"):
            setattr(self, name, with_room(getattr(self, name), most))
        found = np.empty(views.shape, np.int64)
        self.count = find_cells(views, tried, self.heads, self.following, self.actions, self.count, found)
        return found

    def prefer(self, observations: Ints, wanted: Ints, unwanted: Ints) -> None:
        """Give one action [m] a larger logit than another [m] in some observations [m] alone, in place."""
        taught = self.taught(observations)
        cells = self.cells_of(observations, unwanted), self.cells_of(observations, wanted)
        less, more = (
            self.logits[found].sum(axis=1) + self.softness * (taught == action)
            for found, action in zip(cells, (unwanted, wanted), strict=True)
        )
        self.logits[cells[0][:, -1]] -= np.maximum(0.0, less - more) + MARGIN

    def keep(self, observations: Ints) -> None:
        """Forget everything but the most likely actions in some observations [m], in place.

        Everywhere else the teacher's action is the most likely one again.
        """
        taught, learned = self.taught(observations), self.best_actions(observations)
        differs = learned != taught
        self._clear()
        own = self.cells_of(observations[differs], learned[differs])[:, -1]
        self.logits[own] = self.softness + MARGIN

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        tensors = {f"view{v}.{name}": a[v] for v in range(len(self.views)) for name, a in self._lists().items()}
        names = ("following", "actions", "logits", "sums", "counts")
        tensors |= {name: getattr(self, name)[: self.count] for name in names}
        return {**tensors, "heads": self.heads[: self.row_count]}

    def _lists(self) -> dict[str, list[Ints]]:
        return {"shown": self._order, "rows": self._numbers}

    def load(self, tensors: Tensors) -> None:
        """Go back to a saved state in place."""
        self._clear()
        interface = self.task.interface
        heads = tensors.get("heads", np.zeros(0, np.int64))
        count = len(tensors.get("actions", heads))
        numbers = [take_numbers(tensors, f"view{v}.rows", len(heads)) for v in range(len(self.views))]
        shown = [take_numbers(tensors, f"view{v}.shown", interface.observation_count) for v in range(len(self.views))]
        together = np.sort(np.concatenate(numbers))
        if not np.array_equal(together, np.arange(len(heads))) or any(
            len(a) != len(b) or len(np.unique(a)) < len(a) for a, b in zip(shown, numbers, strict=True)
        ):
            raise SavedFileError(f"{SOURCE} has views that do not belong to each other")
        following = take(tensors, "following", np.zeros(count, np.int64), SOURCE)
        heads = take(tensors, "heads", np.zeros(len(heads), np.int64), SOURCE)
        # A list goes on with an older cell, so that every list ends.
        if (following >= np.arange(count)).any() or (following < -1).any() or ((heads < -1) | (heads >= count)).any():
            raise SavedFileError(f"{SOURCE} has lists of actions that do not end")
        for v in range(len(self.views)):
            places = 1 << max(12, (8 * len(shown[v])).bit_length())
            self._keys[v], self._rows[v] = np.full(places, EMPTY, np.int64), np.full(places, EMPTY, np.int64)
            put(self._keys[v], self._rows[v], shown[v], numbers[v])
            self._order[v], self._numbers[v] = shown[v], numbers[v]
        self.row_count, self.count = len(heads), count
        self.heads = np.concatenate([heads, np.full(ROOM, -1, np.int64)])
        self.following = with_room(following, count + 1)
        self.actions = with_room(take_numbers(tensors, "actions", interface.action_count), count + 1)
        for name in ("logits", "sums", "counts"):
            setattr(self, name, with_room(take(tensors, name, np.zeros(count), SOURCE), count + 1))
