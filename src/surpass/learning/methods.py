"""The ways to learn, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from surpass.agents.teachers import usual_teacher
from surpass.engine.check_task import check_once
from surpass.errors import SettingError, UnknownNameError
from surpass.extras import load_names
from surpass.reading import SEED, check_range, show
from surpass.tasks.task import Limit, Task

if TYPE_CHECKING:
    from surpass.full_view.imitation import FullViewImitation
    from surpass.full_view.policy_gradient import FullViewPolicyGradient
    from surpass.learning.discover.learner import Discover
    from surpass.learning.imitation import Imitation
    from surpass.learning.policy_gradient.learner import PolicyGradient
    from surpass.learning.table.learner import TableLearner

AnyLearner: TypeAlias = (
    "Imitation | FullViewImitation | PolicyGradient | TableLearner | FullViewPolicyGradient | Discover"
)

_NETWORK = ("surpass.learning.policy_gradient.learner", "PolicyGradient", "PolicyGradientConfig")
_FULL_VIEW_GRADIENT = ("surpass.full_view.policy_gradient", "FullViewPolicyGradient", "FullViewGradientConfig")
# A learner's module, its class and that of its configuration: only the one that is asked for is loaded.
_WITH_TABLE = {
    "imitation": ("surpass.learning.imitation", "Imitation", "ImitationConfig"),
    "rl": _NETWORK,
    "rl+imitation": _NETWORK,
    "discover": ("surpass.learning.discover.learner", "Discover", "DiscoverConfig"),
}
_FULL_VIEW = {
    "imitation": ("surpass.full_view.imitation", "FullViewImitation", "FullViewImitationConfig"),
    "rl": _FULL_VIEW_GRADIENT,
    "rl+imitation": _FULL_VIEW_GRADIENT,
}
METHODS = tuple(_WITH_TABLE)
REPLACED = {"improvement": "discover"}
"""Methods of earlier versions, with what has taken their place."""
STEP_COST = 0.01
"""What a step costs a network's policy gradient where steps count; a wrong answer costs about as all of them."""
POLICIES = {
    "table": ("surpass.learning.table.learner", "TableLearner", "TableConfig"),
    "network": _NETWORK,
}
"""What policy gradient can optimise, where there is a table."""


def new_learner(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> AnyLearner:
    """Return a fresh learner of a task; `settings` change fields of its configuration, given as text."""
    learner, config = configure(task, method, teacher=teacher, seed=seed, settings=settings)
    found: AnyLearner = learner(task, config)
    check_once(task, max(map(int, re.findall(r"\d+", str(getattr(config, "sizes", "")))), default=0))
    return found


def configure(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> tuple[Any, Any]:
    """Return the class of the learner of a task and method, and its configuration."""
    if method not in METHODS:
        why = f", which surpass {REPLACED[method]} has replaced" if method in REPLACED else ""
        raise UnknownNameError("method", method, METHODS, why)
    check_range("seed", seed, SEED)
    if method == "rl" and teacher is not None:
        raise SettingError("method rl learns from nothing; with a teacher it is rl+imitation")
    if method == "discover" and teacher is not None:
        raise SettingError("discover begins with every teacher; to begin with some agents only, name them with --from")
    kinds = _FULL_VIEW if task.interface.is_full_view else _WITH_TABLE
    if method not in kinds:
        raise SettingError(f"method {method} needs a task with a table; {task.name} has a full view")
    place = kinds[method]
    if place is _NETWORK:
        policy = (settings or {}).get("policy", "table")
        if policy not in POLICIES:
            raise UnknownNameError("policy", policy, POLICIES)
        place = POLICIES[policy]
    learner, config = load_names(*place)
    chosen: dict[str, Any] = {"task": task.name, "seed": seed}
    if place is _NETWORK:
        chosen |= {"data": task.inputs.usual_data, "baseline": "network"}
        if task.measure == "steps":
            most_steps = int(Limit.parse(task.limit).steps(np.array([task.training_sizes[1]]))[0])
            chosen |= {"step_cost": STEP_COST, "wrong_cost": max(1.0, min(10.0, STEP_COST * most_steps))}
    chosen["teacher"] = "" if method in ("rl", "discover") else teacher or default_teacher(task)
    if method == "imitation" and "data" in (settings or {}) and not hasattr(config, "data"):
        raise SettingError(
            "imitation draws its own lists and takes no data; --data is for discover, rl and rl+imitation"
        )
    for name, text in (settings or {}).items():
        chosen[name] = _parse_setting(config, name, text)
    if method == "rl" and place in (_NETWORK, _FULL_VIEW_GRADIENT):
        chosen["imitation_weight"] = 0.0
    return learner, config(**chosen)


def default_teacher(task: Task) -> str:
    """Return the teacher that a task names to learn from, or its first one."""
    teacher = usual_teacher(task)
    if teacher is None:
        raise SettingError(f"task {task.name} has no teacher to learn from")
    return task.default_teacher or teacher.name.partition(":")[2]


def _settings_of(config: Any) -> dict[str, Any]:
    """Return the settings that a configuration has, and their defaults."""
    return {field.name: field.default for field in fields(config) if field.name not in ("task", "teacher", "seed")}


def _parse_setting(config: Any, name: str, text: str) -> Any:
    """Return the value of a field of a configuration, given as text."""
    defaults = _settings_of(config)
    if name not in defaults:
        is_of_policy = config.__name__ in (place[-1] for place in POLICIES.values())
        policies = {policy: load_names(*place)[1] for policy, place in POLICIES.items()} if is_of_policy else {}
        others = [policy for policy, other in policies.items() if name in _settings_of(other)]
        why = f", which goes with policy={' or '.join(others)}" if others else ""
        raise UnknownNameError("setting", name, defaults, why)
    default = defaults[name]
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.replace(",", " ").split())
        kind: Any = type(default)
        return kind(text)
    except ValueError:
        like = repr(default) if default != () else "5,10"
        raise SettingError(f"setting {name} is {show(text)}; it must be like {like}") from None
