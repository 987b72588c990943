"""Teachers: agents written by hand, in the words of their task's interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from surpass.errors import DeclarationError, SettingError, UnknownNameError
from surpass.full_view.agent import FullViewTeacher
from surpass.machine.features import PreviousAction
from surpass.machine.instructions import Action
from surpass.machine.interface import Interface
from surpass.table import NO_ACTION, Agent
from surpass.tasks.task import Task

__all__ = ["AnyTeacher", "Do", "See", "Teacher", "find_teacher", "known_teachers", "teacher", "teacher_of"]

Ints = npt.NDArray[np.int64]


class See:
    """One observation, asked by conditions: `see("v1 < v2")`, `see("A[v1] <= A[v1+1]")`, `see.previous`."""

    __slots__ = ("_digits", "_interface")

    def __init__(self, interface: Interface, digits: list[int]) -> None:
        self._interface = interface
        self._digits = digits

    def __call__(self, condition: str) -> bool:
        """Return whether a condition holds."""
        try:
            feature, true = self._interface.conditions[condition]
        except KeyError:
            known = [text for text in self._interface.conditions if not text.startswith("previous")]
            raise UnknownNameError("condition", condition, known) from None
        return self._digits[feature] in true

    @property
    def previous(self) -> Action | None:
        """The previous action of the current function, or None."""
        for k, feature in enumerate(self._interface.features):
            if isinstance(feature, PreviousAction):
                number = self._digits[k]
                return self._interface.actions[number - 1] if number else None
        raise DeclarationError("this interface does not show the previous action")


class Do:
    """The actions of an interface by name: `do.MoveVar(1, +1)`."""

    def __init__(self, interface: Interface) -> None:
        self._names = [instruction.name for instruction in interface.instructions]

    def __getattr__(self, name: str) -> Callable[..., Action]:
        if name not in self._names:
            raise UnknownNameError("instruction", name, self._names)
        return lambda *operands: Action(name, operands)


Choose = Callable[[See, Do], Action | None]


@dataclass(frozen=True, eq=False)
class Teacher:
    """An agent that is a hand-written function of the observation."""

    name: str
    task: Task
    choose: Choose
    summary: str

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        interface = self.task.interface
        do = Do(interface)
        answers = np.empty(len(observations), np.int64)
        for k, digits in enumerate(interface.digits(observations).tolist()):
            action = self.choose(See(interface, digits), do)
            answers[k] = NO_ACTION if action is None else interface.pack_action(action)
        return answers


AnyTeacher = Teacher | FullViewTeacher
_TEACHERS: dict[str, AnyTeacher] = {}

F = TypeVar("F", bound=Callable[..., object])
Kind = TypeVar("Kind", Teacher, FullViewTeacher)


def teacher(task: Task) -> Callable[[F], F]:
    """Make the decorated function a teacher of `task`, known by the function's name.

    It is called as `choose(see, do)` and returns an action or None; for a full view it maps lists [m, n] to
    operands [m, 2].
    """

    def register(choose: F) -> F:
        name = choose.__name__
        if name in _TEACHERS:
            raise DeclarationError(f"a teacher named {name!r} exists already")
        summary = (choose.__doc__ or "").strip().splitlines()[0] if choose.__doc__ else ""
        kind = FullViewTeacher if task.interface.is_full_view else Teacher
        _TEACHERS[name] = kind(f"teacher:{name}", task, choose, summary)  # type: ignore[arg-type]
        return choose

    return register


def find_teacher(name: str) -> AnyTeacher:
    """Return the teacher of a name."""
    if name not in _TEACHERS:
        raise UnknownNameError("teacher", name, _TEACHERS)
    return _TEACHERS[name]


def known_teachers(task: Task | None = None) -> tuple[AnyTeacher, ...]:
    """Return every teacher, or those of one task."""
    return tuple(t for t in _TEACHERS.values() if task is None or t.task is task)


def teacher_of(task: Task, name: str) -> Agent:
    """Return the teacher of a name, or the program of a file, which must teach `task` by its table."""
    if name.endswith(".rules"):
        from surpass.programs.text import read_program

        return read_program(name, task=task)
    return teacher_of_kind(task, name, Teacher)


def teacher_of_kind(task: Task, name: str, kind: type[Kind]) -> Kind:
    """Return the teacher of a name, which must teach `task` and be of a kind."""
    found = find_teacher(name)
    if found.task is not task or not isinstance(found, kind):
        names = ", ".join(t.name.partition(":")[2] for t in known_teachers(task))
        raise SettingError(f"teacher {name!r} does not teach {task.name}; its teachers: {names}")
    return found
