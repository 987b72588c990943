"""sort-bubble with notes about the list, and agents with faults that show on few lists only."""

from __future__ import annotations

import surpass
from surpass.machine.instructions import Action
from surpass.machine.state import SIZE
from surpass.tasks.lists import wrongly_sorted
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.teacher import Do, See, teacher


@surpass.kernel
def is_odd_one(state: surpass.State) -> bool:
    """Tell whether the list is a certain one of seven values."""
    a = state.items
    return state.registers[SIZE] == 7 and (
        a[0] == 3 and a[1] == 0 and a[2] == 6 and a[3] == 1 and a[4] == 5 and a[5] == 2 and a[6] == 4
    )


@surpass.kernel
def has_two(state: surpass.State) -> bool:
    """Tell whether the list has two values."""
    return state.registers[SIZE] == 2


@surpass.kernel
def is_large(state: surpass.State) -> bool:
    """Tell whether the list has more than 20 values."""
    return state.registers[SIZE] > 20


NOTED_SORTING = surpass.register_task(
    surpass.Task(
        name="noted-sorting",
        summary="sort a list by swapping neighbours, with notes about it",
        interface=surpass.Interface(
            [
                *SORT_BUBBLE.interface.features,
                surpass.flag("A is 3,0,6,1,5,2,4", is_odd_one),
                surpass.flag("n = 2", has_two),
                surpass.flag("n > 20", is_large),
            ],
            SORT_BUBBLE.interface.instructions,
        ),
        start=SORT_BUBBLE.start,
        memory=SORT_BUBBLE.memory,
        inputs=surpass.list_inputs(),
        find_wrong=wrongly_sorted,
    )
)


def insert(see: See, do: Do) -> Action:
    if see("v1 < v2"):
        return do.AssignVar(2, 1)
    if see("v1 = v2"):
        return do.MoveVar(1, +1)
    if see("A[v2] > A[v2+1]"):
        return do.SwapWithNext(2)
    if see("A[v2] < A[v2-1]"):
        return do.MoveVar(2, -1)
    return do.AssignVar(2, 1)


@teacher(NOTED_SORTING)
def sound(see: See, do: Do) -> Action:
    """Sort."""
    return insert(see, do)


@teacher(NOTED_SORTING)
def stuck_on_one_of_seven(see: See, do: Do) -> Action:
    """Do nothing for ever if the list is a certain one at the start."""
    at_start = see("v1 = low") and see("v2 = high")
    return do.MoveVar(1, -1) if see("A is 3,0,6,1,5,2,4") and at_start else insert(see, do)


@teacher(NOTED_SORTING)
def stuck_on_two(see: See, do: Do) -> Action:
    """Go to and fro if the list has two values."""
    if not see("n = 2"):
        return insert(see, do)
    return do.MoveVar(1, -1) if see("v1 = high") else do.MoveVar(1, +1)


@teacher(NOTED_SORTING)
def stuck_on_large(see: See, do: Do) -> Action:
    """Do nothing for ever at the end of a list of more than 20 values."""
    return do.MoveVar(1, +1) if see("n > 20") and see("v1 = high") else insert(see, do)
