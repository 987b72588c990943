"""Tasks with other kernels, for tests that plant faults in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from surpass import Instruction, Interface
from surpass.tasks.task import Task

__all__ = ["with_kernels"]


def with_kernels(task: Task, name: str, **does: Callable[..., Any]) -> Task:
    """Return a task of another name in which some instructions do something else."""
    assert does.keys() <= {instruction.name for instruction in task.interface.instructions}
    instructions = [
        Instruction(i.name, *i.operands, does=does.get(i.name, i.does)) for i in task.interface.instructions
    ]
    return dataclasses.replace(task, name=name, interface=Interface(task.interface.features, instructions))
