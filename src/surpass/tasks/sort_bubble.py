"""sort-bubble: sort a list by swapping neighbours, with four index variables."""

from __future__ import annotations

from surpass.machine.features import value
from surpass.machine.instructions import Action
from surpass.machine.interface import Interface
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import FROM_SMALL_LISTS, SORT, SWAP_WITH_NEXT, count_inversions, start_variables
from surpass.tasks.task import Memory, Task
from surpass.tasks.teacher import Do, See, teacher
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, NAMES, V, positions, variable_features

_NEIGHBOURS = [f"A[{v}] ? A[{v}{by}]" for v in NAMES for by in ("-1", "+1")]
FROM_FORKS = {
    "policy": "forks",
    "views": f"v1 ? v2,{','.join(_NEIGHBOURS[:4])}|v? ? v?,{','.join(_NEIGHBOURS)}",
    "stages": "3-10 3-20",
    "updates": 60,
    "updates_per_round": 5,
    "softness": 2.0,
    "shrink": 10.0,
    "largest_change": 0.5,
    "straying": 0.5,
    "fresh": 0.5,
    "limit": "4n^2",
    "data": "uniform,uniform,uniform,repeats",
}
"""Settings of reinforcement learning that try one other action at a time. Views: two variables and what is beside them,
then all four."""

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
    learning={
        "rl": {
            **FROM_FORKS,
            "start": "zoo:sort-bubble/rl-network",
            "settled_every": 2,
            "change_price": 0.02,
            "mending_updates": 5,
            "mended_on": "data",
        },
        "rl, table": {
            "policy": "table",
            "stages": "2-4 2-6 3-8 3-12",
            "attempts": 5,
            "updates": 200,
            "last_updates": 60,
            "temperature": 1.0,
            "straying": 0.5,
            "trace": 0.8,
            "solved": 0.97,
            "mending": 40,
            "mending_updates": 40,
            "mended_on": "data",
            "data": "uniform,uniform,uniform,repeats",
        },
        "rl, network": FROM_SMALL_LISTS,
        "rl+imitation": FROM_FORKS,
        "rl+imitation, table": {
            "policy": "table",
            "stages": "3-6 3-6 3-8 3-8 3-12 3-20 3-20",
            "updates": 300,
            "temperature": 0.0,
            "final_temperature": 0.0,
            "restart": 4.0,
            "explored": 0.04,
            "final_explored": 0.001,
            "data": "uniform,uniform,uniform,uniform,uniform,uniform,repeats",
        },
        "rl+imitation, network": FROM_SMALL_LISTS,
    },
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
