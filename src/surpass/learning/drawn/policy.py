"""A policy that whole tables are drawn from: it has a logit for every action in each observation that came up."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.errors import SavedFileError
from surpass.learning.updates import SOURCE, take_numbers
from surpass.machine.interface import NO_ACTION
from surpass.table import Agent
from surpass.tasks.task import Task


class DrawnPolicy:
    """Rows of logits, one for each observation, in ascending order of the observations."""

    def __init__(self, task: Task, first: Agent | None, softness: float) -> None:
        """Begin with no rows; where `first` has an action, it begins with a logit of `softness`, others with 0."""
        self.task, self.first, self.softness = task, first, softness
        width = task.interface.action_count
        self.observations: Ints = np.zeros(0, np.int64)
        """[R] what each row is for."""
        self.logits, self.sums, self.counts = (np.zeros((0, width)) for _ in range(3))

    logits: Reals
    """[R, A] the logit of each action,"""
    sums: Reals
    """[R, A] the sum of its advantages of late,"""
    counts: Reals
    """[R, A] and how many there were."""

    # Rows

    def rows_of(self, observations: Ints) -> Ints:
        """Return the row of each observation [m], or -1."""
        if not len(self.observations):
            return np.full(len(observations), -1, np.int64)
        rows = np.minimum(np.searchsorted(self.observations, observations), len(self.observations) - 1)
        return np.where(self.observations[rows] == observations, rows, -1)

    def add(self, observations: Ints) -> None:
        """Add rows for those of some observations [m] that have none, in place."""
        new = np.setdiff1d(observations, self.observations)
        places = np.searchsorted(self.observations, new)
        self.observations = np.insert(self.observations, places, new)
        self.logits = np.insert(self.logits, places, self.first_logits(new), axis=0)
        self.sums, self.counts = (np.insert(array, places, 0.0, axis=0) for array in (self.sums, self.counts))

    def first_logits(self, observations: Ints) -> Reals:
        """Return the logits [m, A] that observations [m] begin with."""
        logits = np.zeros((len(observations), self.logits.shape[1]))
        if self.first is not None:
            taught = self.first.actions(observations)
            (is_taught,) = np.nonzero(taught != NO_ACTION)
            logits[is_taught, taught[is_taught]] = self.softness
        return logits

    # Actions

    def draw(self, random: np.random.Generator) -> Ints:
        """Return an action [R] for each row, drawn by the probabilities of its logits."""
        return draw_each(self.logits, random)

    def best_actions(self, observations: Ints) -> Ints:
        """Return the action [m] with the largest logit for each observation [m], or `NO_ACTION` without a row."""
        rows = self.rows_of(observations)
        if not len(self.observations):
            return np.full(len(observations), NO_ACTION, np.int64)
        return np.where(rows >= 0, self.logits[rows].argmax(axis=1), NO_ACTION)

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        return {name: getattr(self, name) for name in ("observations", "logits", "sums", "counts")}

    def load(self, tensors: Tensors) -> None:
        """Go back to saved rows in place."""
        observations = take_numbers(tensors, "observations", self.task.interface.observation_count)
        if (np.diff(observations) <= 0).any():
            raise SavedFileError(f"{SOURCE} has observations that do not ascend")
        like = np.zeros((len(observations), self.logits.shape[1]))
        self.logits, self.sums, self.counts = (
            take(tensors, name, like, SOURCE) for name in ("logits", "sums", "counts")
        )
        self.observations = observations


class Drawn:
    """An agent that draws an action for each observation that it is asked about, from what the policy begins with.

    It is the source of a table, which asks it once about each observation.
    """

    def __init__(self, policy: DrawnPolicy, random: np.random.Generator) -> None:
        self.policy, self.random, self.task, self.name = policy, random, policy.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return an action [m] for each packed observation [m]."""
        return draw_each(self.policy.first_logits(observations), self.random)


def draw_each(logits: Reals, random: np.random.Generator) -> Ints:
    """Return a choice [m] for each row of logits [m, A], drawn by their probabilities."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    cumulative = np.cumsum(shares, axis=1)
    wanted = random.random(len(logits)) * cumulative[:, -1]
    drawn: Ints = np.minimum((cumulative <= wanted[:, None]).sum(axis=1), logits.shape[1] - 1)
    return drawn
