"""The settings of a learner: what each means, what it may be, and what it is now.

A configuration names those that matter most in its `FIRST`; without it all of its settings do.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from surpass.errors import UnknownNameError
from surpass.learning.recipes import setting_text
from surpass.printing import Printed, finite, wrap
from surpass.reading import Range, describe_kind

if TYPE_CHECKING:
    from surpass.learning.methods import AnyLearner
    from surpass.tasks.task import Task

GIVEN = ("task", "teacher", "seed")
"""What has options of its own."""
WHICH = ("first", "all")
"""Which settings can be listed."""


class SettingLine(NamedTuple):
    """A setting of a learner."""

    name: str
    value: Any
    """What it is now."""
    default: Any
    """What it is unless the task or someone says otherwise."""
    allowed: str
    """What it may be, in words; empty where any sensible number or text is."""
    meaning: str
    is_first: bool
    """Whether it is one of those that matter most."""


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
    """Return every setting of a learner that `--set` can change, those that matter most first."""
    config = learner.config
    declared: Any = type(config)
    kinds, said = get_type_hints(declared, include_extras=True), meanings(declared)
    defaults = {field.name: field.default for field in fields(config) if field.name not in GIVEN}
    first = getattr(config, "FIRST", tuple(defaults))
    return [
        SettingLine(
            name,
            getattr(config, name),
            defaults[name],
            _choices(learner.task, name) or _allowed(kinds[name]),
            said.get(name, ""),
            name in first,
        )
        for name in dict.fromkeys((*first, *defaults))
    ]


def _allowed(kind: Any) -> str:
    """Return what a setting of a kind may be, in words; nothing if any sensible number or text is."""
    if get_origin(kind) is tuple:
        return "numbers with commas between"
    ranges = [part for part in get_args(kind) if isinstance(part, Range)]
    return "" if kind is str or any(one.is_wide for one in ranges) else describe_kind(kind)


def _choices(task: Task, name: str) -> str:
    """Return the names that a setting may be which the task declares."""
    if name == "queries":
        return f"one of {', '.join(task.inputs.queries)}" if task.inputs.queries else "none: the task has no queries"
    return f"some of {', '.join(task.inputs.draw)}" if name == "data" else ""


class SettingsList(Printed):
    """The settings of a learner as text and as plain data."""

    def __init__(self, learner: AnyLearner, which: str = "first") -> None:
        """List those that matter most, or `all`; the plain data always has all."""
        if which not in WHICH:
            raise UnknownNameError("choice of settings", which, WHICH)
        self.which = which
        self.about = {name: learner.recipe[name] for name in ("task", "method", "teacher", "seed")}
        self.lines = settings_of(learner)

    def as_json(self) -> dict[str, Any]:
        """Return the task, method, teacher and seed, and of each setting its value, default, choices and meaning."""
        listed: dict[str, Any] = finite({**self.about, "settings": [line._asdict() for line in self.lines]})
        return listed

    def __str__(self) -> str:
        about = "\n".join(f"{name} = {value}" for name, value in self.about.items())
        shown = [line for line in self.lines if line.is_first or self.which == "all"]
        parts = [about, ""]
        for line in shown:
            usual = "" if line.value == line.default else f"{setting_text(line.default) or 'empty'} unless changed"
            more = "; ".join(filter(None, (line.allowed, usual)))
            parts += [f"{line.name} = {setting_text(line.value)}", wrap(line.meaning, "    ")]
            parts += [wrap(f"{more[0].upper()}{more[1:]}.", "    ")] if more else []
        if left := len(self.lines) - len(shown):
            parts += ["", f"--settings all lists {left} more."]
        return "\n".join(parts) + "\n"
