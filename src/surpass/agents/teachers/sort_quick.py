"""Teachers of sort-quick."""

from __future__ import annotations

from surpass.agents.teacher import Do, See, teacher
from surpass.machine.instructions import Action
from surpass.tasks.sort_quick import SORT_QUICK


@teacher(SORT_QUICK)
def quick_sort(see: See, do: Do) -> Action:
    """Partition around the last value, then sort both sides by calls."""
    if see("function = None"):
        return do.FunctionCall(1, L, H, L, H, H)
    if see("function = 1"):
        return _sort_range(see, do)
    return _partition(see, do)


I, J, L, H = 1, 2, 3, 4
"""The variables i and j that run, and the ends l and h of the range."""


def _sort_range(see: See, do: Do) -> Action:
    if not see("v3 < v4"):
        return do.Return(H)
    previous = see.previous
    if previous is None:
        return do.FunctionCall(2, L, H, L, H, I)
    if previous == do.FunctionCall(2, L, H, L, H, I):
        return do.AssignVar(J, I)
    if previous == do.AssignVar(J, I):
        return do.MoveVar(I, -1)
    if previous == do.MoveVar(I, -1):
        return do.FunctionCall(1, L, H, L, I, I) if see("v1 > v3") else do.MoveVar(J, +1)
    if previous == do.FunctionCall(1, L, H, L, I, I):
        return do.MoveVar(J, +1)
    if previous == do.MoveVar(J, +1) and see("v2 < v4"):
        return do.FunctionCall(1, L, H, J, H, H)
    return do.Return(H)


def _partition(see: See, do: Do) -> Action:
    previous = see.previous
    if previous is None:
        return do.AssignVar(I, L)
    if previous == do.AssignVar(I, L):
        return do.AssignVar(J, L)
    if see("v2 < v4"):
        if previous == do.Swap(I, J):
            return do.MoveVar(I, +1)
        if previous in (do.AssignVar(J, L), do.MoveVar(J, +1)) and see("A[v2] < A[v4]"):
            return do.Swap(I, J) if see("v1 != v2") else do.MoveVar(I, +1)
        return do.MoveVar(J, +1)
    if previous == do.MoveVar(J, +1):
        return do.Swap(I, H)
    return do.Return(I)


@teacher(SORT_QUICK)
def hoare_sort(see: See, do: Do) -> Action:
    """Partition around the first value from both ends; call for the left side and loop for the right."""
    previous = see.previous
    call_left = do.FunctionCall(1, H, I, J, L, J)
    if previous == do.AssignVar(L, I):
        return do.AssignVar(J, H)
    if previous == do.AssignVar(H, J):
        return do.AssignVar(I, L)
    if previous == do.Swap(L, J):
        return do.MoveVar(J, -1)
    if previous == call_left or (previous == do.MoveVar(J, -1) and see("v1 > v2")):
        if see("v2 > v3") and previous != call_left:
            return call_left if see("v1 < v4") else do.AssignVar(H, J)
        return do.AssignVar(L, I) if see("v1 < v4") else do.Return(H)
    # The scan: j stops at a value that belongs to the left, then i at one that belongs to the right.
    # It ends with i just behind j, or with both at the end of the range, so always with a move of i.
    if see("v1 > v2") or (see("v1 = v2") and see("v1 = v4")):
        if see("v2 > v3"):
            return do.Swap(L, J)
        return do.AssignVar(L, I) if see("v1 < v4") else do.Return(H)
    if see("A[v2] > A[v3]"):
        return do.MoveVar(J, -1)
    if see("A[v1] <= A[v3]"):
        return do.MoveVar(I, +1)
    return do.Swap(I, J)
