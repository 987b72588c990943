"""`surpass discover`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from surpass.cli.help import FILES, LEARNING
from surpass.cli.learn import SCORES, parse_settings, show_run
from surpass.cli.live import RunView
from surpass.cli.options import Json, On, OutputFile, TaskArgument, option, parse_sizes

MINUTES = 10.0
"""How long a search takes if nothing else is said."""


def discover_command(
    task: TaskArgument = None,
    minutes: Annotated[
        float | None, option("Stop after this time; --resume continues.  [default: 10]", "MINUTES", LEARNING)
    ] = None,
    rounds: Annotated[
        int | None,
        option("Make so many attempts in place of a time: equal seeds then give equal programs.", "N", LEARNING),
    ] = None,
    start: Annotated[
        list[str] | None,
        option(
            "Begin with this agent; given several times, with all of them; nothing: without any."
            "  [default: every teacher of the task]",
            "AGENT",
            LEARNING,
            name="--from",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        option(
            "What counts: a distribution, or a file with one list per line; given several times, all of them, with a"
            " weight as in my-lists.csv*3.  [default: all distributions, the usual one most]",
            "NAME|FILE",
            LEARNING,
        ),
    ] = None,
    seed: Annotated[
        int | None, option("Equal seeds and rounds give equal programs.  [default: 0]", "N", LEARNING)
    ] = None,
    network: Annotated[
        bool,
        option(
            "Also teach the best program to a network (an extra: pip install 'surpass[torch]').",
            group=LEARNING,
            name="--network",
        ),
    ] = False,
    setting: Annotated[
        list[str] | None,
        option(
            "Change a setting, such as islands=12; surpass learn TASK --method discover --settings lists them.",
            "NAME=VALUE",
            LEARNING,
            name="--set",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("The run's folder.  [default: runs/TASK-discover-SEED]", "FOLDER", FILES)
    ] = None,
    resume: Annotated[bool, option("Go on with the run in that folder.", group=FILES, name="--resume")] = False,
    overwrite: Annotated[
        bool,
        option("Replace the run in that folder, if it holds a run and nothing else.", group=FILES, name="--overwrite"),
    ] = False,
    on: On = "local",
    sizes: Annotated[
        str | None,
        option("Sizes to score the best at, such as 5,10.  [default: the task's, up to 1000]", "N,N,...", SCORES),
    ] = None,
    instances: Annotated[int, option("Instances per size of these scores.", "N", SCORES)] = 100,
    no_report: Annotated[
        bool, option("Leave out the report, a page that is written at the end.", group=FILES, name="--no-report")
    ] = False,
    json: Json = None,
) -> None:
    """Find the best program of a task, from its teachers or from nothing, and leave it in a folder.

    Many programs are edited side by side, on all distributions and on sizes that double; gradients propose others. At
    the end stands the best program, and the front: the best for each number of rules, with how each came about.

    Examples:
      surpass discover search
      surpass discover my_task.py --minutes 30
      surpass discover search --from nothing --rounds 500 --seed 1
      surpass discover sort-bubble --data my-lists.csv --out runs/mine
      surpass discover sort-bubble --out runs/mine --resume --minutes 20
    """
    output, scored = OutputFile(json), parse_sizes(sizes)
    settings: dict[str, Any] = {**parse_settings(setting or [])}
    given = {"start": ",".join(start or ()), "data": ",".join(data or ()), "rounds": rounds}
    settings |= {name: value for name, value in given.items() if value not in ("", None)}
    settings |= {"network": "yes"} if network else {}
    is_timed = minutes is not None or "rounds" not in settings
    with RunView() as watch:
        from surpass import api

        run = api.discover(
            task,
            out=out,
            minutes=(MINUTES if minutes is None else minutes) if is_timed else None,
            seed=seed,
            resume=resume,
            overwrite=overwrite,
            score_sizes=scored,
            score_instances=instances,
            on=on,
            watch=watch,
            settings=settings,
        )
    show_run(run, output, task, has_report=not no_report)
