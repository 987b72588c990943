"""What learners of networks share."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from surpass.agents.networks.files import fill_network, network_tensors
from surpass.arrays import Ints
from surpass.bundles import Tensors, checked_tensor
from surpass.errors import SavedFileError
from surpass.tasks.task import Task

if TYPE_CHECKING:
    from torch import nn

    from surpass.learning.adam import Adam

SOURCE = "the checkpoint"
"""What is named in a refusal of a state."""


class NetworkLearner:
    """A learner whose network is worth keeping at any time."""

    task: Task
    config: Any
    """Its settings: a dataclass whose every field is part of the recipe."""
    method: str
    network: nn.Module
    value: nn.Module | None = None
    """A network for the value of a state, if the learner has one."""
    optimizer: Adam
    work = 0
    """How many steps it has made or looked at since it was made or restored."""
    has_network = True
    """Whether there is a network worth keeping."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return {"method": self.method, **asdict(self.config)}

    def network_state(self) -> Tensors:
        """Return the networks and the optimizer."""
        value = self.value.state_dict() if self.value is not None else {}
        return {
            **network_tensors(self.network),
            **{f"value.{name}": tensor.detach().numpy().copy() for name, tensor in value.items()},
            **self.optimizer.save(),
        }

    def load_network_state(self, tensors: Tensors) -> None:
        """Set the networks and the optimizer in place."""
        fill_network(self.network, tensors, SOURCE)
        if self.value is not None:
            fill_network(self.value, tensors, SOURCE, "value.")
        self.optimizer.load(tensors, SOURCE)


class UpdateLearner(NetworkLearner):
    """A learner that is done after a number of updates, the `updates` of its settings.

    Its `learning_rate` falls to the `final_learning_rate` unless this is 0.
    """

    updates: int

    @property
    def done(self) -> bool:
        """Whether all updates have been made."""
        return bool(self.updates >= self.config.updates)

    @property
    def finished(self) -> bool:
        """Whether it has learned all that it was asked to."""
        return self.done

    def rounds_of_updates(self) -> tuple[int, int]:
        """Return how many rounds of updates are done, and how many there are in all."""
        share = self.config.updates_per_round
        return -(-self.updates // share), -(-self.config.updates // share)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        first, last = float(self.config.learning_rate), float(self.config.final_learning_rate)
        if not last:
            return first
        return last + (first - last) * (1 + math.cos(math.pi * self.updates / self.config.updates)) / 2

    def step_down(self) -> None:
        """Change the networks along their gradients, which makes one more update."""
        self.optimizer.learning_rate = self.learning_rate
        self.optimizer.step()
        self.updates += 1


def tensors_under(prefix: str, tensors: Tensors) -> Tensors:
    """Return copies of the tensors whose name begins with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): t.copy() for name, t in tensors.items() if name.startswith(prefix)}


def take_numbers(tensors: Tensors, name: str, most: int) -> Ints:
    """Return a copy of a tensor [m] of whole numbers from 0 to `most - 1`."""
    found = checked_tensor(tensors, name, np.zeros(tensors[name].size if name in tensors else 0, np.int64), SOURCE)
    if found.size and not 0 <= int(found.min()) <= int(found.max()) < most:
        raise SavedFileError(f"{SOURCE} holds {name!r} with numbers that are not from 0 to {most - 1:,}")
    return found


def load_random(generator: np.random.Generator, state: dict[str, Any]) -> None:
    """Set the state of a random number generator in place."""
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        generator.bit_generator.state = state
    if generator.bit_generator.state != state:
        raise SavedFileError(f"{SOURCE} does not hold the state of a generator of random numbers")
