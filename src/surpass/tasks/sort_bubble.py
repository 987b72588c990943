"""sort-bubble: sort a list by swapping neighbours, with four index variables."""

from __future__ import annotations

from surpass.machine.interface import Interface
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import FROM_SMALL_LISTS, SORT, SWAP_WITH_NEXT, start_variables
from surpass.tasks.task import Memory, Task
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, V, variable_features

__all__ = ["SORT_BUBBLE"]

SORT_BUBBLE = Task(
    name="sort-bubble",
    summary="sort a list by swapping neighbours",
    interface=Interface(variable_features(), [SWAP_WITH_NEXT, MOVE_VAR, ASSIGN_VAR]),
    start=start_variables,
    memory=Memory(registers=V, reals=("in_order",)),
    inputs=list_inputs(),
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(10, 20),
    learning={"rl": FROM_SMALL_LISTS, "rl+imitation": FROM_SMALL_LISTS},
    signature=SORT,
    default_teacher="insertion_sort",
)
