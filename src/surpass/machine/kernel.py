"""The decorator for compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""For a function that allocates nothing: it does not count references to its arrays, which its caller keeps alive.

To count those to the arrays of a state, up and down again at every small kernel, takes longer than the kernels do.
"""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` compiled by Numba when it is first called, inlined where another kernel calls it.

    A task's `start`, `observe` and `act` and whatever they call are kernels. They work on numbers, tuples and arrays,
    neither validate nor raise, and are not cached one by one: the engine caches the loops into which they go.
    """
    # Without forced inlining the tuple that `observe` returns goes through memory, at half the speed.
    return cast(Callable[P, R], numba.njit(forceinline=True, **UNCOUNTED)(function))
