"""Teachers of sort-bubble."""

from __future__ import annotations

from surpass.agents.teacher import Do, See, teacher
from surpass.machine.instructions import Action
from surpass.tasks.sort_bubble import SORT_BUBBLE


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
