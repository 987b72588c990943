"""Actors: each has a copy of the table, plays its share of the episodes, and sends sums per decision.

The learner sends what has changed since the last update. Decisions that come up for the first time are an actor's own
until the learner has taken them in, in an order that does not depend on which actor came to them first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.learning.table_policy.arrays import Critic, Record, Share, Sums
from surpass.learning.table_policy.critic import CriticFit
from surpass.learning.table_policy.policy import FIRST, TablePolicy
from surpass.learning.table_policy.sampler import Sampler
from surpass.table import Table
from surpass.tasks.task import Instances, Limit, Request, Task


class Plays(NamedTuple):
    """How the episodes of an update are played, beside the policy."""

    sizes: tuple[int, int]
    data: tuple[str, ...]
    """The distributions, which the sizes take in turn."""
    queries: str
    straying: float
    strays: int


class Orders(NamedTuple):
    """What an actor is sent for an update: how to play, and what has changed in the table since the last one."""

    update: int
    plays: Plays
    observations: Ints
    """[N] those of new rows"""
    origins: Ints
    """[N] and where they come from."""
    rows: Ints
    """[m] those that have changed, the new ones among them:"""
    logits: Reals
    """[m, C]"""
    shared_rows: Ints
    """[k]"""
    shared_logits: Reals
    """[k, C]"""
    critic: Critic
    """What it has for these rows."""


class Copy(NamedTuple):
    """The whole table, at the beginning of a round."""

    policy: Tensors
    critic: Tensors
    explored: float


class TableActor:
    """A share of the episodes of each update."""

    def __init__(self, task: Task, teacher: str, softness: float, limit: Limit, episodes: int, seed: int, worth: Reals):
        self._task, self._limit, self._episodes, self._seed, self._worth = task, limit, episodes, seed, worth
        answers = Table.of(teacher_of(task, teacher)) if teacher else None
        self._policy = TablePolicy(task, answers, softness)
        self._sampler = Sampler(task, self._policy, threads=1)
        self._critic = CriticFit(self._sampler.hints, 0.0)

    def load(self, copy: Copy) -> None:
        """Take in the whole table."""
        self._policy.explored = copy.explored
        self._policy.load(copy.policy)
        if copy.critic:
            self._critic.load(copy.critic, self._policy.count)

    def play(self, orders: Orders) -> Share:
        """Play the episodes of an update, and return what they showed."""
        self._take_in(orders)
        policy = self._policy
        known, shared = policy.count, policy.shared_count
        instances = draw(self._task, self._seed, orders.update, self._episodes, orders.plays)
        limits = self._limit.steps(instances.sizes)
        generators, strays = draw_chances(self._seed, orders.update, instances.count, orders.plays)
        batch, record = self._sampler.play(instances, limits, np.minimum(strays, limits - 1), generators)
        critic = self._critic.with_room(policy.count)
        sums, rows = self._sampler.sum_up(batch, record, critic, self._worth, limits)
        own = record.strays == 0
        share = self._share_of(sums, rows, known, record, batch.outcomes[own], float(batch.steps[own].sum()))
        self._sampler.clear(rows)
        policy.forget(known, shared)
        return share

    def _take_in(self, orders: Orders) -> None:
        policy, rows = self._policy, orders.rows
        policy.add_again(orders.observations, orders.origins)
        policy.logits[rows] = orders.logits
        policy.shared_logits[orders.shared_rows] = orders.shared_logits
        policy.refresh(rows)
        critic = self._critic.with_room(policy.count)
        for mine, theirs in zip(critic[:3], orders.critic[:3], strict=True):
            mine[rows] = theirs
        critic.weights[:], critic.usual[:] = orders.critic.weights, orders.critic.usual

    def _share_of(self, sums: Sums, rows: Ints, known: int, record: Record, outcomes: Ints, steps: float) -> Share:
        policy = self._policy
        origins = policy.origins[known : policy.count]
        counts, seen = sums.counts[rows], np.flatnonzero(sums.visits[rows])
        places = np.flatnonzero(counts)
        return Share(
            observations=policy.observations[known : policy.count][origins == FIRST],
            origins=origins.copy(),
            rows=rows.astype(np.int32),
            totals=sums.totals[rows].astype(np.int32),
            places=places.astype(np.int32),
            advantages=sums.advantages[rows].ravel()[places],
            counts=counts.ravel()[places].astype(np.int32),
            seen=seen.astype(np.int32),
            visits=sums.visits[rows[seen]].astype(np.int32),
            returns=sums.returns[rows[seen]],
            hints=sums.hints[rows[seen]],
            products=sums.products.copy(),
            errors=sums.errors.copy(),
            outcomes=outcomes.astype(np.int8),
            steps=steps,
        )


def draw(task: Task, seed: int, update: int, episodes: int, plays: Plays) -> Instances:
    """Return the instances of an update."""
    low, high = plays.sizes
    sizes = np.sort(np.random.default_rng([seed, 3, update]).integers(low, high + 1, episodes))

    def ask(size: int, wanted: int) -> Request:
        data = plays.data[(size + update) % len(plays.data)]
        return Request(size=size, count=wanted, seed=seed * 10_000_000 + update, data=data, queries=plays.queries)

    return task.draw_each(sizes, high, ask)


def draw_chances(seed: int, update: int, count: int, plays: Plays) -> tuple[Ints, Ints]:
    """Return the generators [B, 2] of episodes, and how many actions at random each begins with [B]."""
    random = np.random.default_rng([seed, 2, update])
    generators = random.integers(1, 2**32, (count, 2), dtype=np.int64)
    strays = random.integers(1, plays.strays + 1, count)
    strays *= random.random(count) < plays.straying
    return generators, strays


def arguments_of_actors(
    task: Task, teacher: str, softness: float, limit: Limit, episodes: int, seed: int, worth: Reals, count: int
) -> list[tuple[Any, ...]]:
    """Return what each of `count` actors is made with; together they have all episodes."""
    seeds = np.random.default_rng([seed, 6]).integers(2**31, size=count).tolist()
    shares = np.diff(np.linspace(0, episodes, count + 1).astype(int)).tolist()
    return [(task, teacher, softness, limit, share, own, worth) for share, own in zip(shares, seeds, strict=True)]
