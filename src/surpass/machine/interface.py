"""Interfaces: what a program may see and do, and everything that follows from the declaration."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surpass.arrays import Floats, Ints
from surpass.errors import DeclarationError, ObservationError, UnknownNameError, did_you_mean
from surpass.machine.features import Feature, PreviousAction
from surpass.machine.instructions import Action, Instruction, Operand, refuse_repeated
from surpass.printing import count
from surpass.reading import check_fields

NO_ACTION = -1
"""The answer of an agent that has no action for an observation."""
WIDER = {"<=": ("<", "="), ">=": (">", "="), "!=": ("<", ">")}
"""The signs that a condition may have beside those of a comparison, and which of those each stands for."""
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
"""The sign with which a comparison says the same when its sides change places."""


def mirror(condition: str) -> str:
    """Return a comparison with its sides exchanged, which says the same; empty if the text is none."""
    for sign, other in MIRRORED.items():
        left, found, right = condition.partition(f" {sign} ")
        if found:
            return f"{right} {other} {left}"
    return ""


class Slot(NamedTuple):
    """A place where actions differ: the instruction (slot 0), or one operand of one instruction."""

    name: str
    instruction: int
    """The instruction's index, or -1 for slot 0."""
    operand: int
    """The operand's index, or -1 for slot 0."""
    kind: str
    choices: int
    """How many choices there are; 0 for a pointer, whose choices are the list's positions."""


