"""What learners of networks share."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from surpass.agents.networks.files import fill_network, network_tensors
from surpass.bundles import Tensors
from surpass.learning.state import SOURCE, load_optimizer, optimizer_tensors
from surpass.tasks.task import Task


class NetworkLearner:
    """A learner whose network is worth keeping at any time."""

    task: Task
    config: Any
    """Its settings: a dataclass whose every field is part of the recipe."""
    method: str
    network: nn.Module

    @property
    def has_network(self) -> bool:
        """Whether there is a network worth keeping."""
        return True

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return {"method": self.method, **asdict(self.config)}


class UpdateLearner(NetworkLearner):
    """A learner that is done after a number of updates, the `updates` of its settings.

    Its `learning_rate` falls to the `final_learning_rate` unless this is 0.
    """

    value: nn.Module | None = None
    """A network for the value of a state, if the learner has one."""
    optimizer: torch.optim.Optimizer
    updates: int

    @property
    def done(self) -> bool:
        """Whether all updates have been made."""
        return bool(self.updates >= self.config.updates)

    @property
    def finished(self) -> bool:
        """Whether it has learned all that it was asked to."""
        return self.done

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        first, last = float(self.config.learning_rate), float(self.config.final_learning_rate)
        if not last:
            return first
        return last + (first - last) * (1 + math.cos(math.pi * self.updates / self.config.updates)) / 2

    def step_down(self) -> None:
        """Change the networks along their gradients, which makes one more update."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        self.optimizer.step()
        self.updates += 1

    def network_state(self) -> Tensors:
        """Return the networks and the optimizer."""
        value = self.value.state_dict() if self.value is not None else {}
        return {
            **network_tensors(self.network),
            **{f"value.{name}": tensor.detach().numpy().copy() for name, tensor in value.items()},
            **optimizer_tensors(self.optimizer),
        }

    def load_network_state(self, tensors: Tensors) -> None:
        """Set the networks and the optimizer in place."""
        fill_network(self.network, tensors, SOURCE)
        if self.value is not None:
            fill_network(self.value, tensors, SOURCE, "value.")
        load_optimizer(self.optimizer, tensors)
