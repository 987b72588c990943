"""The sum over all pairs of nodes in which message passing spends its time, and its gradient, in compiled code.

PyTorch would write the hidden layer of every pair to memory several times over; here it stays in registers, and the
gradient computes it anew.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from surpass.arrays import Floats

HIDDEN = 32
"""How wide the hidden layer is; a constant, so that loops over it become a few vector instructions."""
ZERO = np.float32(0)


def hear(own: Tensor, other: Tensor, edges: Tensor, weight: Tensor) -> Tensor:
    """Return the mean [B, n, 32] over all other nodes j of `relu(own[i] + other[j] + weight @ edges[i, j])`.

    `own` and `other` are [B, n, 32], `edges` [B, n, n, 2] and `weight` [32, 2]; there is no gradient for `edges`.
    """
    heard: Tensor = _Hear.apply(own, other, edges, weight)  # type: ignore[no-untyped-call]
    return heard


class _Hear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, other: Tensor, edges: Tensor, weight: Tensor) -> Tensor:
        ctx.inputs = states, others, features, weights = _array(own), _array(other), _array(edges), _array(weight.T)
        heard = np.zeros_like(states)
        _add_up(states, others, features, weights, heard)
        return torch.from_numpy(heard)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, Tensor]:
        own, other, edges, weight = ctx.inputs
        for_own, for_other, for_weight = np.zeros_like(own), np.zeros_like(other), np.zeros_like(weight)
        _share_out(own, other, edges, weight, _array(gradients[0]), for_own, for_other, for_weight)
        return torch.from_numpy(for_own), torch.from_numpy(for_other), None, torch.from_numpy(for_weight).T


def _array(tensor: Tensor) -> Floats:
    return np.ascontiguousarray(tensor.detach().numpy())


@numba.njit(nogil=True, cache=True)
def _add_up(own: Floats, other: Floats, edges: Floats, weight: Floats, heard: Floats) -> None:
    """Add the mean that each node hears to `heard` [B, n, 32], in place."""
    size = own.shape[1]
    share = np.float32(1 / max(1, size - 1))
    for b in range(own.shape[0]):
        for i in range(size):
            for j in range(size):
                if i == j:
                    continue
                place, value = edges[b, i, j, 0], edges[b, i, j, 1]
                for h in range(HIDDEN):
                    hidden = own[b, i, h] + other[b, j, h] + place * weight[0, h] + value * weight[1, h]
                    heard[b, i, h] += max(hidden, ZERO)
            for h in range(HIDDEN):
                heard[b, i, h] *= share


@numba.njit(nogil=True, cache=True)
def _share_out(
    own: Floats,
    other: Floats,
    edges: Floats,
    weight: Floats,
    gradient: Floats,
    for_own: Floats,
    for_other: Floats,
    for_weight: Floats,
) -> None:
    """Add the gradients for `own`, `other` and `weight`, given that for what was heard, to the last three, in place."""
    size = own.shape[1]
    share = np.float32(1 / max(1, size - 1))
    for b in range(own.shape[0]):
        for i in range(size):
            for j in range(size):
                if i == j:
                    continue
                place, value = edges[b, i, j, 0], edges[b, i, j, 1]
                for h in range(HIDDEN):
                    hidden = own[b, i, h] + other[b, j, h] + place * weight[0, h] + value * weight[1, h]
                    passed = share * gradient[b, i, h] if hidden > ZERO else ZERO
                    for_own[b, i, h] += passed
                    for_other[b, j, h] += passed
                    for_weight[0, h] += place * passed
                    for_weight[1, h] += value * passed
