"""Actors: each has a share of the episodes, samples them by the parameters it is sent, and sends sums.

A share has generators and instances of its own, which follow from the run's seed and the number of the share. What the
learner gets is the same wherever the actors live and however many of them one worker holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from surpass.arrays import Floats, Reals
from surpass.bundles import Tensors
from surpass.learning.policy_gradient.arrays import Record, Share, Sums
from surpass.learning.policy_gradient.baseline import Baseline, new_value_network, read_network
from surpass.learning.policy_gradient.sampler import InstanceSource, Sampler, split
from surpass.tasks.task import Task


class Orders(NamedTuple):
    """What an actor is sent for an update."""

    parameters: Floats
    """Those of the policy, laid out as `forward` says."""
    scalar: float
    """The baseline, if it is one number"""
    value: Tensors | None
    """and the parameters of its network, if it is one."""
    sizes: tuple[int, int]
    """The smallest and the largest size of new instances."""


class SamplingActor:
    """A share of the episodes of a run."""

    def __init__(self, task: Task, source: InstanceSource, episodes: int, steps: int, seed: int, settings: Reals):
        self._sampler = Sampler(task, source, episodes=episodes, steps=steps, seed=seed, threads=1)
        self._value = new_value_network(task, seed)
        self._settings = settings

    def sample(self, orders: Orders) -> Share:
        """Let every episode take its steps, and return what they showed."""
        # PyTorch counts the threads of each thread that calls it apart, and sums in another order by several.
        torch.set_num_threads(1)
        sampler = self._sampler
        sampler.sizes = orders.sizes
        record = sampler.sample(orders.parameters)
        if orders.value is not None:
            read_network(self._value, orders.value)
        baseline = Baseline(sampler.task, orders.scalar, None if orders.value is None else self._value)
        return _share_of(sampler, record, sum_up(sampler, record, baseline, self._settings))

    def save(self) -> tuple[Tensors, dict[str, int]]:
        """Return everything that `load` needs to go on exactly from here."""
        return self._sampler.save()

    def load(self, state: tuple[Tensors, dict[str, int]]) -> None:
        """Go back to a saved state in place."""
        self._sampler.load(*state)


def arguments_of_actors(
    task: Task, source: InstanceSource, count: int, episodes: int, steps: int, seed: int, settings: Reals
) -> list[tuple[Any, ...]]:
    """Return what each of `count` actors is made with; together they have all episodes."""
    seeds = np.random.default_rng([seed, 6]).integers(2**31, size=count).tolist()
    shares = [last - first for first, last in split(episodes, count)]
    return [(task, source, share, steps, own, settings) for share, own in zip(shares, seeds, strict=True)]


def sum_up(sampler: Sampler, record: Record, baseline: Baseline, settings: Reals) -> Sums:
    """Return the sums per decision of a record that a sampler has just made."""
    first = sampler.first
    values = np.zeros(sampler.count)
    values[first] = baseline(sampler.plan.observations[first])
    afters = np.zeros(record.rows.shape)
    afters[:, -1] = baseline(sampler.final_observations())
    cut = record.cut == 1
    afters[cut] = baseline(record.after[cut])
    return sampler.sum_up(record, values, afters, settings)


def _share_of(sampler: Sampler, record: Record, sums: Sums) -> Share:
    """Return the sums of a sampler's batch as they are sent."""
    plan, first = sampler.plan, sampler.first
    flat = sums.weights.ravel()
    places = np.flatnonzero(flat)
    return Share(
        observations=plan.observations[first],
        origins=plan.origins[: sampler.count].astype(np.int32),
        places=places.astype(np.int32),
        weights=flat[places],
        counts=sums.counts.astype(np.int32),
        returns=sums.returns[first],
        squares=sums.squares[first],
        ended=(int(record.episodes.sum()), int(record.episode_steps.sum()), int(record.solved.sum())),
    )
