"""Which features a policy depends on, and the views that follow from them."""

from __future__ import annotations

import re
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


def decisive_features(task: Task, observations: Ints, actions: Ints) -> list[int]:
    """Return features that tell apart all observations [m] with different actions [m]."""

    def is_enough(features: list[int]) -> bool:
        shown = project(task, observations, features)
        return len(np.unique(shown)) == len(np.unique(np.stack([shown, actions]), axis=1).T)

    return drop_features(task, list(range(len(task.interface.features))), is_enough)


def views_from(task: Task, used: list[int]) -> list[list[int]]:
    """Return the views for a policy that depends on some features.

    They are: these features; all features of their kinds, and all that compare variables; all features. Features are of
    one kind if their names differ in the names of variables only, such as `v1 ? v2` and `v1 ? v3`.
    """
    names = {name.lstrip("_"): "_" for name in task.memory.names}
    kinds = [
        re.sub(r"\w+", lambda word: names.get(word[0], word[0]), feature.name) for feature in task.interface.features
    ]
    alike = [k for k, kind in enumerate(kinds) if kind in {"_ ? _", *(kinds[j] for j in used)}]
    views = [sorted(used), alike, list(range(len(kinds)))]
    return [view for k, view in enumerate(views) if view and view not in views[:k]]
