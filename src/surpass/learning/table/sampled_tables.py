"""Sampled tables: improve a score by comparing whole policies.

In the literature: natural evolution strategies, with ranks as fitness (Wierstra et al., 2014).

An update draws some tables from the probabilities of the logits: one action for each observation, which then holds for
all steps of all episodes. All tables play the same instances. On an instance a table has the advantage

    A = share of the tables that it beats - share of the tables that beat it

and every action that it took there gets this advantage. What an action is worth often shows only if it is a habit.
Where programs must end by themselves, a table that solves an instance beats all that do not, whatever their score.
Ranks put instances of all sizes on a par. As the logits grow, nearly all tables that are drawn are the most likely one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine.advance import advance
from surpass.engine.batch import Batch
from surpass.engine.pool import Call
from surpass.engine.specialise import specialise
from surpass.learning.table.critic import explored_actions
from surpass.learning.table.episodes import CUT_SHORT, Costs, begin, returns_of
from surpass.learning.table.logits import LogitTable
from surpass.machine.state import RUNNING, SCORE, Outcome
from surpass.table import EMPTY, Table, find_all
from surpass.tasks.task import Instances

TABLES = 48
"""How many tables an update draws."""
STEP_SIZE, PRIOR_COUNT = 1.5, 36.0
MAX_LOGIT_GAP = 6.0
"""How far a logit may lie below the largest of its observation."""
ROUNDING = 1e-9
"""Returns that differ by a smaller share than this count as equal."""


class SampledTables:
    """Improves a table of logits by drawing whole tables from it."""

    patience, plays = 20, TABLES

    def __init__(self, logits: LogitTable, costs: Costs, _: int = 0) -> None:
        self.logits, self.task, self.costs = logits, logits.task, costs
        self.met: Ints = np.zeros(0, np.int64)
        """The observations that have come up so far, in ascending order."""
        self._actions = explored_actions(self.task)

    def update(
        self,
        instances: Instances,
        limits: Ints,
        _: Callable[[], tuple[Instances, Ints]],
        random: np.random.Generator,
    ) -> tuple[float, int]:
        """Make one update; return the share of instances on which the tables differed, and the steps they took."""
        returns: Reals = np.zeros((TABLES, instances.count))
        fails: Flags = np.zeros(returns.shape, np.bool_)
        played: list[tuple[Ints, Ints, Flags]] = []
        steps = 0
        known = self.draw(self.met, random, TABLES)
        for k in range(TABLES):
            table = Table(self.task, _Drawn(self, random))
            table.insert(self.met, known[k])
            same = _find_same(table, played)
            if same is not None:
                returns[k], fails[k] = returns[same], fails[same]
                played.append(played[same])
                continue
            batch, first_scores, observations, seen = _play_and_see(table, instances, limits)
            returns[k] = returns_of(self.task, batch, limits, self.costs, first_scores)
            if self.task.limit_is_budget:
                returns[k, np.isin(batch.outcomes, CUT_SHORT[:2])] = 0.0
                fails[k] = batch.outcomes == Outcome.WRONG_ANSWER
            else:
                fails[k] = batch.outcomes != Outcome.SOLVED
            played.append((observations, table.actions(observations), seen))
            steps += int(batch.steps.sum())
        self.met = np.union1d(self.met, np.concatenate([one[0] for one in played]))
        ranks = ranks_of(below_all(returns, fails))
        self._learn(played, ranks)
        return float((ranks != 0).any(axis=0).mean()), steps

    def draw(self, observations: Ints, random: np.random.Generator, count: int = 1) -> Ints:
        """Return actions [count, m] for observations [m], drawn by their probabilities."""
        logits = self.logits.all_logits(observations)[:, self._actions]
        logits = np.maximum(logits, logits.max(axis=1, keepdims=True, initial=0.0) - MAX_LOGIT_GAP)
        cumulative = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True, initial=0.0)), axis=1)
        wanted = random.random((count, len(observations))) * cumulative[:, -1]
        drawn = np.minimum((cumulative <= wanted[:, :, None]).sum(axis=2), len(self._actions) - 1)
        actions: Ints = self._actions[drawn]
        return actions

    def _learn(self, played: list[tuple[Ints, Ints, Flags]], advantages: Reals) -> None:
        """Add the advantages [K, B] of the tables' actions to their logits, in place.

        For each of K tables `played` holds the observations [m] that came up, their actions [m], and which of B
        instances met each [B, m].
        """
        count, width = len(self.met), self.task.interface.action_count
        sums, counts = np.zeros((2, count, width))
        for (observations, actions, seen), gained in zip(played, advantages, strict=True):
            rows = np.searchsorted(self.met, observations)
            sums[rows, actions] += gained @ seen
            counts[rows, actions] += seen.sum(axis=0)
        (rows,) = np.nonzero(counts.any(axis=1))
        mean = sums[rows].sum(axis=1, keepdims=True) / counts[rows].sum(axis=1, keepdims=True)
        centred = sums[rows] - counts[rows] * mean
        at, actions = np.nonzero(counts[rows])
        self.logits.update(
            self.met[rows[at]],
            actions,
            centred[at, actions],
            counts[rows][at, actions],
            step_size=STEP_SIZE,
            prior_count=PRIOR_COUNT,
        )


class _Drawn:
    """An agent that draws an action for each new observation, for a table that asks once."""

    def __init__(self, source: SampledTables, random: np.random.Generator) -> None:
        self.source, self.random, self.task, self.name = source, random, source.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return an action [m] for each packed observation [m]."""
        (drawn,) = self.source.draw(observations, self.random)
        actions: Ints = drawn
        return actions


