"""Judge what an update changed, one change at a time, by playing instances once more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.learning.forks.play import go_on, observe, part_of, play, player_of, returns_of, start
from surpass.learning.forks.policy import SummedPolicy
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.table import EMPTY, Table
from surpass.tasks.task import Instances

PASSES = 50
"""How many times in a row changes that lose are looked for: undoing one can lead to others."""


class JudgedInstances(NamedTuple):
    """B instances that an update is judged on."""

    instances: Instances
    limits: Ints
    """[B] how many steps each may take."""
    worth: Reals
    """[B] what each brought before the update."""


class Greedy:
    """The most likely actions of a policy as an agent."""

    def __init__(self, policy: SummedPolicy) -> None:
        self.policy, self.task, self.name = policy, policy.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        return self.policy.best_actions(observations)


class Judge:
    """Plays instances by a policy, and undoes what an update changed for the worse."""

    def __init__(self, policy: SummedPolicy, step_cost: float, wrong_cost: float) -> None:
        self.policy, self.task = policy, policy.task
        self.step_cost, self.wrong_cost = step_cost, wrong_cost

    def play(self, table: Table, instances: Instances, limits: Ints) -> tuple[Batch, Reals, Ints]:
        """Play instances by a table; return how they ended, what they brought, and what was seen, in order."""
        player = player_of(table, find_loops=True, is_counting=True)
        batch = player.finish(start(self.task, instances), limits)
        worth = returns_of(self.task, batch, limits, self.step_cost, self.wrong_cost)
        return batch, worth, np.sort(table.keys[(player.counts > 0) & (table.keys != EMPTY)])

    def undo_what_loses(self, before: Reals, trial: JudgedInstances, path: Ints) -> float:
        """Undo changes of the most likely actions, each in its own observation, that bring less, in place.

        What an instance brings more or less than before is put down to the first change that it comes to: up to there
        nothing differs. `before` [c] are the logits that there were, and `path` is what was seen with them. Return what
        the changes bring in the mean; if they still cost something in the end, all are taken back.
        """
        table = Table(self.task, Greedy(self.policy))
        table.extend(path)
        for passed in range(PASSES + 1):
            _, now, seen = self.play(table, trial.instances, trial.limits)
            gains = now - trial.worth
            did, had = table.actions(seen), self.policy.best_actions(seen, before)
            came, first = self._first_of(seen[did != had], table, trial)
            changes, which = np.unique(first, return_inverse=True)
            losing = changes[np.bincount(which.reshape(-1), gains[came], len(changes)) < 0]
            # Where there was no action before, there is none to go back to.
            losing = losing[had[np.searchsorted(seen, losing)] != NO_ACTION]
            if not losing.size or passed == PASSES:
                break
            places = np.searchsorted(seen, losing)
            self.policy.prefer(losing, had[places], did[places])
            table.extend(losing)
        gained = float(gains.mean())
        if gained < 0:
            self.policy.go_back(before)
        return gained

    def keep_what_pays(
        self, observations: Ints, trial: tuple[Instances, Ints], price: float, random: np.random.Generator
    ) -> None:
        """Forget all changes in some observations [m] but those that pay, and everything elsewhere, in place.

        A change is an action other than the teacher's. It pays if instances, which `trial` has with their limits, bring
        less by more than `price` in the mean without it, and without those that were forgotten before it, in any order.
        """
        learned, taught = self.policy.best_actions(observations), self.policy.taught(observations)
        (changes,) = np.nonzero((learned != taught) & (taught != NO_ACTION))
        table = Table(self.task, Greedy(self.policy))
        table.extend(observations)
        worth = self.play(table, *trial)[1].mean()
        is_kept = np.full(len(observations), True)
        for c in random.permutation(changes).tolist():
            here = observations[c : c + 1]
            table.insert(here, taught[c : c + 1])
            without = self.play(table, *trial)[1].mean()
            is_kept[c] = worth - without > price
            if is_kept[c]:
                table.insert(here, learned[c : c + 1])
            else:
                worth = without
        self.policy.keep(observations[is_kept])

    def _first_of(self, observations: Ints, table: Table, trial: JudgedInstances) -> tuple[Ints, Ints]:
        """Return the instances [m] that come to one of some observations by a table, and to which one first [m]."""
        stopping = Table.holding(self.task, *table.entries())
        stopping.insert(observations, np.full(len(observations), NO_ACTION))
        batch = play(stopping, start(self.task, trial.instances), trial.limits, find_loops=True)
        came = np.flatnonzero(batch.outcomes == Outcome.NO_ACTION)
        if not came.size:
            return came, came
        stopped = part_of(batch, came)
        go_on(stopped)
        return came, observe(self.task, stopped)
