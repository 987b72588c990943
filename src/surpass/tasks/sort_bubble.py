"""sort-bubble: sort a list by swapping neighbours, with four index variables."""

from __future__ import annotations

from surpass.machine.features import value
from surpass.machine.instructions import Action
from surpass.machine.interface import Interface
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import SORT, SWAP_WITH_NEXT, count_inversions, start_variables
from surpass.tasks.task import Memory, Task
from surpass.tasks.teacher import Do, See, teacher
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, V, positions, variable_features

SORT_BUBBLE = Task(
    name="sort-bubble",
    summary="sort a list by swapping neighbours",
    interface=Interface(variable_features(), [SWAP_WITH_NEXT, MOVE_VAR, ASSIGN_VAR]),
    start=start_variables,
    memory=Memory(registers=V, reals=("in_order",)),
    inputs=list_inputs(),
    hints=(value("inversions", count_inversions), *positions()),
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(10, 20),
    signature=SORT,
    default_teacher="insertion_sort",
)


@teacher(SORT_BUBBLE)
def bubble_sort(see: See, do: Do) -> Action:
    """Carry the largest value to the end of the unsorted part, again and again."""
    if see("v1 < v2"):
        return do.SwapWithNext(1) if see("A[v1] > A[v1+1]") else do.MoveVar(1, +1)
    if see("v1 = v2"):
        return do.MoveVar(2, -1)
    return do.AssignVar(1, 3)


@teacher(SORT_BUBBLE)
def insertion_sort(see: See, do: Do) -> Action:
    """Carry each value back to its place in the sorted part."""
    if see("v1 < v2"):
        return do.AssignVar(2, 1)
    if see("v1 = v2"):
        return do.MoveVar(1, +1)
    if see("A[v2] > A[v2+1]"):
        return do.SwapWithNext(2)
    if see("A[v2] < A[v2-1]"):
        return do.MoveVar(2, -1)
    return do.AssignVar(2, 1)
