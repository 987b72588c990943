"""What runs measured while they learned, read from their folders; the runs of a sweep together by setting."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents import TaskLike, agent_of_recipe, as_task, task_of_run
from surpass.agents.teachers import usual_teacher
from surpass.arrays import Flags, Reals
from surpass.engine.run import AnyAgent
from surpass.errors import DataFileError, SavedFileError
from surpass.learning.recipes import RUN, Recipe
from surpass.learning.sweeps import FIXED, Sweep
from surpass.reading import Seed, Setting, as_path, read_bytes, read_record, validate
from surpass.tasks.task import Task

RECIPE, CURVES, SWEEP = "recipe.json", "curves.csv", "sweep.json"


@dataclass(frozen=True, eq=False)
class History:
    """What a run measured, round by round."""

    folder: Path
    task: Task
    recipe: dict[str, Any]
    rows: tuple[dict[str, float], ...]
    """What each round showed; a column that a round does not have is left out."""

    @property
    def columns(self) -> list[str]:
        """The names of everything that some round has."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def values(self, column: str) -> Reals:
        """Return what each round [m] says in a column; NaN where it says nothing."""
        return np.array([row.get(column, math.nan) for row in self.rows])

    @property
    def is_of_student(self) -> Flags:
        """Whether in each round [m] a network only learned what the run had found before, and nothing new was."""
        is_gradient = str(self.recipe["method"]).startswith("rl")
        return np.array([is_gradient and "agreement" in row for row in self.rows], np.bool_)

    @property
    def teacher(self) -> AnyAgent | None:
        """Whom it learned from; for a run from nothing, the usual teacher of the task, if there is one."""
        named = str(self.recipe.get("teacher") or "")
        return agent_of_recipe(self.task, named) if named else usual_teacher(self.task)

    @property
    def measure(self) -> str:
        """The column of what the task is measured by."""
        return "mean_reward" if self.task.measure == "reward" else "mean_steps"

    def measured(self) -> tuple[Reals, Reals]:
        """Return the mean steps or reward of each round [m] and the sizes [m] it was measured at.

        Improvement measures what programs cost at several sizes, of which this is the largest.
        """
        costs = {int(name[5:]): name for name in self.columns if name.startswith("cost_") and name[5:].isdecimal()}
        if not costs:
            return self.values(self.measure), self.values("size")
        size = max(costs)
        sign = -1 if self.task.measure == "reward" else 1
        return sign * self.values(costs[size]), np.full(len(self.rows), float(size))


def is_run(path: Path) -> bool:
    """Tell whether a folder holds a run."""
    return (path / RECIPE).is_file()


def is_sweep(path: Path) -> bool:
    """Tell whether a folder holds a sweep."""
    return (path / SWEEP).is_file()


def read_history(folder: Path, task: TaskLike | None = None) -> History:
    """Return what the run of a folder measured; nothing if it has not ended a round yet."""
    path = as_path(folder)
    if not is_run(path):
        raise SavedFileError(f"{path} is not the folder of a run: it holds no {RECIPE}")
    wanted = None if task is None else as_task(task)
    recipe = validate(RUN, read_record(path / RECIPE, dict[str, Setting]), path / RECIPE)
    found = task_of_run(recipe["task"], path)
    if wanted is not None and found is not wanted:
        raise SavedFileError(f"{path} is a run of {found.name}, not of {wanted.name}")
    return History(path, found, recipe, _read_rows(path / CURVES))


def _read_rows(path: Path) -> tuple[dict[str, float], ...]:
    if not path.exists():
        return ()
    try:
        rows = list(csv.DictReader(io.StringIO(read_bytes(path, DataFileError).decode()), strict=True))
        return tuple({name: float(text) for name, text in row.items() if text} for row in rows)
    except (AttributeError, TypeError, ValueError, csv.Error):
        raise DataFileError(f"{path} is not a file of a run's curves, or it is cut off") from None


@dataclass(frozen=True, eq=False)
class SettingHistories:
    """The runs of one setting of a sweep, one for each seed that has begun."""

    setting: str
    runs: tuple[History, ...]


def read_sweep(folder: Path, task: TaskLike | None = None) -> list[SettingHistories]:
    """Return what the runs of a sweep measured, by setting; runs that have not begun are left out."""
    sweep = open_sweep(folder, task)
    found: dict[str, list[History]] = {}
    for variant in sweep.recipe.variants:
        run = sweep.run_folder(variant)
        if is_run(run):
            history = read_history(run)
            found.setdefault(variant.label, []).extend([history] if history.rows else [])
    return [SettingHistories(label, tuple(runs)) for label, runs in found.items() if runs]


def open_sweep(folder: Path, task: TaskLike | None = None) -> Sweep:
    """Return the sweep of a folder."""
    if task is not None:
        as_task(task)
    kind = {**FIXED, "name": str, "seeds": list[Seed], "grid": dict[str, list[Setting]]}
    record = read_record(folder / SWEEP, kind)
    recipe: Recipe = validate(Recipe, record, folder / SWEEP)
    return Sweep(recipe, task_of_run(recipe.task, folder), folder)