def below_all(returns: Reals, fails: Flags) -> Reals:
    """Return what tables bring [K, B], those that fail alike and less than all others on the instance."""
    worst = np.where(fails, np.inf, returns).min(axis=0)
    apart = 1 + 2 * ROUNDING * np.abs(returns).max(axis=0)
    return np.where(fails, np.where(np.isfinite(worst), worst - apart, 0.0), returns)


def ranks_of(returns: Reals) -> Reals:
    """Return the share of tables that each beats on each instance less the share that beats it [K, B]."""
    least = ROUNDING * np.abs(returns).max(axis=0)
    shares = [(returns < one - least).mean(axis=0) - (returns > one + least).mean(axis=0) for one in returns]
    return np.array(shares)


def _find_same(table: Table, played: list[tuple[Ints, Ints, Flags]]) -> int | None:
    """Return the first of some tables that does the same wherever it came, if there is one."""
    for k, (observations, actions, _) in enumerate(played):
        if (table.actions(observations) == actions).all():
            return k
    return None


def _play_and_see(table: Table, instances: Instances, limits: Ints) -> tuple[Batch, Reals, Ints, Flags]:
    """Play instances [B] by a table; return the episodes and the scores that they began with.

    Return also the observations [m], and which instances met each [B, m].
    """
    task, kernel, stop = table.task, specialise(table.task).advance, np.zeros(1, np.int64)
    counts: Ints = np.zeros((instances.count, len(table.keys)), np.int64)

    def calls(batch: Batch) -> list[Call]:
        shared = (batch, table.keys, table.values, task.interface.action_rows, limits)
        running = np.flatnonzero(batch.outcomes <= RUNNING).tolist()
        return [(kernel, (*shared, counts[b], True, b, b + 1, stop)) for b in running]

    def answer(observations: Ints) -> None:
        nonlocal counts
        before = table.keys
        table.extend(observations)
        if table.keys is not before:
            taken = np.flatnonzero(before != EMPTY)
            moved = np.zeros((instances.count, len(table.keys)), np.int64)
            moved[:, find_all(table.keys, before[taken])] = counts[:, taken]
            counts = moved

    batch = begin(task, instances)
    first_scores = batch.reals[:, SCORE].copy()
    batch = advance(task, batch, calls, answer=answer)
    places = np.flatnonzero(counts.any(axis=0))
    places = places[np.argsort(table.keys[places])]
    return batch, first_scores, table.keys[places], counts[:, places] > 0
