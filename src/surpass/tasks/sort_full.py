"""sort-full: sort a list by swapping any two positions, seeing all of it at every step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surpass.machine.instructions import Instruction, pointer
from surpass.machine.interface import Interface
from surpass.tasks.enumeration import every_list
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import start_sorting, swap
from surpass.tasks.task import Memory, Task

__all__ = ["SORT_FULL", "edge_features"]


def edge_features(lists: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return the graph of each list [B, n] as edge features [B, n, n, 2]: sign(i - j) and sign(A[i] - A[j])."""
    positions = np.arange(lists.shape[1])
    places = np.broadcast_to(np.sign(positions[:, None] - positions[None, :]), (*lists.shape, lists.shape[1]))
    values = np.sign(lists[:, :, None] - lists[:, None, :])
    return np.stack([places, values], axis=-1).astype(np.int8)


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
