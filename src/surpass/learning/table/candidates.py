"""Candidates: the policies that a run begins with and improves, each with its estimator of advantages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.bundles import Tensors
from surpass.errors import SavedFileError
from surpass.learning.table.deviations import Deviations
from surpass.learning.table.episodes import Costs
from surpass.learning.table.features import ViewAgent
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.sampled_tables import SampledTables
from surpass.learning.unsolved import largest_loss
from surpass.learning.updates import SOURCE, take_numbers, tensors_under
from surpass.reading import Count, validate
from surpass.table import Agent
from surpass.tasks.task import Instances, Task

CELLS_PER_UPDATE = 100
"""For every so many cells of its table, a candidate has one more update of patience."""


class Estimator(Protocol):
    """Estimates the advantages of actions from episodes, and updates a table of logits by them."""

    patience: int
    """After how many updates in a row without a gain `improve` leaves the candidate."""
    plays: int
    """How many times an update plays each instance, from which `improve` chooses the number of instances."""
    met: Ints
    """The observations that the next update needs, maybe none: what a checkpoint keeps beside the logits."""

    def __init__(self, logits: LogitTable, costs: Costs, deviations: int) -> None:
        """Take the table to update, what episodes cost, and a setting that only `Deviations` uses."""

    def update(
        self,
        instances: Instances,
        limits: Ints,
        fresh: Callable[[], tuple[Instances, Ints]],
        random: np.random.Generator,
    ) -> tuple[float, int]:
        """Make one update in place; return what it gained, and how many steps were played.

        Each estimator has its own unit of gain: the curves show it, and `improve` asks only whether it is above 0.
        `fresh` draws other instances with their limits, to test what was learned. The method calls `logits.update`.
        """
        ...


ESTIMATORS: dict[str, type[Estimator]] = {"deviations": Deviations, "sampled-tables": SampledTables}
"""The estimators that `improve` can use; a new one is a file of its own, and an import and an entry here.

The phase `solve` has the actor-critic instead, so a run from nothing comes to its estimator only after all starts.
"""


class Candidate:
    """A policy that a run began with, and what has become of it."""

    def __init__(self, task: Task, settings: Any, base: Agent | None) -> None:
        self.base = base
        self.logits = LogitTable(task, base, settings.base_logit)
        usual = "sampled-tables" if task.measure == "reward" else "deviations"
        costs = Costs(settings.step_cost, settings.wrong_cost, largest_loss(task))
        self.estimator = ESTIMATORS[settings.estimator or usual](self.logits, costs, settings.deviations)
        self.updates = self.idle = 0
        """How many updates there were, and how many since the last one that gained something."""

    @property
    def is_exhausted(self) -> bool:
        """Whether so many updates have gained nothing that more are not worth their time."""
        return self.idle >= self.estimator.patience + self.logits.count // CELLS_PER_UPDATE

    @property
    def name(self) -> str:
        """Whom it begins with, in words."""
        return "nothing" if self.base is None or isinstance(self.base, ViewAgent) else str(self.base.name)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_candidate` needs."""
        tensors = {f"logits.{name}": array for name, array in self.logits.save().items()}
        tensors["met"] = self.estimator.met
        kind, features = "none" if self.base is None else "agent", list[int]()
        if isinstance(self.base, ViewAgent):
            kind, features = "view", self.base.features
            tensors |= {"keys": self.base.keys, "answers": self.base.answers}
        return tensors, {"base": kind, "features": features, "updates": self.updates, "idle": self.idle}


def load_candidate(
    task: Task, given: Agent | None, settings: Any, tensors: Tensors, record: dict[str, Any]
) -> Candidate:
    """Return a candidate as `Candidate.save` left it; `given` is the agent that it begins with, if any."""
    found = validate({"base": str, "features": list[int], "updates": Count, "idle": Count}, record, SOURCE)
    if any(not 0 <= k < len(task.interface.features) for k in found["features"]):
        raise SavedFileError(f"{SOURCE} names features that the task does not have")
    base: Agent | None = None
    if found["base"] == "view":
        keys = take_numbers(tensors, "keys", task.interface.observation_count)
        answers = take_numbers(tensors, "answers", task.interface.action_count)
        if len(keys) != len(answers) or (np.diff(keys) <= 0).any():
            raise SavedFileError(f"{SOURCE} has a policy whose rows do not fit")
        base = ViewAgent(task, found["features"], keys, answers)
    elif found["base"] == "agent":
        base = given
    candidate = Candidate(task, settings, base)
    candidate.logits.load(tensors_under("logits.", tensors))
    candidate.estimator.met = take_numbers(tensors, "met", task.interface.observation_count)
    candidate.updates, candidate.idle = found["updates"], found["idle"]
    return candidate


def relative_losses(returns: Reals, solved: Flags) -> Reals:
    """Return by which share each of K policies, with returns [K, B], falls behind the best of them.

    An instance that is not solved counts twice what the best policy needs, not all steps up to the limit: most
    failures can be repaired.
    """
    shares = solved.mean(axis=1)
    means = np.where(solved, returns, 0.0).sum(axis=1) / np.maximum(solved.sum(axis=1), 1)
    best = means[shares == shares.max()].max()
    worth = shares * means + (1 - shares) * (best - abs(best))
    losses: Reals = (worth.max() - worth) / max(abs(float(worth.max())), 1e-9)
    return losses
