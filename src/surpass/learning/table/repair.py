"""Undo changes of a policy: those of an update that lose, those that nothing meets, and those that make instances fail.

A change is an observation in which the policy does something other than before, or other than its base agent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine.run import run
from surpass.learning.table.episodes import Costs, begin, observe, part_of, play, play_all, resume
from surpass.learning.table.logits import LogitTable
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.table import Table
from surpass.tasks.task import Instances, Limit

PASSES = 50
"""How many times in a row changes are undone: undoing one can expose others."""
TOGETHER = 100
"""How many failing instances are looked at in one pass."""


class Reference(NamedTuple):
    """Instances [B] with their step limits and what they brought before."""

    instances: Instances
    limits: Ints
    returns: Reals


def revert_losses(logits: LogitTable, before: Reals, reference: Reference, path: Ints, costs: Costs) -> float:
    """Undo the changes of an update that bring less than they cost, in place; return the mean gain of the others.

    The gain or loss of an instance is credited to the first change on its way: nothing differs up to there.
    `before` [c] are the logits before the update, and `path` the observations that came up with them. If the changes
    still lose in the end, the whole update is undone.
    """
    table = Table(logits.task, logits.greedy())
    table.extend(path)
    for turn in range(PASSES + 1):
        _, now, seen = play_all(table, reference.instances, reference.limits, costs)
        gains = now - reference.returns
        did, had = table.actions(seen), logits.best_actions(seen, before)
        came, first = _first_met(seen[did != had], table, reference)
        changes, which = np.unique(first, return_inverse=True)
        losing = changes[np.bincount(which.reshape(-1), gains[came], len(changes)) < 0]
        losing = losing[had[np.searchsorted(seen, losing)] != NO_ACTION]
        if not losing.size or turn == PASSES:
            break
        places = np.searchsorted(seen, losing)
        logits.prefer(losing, had[places], did[places])
        table.extend(losing)
    gained = float(gains.mean())
    if gained < 0:
        logits.restore(before)
    return gained


def _first_met(observations: Ints, table: Table, reference: Reference) -> tuple[Ints, Ints]:
    """Return the instances [m] that meet one of some observations by a table, and which one they meet first [m]."""
    stopping = Table.holding(table.task, *table.entries())
    stopping.insert(observations, np.full(len(observations), NO_ACTION))
    batch = play(stopping, begin(table.task, reference.instances), reference.limits)
    came = np.flatnonzero(batch.outcomes == Outcome.NO_ACTION)
    if not came.size:
        return came, came
    stopped = part_of(batch, came)
    resume(stopped)
    return came, observe(table.task, stopped)


def revert_unused(logits: LogitTable, instances: Instances, limits: Ints, costs: Costs) -> None:
    """Undo the changes that no instance [B] meets, in place: they bring nothing, and few instances have tested them."""
    _, _, seen = play_all(Table(logits.task, logits.greedy()), instances, limits, costs)
    unused = np.setdiff1d(logits.observations, seen)
    base = logits.base_actions(unused)
    _undo(logits, unused[base != NO_ACTION], base[base != NO_ACTION])


def _undo(logits: LogitTable, observations: Ints, wanted: Ints) -> None:
    """Make actions [m] the best ones after observations [m] again, in place."""
    while (other := (did := logits.best_actions(observations)) != wanted).any():
        logits.prefer(observations[other], wanted[other], did[other])


class Reversal(NamedTuple):
    """A change that can be undone: an observation in which the policy differs from its base agent."""

    observation: int
    base: int
    solves: Flags
    """[m] which of the failing instances are solved if this change alone is undone."""
    cost: float
    """What the usual instances then lose in the mean; less than 0 if none of them comes there."""


def revert_failures(logits: LogitTable, failing: Instances, usual: Reference, costs: Costs) -> int:
    """Undo changes in place until as many failing instances [B] as possible are solved; return how many are not.

    Of the changes on the way of an instance, those go that solve most at the least cost to the usual instances. At
    worst an instance is played as the base agent plays it; if that fails too, it is given up.
    """
    table, lost = Table(logits.task, logits.greedy()), set[int]()

    def unsolved(instances: Instances) -> Ints:
        return np.flatnonzero(~run(table, instances, find_loops=not logits.task.limit_is_budget).solved)

    for _ in range(PASSES):
        found = np.array([k for k in unsolved(failing).tolist() if k not in lost], np.int64)[:TOGETHER]
        if not found.size:
            break
        part = failing.rows(found)
        changes, is_on = _changes(logits, table, part, usual, costs, unsolved)
        lost.update(found[~is_on.any(axis=1)].tolist())
        undone = _cheapest(changes, is_on)
        seen = np.array([change.observation for change in undone], np.int64)
        wanted = np.array([change.base for change in undone], np.int64)
        _undo(logits, seen, wanted)
        table.extend(seen)
    return len(unsolved(failing))


def _changes(
    logits: LogitTable,
    table: Table,
    failing: Instances,
    usual: Reference,
    costs: Costs,
    unsolved: Callable[[Instances], Ints],
) -> tuple[list[Reversal], Flags]:
    """Return the changes that failing instances [m] meet, and whether each [m, c] meets each."""
    limits = Limit.parse(logits.task.limit).steps(failing.sizes)
    paths = [play_all(table, failing.part(k, k + 1), limits[k : k + 1], costs)[2] for k in range(failing.count)]
    seen = np.unique(np.concatenate(paths))
    did, base = table.actions(seen), logits.base_actions(seen)
    is_change = (did != base) & (base != NO_ACTION)
    seen, did, base = seen[is_change], did[is_change], base[is_change]
    is_on = np.array([np.isin(seen, path) for path in paths]).reshape(len(paths), len(seen))
    _, returns, usual_path = play_all(table, usual.instances, usual.limits, costs)
    changes = []
    for c in range(len(seen)):
        table.insert(seen[c : c + 1], base[c : c + 1])
        (those,) = np.nonzero(is_on[:, c])
        solves = np.zeros(len(paths), np.bool_)
        solves[np.setdiff1d(those, those[unsolved(failing.rows(those))])] = True
        cost = -1.0
        if seen[c] in usual_path:
            without = play_all(table, usual.instances, usual.limits, costs)[1] if solves.any() else returns
            cost = max(0.0, float((returns - without).mean()))
        table.insert(seen[c : c + 1], did[c : c + 1])
        changes.append(Reversal(int(seen[c]), int(base[c]), solves, cost))
    return changes, is_on


def _cheapest(changes: list[Reversal], is_on: Flags) -> list[Reversal]:
    """Return changes that solve, if undone, every instance that a single change solves, at the least cost.

    Of an instance that no single change solves, all that no usual instance meets are undone, or else all.
    """
    left, chosen = is_on.any(axis=1), list[int]()
    while True:
        gains = [int((change.solves & left).sum()) for change in changes]
        candidates = [k for k, gain in enumerate(gains) if gain]
        if not candidates:
            break
        best = min(candidates, key=lambda k: (max(0.0, changes[k].cost) / gains[k], -gains[k]))
        chosen.append(best)
        left &= ~changes[best].solves
    is_odd = np.array([change.cost < 0 for change in changes], np.bool_)
    for row in is_on[left]:
        chosen += np.flatnonzero(row & is_odd).tolist() or np.flatnonzero(row).tolist()
    return [changes[k] for k in dict.fromkeys(chosen)]
