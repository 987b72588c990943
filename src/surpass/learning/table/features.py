"""Policies that look at some features only, and which features a policy can do without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.learning.table.logits import project
from surpass.machine.features import PreviousAction
from surpass.machine.interface import NO_ACTION
from surpass.tasks.task import Task


class ViewAgent:
    """An agent that looks at some features only: what it sees of them decides."""

    def __init__(self, task: Task, features: list[int], keys: Ints, actions: Ints) -> None:
        """Take what is seen [m], in ascending order, and the action [m] for each."""
        self.task, self.name, self.features, self.keys, self.answers = task, "rl", features, keys, actions

    @classmethod
    def voted(cls, task: Task, features: list[int], observations: Ints, actions: Ints, weights: Reals) -> ViewAgent:
        """Return the agent that takes, for each view, the action [m] with the most weight [m] in its observations."""
        keys, which = np.unique(project(task, observations, features), return_inverse=True)
        votes = np.zeros((len(keys), task.interface.action_count))
        np.add.at(votes, (which.reshape(-1), actions), weights)
        return cls(task, features, keys, votes.argmax(axis=1))

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        if not len(self.keys):
            return np.full(len(observations), NO_ACTION, np.int64)
        shown = project(self.task, observations, self.features)
        places = np.minimum(np.searchsorted(self.keys, shown), len(self.keys) - 1)
        return np.where(self.keys[places] == shown, self.answers[places], NO_ACTION)


def without_previous(task: Task) -> list[int]:
    """Return every feature but the previous action."""
    return [k for k, feature in enumerate(task.interface.features) if not isinstance(feature, PreviousAction)]


def drop_features(task: Task, features: list[int], is_enough: Callable[[list[int]], bool]) -> list[int]:
    """Return the features that remain after each was dropped in turn if the others are enough.

    Features with many values are tried first.
    """
    kept = list(features)
    for k in sorted(features, key=lambda k: (-task.interface.radices[k], -k)):
        fewer = [other for other in kept if other != k]
        if is_enough(fewer):
            kept = fewer
    return kept
