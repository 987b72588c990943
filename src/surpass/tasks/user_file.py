"""A user's own task, brought in a Python file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from surpass.errors import DeclarationError, SettingError, SurpassError
from surpass.reading import read_bytes
from surpass.tasks.registry import PAPER_TASKS, find_task, forget_task, known_tasks
from surpass.tasks.task import Task
from surpass.tasks.teacher import forget_teachers
from surpass.tasks.user_code import describe_error, place_of

USER_MODULE = "surpass_user_"
"""How the names of the modules begin that task files are loaded as."""


def load_task_file(path: Path) -> tuple[Task, ...]:
    """Run a Python file that registers tasks, and return those it made known. The file is the user's own program."""
    if not path.exists():
        raise DeclarationError(f"there is no file {path}")
    name = _module_name(path)
    if name not in sys.modules:
        read_bytes(path, DeclarationError)  # Python would read a file without an end for ever
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise DeclarationError(f"{path} is not a Python file")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        before = set(known_tasks())
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            _note_tasks(module, before)
            forget_task_file(path)
            place = "" if isinstance(error, SyntaxError) else place_of(error)  # a syntax error says its own line
            if type(error) in (DeclarationError, SettingError):
                raise type(error)(f"{error}{place}") from error
            if isinstance(error, SurpassError | KeyboardInterrupt | MemoryError):
                raise
            raise DeclarationError(f"{path} fails when it is run: {describe_error(error)}{place}") from error
        _note_tasks(module, before)
    tasks: tuple[Task, ...] = sys.modules[name].__dict__["_surpass_tasks"]
    if not tasks:
        forget_task_file(path)
        raise DeclarationError(f"{path} registers no task; call surpass.register_task in it")
    return tasks


def _note_tasks(module: ModuleType, before: set[Task]) -> None:
    """Keep in a module which tasks it registered: those that are known now and were not before."""
    module.__dict__["_surpass_tasks"] = tuple(task for task in known_tasks() if task not in before)


def file_of(task: Task) -> Path | None:
    """Return the file that registered a task, if it was loaded from one."""
    for module in list(sys.modules.values()):
        if task in getattr(module, "__dict__", {}).get("_surpass_tasks", ()):
            return Path(str(module.__file__))
    return None


def forget_task_file(path: Path) -> None:
    """Make what a file registered unknown again, so that the file can be changed and loaded anew."""
    name = _module_name(path)
    module = sys.modules.pop(name, None)
    for task in module.__dict__["_surpass_tasks"] if module else ():
        forget_task(task)
    forget_teachers(name)


def task_file(task: Task) -> str:
    """Return the file by which another process finds a task, or nothing for one of the package's own."""
    path = file_of(task)
    if path is not None:
        return str(path.resolve())
    if not any(one is task for one in PAPER_TASKS):
        raise SettingError(f"task {task.name!r} is in no file, so no other process can be sent it; put it into one")
    return ""


def find_task_again(name: str, file: str) -> Task:
    """Return the task of a name that another process has, and a file if it was registered by one."""
    if file:
        load_task_file(Path(file))
    return find_task(name)


def _module_name(path: Path) -> str:
    """Return the name under which a file is loaded; a second file of the same name has another."""
    name, where = f"{USER_MODULE}{path.stem}", path.resolve()
    known = sys.modules.get(name)
    if known is None or Path(str(known.__file__)).resolve() == where:
        return name
    return f"{name}_{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
