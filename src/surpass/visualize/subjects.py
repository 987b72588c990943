"""What a report is about: a run or an agent of the zoo, with everything that is known of how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surpass.agents import AgentLike, TaskLike, agent_of_recipe, as_agent, as_task
from surpass.agents.teachers import usual_teacher
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SurpassError
from surpass.reading import Weight, as_path, read_bytes, read_record
from surpass.tasks.task import Task
from surpass.visualize.histories import History, is_run, is_sweep, open_sweep, read_history


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report is about."""

    name: str
    """As agents are named on the command line."""
    task: Task
    agent: AnyAgent | None
    missing: str = ""
    """Why there is no agent, in a sentence."""
    recipe: Mapping[str, Any] | None = None
    command: str = ""
    """The command that does the run again."""
    history: History | None = None
    seconds: float | None = None
    is_finished: bool = True
    notes: str = ""
    """What the learner had to say at the end of a run, or what the zoo says of an agent."""

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
    if isinstance(what, str | Path) and not str(what).startswith(("teacher:", "zoo:")):
        path = as_path(what)
        if is_sweep(path):
            path = _best_run(path, task)
        if is_run(path):
            return _find_run(path, task)
        if path.is_dir():
            raise SavedFileError(f"{path} is not the folder of a run: it holds no recipe.json")
    if isinstance(what, str) and what.startswith("zoo:"):
        return _find_entry(what, task)
    agent = as_agent(what, task)
    return Subject(agent.name, agent.task, agent)


def _best_run(path: Path, task: TaskLike | None) -> Path:
    ranking = open_sweep(path, task).ranking()
    if not ranking.runs:
        raise SavedFileError(f"no run of the sweep {path} has ended yet: there is nothing to report")
    return path / "runs" / ranking.runs[0].run


def _find_run(path: Path, task: TaskLike | None) -> Subject:
    history = read_history(path, task)
    agent, missing = _load_agent(path)
    ended = path / "agent.json"
    is_finished = ended.exists() and bool(_about(ended).get("finished", True))
    notes = path / "notes.txt"
    words = ["surpass", "learn", *([str(task)] if str(task).endswith(".py") else [])]
    return Subject(
        name=str(path),
        task=history.task,
        agent=agent,
        missing=missing,
        recipe=history.recipe,
        command=shlex.join([*words, "--recipe", str(path), "--out", f"{path}-again"]),
        history=history,
        seconds=_seconds(path / "time.json"),
        is_finished=is_finished,
        notes=read_bytes(notes).decode(errors="replace") if notes.exists() else "",
    )


def _load_agent(path: Path) -> tuple[AnyAgent | None, str]:
    """Return the agent of a run; if it has none yet, why."""
    try:
        return as_agent(path), ""
    except SavedFileError:
        if (path / "agent.json").exists():
            raise
        return None, "This run has not come far enough to leave an agent that can be run."


def _about(path: Path) -> dict[str, Any]:
    from surpass.bundles import load_bundle

    return load_bundle(path.with_suffix(""))[1]


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
        agent=agent,
        recipe=record["recipe"],
        command=shlex.join(["surpass", "learn", "--recipe", name, "--out", f"runs/{entry.stem.name}"]),
        seconds=record["seconds"],
        notes=str(record.get("about", "")),
    )