@dataclass(frozen=True)
class Interface:
    """The features and the instructions of a task, declared once.

    An observation is packed into one integer, the first feature least significant. Actions are numbered instruction by
    instruction in the order of their declaration, the first operand most significant.
    An interface with pointer operands is a full view: its observation is the whole list and has no number.
    """

    features: tuple[PreviousAction | Feature, ...]
    instructions: tuple[Instruction, ...]

    def __init__(self, features: Iterable[Feature | PreviousAction], instructions: Iterable[Instruction]) -> None:
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "instructions", instructions)
        check_fields(self, "an interface", DeclarationError)
        refuse_repeated("features", self.features)
        refuse_repeated("instructions", self.instructions)
        if not self.instructions:
            raise DeclarationError("an interface needs at least one instruction")
        if self.is_full_view:
            if self.features:
                raise DeclarationError(
                    f"feature {self.features[0].name!r} stands beside a pointer operand: a full view has no features"
                )
            return
        if not self.features:
            raise DeclarationError("an interface without pointer operands needs at least one feature")
        for feature, product in zip(self.features, itertools.accumulate(self.radices, operator.mul), strict=True):
            if product >= 2**63:
                raise DeclarationError(
                    f"feature {feature.name!r} takes the number of observations to {product:.3g}, beyond 63 bits"
                )

    # Sizes

    @cached_property
    def is_full_view(self) -> bool:
        """Whether the agent sees the whole list and points into it."""
        return any(o.kind == "pointer" for i in self.instructions for o in i.operands)

    @cached_property
    def action_count(self) -> int:
        """The number of distinct actions (the paper's |A|); it needs operands of fixed size."""
        self._need_table("the number of actions")
        return sum(math.prod(len(o.values) for o in i.operands) for i in self.instructions)

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """The number of values of each feature."""
        return tuple(self.action_count + 1 if isinstance(f, PreviousAction) else len(f.values) for f in self.features)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What one step of each feature adds to a packed observation."""
        return tuple(math.prod(self.radices[:k]) for k in range(len(self.radices)))

    @cached_property
    def observation_count(self) -> int:
        """The number of packed observations (the paper's |S|)."""
        self._need_table("the number of observations")
        return math.prod(self.radices)

    @cached_property
    def input_size(self) -> int:
        """How many inputs a network has."""
        return sum(block.shape[1] for block in self.encodings)

    @property
    def search_space(self) -> str:
        """The number of distinct programs |A|^|S|, as text."""
        return f"{self.action_count}^({self.observation_count:.3g})"

    def _need_table(self, what: str) -> None:
        if self.is_full_view:
            raise DeclarationError(f"{what} of a full view depends on the list's size")

    # Observations

    @cached_property
    def feature_index(self) -> dict[str, int]:
        """The position of each feature by name."""
        return {feature.name: k for k, feature in enumerate(self.features)}

    def feature_values(self, k: int) -> tuple[Hashable, ...]:
        """Return the values of feature `k`; for the previous action None and then every action."""
        feature = self.features[k]
        return (None, *self.actions) if isinstance(feature, PreviousAction) else feature.values

    def unpack_observation(self, observation: int) -> tuple[Hashable, ...]:
        """Return the feature values of a packed observation."""
        digits = self.digits(np.array([observation]))[0]
        return tuple(self.feature_values(k)[d] for k, d in enumerate(digits.tolist()))

    def digits(self, observations: Ints) -> Ints:
        """Return the value numbers [m, F] of packed observations [m]."""
        observations = np.asarray(observations, np.int64)
        if observations.size and (observations.min() < 0 or observations.max() >= self.observation_count):
            raise ObservationError(f"an observation lies outside 0..{self.observation_count - 1}")
        digits: Ints = observations[:, None] // np.array(self.strides) % np.array(self.radices)
        return digits

    def pack_digits(self, digits: Ints) -> Ints:
        """Return the packed observations [m] of value numbers [m, F]."""
        for k, feature in enumerate(self.features):
            column = digits[:, k]
            bad = column[(column < 0) | (column >= self.radices[k])]
            if bad.size:
                raise ObservationError(
                    f"the kernel of feature {feature.name!r} returned {bad[0]}; allowed: 0 to {self.radices[k] - 1}"
                )
        packed: Ints = digits @ np.array(self.strides, np.int64)
        return packed

    def describe(self, observation: int) -> str:
        """Return an observation in words: every feature with its value."""
        values = self.unpack_observation(observation)
        return ", ".join(f.condition(v) for f, v in zip(self.features, values, strict=True))

    @cached_property
    def conditions(self) -> dict[str, tuple[int, frozenset[int]]]:
        """Each condition that can be asked, as a feature's position and the value numbers that make it true."""
        found: dict[str, tuple[int, frozenset[int]]] = {}
        for k, feature in enumerate(self.features):
            for number, value in enumerate(self.feature_values(k)):
                found[feature.condition(value)] = (k, frozenset([number]))
            if "?" in feature.name:
                for sign, admitted in WIDER.items():
                    true = [i for i, v in enumerate(self.feature_values(k)) if v in admitted]
                    found[feature.name.replace("?", sign)] = (k, frozenset(true))
        return found

    # Actions

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The number of each instruction's first action."""
        counts = [math.prod(len(o.values) for o in i.operands) for i in self.instructions]
        return tuple(sum(counts[:k]) for k in range(len(counts)))

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Every action, in the order of their numbers."""
        self._need_table("the list of actions")
        return tuple(
            Action(instruction.name, tuple(values))
            for instruction in self.instructions
            for values in itertools.product(*(operand.values for operand in instruction.operands))
        )

    @cached_property
    def _action_numbers(self) -> dict[Action, int]:
        return {action: number for number, action in enumerate(self.actions)}

    @cached_property
    def _action_texts(self) -> dict[str, int]:
        return {_bare(str(action)): number for number, action in enumerate(self.actions)}

    def pack_action(self, action: Action) -> int:
        """Return the number of an action."""
        try:
            return self._action_numbers[action]
        except (KeyError, TypeError):
            why = self.fault_of(*action) if isinstance(action, Action) else ""
            raise UnknownNameError("action", str(action), self._signatures(), why) from None

    def parse_action(self, text: str) -> int:
        """Return the number of the action written as text, such as `MoveVar(1, +1)`."""
        try:
            return self._action_texts[_bare(text)]
        except KeyError:
            raise UnknownNameError("action", text, self._signatures(), self.fault_of_text(text)) from None

    def fault_of_text(self, text: str) -> str:
        """Return why a text is not an action, in words that follow it; empty if unknown."""
        parts = re.fullmatch(r"(\w+)\((.*)\)", text.strip())
        operands = [part.strip() for part in parts[2].split(",")] if parts and parts[2].strip() else []
        return self.fault_of(parts[1], operands) if parts else ""

    def fault_of(self, name: str, operands: Sequence[Hashable]) -> str:
        """Return why an instruction and its operands are not an action, in words that follow it; empty if unknown."""
        instruction = next((one for one in self.instructions if one.name == name), None)
        if instruction is None:
            return did_you_mean(name, [one.name for one in self.instructions])
        takes, wrong = instruction.operands, len(operands) - len(instruction.operands)
        if wrong > 0:
            return f": {name} takes {count(len(takes), 'operand')}, and {len(operands)} are given"
        missing = " and ".join(f"{operand.name} ({operand.listing})" for operand in takes[len(operands) :])
        if missing:
            return f": {count(-wrong, 'operand')} missing, {missing}"
        for operand, given in zip(takes, operands, strict=True):
            if _bare(str(given)) not in map(_bare, map(str, operand.values)):
                return f": {operand.name} must be {operand.listing}{_register_hint(operand, given)}"
        return ""

    def _signatures(self) -> list[str]:
        return [f"{i.name}({', '.join(o.name for o in i.operands)})" for i in self.instructions]

    @cached_property
    def action_rows(self) -> Ints:
        """[A, 1 + most operands]: each action's instruction and operand choices as indices, padded with 0."""
        rows = np.zeros((self.action_count, 1 + max(1, self.most_operands)), np.int64)
        for number, (first, instruction) in enumerate(zip(self.offsets, self.instructions, strict=True)):
            for at, choice in enumerate(np.ndindex(*[len(o.values) for o in instruction.operands]), first):
                rows[at, : 1 + len(choice)] = (number, *choice)
        return rows

    @cached_property
    def operand_weights(self) -> Ints:
        """[I, most operands]: what one step of an operand adds to the number of an action."""
        weights = np.zeros((len(self.instructions), max(1, self.most_operands)), np.int64)
        for number, instruction in enumerate(self.instructions):
            for k in range(len(instruction.operands)):
                weights[number, k] = math.prod(len(o.values) for o in instruction.operands[k + 1 :])
        return weights

    @property
    def most_operands(self) -> int:
        """The largest number of operands of an instruction."""
        return max(len(i.operands) for i in self.instructions)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Every place where actions differ: the instruction first, then each instruction's operands."""
        found = [Slot("instruction", -1, -1, "integer", len(self.instructions))]
        for i, instruction in enumerate(self.instructions):
            for k, operand in enumerate(instruction.operands):
                found.append(Slot(f"{instruction.name}.{operand.name}", i, k, operand.kind, len(operand.values)))
        return tuple(found)

    # Network inputs

    @cached_property
    def encodings(self) -> tuple[Floats, ...]:
        """For each feature, the network inputs [values, width] of each of its values."""
        blocks = []
        for feature in self.features:
            if isinstance(feature, PreviousAction):
                blocks.append(self._encode_actions())
            elif feature.encoding == "number":
                blocks.append(np.array(feature.values, np.float32)[:, None])
            else:
                blocks.append(np.eye(len(feature.values), dtype=np.float32))
        return tuple(blocks)

    def _encode_actions(self) -> Floats:
        """[A + 1, width]: None first; the instruction one-hot, every instruction's operands, and a bit for None."""
        widths = [sum(o.input_size for o in i.operands) for i in self.instructions]
        kinds = len(self.instructions)
        table = np.zeros((self.action_count + 1, kinds + sum(widths) + 1), np.float32)
        table[0, -1] = 1
        for row, (instruction, *choices) in zip(table[1:], self.action_rows.tolist(), strict=True):
            row[instruction] = 1
            at = kinds + sum(widths[:instruction])
            for operand, choice in zip(self.instructions[instruction].operands, choices, strict=False):
                if operand.kind == "binary":
                    row[at] = choice
                else:
                    row[at + choice] = 1
                at += operand.input_size
        return table

    def encode(self, observations: Ints) -> Floats:
        """Return the network inputs [m, input_size] of packed observations [m]."""
        digits = self.digits(observations)
        return np.concatenate([block[digits[:, k]] for k, block in enumerate(self.encodings)], axis=1)


def _register_hint(operand: Operand, given: Hashable) -> str:
    """Return how to name a register that was given by its number, in words; nothing if it was something else."""
    if given not in operand.codes:
        return ""
    return f", and register {given} is written {operand.values[operand.codes.index(given)]}"


def _bare(text: str) -> str:
    """Return the text of an action without blanks and plus signs, which may be left out."""
    return text.replace(" ", "").replace("+", "")
