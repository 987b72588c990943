"""Networks as agents: the most likely action, and how clearly it leads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from surpass.agents.networks.graph import GraphPolicy, encode_lists
from surpass.agents.networks.structured import StructuredPolicy
from surpass.tasks.task import Task

__all__ = ["SAFE_MARGIN", "GraphAgent", "NetworkAgent", "new_network"]

Ints = npt.NDArray[np.int64]

SAFE_MARGIN = 1e-4
"""A choice that leads by less could come out otherwise in another batch, where one value can differ by 1e-5."""
BATCH = 4096
GRAPH_WORK = 1 << 19
"""About how many pairs of positions to send through a graph network at once."""


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


class GraphAgent:
    """An agent that takes the most likely pair of positions of a graph network."""

    def __init__(self, name: str, task: Task, network: GraphPolicy) -> None:
        self.name = name
        self.task = task
        self.network = network.eval()

    def pointers(self, lists: Ints) -> Ints:
        """Return the operands [m, 2] for lists [m, n] of one size."""
        batch = max(1, GRAPH_WORK // max(1, lists.shape[1]) ** 2)
        parts = [self.network.most_likely(encode_lists(lists[at : at + batch])) for at in range(0, len(lists), batch)]
        return torch.cat(parts).numpy()


def new_network(task: Task, *, seed: int = 0) -> StructuredPolicy | GraphPolicy:
    """Return a fresh network for a task, derived from its declaration."""
    return GraphPolicy(seed=seed) if task.interface.is_full_view else StructuredPolicy(task.interface, seed=seed)
