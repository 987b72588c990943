"""Networks as agents: the most likely action, and how clearly it leads."""

from __future__ import annotations

import numpy as np

from surpass.agents.networks.structured import StructuredPolicy
from surpass.arrays import Ints
from surpass.full_view.graph import GraphAgent, GraphPolicy
from surpass.tasks.task import Task

SAFE_MARGIN = 1e-4
"""A choice that leads by less could come out otherwise in another batch, where one value can differ by 1e-5."""
BATCH = 4096


class NetworkAgent:
    """An agent that takes the most likely action of a structured policy."""

    def __init__(self, name: str, task: Task, network: StructuredPolicy) -> None:
        self.name = name
        self.task = task
        self.network = network.eval()
        self.margins: dict[int, float] = {}
        """By how much the action for each observation asked about leads, at least, in log-probability."""

    @property
    def narrow(self) -> dict[int, float]:
        """The observations whose action leads by less than `SAFE_MARGIN`, with their margins."""
        return {observation: margin for observation, margin in self.margins.items() if margin < SAFE_MARGIN}

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        answers = np.empty(len(observations), np.int64)
        for at in range(0, len(observations), BATCH):
            part = observations[at : at + BATCH]
            actions, margins = self.network.most_likely(self.network.encode(part))
            answers[at : at + BATCH] = actions.numpy()
            self.margins.update(zip(part.tolist(), margins.tolist(), strict=True))
        return answers


def new_agent(name: str, task: Task, *, seed: int = 0) -> NetworkAgent | GraphAgent:
    """Return a fresh network for a task, derived from its declaration, as an agent."""
    if task.interface.is_full_view:
        return GraphAgent(name, task, GraphPolicy(seed=seed))
    return NetworkAgent(name, task, StructuredPolicy(task.interface, seed=seed))
