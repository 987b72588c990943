"""What an action is made of, choice by choice, as networks make them."""

from __future__ import annotations

from typing import NamedTuple

from surpass import Interface


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
