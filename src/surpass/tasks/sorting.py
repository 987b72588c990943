"""What the three sorting tasks share: swaps that keep count of the neighbours in order."""

from __future__ import annotations

from surpass.machine.instructions import Instruction
from surpass.machine.kernel import kernel
from surpass.machine.state import RUNNING, SCORE, SIZE, SOLVED, State
from surpass.tasks.signature import Signature
from surpass.tasks.variables import V, one_of

SORT = Signature(
    name="sort",
    summary="sort a list in place",
    note="The neighbours in order are counted, at a fixed cost for each swap, and the run ends the moment all are.",
)


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
    state.registers[V.v2] = last
    state.registers[V.v4] = last
    return start_sorting(state)


@kernel
def count_inversions(state: State) -> int:
    """Return how many pairs of positions are out of order."""
    items, size = state.items, state.registers[SIZE]
    inversions = 0
    for i in range(size):
        for j in range(i + 1, size):
            inversions += items[j] < items[i]
    return inversions


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
def swap_with_next(state: State, v: int) -> int:
    """Swap the value under a variable and the next one in place; at the last position do nothing."""
    position = state.registers[v]
    if position + 1 == state.registers[SIZE]:
        return RUNNING
    return swap(state, position, position + 1)


SWAP_WITH_NEXT = Instruction("SwapWithNext", one_of[0], does=swap_with_next)
