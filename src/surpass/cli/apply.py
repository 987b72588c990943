"""`surpass apply`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.options import AgentName, Json, Limit, OutputFile, TaskName, option


def apply_command(
    agent: AgentName,
    data: Annotated[
        Path,
        typer.Option(help="Your lists: a file with one per line, or a 2-D .npy.", metavar="FILE", show_default=False),
    ],
    out: Annotated[
        Path | None, option("Write a CSV file with a line for each list, instead of printing it.", "FILE")
    ] = None,
    task: TaskName = None,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """Run an agent on your own lists, and write the result of each, with its steps.

    A list that is not solved has no result, and the exit code is then 1.

    Example: surpass apply zoo:sort-quick --data my-lists.csv --out sorted.csv
    """
    from surpass import api

    output, record = OutputFile(out or (None if str(json) == "-" else Path("-"))), OutputFile(json)
    with ProgressDisplay() as progress:
        found = api.apply(agent, data, task=task, limit=limit, progress=progress)
    output.write_text(found.as_csv())
    record.write_json(found.as_json())
    print(found.summary, file=sys.stderr if output.is_stdout or record.is_stdout else sys.stdout)
    if found.unsolved:
        raise typer.Exit(1)
