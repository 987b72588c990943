"""`surpass reproduce`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.options import OutputFile
from surpass.cli.progress import show_progress
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError

if TYPE_CHECKING:
    from surpass.evaluation.reproduce import TableRow

__all__ = ["reproduce_app"]

reproduce_app = typer.Typer(help="Print the paper's tables beside ours.", no_args_is_help=True)


@reproduce_app.callback()
def _group() -> None:
    """Print the paper's tables beside ours."""


@reproduce_app.command("teachers")
def teachers_command(
    instances: Annotated[int, typer.Option(help="Instances per size.")] = 1000,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Also write the tables to this file (- for the output).")] = None,
) -> None:
    """Print every teacher row of the paper's tables beside ours.

    The paper's means are over 100 instances. The last column tells how far they are from ours in standard errors of the
    difference; 3 or less can be chance. Cells that the paper leaves empty are filled over 10 instances.
    """
    from surpass.evaluation.reproduce import reproduce_teachers

    if instances < 2:
        raise SettingError(f"instances is {instances}; a mean with an interval needs 2 or more")
    output = OutputFile(json)
    rows = []
    with show_progress() as progress:
        for row in reproduce_teachers(
            instances=instances,
            seed=seed,
            progress=lambda name, size, done, total: progress(f"{name} n={size:,}", done, total),
        ):
            rows.append(row)
            if not output.is_stdout:
                _print_row(row)
    cells = [cell for row in rows for cell in row.cells if cell.paper is not None]
    agreeing = sum(cell.agrees for cell in cells)
    if not output.is_stdout:
        print(f"{agreeing} of {len(cells)} cells agree with the paper within 3 standard errors.")
    output.write_json({"instances": instances, "seed": seed, "rows": [asdict(row) for row in rows]})


def _print_row(row: TableRow) -> None:
    digits = 2 if row.measure == "reward" else 1
    lines = [
        [
            f"{cell.size:,}",
            show_number(cell.paper, digits),
            show_number(cell.ours, digits),
            show_number(cell.ci95, digits),
            f"{cell.solved:.1%}",
            f"{cell.instances:,}",
            "filled" if cell.errors is None else f"{cell.errors:+.1f}" + ("" if cell.agrees else " differs"),
        ]
        for cell in row.cells
    ]
    number = row.table.partition("_")[0].removeprefix("table")
    title = f"Table {number}, {row.name} ({row.agent} on {row.task}): mean {row.measure}"
    print_table(title, ["size", "paper", "ours", "± 95 %", "solved", "instances", "errors apart"], lines)
