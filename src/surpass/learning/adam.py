"""Adam, by the function of PyTorch that `torch.optim.Adam(fused=True)` calls.

Making a `torch.optim.Adam` loads PyTorch's compiler. Nothing here uses it, and it takes two seconds in every process.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from surpass.bundles import Tensors, checked_tensor
from surpass.errors import SavedFileError

BETAS = (0.9, 0.999)
EPSILON = 1e-8
PREFIX = "optimizer."


class Adam:
    """Changes parameters along their gradients; a parameter without a gradient stays as it is."""

    def __init__(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self._states: dict[int, dict[str, torch.Tensor]] = {}
        """By the number of a parameter, from its first update on: its moments, and its number of updates."""

    def clear_gradients(self) -> None:
        """Forget the gradients, in place."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Make one update, in place."""
        gradients = {k: parameter.grad for k, parameter in enumerate(self.parameters) if parameter.grad is not None}
        if not gradients:
            return
        for k in gradients:
            if k not in self._states:
                self._states[k] = self._first_state(self.parameters[k])
        states = [self._states[k] for k in gradients]
        adam(
            [self.parameters[k] for k in gradients],
            list(gradients.values()),
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            lr=self.learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=EPSILON,
            maximize=False,
        )

    @staticmethod
    def _first_state(parameter: nn.Parameter) -> dict[str, torch.Tensor]:
        return {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        return {
            f"{PREFIX}{k}.{name}": tensor.numpy().copy()
            for k, state in sorted(self._states.items())
            for name, tensor in state.items()
        }

    def load(self, tensors: Tensors, source: str) -> None:
        """Go back to a saved state in place; each parameter has all of it or, before its first update, nothing."""
        given = {name.removeprefix(PREFIX): t.copy() for name, t in tensors.items() if name.startswith(PREFIX)}
        states = {}
        for k, parameter in enumerate(self.parameters):
            wanted = {f"{k}.{name}": tensor.numpy() for name, tensor in self._first_state(parameter).items()}
            if wanted.keys() & given.keys():
                taken = {name: np.asarray(checked_tensor(given, name, like, source)) for name, like in wanted.items()}
                states[k] = {name.partition(".")[2]: torch.from_numpy(array) for name, array in taken.items()}
                given = {name: tensor for name, tensor in given.items() if name not in wanted}
        if given:
            raise SavedFileError(f"{source} holds {min(given)!r} for the optimizer, which has no such parameter")
        self._states = states
