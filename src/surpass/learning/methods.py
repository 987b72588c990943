"""The ways to learn, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from surpass.agents.teachers import usual_teacher
from surpass.errors import SettingError, UnknownNameError
from surpass.full_view.imitation import FullViewImitation, FullViewImitationConfig
from surpass.full_view.policy_gradient import FullViewGradientConfig, FullViewPolicyGradient
from surpass.learning.derived import derived_settings, usual_policy
from surpass.learning.drawn.learner import DrawnConfig, DrawnPolicyGradient
from surpass.learning.forks.learner import ForkConfig, ForkPolicyGradient
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.learner import Improvement
from surpass.learning.policy_gradient.learner import PolicyGradient, PolicyGradientConfig
from surpass.learning.stages import StagedLearner
from surpass.learning.table_policy.learner import TablePolicyConfig, TablePolicyGradient
from surpass.reading import SEED, check_range, show
from surpass.tasks.task import Task

AnyLearner = Imitation | FullViewImitation | PolicyGradient | StagedLearner | FullViewPolicyGradient | Improvement

_WITH_TABLE: dict[str, tuple[Any, Any]] = {
    "imitation": (Imitation, ImitationConfig),
    "rl": (PolicyGradient, PolicyGradientConfig),
    "rl+imitation": (PolicyGradient, PolicyGradientConfig),
    "improvement": (Improvement, ImprovementConfig),
}
_FULL_VIEW: dict[str, tuple[Any, Any]] = {
    "imitation": (FullViewImitation, FullViewImitationConfig),
    "rl": (FullViewPolicyGradient, FullViewGradientConfig),
    "rl+imitation": (FullViewPolicyGradient, FullViewGradientConfig),
}
METHODS = tuple(_WITH_TABLE)
POLICIES: dict[str, tuple[Any, Any]] = {
    "table": (TablePolicyGradient, TablePolicyConfig),
    "forks": (ForkPolicyGradient, ForkConfig),
    "drawn": (DrawnPolicyGradient, DrawnConfig),
    "network": (PolicyGradient, PolicyGradientConfig),
}
"""What policy gradient can optimise, where there is a table."""


def new_learner(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> AnyLearner:
    """Return a fresh learner of a task; `settings` change fields of its configuration, given as text."""
    learner, config = configure(task, method, teacher=teacher, seed=seed, settings=settings)
    found: AnyLearner = learner(task, config)
    return found


def configure(
    task: Task, method: str, *, teacher: str | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> tuple[Any, Any]:
    """Return the class of the learner of a task and method, and its configuration."""
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    check_range("seed", seed, SEED)
    if method == "rl" and teacher is not None:
        raise SettingError("method rl learns from nothing; with a teacher it is rl+imitation")
    kinds = _FULL_VIEW if task.interface.is_full_view else _WITH_TABLE
    if method not in kinds:
        raise SettingError(f"method {method} needs a task with a table; {task.name} has a full view")
    learner, config = kinds[method]
    usual = task.learning.get(method, {})
    if kinds is _WITH_TABLE and learner is PolicyGradient:
        is_declared = any(name.partition(",")[0] == method for name in task.learning)
        known = usual.get("policy", "network" if is_declared else usual_policy(task))
        policy = (settings or {}).get("policy", known)
        if policy not in POLICIES:
            raise UnknownNameError("policy", policy, POLICIES)
        if policy != "network" and "actors" in (settings or {}):
            raise SettingError(f"actors goes with policy=network; the policy is {policy}, which plays in one share")
        learner, config = POLICIES[policy]
        usual = usual if policy == known else task.learning.get(f"{method}, {policy}", {})
        usual = usual if is_declared else derived_settings(task, policy)
    chosen: dict[str, Any] = {"task": task.name, "seed": seed}
    chosen["teacher"] = "" if method == "rl" else teacher or default_teacher(task)
    chosen.update(usual)
    if method == "imitation" and "data" in (settings or {}) and not hasattr(config, "data"):
        raise SettingError(
            "imitation draws its own lists and takes no data; --data is for --method improvement, rl and rl+imitation"
        )
    for name, text in (settings or {}).items():
        chosen[name] = _parse_setting(config, name, text)
    if method == "rl" and issubclass(config, PolicyGradientConfig):
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
        policies = {policy: other for policy, (_, other) in POLICIES.items()}
        is_one = config in policies.values()
        others = [policy for policy, other in policies.items() if is_one and name in _settings_of(other)]
        why = f", which goes with policy={' or '.join(others)}" if others else ""
        raise UnknownNameError("setting", name, defaults, why)
    default = defaults[name]
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.replace(",", " ").split())
        kind: Any = type(default)
        return kind(text)
    except ValueError:
        raise SettingError(f"setting {name} is {show(text)}; it must be like {default!r}") from None
