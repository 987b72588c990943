"""`surpass learn`."""

from __future__ import annotations

import logging
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from typer.core import TyperCommand

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES, LEARNING
from surpass.cli.live import RunView
from surpass.cli.options import Json, On, OutputFile, TaskArgument, option, parse_sizes
from surpass.errors import SettingError, SurpassError
from surpass.printing import finite

SCORES = "The scores at the end"
"""A group of options."""
REPORT = "report.html"
"""The file in a run's folder that its report is written to."""


class LearnCommand(TyperCommand):
    """The command, whose option `--settings` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line; `--settings` alone lists the settings that matter most."""
        words: list[str] = []
        for word, after in zip_longest(args, args[1:]):
            words += ["--settings=first"] if word == "--settings" and after != "all" else [word]
        return super().parse_args(ctx, words)


def learn_command(
    task: TaskArgument = None,
    method: Annotated[
        str | None,
        option(
            "How to learn: imitation, rl (from nothing), rl+imitation or discover.  [default: imitation]",
            "METHOD",
            LEARNING,
        ),
    ] = None,
    teacher: Annotated[
        str | None, option("Whom to learn from.  [default: the paper's teacher of the task]", "AGENT", LEARNING)
    ] = None,
    start: Annotated[
        str | None,
        option(
            "Begin with this agent, with --method rl in place of nothing; the run's recipe says so.",
            "AGENT",
            LEARNING,
            name="--from",
        ),
    ] = None,
    seed: Annotated[int | None, option("Equal seeds give equal networks.  [default: 0]", "N", LEARNING)] = None,
    recipe: Annotated[
        str | None,
        option(
            "Take task, method, teacher, seed and settings from a recipe, where the other options do not say"
            " otherwise: zoo:NAME, a TOML file, a run's folder, or one of surpass sweep --list.",
            "NAME|FILE",
            LEARNING,
        ),
    ] = None,
    minutes: Annotated[float | None, option("Stop after this time; --resume continues.", "MINUTES", LEARNING)] = None,
    out: Annotated[
        Path | None, option("The run's folder.  [default: runs/TASK-METHOD-TEACHER-SEED]", "FOLDER", FILES)
    ] = None,
    resume: Annotated[bool, option("Go on with the run in that folder.", group=FILES, name="--resume")] = False,
    overwrite: Annotated[
        bool,
        option("Replace the run in that folder, if it holds a run and nothing else.", group=FILES, name="--overwrite"),
    ] = False,
    setting: Annotated[
        list[str] | None,
        option(
            "Change a setting of the method, such as batch=256; --settings lists them.",
            "NAME=VALUE",
            LEARNING,
            name="--set",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        option(
            "What to learn on with --method rl, rl+imitation or discover (imitation draws its own lists): a"
            " distribution, or a file with one list per line; given several times, all of them, with a weight as in"
            " my-lists.csv*3.",
            "NAME|FILE",
            LEARNING,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        option("Sizes to score the network at, such as 5,10.  [default: the task's, up to 1000]", "N,N,...", SCORES),
    ] = None,
    instances: Annotated[int, option("Instances per size of these scores.", "N", SCORES)] = 100,
    on: On = "local",
    tensorboard: Annotated[
        bool,
        option(
            "Also write the curves as event files into the run's folder tensorboard/ (an extra: pip install"
            " 'surpass[tensorboard]').",
            group=FILES,
            name="--tensorboard",
        ),
    ] = False,
    no_report: Annotated[
        bool, option("Leave out the report, a page that is written at the end.", group=FILES, name="--no-report")
    ] = False,
    list_settings: Annotated[
        str | None,
        option("List the main settings that --set can change, or all, and stop.", "[all]", LEARNING, name="--settings"),
    ] = None,
    json: Json = None,
) -> None:
    """Learn a task, and leave the network, its curves, its scores and a report in a folder.

    On a terminal a view shows how far it has come; elsewhere lines do. It can be interrupted: --resume continues.

    Examples:
      surpass learn sort-quick --method imitation --teacher hoare_sort
      surpass learn knapsack --method rl --minutes 2
      surpass learn --recipe zoo:search/imitation-binary_search --seed 3
      surpass learn sort-bubble --method rl+imitation --data my-lists.csv
      surpass learn search --method rl+imitation --settings
      surpass learn search --method rl+imitation --settings all
    """
    output, scored, settings = OutputFile(json), parse_sizes(sizes), parse_settings(setting or [])
    if data:
        settings["data"] = ",".join(data)
    if start:
        settings["start"] = start
    if list_settings:
        with ProgressDisplay():
            from surpass import api
            from surpass.learning.settings import SettingsList

            learner = api.new_learner(task, method, teacher=teacher, seed=seed, recipe=recipe, settings=settings)
            listed = SettingsList(learner, list_settings)
        output.show(listed, listed.as_json())
        return
    with RunView() as watch:
        from surpass import api

        run = api.learn(
            task,
            method,
            out=out,
            teacher=teacher,
            seed=seed,
            recipe=recipe,
            minutes=minutes,
            resume=resume,
            overwrite=overwrite,
            score_sizes=scored,
            score_instances=instances,
            on=on,
            watch=watch,
            tensorboard=tensorboard,
            settings=settings,
        )
    show_run(run, output, task, has_report=not no_report)


def show_run(run: Any, output: OutputFile, task: str | None, *, has_report: bool) -> None:
    """Print a run, and write its report if it shall have one."""
    output.show(run, finite(run.as_json()))
    path = _write_report(run.folder, task) if has_report else None
    if path and not output.is_stdout:
        print(f"the report is {path}")


def _write_report(folder: Path, task: str | None) -> Path | None:
    """Write the report of a run into its folder, and return where it is; the run is done whatever comes of it."""
    from surpass.visualize.report import report

    try:
        with ProgressDisplay() as progress:
            return report(folder, task=task, progress=progress).write(folder / REPORT)
    except SurpassError as error:
        logging.getLogger("surpass").warning("there is no report: %s", error)
        return None


def parse_settings(words: list[str]) -> dict[str, str]:
    """Return settings of the form NAME=VALUE by their names."""
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SettingError(f"setting {word!r} is not of the form NAME=VALUE")
        settings[name] = value
    return settings
