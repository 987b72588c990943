"""How the actions of an interface are chosen, and which inputs of the networks that sets, as arrays for the kernels."""

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


def grow_tree(interface: Interface) -> Tree:
    """Return the tree of an interface."""
    most = max(1, interface.most_operands)
    slot_of = {(slot.instruction, slot.operand): k for k, slot in enumerate(interface.slots)}
    nodes: list[tuple[int, tuple[int, ...]]] = []
    children: list[int] = []
    first_nodes: list[int] = []
    for number, instruction in enumerate(interface.instructions):
        first_nodes.append(len(nodes))
        level: list[tuple[int, ...]] = [()] if instruction.operands else []
        for k, operand in enumerate(instruction.operands):
            after = len(nodes) + len(level)
            following: list[tuple[int, ...]] = []
            for prefix in level:
                nodes.append((slot_of[number, k], prefix))
                children.append(after + len(following))
                following += [(*prefix, choice) for choice in range(len(operand.values))]
            level = following
    nodes.append((0, ()))
    children.append(0)
    prefixes = np.zeros((len(nodes), most), np.int64)
    for k, (_, prefix) in enumerate(nodes):
        prefixes[k, : len(prefix)] = prefix

    groups = _encode_groups(interface)
    values = [encoding for group in groups for encoding in group]
    tabulated = [len(group) if len(group) <= MOST_VALUES else 0 for group in groups]
    encodings = values + [_encode_prefix(interface, slot, prefix) for slot, prefix in nodes]
    lengths = [len(encoding) for encoding in encodings]
    entries = [entry for encoding in encodings for entry in encoding]
    input_counts, output_counts = _count_inputs(interface), _count_outputs(interface)
    sizes = input_counts + 1 + (HIDDEN_LAYERS - 1) * (WIDTH + 1) + output_counts + -(-output_counts // WIDTH)
    return Tree(
        action_rows=interface.action_rows,
        offsets=np.array(interface.offsets, np.int64),
        operand_counts=np.array([len(i.operands) for i in interface.instructions], np.int64),
        weights=interface.operand_weights,
        first_nodes=np.array(first_nodes, np.int64),
        children=np.array(children, np.int64),
        slots=np.array([slot for slot, _ in nodes], np.int64),
        prefixes=prefixes,
        node_count=len(nodes),
        value_starts=_starts([len(group) for group in groups]),
        value_count=len(values),
        table_starts=np.where(np.array(tabulated) > 0, _starts(tabulated), -1),
        table_size=sum(tabulated),
        input_starts=np.array([0, *np.cumsum(lengths)], np.int64),
        inputs=np.array([number for number, _ in entries], np.int64),
        strengths=np.array([strength for _, strength in entries], np.float32),
        parameter_starts=_starts(sizes.tolist()),
        input_counts=input_counts,
        output_counts=output_counts,
        choice_counts=np.array([slot.choices for slot in interface.slots], np.int64),
        parameter_count=int(sizes.sum()),
    )


def _starts(lengths: list[int] | tuple[int, ...]) -> Ints:
    """Return where each of several stretches begins, one after the other."""
    return np.cumsum([0, *lengths[:-1]]).astype(np.int64)


def _encode_groups(interface: Interface) -> list[list[Encoding]]:
    """Return what each value of each group of features sets."""
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
    """Return what the operands chosen before set, among the inputs of a slot's network."""
    found, at = [], interface.input_size
    operands = interface.instructions[interface.slots[number].instruction].operands
    for operand, choice in zip(operands, prefix, strict=False):
        if operand.kind != "binary":
            found.append((at + choice, 1.0))
        elif choice:
            found.append((at, float(choice)))
        at += operand.input_size
    return found


def _count_inputs(interface: Interface) -> Ints:
    """Return the number of inputs of each slot's network."""
    counts = [interface.input_size]
    for slot in interface.slots[1:]:
        before = interface.instructions[slot.instruction].operands[: slot.operand]
        counts.append(interface.input_size + sum(operand.input_size for operand in before))
    return np.array(counts, np.int64)


def _count_outputs(interface: Interface) -> Ints:
    """Return the number of outputs of each slot's network."""
    return np.array([1 if slot.kind == "binary" else slot.choices for slot in interface.slots], np.int64)
