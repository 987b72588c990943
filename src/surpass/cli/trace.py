"""`surpass trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES, INSTANCES
from surpass.cli.options import AgentName, Instance, Json, Limit, OutputFile, Seed, TaskName, check_outputs, option
from surpass.printing import wrap


def trace_command(
    agent: AgentName,
    instance: Instance = None,
    task: TaskName = None,
    size: Annotated[int, option("The size of a drawn instance.", "N", INSTANCES)] = 5,
    seed: Seed = 0,
    limit: Limit = None,
    compact: Annotated[
        bool,
        option(
            "One line per step: depth of calls, observation, action and change. Lists of more than 100 values are"
            " always written so.",
            name="--compact",
        ),
    ] = False,
    explain: Annotated[bool, option("Write out what each observation says.", name="--explain")] = False,
    out: Annotated[
        Path | None, option("Write the trace to this file instead, one line per step.", "FILE", FILES)
    ] = None,
    json: Json = None,
) -> None:
    """Print every step of one run: the action, what it changed, and the list with its variables.

    Examples:
      surpass trace teacher:insertion_sort --instance 5,2,9,1
      surpass trace zoo:sort-quick --size 8 --compact
      surpass trace teacher:binary_search --instance 1,3,5,9:5 --explain
    """
    output, file = OutputFile(json), OutputFile(out or Path("-"))
    if out is not None:
        check_outputs(out=file, json=output)
    with ProgressDisplay() as progress:
        from surpass import api
        from surpass.agents import as_task
        from surpass.engine.picture import MOST_DRAWN, draw_trace

        found = api.trace(agent, instance, task=task, size=size, seed=seed, limit=limit, progress=progress)
        of_task = as_task(found.task)
        is_drawn = not compact and out is None and int(of_task.parse_instance(found.instance)[0].sizes[0]) <= MOST_DRAWN
        if is_drawn and not output.is_stdout:
            total = len(found.steps)
            text = "\n".join(draw_trace(of_task, found, lambda done: progress("drawing the steps", done, total))) + "\n"
        else:
            text = str(found)
        seen = sorted({step.observation for step in found.steps if step.observation is not None})
        if explain and seen:
            interface = of_task.interface
            said = (f"{number}: {interface.describe(number)}" for number in seen)
            text += "\n" + "\n".join(wrap(line, "    ", first="") if is_drawn else line for line in said) + "\n"
    if not output.is_stdout or out is not None:
        file.write_text(text)
    output.write_json(found.as_json())
