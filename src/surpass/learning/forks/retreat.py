"""Undo what a policy learned where it makes instances fail: as little as possible, and what is missed least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.engine.run import run
from surpass.learning.forks.judging import Judge
from surpass.learning.forks.play import player_of, start
from surpass.machine.interface import NO_ACTION
from surpass.table import EMPTY, Table
from surpass.tasks.task import Instances, Limit

PASSES = 50
"""How many times in a row something is undone: it can lead to other failures."""
TOGETHER = 100
"""How many failing instances are looked at in one pass."""


class Deviation(NamedTuple):
    """An observation in which the policy does something else than it began with."""

    observation: int
    taught: int
    """What it did at first,"""
    learned: int
    """and what it does now."""
    solves: Flags
    """[m] which of the failing instances are solved if this change alone is undone."""
    cost: float
    """What the usual instances then bring less in the mean."""


class Retreat:
    """Goes back to the actions that a policy began with, one observation at a time, until instances are solved.

    What the policy began with solves them, so that there is an end: at worst an instance is played as it was at first.
    """

    def __init__(self, judge: Judge, table: Table, usual: Instances, limits: Ints) -> None:
        self.policy, self.task, self.judge = judge.policy, judge.task, judge
        self.table, self.usual = table, (usual, limits)

    def run(self, instances: Instances) -> int:
        """Undo changes in place until as many as can be of some instances [B] are solved; return how many are not."""
        lost: set[int] = set()
        for _ in range(PASSES):
            failing = self._failing(instances)
            failing = np.array([k for k in failing.tolist() if k not in lost], np.int64)[:TOGETHER]
            if not failing.size:
                break
            changes, is_on = self._changes(instances.rows(failing))
            lost.update(failing[~is_on.any(axis=1)].tolist())
            self._undo(_chosen(changes, is_on))
        return len(self._failing(instances))

    def _failing(self, instances: Instances) -> Ints:
        return np.flatnonzero(~run(self.table, instances, find_loops=self.task.measure == "steps").solved)

    def _changes(self, failing: Instances) -> tuple[list[Deviation], Flags]:
        """Return the changes that some failing instances [m] come to, and whether each [m, c] comes to each."""
        paths = [self._path(failing.part(k, k + 1)) for k in range(failing.count)]
        seen = np.unique(np.concatenate(paths))
        did, taught = self.table.actions(seen), self.policy.taught(seen)
        is_change = (did != taught) & (taught != NO_ACTION)
        seen, did, taught = seen[is_change], did[is_change], taught[is_change]
        is_on = np.array([np.isin(seen, path) for path in paths]).reshape(len(paths), len(seen))
        _, worth, usual_path = self.judge.play(self.table, *self.usual)
        is_usual = np.isin(seen, usual_path)
        changes = []
        for c in range(len(seen)):
            self.table.insert(seen[c : c + 1], taught[c : c + 1])
            (those,) = np.nonzero(is_on[:, c])
            solves = np.zeros(len(paths), np.bool_)
            solves[np.setdiff1d(those, those[self._failing(failing.rows(those))])] = True
            cost = 0.0
            if is_usual[c] and solves.any():
                cost = float((worth - self.judge.play(self.table, *self.usual)[1]).mean())
            self.table.insert(seen[c : c + 1], did[c : c + 1])
            changes.append(Deviation(int(seen[c]), int(taught[c]), int(did[c]), solves, cost if is_usual[c] else -1.0))
        return changes, is_on

    def _path(self, instance: Instances) -> Ints:
        """Return what an instance shows on its way."""
        player = player_of(self.table, find_loops=True, is_counting=True)
        player.finish(start(self.task, instance), Limit.parse(self.task.limit).steps(instance.sizes))
        seen: Ints = self.table.keys[(player.counts > 0) & (self.table.keys != EMPTY)]
        return seen

    def _undo(self, changes: list[Deviation]) -> None:
        """Let the policy do in some observations what it did at first, in place."""
        seen, wanted = (np.array([c[k] for c in changes], np.int64) for k in (0, 1))
        while True:
            did = self.policy.best_actions(seen)
            other = did != wanted
            if not other.any():
                break
            self.policy.prefer(seen[other], wanted[other], did[other])
        self.table.extend(seen)


def _chosen(changes: list[Deviation], is_on: Flags) -> list[Deviation]:
    """Return the changes to undo, so that every instance that one of them solves is solved, at the least cost.

    Of an instance that no single change solves, all that no usual instance comes to are undone, or else all.
    """
    open_ = is_on.any(axis=1)
    chosen: list[int] = []
    while True:
        gains = [int((change.solves & open_).sum()) for change in changes]
        candidates = [k for k, gain in enumerate(gains) if gain]
        if not candidates:
            break
        best = min(candidates, key=lambda k: (max(0.0, changes[k].cost) / gains[k], -gains[k]))
        chosen.append(best)
        open_ &= ~changes[best].solves
    is_odd = np.array([change.cost < 0 for change in changes], np.bool_)
    for row in is_on[open_]:
        odd = np.flatnonzero(row & is_odd)
        chosen += odd.tolist() or np.flatnonzero(row).tolist()
    return [changes[k] for k in dict.fromkeys(chosen)]
