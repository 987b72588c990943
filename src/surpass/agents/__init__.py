"""Who answers: teachers, networks and the zoo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from surpass.agents.teachers import find_teacher, known_teachers
from surpass.engine.run import AnyAgent
from surpass.engine.trial import try_kernels
from surpass.errors import SavedFileError, SettingError
from surpass.reading import as_path
from surpass.table import Agent
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task
from surpass.tasks.user_file import forget_task_file, load_task_file

AgentLike = AnyAgent | str | Path
"""An agent, or a text that names one."""
TaskLike = Task | str | Path
"""A task, its name, or a Python file that registers it."""
Progress = Callable[[str, int, int | None], None]
"""Is called as `progress(what, done, total)` while something takes long; the total may be None."""


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
            try_kernels(one)
    except BaseException:
        forget_task_file(path)  # so that it can be mended and loaded again
        raise
    if len(tasks) > 1:
        names = ", ".join(one.name for one in tasks)
        raise SettingError(f"{task} registers several tasks ({names}); put each into its own file")
    return tasks[0]


def as_agent(agent: AgentLike, task: TaskLike | None = None) -> AnyAgent:
    """Return the agent itself, or the one that a text names; it must be of `task` if one is given."""
    wanted = None if task is None else as_task(task)
    found = find_agent(str(agent)) if isinstance(agent, str | Path) else agent
    if not hasattr(found, "task"):
        raise SettingError(f"{agent!r} is no agent; give an agent, or a text that names one")
    if wanted is not None and found.task is not wanted:
        raise SettingError(f"{found.name} works on {found.task.name}, not on {wanted.name}")
    return found


def agent_of_recipe(task: Task, name: str) -> AnyAgent:
    """Return the agent that a recipe of a task names to learn from; a bare name is a teacher's.

    One of a smaller task is carried over.
    """
    from surpass.agents.carried import CarriedAgent

    found = find_agent(name if ":" in name or "/" in name or "." in name else f"teacher:{name}")
    if found.task is task:
        return found
    if not isinstance(found, Agent):
        raise SettingError(f"{name} sees whole lists and cannot be carried over to {task.name}")
    return CarriedAgent(found, task)


def find_agent(text: str) -> AnyAgent:
    """Return the agent that a text names: `teacher:NAME`, `zoo:NAME`, a run's folder, a checkpoint, a program file."""
    kind, colon, name = text.partition(":")
    if colon and kind == "teacher":
        return find_teacher(name)
    if colon and kind == "zoo":
        from surpass.agents.zoo import load_resident

        return load_resident(name)
    if text.endswith(".rules"):
        from surpass.programs.text import read_program

        return read_program(text)
    if text.endswith(".safetensors"):
        from surpass.agents.networks.files import load_agent

        return load_agent(as_path(text).with_suffix(""), text)[0]
    if (path := as_path(text)).exists() or text.endswith(".json"):
        from surpass.agents.saved import load_saved

        return load_saved(_bundle_of(path), text)
    names = ", ".join(t.name for t in known_teachers())
    raise SettingError(
        f"unknown agent {text!r}; known: {names}, zoo:NAME (see surpass zoo), a run's folder, a checkpoint or a program"
        " file NAME.rules"
    )


def _bundle_of(path: Path) -> Path:
    """Return the stem of the bundle that a path means: a file's own, or a run's final or newest whole one."""
    if not path.is_dir():
        if path.suffix != ".json":
            raise SavedFileError(
                f"{path} is no agent: it must be a .json, .safetensors or .rules file, or the folder of a run"
            )
        return path.with_suffix("")
    if (path / "agent.json").exists():
        return path / "agent"
    from surpass.bundles import load_bundle

    newest = sorted((path / "checkpoints").glob("[0-9]*.json"), reverse=True)
    for candidate in newest:
        try:
            load_bundle(candidate.with_suffix(""))
        except SavedFileError:
            continue
        return candidate.with_suffix("")
    raise SavedFileError(f"{path} is not the folder of a run: it holds no agent and no whole checkpoint")
