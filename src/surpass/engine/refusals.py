"""A look at each kernel that a task declares, before the engine's loops are made of them.

The compiler's own words about a whole loop would not say which declaration is wrong.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core.errors import NumbaError

from surpass.engine.types import record_of
from surpass.errors import DeclarationError, perhaps
from surpass.machine.features import Comparison, Feature, Value
from surpass.machine.instructions import Instruction
from surpass.machine.state import State
from surpass.tasks.blame import place_of_function, show_place
from surpass.tasks.task import Task

STATE = record_of(State, "i1 i1 f1 i1")
"""What the compiler calls the memory of one episode."""

_OUTCOME = ((types.Integer, types.IntEnumMember), "RUNNING, SOLVED or WRONG")
_NUMBER_OF_VALUE = ((types.Integer, types.Boolean), "the number of a value")
_NUMBER = ((types.Number, types.Boolean), "a number")


class Declared(NamedTuple):
    """A kernel, what it is of, how many numbers it is given beside the state, and what it must return."""

    task: str
    of: str
    kernel: Any
    arguments: int
    returns: tuple[tuple[type, ...], str]

    @property
    def whose(self) -> str:
        """The kernel and what it is of, in words."""
        return f"task {self.task!r}, {self.of}: {getattr(self.kernel, '__name__', self.kernel)!r}"

    @property
    def place(self) -> str:
        """Where the kernel stands, in words, with a blank before; nothing if it is no function of Python."""
        return place_of_function(self.kernel)


def of_start(task: Task) -> Declared:
    """Return a task's kernel `start` as it is declared."""
    return Declared(task.name, "start", task.start, 0, _OUTCOME)


def of_feature(task: Task, feature: Feature) -> tuple[Declared, ...]:
    """Return the kernels of a feature: its own; of a comparison the edge, if there is one, and the two sides."""
    if isinstance(feature, Comparison):
        sides = [_of_value(task, "value", value, _NUMBER) for value in (feature.left, feature.right)]
        edge = [] if feature.edge is None else [_of_value(task, "edge", feature.edge, _NUMBER_OF_VALUE)]
        return (*edge, *sides)
    if feature.kernel is None:
        return ()
    of = f"feature {feature.name!r}"
    return (Declared(task.name, of, feature.kernel, len(feature.arguments), _NUMBER_OF_VALUE),)


def _of_value(task: Task, kind: str, value: Value, returns: tuple[tuple[type, ...], str]) -> Declared:
    return Declared(task.name, f"{kind} {value.name!r}", value.kernel, len(value.arguments), returns)


def of_instruction(task: Task, instruction: Instruction) -> Declared:
    """Return the kernel of an instruction as it is declared."""
    of = f"instruction {instruction.name}"
    return Declared(task.name, of, instruction.does, len(instruction.operands), _OUTCOME)


def of_hints(task: Task) -> tuple[Declared, ...]:
    """Return the kernels of a task's own hints as they are declared."""
    return tuple(_of_value(task, "hint", hint, _NUMBER) for hint in task.hints)


def declared_kernels(task: Task) -> Iterator[Declared]:
    """Yield every kernel that a task declares."""
    yield of_start(task)
    for feature in task.interface.features:
        if isinstance(feature, Feature):
            yield from of_feature(task, feature)
    for instruction in task.interface.instructions:
        yield of_instruction(task, instruction)
    yield from of_hints(task)


def check_kernels(task: Task) -> None:
    """Raise `DeclarationError` unless every kernel of a task compiles and returns what it must."""
    check_shapes(task)
    for declared in declared_kernels(task):
        check_kernel(declared)


