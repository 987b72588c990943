"""The types of the kernels that a task declares, checked one by one before loops are compiled of them.

An error in a whole loop would not say which declaration is wrong.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core.errors import NumbaError

from surpass.engine.types import record_of, types_of
from surpass.errors import DeclarationError
from surpass.machine.features import Comparison, Feature, Value
from surpass.machine.state import State
from surpass.tasks.task import Task
from surpass.tasks.user_code import place_of_function

STATE = record_of(State, "i1 i1 f1 i1")
"""The compiled type of one episode's memory."""

_OUTCOME = ((types.Integer, types.IntEnumMember), "RUNNING, SOLVED or WRONG")
_VALUE_NUMBER = ((types.Integer, types.Boolean), "the number of a value")
_TRUTH = ((types.Boolean,), "True or False")
_NUMBER = ((types.Number, types.Boolean), "a number")


class Declared(NamedTuple):
    """A kernel, what declares it, what it takes beside the state, and what it must return."""

    of: str
    kernel: Any
    arguments: tuple[Any, ...]
    """Their types."""
    returns: tuple[tuple[type, ...], str]


def declared_kernels(task: Task) -> Iterator[Declared]:
    """Yield every kernel that a task declares."""

    def of_value(kind: str, value: Value, returns: tuple[tuple[type, ...], str] = _NUMBER) -> Declared:
        return Declared(f"{kind} {value.name!r}", value.kernel, _numbers(value.arguments), returns)

    yield Declared("start", task.start, (), _OUTCOME)
    if task.is_right is not None:
        yield Declared("is_right", task.is_right, types_of("i1"), _TRUTH)
    for feature in task.interface.features:
        if isinstance(feature, Comparison):
            if feature.edge is not None:
                yield of_value("edge", feature.edge, _VALUE_NUMBER)
            yield from (of_value("value", side) for side in (feature.left, feature.right))
        elif isinstance(feature, Feature) and feature.kernel is not None:
            yield Declared(f"feature {feature.name!r}", feature.kernel, _numbers(feature.arguments), _VALUE_NUMBER)
    for instruction in task.interface.instructions:
        yield Declared(f"instruction {instruction.name}", instruction.does, _numbers(instruction.operands), _OUTCOME)
    yield from (of_value("hint", hint) for hint in task.hints)


def _numbers(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the types of as many numbers."""
    return (numba.int64,) * len(arguments)


def check_kernels(task: Task, *, compiling: bool = True) -> None:
    """Raise `DeclarationError` unless each kernel of a task is one, compiles, and returns what it must."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    for declared in declared_kernels(task):
        name, place = getattr(declared.kernel, "__name__", declared.kernel), place_of_function(declared.kernel)
        whose = f"task {task.name!r}, {declared.of}: {name!r}"
        if not hasattr(declared.kernel, "py_func"):
            raise DeclarationError(f"{whose} is not a kernel; write @surpass.kernel above it{place}")
        if compiling:
            returned, (kinds, needed) = _compile(declared, whose), declared.returns
            if not isinstance(returned, kinds):
                rare = " on some of its paths" if isinstance(returned, types.Optional) else ""
                found = f"nothing{rare}" if rare or returned == types.none else str(returned)
                raise DeclarationError(f"{whose} returns {found}; it must return {needed}{place}")


def _compile(declared: Declared, whose: str) -> Any:
    """Compile a kernel and return the type of what it returns."""
    signature = (STATE, *declared.arguments)
    try:
        declared.kernel.compile(signature)
    except (NumbaError, AssertionError, TypeError) as error:
        said = gist(error)
        place = "" if ", line " in said else place_of_function(declared.kernel)
        raise DeclarationError(f"{whose} does not compile: {said}{place}") from error
    return types.unliteral(declared.kernel.overloads[signature].signature.return_type)  # type: ignore[no-untyped-call]


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
