"""What returns are compared with: a number for all states, or a network's value of the state."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.tasks.task import Task


def new_value_network(task: Task, seed: int) -> nn.Sequential:
    """Return a fresh network for the value of an observation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        layers: list[nn.Module] = []
        for inputs in (task.interface.input_size, 64, 64):
            layers += [nn.Linear(inputs, 64), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(64, 1))


class Baseline:
    """The baseline of observations, as it is now."""

    def __init__(self, task: Task, scalar: float, value: nn.Module | None) -> None:
        self._task, self._scalar, self._value = task, scalar, value

    @torch.no_grad()
    def __call__(self, observations: Ints) -> Reals:
        """Return the baseline [m] of observations [m]."""
        if self._value is None:
            return np.full(len(observations), self._scalar)
        inputs = torch.from_numpy(self._task.interface.encode(observations))
        values: Reals = self._value(inputs)[:, 0].double().numpy()
        return values


def write_network(network: nn.Module) -> Tensors:
    """Return the parameters of a network, to be sent."""
    return {name: tensor.detach().numpy().copy() for name, tensor in network.state_dict().items()}


def read_network(network: nn.Module, tensors: Tensors) -> None:
    """Set a network to parameters that were sent, in place."""
    network.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
