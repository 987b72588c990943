"""The one list of tasks, and how a user's own file joins it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from surpass.errors import DeclarationError, SurpassError, UnknownNameError
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task

PAPER_TASKS = (SORT_FULL, SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK)

_TASKS = {task.name: task for task in PAPER_TASKS}


def register_task(task: Task) -> Task:
    """Make a task known by its name, and return it."""
    known = _TASKS.setdefault(task.name, task)
    if known is not task:
        raise DeclarationError(f"a task named {task.name!r} exists already")
    return task


def find_task(name: str) -> Task:
    """Return the task of a name."""
    if name not in _TASKS:
        raise UnknownNameError("task", name, _TASKS)
    return _TASKS[name]


def known_tasks() -> tuple[Task, ...]:
    """Return every task, the package's first."""
    return tuple(_TASKS.values())


def load_task_file(path: Path) -> tuple[Task, ...]:
    """Run a Python file that registers tasks, and return those it made known. The file is the user's own program."""
    if not path.exists():
        raise DeclarationError(f"there is no file {path}")
    name = f"surpass_user_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise DeclarationError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        before = set(known_tasks())
        try:
            spec.loader.exec_module(module)
        except SurpassError:
            del sys.modules[name]
            raise
        except Exception as error:
            del sys.modules[name]
            raise DeclarationError(f"{path} fails when it is run: {type(error).__name__}: {error}") from error
        module.__dict__["_surpass_tasks"] = tuple(task for task in known_tasks() if task not in before)
    tasks: tuple[Task, ...] = sys.modules[name].__dict__["_surpass_tasks"]
    if not tasks:
        raise DeclarationError(f"{path} registers no task; call surpass.register_task in it")
    return tasks
