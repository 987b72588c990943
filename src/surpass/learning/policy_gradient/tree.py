"""The decisions that make up each action of an interface, and the network inputs that they set, as arrays."""

from __future__ import annotations

from itertools import product

import numpy as np

from surpass.arrays import Ints
from surpass.engine.groups import MOST_VALUES, group_features
from surpass.learning.policy_gradient.arrays import Tree
from surpass.learning.policy_gradient.forward import HIDDEN_LAYERS, WIDTH
from surpass.machine.interface import Interface

Encoding = list[tuple[int, float]]
"""The inputs that are not 0, with what they are set to."""
Node = tuple[int, tuple[int, ...]]
"""A slot, and the operands chosen before it."""


def grow_tree(interface: Interface) -> Tree:
    """Return the tree of an interface."""
    nodes, following = _list_nodes(interface)
    groups = _encode_groups(interface)
    values = [encoding for group in groups for encoding in group]
    tabulated = [len(group) if len(group) <= MOST_VALUES else 0 for group in groups]
    encodings = values + [_encode_prefix(interface, *node) for node in nodes]
    entries = [entry for encoding in encodings for entry in encoding]
    input_counts = np.array([_count_inputs(interface, slot) for slot in range(len(interface.slots))], np.int64)
    output_counts = np.array([1 if slot.kind == "binary" else slot.choices for slot in interface.slots], np.int64)
    rows = input_counts + 1 + (HIDDEN_LAYERS - 1) * (WIDTH + 1) + output_counts + -(-output_counts // WIDTH)
    return Tree(
        action_rows=interface.action_rows,
        following=following,
        slots=np.array([slot for slot, _ in nodes], np.int64),
        value_starts=_starts([len(group) for group in groups]),
        table_starts=np.where(np.array(tabulated) > 0, _starts(tabulated)[:-1], -1),
        table_size=sum(tabulated),
        input_starts=_starts([len(encoding) for encoding in encodings]),
        inputs=np.array([number for number, _ in entries], np.int64),
        strengths=np.array([strength for _, strength in entries], np.float32),
        parameter_starts=_starts(rows.tolist()),
        input_counts=input_counts,
        output_counts=output_counts,
        choice_counts=np.array([slot.choices for slot in interface.slots], np.int64),
    )


def _list_nodes(interface: Interface) -> tuple[list[Node], Ints]:
    """Return all nodes, and for each [N, C] the node after each choice, or -1 - a if the choice completes action a."""
    slot_of = {(slot.instruction, slot.operand): k for k, slot in enumerate(interface.slots)}
    paths: list[list[Node]] = []
    for instruction, *choices in interface.action_rows.tolist():
        count = len(interface.instructions[instruction].operands)
        paths.append([(0, ()), *((slot_of[instruction, k], tuple(choices[:k])) for k in range(count))])
    nodes = [*sorted({node for _, *operands in paths for node in operands}), (0, ())]
    numbers = {node: k for k, node in enumerate(nodes)}
    following = np.zeros((len(nodes), max(slot.choices for slot in interface.slots)), np.int64)
    for action, path in enumerate(paths):
        targets = [*(numbers[node] for node in path[1:]), -1 - action]
        for node, choice, target in zip(path, interface.action_rows[action].tolist(), targets, strict=False):
            following[numbers[node], choice] = target
    return nodes, following


def _starts(lengths: list[int]) -> Ints:
    """Return where each of several stretches begins, one after the other, and where the last ends."""
    return np.cumsum([0, *lengths]).astype(np.int64)


def _encode_groups(interface: Interface) -> list[list[Encoding]]:
    """Return the inputs that each value of each group of features sets."""
    features: list[list[Encoding]] = []
    at = 0
    for block in interface.encodings:
        features.append([[(at + k, float(row[k])) for k in np.flatnonzero(row).tolist()] for row in block])
        at += block.shape[1]
    groups = []
    for group in group_features(interface):
        # The first feature of a group changes fastest, as in a packed observation.
        combinations = product(*(features[k] for k in reversed(group)))
        groups.append([[entry for part in reversed(parts) for entry in part] for parts in combinations])
    return groups


def _encode_prefix(interface: Interface, number: int, prefix: tuple[int, ...]) -> Encoding:
    """Return the inputs of a slot's network that the operands chosen before it set."""
    found, at = [], interface.input_size
    operands = interface.instructions[interface.slots[number].instruction].operands
    for operand, choice in zip(operands, prefix, strict=False):
        if operand.kind != "binary":
            found.append((at + choice, 1.0))
        elif choice:
            found.append((at, float(choice)))
        at += operand.input_size
    return found


def _count_inputs(interface: Interface, number: int) -> int:
    """Return the number of inputs of a slot's network."""
    slot = interface.slots[number]
    before = interface.instructions[slot.instruction].operands[: slot.operand] if number else ()
    return interface.input_size + sum(operand.input_size for operand in before)