def check_shapes(task: Task) -> None:
    """Raise `DeclarationError` if something is no kernel, takes other parameters or calls itself; compile nothing."""
    for declared in declared_kernels(task):
        if not (hasattr(declared.kernel, "py_func") or numba.config.DISABLE_JIT):  # type: ignore[attr-defined]
            raise DeclarationError(f"{declared.whose} is no kernel; write @surpass.kernel above it{declared.place}")
        _check_parameters(declared)
        reached: set[Any] = set()
        way = _find_way_back(_function(declared.kernel), (), reached)
        for one in reached:
            _check_names(declared, one)
            if "print" in one.__code__.co_names and "print" not in one.__globals__:
                place = f"{Path(one.__code__.co_filename).name}, line {one.__code__.co_firstlineno}"
                raise DeclarationError(
                    f"task {declared.task!r}, {declared.of}: {one.__name__!r} calls print ({place}); a kernel must not"
                )
        if way:
            place = f"{Path(way[0].__code__.co_filename).name}, line {way[0].__code__.co_firstlineno}"
            through = "".join(f" by way of {step.__name__!r}" for step in way[1:])
            raise DeclarationError(
                f"task {declared.task!r}, {declared.of}: {way[0].__name__!r} calls itself{through} ({place}); "
                "a kernel must not, since nothing bounds how deep it goes: write a loop"
            )


def check_kernel(declared: Declared) -> None:
    """Raise `DeclarationError` unless a kernel compiles and returns what it must."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    signature = (STATE, *[numba.int64] * declared.arguments)
    try:
        declared.kernel.compile(signature)
    except (NumbaError, AssertionError) as error:
        raise DeclarationError(f"{declared.whose} does not compile: {gist(error)}") from error
    returned = types.unliteral(declared.kernel.overloads[signature].signature.return_type)  # type: ignore[no-untyped-call]
    kinds, needed = declared.returns
    if not isinstance(returned, kinds):
        some = "nothing on some of its paths" if isinstance(returned, types.Optional) else str(returned)
        found = "nothing" if returned == types.none else some
        raise DeclarationError(f"{declared.whose} returns {found}; it must return {needed}{declared.place}")


def _check_parameters(declared: Declared) -> None:
    function = _function(declared.kernel)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inspect.signature(function).parameters.values()):
        raise DeclarationError(
            f"{declared.whose} has a parameter with a star; a kernel names each of its parameters{declared.place}"
        )
    try:
        inspect.signature(function).bind(*[None] * (1 + declared.arguments))
    except TypeError:
        given = "the state" + (f" and {declared.arguments} more" if declared.arguments else " alone")
        takes = ", ".join(inspect.signature(function).parameters)
        raise DeclarationError(f"{declared.whose} takes ({takes}) but is given {given}{declared.place}") from None


def _check_names(declared: Declared, function: Any) -> None:
    """Raise `DeclarationError` about a name in a kernel that stands for nothing, with its line."""
    line = function.__code__.co_firstlineno
    for step in dis.get_instructions(function):
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname != "LOAD_GLOBAL" or step.argval in function.__globals__ or hasattr(builtins, step.argval):
            continue
        near = perhaps(step.argval, [name for name in function.__globals__ if not name.startswith("_")])
        whose = f"task {declared.task!r}, {declared.of}: {function.__name__!r}"
        place = show_place(function.__code__, line)[1]
        raise DeclarationError(f"{whose} names {step.argval}, which is not defined{near} ({place})")


def _function(kernel: Any) -> Callable[..., Any]:
    """Return the plain function of a kernel."""
    function: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return function


def _find_way_back(function: Any, before: tuple[Any, ...], done: set[Any] | None = None) -> tuple[Any, ...]:
    """Return the functions by way of which one of those that `function` calls comes back to itself, if any does."""
    done = set() if done is None else done
    if function in before:
        return before[before.index(function) :]
    if function in done:
        return ()
    done.add(function)
    for called in _called_by(function):
        way = _find_way_back(called, (*before, function), done)
        if way:
            return way
    return ()


def _called_by(function: Any) -> Iterator[Any]:
    """Yield the functions of Python that a kernel names: in its file, around it, or in a module that it names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells}
    thing: Any = None
    for step in dis.get_instructions(function):
        if step.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            thing = (around if step.opname == "LOAD_DEREF" else function.__globals__).get(step.argval)
        else:  # an attribute of a module may be a kernel, one of anything else is a number
            is_part = step.opname in ("LOAD_ATTR", "LOAD_METHOD") and inspect.ismodule(thing)
            thing = getattr(thing, step.argval, None) if is_part else None
        if hasattr(thing, "py_func") or (numba.config.DISABLE_JIT and inspect.isfunction(thing)):  # type: ignore[attr-defined]
            yield _function(thing)


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
