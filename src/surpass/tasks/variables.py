"""Four index variables over a list: what can be seen of them, and the instructions that move them.

They are the first four registers of a task (v1 to v4). Sorting and searching share this view.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from surpass.machine.features import Feature, comparison
from surpass.machine.instructions import STEPS, Instruction, binary
from surpass.machine.instructions import variables as variable
from surpass.machine.kernel import kernel
from surpass.machine.state import FIRST, SIZE, State

__all__ = ["ASSIGN_VAR", "COUNT", "MOVE_VAR", "VARIABLES", "assign", "compare", "look", "move", "variable_features"]

COUNT = 4
VARIABLES = tuple(f"v{k}" for k in range(1, COUNT + 1))

MOVE_VAR = Instruction("MoveVar", variable("i", COUNT), binary("direction", STEPS))
ASSIGN_VAR = Instruction("AssignVar", variable("i", COUNT), variable("j", COUNT))


def variable_features() -> Iterator[Feature]:
    """Yield the 20 features of the four variables: each pair's, then each one's with its neighbours."""
    for k, a in enumerate(VARIABLES):
        for b in VARIABLES[k + 1 :]:
            yield comparison(a, b)
            yield comparison(f"A[{a}]", f"A[{b}]")
    for v in VARIABLES:
        before, after = f"A[{v}] ? A[{v}-1]", f"A[{v}] ? A[{v}+1]"
        yield Feature(before, ("low", ">", "=", "<"), labels=(f"{v} = low", *_signs(before)))
        yield Feature(after, (">", "=", "<", "high"), labels=(*_signs(after), f"{v} = high"))


def _signs(name: str) -> tuple[str, ...]:
    return tuple(name.replace("?", sign) for sign in (">", "=", "<"))


@kernel
def compare(a: float, b: float) -> int:
    """Return 0, 1 or 2 as `a` is less than, equal to or greater than `b`."""
    return (a >= b) * 1 + (a > b) * 1


@kernel
def _compare_before(items: npt.NDArray[np.int64], v: int) -> int:
    if v == 0:
        return 0
    return 3 - compare(items[v], items[v - 1])


@kernel
def _compare_after(items: npt.NDArray[np.int64], v: int, size: int) -> int:
    if v + 1 == size:
        return 3
    return 2 - compare(items[v], items[v + 1])


@kernel
def look(state: State) -> tuple[int, ...]:
    """Return the value numbers of `variable_features`."""
    registers, items = state.registers, state.items
    size = registers[SIZE]
    v1, v2, v3, v4 = registers[FIRST], registers[FIRST + 1], registers[FIRST + 2], registers[FIRST + 3]
    a1, a2, a3, a4 = items[v1], items[v2], items[v3], items[v4]
    return (
        compare(v1, v2),
        compare(a1, a2),
        compare(v1, v3),
        compare(a1, a3),
        compare(v1, v4),
        compare(a1, a4),
        compare(v2, v3),
        compare(a2, a3),
        compare(v2, v4),
        compare(a2, a4),
        compare(v3, v4),
        compare(a3, a4),
        _compare_before(items, v1),
        _compare_after(items, v1, size),
        _compare_before(items, v2),
        _compare_after(items, v2, size),
        _compare_before(items, v3),
        _compare_after(items, v3, size),
        _compare_before(items, v4),
        _compare_after(items, v4, size),
    )


@kernel
def move(state: State, i: int, direction: int) -> None:
    """Move variable `i` in place by -1 (direction 0) or +1 (direction 1), no further than the ends of the list."""
    registers = state.registers
    moved = registers[FIRST + i] + 2 * direction - 1
    registers[FIRST + i] = min(max(moved, 0), registers[SIZE] - 1)


@kernel
def assign(state: State, i: int, j: int) -> None:
    """Set variable `i` in place to variable `j`."""
    state.registers[FIRST + i] = state.registers[FIRST + j]
