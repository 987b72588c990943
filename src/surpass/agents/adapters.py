"""A policy from elsewhere as an agent: any function of an observation, or a model of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surpass.agents import TaskLike, as_task
from surpass.arrays import Array, Ints
from surpass.errors import SettingError, UnknownNameError
from surpass.machine.instructions import Action
from surpass.machine.interface import NO_ACTION
from surpass.tasks.task import Task
from surpass.tasks.user_code import user_errors

OBSERVATIONS = ("features", "one-hot", "named")


def agent(
    policy: Any, task: TaskLike | None = None, *, name: str | None = None, observation: str = "features"
) -> FunctionAgent | ModelAgent:
    """Return a function, or a model of Stable-Baselines3, as an agent to evaluate, show, check and export.

    A function is called once for each distinct observation, and returns an action: its number, its text such as
    `MoveVar(1, +1)`, or None for no action. What it is given is chosen by `observation`: `features`, the array of the
    features' value numbers that the environments show; `one-hot`, the array of a network's inputs; or `named`, a
    dictionary of the features' names and values.

    A model says by its spaces which of the first two it was trained on; its most likely action is taken. Its task is
    that of its environment unless one is given.
    """
    if hasattr(policy, "predict") and hasattr(policy, "observation_space"):
        return ModelAgent(policy, _model_task(policy) if task is None else as_task(task), name)
    if not callable(policy):
        raise SettingError(f"{policy!r} is not a policy; give a function of an observation, or a model with predict()")
    if task is None:
        raise SettingError("a function does not say which task it is for; name the task, as in task='sort-bubble'")
    return FunctionAgent(policy, as_task(task), name, observation)


class FunctionAgent:
    """An agent that asks a function."""

    def __init__(self, function: Callable[[Any], Any], task: Task, name: str | None, observation: str) -> None:
        if observation not in OBSERVATIONS:
            raise UnknownNameError("observation", str(observation), OBSERVATIONS)
        self.task, self.function, self.observation = _with_table(task), function, observation
        self.name = name or getattr(function, "__name__", type(function).__name__).replace("<lambda>", "function")

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        answers = np.empty(len(observations), np.int64)
        for k, shown in enumerate(self._show(observations)):
            with user_errors(f"agent {self.name!r}"):
                answer = self.function(shown)
            answers[k] = self._number(answer)
        return answers

    def _show(self, observations: Ints) -> Sequence[Any]:
        interface = self.task.interface
        if self.observation == "named":
            names = [feature.name for feature in interface.features]
            seen = (interface.unpack_observation(one) for one in observations.tolist())
            return [dict(zip(names, values, strict=True)) for values in seen]
        return list(interface.encode(observations) if self.observation == "one-hot" else interface.digits(observations))

    def _number(self, answer: Any) -> int:
        """Return the number of the action that a function answered with."""
        interface = self.task.interface
        if answer is None:
            return NO_ACTION
        if isinstance(answer, str):
            return interface.parse_action(answer)
        if isinstance(answer, Action):
            return interface.pack_action(answer)
        number = np.asarray(answer)
        if number.size != 1 or number.dtype.kind not in "iu" or not 0 <= int(number.item()) < interface.action_count:
            raise SettingError(
                f"agent {self.name!r} answered {answer!r}; an answer is an action's number, 0 to "
                f"{interface.action_count - 1}, its text, or None"
            )
        return int(number.item())


class ModelAgent:
    """An agent that takes the most likely action of a model of Stable-Baselines3."""

    def __init__(self, model: Any, task: Task, name: str | None) -> None:
        self.task, self.model, self.name = _with_table(task), model, name or type(model).__name__
        interface, space = task.interface, model.observation_space
        sizes = tuple(np.asarray(getattr(space, "nvec", ())).tolist())
        if sizes == tuple(interface.radices):
            self._show: Callable[[Ints], Array] = interface.digits
        elif getattr(space, "shape", None) == (interface.input_size,):
            self._show = interface.encode
        else:
            raise SettingError(
                f"{self.name} was not trained on {task.name}: it sees {space}, and {task.name} shows "
                f"{len(interface.features)} features with {interface.input_size} network inputs"
            )
        actions = int(getattr(model.action_space, "n", -1))
        if actions != interface.action_count:
            raise SettingError(f"{self.name} has {actions} actions, and {task.name} has {interface.action_count}")

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        answers: Ints = np.asarray(self.model.predict(self._show(observations), deterministic=True)[0], np.int64)
        return answers


def _model_task(model: Any) -> Task:
    """Return the task of the environment that a model was trained in."""
    env = model.get_env() if hasattr(model, "get_env") else None
    try:
        settings = env.get_attr("settings")[0]  # type: ignore[union-attr]  # a model without one is refused below
        task = settings.task
    except (AttributeError, IndexError):
        task = None
    if not isinstance(task, Task):
        raise SettingError("the model has no environment of surpass; name its task, as in task='sort-bubble'")
    return task


def _with_table(task: Task) -> Task:
    if task.interface.is_full_view:
        raise SettingError(f"{task.name} shows the whole list; only a policy of a task with a table can be an agent")
    return task
