"""Teachers: agents written by hand, in the words of their task's interface; each stands in the file of its task."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from surpass.arrays import Ints
from surpass.errors import DeclarationError, UnknownNameError
from surpass.machine.features import PreviousAction
from surpass.machine.instructions import Action
from surpass.machine.interface import NO_ACTION, Interface, mirror
from surpass.printing import truncate
from surpass.reading import validate
from surpass.tasks.task import Task
from surpass.tasks.user_code import place_of, place_of_function, user_errors


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
            why = f", which is written {mirror(condition)}" if mirror(condition) in known else ""
            raise UnknownNameError("condition", condition, known, why) from None
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
        self._interface = interface
        self._names = [instruction.name for instruction in interface.instructions]

    def __getattr__(self, name: str) -> Callable[..., Action]:
        if name not in self._names:
            raise UnknownNameError("instruction", name, self._names)

        def make(*operands: Hashable) -> Action:
            action = Action(name, operands)
            self._interface.pack_action(action)  # so that a wrong operand is found in the teacher's own line
            return action

        make.__name__ = name
        return make


Choose = Callable[..., Any]
"""`choose(see, do)` returns an action or None; for a full view `choose(lists)` maps lists [m, n] to operands [m, 2]."""


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
        whose = f"{self.name} of task {self.task.name!r}"
        try:
            with user_errors(whose):
                for k, digits in enumerate(interface.digits(observations).tolist()):
                    action = self.choose(See(interface, digits), do)
                    answers[k] = NO_ACTION if action is None else self._number(action, whose)
        except UnknownNameError as error:
            error.args = (f"{whose}: {error}{place_of(error, self.choose)}",)
            raise
        return answers

    def _number(self, action: Any, whose: str) -> int:
        if not isinstance(action, tuple):
            returned = f"do.{action.__name__} without brackets" if callable(action) else truncate(repr(action), 60)
            such = f"do.{self.task.interface.instructions[0].name}(...)"
            place = place_of_function(self.choose)
            raise DeclarationError(f"{whose} returns {returned}; it must return an action, such as {such}{place}")
        return self.task.interface.pack_action(action)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        """Write a teacher for another process as its task and its name."""
        return declared_teacher, (self.task, self.name)


_TEACHERS: dict[tuple[Task, str], Teacher] = {}


F = TypeVar("F", bound=Choose)


def teacher(task: Task) -> Callable[[F], F]:
    """Make the decorated function a teacher of `task`, known by the function's name.

    It is called as `choose(see, do)` and returns an action or None; for a full view it maps lists [m, n] to
    operands [m, 2].
    """
    validate(Task, task, "the task of a teacher", DeclarationError)

    def register(choose: F) -> F:
        validate(Choose, choose, "a teacher", DeclarationError)
        name = f"teacher:{choose.__name__}"
        if (task, name) in _TEACHERS:
            raise DeclarationError(f"task {task.name!r} has a teacher named {choose.__name__!r} already")
        summary = (choose.__doc__ or "").strip().partition("\n")[0]
        _TEACHERS[task, name] = Teacher(name, task, choose, summary)
        return choose

    return register


def forget_teachers(module: str) -> None:
    """Make the teachers that a module declared unknown again."""
    for key in [key for key, teacher in _TEACHERS.items() if teacher.choose.__module__ == module]:
        del _TEACHERS[key]


def declared_teacher(task: Task, name: str) -> Teacher:
    """Return the teacher `teacher:NAME` of a task, as it was declared."""
    return _TEACHERS[task, name]


def declared_teachers() -> tuple[Teacher, ...]:
    """Return every teacher, as it was declared."""
    return tuple(_TEACHERS.values())
