"""Imitation in the full view: a graph network learns the teacher's answers on its traces and on the learner's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from surpass.agents.teachers import teacher_of_kind
from surpass.arrays import Ints
from surpass.bundles import Tensors
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.full_view.agent import FullViewTeacher
from surpass.full_view.graph import GraphAgent, GraphPolicy, encode_lists
from surpass.learning.adam import Adam
from surpass.learning.outlook import AGREEMENT, Outlook
from surpass.learning.updates import SOURCE, UpdateLearner, load_random
from surpass.reading import Batch, Count, Many, Rate, Seed, Share, Size, check_fields, conform
from surpass.tasks.task import Request, Task


@dataclass(frozen=True, kw_only=True)
class FullViewImitationConfig:
    """How `FullViewImitation` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    seed: Seed = 0
    smallest: Size = 10
    """The smallest size of the lists to learn on."""
    largest: Size = 20
    """The largest size of the lists to learn on."""
    lists: Batch = 12
    """Lists per update; every list that the run on them passes through is learned from."""
    own: Share = 0.5
    """The share of runs in which the learner moves, not the teacher."""
    learning_rate: Rate = 1e-3
    """The learning rate of Adam at the start."""
    final_learning_rate: Rate = 5e-5
    """The learning rate falls to this along a half cosine."""
    updates: Many = 800
    """How many updates there are in all."""
    updates_per_round: Many = 50
    """How many updates a round has; a line of the curves is written after each."""
    checked: Batch = 200
    """Fresh lists on which the solve rate is measured at the end of each round."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 2 <= self.smallest <= self.largest:
            raise SettingError(f"sizes go from {self.smallest} to {self.largest}; they must be 2 or more, in order")


class FullViewImitation(UpdateLearner):
    """A learner that imitates a teacher which sees whole lists."""

    method = "imitation"
    config: FullViewImitationConfig
    network: GraphPolicy

    def __init__(self, task: Task, config: FullViewImitationConfig) -> None:
        torch.set_num_threads(1)
        self.task, self.config = task, config
        self.teacher = teacher_of_kind(task, config.teacher, FullViewTeacher)
        self.network = GraphPolicy(seed=config.seed)
        self.optimizer = Adam(self.network.parameters(), config.learning_rate)
        self.random = np.random.default_rng([config.seed, 1])
        self.updates = 0

    def agent(self, name: str = "imitation") -> GraphAgent:
        """Return the network as an agent."""
        return GraphAgent(name, self.task, self.network)

    def outlook(self, curve: Mapping[str, float]) -> Outlook:
        """Return how far it has come."""
        done, expected = self.rounds_of_updates()
        return Outlook(measure=AGREEMENT, done=done, expected=expected, work=self.work)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update; that of the zoo was rounded in this order."""
        first, last = self.config.learning_rate, self.config.final_learning_rate
        return last + (first - last) * (1 + math.cos(math.pi * (self.updates / self.config.updates))) / 2

    def advance(self) -> dict[str, float]:
        """Make a round of updates and measure the solve rate on fresh lists of the largest and smallest size."""
        losses, agreements = [], []
        for _ in range(min(self.config.updates_per_round, self.config.updates - self.updates)):
            loss, agreement = self._update()
            losses.append(loss)
            agreements.append(agreement)
        solved = []
        for size in (self.config.smallest, self.config.largest):
            request = Request(size=size, count=self.config.checked, seed=self.config.seed * 1_000_000 + self.updates)
            solved.append(run(self.agent(), self.task.draw(request)).solved.mean())
        return {
            "round": self.updates // self.config.updates_per_round,
            "updates": self.updates,
            "loss": float(np.mean(losses)),
            "agreement": float(np.mean(agreements)),
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
        size = int(self.random.integers(self.config.smallest, self.config.largest + 1))
        lists = np.tile(np.arange(size), (self.config.lists, 1))
        while (lists[:, :-1] <= lists[:, 1:]).all():
            lists = self.random.permuted(lists, axis=1)
        mover = self.agent() if self.random.random() < self.config.own else self.teacher
        visited = []
        rows = np.arange(len(lists))
        for _ in range(size):
            unsorted = np.any(lists[:, :-1] > lists[:, 1:], axis=1)
            if not unsorted.any():
                break
            visited.append(lists[unsorted])
            i, j = mover.pointers(lists).T
            swapped = lists.copy()
            swapped[rows, i], swapped[rows, j] = lists[rows, j], lists[rows, i]
            lists = np.where(unsorted[:, None], swapped, lists)
        return np.concatenate(visited)

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        return self.network_state(), {"updates": self.updates, "random": self.random.bit_generator.state}

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state = conform({"updates": Count, "random": dict[str, Any]}, record, SOURCE)
        self.load_network_state(tensors)
        self.updates = state["updates"]
        load_random(self.random, state["random"])
