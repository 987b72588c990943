"""`surpass show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surpass.cli.help import FILES, INSTANCES
from surpass.cli.options import AgentName, Json, OutputFile, TaskName
from surpass.cli.progress import show_progress
from surpass.errors import SettingError
from surpass.printing import wrap


def show_command(
    agent: AgentName,
    task: TaskName = None,
    table: Annotated[bool, typer.Option("--table", help="Print every observation and its action instead.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="Another agent: show where the two part and where steps are saved.", metavar="AGENT"),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            help="The size on which steps are counted.  [default: the largest to learn on]",
            metavar="N",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    instances: Annotated[
        int, typer.Option(help="How many instances they are counted on.", metavar="N", rich_help_panel=INSTANCES)
    ] = 100,
    data: Annotated[
        str | None,
        typer.Option(help="The distribution of these instances.", metavar="NAME", rich_help_panel=INSTANCES),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Draws other instances, here and to collect what occurs.", metavar="N", rich_help_panel=INSTANCES
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write the program to this file, to read and edit.", metavar="FILE.rules", rich_help_panel=FILES
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Print an agent as a program: few rules that do exactly what it does on every observation that occurred.

    Each line with an action has the numbers of its rules, their share of the steps of a typical run, and how many
    observations they answer.

    Examples:
      surpass show zoo:sort-quick/imitation-quick_sort
      surpass show zoo:sort-bubble --out my-sort.rules
      surpass show zoo:search --compare teacher:binary_search
    """
    if table and compare:
        raise SettingError("--table and --compare do not go together: give one of them")
    output, file = OutputFile(json), OutputFile(out)
    if output.is_stdout and file.is_stdout:
        raise SettingError("--out and --json cannot both go to the output: give one of them a file")
    is_quiet = output.is_stdout or file.is_stdout
    with show_progress() as progress:
        from surpass import api
        from surpass.agents import as_agent

        first = as_agent(agent, task)
        options: dict[str, Any] = {
            "size": size,
            "instances": instances,
            "data": data,
            "seed": seed,
            "progress": progress,
        }
        comparison = api.compare_programs(first, compare, **options) if compare else None
        usage = comparison.first if comparison else api.show(first, **options)
    record = (comparison or usage).as_json()
    if table:
        rows = usage.table()
        record["table"] = [row._asdict() for row in rows]
        if not is_quiet:
            print(f"{usage.program.name} on {usage.program.task.name}: {len(rows):,} observations\n")
            print("observation  steps  rule  action  what it says")
            for row in rows:
                line = f"{row.observation}  {row.steps}  {row.rule}  {row.action}  {row.says}"
                print(wrap(line, "    ", first=""))
    elif not is_quiet:
        print(comparison or usage, end="")
    if out is not None:
        file.write_text(usage.program.text)
        if not is_quiet:
            print(f"\nthe program is in {file}")
    output.write_json(record)
