"""Tasks as names that `gymnasium.make` knows.

Entry points are given as text, so that Numba is imported when an environment is made and not before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import gymnasium

if TYPE_CHECKING:
    from surpass.tasks.task import Task

__all__ = ["environment_id", "register_environment", "register_environments"]

PAPER_TASK_NAMES = ("sort-full", "sort-bubble", "sort-quick", "search", "knapsack")
"""The names in `surpass.tasks.registry`, which imports Numba and so is not imported here; a test keeps them equal."""


def environment_id(task_name: str) -> str:
    """Return the name under which Gymnasium knows a task."""
    return f"surpass/{task_name}-v0"


def register_environments() -> None:
    """Make every known task known to Gymnasium; those that it knows already stay as they are."""
    for name in PAPER_TASK_NAMES:
        _register(name)
    # Once somebody has paid for the registry it may hold more tasks.
    registry = sys.modules.get("surpass.tasks.registry")
    if registry is not None:
        for task in registry.known_tasks():
            _register(task.name)


def register_environment(task: Task) -> str:
    """Make your own task known to surpass and to Gymnasium by its name, and return its name there."""
    from surpass.tasks.registry import register_task

    return _register(register_task(task).name)


def _register(name: str) -> str:
    identifier = environment_id(name)
    if identifier not in gymnasium.registry:
        # The task goes by its name: Gymnasium copies these arguments deeply, and a copy would be another task.
        gymnasium.register(
            identifier,
            entry_point="surpass.environments.single:SurpassEnv",
            vector_entry_point="surpass.environments.vector:SurpassVectorEnv",
            kwargs={"task": name},
        )
    return identifier
