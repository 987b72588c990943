"""The parts of a learner's state as tensors and plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

__all__ = ["load_optimizer", "load_random", "optimizer_tensors", "random_state", "set_learning_rate"]

Tensors = dict[str, npt.NDArray[Any]]

PREFIX = "optimizer."


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Return the state of an optimizer, parameter by parameter."""
    return {
        f"{PREFIX}{index}.{name}": torch.as_tensor(value).numpy().copy()
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Set the state of an optimizer in place."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith(PREFIX):
            index, name = key.removeprefix(PREFIX).split(".")
            state.setdefault(int(index), {})[name] = torch.from_numpy(value.copy())
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters of an optimizer, in place."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def random_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return the state of a random number generator as plain data."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    return state


def load_random(generator: np.random.Generator, state: dict[str, Any]) -> None:
    """Set the state of a random number generator in place."""
    generator.bit_generator.state = state
