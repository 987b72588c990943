"""Policies computed the plain way, one number after another in 64 bits, and small interfaces to compare them on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from surpass import PREVIOUS_ACTION, Feature, Instruction, Interface, binary, flag, integer
from surpass.agents.networks.structured import StructuredPolicy
from surpass.full_view.graph import LAYERS, GraphPolicy
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_quick import SORT_QUICK

SMALL = {
    "mixed": Interface(
        [flag("raining"), Feature("wind", ("calm", "fresh", "storm"))],
        [
            Instruction("Stop"),
            Instruction("Turn", binary("way", ("left", "right"))),
            Instruction("Pick", integer("card", (1, 2, 3))),
            Instruction("Mix", binary("hot", (0, 1)), integer("dose", (1, 2, 3, 4)), binary("stir", (0, 1))),
        ],
    ),
    "previous": Interface(
        [Feature("level", (0, 1, 2), encoding="number"), PREVIOUS_ACTION],
        [
            Instruction("Join", integer("a", (1, 2, 3)), integer("b", (1, 2, 3)), integer("c", (1, 2))),
            Instruction("Sole", integer("only", (7,))),
            Instruction("Rest"),
        ],
    ),
    "words only": Interface([flag("on"), flag("hot")], [Instruction("Yes"), Instruction("No"), Instruction("Maybe")]),
    "one action": Interface([flag("on")], [Instruction("Go")]),
    "one operand": Interface([flag("on")], [Instruction("Go", integer("to", (1, 2, 3, 4, 5)))]),
}
"""Interfaces small enough to see through, with 0 to 3 operands of every kind and size."""

PAPER = {task.name: task.interface for task in (SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK)}


def sharp_network(interface: Interface, *, seed: int = 0, sharpness: float = 20.0) -> StructuredPolicy:
    """Return a random network whose choices are far from uniform: fresh ones hardly differ in likelihood."""
    network = StructuredPolicy(interface, seed=seed)
    with torch.no_grad():
        for slot in network.slots:
            slot[-1].weight *= sharpness  # type: ignore[index,union-attr,operator]
    return network


def draw_observations(interface: Interface, count: int, seed: int = 0) -> np.ndarray:
    """Return packed observations: all of them if there are few, else some drawn at random."""
    if interface.observation_count <= count:
        return np.arange(interface.observation_count)
    return np.random.default_rng(seed).integers(0, interface.observation_count, count)


# The structured policy


class Decision(NamedTuple):
    """One choice inside an action, given the operands chosen before it."""

    slot: int
    prefix: tuple[int, ...]
    choice: int


def decisions_of(interface: Interface, number: int) -> list[Decision]:
    """Return the choices that make up an action, in order: the instruction, then each operand."""
    instruction, *choices = interface.action_rows[number].tolist()
    own = [(index, slot.operand) for index, slot in enumerate(interface.slots) if slot.instruction == instruction]
    return [
        Decision(0, (), instruction),
        *(Decision(index, tuple(choices[:k]), choices[k]) for index, k in own),
    ]


def decision_log_probabilities(network: StructuredPolicy, slot: int, inputs: np.ndarray, prefix: tuple) -> np.ndarray:
    """Return the log-probability of each choice of a slot for one encoded observation, given the choices before."""
    interface = network.interface
    place = interface.slots[slot]
    operands = interface.instructions[place.instruction].operands
    signal = [*inputs.tolist()]
    for operand, choice in zip(operands, prefix, strict=False):
        signal += [choice] if operand.kind == "binary" else np.eye(len(operand.values))[choice].tolist()
    values = np.array(signal, np.float64)
    layers = [layer for layer in network.slots[slot] if isinstance(layer, torch.nn.Linear)]  # type: ignore[union-attr]
    for number, layer in enumerate(layers):
        values = layer.weight.detach().double().numpy() @ values + layer.bias.detach().double().numpy()
        if number < len(layers) - 1:
            values = np.maximum(values, 0)
    if place.kind == "binary":
        # Bernoulli: the one output is the logit of the second choice.
        return -np.logaddexp(0, np.array([values[0], -values[0]]))
    return values - np.logaddexp.reduce(values)


def enumerate_log_probabilities(network: StructuredPolicy, observation: int) -> np.ndarray:
    """Return the log-probability [A] of every action, as the sum over its decisions."""
    interface = network.interface
    inputs = interface.encode(np.array([observation]))[0].astype(np.float64)
    known: dict[tuple, np.ndarray] = {}
    found = np.zeros(interface.action_count)
    for number in range(interface.action_count):
        for slot, prefix, choice in decisions_of(interface, number):
            if (slot, prefix) not in known:
                known[slot, prefix] = decision_log_probabilities(network, slot, inputs, prefix)
            found[number] += known[slot, prefix][choice]
    return found


# The graph policy


def pair_log_probabilities(policy: GraphPolicy, edges: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Return the log-probability [B] that a policy gives pairs of positions [B, 2]."""
    first = policy.first_log_probabilities(edges).gather(1, pairs[:, :1])[:, 0]
    return first + policy.second_log_probabilities(edges, pairs[:, 0]).gather(1, pairs[:, 1:])[:, 0]


def _through(layers: list[torch.nn.Module], values: np.ndarray) -> np.ndarray:
    """Return an MLP's output for one vector."""
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            values = layer.weight.detach().double().numpy() @ values + layer.bias.detach().double().numpy()
        else:
            values = np.maximum(values, 0)
    return values


def pointer_log_probabilities(
    policy: GraphPolicy, which: str, lists: list[int], chosen: int | None = None, *, hears_itself: bool = False
) -> np.ndarray:
    """Return the log-probability [n] of each position of one list, edge by edge as appendix D writes it."""
    pointer, size = getattr(policy, which), len(lists)
    states = []
    for v in range(size):
        features = [1.0] if chosen is None else [1.0, float(v == chosen)]
        states.append(_through(list(pointer.embed), np.array(features)))
    for t in range(LAYERS):
        layer = pointer.layers[t]
        first = torch.cat([layer.own.weight, layer.other.weight, layer.edge.weight], dim=1).detach().double().numpy()
        bias = layer.own.bias.detach().double().numpy()
        following = []
        for v in range(size):
            messages = []
            for u in range(size):
                if u == v and not hears_itself:
                    continue
                edge = np.sign([v - u, lists[v] - lists[u]]).astype(float)
                hidden = np.maximum(first @ np.concatenate([states[v], states[u], edge]) + bias, 0)
                messages.append(_through([layer.out], hidden))
            following.append(_through(list(layer.node), np.concatenate([states[v], np.mean(messages, axis=0)])))
        states = following
    scores = np.array([_through(list(pointer.score), state)[0] for state in states])
    return scores - np.logaddexp.reduce(scores)
