"""Imitation in the full view (as in DAgger): a graph network learns the teacher's answers on both agents' lists.

Each update runs the teacher or the learner on a few random lists. The loss is the negative log-likelihood of the
teacher's two positions on every list that the run passed through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints
from surpass.bundles import Tensors
from surpass.engine.run import run
from surpass.full_view.agent import FullViewAgent, are_sorted, swapped
from surpass.full_view.graph import GraphAgent, GraphPolicy, encode_lists
from surpass.learning.adam import Adam
from surpass.learning.curriculum import read_ranges
from surpass.learning.status import AGREEMENT, Status
from surpass.learning.updates import SOURCE, UpdateLearner, load_random
from surpass.reading import Count, Many, Rate, Seed, check_fields, validate
from surpass.tasks.task import Request, Task

LISTS = 12
"""Lists per update."""
OWN = 0.5
"""The share of runs in which the learner moves, not the teacher."""
CHECKED = 100
"""Fresh lists of each size on which the solve rate is measured after a round."""


@dataclass(frozen=True, kw_only=True)
class FullViewImitationConfig:
    """How `FullViewImitation` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    seed: Seed = 0
    sizes: str = "10-20"
    """The smallest and the largest size of the lists to learn on."""
    learning_rate: Rate = 1e-3
    """The learning rate of Adam at the start."""
    final_learning_rate: Rate = 5e-5
    """The learning rate falls to this along a half cosine."""
    updates: Many = 800
    """How many updates there are in all."""
    updates_per_round: Many = 50
    """Updates per round; each round adds a line to the curves."""

    def __post_init__(self) -> None:
        check_fields(self)
        read_ranges(self.sizes, (1, 1))


class FullViewImitation(UpdateLearner):
    """A learner that imitates a teacher which sees whole lists."""

    method = "imitation"
    config: FullViewImitationConfig
    network: GraphPolicy

    def __init__(self, task: Task, config: FullViewImitationConfig) -> None:
        torch.set_num_threads(1)
        self.task, self.config = task, config
        self.teacher: FullViewAgent = teacher_of(task, config.teacher)
        low, high = read_ranges(config.sizes, task.training_sizes)[-1]
        self.sizes = max(2, low), max(2, high)  # shorter lists are sorted
        self.network = GraphPolicy(seed=config.seed)
        self.optimizer = Adam(self.network.parameters(), config.learning_rate)
        self.random = np.random.default_rng([config.seed, 1])
        self.updates = 0

    def agent(self, name: str = "imitation") -> GraphAgent:
        """Return the network as an agent."""
        return GraphAgent(name, self.task, self.network)

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come."""
        done, expected = self.rounds_of_updates()
        return Status(measure=AGREEMENT, done=done, expected=expected, work=self.work)

    def advance(self) -> dict[str, float]:
        """Make a round of updates and measure the solve rate on fresh lists of the largest and smallest size."""
        share = min(self.config.updates_per_round, self.config.updates - self.updates)
        loss, agreement = np.mean([self._update() for _ in range(share)], axis=0).tolist()
        seed = self.config.seed * 1_000_000 + self.updates
        requests = [Request(size=size, count=CHECKED, seed=seed) for size in self.sizes]
        solved = [run(self.agent(), self.task.draw(request)).solved.mean() for request in requests]
        return {
            "round": self.rounds_of_updates()[0],
            "updates": self.updates,
            "loss": loss,
            "agreement": agreement,
            "solved": float(np.mean(solved)),
        }

    def _update(self) -> tuple[float, float]:
        """Make one update on the lists of a few runs; return its loss and the share answered like the teacher."""
        lists = self._visit()
        self.work += len(lists)
        answers = torch.from_numpy(self.teacher.pointers(lists))
        edges = encode_lists(lists)
        first = self.network.first_log_probabilities(edges)
        second = self.network.second_log_probabilities(edges, answers[:, 0])
        loss = -(first.gather(1, answers[:, :1]) + second.gather(1, answers[:, 1:])).mean()
        self.optimizer.clear_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        self.step_down()
        alike = (first.argmax(1) == answers[:, 0]) & (second.argmax(1) == answers[:, 1])
        return loss.item(), alike.float().mean().item()

    def _visit(self) -> Ints:
        """Return unsorted lists [m, n] of one size that the teacher, or the learner, passes through."""
        size = int(self.random.integers(self.sizes[0], self.sizes[1] + 1))
        lists = np.tile(np.arange(size), (LISTS, 1))
        while are_sorted(lists).all():
            lists = self.random.permuted(lists, axis=1)
        mover = self.agent() if self.random.random() < OWN else self.teacher
        visited = []
        for _ in range(size):
            lists = lists[~are_sorted(lists)]
            if not len(lists):
                break
            visited.append(lists)
            lists = swapped(lists, mover.pointers(lists))
        return np.concatenate(visited)

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        return self.network_state(), {"updates": self.updates, "random": self.random.bit_generator.state}

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Restore a saved state in place."""
        state = validate({"updates": Count, "random": dict[str, Any]}, record, SOURCE)
        self.load_network_state(tensors)
        self.updates = state["updates"]
        load_random(self.random, state["random"])
