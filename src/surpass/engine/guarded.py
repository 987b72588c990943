"""Kernels as plain Python on arrays that refuse what compiled code would do silently.

Compiled code neither checks an index nor knows when to stop. Here each access is checked and a call has a time limit,
so what goes wrong has a name and a line. It is meant for a process of its own: see `trial`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from surpass.errors import DeclarationError
from surpass.machine import calls
from surpass.machine.calls import FRAME
from surpass.machine.kernel import Inner
from surpass.machine.state import DEPTH, FIRST, LOCALS, SIZE, State
from surpass.tasks.blame import is_own, place_of, show_place
from surpass.tasks.task import Task

Ints = npt.NDArray[np.int64]

_CALLS = calls.__file__
_LOW, _SPAN = -(2**63), 2**64


class Refused(BaseException):
    """A kernel did what it must not; no `except Exception` of a kernel catches it."""


class Endless(BaseException):
    """A call took longer than its time limit; `place` is the function that goes round and where, if it is known."""

    def __init__(self, place: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.place = place


class Guarded(np.ndarray[Any, Any]):
    """A row of an episode's memory that refuses every index outside of it; what is read is a plain number of Python."""

    label: str = ""
    guard: Guard | None = None
    is_memory: bool | None = False
    """Whether this is memory of the episode; None if that is still to be seen."""

    def __array_finalize__(self, made_of: Any) -> None:
        # A part of the memory is guarded as it is; what is made of it, such as a copy, is free.
        self.label = getattr(made_of, "label", "")
        self.guard = getattr(made_of, "guard", None)
        self.is_memory = None if self.guard is not None else False

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            if not 0 <= index < len(self):
                raise Refused(self._outside("reads", index))
            return self.item(int(index))
        _check_index(index)
        part = super().__getitem__(index)
        if self.label == "registers" and isinstance(index, slice) and index.indices(len(self))[0] >= FIRST:
            part.label = "a part of the registers"  # in which the numbers of registers do not count
        return part

    def __iter__(self) -> Iterator[Any]:
        # By itself Python would ask for one index more, to see where it ends.
        return iter(self.tolist())

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.guard is not None and self.is_memory is not False:
            if self.is_memory is None:
                self.is_memory = any(np.may_share_memory(self, array) for array in self.guard.memory)
            if self.is_memory:
                self.guard.check_write(self.label, index, sys._getframe(1))
        if isinstance(index, int | np.integer):
            if not 0 <= index < len(self):
                raise Refused(self._outside("writes", index))
            if type(value) is int and self.dtype == np.int64:
                value = (value - _LOW) % _SPAN + _LOW  # as compiled code does, which has 64 bits
        else:
            _check_index(index)
        super().__setitem__(index, value)

    def _outside(self, does: str, index: Any) -> str:
        count = len(self)
        if self.label == "registers" and self.guard is not None:
            own = self.guard.names
            declared = f"{FIRST} to {count - 1} ({', '.join(own)})" if own else "none of its own"
            return f"{does} register {index}, but the task declares {declared}"
        has = f"{count} values, 0 to {count - 1}" if count > 1 else "one value, 0" if count else "no values"
        return f"{does} {self.label or 'an array'}[{index}], but it has {has}"


def _check_index(index: Any) -> None:
    """Raise `TypeError` about what no compiler takes as an index."""
    if not isinstance(index, slice | tuple | np.ndarray | type(Ellipsis)):
        raise TypeError(f"{index!r} is no index")


