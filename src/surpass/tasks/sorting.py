"""What the three sorting tasks share: swaps that keep count of the neighbours in order."""

from __future__ import annotations

from surpass.machine.kernel import kernel
from surpass.machine.state import FIRST, SCORE, SIZE, Outcome, State

__all__ = ["start_sorting", "start_variables", "swap", "swap_with_next"]

RUNNING, SOLVED = int(Outcome.RUNNING), int(Outcome.SOLVED)


@kernel
def start_sorting(state: State) -> int:
    """Count the neighbours in order in place; the list is solved if all are."""
    size = state.registers[SIZE]
    in_order = 0
    for k in range(size - 1):
        in_order += state.items[k] <= state.items[k + 1]
    state.reals[SCORE] = in_order
    if in_order >= size - 1:
        return SOLVED
    return RUNNING


@kernel
def start_variables(state: State) -> int:
    """Set v1 and v3 to the first position and v2 and v4 to the last, in place, and count the neighbours in order."""
    last = state.registers[SIZE] - 1
    state.registers[FIRST + 1] = last
    state.registers[FIRST + 3] = last
    return start_sorting(state)


@kernel
def _gain(after: bool, before: bool) -> int:
    """Return +1, 0 or -1 as a pair comes into order, stays or falls out of it."""
    return after * 1 - before * 1


@kernel
def swap(state: State, i: int, j: int) -> int:
    """Swap two positions in place; the list is solved when all neighbours are in order."""
    if i == j:
        return RUNNING
    items, size = state.items, state.registers[SIZE]
    first, second = min(i, j), max(i, j)
    a, b = items[first], items[second]
    gain = 0
    if first > 0:
        gain += _gain(items[first - 1] <= b, items[first - 1] <= a)
    if second == first + 1:
        gain += _gain(b <= a, a <= b)
    else:
        gain += _gain(b <= items[first + 1], a <= items[first + 1])
        gain += _gain(items[second - 1] <= a, items[second - 1] <= b)
    if second + 1 < size:
        gain += _gain(a <= items[second + 1], b <= items[second + 1])
    items[first], items[second] = b, a
    state.reals[SCORE] += gain
    if state.reals[SCORE] == size - 1:
        return SOLVED
    return RUNNING


@kernel
def swap_with_next(state: State, i: int) -> int:
    """Swap the position of variable `i` and the next one in place; at the last position do nothing."""
    position = state.registers[FIRST + i]
    if position + 1 == state.registers[SIZE]:
        return RUNNING
    return swap(state, position, position + 1)
