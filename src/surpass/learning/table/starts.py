"""Policies to begin with: what becomes of each, and how far each falls behind the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from surpass.arrays import Reals
from surpass.bundles import Tensors
from surpass.errors import SavedFileError
from surpass.learning.table.deviations import Deviations
from surpass.learning.table.episodes import Costs
from surpass.learning.table.features import ViewAgent
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.sampled_tables import SampledTables
from surpass.learning.updates import SOURCE, take_numbers, tensors_under
from surpass.reading import Count, validate
from surpass.table import Agent
from surpass.tasks.task import Task

PATIENCE, CELLS_PER_UPDATE = 20, 100
"""A start is exhausted after so many updates without a gain, and one more for each so many cells of the table."""


class Start:
    """A policy to begin with, and what has become of it."""

    def __init__(self, task: Task, settings: Any, base: Agent | None) -> None:
        self.base = base
        self.logits = LogitTable(task, base, settings.base_logit)
        costs = Costs(settings.step_cost, settings.wrong_cost)
        self.improver: Deviations | SampledTables = (
            SampledTables(self.logits, costs)
            if task.measure == "reward"
            else Deviations(self.logits, costs, settings.deviations)
        )
        self.updates = self.idle = 0
        """How many updates there were, and how many since the last one that gained something."""

    @property
    def is_exhausted(self) -> bool:
        """Whether so many updates have gained nothing that more are not worth their time."""
        return self.idle >= PATIENCE + self.logits.count // CELLS_PER_UPDATE

    @property
    def name(self) -> str:
        """Whom it begins with, in words."""
        return "nothing" if self.base is None or isinstance(self.base, ViewAgent) else str(self.base.name)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_start` needs."""
        tensors = {f"logits.{name}": array for name, array in self.logits.save().items()}
        improver = self.improver
        tensors["met"] = improver.remembered if isinstance(improver, Deviations) else improver.observations
        kind, features = "none" if self.base is None else "agent", list[int]()
        if isinstance(self.base, ViewAgent):
            kind, features = "view", self.base.features
            tensors |= {"keys": self.base.keys, "answers": self.base.answers}
        return tensors, {"base": kind, "features": features, "updates": self.updates, "idle": self.idle}


def load_start(task: Task, given: Agent | None, settings: Any, tensors: Tensors, record: dict[str, Any]) -> Start:
    """Return a start as `Start.save` left it; `given` is the agent that it begins with, if it begins with one."""
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
    start = Start(task, settings, base)
    start.logits.load(tensors_under("logits.", tensors))
    met = take_numbers(tensors, "met", task.interface.observation_count)
    if isinstance(start.improver, Deviations):
        start.improver.remembered = met
    else:
        start.improver.observations = met
    start.updates, start.idle = found["updates"], found["idle"]
    return start


def relative_losses(returns: Reals) -> Reals:
    """Return by which share each of K policies, with mean returns [K], falls behind the best of them."""
    best = returns.max()
    losses: Reals = (best - returns) / max(abs(float(best)), 1e-9)
    return losses
