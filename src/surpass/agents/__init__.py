"""Who answers: teachers, networks and the zoo."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from surpass.agents.adapted import AdaptedAgent
from surpass.agents.run_task import RECORD, recorded_file, resuming, warn_of_change
from surpass.agents.storage import load_saved, read_about
from surpass.agents.teachers import find_teacher, known_teachers
from surpass.agents.zoo import load_entry
from surpass.bundles import load_bundle
from surpass.engine.check_task import check_once
from surpass.engine.run import AnyAgent
from surpass.errors import ProgramError, SavedFileError, SettingError, UnknownNameError
from surpass.programs.text import read_program, read_text
from surpass.reading import Setting, as_path, read_record, show
from surpass.table import Agent
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task
from surpass.tasks.user_file import forget_task_file, load_task_file


class Learned(Protocol):
    """A run, as `surpass.learn` returns it."""

    @property
    def folder(self) -> Path:
        """Where it left everything."""

    @property
    def agent(self) -> AnyAgent | None:
        """What was learned; None if the time was up before there was anything."""


AgentLike = AnyAgent | Learned | str | Path
"""An agent, a run that learned one, or a text that names one."""
TaskLike = Task | str | Path
"""A task, its name, or a Python file that registers it."""


def as_task(task: TaskLike) -> Task:
    """Return the task itself, that of a name, or the one that a Python file registers."""
    if isinstance(task, Task):
        return task
    if not str(task).endswith(".py"):
        return find_task(str(task))
    path = as_path(task)
    tasks = load_task_file(path)
    try:
        for one in tasks:
            check_once(one)
    except BaseException:
        forget_task_file(path)  # so that it can be mended and loaded again
        raise
    if len(tasks) > 1:
        names = ", ".join(one.name for one in tasks)
        raise SettingError(f"{task} registers several tasks ({names}); put each into its own file")
    return tasks[0]


def task_of_run(name: str, folder: Path, give: str = "--task") -> Task:
    """Return the task of a name; one that is not known is loaded from the file that a run records.

    A warning is given if the task's file has changed since the run. `give` says how a user names a task file.
    """
    try:
        task = find_task(name)
    except UnknownNameError as error:
        path = recorded_file(folder, name, give)
        if path is None:
            hint = f"if it is a task of your own, give its file with {give} FILE.py"
            raise SettingError(f"{error}; {hint}") from None
        return as_task(path)
    warn_of_change(folder, task)
    return task


def as_agent(agent: AgentLike, task: TaskLike | None = None) -> AnyAgent:
    """Return the agent itself, that of a run, or the one that a text names; it must be of `task` if one is given."""
    wanted = None if task is None else as_task(task)
    found: Any = find_agent(str(agent), wanted) if isinstance(agent, str | Path) else agent
    if not hasattr(found, "task") and hasattr(found, "folder") and hasattr(found, "agent"):
        if found.agent is None:
            raise SettingError(f"the run {found.folder} has no agent yet; resume it first")
        found = found.agent
    if not hasattr(found, "task"):
        raise SettingError(f"{show(agent)} is not an agent; give an agent, a run, or a text that names one")
    if wanted is not None and found.task is not wanted:
        raise SettingError(f"{found.name} works on {found.task.name}, not on {wanted.name}")
    agent_found: AnyAgent = found
    return agent_found


def agent_of_recipe(task: Task, name: str) -> AnyAgent:
    """Return the agent that a recipe of a task names to learn from; one of a smaller task is carried over."""
    found = find_agent(name, task)
    if found.task is task:
        return found
    if not isinstance(found, Agent):
        raise SettingError(f"{name} sees whole lists and cannot be carried over to {task.name}")
    return AdaptedAgent(found, task)


def find_agent(text: str, task: Task | None = None) -> AnyAgent:
    """Return the agent that a text names: `teacher:NAME`, `zoo:NAME`, a run's folder, a checkpoint, a program file.

    A name alone is that of a teacher, of `task` first; if there is none, it is a file or a folder.
    """
    kind, colon, name = text.partition(":")
    if text.startswith("teacher:") or any(one.name == f"teacher:{text}" for one in known_teachers()):
        try:
            return find_teacher(text.removeprefix("teacher:"), task)
        except UnknownNameError as error:
            error.args = (f"{error}; for a teacher of your own, give the file of its task with --task FILE.py",)
            raise
    if colon and kind == "zoo":
        return load_entry(name)
    if text.endswith(".rules"):
        _load_task_of_rules(as_path(text))
        return read_program(text)
    if text.endswith(".safetensors"):
        from surpass.agents.networks.files import load_agent

        stem = as_path(text).with_suffix("")
        return load_agent(stem, text, _task_of_bundle(stem))[0]
    if (path := as_path(text)).exists() or text.endswith(".json"):
        stem = _bundle_of(path)
        _task_of_bundle(stem)
        return load_saved(stem, text)
    raise SettingError(
        f"unknown agent {text!r}: no teacher is called so, and there is no such file or folder; known:"
        f" {', '.join(one.name for one in known_teachers(task))}, zoo:NAME (see surpass zoo), a run's folder,"
        " a checkpoint or a program file NAME.rules"
    )


def _load_task_of_rules(path: Path) -> None:
    """Load the task that a program file in a run's folder names in its first line."""
    with suppress(ProgramError):
        for line in read_text(path).splitlines():
            if line.startswith("task "):
                name = line.partition(" ")[2].partition("#")[0].strip()
                if (path.parent / RECORD).exists():
                    task_of_run(name, path.parent)
                return


def _task_of_bundle(stem: Path) -> Task:
    """Return the task of a saved agent, which may lie in the folder of a run."""
    folder = stem.parent.parent if stem.parent.name == "checkpoints" else stem.parent
    return task_of_run(read_about(stem)["task"], folder)


def _bundle_of(path: Path) -> Path:
    """Return the stem of the bundle that a path means: a file's own, or a run's final or newest whole one.

    A search that goes on has found more than was final before: then it is the newest.
    """
    if not path.is_dir():
        if path.suffix != ".json":
            raise SavedFileError(
                f"{path} is not an agent: it must be a .json, .safetensors or .rules file, or the folder of a run"
            )
        return path.with_suffix("")
    final, ended = path / "agent", ""
    if final.with_suffix(".json").exists():
        about = read_about(final)
        if "rules_sha256" not in about or about.get("finished", True):
            return final
        ended = f"{about.get('rounds', 0):08d}"
    for candidate in sorted((path / "checkpoints").glob("[0-9]*.json"), reverse=True):
        if candidate.stem <= ended:
            break
        with suppress(SavedFileError):
            load_bundle(candidate.with_suffix(""))
            return candidate.with_suffix("")
    if ended:
        return final
    if (path / "recipe.json").exists():
        recipe = read_record(path / "recipe.json", dict[str, Setting])
        raise SavedFileError(f"the run {path} has saved nothing yet; {resuming(recipe, path)} continues it")
    raise SavedFileError(f"{path} is not the folder of a run: it holds no agent and no whole checkpoint")
