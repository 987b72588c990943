"""The compiled loop that reads a hint off many lists.

A template like the engine's own: `specialise` fills in the names below the line for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.machine.state import State

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import hints
    from surpass.engine.kernels import start_one


@numba.njit(nogil=True, cache=True)
def read_hint(batch: Batch, sizes: Ints, items: Ints, reals: Reals, number: int, found: Reals) -> None:
    """Write hint `number` of each instance to `found` [m], in place; `batch` has room for one episode."""
    for k in range(len(found)):
        start_one(batch, 0, sizes, items, reals, k)
        hinted = hints(State(batch.registers[0], batch.items[0], batch.reals[0], batch.stack[0]))
        found[k] = hinted[number]
