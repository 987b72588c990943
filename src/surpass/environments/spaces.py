"""The action and observation spaces of an environment, derived from the task's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from surpass.arrays import Ints
from surpass.environments.settings import Settings
from surpass.errors import SettingError
from surpass.machine.features import Feature


def action_space(settings: Settings) -> spaces.Space[Any]:
    """Return the actions of one episode: their numbers, or for a full view the operands."""
    interface = settings.task.interface
    if not settings.is_full_view:
        return spaces.Discrete(interface.action_count)
    return spaces.MultiDiscrete(_operand_choices(settings))


def _operand_choices(settings: Settings) -> list[int]:
    """Return how many values each operand of a full view's instruction has; a pointer's are the positions."""
    return [len(o.values) or settings.fixed_size for o in settings.task.interface.instructions[0].operands]


def observation_space(settings: Settings) -> spaces.Space[Any]:
    """Return what one episode shows: value numbers, network inputs, or for a full view the edges of its graph."""
    interface = settings.task.interface
    if settings.is_full_view:
        return spaces.Box(-1, 1, (settings.fixed_size, settings.fixed_size, 2), np.int8)
    if settings.observation == "features":
        return spaces.MultiDiscrete(list(interface.radices))
    numbers = [
        float(value)  # type: ignore[arg-type]  # the values of a feature that is encoded as a number are numbers
        for feature in interface.features
        if isinstance(feature, Feature) and feature.encoding == "number"
        for value in feature.values
    ]
    return spaces.Box(min([-1, *numbers]), max([1, *numbers]), (interface.input_size,), np.float32)


def read_actions(settings: Settings, actions: Any, count: int) -> tuple[Ints, Ints]:
    """Return the actions' numbers [B] and their rows to execute [B, 1 + operands]; refuse anything but actions."""
    task, given = settings.task, np.asarray(actions)
    choices = np.array(_operand_choices(settings) if settings.is_full_view else task.interface.action_count)
    shape = (count, *choices.shape)
    if given.dtype.kind not in "iu" or given.shape != shape:
        raise SettingError(
            f"actions of {task.name} are whole numbers of shape {shape}, not {given.dtype} of shape {given.shape}"
        )
    bad = (given < 0) | (given >= choices)
    if bad.any():
        raise SettingError(f"{task.name} has no action {given[bad][0]}; allowed: 0 to {choices.min() - 1}")
    if settings.is_full_view:
        nothing = np.zeros(count, np.int64)
        return nothing, np.column_stack([nothing, given.astype(np.int64)])
    numbers = given.astype(np.int64)
    return numbers, task.interface.action_rows[numbers]
