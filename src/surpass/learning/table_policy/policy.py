"""A policy that is a table of logits: a row for each decision that came up, instruction by instruction and operand by
operand.
"""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.table_policy.arrays import Choices, Odds
from surpass.learning.updates import SOURCE
from surpass.machine.features import PreviousAction
from surpass.machine.interface import NO_ACTION
from surpass.table import EMPTY, Table, find_all, put
from surpass.tasks.task import Task

ROOM = 1024
"""How many rows there is room for at least, a power of two."""


class TablePolicy:
    """Decisions with a logit for each choice; where a teacher has an answer it begins with the logit `softness`."""

    def __init__(self, task: Task, teacher: Table | None, softness: float) -> None:
        self.task, self.teacher, self.softness = task, teacher, softness
        tree = grow_tree(task.interface)
        self.choices = Choices(tree.action_rows, tree.offsets, tree.operand_counts, tree.weights)
        self._tree = tree
        self.choice_counts = tree.choice_counts[tree.slots]
        """[N] how many choices each node has."""
        self.width = int(self.choice_counts.max())
        at = [k for k, feature in enumerate(task.interface.features) if isinstance(feature, PreviousAction)]
        self._history = at[0] if at else None
        self._shared_rows: dict[tuple[int, int], int] = {}
        self.shared_logits = np.zeros((1, self.width))
        self.count = 0
        self.keys = np.full(4 * ROOM, EMPTY, np.int64)
        self.places = np.full(4 * ROOM, EMPTY, np.int64)
        self._allocate(ROOM)

    def _allocate(self, room: int) -> None:
        """Make room for rows; what there is stays."""
        count = self.count
        for name, shape, fill, kind in (
            ("observations", (), -1, np.int64),
            ("nodes", (), 0, np.int64),
            ("origins", (), -1, np.int64),
            ("taught", (), NO_ACTION, np.int64),
            ("shared_of", (), 0, np.int64),
            ("links", (self.width,), -1, np.int64),
            ("logits", (self.width,), 0.0, np.float64),
            ("cumulative", (self.width,), 2.0, np.float64),
        ):
            fresh = np.full((room, *shape), fill, kind)
            if count:
                fresh[:count] = getattr(self, name)[:count]
            setattr(self, name, fresh)

    observations: Ints
    """[R] what is seen where the decision is made."""
    nodes: Ints
    """[R] which decision it is, as a node of the interface's tree."""
    origins: Ints
    """[R] row times width plus choice of the decision before; -1 for a choice of instruction."""
    taught: Ints
    """[R] the teacher's choice there, or `NO_ACTION`."""
    links: Ints
    logits: Reals
    """[R, C]"""
    cumulative: Reals

    @property
    def odds(self) -> Odds:
        """The policy as the kernels read it."""
        return Odds(self.keys, self.places, self.links, self.cumulative)

    # Rows

    def add_observations(self, observations: Ints) -> None:
        """Add the choice of an instruction for new, distinct observations [m]."""
        taught = np.full(len(observations), NO_ACTION, np.int64)
        if self.teacher is not None:
            actions = self.teacher.actions(observations)
            taught = np.where(actions == NO_ACTION, NO_ACTION, self._tree.action_rows[actions, 0])
        root = self._tree.node_count - 1
        rows = self._add(observations, np.full(len(observations), root), np.full(len(observations), -1), taught, self._share_observations(observations))
        if 4 * self.count > len(self.keys):
            self.keys = np.full(4 * len(self.keys), EMPTY, np.int64)
            self.places = np.full(len(self.keys), EMPTY, np.int64)
            first = np.flatnonzero(self.origins[: self.count] < 0)
            put(self.keys, self.places, self.observations[first], first)
        else:
            put(self.keys, self.places, observations, rows)

    def add_after(self, origins: Ints) -> None:
        """Add the decisions after choices, given as row times width plus choice [m], distinct."""
        before, choice = origins // self.width, origins % self.width
        tree, is_first = self._tree, self.origins[before] < 0
        nodes = np.where(is_first, tree.first_nodes[np.where(is_first, choice, 0)], tree.children[self.nodes[before]] + choice)
        taught = np.full(len(origins), NO_ACTION, np.int64)
        if self.teacher is not None:
            actions = self.teacher.actions(self.observations[before])
            on_path = (self.taught[before] == choice) & (actions != NO_ACTION)
            depths = np.zeros(len(origins), np.int64)
            above = before.copy()
            while (inner := self.origins[above] >= 0).any():
                depths += inner
                above = np.where(inner, self.origins[above] // self.width, above)
            taught = np.where(on_path, tree.action_rows[actions, 1 + depths], NO_ACTION)
        rows = self._add(self.observations[before], nodes, origins, taught, self._share([(-1 - int(s), int(c)) for s, c in zip(self.shared_of[before], choice)]))
        self.links[before, choice] = rows

    def _share_observations(self, observations: Ints) -> Ints:
        """Return the shared row of observations [m]: that of all which differ in the previous action alone."""
        k = self._history
        if k is None:
            return np.zeros(len(observations), np.int64)
        stride, radix = self.task.interface.strides[k], self.task.interface.radices[k]
        coarse = observations - observations // stride % radix * stride
        return self._share([(c, 0) for c in coarse.tolist()])

    def _share(self, keys: list[tuple[int, int]]) -> Ints:
        if self._history is None:
            return np.zeros(len(keys), np.int64)
        known = self._shared_rows
        found = np.array([known.setdefault(key, len(known) + 1) for key in keys], np.int64)
        if len(known) + 1 > len(self.shared_logits):
            fresh = np.zeros((1 << (len(known) + 1).bit_length(), self.width))
            fresh[: len(self.shared_logits)] = self.shared_logits
            self.shared_logits = fresh
        return found

    def whole_logits(self, rows: Ints | slice) -> Reals:
        """Return the logits [m, C] of rows, their own plus those they share."""
        found: Reals = self.logits[rows] + self.shared_logits[self.shared_of[rows]]
        return found

    def _add(self, observations: Ints, nodes: Ints, origins: Ints, taught: Ints, shared: Ints) -> Ints:
        first, last = self.count, self.count + len(nodes)
        if last > len(self.nodes):
            self._allocate(1 << last.bit_length())
        rows = np.arange(first, last)
        self.observations[rows], self.nodes[rows], self.origins[rows], self.taught[rows] = (
            observations,
            nodes,
            origins,
            taught,
        )
        self.shared_of[rows] = shared
        self.count = last
        known = taught != NO_ACTION
        self.logits[rows[known], taught[known]] = self.softness
        self.refresh(self.explored, rows)
        return rows

    # Probabilities

    explored: float = 0.0
    """The share of decisions that are made at random."""

    def refresh(self, explored: float, rows: Ints | slice | None = None) -> None:
        """Compute the probabilities of rows from their logits, with a share of choices made at random."""
        self.explored = explored
        rows = slice(0, self.count) if rows is None else rows
        shares = self.probabilities(rows)
        cumulative = np.cumsum(shares, axis=1)
        cumulative[np.arange(self.width) >= self.choice_counts[self.nodes[rows]][:, None] - 1] = 2.0
        self.cumulative[rows] = cumulative

    def probabilities(self, rows: Ints | slice) -> Reals:
        """Return the probabilities [m, C] of the choices of rows."""
        counts = self.choice_counts[self.nodes[rows]][:, None]
        exists = np.arange(self.width) < counts
        logits = np.where(exists, self.whole_logits(rows), -np.inf)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares *= (1 - self.explored) / shares.sum(axis=1, keepdims=True)
        shares += self.explored * exists / counts
        probabilities: Reals = shares
        return probabilities

    def best_actions(self, observations: Ints) -> Ints:
        """Return the action [m] that the largest logits choose for each observation [m], or `NO_ACTION`."""
        places = find_all(self.keys, observations)
        known = self.keys[places] != EMPTY
        rows = np.where(known, self.places[places], 0)
        exists = np.arange(self.width) < self.choice_counts[self.nodes[: self.count]][:, None]
        best = np.where(exists, self.whole_logits(slice(0, self.count)), -np.inf).argmax(axis=1)
        instructions = best[rows]
        actions = self._tree.offsets[instructions].copy()
        decisions, choice = rows.copy(), instructions.copy()
        for k in range(self._tree.weights.shape[1]):
            goes_on = known & (k < self._tree.operand_counts[instructions])
            following = self.links[decisions, choice]
            known &= ~goes_on | (following >= 0)
            goes_on &= known
            decisions = np.where(goes_on, following, decisions)
            choice = np.where(goes_on, best[decisions], choice)
            actions += np.where(goes_on, choice * self._tree.weights[instructions, k], 0)
        return np.where(known, actions, NO_ACTION)

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        names = ("observations", "nodes", "origins", "taught", "logits")
        return {f"table.{name}": getattr(self, name)[: self.count].copy() for name in names}

    def load(self, tensors: Tensors) -> None:
        """Go back to saved rows in place."""
        like = tensors.get("table.nodes", np.zeros(0, np.int64))
        self.count = 0
        self._allocate(max(ROOM, 1 << len(like).bit_length()))
        self.count = len(like)
        for name in ("observations", "nodes", "origins", "taught", "logits"):
            whole = getattr(self, name)
            whole[: self.count] = take(tensors, f"table.{name}", whole[: self.count], SOURCE)
        after = np.flatnonzero(self.origins[: self.count] >= 0)
        self.links[self.origins[after] // self.width, self.origins[after] % self.width] = after
        first = np.flatnonzero(self.origins[: self.count] < 0)
        self.keys = np.full(max(4 * ROOM, 1 << (4 * self.count).bit_length()), EMPTY, np.int64)
        self.places = np.full(len(self.keys), EMPTY, np.int64)
        put(self.keys, self.places, self.observations[first], first)
        self.refresh(self.explored)
