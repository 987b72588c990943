"""Four index variables over a list: what can be seen of them, and the instructions that move them.

Sorting and searching share this view.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from surpass.machine.features import Comparison, Value, comparison, value
from surpass.machine.instructions import STEPS, Instruction, binary, variable
from surpass.machine.kernel import kernel
from surpass.machine.state import RUNNING, SIZE, State, registers

V = registers("v1", "v2", "v3", "v4")
NAMES: tuple[str, ...] = V._fields


@kernel
def position(state: State, v: int) -> int:
    """Return where a variable stands."""
    return state.registers[v]


@kernel
def item(state: State, v: int) -> int:
    """Return the value under a variable."""
    return state.items[state.registers[v]]


@kernel
def before(state: State, v: int) -> int:
    """Return the value before the one under a variable."""
    return state.items[state.registers[v] - 1]


@kernel
def after(state: State, v: int) -> int:
    """Return the value after the one under a variable."""
    return state.items[state.registers[v] + 1]


@kernel
def is_first(state: State, v: int) -> bool:
    """Tell whether a variable stands at the first position."""
    return state.registers[v] == 0


@kernel
def is_last(state: State, v: int) -> bool:
    """Tell whether a variable stands at the last position."""
    return state.registers[v] + 1 == state.registers[SIZE]


def positions() -> Iterator[Value]:
    """Yield where each variable stands, as hints."""
    for v, i in zip(NAMES, V, strict=True):
        yield value(v, position, i)


def variable_features() -> Iterator[Comparison]:
    """Yield the 20 features of the four variables: each pair's, then each one's with its neighbours."""
    for (a, i), (b, j) in combinations(zip(NAMES, V, strict=True), 2):
        yield comparison(value(a, position, i), value(b, position, j))
        yield comparison(value(f"A[{a}]", item, i), value(f"A[{b}]", item, j))
    for v, i in zip(NAMES, V, strict=True):
        here, at_low, at_high = (
            value(f"A[{v}]", item, i),
            value(f"{v} = low", is_first, i),
            value(f"{v} = high", is_last, i),
        )
        yield comparison(here, value(f"A[{v}-1]", before, i), values=("low", ">", "=", "<"), edge=at_low)
        yield comparison(here, value(f"A[{v}+1]", after, i), values=(">", "=", "<", "high"), edge=at_high)


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable by a step in place, no further than the ends of the list."""
    state.registers[v] = min(max(state.registers[v] + step, 0), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def assign(state: State, v: int, other: int) -> int:
    """Set a variable in place to another one."""
    state.registers[v] = state.registers[other]
    return RUNNING


one_of = [variable(name, *V) for name in ("i", "j", "k")]
"""Operands that name one of the four variables."""
MOVE_VAR = Instruction("MoveVar", one_of[0], binary("direction", STEPS), does=move)
ASSIGN_VAR = Instruction("AssignVar", one_of[0], one_of[1], does=assign)
