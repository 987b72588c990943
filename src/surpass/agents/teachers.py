"""Finding teachers as agents that can be run."""

from __future__ import annotations

from functools import cache
from typing import Any

from surpass.errors import SettingError, UnknownNameError
from surpass.full_view.agent import FullViewTeacher
from surpass.tasks import registry  # noqa: F401 - makes the package's own teachers known
from surpass.tasks.task import Task
from surpass.tasks.teacher import Teacher, declared_teachers

AnyTeacher = Teacher | FullViewTeacher


@cache
def _agent_of(teacher: Teacher) -> AnyTeacher:
    """Return a teacher as the agent that its task needs."""
    if not teacher.task.interface.is_full_view:
        return teacher
    return FullViewTeacher(teacher.name, teacher.task, teacher.choose, teacher.summary)


def find_teacher(name: str, task: Task | None = None) -> AnyTeacher:
    """Return the teacher of a name: that of `task`, or else the only one that is called so."""
    named = [teacher for teacher in known_teachers() if teacher.name == f"teacher:{name}"]
    found = [teacher for teacher in named if teacher.task is task] or named
    if not found:
        names = [teacher.name.partition(":")[2] for teacher in known_teachers(task)]
        raise UnknownNameError("teacher", name, names)
    if len(found) > 1:
        tasks = " and ".join(teacher.task.name for teacher in found)
        raise SettingError(f"{tasks} each have a teacher {name!r}; say which task is meant (--task, task=)")
    return found[0]


def known_teachers(task: Task | None = None) -> tuple[AnyTeacher, ...]:
    """Return every teacher, or those of one task."""
    return tuple(_agent_of(t) for t in declared_teachers() if task is None or t.task is task)


def usual_teacher(task: Task) -> AnyTeacher | None:
    """Return the teacher that a task names to learn from, or its first one; None if it has none."""
    known = known_teachers(task)
    named = (t for t in known if t.name == f"teacher:{task.default_teacher}")
    return next(named, known[0] if known else None)


def teacher_of(task: Task, name: str) -> Any:
    """Return the agent of a name, which must be one of `task`: with a table, or with a full view if that has one."""
    from surpass.agents import find_agent  # which needs this module

    found = find_agent(name, task)
    if found.task is not task:
        names = ", ".join(teacher.name.partition(":")[2] for teacher in known_teachers(task))
        raise SettingError(f"{found.name} does not teach {task.name}; its teachers: {names or 'none'}")
    return found
