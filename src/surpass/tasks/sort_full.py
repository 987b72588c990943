"""sort-full: sort a list by swapping any two positions, seeing all of it at every step."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints
from surpass.machine.instructions import Instruction, pointer
from surpass.machine.interface import Interface
from surpass.tasks.enumeration import every_list
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import start_sorting, swap
from surpass.tasks.task import Memory, Task
from surpass.tasks.teacher import teacher

SORT_FULL = Task(
    name="sort-full",
    summary="sort a list by swapping any two positions, seeing all of it",
    interface=Interface([], [Instruction("Swap", pointer("i"), pointer("j"), does=swap)]),
    start=start_sorting,
    memory=Memory(reals=("in_order",)),
    # A network that sees whole lists runs some thousand lists a second.
    inputs=list_inputs(small=every_list(largest=6)),
    find_wrong=wrongly_sorted,
    limit="n^2",
    sizes=(5, 10, 20, 30, 40, 50),
    training_sizes=(10, 20),
    default_teacher="selection_sort",
)


@teacher(SORT_FULL)
def selection_sort(lists: Ints) -> Ints:
    """Swap the smallest value that is not in its place into it."""
    right = np.sort(lists, axis=1)
    misplaced = lists != right
    first = misplaced.argmax(axis=1)
    wanted = right[np.arange(len(lists)), first]
    # Of equal values take the last misplaced one: it has the furthest to go.
    candidates = misplaced & (lists == wanted[:, None])
    last = lists.shape[1] - 1 - candidates[:, ::-1].argmax(axis=1)
    return np.stack([first, last], axis=1)
