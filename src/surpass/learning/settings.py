"""The settings of a learner: what each means, what it may be, and what it is now."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from surpass.learning.recipes import setting_text
from surpass.printing import Printed, finite, wrap
from surpass.reading import describe_kind

if TYPE_CHECKING:
    from surpass.learning.methods import AnyLearner
    from surpass.tasks.task import Task

GIVEN = ("task", "teacher", "seed")
"""What has options of its own."""


class SettingLine(NamedTuple):
    """A setting of a learner."""

    name: str
    value: Any
    """What it is now."""
    default: Any
    """What it is unless the task or someone says otherwise."""
    allowed: str
    """What it may be, in words."""
    meaning: str


@cache
def meanings(config: Any) -> dict[str, str]:
    """Return what stands below each field of a dataclass, or of those it builds on, in its source, by field's name."""
    said: dict[str, str] = {}
    for part in reversed(config.__mro__[:-1]):
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        assert isinstance(declared, ast.ClassDef)
        for field, below in pairwise(declared.body):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                said[field.target.id] = " ".join(str(below.value.value).split())
    return said


def settings_of(learner: AnyLearner) -> list[SettingLine]:
    """Return every setting of a learner that `--set` can change."""
    config = learner.config
    declared: Any = type(config)
    kinds, said = get_type_hints(declared, include_extras=True), meanings(declared)
    return [
        SettingLine(
            field.name,
            getattr(config, field.name),
            field.default,
            _choices(learner.task, field.name) or describe_kind(kinds[field.name]),
            said.get(field.name, ""),
        )
        for field in fields(config)
        if field.name not in GIVEN
    ]


def _choices(task: Task, name: str) -> str:
    """Return the names that a setting may be which the task declares."""
    if name == "queries":
        return f"one of {', '.join(task.inputs.queries)}" if task.inputs.queries else "none: the task has no queries"
    return f"some of {', '.join(task.inputs.draw)}" if name == "data" else ""


class SettingsList(Printed):
    """The settings of a learner as text and as plain data."""

    def __init__(self, learner: AnyLearner) -> None:
        self.about = {name: learner.recipe[name] for name in ("task", "method", "teacher", "seed")}
        self.lines = settings_of(learner)

    def as_json(self) -> dict[str, Any]:
        """Return the task, method, teacher and seed, and of each setting its value, default, range and meaning."""
        listed: dict[str, Any] = finite({**self.about, "settings": [line._asdict() for line in self.lines]})
        return listed

    def __str__(self) -> str:
        about = "\n".join(f"{name} = {value}" for name, value in self.about.items())
        parts = []
        for line in self.lines:
            head = f"{line.name} = {setting_text(line.value)}"
            usual = "" if line.value == line.default else f"; {setting_text(line.default) or 'empty'} unless changed"
            allowed = line.allowed[:1].upper() + line.allowed[1:]
            parts.append("\n".join([head, wrap(line.meaning, "    "), wrap(f"{allowed}{usual}.", "    ")]))
        return f"{about}\n\n" + "\n".join(parts) + "\n"
