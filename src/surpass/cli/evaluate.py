"""`surpass evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.options import OutputFile, parse_sizes, resolve_agent
from surpass.cli.progress import show_progress
from surpass.cli.tables import print_table, show_number

if TYPE_CHECKING:
    from surpass.evaluation.scores import Evaluation

__all__ = ["evaluate_command"]


def evaluate_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="Its task: a name, or a Python file that registers one.", metavar="NAME|FILE")
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes, such as 5,10,20.  [default: the task's]")] = None,
    instances: Annotated[int | None, typer.Option(help="Instances per size.  [default: 100, or all of a file]")] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    data: Annotated[
        str | None,
        typer.Option(
            help="A distribution's name, or a file with one list per line or a 2-D .npy.", metavar="NAME|FILE"
        ),
    ] = None,
    queries: Annotated[str | None, typer.Option(help="For search: present, absent or mixed.  [default: mixed]")] = None,
    limit: Annotated[
        str | None, typer.Option(help="The step limit: a number, Kn or Kn^2, such as 20n or 10n^2.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another agent, compared on the same instances.", metavar="AGENT")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the scores to this file (- for the output).")] = None,
) -> None:
    """Run an agent and print its scores for each size.

    Example: surpass evaluate teacher:hoare_sort --sizes 10,100,1000 --against teacher:quick_sort
    """
    from surpass.evaluation.scores import evaluate

    output = OutputFile(json)
    wanted = parse_sizes(sizes)
    first = resolve_agent(agent, task)
    second = resolve_agent(against, None) if against else None
    with show_progress() as progress:
        evaluation = evaluate(
            first,
            sizes=wanted,
            instances=instances,
            seed=seed,
            data=data,
            queries=queries,
            limit=limit,
            against=second,
            progress=lambda size, done, total: progress(f"{agent} n={size:,}", done, total),
        )
    if not output.is_stdout:
        _print_scores(evaluation)
    output.write_json(evaluation.as_json())


def _print_scores(evaluation: Evaluation) -> None:
    by_reward = evaluation.measure == "reward"
    columns = ["size", "instances", "solved", "mean steps", "± 95 %", "max steps", "mean reward"]
    if evaluation.against:
        columns += [f"{evaluation.measure} against", "± 95 %"]
    rows = []
    for row in evaluation.rows:
        cells = [
            f"{row.size:,}",
            f"{row.instances:,}",
            f"{row.solved:.1%}",
            show_number(row.mean_steps, 2),
            show_number(row.ci95, 2),
            f"{row.max_steps:,}",
            show_number(row.mean_reward, 3 if by_reward else 1),
        ]
        if evaluation.against:
            sign = "+" if (row.difference or 0) > 0 else ""
            digits = 3 if by_reward else 2
            cells += [sign + show_number(row.difference, digits), show_number(row.difference_ci95, digits)]
        rows.append(cells)
    about = f"{evaluation.agent} on {evaluation.task}, data {evaluation.data}"
    if evaluation.queries:
        about += f", queries {evaluation.queries}"
    if evaluation.against:
        about += f", against {evaluation.against}"
    note = f"at most {evaluation.limit} steps; seed {evaluation.seed}"
    if evaluation.narrow_choices:
        note += f"; {evaluation.narrow_choices} choices of the network lead by less than 1e-4"
    unsolved = [
        f"n={row.size}: "
        + ", ".join(f"{count} {reason}" for reason, count in row.reasons.items() if reason != "solved")
        for row in evaluation.rows
        if row.solved < 1
    ]
    if unsolved:
        note += "; unsolved: " + "; ".join(unsolved)
    print_table(about, columns, rows, note)
    if evaluation.against:
        print(evaluation.verdict)
