"""A look at each kernel that a task declares, before the engine's loops are made of them.

The compiler's own words about a whole loop would not say which declaration is wrong.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core.errors import NumbaError

from surpass.errors import DeclarationError
from surpass.machine.features import Comparison, Feature
from surpass.machine.state import State
from surpass.tasks.task import Task

__all__ = ["STATE", "check_kernels", "gist"]

_I1 = numba.int64[::1]
STATE = types.NamedTuple([_I1, _I1, numba.float64[::1], _I1], State)  # type: ignore[no-untyped-call]
"""What the compiler calls the memory of one episode."""

_OUTCOME = ((types.Integer, types.IntEnumMember), "RUNNING, SOLVED or WRONG")
_NUMBER_OF_VALUE = ((types.Integer, types.Boolean), "the number of a value")
_NUMBER = ((types.Number, types.Boolean), "a number")


class _Declared(NamedTuple):
    """A kernel, what it is of, how many numbers it is given beside the state, and what it must return."""

    of: str
    kernel: Any
    arguments: int
    returns: tuple[tuple[type, ...], str]


def _declared(task: Task) -> Iterator[_Declared]:
    yield _Declared("start", task.start, 0, _OUTCOME)
    for feature in task.interface.features:
        if isinstance(feature, Comparison):
            for value in (feature.left, feature.right):
                yield _Declared(f"value {value.name!r}", value.kernel, len(value.arguments), _NUMBER)
            if feature.edge is not None:
                yield _Declared(
                    f"edge {feature.edge.name!r}", feature.edge.kernel, len(feature.edge.arguments), _NUMBER_OF_VALUE
                )
        elif isinstance(feature, Feature) and feature.kernel is not None:
            yield _Declared(f"feature {feature.name!r}", feature.kernel, len(feature.arguments), _NUMBER_OF_VALUE)
    for instruction in task.interface.instructions:
        yield _Declared(f"instruction {instruction.name}", instruction.does, len(instruction.operands), _OUTCOME)


def check_kernels(task: Task) -> None:
    """Raise `DeclarationError` unless every kernel of a task compiles and returns what it must."""
    for declared in _declared(task):
        whose = f"task {task.name!r}, {declared.of}: {getattr(declared.kernel, '__name__', declared.kernel)!r}"
        if not hasattr(declared.kernel, "py_func"):
            raise DeclarationError(f"{whose} is no kernel; write @surpass.kernel above it")
        _check_parameters(declared, whose)
        signature = (STATE, *[numba.int64] * declared.arguments)
        try:
            declared.kernel.compile(signature)
        except (NumbaError, AssertionError) as error:
            raise DeclarationError(f"{whose} does not compile: {gist(error)}") from error
        returned = types.unliteral(declared.kernel.overloads[signature].signature.return_type)  # type: ignore[no-untyped-call]
        kinds, needed = declared.returns
        if not isinstance(returned, kinds):
            some = "nothing on some of its paths" if isinstance(returned, types.Optional) else str(returned)
            found = "nothing" if returned == types.none else some
            raise DeclarationError(f"{whose} returns {found}; it must return {needed}")


def _check_parameters(declared: _Declared, whose: str) -> None:
    function: Callable[..., Any] = declared.kernel.py_func
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inspect.signature(function).parameters.values()):
        raise DeclarationError(f"{whose} has a parameter with a star; a kernel names each of its parameters")
    try:
        inspect.signature(function).bind(*[None] * (1 + declared.arguments))
    except TypeError:
        given = "the state" + (f" and {declared.arguments} more" if declared.arguments else " alone")
        takes = ", ".join(inspect.signature(function).parameters)
        raise DeclarationError(f"{whose} takes ({takes}) but is given {given}") from None


def gist(error: Exception) -> str:
    """Return what a compiler's error says is wrong, and where, as one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in nopython mode")]
    said = itertools.takewhile(lambda line: not line.startswith(("File ", "During:", "There are ")), lines)
    what = re.sub(r"State\((?:array\([^)]*\)(?:, )?)+\)", "State", " ".join(list(said)[:3]))
    if "NRT required" in str(error):
        what = "it makes a new array or copies part of one; a kernel reads and writes single numbers"
    place = re.search(r'^File "([^"]*)", line (\d+):(?:[^\0]*?def (\w+))?', "\n".join(lines), re.MULTILINE)
    return f"{what} ({Path(place[1]).name}, line {place[2]}, in {place[3]})" if place else what
