"""`surpass trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.options import AgentName, Limit, OutputFile, Seed, TaskName
from surpass.cli.progress import show_progress


def trace_command(
    agent: AgentName,
    instance: Annotated[
        str | None,
        typer.Option(
            help="The instance: 5,2,9,1 to sort, 1,3,5:3 to search for 3, 0.2,0.7:0.5,0.9:0.8 for weights, values and"
            " capacity.  [default: one is drawn]"
        ),
    ] = None,
    task: TaskName = None,
    size: Annotated[int, typer.Option(help="The size of a drawn instance.")] = 5,
    seed: Seed = 0,
    limit: Limit = None,
    explain: Annotated[bool, typer.Option("--explain", help="Write out what each observation says.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the trace to this file instead.")] = None,
) -> None:
    """Print every step of one run as text: depth of calls, observation, action and what it changed.

    Example: surpass trace teacher:insertion_sort --instance 5,2,9,1
    """
    from surpass import api
    from surpass.agents import as_task

    output = OutputFile(out or Path("-"))
    with show_progress() as progress:
        found = api.trace(agent, instance, task=task, size=size, seed=seed, limit=limit, progress=progress)
    seen = sorted({step.observation for step in found.steps if step.observation is not None})
    text = str(found)
    if explain and seen:
        interface = as_task(found.task).interface
        text += "\n" + "\n".join(f"{number}: {interface.describe(number)}" for number in seen) + "\n"
    output.write_text(text)
