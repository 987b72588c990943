"""sort-full: sort a list by swapping any two positions, seeing all of it at every step."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints
from surpass.machine.features import value
from surpass.machine.instructions import Instruction, pointer
from surpass.machine.interface import Interface
from surpass.tasks.enumeration import every_list
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import count_in_place, start_sorting, swap
from surpass.tasks.task import Memory, Task
from surpass.tasks.teacher import teacher

FROM_SWAPS_THAT_PLACE = {
    "progress": "in_place",
    "shaping": 1.0,
    "step_cost": 0.1,
    "discount": 0.5,
    "evenness_weight": 0.01,
    "entropy_weight": 0.0,
    "baseline": "network",
    "baseline_weight": 0.5,
    "learning_rate": 1e-3,
    "final_learning_rate": 3e-5,
    "unroll": 4,
    "episodes": 64,
    "smallest": 4,
    "first_smallest": 3,
    "first_largest": 5,
    "growth": 20,
    "updates": 4000,
    "updates_per_round": 25,
    "checked": 50,
    "kept_at": 40,
}
"""Settings of reinforcement learning that reward a swap at once for each value that it brings to its place."""

SORT_FULL = Task(
    name="sort-full",
    summary="sort a list by swapping any two positions, seeing all of it",
    interface=Interface([], [Instruction("Swap", pointer("i"), pointer("j"), does=swap)]),
    start=start_sorting,
    memory=Memory(reals=("in_order",)),
    # A network that sees whole lists runs some thousand lists a second.
    inputs=list_inputs(small=every_list(largest=6)),
    hints=(value("in_place", count_in_place),),
    find_wrong=wrongly_sorted,
    limit="n^2",
    sizes=(5, 10, 20, 30, 40, 50),
    training_sizes=(10, 20),
    learning={
        "rl": FROM_SWAPS_THAT_PLACE,
        "rl+imitation": {
            **FROM_SWAPS_THAT_PLACE,
            "imitation_weight": 0.3,
            "imitation_updates": 400,
            "growth": 15,
            "checked": 20,
            "kept_at": 0,
        },
    },
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