class Guard:
    """One episode's memory under guard, and what kernels may do to it."""

    def __init__(self, task: Task, registers: Ints, items: Ints, reals: npt.NDArray[np.float64], stack: Ints) -> None:
        self.names = tuple(getattr(task.memory.registers, "_fields", ()))
        self.frame = task.frame_size
        self.may_write = True
        self.opened = 0
        """How many calls the running kernel has opened."""
        self.memory = (registers, items, reals, stack)
        self.state = State(*(self._view(*pair) for pair in zip(State._fields, self.memory, strict=True)))

    def _view(self, label: str, array: npt.NDArray[Any]) -> Any:
        view = array.view(Guarded)
        view.label, view.guard, view.is_memory = label, self, True
        return view

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return int(self.memory[0][DEPTH])

    def begin(self, most_calls: int) -> State:
        """Return the state for a kernel that may open this many calls."""
        self.opened = 0
        state, room = self.state, (self.depth + most_calls) * self.frame
        return state._replace(stack=state.stack[: max(0, room)])

    def check_write(self, label: str, index: Any, frame: FrameType) -> None:
        """Raise `Refused` unless a kernel may write there."""
        if not self.may_write:
            raise Refused(f"writes {label}, but what a program sees must only be read")
        if frame.f_code.co_filename == _CALLS:
            return
        if label == "stack":
            raise Refused("writes the stack, which belongs to enter and leave")
        if label != "registers":
            return
        whole = range(len(self.memory[0]))
        written = whole[index] if isinstance(index, slice) else (index,)
        for register, name in ((SIZE, "SIZE"), (DEPTH, "DEPTH"), (LOCALS, "LOCALS")):
            if register not in written:
                continue
            raise Refused(f"writes register {name}, which belongs to the machine; the task's own begin with {FIRST}")

    def check_enter(self, state: Any, receiver: Any) -> None:
        """Raise `Refused` unless a kernel may open a call whose result goes to `receiver`."""
        if self.frame < FRAME:
            raise Refused("opens a call, but the task's memory does not say how many registers a call saves (saved)")
        if not self.may_write:
            raise Refused("opens a call, but what a program sees must only be read")
        if (self.depth + 1) * self.frame > len(state.stack):
            raise Refused(f"opens call {self.opened + 1} in one step; an instruction opens one at most")
        count = len(self.memory[0])
        if receiver >= 0 and not FIRST <= receiver < count:
            raise Refused(f"opens a call whose result goes to register {receiver}; allowed: {FIRST} to {count - 1}, -1")
        self.opened += 1


def interpret_kernels() -> None:
    """Let every kernel of this process run as plain Python from now on, whatever was compiled before."""
    from numba.core.registry import CPUDispatcher

    def call(kernel: Any, *arguments: Any, **named: Any) -> Any:
        if kernel is calls.enter and len(arguments) == 3 and isinstance(arguments[0], State):
            guard = getattr(arguments[0].registers, "guard", None)
            if guard is not None:
                guard.check_enter(arguments[0], arguments[2])
        return kernel.py_func(*arguments, **named)

    for kind in (CPUDispatcher, Inner):
        setattr(kind, "__call__", call)  # noqa: B010 - a type checker does not like a method to be replaced


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Endless` in a block that takes more than some seconds of this process's work."""
    watch = _LoopWatch(seconds)
    signal.signal(signal.SIGPROF, watch)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if watch.is_watching:
            sys.settrace(None)


class _LoopWatch:
    """What the timer calls: first it begins to note which lines are run, and a little later it raises `Endless`.

    The functions that a loop calls come and go. The innermost one that was there all the time and still runs lines is
    the one with the loop, and the first of these lines is its head.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_watching = False
        self.lines: dict[FrameType, set[int]] = {}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Begin to watch, or raise."""
        if self.is_watching:
            sys.settrace(None)
            looping = [(one, lines) for one, lines in self.lines.items() if lines]
            raise Endless(show_place(looping[0][0].f_code, min(looping[0][1])) if looping else None)
        self.is_watching = True
        while frame is not None:  # from the innermost outwards
            if is_own(frame.f_code):
                self.lines[frame] = set()
                frame.f_trace = self._note
            frame = frame.f_back
        sys.settrace(self._note)
        signal.setitimer(signal.ITIMER_PROF, self.seconds / 4)

    def _note(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self.lines.pop(frame, None)
        elif event == "line" and frame in self.lines:
            self.lines[frame].add(frame.f_lineno)
        return self._note


def describe(error: BaseException) -> str:
    """Return what a kernel did wrong, as words that follow its name."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, Endless):
        return "does not come to an end"
    if isinstance(error, RecursionError):
        return "calls itself without end"
    if isinstance(error, ZeroDivisionError):
        return "divides by zero"
    said = " ".join(str(error).split())
    return f"raises {type(error).__name__}" + (f": {said}" if said else "")


def is_python_only(error: BaseException) -> bool:
    """Tell whether an error may come from a difference between Python and compiled code; the compiler will say."""
    return isinstance(error, TypeError | AttributeError | NameError | ImportError)


def refuse(task: Task, of: str, error: BaseException, where: str) -> DeclarationError:
    """Return what is wrong with a kernel as an error: whose it is, what it did, its line, and the state it met."""
    function, place = (error.place if isinstance(error, Endless) else None) or place_of(error)
    return DeclarationError(f"task {task.name!r}, {of}: {function!r} {describe(error)} ({place}), {where}")
