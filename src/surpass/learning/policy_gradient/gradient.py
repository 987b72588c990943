"""A policy's parameters as sampling reads them, and the gradient of a batch's losses from the layers that it left."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from surpass.agents.networks.structured import StructuredPolicy
from surpass.arrays import Floats, Ints, Reals
from surpass.learning.policy_gradient.arrays import Sums
from surpass.learning.policy_gradient.decisions import Decisions
from surpass.learning.policy_gradient.forward import HIDDEN_LAYERS, WIDTH

CHUNK = 1024
"""How many decisions go through a network at once: so many that their layers stay in the processor's cache."""


@torch.no_grad()
def parameter_rows(network: StructuredPolicy) -> Floats:
    """Return all parameters of a policy as rows [R, WIDTH], laid out as `forward` says."""
    rows = []
    for slot in network.slots:
        *hidden, last = (layer for layer in slot.children() if isinstance(layer, nn.Linear))
        for layer in hidden:
            rows += [layer.weight.T, layer.bias[None]]
        rows += [last.weight, nn.functional.pad(last.bias, (0, -len(last.bias) % WIDTH)).view(-1, WIDTH)]
    return torch.cat(rows).numpy()


def decision_losses(network: StructuredPolicy, sampler: Decisions, sums: Sums, taught: Ints) -> Tensor:
    """Return the losses [3] of policy, entropy and imitation of a sampler's last batch, summed over all steps.

    The network must be as it was when the batch was sampled: nothing is computed twice. `taught` [R] is the choice that
    a teacher makes at each row, or -1.
    """
    losses: Tensor = _DecisionLosses.apply(sampler, sums, taught, network, *network.parameters())  # type: ignore[no-untyped-call]
    return losses


class _DecisionLosses(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sampler: Decisions, sums: Sums, taught: Ints, network: StructuredPolicy, *parameters: Tensor
    ) -> Tensor:
        ctx.batch = (sampler, sums, taught, network)
        ctx.save_for_backward(*parameters)
        return torch.from_numpy(sampler.losses(sums, taught)).float()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors  # raises an error if the parameters have changed since
        sampler, sums, taught, network = ctx.batch
        scales = slopes[0].double().numpy()
        nodes = sampler.tree.slots[sampler.plan.nodes[: sampler.count]].astype(np.int16)
        order = np.argsort(nodes, kind="stable")
        ends = np.cumsum(np.bincount(nodes, minlength=len(network.slots))).tolist()
        gradients: list[Tensor | None] = []
        for slot, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
            layers = [layer for layer in network.slots[slot] if isinstance(layer, nn.Linear)]
            if first == last:
                gradients += [None] * (2 * len(layers))
            else:
                gradients += _slot_gradient(layers, sampler, sums, taught, scales, order[first:last])
        return (None, None, None, None, *gradients)


def _slot_gradient(
    layers: list[nn.Linear],
    sampler: Decisions,
    sums: Sums,
    taught: Ints,
    scales: Reals,
    rows: Ints,
) -> list[Tensor]:
    """Return the gradient of the weights and biases of one slot's layers, first to last, over all of its rows."""
    tree, plan, kernels = sampler.tree, sampler.plan, sampler.kernels
    inputs, offsets = np.zeros((layers[0].in_features, WIDTH), np.float32), np.zeros((1, WIDTH), np.float32)
    weights = [torch.zeros_like(layer.weight) for layer in layers[1:]]
    biases = [torch.zeros_like(layer.bias) for layer in layers[1:]]
    most = min(CHUNK, len(rows))
    outcomes, hidden = np.empty((most, sampler.width), np.float32), np.empty((HIDDEN_LAYERS, most, WIDTH), np.float32)
    first, rooms = torch.empty((len(rows), WIDTH)), [torch.empty((most, WIDTH)) for _ in range(2)]
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        count = len(part)
        kernels.slope(tree, plan, sums, taught, scales, part, outcomes, hidden)
        slopes = torch.from_numpy(outcomes)[:count, : layers[-1].out_features]
        for depth in range(HIDDEN_LAYERS, 0, -1):
            before = torch.from_numpy(hidden)[depth - 1, :count]
            weights[depth - 1].addmm_(slopes.T, before)
            biases[depth - 1] += slopes.sum(dim=0)
            out = rooms[depth % 2][:count] if depth > 1 else first[start : start + count]
            slopes = torch.mm(slopes, layers[depth].weight, out=out)
            torch.ops.aten.threshold_backward(slopes, before, 0, grad_input=slopes)
    kernels.spread(tree, plan, rows, first.numpy(), offsets, inputs)
    found = [torch.from_numpy(np.ascontiguousarray(inputs.T)), torch.from_numpy(offsets[0])]
    for weight, bias in zip(weights, biases, strict=True):
        found += [weight, bias]
    return found
