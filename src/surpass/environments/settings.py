"""What an environment of a task can be told, checked and completed from the task's declaration; and its spaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, TypedDict

import numpy as np
from gymnasium import spaces

from surpass.agents import as_task
from surpass.errors import SettingError, UnknownNameError
from surpass.machine.features import Feature
from surpass.tasks.task import Limit, Task

Observation = Literal["features", "one-hot"]

OBSERVATIONS = ("features", "one-hot")
RENDER_MODES = ("ansi", "rgb_array")


class Options(TypedDict, total=False):
    """The keyword arguments that single and vector environments share."""

    size: int | Sequence[int] | None
    """The size of every instance, or the smallest and the largest; the default is what the task learns on."""
    data: str | None
    """The distribution of the instances; the default is the task's first."""
    queries: str | None
    """For tasks with queries, which to draw; the default is the task's first."""
    limit: str | None
    """The step limit as `K`, `Kn` or `Kn^2`; the default is the task's."""
    observation: Observation
    """`features`: the number of each feature's value. `one-hot`: the inputs of a network."""
    shaping: float
    """What a gain of one in the score adds to the reward, beside what the task itself pays for it."""
    render_mode: str | None
    """None, `ansi` for text or `rgb_array` for pixels."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that shapes an environment's episodes."""

    task: Task
    sizes: tuple[int, int]
    """The smallest and the largest size; each episode draws its own uniformly."""
    data: str
    queries: str
    limit: Limit
    observation: Observation
    shaping: float
    render_mode: str | None

    def __deepcopy__(self, memo: object) -> Settings:
        # Nothing here changes, and the compiled loops belong to this very task: a copied one would load them again.
        return self

    @property
    def is_full_view(self) -> bool:
        """Whether the agent sees the whole list."""
        return self.task.interface.is_full_view

    @property
    def fixed_size(self) -> int:
        """The one size of a full view, whose spaces depend on it."""
        return self.sizes[1]

    @property
    def action_choices(self) -> int | list[int]:
        """How many actions there are; for a full view, how many values each operand has: a pointer's are positions."""
        interface = self.task.interface
        if not self.is_full_view:
            return interface.action_count
        return [len(o.values) or self.fixed_size for o in interface.instructions[0].operands]

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The actions of one episode: their numbers, or for a full view the operands."""
        choices = self.action_choices
        return spaces.Discrete(choices) if isinstance(choices, int) else spaces.MultiDiscrete(choices)

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """What one episode shows: value numbers, network inputs, or for a full view the edges of its graph."""
        interface = self.task.interface
        if self.is_full_view:
            return spaces.Box(-1, 1, (self.fixed_size, self.fixed_size, 2), np.int8)
        if self.observation == "features":
            return spaces.MultiDiscrete(list(interface.radices))
        numbers = [
            float(value)  # type: ignore[arg-type]  # the values of a feature that is encoded as a number are numbers
            for feature in interface.features
            if isinstance(feature, Feature) and feature.encoding == "number"
            for value in feature.values
        ]
        return spaces.Box(min([-1, *numbers]), max([1, *numbers]), (interface.input_size,), np.float32)


def read_settings(
    task: str | Task,
    *,
    size: int | Sequence[int] | None = None,
    data: str | None = None,
    queries: str | None = None,
    limit: str | None = None,
    observation: Observation = "features",
    shaping: float = 0.0,
    render_mode: str | None = None,
) -> Settings:
    """Return the settings that these options mean for a task; raise if one of them is impossible."""
    task = as_task(task)
    for what, name, known in (
        (f"distribution for {task.name}", data, task.inputs.draw),
        (f"kind of query for {task.name}", queries, task.inputs.queries),
        ("observation", observation, OBSERVATIONS),
        ("render mode", render_mode, RENDER_MODES),
    ):
        if name is not None and name not in known:
            raise UnknownNameError(what, str(name), known)
    if not isinstance(shaping, int | float) or not math.isfinite(shaping):
        raise SettingError(f"shaping is {shaping!r}; it must be a finite number")
    if task.interface.is_full_view and len(task.interface.instructions) > 1:
        raise SettingError(
            f"the full view {task.name} has {len(task.interface.instructions)} instructions; its environment needs one"
        )
    return Settings(
        task=task,
        sizes=_read_sizes(task, size),
        data=data if data is not None else task.inputs.usual_data,
        queries=queries or task.inputs.usual_queries,
        limit=Limit.parse(limit if limit is not None else task.limit),
        observation=observation,
        shaping=float(shaping),
        render_mode=render_mode,
    )


def _read_sizes(task: Task, size: int | Sequence[int] | None) -> tuple[int, int]:
    """Return the smallest and the largest size."""
    is_full_view = task.interface.is_full_view
    if size is None:
        low, high = task.training_sizes
        return (high, high) if is_full_view else (low, high)
    bounds = list(size) if isinstance(size, Sequence) and not isinstance(size, str) else [size, size]
    if len(bounds) != 2 or not all(_is_size(bound) for bound in bounds) or bounds[0] > bounds[1]:
        raise SettingError(
            f"size is {size!r}; it must be a whole number from 1 on, or the smallest and the largest such"
        )
    if is_full_view and bounds[0] < bounds[1]:
        raise SettingError(
            f"size is {size!r}; {task.name} shows the whole list, so its environment needs one size such as {bounds[1]}"
        )
    return int(bounds[0]), int(bounds[1])


def _is_size(value: object) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool) and value.__index__() >= 1
