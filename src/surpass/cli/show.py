"""`surpass show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES, INSTANCES
from surpass.cli.options import AgentName, Json, OutputFile, TaskName, check_outputs, option
from surpass.printing import wrap


def show_command(
    agent: AgentName,
    task: TaskName = None,
    table: Annotated[bool, option("Print every observation and its action instead.", name="--table")] = False,
    size: Annotated[
        int | None, option("The size on which steps are counted.  [default: the largest to learn on]", "N", INSTANCES)
    ] = None,
    instances: Annotated[int, option("How many instances they are counted on.", "N", INSTANCES)] = 100,
    data: Annotated[str | None, option("The distribution of these instances.", "NAME", INSTANCES)] = None,
    seed: Annotated[int, option("Draws other instances, here and to collect what occurs.", "N", INSTANCES)] = 0,
    out: Annotated[
        Path | None, option("Also write the program to this file, to read and edit.", "FILE.rules", FILES)
    ] = None,
    json: Json = None,
) -> None:
    """Print an agent as a program: few rules that do exactly what it does on every observation that occurred.

    Each line with an action has the numbers of its rules, their share of the steps of a typical run, and how many
    observations they answer.

    Examples:
      surpass show zoo:sort-quick/imitation-quick_sort
      surpass show zoo:sort-bubble --out my-sort.rules
    """
    output, file = OutputFile(json), OutputFile(out)
    is_free = check_outputs(out=file, json=output)
    with ProgressDisplay() as progress:
        from surpass import api

        usage = api.show(agent, task=task, size=size, instances=instances, data=data, seed=seed, progress=progress)
    record = usage.as_json()
    if table:
        rows = usage.table()
        record["table"] = [row._asdict() for row in rows]
        if is_free:
            print(f"{usage.program.name} on {usage.program.task.name}: {len(rows):,} observations\n")
            print("observation  steps  rule  action  what it says")
            for row in rows:
                line = f"{row.observation}  {row.steps}  {row.rule}  {row.action}  {row.says}"
                print(wrap(line, "    ", first=""))
    elif is_free:
        print(usage, end="")
    if out is not None:
        file.write_text(usage.program.text)
        if is_free:
            print(f"\nthe program is in {file}")
    output.write_json(record)
