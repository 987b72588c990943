"""The ways to learn, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from surpass.agents.teacher import known_teachers
from surpass.errors import SettingError, UnknownNameError
from surpass.full_view.imitation import FullViewImitation, FullViewImitationConfig
from surpass.full_view.policy_gradient import FullViewPolicyGradient
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.improvement import Improvement, ImprovementConfig
from surpass.learning.policy_gradient.learner import PolicyGradient, PolicyGradientConfig
from surpass.tasks.task import Task

__all__ = ["METHODS", "AnyLearner", "new_learner"]

AnyLearner = Imitation | FullViewImitation | PolicyGradient | FullViewPolicyGradient | Improvement
AnyConfig = type[ImitationConfig] | type[FullViewImitationConfig] | type[PolicyGradientConfig] | type[ImprovementConfig]

METHODS = ("imitation", "rl", "rl+imitation", "improvement")


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
    if method == "improvement" and task.interface.is_full_view:
        raise SettingError(f"method {method} needs a task with a table; {task.name} has a full view")
    config = _config_class(task, method)
    chosen: dict[str, Any] = {"task": task.name, "seed": seed}
    chosen["teacher"] = "" if method == "rl" else teacher or _default_teacher(task)
    chosen.update(task.learning.get(method, {}))
    for name, text in (settings or {}).items():
        chosen[name] = _parse_setting(config, name, text)
    if method == "improvement":
        return Improvement(task, ImprovementConfig(**chosen))
    if method == "rl":
        chosen["imitation_weight"] = 0.0
    if method in ("rl", "rl+imitation"):
        learner = FullViewPolicyGradient if task.interface.is_full_view else PolicyGradient
        return learner(task, PolicyGradientConfig(**chosen))
    if task.interface.is_full_view:
        return FullViewImitation(task, FullViewImitationConfig(**chosen))
    return Imitation(task, ImitationConfig(**chosen))


def _config_class(task: Task, method: str) -> AnyConfig:
    if method == "improvement":
        return ImprovementConfig
    if method != "imitation":
        return PolicyGradientConfig
    return FullViewImitationConfig if task.interface.is_full_view else ImitationConfig


def _default_teacher(task: Task) -> str:
    """Return the teacher that a task names to learn from, or its first one."""
    names = [t.name.partition(":")[2] for t in known_teachers(task)]
    if not names:
        raise SettingError(f"task {task.name} has no teacher to learn from")
    return task.default_teacher or names[0]


def _parse_setting(config: AnyConfig, name: str, text: str) -> Any:
    """Return the value of a field of a configuration, given as text."""
    known = {field.name: field.default for field in fields(config) if field.name not in ("task", "teacher", "seed")}
    if name not in known:
        raise UnknownNameError("setting", name, known)
    default = known[name]
    assert default is not MISSING
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.replace(",", " ").split())
        kind: Any = type(default)
        return kind(text)
    except ValueError:
        raise SettingError(f"setting {name} is {text!r}; it must be like {default!r}") from None
