"""The parts of a learner's state as tensors and plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from surpass.bundles import Tensors


def tensors_under(prefix: str, tensors: Tensors) -> Tensors:
    """Return copies of the tensors whose name begins with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): t.copy() for name, t in tensors.items() if name.startswith(prefix)}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Return the state of an optimizer, parameter by parameter."""
    return {
        f"optimizer.{index}.{name}": torch.as_tensor(value).numpy().copy()
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Set the state of an optimizer in place."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors_under("optimizer.", tensors).items():
        index, name = key.split(".")
        state.setdefault(int(index), {})[name] = torch.from_numpy(value)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def random_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return the state of a random number generator as plain data."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    return state


def load_random(generator: np.random.Generator, state: dict[str, Any]) -> None:
    """Set the state of a random number generator in place."""
    generator.bit_generator.state = state
