"""`surpass learn`."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile, parse_sizes, resolve_task
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError

if TYPE_CHECKING:
    from surpass.agents.teachers import AnyTeacher
    from surpass.evaluation.scores import Evaluation
    from surpass.learning.methods import AnyLearner
    from surpass.learning.recipes import Variant
    from surpass.learning.runs import RunFolder

__all__ = ["learn_command"]


def learn_command(
    task: Annotated[
        str | None, typer.Argument(help="A task's name, or a Python file that registers one.", metavar="[TASK]")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="How to learn: imitation, rl (from nothing), rl+imitation or improvement.  [default: imitation]"
        ),
    ] = None,
    teacher: Annotated[
        str | None, typer.Option(help="Whom to learn from.  [default: the paper's teacher of the task]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Equal seeds give equal networks.  [default: 0]")] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Take task, method, teacher, seed and settings from a recipe, where the other options do not say"
            " otherwise: zoo:NAME, a TOML file, a run's folder, or one of surpass sweep --list.",
            metavar="NAME|FILE",
        ),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time; --resume goes on.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder.  [default: runs/TASK-METHOD-TEACHER-SEED]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting of the method, such as batch=256.", metavar="NAME=VALUE"),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes to score the network at, such as 5,10.  [default: the task's, up to 1000]")
    ] = None,
    instances: Annotated[int, typer.Option(help="Instances per size of these scores.")] = 100,
    list_settings: Annotated[
        bool, typer.Option("--settings", help="List what --set can change, with the values now, and stop.")
    ] = False,
) -> None:
    """Learn a task, and leave the network, its curves and its scores in a folder.

    Example: surpass learn sort-quick --method imitation --teacher hoare_sort

    Example: surpass learn --recipe zoo:search/imitation-binary_search --seed 3
    """
    from surpass.learning.methods import new_learner
    from surpass.learning.runs import RunFolder, train

    if minutes is not None and not minutes > 0:
        raise SettingError(f"minutes is {minutes:g}; it must be above 0")
    if instances < 1:
        raise SettingError(f"the number of instances is {instances}; it must be 1 or more")
    scored = parse_sizes(sizes)
    settings = _parse_settings(setting or [])
    teacher = teacher and teacher.removeprefix("teacher:")
    if task is None and recipe is None and resume and out is not None and (out / "recipe.json").exists():
        recipe = str(out)
    if recipe is not None:
        variant = _only_run(recipe, seed)
        task = task or variant.recipe.task
        if method is None:
            method, teacher = variant.recipe.method, teacher or variant.recipe.teacher or None
        seed, settings = variant.seed, {**variant.settings, **settings}
    if task is None:
        raise SettingError("no task is given; name one, such as surpass learn search, or a --recipe")
    found = resolve_task(task)
    if recipe is not None and found.name != variant.recipe.task:
        raise SettingError(f"recipe {recipe} is for {variant.recipe.task}, not for {found.name}")
    method, seed = method or "imitation", seed or 0
    learner = new_learner(found, method, teacher=teacher, seed=seed, settings=settings)
    if list_settings:
        for key, value in learner.recipe.items():
            print(f"{key} = {','.join(map(str, value)) if isinstance(value, tuple) else value}")
        return
    name = re.sub("[:/]+", "-", "-".join(filter(None, (found.name, method, learner.config.teacher, str(seed)))))
    folder = RunFolder(out or Path("runs") / name)
    folder.begin(learner.recipe, resume=resume)
    if resume:
        folder.restore(learner)
        for warning in folder.warnings:
            print(f"surpass: passed over: {warning}", file=sys.stderr)
        print(f"going on after round {len(folder.curves)}" if folder.curves else f"{folder.path}: a new run")
    try:
        train(learner, folder, minutes=minutes, report=_Report())
    except KeyboardInterrupt:
        print(
            f"surpass: interrupted; surpass learn --out {folder.path} --resume goes on from the last checkpoint",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    _finish(learner, folder, scored or [size for size in found.sizes if size <= 1000], instances)


def _only_run(text: str, seed: int | None) -> Variant:
    """Return the one run that a recipe means, with its own seed or another."""
    from surpass.learning.recipes import find_recipe

    recipe = find_recipe(text)
    if recipe.grid:
        raise SettingError(f"recipe {text} has a grid of {len(recipe.variants)} runs; surpass sweep {text} does them")
    if seed is not None:
        recipe = recipe.with_seeds([seed])
    if len(recipe.seeds) > 1:
        raise SettingError(f"recipe {text} has {len(recipe.seeds)} seeds; choose one with --seed, or use surpass sweep")
    return recipe.variants[0]


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


def _finish(learner: AnyLearner, folder: RunFolder, sizes: Sequence[int], instances: int) -> None:
    """Save the network with its scores, and print them beside the teacher's."""
    from surpass.agents.networks.files import save_agent
    from surpass.evaluation.scores import evaluate

    if not learner.has_network:
        print("The time is up before there is a network: --resume goes on.")
        return
    agent = learner.agent(str(folder.path))
    against = learner.teacher or _strongest(learner)
    evaluation = evaluate(agent, sizes=sizes, instances=instances, against=against, seed=1)
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


def _strongest(learner: AnyLearner) -> AnyTeacher | None:
    """Return the last of the task's teachers, to compare an agent with that had none."""
    from surpass.agents.teachers import known_teachers

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
    spent = f"{len(folder.curves)} round{'' if len(folder.curves) == 1 else 's'} and {folder.seconds:.0f} seconds"
    title = f"{folder.path} after {spent}" + (f", against {evaluation.against}" if evaluation.against else "")
    print_table(title, ["size", "solved", f"mean {evaluation.measure}", "difference", "± 95 %"], rows)
    if evaluation.against:
        print(evaluation.verdict)
