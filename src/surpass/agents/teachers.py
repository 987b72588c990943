"""Finding teachers as agents that can be run."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from surpass.errors import SettingError, UnknownNameError
from surpass.full_view.agent import FullViewTeacher
from surpass.programs.text import read_program
from surpass.table import Agent
from surpass.tasks import registry  # noqa: F401 - makes the package's own teachers known
from surpass.tasks.task import Task
from surpass.tasks.teacher import Teacher, declared_teachers

AnyTeacher = Teacher | FullViewTeacher
Kind = TypeVar("Kind", Teacher, FullViewTeacher)


@cache
def _agent_of(teacher: Teacher) -> AnyTeacher:
    """Return a teacher as the agent that its task needs."""
    if not teacher.task.interface.is_full_view:
        return teacher
    return FullViewTeacher(teacher.name, teacher.task, teacher.choose, teacher.summary)


def find_teacher(name: str) -> AnyTeacher:
    """Return the teacher of a name."""
    known = declared_teachers()
    if name not in known:
        raise UnknownNameError("teacher", name, known)
    return _agent_of(known[name])


def known_teachers(task: Task | None = None) -> tuple[AnyTeacher, ...]:
    """Return every teacher, or those of one task."""
    return tuple(_agent_of(t) for t in declared_teachers().values() if task is None or t.task is task)


def usual_teacher(task: Task) -> AnyTeacher | None:
    """Return the teacher that a task names to learn from, or its first one; None if it has none."""
    known = known_teachers(task)
    named = (t for t in known if t.name == f"teacher:{task.default_teacher}")
    return next(named, known[0] if known else None)


def teacher_of(task: Task, name: str) -> Agent:
    """Return the teacher of a name, or the program of a file, which must teach `task` by its table."""
    if name.endswith(".rules"):
        return read_program(name, task=task)
    return teacher_of_kind(task, name, Teacher)


def teacher_of_kind(task: Task, name: str, kind: type[Kind]) -> Kind:
    """Return the teacher of a name, which must teach `task` and be of a kind."""
    names = [t.name.partition(":")[2] for t in known_teachers(task)]
    if name not in declared_teachers():
        raise UnknownNameError(f"teacher of {task.name}", name, names)
    found = find_teacher(name)
    if found.task is not task or not isinstance(found, kind):
        raise SettingError(f"teacher {name!r} does not teach {task.name}; its teachers: {', '.join(names)}")
    return found
