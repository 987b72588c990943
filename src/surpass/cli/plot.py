"""`surpass plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.options import Json, OutputFile, Seed, TaskName, option, parse_sizes


def plot_command(
    what: Annotated[
        list[str],
        typer.Argument(
            help="Folders of runs and sweeps, and agents (teacher:NAME, zoo:NAME, FILE.rules), all of one task.",
            metavar="RUN|SWEEP|AGENT...",
        ),
    ],
    out: Annotated[Path, option("The picture to write: .png, .svg or .pdf.", "FILE")],
    by: Annotated[
        str | None,
        option(
            "learning: what runs measured round by round; size: steps against the size of the instances, on"
            " logarithmic axes, with the paper's.  [default: learning if anything learned, else size]",
            "learning|size",
        ),
    ] = None,
    column: Annotated[
        list[str] | None, option("By learning: draw this column of curves.csv; may be given several times.", "NAME")
    ] = None,
    sizes: Annotated[
        str | None, option("By size: the sizes, such as 10,100,1000.  [default: the paper's, to 1000]")
    ] = None,
    instances: Annotated[int | None, option("By size: the most instances per size.  [default: 100]")] = None,
    seed: Seed = 0,
    task: TaskName = None,
    json: Json = None,
) -> None:
    """Draw the curves of runs over each other with their teacher's line, or agents' steps against the size.

    A sweep is drawn as the mean over its seeds with the 95 % interval, a line for each setting. By size, the teacher is
    drawn beside what learned from it, the paper's numbers as hollow marks, and the legend says with which power of n
    each grows.

    Example: surpass plot runs/first runs/second --out curves.png

    Example: surpass plot zoo:sort-quick teacher:hoare_sort --by size --out growth.svg
    """
    from surpass.visualize.charts import drawing_kind
    from surpass.visualize.plots import plot

    picture, output, wanted = OutputFile(out), OutputFile(json), parse_sizes(sizes)
    drawing_kind(out)
    with ProgressDisplay() as progress:
        made = plot(
            *what,
            by=by,
            columns=column or (),
            sizes=wanted,
            instances=instances,
            seed=seed,
            task=task,
            progress=progress,
        )
        made.write(out)
    output.show(f"{made}drawn in {picture}\n", made.as_json())
