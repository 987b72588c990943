"""`surpass learn`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.options import On, parse_sizes
from surpass.errors import SettingError


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
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="What to learn on: a distribution, or for improvement also a file with one list per line; given"
            " several times, all of them, with a weight as in my-lists.csv*3.",
            metavar="NAME|FILE",
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes to score the network at, such as 5,10.  [default: the task's, up to 1000]")
    ] = None,
    instances: Annotated[int, typer.Option(help="Instances per size of these scores.")] = 100,
    on: On = "local",
    list_settings: Annotated[
        bool, typer.Option("--settings", help="List what --set can change, with the values now, and stop.")
    ] = False,
) -> None:
    """Learn a task, and leave the network, its curves and its scores in a folder.

    Example: surpass learn sort-quick --method imitation --teacher hoare_sort

    Example: surpass learn --recipe zoo:search/imitation-binary_search --seed 3

    Example: surpass learn sort-bubble --method improvement --data my-lists.csv
    """
    from surpass import api

    scored, settings = parse_sizes(sizes), _parse_settings(setting or [])
    if data:
        settings["data"] = ",".join(data)
    if list_settings:
        learner = api.new_learner(task, method, teacher=teacher, seed=seed, recipe=recipe, settings=settings)
        for key, value in learner.recipe.items():
            print(f"{key} = {','.join(map(str, value)) if isinstance(value, tuple) else value}")
        return
    run = api.learn(
        task,
        method,
        out=out,
        teacher=teacher,
        seed=seed,
        recipe=recipe,
        minutes=minutes,
        resume=resume,
        score_sizes=scored,
        score_instances=instances,
        on=on,
        report=_Rounds(),
        settings=settings,
    )
    print(run, end="")


def _parse_settings(words: list[str]) -> dict[str, str]:
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SettingError(f"setting {word!r} is not of the form NAME=VALUE")
        settings[name] = value
    return settings


class _Rounds:
    """Prints a line per round, at most one every half second, and first after which round a run goes on."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, number: int, curve: dict[str, float]) -> None:
        now = time.monotonic()
        if not curve:
            print(f"going on after round {number}" if number else "a new run", flush=True)
        elif now - self._last >= 0.5:
            self._last = now
            cells = [f"{name} {_show(name, x)}" for name, x in curve.items() if name != "round" and x == x]
            print(f"round {number}: " + ", ".join(cells), flush=True)


def _show(name: str, value: float) -> str:
    if name in ("agreement", "solved", "sampled_solved"):
        return f"{value:.2%}"
    return f"{value:,}" if float(value).is_integer() else f"{value:.4g}"
