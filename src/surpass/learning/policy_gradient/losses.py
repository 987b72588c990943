"""The loss of a batch, over its distinct decisions.

Equal steps give equal log-probabilities, so their advantages can be added up first. A batch of a hundred thousand steps
holds some thousand distinct decisions (an observation, and the operands chosen so far), and the gradient of the sums
is exactly the gradient over all steps. PyTorch then differentiates one batch per slot of the network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from surpass.agents.networks.structured import StructuredPolicy
from surpass.arrays import Floats, Ints, Reals
from surpass.learning.policy_gradient.forward import WIDTH
from surpass.machine.interface import NO_ACTION


class MergedSteps(NamedTuple):
    """The distinct pairs of an observation and an action that a batch holds, or that a teacher asks for."""

    owners: Ints
    """[m] the number of the observation."""
    actions: Ints
    """[m]"""
    weights: Reals
    """[m] the sum of the advantages of all steps that took the action."""
    counts: Reals
    """[m] how many steps did."""
    taught: Reals
    """[m] how many steps there are in all at an observation for which the teacher takes the action, else 0."""


def merge_steps(owners: Ints, actions: Ints, advantages: Reals, action_count: int, answers: Ints | None) -> MergedSteps:
    """Return the distinct steps: observations, actions and advantages, each [B, T].

    `answers` are the teacher's actions for all observations, or None.
    """
    pairs, which = np.unique((owners * action_count + actions).ravel(), return_inverse=True)
    counts = np.bincount(which).astype(float)
    weights: Reals = np.bincount(which, advantages.ravel()).astype(float)
    found = MergedSteps(pairs // action_count, pairs % action_count, weights, counts, np.zeros(len(pairs)))
    if answers is None:
        return found
    seen = np.bincount(owners.ravel(), minlength=len(answers)).astype(float)
    asked = np.flatnonzero(answers != NO_ACTION)
    nothing = np.zeros(len(asked))
    taught = MergedSteps(asked, answers[asked], nothing, nothing, seen[asked])
    return MergedSteps(*(np.concatenate(both) for both in zip(found, taught, strict=True)))


def decision_losses(network: StructuredPolicy, inputs: Tensor, choices: MergedSteps) -> Tensor:
    """Return three losses [3], summed over all steps; `inputs` are those of the observations.

    policy      -advantage * log p(action)
    entropy     sum of p log p over the choices of each decision that made up the action
    imitation   -log p(teacher's action)
    """
    interface = network.interface
    rows = interface.action_rows[choices.actions]
    total = torch.zeros(3)
    for number, slot in enumerate(interface.slots):
        member = np.flatnonzero(rows[:, 0] == slot.instruction) if number else np.arange(len(rows))
        if not len(member):
            continue
        column, prefixes = 1 + slot.operand, 0
        if number:
            # Operands are digits of an action's number, the last one fastest: dividing leaves those chosen before.
            stride = interface.operand_weights[slot.instruction, slot.operand] * slot.choices
            prefixes = (choices.actions[member] - interface.offsets[slot.instruction]) // stride
        keys = choices.owners[member] * interface.action_count + prefixes
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        prefix = torch.from_numpy(rows[member[first], 1 : max(1, column)])
        options = network.log_probabilities(number, inputs[torch.from_numpy(choices.owners[member[first]])], prefix)
        chosen = which * slot.choices + rows[member, column]
        weights, taught = (
            torch.from_numpy(np.bincount(chosen, column[member], options.numel())).float().view_as(options)
            for column in (choices.weights, choices.taught)
        )
        counts = torch.from_numpy(np.bincount(which, choices.counts[member])).float()
        negative_entropy = (counts * (options.exp() * options).sum(dim=1)).sum()
        total = total + torch.stack([-(weights * options).sum(), negative_entropy, -(taught * options).sum()])
    return total


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
