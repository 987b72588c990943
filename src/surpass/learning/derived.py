"""What learners derive from the declaration of a task: the sizes to begin with, and costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Limit, Task

FIRST_LARGEST = 4
"""The largest size of the first range; each further one doubles it."""
STEP_COST = 0.01


def network_settings(task: Task) -> dict[str, Any]:
    """Return settings of a network's policy gradient that follow from a task: what a wrong answer costs, for one."""
    settings: dict[str, Any] = {"data": task.inputs.usual_data, "baseline": "network"}
    if task.measure == "steps":
        most_steps = int(Limit.parse(task.limit).steps(np.array([task.training_sizes[1]]))[0])
        settings |= {"step_cost": STEP_COST, "wrong_cost": max(1.0, min(10.0, STEP_COST * most_steps))}
    return settings


def usual_sizes(task: Task) -> str:
    """Return ranges of sizes to learn a task on, as text: they begin with the smallest sizes and double."""
    smallest, largest = smallest_size(task), task.training_sizes[1]
    tops = [min(max(FIRST_LARGEST, smallest), largest)]
    while 2.5 * tops[-1] < largest:
        tops.append(2 * tops[-1])
    return " ".join(dict.fromkeys((*(f"{smallest}-{top}" for top in tops), f"{smallest}-{largest}")))


def smallest_size(task: Task) -> int:
    """Return the smallest size from 2 on that the task can draw, at most the smallest that it is learned on."""
    named = task.training_sizes[0]
    return min(drawable_sizes(task, range(2, named)), default=named)
