"""Teachers of sort-full."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surpass.agents.teacher import teacher
from surpass.tasks.sort_full import SORT_FULL


@teacher(SORT_FULL)
def selection_sort(lists: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Swap the smallest value that is not in its place into it."""
    right = np.sort(lists, axis=1)
    misplaced = lists != right
    first = misplaced.argmax(axis=1)
    wanted = right[np.arange(len(lists)), first]
    # Of equal values take the last misplaced one: it has the furthest to go.
    candidates = misplaced & (lists == wanted[:, None])
    last = lists.shape[1] - 1 - candidates[:, ::-1].argmax(axis=1)
    return np.stack([first, last], axis=1)
