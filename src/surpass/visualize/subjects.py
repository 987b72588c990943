"""What reports and plots are about: runs, sweeps and agents, with everything that is known of how they were made."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surpass.agents import AgentLike, TaskLike, agent_of_recipe, as_agent, as_task, task_of_run
from surpass.agents.teachers import usual_teacher
from surpass.arrays import Flags, Reals
from surpass.bundles import load_bundle
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.evaluation.curves import read_rounds
from surpass.learning.recipes import RUN, Recipe
from surpass.learning.runs import describe_recipe
from surpass.learning.sweeps import FIXED, Sweep
from surpass.reading import Seed, Setting, Weight, as_path, read_bytes, read_record, validate
from surpass.tasks.task import Task

RECIPE, SWEEP = "recipe.json", "sweep.json"


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
        """Whom it learned from; without one the usual teacher of the task, and None if there is none."""
        return _find_teacher(self.task, str(self.recipe.get("teacher") or ""))

    @property
    def measure(self) -> str:
        """The column of what the task is measured by."""
        return "mean_reward" if self.task.measure == "reward" else "mean_steps"

    def measured(self) -> tuple[Reals, Reals]:
        """Return the mean steps or reward of each round [m] and the sizes [m] it was measured at.

        A search over programs measures what they cost at several sizes, of which this is the largest.
        """
        costs = {int(name[5:]): name for name in self.columns if name.startswith("cost_") and name[5:].isdecimal()}
        if not costs:
            return self.values(self.measure), self.values("size")
        size = max(costs)
        sign = -1 if self.task.measure == "reward" else 1
        return sign * self.values(costs[size]), np.full(len(self.rows), float(size))


class SettingHistories(NamedTuple):
    """The runs of one setting of a sweep, one for each seed that has begun."""

    setting: str
    runs: tuple[History, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report or a line of a plot is about."""

    name: str
    """As agents are named on the command line."""
    task: Task
    given: AnyAgent | None = None
    """The agent, unless it is loaded by the name when it is needed."""
    recipe: Mapping[str, Any] | None = None
    command: str = ""
    """The command that does the run again."""
    history: History | None = None
    curves: tuple[SettingHistories, ...] = ()
    """What its runs measured, by setting; empty if nothing is known of how it learned."""
    seconds: float | None = None
    notes: str = ""
    """What the learner had to say at the end of a run, or what the zoo says of an agent."""

    @cached_property
    def agent(self) -> AnyAgent | None:
        """The agent; None for a run that has none yet."""
        if self.given is not None:
            return self.given
        try:
            return as_agent(self.name)
        except SavedFileError:
            if self.history is None or (self.history.folder / "agent.json").exists():
                raise
            return None

    @cached_property
    def is_finished(self) -> bool:
        """Whether the learning is over."""
        if self.history is None:
            return True
        stem = self.history.folder / "agent"
        return stem.with_suffix(".json").exists() and bool(load_bundle(stem)[1].get("finished", True))

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        if self.history is None:
            return f"{self.name} on {self.task.name}"
        return describe_recipe(self.history.recipe)

    @property
    def label(self) -> str:
        """What it is called in tables and charts."""
        return Path(self.name).name if self.history is not None else self.name

    @property
    def method(self) -> str:
        """How it was learned; empty for a teacher, `program` where nothing is known."""
        if self.recipe is not None:
            return str(self.recipe["method"])
        return "" if self.name.startswith("teacher:") else "program"

    @property
    def teacher(self) -> AnyAgent | None:
        """Whom it learned from; without one the usual teacher of the task, and None if there is none."""
        # The zoo's recipes name files of whoever made it.
        is_elsewhere = self.history is None and self.learned_from.endswith(".rules")
        return _find_teacher(self.task, "" if is_elsewhere else self.learned_from)

    @property
    def started_from(self) -> str:
        """The name of the agent that the learning started from; empty if it started from nothing."""
        return str((self.recipe or {}).get("start") or "")

    @property
    def learned_from(self) -> str:
        """The name of whom it learned from; empty if it was from nothing."""
        return str((self.recipe or {}).get("teacher") or "")


def _find_teacher(task: Task, name: str) -> AnyAgent | None:
    """Return the agent of a name to learn from; without one, or if it is gone, the usual teacher of the task."""
    try:
        return agent_of_recipe(task, name) if name else usual_teacher(task)
    except SurpassError:
        return usual_teacher(task)


