"""A policy that is a table of logits.

It has a row for each decision that came up: the choice of an instruction for an observation, or of an operand after
the choices before it.
The logits of a row are its own plus those that it shares, in each of some views, with the same decision after
observations that look alike in it; a view leaves some features out. So what is learned after one observation is known
after all that look alike, and unlearned where it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from surpass.arrays import Array, Ints, Reals
from surpass.bundles import Tensors, take
from surpass.errors import SavedFileError
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.table_policy.arrays import Choices, Odds
from surpass.learning.updates import SOURCE, take_numbers
from surpass.learning.views import read_views
from surpass.machine.features import PreviousAction
from surpass.machine.interface import NO_ACTION, Interface
from surpass.table import EMPTY, Table, find_all, put
from surpass.tasks.task import Task

ROOM = 1024
"""How many rows there is room for at first, a power of two."""
FIRST = -1
"""Stands for the row before the choice of an instruction; with the number of a view taken off, for the first decision
that is shared in it."""


def with_room(array: Array, count: int) -> Array:
    """Return an array with room for `count` rows at least: this one, or a larger copy that ends in zeros."""
    if count <= len(array):
        return array
    larger = np.zeros((1 << count.bit_length(), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


class TablePolicy:
    """Decisions with a logit for each choice; where a teacher has an answer, its choices begin with more."""

    def __init__(self, task: Task, teacher: Table | None, softness: float, views: str = "") -> None:
        self.task, self.teacher, self.softness = task, teacher, softness
        self._tree = tree = grow_tree(task.interface)
        self.choices = Choices(tree.action_rows, tree.offsets, tree.operand_counts, tree.weights)
        self._choice_counts = tree.choice_counts[tree.slots]
        self.width = int(self._choice_counts.max())
        self._hidden = [_unseen(task.interface, view) for view in _shared_views(views, task.interface)]
        """The stride and the radix of each feature that each view leaves out."""
        self.sharpness = 1.0
        """How many times its logits count."""
        self.explored = 0.0
        """The share of decisions that are made at random."""
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.observations, self.nodes, self.origins, self.taught = (np.zeros(ROOM, np.int64) for _ in range(4))
        self.shared = np.zeros((ROOM, len(self._hidden)), np.int64)
        self.links: Ints = np.full((ROOM, self.width), -1, np.int64)
        self.logits, self.cumulative = (np.zeros((ROOM, self.width)) for _ in range(2))
        self.shared_logits: Reals = np.zeros((ROOM, self.width))
        self._shared_rows: dict[tuple[int, int], int] = {}
        self._allocate_keys(4 * ROOM)

    def _allocate_keys(self, places: int) -> None:
        self.keys: Ints = np.full(places, EMPTY, np.int64)
        self.places: Ints = np.full(places, EMPTY, np.int64)

    observations: Ints
    """[R] what is seen where the decision is made."""
    nodes: Ints
    """[R] which decision it is, as a node of the interface's tree."""
    origins: Ints
    """[R] the decision before, as its row times the width plus the choice made there; or `FIRST`."""
    taught: Ints
    """[R] the teacher's choice, or `NO_ACTION`."""
    shared: Ints
    """[R, V] the row of the shared logits in each view."""

    @property
    def odds(self) -> Odds:
        """The policy as the kernels read it."""
        return Odds(self.keys, self.places, self.links, self.cumulative)

    # Rows

    def add_observations(self, observations: Ints) -> None:
        """Add the choice of an instruction for new, distinct observations [m]."""
        actions = self._ask(observations)
        taught = np.where(actions == NO_ACTION, NO_ACTION, self._tree.action_rows[actions, 0])
        count = len(observations)
        shared = self._share(
            count,
            (
                np.stack([self._look(observations, hidden), np.full(count, FIRST - view)], axis=1)
                for view, hidden in enumerate(self._hidden)
            ),
        )
        rows = self._add(observations, np.full(count, self._tree.node_count - 1), np.full(count, FIRST), taught, shared)
        if 4 * self.count > len(self.keys):
            self._allocate_keys(4 * len(self.keys))
            self._put_all()
        else:
            put(self.keys, self.places, observations, rows)

    def add_after(self, origins: Ints) -> None:
        """Add the decisions after choices, each given as a row times the width plus the choice [m], distinct."""
        before, choices = origins // self.width, origins % self.width
        is_first = self.origins[before] == FIRST
        nodes = self._tree.children[self.nodes[before]] + choices
        nodes[is_first] = self._tree.first_nodes[choices[is_first]]
        actions = self._ask(self.observations[before])
        is_taught = (self.taught[before] == choices) & (actions != NO_ACTION)
        depths, above = np.zeros(len(origins), np.int64), before
        while (inner := self.origins[above] != FIRST).any():
            depths += inner
            above = np.where(inner, self.origins[above] // self.width, above)
        taught = np.where(is_taught, self._tree.action_rows[actions, 1 + depths], NO_ACTION)
        codes = (np.stack([-1 - above, choices], axis=1) for above in self.shared[before].T)
        shared = self._share(len(origins), codes)
        rows = self._add(self.observations[before], nodes, origins, taught, shared)
        self.links[before, choices] = rows

    def _ask(self, observations: Ints) -> Ints:
        """Return the teacher's action for each observation [m], or `NO_ACTION`."""
        if self.teacher is None:
            return np.full(len(observations), NO_ACTION, np.int64)
        return self.teacher.actions(observations)

    def _look(self, observations: Ints, hidden: list[tuple[int, int]]) -> Ints:
        """Return observations [m] with nothing in the places of some features."""
        found = observations
        for stride, radix in hidden:
            found = found - observations // stride % radix * stride
        return found

    def _share(self, count: int, codes: Iterable[Ints]) -> Ints:
        """Return the rows [m, V] of the shared logits of `count` decisions, by what each view [m, 2] shows alike.

        That is what the view shows of the observation, or the shared row and the choice of the decision before.
        """
        known = self._shared_rows
        found = [[known.setdefault((code, choice), len(known)) for code, choice in each.tolist()] for each in codes]
        self.shared_logits = with_room(self.shared_logits, len(known))
        return np.array(found, np.int64).T if found else np.zeros((count, 0), np.int64)

    def _add(self, observations: Ints, nodes: Ints, origins: Ints, taught: Ints, shared: Ints) -> Ints:
        """Add rows, and return their numbers."""
        rows = np.arange(self.count, self.count + len(nodes))
        self.count += len(nodes)
        for name in ("observations", "nodes", "origins", "taught", "shared", "links", "logits", "cumulative"):
            setattr(self, name, with_room(getattr(self, name), self.count))
        self.observations[rows], self.nodes[rows], self.origins[rows] = observations, nodes, origins
        self.taught[rows], self.shared[rows], self.links[rows] = taught, shared, -1
        is_taught = taught != NO_ACTION
        self.logits[rows[is_taught], taught[is_taught]] = self.softness
        self.refresh(rows)
        return rows

    def _put_all(self) -> None:
        """Put all observations into the empty keys."""
        first = np.flatnonzero(self.origins[: self.count] == FIRST)
        put(self.keys, self.places, self.observations[first], first)

    # Probabilities

    def refresh(self, rows: Ints | slice | None = None) -> None:
        """Compute the probabilities of rows, of all if none are given, from their logits, in place."""
        rows = slice(0, self.count) if rows is None else rows
        counts = self._choice_counts[self.nodes[rows]][:, None]
        logits = self.sharpness * self.whole_logits(rows)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares *= (1 - self.explored) / shares.sum(axis=1, keepdims=True)
        cumulative = np.cumsum(shares + self.explored / counts, axis=1)
        cumulative[np.arange(self.width) >= counts - 1] = 2.0
        self.cumulative[rows] = cumulative

    def soften(self, furthest: float) -> None:
        """Raise every logit to no further below the largest of its decision than this, in place."""
        for logits in (self.logits[: self.count], self.shared_logits[: len(self._shared_rows)]):
            np.maximum(logits, logits.max(axis=1, keepdims=True) - furthest, out=logits)

    def whole_logits(self, rows: Ints | slice) -> Reals:
        """Return the logits [m, C] of rows, their own plus the shared ones; those of choices that are not are -inf."""
        exists = np.arange(self.width) < self._choice_counts[self.nodes[rows]][:, None]
        whole = self.logits[rows].copy()
        for shared in self.shared[rows].T:
            whole += self.shared_logits[shared]
        return np.where(exists, whole, -np.inf)

    def rows_of(self, observations: Ints) -> Ints:
        """Return the row of the choice of an instruction for each observation [m]; -1 for one that has not come up."""
        return self.places[find_all(self.keys, observations)]

    def best_actions(self, observations: Ints) -> Ints:
        """Return the action [m] that the largest logits choose for each observation [m], or `NO_ACTION`."""
        tree, rows = self._tree, self.rows_of(observations)
        is_known = rows != EMPTY
        rows = np.where(is_known, rows, 0)
        instructions = choices = self._best(rows)
        actions = tree.offsets[instructions].copy()
        for k in range(tree.weights.shape[1]):
            goes_on = is_known & (k < tree.operand_counts[instructions])
            following = self.links[rows, choices]
            is_known &= ~goes_on | (following >= 0)
            goes_on &= is_known
            rows = np.where(goes_on, following, rows)
            choices = np.where(goes_on, self._best(rows), choices)
            actions += np.where(goes_on, choices * tree.weights[instructions, k], 0)
        return np.where(is_known, actions, NO_ACTION)

    def _best(self, rows: Ints) -> Ints:
        best: Ints = self.whole_logits(rows).argmax(axis=1)
        return best

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        codes = np.array(list(self._shared_rows), np.int64).reshape(-1, 2)
        names = ("observations", "nodes", "origins", "taught", "logits")
        rows = {name: getattr(self, name)[: self.count] for name in names}
        return {**rows, "shared": self.shared_logits[: len(codes)], "codes": codes}

    def load(self, tensors: Tensors) -> None:
        """Go back to saved rows in place, found by adding them again in their order."""
        self._clear()
        observations = take_numbers(tensors, "observations", self.task.interface.observation_count)
        count = len(observations)
        nodes, origins, taught = (
            take(tensors, name, np.zeros(count, np.int64), SOURCE) for name in ("nodes", "origins", "taught")
        )
        logits = take(tensors, "logits", np.zeros((count, self.width)), SOURCE)
        codes = take(tensors, "codes", tensors.get("codes", np.zeros((0, 2), np.int64)).astype(np.int64), SOURCE)
        shared = take(tensors, "shared", np.zeros((len(codes), self.width)), SOURCE)
        # Rows were added in stretches, of observations or of decisions after others; they are added so again.
        at = 0
        while at < count:
            is_first = origins[at] == FIRST
            same = np.flatnonzero((origins[at:] == FIRST) != is_first)
            end = at + int(same[0]) if same.size else count
            if is_first:
                self.add_observations(observations[at:end])
            else:
                end = at + _before_own(origins[at:end] // self.width, at)
                if end == at:
                    raise SavedFileError(f"{SOURCE} has decisions that come before those they follow")
                self.add_after(origins[at:end])
            at = end
        is_same = np.array_equal(self.nodes[:count], nodes)
        if not is_same or list(self._shared_rows) != [tuple(code) for code in codes.tolist()]:
            raise SavedFileError(f"{SOURCE} has decisions that do not follow from each other")
        if not ((taught >= NO_ACTION) & (taught < self.width)).all():
            raise SavedFileError(f"{SOURCE} has choices of a teacher that there are not")
        self.logits[:count], self.taught[:count] = logits, taught
        self.shared_logits[: len(shared)] = shared
        self.refresh()


def _shared_views(text: str, interface: Interface) -> list[list[int]]:
    """Return the features that each view shows, as indices; without any, one that shows all but the previous action."""
    if text:
        return read_views(text, interface)
    shown = [k for k, feature in enumerate(interface.features) if not isinstance(feature, PreviousAction)]
    return [shown] if len(shown) < len(interface.features) else []


def _unseen(interface: Interface, view: list[int]) -> list[tuple[int, int]]:
    """Return the stride and the radix of each feature that a view does not show."""
    kinds = enumerate(zip(interface.strides, interface.radices, strict=True))
    return [(int(stride), int(radix)) for k, (stride, radix) in kinds if k not in view]


def _before_own(rows: Ints, first: int) -> int:
    """Return how many of some rows, from the first on, come before those that have the numbers from `first` on."""
    late = np.flatnonzero((rows >= first) | (rows < 0))
    return int(late[0]) if late.size else len(rows)
