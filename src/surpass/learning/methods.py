"""The ways to learn, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from surpass.agents.teacher import known_teachers
from surpass.errors import SettingError, UnknownNameError
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.imitation_full import FullViewImitation, FullViewImitationConfig
from surpass.tasks.task import Task

__all__ = ["METHODS", "AnyLearner", "learner_from_recipe", "new_learner"]

METHODS = ("imitation",)

AnyLearner = Imitation | FullViewImitation


def new_learner(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> AnyLearner:
    """Return a fresh learner of a task; `settings` change fields of its configuration, given as text."""
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    if seed < 0:
        raise SettingError(f"seed is {seed}; it must be 0 or more")
    config = _config_class(task)
    chosen: dict[str, Any] = {"task": task.name, "teacher": teacher or _first_teacher(task), "seed": seed}
    for name, text in (settings or {}).items():
        chosen[name] = _parse_setting(config, name, text)
    return _build(task, chosen)


def learner_from_recipe(task: Task, recipe: Mapping[str, Any]) -> AnyLearner:
    """Return a fresh learner with every setting of a recipe."""
    chosen = {name: tuple(v) if isinstance(v, list) else v for name, v in recipe.items() if name != "method"}
    return _build(task, chosen)


def _config_class(task: Task) -> type[ImitationConfig] | type[FullViewImitationConfig]:
    return FullViewImitationConfig if task.interface.is_full_view else ImitationConfig


def _build(task: Task, chosen: dict[str, Any]) -> AnyLearner:
    if task.interface.is_full_view:
        return FullViewImitation(task, FullViewImitationConfig(**chosen))
    return Imitation(task, ImitationConfig(**chosen))


def _first_teacher(task: Task) -> str:
    teachers = known_teachers(task)
    if not teachers:
        raise SettingError(f"task {task.name} has no teacher to imitate")
    return teachers[0].name.partition(":")[2]


def _parse_setting(config: type, name: str, text: str) -> Any:
    """Return the value of a field of a configuration, given as text."""
    known = {field.name: field for field in fields(config) if field.name not in ("task", "teacher", "seed")}
    if name not in known:
        raise UnknownNameError("setting", name, known)
    default = known[name].default
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.replace(",", " ").split())
        kind: Any = type(default)
        return kind(text)
    except ValueError:
        raise SettingError(f"setting {name} is {text!r}; it must be like {default!r}") from None
