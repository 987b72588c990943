"""What features, observations and actions become when two variables of a task change their names.

The variables of a task are often alike but for where they begin. What is good with one in some role is then worth
trying with another one in it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.machine.features import PreviousAction
from surpass.machine.interface import Interface
from surpass.machine.state import FIRST
from surpass.programs.program import place_features, testable_features
from surpass.tasks.task import Task

MIRRORED = {"<": ">", ">": "<"}


class Renamings(NamedTuple):
    """The pairs of variables that can change their names, R of them. To change names twice changes nothing."""

    features: Ints
    """[R, features] what each feature becomes."""
    values: Ints
    """[R, features, values] what its values become."""
    actions: Ints
    """[R, actions] what each action becomes."""

    def of(self, observations: Ints, which: Ints, interface: Interface) -> Ints:
        """Return what observations [m] become, each by one of the renamings [m]."""
        digits = interface.digits(observations)
        previous = place_features(interface)[1]
        renamed = np.empty_like(digits)
        rows = np.arange(len(digits))
        for k in range(digits.shape[1]):
            value = digits[:, k]
            if k == previous:
                value = np.where(value == 0, 0, self.actions[which, value - 1] + 1)
            elif k in testable_features(interface):
                value = self.values[which, k, value]
            renamed[rows, self.features[which, k]] = value
        return interface.pack_digits(renamed)


@cache
def renamings_of(task: Task) -> Renamings:
    """Return what can change its name in a task.

    Only pairs of variables count for which every feature has a counterpart: one whose name is the same with the names
    of the variables changed, or the same comparison the other way round.
    """
    interface = task.interface
    most = max(testable_features(interface).values(), default=1)
    features, values, actions = [], [], []
    for a, b in combinations(range(len(task.memory.registers)), 2):
        found = _rename_features(task, task.memory.names[a], task.memory.names[b], most)
        renamed = _rename_actions(task, FIRST + a, FIRST + b)
        if found is not None and (renamed != np.arange(interface.action_count)).any():
            features.append(found[0])
            values.append(found[1])
            actions.append(renamed)
    count = (len(features), len(interface.features))
    return Renamings(
        np.array(features, np.int64).reshape(count),
        np.array(values, np.int64).reshape(*count, most),
        np.array(actions, np.int64).reshape(len(features), interface.action_count),
    )


def _rename_features(task: Task, a: str, b: str, most: int) -> tuple[list[int], list[list[int]]] | None:
    """Return the counterparts of all features and of their values; None if one that can be tested has none."""
    features, testable = task.interface.features, testable_features(task.interface)
    number = {feature.name: k for k, feature in enumerate(features)}
    swapped = {a: b, b: a}
    found, values = [], []
    for k, feature in enumerate(features):
        name = re.sub(r"\w+", lambda word: swapped.get(word[0], word[0]), feature.name)
        same = list(range(most))
        if isinstance(feature, PreviousAction) or k not in testable:
            found.append(k)
            values.append(same)
            continue
        if name not in number:
            left, _, right = name.partition(" ? ")
            name, own = f"{right} ? {left}", [str(value) for value in feature.values]
            mirrored = [MIRRORED.get(value, value) for value in own]
            if name not in number or sorted(own) != sorted(mirrored):
                return None
            same[: len(own)] = [own.index(value) for value in mirrored]
        other = features[number[name]]
        if isinstance(other, PreviousAction) or other.values != feature.values:
            return None
        found.append(number[name])
        values.append(same)
    return found, values


def _rename_actions(task: Task, a: int, b: int) -> Ints:
    """Return the counterpart of each action when two registers change their names."""
    interface = task.interface
    registers = range(FIRST, FIRST + len(task.memory.registers))
    swapped = {a: b, b: a}
    rows = interface.action_rows.copy()
    for k, instruction in enumerate(interface.instructions):
        own = rows[:, 0] == k
        for at, operand in enumerate(instruction.operands, 1):
            if operand.codes and all(code in registers for code in operand.codes) and {a, b} <= set(operand.codes):
                new = [operand.codes.index(swapped.get(code, code)) for code in operand.codes]
                rows[own, at] = np.array(new)[rows[own, at]]
    offsets = np.array(interface.offsets)[rows[:, 0]]
    numbers: Ints = offsets + (interface.operand_weights[rows[:, 0]] * rows[:, 1:]).sum(axis=1)
    return numbers
