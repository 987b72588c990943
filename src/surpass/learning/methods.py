"""The ways to learn, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from surpass.agents.teacher import known_teachers
from surpass.errors import SettingError, UnknownNameError
from surpass.full_view.imitation import FullViewImitation, FullViewImitationConfig
from surpass.full_view.policy_gradient import FullViewPolicyGradient
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.improvement import Improvement, ImprovementConfig
from surpass.learning.policy_gradient.learner import PolicyGradient, PolicyGradientConfig
from surpass.tasks.task import Task

__all__ = ["METHODS", "AnyLearner", "default_teacher", "new_learner", "task_settings"]

AnyLearner = Imitation | FullViewImitation | PolicyGradient | FullViewPolicyGradient | Improvement

_WITH_TABLE: dict[str, tuple[Any, Any]] = {
    "imitation": (Imitation, ImitationConfig),
    "rl": (PolicyGradient, PolicyGradientConfig),
    "rl+imitation": (PolicyGradient, PolicyGradientConfig),
    "improvement": (Improvement, ImprovementConfig),
}
_FULL_VIEW: dict[str, tuple[Any, Any]] = {
    "imitation": (FullViewImitation, FullViewImitationConfig),
    "rl": (FullViewPolicyGradient, PolicyGradientConfig),
    "rl+imitation": (FullViewPolicyGradient, PolicyGradientConfig),
}
METHODS = tuple(_WITH_TABLE)

_SORTING: dict[str, Any] = {
    "data": "repeats",
    "step_cost": 0.01,
    "limit": "10n^2",
    "first_smallest": 3,
    "first_largest": 6,
    "growth": 20,
    "updates": 1400,
}
_SEARCHING: dict[str, Any] = {"unroll": 50, "episodes": 1024}
_PACKING: dict[str, Any] = {"unroll": 50, "episodes": 256, "step_cost": 0.0, "updates": 3000, "limit": "200"}

FAVOURED: dict[tuple[str, str], dict[str, Any]] = {
    ("sort-bubble", "rl"): _SORTING,
    ("sort-bubble", "rl+imitation"): _SORTING,
    ("sort-quick", "rl"): _SORTING,
    ("sort-quick", "rl+imitation"): {**_SORTING, "unroll": 160},
    ("search", "rl"): {
        **_SEARCHING,
        "baseline": "network",
        "wrong_cost": 1.0,
        "entropy_weight": 3e-3,
        "first_smallest": 2,
        "first_largest": 8,
        "growth": 8,
        "updates": 5000,
    },
    ("search", "rl+imitation"): {**_SEARCHING, "step_cost": 0.005, "wrong_cost": 0.5, "entropy_weight": 5e-4},
    ("knapsack", "rl"): _PACKING,
    ("knapsack", "rl+imitation"): _PACKING,
}
"""Settings of reinforcement learning that suit a task better than the general ones, by task and method."""


def new_learner(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> AnyLearner:
    """Return a fresh learner of a task; `settings` change fields of its configuration, given as text."""
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    if not 0 <= seed < 2**32:
        raise SettingError(f"seed is {seed}; it must be from 0 to {2**32 - 1}")
    if method == "rl" and teacher is not None:
        raise SettingError("method rl learns from nothing; with a teacher it is rl+imitation")
    kinds = _FULL_VIEW if task.interface.is_full_view else _WITH_TABLE
    if method not in kinds:
        raise SettingError(f"method {method} needs a task with a table; {task.name} has a full view")
    learner, config = kinds[method]
    chosen: dict[str, Any] = {"task": task.name, "seed": seed}
    chosen["teacher"] = "" if method == "rl" else teacher or default_teacher(task)
    chosen.update(task_settings(task, method))
    for name, text in (settings or {}).items():
        chosen[name] = _parse_setting(config, name, text)
    if method == "rl":
        chosen["imitation_weight"] = 0.0
    found: AnyLearner = learner(task, config(**chosen))
    return found


def task_settings(task: Task, method: str) -> Mapping[str, Any]:
    """Return the settings with which a method learns a task, where they are not the method's own."""
    return FAVOURED.get((task.name, method), {})


PAPER_TEACHERS = ("selection_sort", "insertion_sort", "quick_sort", "binary_search", "depth_first")


def default_teacher(task: Task) -> str:
    """Return the teacher that the paper learns a task from, or the first one of a user's own task."""
    names = [t.name.partition(":")[2] for t in known_teachers(task)]
    if not names:
        raise SettingError(f"task {task.name} has no teacher to learn from")
    return next((name for name in names if name in PAPER_TEACHERS), names[0])


def _parse_setting(config: Any, name: str, text: str) -> Any:
    """Return the value of a field of a configuration, given as text."""
    defaults = {field.name: field.default for field in fields(config) if field.name not in ("task", "teacher", "seed")}
    if name not in defaults:
        raise UnknownNameError("setting", name, defaults)
    default = defaults[name]
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.replace(",", " ").split())
        kind: Any = type(default)
        return kind(text)
    except ValueError:
        raise SettingError(f"setting {name} is {text!r}; it must be like {default!r}") from None
