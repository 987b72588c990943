"""`surpass learn`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile, resolve_task
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError

if TYPE_CHECKING:
    from surpass.agents.teacher import FullViewTeacher, Teacher
    from surpass.evaluation.scores import Evaluation
    from surpass.learning.methods import AnyLearner
    from surpass.learning.runs import RunFolder

__all__ = ["learn_command"]


def learn_command(
    task: Annotated[str, typer.Argument(help="A task's name, or a Python file that registers one.", metavar="TASK")],
    method: Annotated[
        str, typer.Option(help="How to learn: imitation, rl (from nothing) or rl+imitation.")
    ] = "imitation",
    teacher: Annotated[
        str | None, typer.Option(help="Whom to learn from.  [default: the paper's teacher of the task]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal networks.")] = 0,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time; --resume goes on.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder.  [default: runs/TASK-METHOD-TEACHER-SEED]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting of the method, such as batch=256.", metavar="NAME=VALUE"),
    ] = None,
) -> None:
    """Learn a task, and leave the network, its curves and its scores in a folder.

    Example: surpass learn sort-quick --method imitation --teacher hoare_sort
    """
    from surpass.learning.methods import new_learner
    from surpass.learning.runs import RunFolder, train

    if minutes is not None and not minutes > 0:
        raise SettingError(f"minutes is {minutes:g}; it must be above 0")
    found = resolve_task(task)
    learner = new_learner(found, method, teacher=teacher, seed=seed, settings=_parse_settings(setting or []))
    name = "-".join(filter(None, (found.name, method, learner.config.teacher, str(seed))))
    folder = RunFolder(out or Path("runs") / name)
    folder.begin(learner.recipe, resume=resume)
    if resume:
        folder.restore(learner)
        for warning in folder.warnings:
            print(f"surpass: passed over: {warning}", file=sys.stderr)
        if folder.curves:
            print(f"going on after round {len(folder.curves)}")
    train(learner, folder, minutes=minutes, report=_Report())
    _finish(learner, folder)


def _parse_settings(words: list[str]) -> dict[str, str]:
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SettingError(f"setting {word!r} is not of the form NAME=VALUE")
        settings[name] = value
    return settings


class _Report:
    """Prints a line per round, at most one every half second."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, number: int, curve: dict[str, float]) -> None:
        now = time.monotonic()
        if now - self._last < 0.5:
            return
        self._last = now
        cells = [f"{name} {_show(name, value)}" for name, value in curve.items() if name != "round" and value == value]
        print(f"round {number}: " + ", ".join(cells), flush=True)


def _show(name: str, value: float) -> str:
    if name in ("agreement", "solved", "sampled_solved"):
        return f"{value:.2%}"
    return f"{value:,}" if float(value).is_integer() else f"{value:.4g}"


def _finish(learner: AnyLearner, folder: RunFolder) -> None:
    """Save the network with its scores, and print them beside the teacher's."""
    from surpass.agents.networks.files import save_agent
    from surpass.evaluation.scores import evaluate

    agent = learner.agent(str(folder.path))
    sizes = [size for size in learner.task.sizes if size <= 1000]
    evaluation = evaluate(agent, sizes=sizes, against=learner.teacher or _strongest(learner), seed=1)
    about: dict[str, Any] = {
        "recipe": learner.recipe,
        "rounds": len(folder.curves),
        "finished": learner.finished,
        "seconds": round(folder.seconds, 1),
    }
    save_agent(folder.path / "agent", learner.task, learner.network, about)
    OutputFile(folder.path / "scores.json").write_json(evaluation.as_json())
    _print_scores(evaluation, folder)
    if evaluation.narrow_choices:
        print(f"{evaluation.narrow_choices} choices of the network lead by less than 1e-4.")
    if not learner.done:
        print("The time is up before the learning was done: --resume goes on.")
    elif not learner.finished:
        print("All rounds were used up before the network equalled its teacher: allow more with --set most_rounds=N.")


def _strongest(learner: AnyLearner) -> Teacher | FullViewTeacher | None:
    """Return the last of the task's teachers, to compare an agent with that had none."""
    from surpass.agents.teacher import known_teachers

    teachers = known_teachers(learner.task)
    return teachers[-1] if teachers else None


def _print_scores(evaluation: Evaluation, folder: RunFolder) -> None:
    digits = 3 if evaluation.measure == "reward" else 2
    rows = [
        [
            f"{row.size:,}",
            f"{row.solved:.1%}",
            show_number(row.mean_reward if evaluation.measure == "reward" else row.mean_steps, digits),
            show_number(row.difference, digits),
            show_number(row.difference_ci95, digits),
        ]
        for row in evaluation.rows
    ]
    spent = f"{len(folder.curves)} rounds and {folder.seconds:.0f} seconds"
    title = f"{folder.path} after {spent}" + (f", against {evaluation.against}" if evaluation.against else "")
    print_table(title, ["size", "solved", f"mean {evaluation.measure}", "difference", "± 95 %"], rows)
