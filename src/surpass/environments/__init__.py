"""Every task as a Gymnasium environment.

Importing this makes the tasks known to Gymnasium, which loads no plugins: those that are registered already, and every
one that is registered later.
"""

from __future__ import annotations

import gymnasium

from surpass.tasks.registry import follow_tasks, known_tasks
from surpass.tasks.task import Task


def environment_id(task_name: str) -> str:
    """Return the name under which Gymnasium knows a task."""
    return f"surpass/{task_name}-v0"


def _announce(task: Task) -> None:
    """Make a task known to Gymnasium, unless it knows it already."""
    identifier = environment_id(task.name)
    if identifier not in gymnasium.registry:
        # The task goes by its name: Gymnasium copies these arguments deeply, and a copy would be another task.
        gymnasium.register(
            identifier,
            entry_point="surpass.environments.single:SurpassEnv",
            vector_entry_point="surpass.environments.vector:SurpassVectorEnv",
            kwargs={"task": task.name},
        )


def _withdraw(task: Task) -> None:
    """Make a task unknown to Gymnasium again."""
    gymnasium.registry.pop(environment_id(task.name), None)


for task in known_tasks():
    _announce(task)
follow_tasks(_announce, _withdraw)
