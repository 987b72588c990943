"""The one list of tasks, and how a user's own file joins it."""

from __future__ import annotations

from collections.abc import Callable

from surpass.errors import DeclarationError, UnknownNameError
from surpass.reading import validate
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task

Follow = Callable[[Task], None]

PAPER_TASKS = (SORT_FULL, SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK)

_TASKS = {task.name: task for task in PAPER_TASKS}
_FOLLOWERS: list[tuple[Follow, Follow]] = []
"""What is called with each task that becomes known, and with each that is forgotten."""


def follow_tasks(announce: Follow, withdraw: Follow) -> None:
    """Call `announce` with each task that becomes known from now on, and `withdraw` with each that is forgotten."""
    _FOLLOWERS.append((announce, withdraw))


def register_task(task: Task) -> Task:
    """Make a task known by its name, and return it."""
    validate(Task, task, "what is registered as a task", DeclarationError)
    known = _TASKS.setdefault(task.name, task)
    if known is not task:
        raise DeclarationError(f"a task named {task.name!r} exists already")
    for announce, _ in _FOLLOWERS:
        announce(task)
    return task


def forget_task(task: Task) -> None:
    """Make a task unknown again."""
    if _TASKS.get(task.name) is task:
        del _TASKS[task.name]
        for _, withdraw in _FOLLOWERS:
            withdraw(task)


def find_task(name: str) -> Task:
    """Return the task of a name."""
    if name not in _TASKS:
        raise UnknownNameError("task", name, _TASKS)
    return _TASKS[name]


def known_tasks() -> tuple[Task, ...]:
    """Return every task, the package's first."""
    return tuple(_TASKS.values())
