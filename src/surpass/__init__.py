"""Learns algorithms that beat their teachers.

Everything below is loaded when it is first used, so that `import surpass` stays quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surpass import environments
    from surpass.agents import find_agent
    from surpass.agents.adapters import agent
    from surpass.agents.teachers import find_teacher, known_teachers
    from surpass.api import Run, check, export, learn, program, show, trace, watch
    from surpass.checks.certificate import Certificate
    from surpass.engine.record import record, replay
    from surpass.engine.run import Results, run
    from surpass.errors import SurpassError
    from surpass.evaluation.application import Applications, apply
    from surpass.evaluation.scores import Evaluation, evaluate
    from surpass.machine.calls import NO_RECEIVER, enter, leave
    from surpass.machine.dispatch import compare
    from surpass.machine.features import PREVIOUS_ACTION, CurrentFunction, Feature, Value, comparison, flag, value
    from surpass.machine.instructions import STEPS, Action, Instruction, binary, integer, pointer, variable
    from surpass.machine.interface import Interface
    from surpass.machine.kernel import kernel
    from surpass.machine.state import (
        DEPTH,
        FUNCTION,
        PREVIOUS,
        RUNNING,
        SCORE,
        SIZE,
        SOLVED,
        WRONG,
        Outcome,
        State,
        registers,
    )
    from surpass.machine.trace import read_trace, write_trace
    from surpass.programs.program import Program
    from surpass.tasks.drawing import Drawing, Gauge
    from surpass.tasks.lists import list_inputs
    from surpass.tasks.registry import find_task, known_tasks, register_task
    from surpass.tasks.signature import RealInput
    from surpass.tasks.task import Enumeration, Inputs, Instances, Memory, Request, Reward, Task
    from surpass.tasks.teacher import Do, See, teacher
    from surpass.visualize.plots import Plot, plot
    from surpass.visualize.report import Report, report

_HOMES = {
    "surpass.agents": "find_agent",
    "surpass.agents.adapters": "agent",
    "surpass.agents.teachers": "find_teacher known_teachers",
    "surpass.api": "Run check export learn program show trace watch",
    "surpass.checks.certificate": "Certificate",
    "surpass.engine.record": "record replay",
    "surpass.engine.run": "Results run",
    "surpass.errors": "SurpassError",
    "surpass.evaluation.application": "Applications apply",
    "surpass.evaluation.scores": "Evaluation evaluate",
    "surpass.machine.calls": "NO_RECEIVER enter leave",
    "surpass.machine.dispatch": "compare",
    "surpass.machine.features": "PREVIOUS_ACTION CurrentFunction Feature Value comparison flag value",
    "surpass.machine.instructions": "STEPS Action Instruction binary integer pointer variable",
    "surpass.machine.interface": "Interface",
    "surpass.machine.kernel": "kernel",
    "surpass.machine.state": "DEPTH FUNCTION PREVIOUS RUNNING SCORE SIZE SOLVED WRONG Outcome State registers",
    "surpass.machine.trace": "read_trace write_trace",
    "surpass.programs.program": "Program",
    "surpass.tasks.drawing": "Drawing Gauge",
    "surpass.tasks.lists": "list_inputs",
    "surpass.tasks.registry": "find_task known_tasks register_task",
    "surpass.tasks.signature": "RealInput",
    "surpass.tasks.task": "Enumeration Inputs Instances Memory Request Reward Task",
    "surpass.tasks.teacher": "Do See teacher",
    "surpass.visualize.plots": "Plot plot",
    "surpass.visualize.report": "Report report",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "DEPTH",
    "FUNCTION",
    "NO_RECEIVER",
    "PREVIOUS",
    "PREVIOUS_ACTION",
    "RUNNING",
    "SCORE",
    "SIZE",
    "SOLVED",
    "STEPS",
    "WRONG",
    "Action",
    "Applications",
    "Certificate",
    "CurrentFunction",
    "Do",
    "Drawing",
    "Enumeration",
    "Evaluation",
    "Feature",
    "Gauge",
    "Inputs",
    "Instances",
    "Instruction",
    "Interface",
    "Memory",
    "Outcome",
    "Plot",
    "Program",
    "RealInput",
    "Report",
    "Request",
    "Results",
    "Reward",
    "Run",
    "See",
    "State",
    "SurpassError",
    "Task",
    "Value",
    "agent",
    "apply",
    "binary",
    "check",
    "compare",
    "comparison",
    "enter",
    "environments",
    "evaluate",
    "export",
    "find_agent",
    "find_task",
    "find_teacher",
    "flag",
    "integer",
    "kernel",
    "known_tasks",
    "known_teachers",
    "learn",
    "leave",
    "list_inputs",
    "plot",
    "pointer",
    "program",
    "read_trace",
    "record",
    "register_task",
    "registers",
    "replay",
    "report",
    "run",
    "show",
    "teacher",
    "trace",
    "value",
    "variable",
    "watch",
    "write_trace",
]


def _register_envs() -> None:
    """Register the tasks with Gymnasium once the program has loaded it; others need not wait for it."""
    if sys.modules.get("gymnasium") and "surpass.environments" not in sys.modules:
        import_module("surpass.environments")


def __getattr__(name: str) -> Any:
    _register_envs()
    if name == "environments":  # a folder, which makes the tasks known to Gymnasium when it is loaded
        from surpass.extras import load

        return load("surpass.environments")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'surpass' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_register_envs()
