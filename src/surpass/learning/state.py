"""The parts of a learner's state as tensors and plain data."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import torch

from surpass.arrays import Ints
from surpass.bundles import Tensors, take
from surpass.errors import SavedFileError

SOURCE = "the checkpoint"
"""What is named in a refusal of a state."""
STEP = np.zeros((), np.float32)
"""How an optimizer counts its updates."""


def tensors_under(prefix: str, tensors: Tensors) -> Tensors:
    """Return copies of the tensors whose name begins with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): t.copy() for name, t in tensors.items() if name.startswith(prefix)}


def take_numbers(tensors: Tensors, name: str, most: int) -> Ints:
    """Return a copy of a tensor [m] of whole numbers from 0 to `most - 1`."""
    found = take(tensors, name, np.zeros(tensors[name].size if name in tensors else 0, np.int64), SOURCE)
    if found.size and not 0 <= int(found.min()) <= int(found.max()) < most:
        raise SavedFileError(f"{SOURCE} holds {name!r} with numbers that are not from 0 to {most - 1:,}")
    return found


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Return the state of an optimizer, parameter by parameter."""
    return {
        f"optimizer.{index}.{name}": torch.as_tensor(value).numpy().copy()
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Set the state of an optimizer in place; each parameter has all of it or, before its first update, nothing."""
    given, state = tensors_under("optimizer.", tensors), {}
    for index, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"]):
        like = parameter.detach().numpy()
        wanted = {f"{index}.exp_avg": like, f"{index}.exp_avg_sq": like, f"{index}.step": STEP}
        if wanted.keys() & given.keys():
            filled = {name: torch.from_numpy(take(given, name, wanted[name], SOURCE)) for name in wanted}
            state[index] = {name.partition(".")[2]: tensor for name, tensor in filled.items()}
            given = {name: tensor for name, tensor in given.items() if name not in wanted}
    if given:
        raise SavedFileError(f"{SOURCE} holds {min(given)!r} for the optimizer, which has no such parameter")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def random_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return the state of a random number generator as plain data."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    return state


def load_random(generator: np.random.Generator, state: dict[str, Any]) -> None:
    """Set the state of a random number generator in place."""
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        generator.bit_generator.state = state
    if random_state(generator) != state:
        raise SavedFileError(f"{SOURCE} does not hold the state of a generator of random numbers")
