"""What reports and plots are about: a run or an agent, with everything that is known of how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from surpass.agents import AgentLike, TaskLike, agent_of_recipe, as_agent, as_task
from surpass.agents.teachers import usual_teacher
from surpass.bundles import load_bundle
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SurpassError
from surpass.reading import Weight, as_path, read_bytes, read_record
from surpass.tasks.task import Task
from surpass.visualize.histories import History, SettingHistories, is_run, is_sweep, open_sweep, read_history


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
    sweep: tuple[SettingHistories, ...] = ()
    """Of a sweep: what all of its runs measured."""
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
    def curves(self) -> tuple[SettingHistories, ...]:
        """What its runs measured, by setting; empty if nothing is known of how it learned."""
        return self.sweep or ((SettingHistories("", (self.history,)),) if self.history else ())

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

    def find_teacher(self) -> AnyAgent | None:
        """Return whom it learned from; without one the usual teacher of the task, and None if there is none."""
        named = self.learned_from
        is_elsewhere = self.history is None and named.endswith(".rules")  # a file of whoever made it for the zoo
        try:
            if named and not is_elsewhere:
                return agent_of_recipe(self.task, named)
        except SurpassError:  # the file or run that it learned from may be gone
            pass
        return usual_teacher(self.task)

    @property
    def started_from(self) -> str:
        """The name of the agent that the learning started from; empty if it started from nothing."""
        return str((self.recipe or {}).get("start") or "")

    @property
    def learned_from(self) -> str:
        """The name of whom it learned from; empty if it was from nothing."""
        return str((self.recipe or {}).get("teacher") or "")


def find_subject(what: AgentLike | Any, task: TaskLike | None = None) -> Subject:
    """Return what is known of a run (a `Run`, or its folder), of the best run of a sweep, or of any agent."""
    what = getattr(what, "folder", what)
    path = folder_of(what)
    if path is not None and is_sweep(path):
        path = _best_run(path, task)
    if path is not None and is_run(path):
        return _find_run(path, task)
    if path is not None and path.is_dir() and not (path / "agent.json").exists():
        raise SavedFileError(f"{path} is not the folder of a run or a sweep")
    if isinstance(what, str) and what.startswith("zoo:"):
        return _find_entry(what, task)
    agent = as_agent(what, task)
    return Subject(agent.name, agent.task, agent)


def folder_of(what: Any) -> Path | None:
    """Return the path that something names, unless it is an agent or the name of one."""
    is_path = isinstance(what, str | Path) and not str(what).startswith(("teacher:", "zoo:"))
    return as_path(what) if is_path else None


def _best_run(path: Path, task: TaskLike | None) -> Path:
    ranking = open_sweep(path, task).ranking()
    if not ranking.runs:
        raise SavedFileError(f"no run of the sweep {path} has ended yet: there is nothing to report")
    return path / "runs" / ranking.runs[0].run


def _find_run(path: Path, task: TaskLike | None) -> Subject:
    history, notes = read_history(path, task), path / "notes.txt"
    words = ["surpass", "learn", *([str(task)] if str(task).endswith(".py") else [])]
    return Subject(
        name=str(path),
        task=history.task,
        recipe=history.recipe,
        command=shlex.join([*words, "--recipe", str(path), "--out", f"{path}-again"]),
        history=history,
        seconds=_seconds(path / "time.json"),
        notes=read_bytes(notes).decode(errors="replace") if notes.exists() else "",
    )


def _seconds(path: Path) -> float | None:
    try:
        return float(read_record(path, {"seconds": Weight})["seconds"])
    except SavedFileError:
        return None


def _find_entry(what: str, task: TaskLike | None) -> Subject:
    from surpass.agents.zoo import find_entry

    entry = find_entry(what.removeprefix("zoo:"))
    if task is not None:
        as_agent(f"zoo:{entry.name}", as_task(task))
    record, name = entry.record, f"zoo:{entry.name}"
    agent = as_agent(name)
    return Subject(
        name=name,
        task=agent.task,
        given=agent,
        recipe=record["recipe"],
        command=shlex.join(["surpass", "learn", "--recipe", name, "--out", f"runs/{entry.stem.name}"]),
        seconds=record["seconds"],
        notes=str(record.get("about", "")),
    )
