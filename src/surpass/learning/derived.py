"""How policy gradient learns a task that does not say so itself: settings that follow from the task's declaration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from surpass.errors import SurpassError
from surpass.tasks.task import Limit, Request, Task

MOST_ACTIONS = 500
"""A table of logits has a row for what follows each choice, so with more actions a network is optimised instead."""
STEPS_PER_UPDATE = 1 << 22
"""About how many steps the episodes of an update may take if all of them come to their limit."""
EPISODES = 8192
FEWEST_EPISODES = 512
FIRST_LARGEST = 4
"""The largest size of the first stage; each further one doubles it."""
STEP_COST = 0.01


def usual_policy(task: Task) -> str:
    """Return what policy gradient optimises: a table of logits where steps count and it stays small, else a network."""
    return "table" if task.measure == "steps" and task.interface.action_count <= MOST_ACTIONS else "network"


def derived_settings(task: Task, policy: str) -> dict[str, Any]:
    """Return the settings with which a policy learns a task that declares none.

    Sizes begin with the smallest and double: on these even a program that acts at random is right now and then, and to
    look once more is worth its step. What a wrong answer costs follows from the step limit.
    """
    data, smallest, largest = task.inputs.usual_data, _smallest(task), task.training_sizes[1]
    tops = [min(max(FIRST_LARGEST, smallest), largest)]
    while 2.5 * tops[-1] < largest:
        tops.append(2 * tops[-1])
    most_steps = int(Limit.parse(task.limit).steps(np.array([largest]))[0])
    if policy == "table":
        stages = dict.fromkeys((*(f"{smallest}-{top}" for top in tops), f"{smallest}-{largest}"))
        episodes = min(EPISODES, max(FEWEST_EPISODES, STEPS_PER_UPDATE // most_steps))
        return {"data": data, "stages": " ".join(stages), "updates": 100, "straying": 0.5, "episodes": episodes}
    settings: dict[str, Any] = {"data": data, "baseline": "network"}
    if task.measure == "steps":
        settings |= {"step_cost": STEP_COST, "wrong_cost": max(1.0, min(10.0, STEP_COST * most_steps))}
    if smallest < tops[0] < largest:
        settings |= {"first_smallest": smallest, "first_largest": tops[0], "growth": 5}
    return settings


def _smallest(task: Task) -> int:
    """Return the smallest size from 2 on that the task can draw, at most the smallest that it is learned on."""
    named = task.training_sizes[0]
    return min(drawable_sizes(task, range(2, named)), default=named)


def drawable_sizes(task: Task, sizes: Iterable[int]) -> tuple[int, ...]:
    """Return those of some sizes that a task can draw: it need know no instances smaller than those it names itself."""
    return tuple(size for size in sizes if size >= task.training_sizes[0] or _can_draw(task, size))


def _can_draw(task: Task, size: int) -> bool:
    try:
        for data, kind in task.inputs.kinds:
            task.draw(Request(size=size, count=1, data=data, queries=kind or task.inputs.usual_queries))
    except SurpassError:
        return False
    return True