# Finding them


def find_subject(what: AgentLike | Any, task: TaskLike | None = None, *, all_runs: bool = False) -> Subject:
    """Return what is known of a run (a `Run`, or its folder), of the best run of a sweep or all, or of any agent."""
    what = getattr(what, "folder", what)  # a Run means its folder
    if not isinstance(what, str | Path) or str(what).startswith("teacher:"):
        agent = as_agent(what, task)
        return Subject(agent.name, agent.task, agent)
    if str(what).startswith("zoo:"):
        return _find_entry(str(what), task)
    path = as_path(what)
    if (path / SWEEP).is_file():
        if all_runs:
            return _find_sweep(path, task)
        ranking = open_sweep(path, task).ranking()
        if not ranking.runs:
            raise SavedFileError(f"no run of the sweep {path} has ended yet: there is nothing to report")
        path = path / "runs" / ranking.runs[0].run
    if (path / RECIPE).is_file():
        return _find_run(path, task)
    if path.is_dir() and not (path / "agent.json").exists():
        raise SavedFileError(f"{path} is not the folder of a run or a sweep")
    agent = as_agent(what, task)
    return Subject(agent.name, agent.task, agent)


def _find_sweep(path: Path, task: TaskLike | None) -> Subject:
    sweep = open_sweep(path, task)
    runs: dict[str, list[History]] = {}
    for variant in sweep.recipe.variants:
        if (sweep.run_folder(variant) / RECIPE).is_file():
            history = _read_history(sweep.run_folder(variant), None)
            runs.setdefault(variant.label, []).extend([history] if history.rows else [])
    curves = tuple(SettingHistories(label, tuple(found)) for label, found in runs.items() if found)
    if not curves:
        raise SettingError(f"no run of the sweep {path} has ended a round yet: there is nothing to plot")
    first = curves[0].runs[0]
    return Subject(str(path), first.task, recipe=first.recipe, curves=curves)


def open_sweep(folder: Path, task: TaskLike | None = None) -> Sweep:
    """Return the sweep of a folder."""
    if task is not None:
        as_task(task)
    kind = {**FIXED, "name": str, "seeds": list[Seed], "grid": dict[str, list[Setting]]}
    recipe: Recipe = validate(Recipe, read_record(folder / SWEEP, kind), folder / SWEEP)
    return Sweep(recipe, task_of_run(recipe.task, folder), folder)


def _read_history(path: Path, task: TaskLike | None) -> History:
    """Return what a run measured; nothing if it has not ended a round yet."""
    wanted = None if task is None else as_task(task)
    recipe = validate(RUN, read_record(path / RECIPE, dict[str, Setting]), path / RECIPE)
    found = task_of_run(recipe["task"], path)
    if wanted is not None and found is not wanted:
        raise SavedFileError(f"{path} is a run of {found.name}, not of {wanted.name}")
    return History(path, found, recipe, read_rounds(path / "curves.csv"))


def _find_run(path: Path, task: TaskLike | None) -> Subject:
    history, notes = _read_history(path, task), path / "notes.txt"
    try:
        seconds = float(read_record(path / "time.json", {"seconds": Weight})["seconds"])
    except SavedFileError:
        seconds = None
    words = ["surpass", "learn", *([str(task)] if str(task).endswith(".py") else [])]
    return Subject(
        name=str(path),
        task=history.task,
        recipe=history.recipe,
        command=shlex.join([*words, "--recipe", str(path), "--out", f"{path}-again"]),
        history=history,
        curves=(SettingHistories("", (history,)),),
        seconds=seconds,
        notes=read_bytes(notes).decode(errors="replace") if notes.exists() else "",
    )


def _find_entry(what: str, task: TaskLike | None) -> Subject:
    from surpass.agents.zoo import find_entry

    entry = find_entry(what.removeprefix("zoo:"))
    record, name = entry.record, f"zoo:{entry.name}"
    agent = as_agent(name, task)
    return Subject(
        name=name,
        task=agent.task,
        given=agent,
        recipe=record["recipe"],
        command=shlex.join(["surpass", "learn", "--recipe", name, "--out", f"runs/{entry.stem.name}"]),
        seconds=record["seconds"],
        notes=str(record.get("about", "")),
    )
