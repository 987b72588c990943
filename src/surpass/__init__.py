"""Learns algorithms that beat their teachers.

Everything below is loaded when it is first used, so that `import surpass` stays quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surpass.agents import find_agent, find_teacher, known_teachers, teacher
    from surpass.engine.record import record, replay
    from surpass.engine.run import Results, run
    from surpass.errors import SurpassError
    from surpass.evaluation.scores import Evaluation, evaluate
    from surpass.machine import (
        PREVIOUS_ACTION,
        Action,
        Feature,
        Instruction,
        Interface,
        Outcome,
        State,
        binary,
        comparison,
        flag,
        integer,
        kernel,
        variables,
    )
    from surpass.machine.trace import read_trace, write_trace
    from surpass.tasks.registry import find_task, known_tasks, register_task
    from surpass.tasks.task import Instances, Request, Reward, Task

_HOMES = {
    "surpass.agents": ("find_agent", "find_teacher", "known_teachers", "teacher"),
    "surpass.engine.record": ("record", "replay"),
    "surpass.engine.run": ("Results", "run"),
    "surpass.errors": ("SurpassError",),
    "surpass.evaluation.scores": ("Evaluation", "evaluate"),
    "surpass.machine": (
        "PREVIOUS_ACTION",
        "Action",
        "Feature",
        "Instruction",
        "Interface",
        "Outcome",
        "State",
        "binary",
        "comparison",
        "flag",
        "integer",
        "kernel",
        "variables",
    ),
    "surpass.machine.trace": ("read_trace", "write_trace"),
    "surpass.tasks.registry": ("find_task", "known_tasks", "register_task"),
    "surpass.tasks.task": ("Instances", "Request", "Reward", "Task"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PREVIOUS_ACTION",
    "Action",
    "Evaluation",
    "Feature",
    "Instances",
    "Instruction",
    "Interface",
    "Outcome",
    "Request",
    "Results",
    "Reward",
    "State",
    "SurpassError",
    "Task",
    "binary",
    "comparison",
    "evaluate",
    "find_agent",
    "find_task",
    "find_teacher",
    "flag",
    "integer",
    "kernel",
    "known_tasks",
    "known_teachers",
    "read_trace",
    "record",
    "register_task",
    "replay",
    "run",
    "teacher",
    "variables",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'surpass' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if "gymnasium" in sys.modules:
    # Gymnasium registers us through its plugins when it is imported; here it came first and may not have known us.
    import_module("surpass.environments.registration").register_environments()
