"""Networks as agents: the most likely action, and how clearly it leads.

PyTorch trains networks; to run one takes its parameters and NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from surpass.arrays import Array, Floats, Ints
from surpass.bundles import Tensors
from surpass.machine.interface import Interface
from surpass.tasks.task import Task

if TYPE_CHECKING:
    from surpass.agents.networks.structured import StructuredPolicy

HIDDEN = (64, 64, 64)
SAFE_MARGIN = 1e-4
"""A choice that leads by less could differ in another batch, where a value can differ by 1e-5."""
PRUNE = 0.01
"""The search for the most likely action ends once no other one is behind by less than this."""
BATCH = 4096


def layer_sizes(interface: Interface, number: int) -> list[int]:
    """Return how wide the layers of a slot's network are, from its inputs to its outputs."""
    slot = interface.slots[number]
    operands = interface.instructions[slot.instruction].operands[: slot.operand] if number else ()
    inputs = interface.input_size + sum(operand.input_size for operand in operands)
    return [inputs, *HIDDEN, 1 if slot.kind == "binary" else slot.choices]


def encode_prefix(interface: Interface, number: int, prefix: Ints) -> Floats:
    """Return the network inputs [m, I] of the operands [m, operands before] that are chosen before a slot."""
    slot = interface.slots[number]
    operands = interface.instructions[slot.instruction].operands[: max(0, slot.operand)]
    encoded: list[Array] = [np.zeros((len(prefix), 0), np.float32)]
    for k, operand in enumerate(operands):
        is_binary = operand.kind == "binary"
        encoded.append(prefix[:, k : k + 1] if is_binary else np.eye(len(operand.values))[prefix[:, k]])
    return np.concatenate(encoded, axis=1, dtype=np.float32)


class NetworkAgent:
    """An agent that takes the most likely action of a structured policy.

    It reads the parameters of a policy in training where they are, so it always acts as the policy does now.
    """

    def __init__(self, name: str, task: Task, network: StructuredPolicy | Tensors) -> None:
        self.name, self.task = name, task
        self.tensors = network if isinstance(network, Mapping) else network.arrays()
        depth = range(0, 2 * len(HIDDEN) + 1, 2)  # between two layers stands a ReLU, which has a number too
        self._layers = [
            [(self.tensors[f"slots.{slot}.{k}.weight"], self.tensors[f"slots.{slot}.{k}.bias"]) for k in depth]
            for slot in range(len(task.interface.slots))
        ]
        self.margins: dict[int, float] = {}
        """By how much the action for each observation asked about leads, at least, in log-probability."""

    @property
    def narrow(self) -> dict[int, float]:
        """The observations whose action leads by less than `SAFE_MARGIN`, with their margins."""
        return {observation: margin for observation, margin in self.margins.items() if margin < SAFE_MARGIN}

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        answers = np.empty(len(observations), np.int64)
        for at in range(0, len(observations), BATCH):
            part = observations[at : at + BATCH]
            answers[at : at + BATCH], margins = self.most_likely(part)
            self.margins.update(zip(part.tolist(), margins.tolist(), strict=True))
        return answers

    def most_likely(self, observations: Ints) -> tuple[Ints, Floats]:
        """Return the most likely action [m] for each observation, and a lower bound [m] of its lead.

        The best choice at each slot in turn gives an action. It is the most likely one if no prefix that it left aside
        is more likely. Where one is, a search settles it.
        """
        inputs = self.task.interface.encode(observations)
        rows, margins = self._descend(inputs)
        unsettled = np.flatnonzero(margins < 0)
        for k in unsettled.tolist():
            action, margins[k] = self._search(inputs[k : k + 1])
            rows[k, : len(action)], rows[k, len(action) :] = action, 0
        kinds, interface = rows[:, 0], self.task.interface
        weights = interface.operand_weights[kinds]
        return np.array(interface.offsets)[kinds] + (weights * rows[:, 1:]).sum(axis=1), margins

    def log_probabilities(self, slot: int, inputs: Floats, prefix: Ints) -> Floats:
        """Return the log-probabilities [m, choices] of a slot's choices.

        `inputs` [m, input_size] are encoded observations, `prefix` [m, operands before] the choices made before.
        """
        *hidden, (weights, biases) = self._layers[slot]
        values = np.concatenate([inputs, encode_prefix(self.task.interface, slot, prefix)], axis=1)
        for weight, bias in hidden:
            values = np.maximum(values @ weight.T + bias, 0)
        logits = values @ weights.T + biases
        if self.task.interface.slots[slot].kind == "binary":
            logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        logits = logits - logits.max(axis=1, keepdims=True)
        found: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return found

    def _descend(self, inputs: Floats) -> tuple[Ints, Floats]:
        """Return the action rows [m, 1 + operands] of the best choice at each slot.

        The second array [m] says by how much their log-probability leads that of the best prefix left aside.
        """
        interface = self.task.interface
        rows = np.zeros((len(inputs), interface.action_rows.shape[1]), np.int64)
        total = np.zeros(len(inputs), np.float32)
        runner_up = np.full(len(inputs), -np.inf, np.float32)
        for number, slot in enumerate(interface.slots):
            member = np.arange(len(rows)) if number == 0 else np.flatnonzero(rows[:, 0] == slot.instruction)
            if not member.size:
                continue
            options = self.log_probabilities(number, inputs[member], rows[member, 1 : 1 + max(0, slot.operand)])
            chosen, each = options.argmax(axis=1), np.arange(len(member))
            best = options[each, chosen]
            options[each, chosen] = -np.inf
            runner_up[member] = np.maximum(runner_up[member], total[member] + options.max(axis=1))
            total[member] += best
            rows[member, 0 if number == 0 else 1 + slot.operand] = chosen
        return rows, total - runner_up

    def _search(self, inputs: Floats) -> tuple[tuple[int, ...], float]:
        """Return the choices of the most likely action for an observation [1, input_size], and its lead up to `PRUNE`.

        Prefixes are extended in the order of their probability, so the first whole action is the most likely one.
        """
        interface = self.task.interface
        slot_of = {(slot.instruction, slot.operand): k for k, slot in enumerate(interface.slots)}
        queue: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        whole: list[tuple[float, tuple[int, ...]]] = []
        while len(whole) < 2 and queue and not (whole and queue[0][0] >= whole[0][0] + PRUNE):
            cost, chosen = heappop(queue)
            if chosen and len(chosen) > len(interface.instructions[chosen[0]].operands):
                whole.append((cost, chosen))
                continue
            slot, prefix = slot_of[chosen[0], len(chosen) - 1] if chosen else 0, np.array([chosen[1:]], np.int64)
            for choice, option in enumerate(self.log_probabilities(slot, inputs, prefix)[0].tolist()):
                heappush(queue, (cost - option, (*chosen, choice)))
        return whole[0][1], whole[1][0] - whole[0][0] if len(whole) > 1 else PRUNE
