"""`surpass trace`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.options import OutputFile, resolve_agent
from surpass.cli.progress import show_progress

__all__ = ["trace_command"]


def trace_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
        ),
    ],
    instance: Annotated[
        str | None,
        typer.Option(
            help="The instance: 5,2,9,1 to sort, 1,3,5:3 to search for 3, 0.2,0.7:0.5,0.9:0.8 for weights, values and"
            " capacity.  [default: one is drawn]"
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Its task: a name, or a Python file that registers one.", metavar="NAME|FILE")
    ] = None,
    size: Annotated[int, typer.Option(help="The size of a drawn instance.")] = 5,
    seed: Annotated[int, typer.Option(help="Draws another instance.")] = 0,
    limit: Annotated[
        str | None, typer.Option(help="The step limit: a number, Kn or Kn^2, such as 20n or 10n^2.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Write out what each observation says.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the trace to this file instead.")] = None,
) -> None:
    """Print every step of one run as text: depth of calls, observation, action and what it changed.

    Example: surpass trace teacher:insertion_sort --instance 5,2,9,1
    """
    from surpass.engine.record import record
    from surpass.machine.trace import write_trace
    from surpass.tasks.task import Limit, Request

    output = OutputFile(out)
    found = resolve_agent(agent, task)
    if instance is None:
        instance = found.task.write_instance(found.task.draw(Request(size=size, count=1, seed=seed)))
    steps_limit = Limit.parse(limit) if limit else None
    with show_progress() as progress:
        trace = record(found, instance, limit=steps_limit, progress=lambda done: progress("steps so far", done))
    text = write_trace(trace)
    seen = sorted({step.observation for step in trace.steps if step.observation is not None})
    if explain and seen:
        text += "\n" + "\n".join(f"{number}: {found.task.interface.describe(number)}" for number in seen) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)
