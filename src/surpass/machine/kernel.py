"""The decorator for compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

P = ParamSpec("P")
R = TypeVar("R")

UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""For a function that allocates nothing: it does not count references to its arrays, which its caller keeps alive.

To count those to the arrays of a state, up and down again at every small kernel, takes longer than the kernels do.
"""
_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Inner(CPUDispatcher):
    """A compiled function that others call. No way in from Python is compiled, which would take a third of the time.

    When Python calls it nevertheless, it is compiled once more, with a way in.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the function returns."""
        return self._with_a_way_in(*arguments, **named)

    @cached_property
    def _with_a_way_in(self) -> Callable[..., Any]:
        options = {name: value for name, value in self.targetoptions.items() if name not in _NO_WAY_IN}
        return cast(Callable[..., Any], CPUDispatcher(self.py_func, targetoptions=options))


def inner(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    """Return `function`, which allocates nothing, compiled by Numba when another compiled function first calls it."""
    compiled = numba.njit(**options, **UNCOUNTED)(function)
    if compiled is not function:  # unless the compiler is off
        compiled = Inner(function, targetoptions={**compiled.targetoptions, **_NO_WAY_IN})
    return cast(Callable[P, R], compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` compiled by Numba when it is first called, inlined where another kernel calls it.

    A task's `start`, `observe` and `act` and all that they call are kernels. They work on numbers, tuples and arrays,
    neither validate nor raise, and are not cached one by one: the engine caches the loops into which they go.
    """
    # Without forced inlining the tuple that `observe` returns goes through memory, at half the speed.
    return inner(function, forceinline=True)
