"""`surpass reproduce`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.options import OutputFile
from surpass.cli.progress import show_progress
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from surpass.evaluation.reproduce import Cell, TableRow

__all__ = ["reproduce_command"]


def reproduce_command(
    table: Annotated[str, typer.Argument(help="teachers, table1, table5 or table6.", metavar="TABLE")],
    instances: Annotated[
        int | None, typer.Option(help="Instances per size.  [default: 1000; 100 for table1, table5 and table6]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Also write the tables to this file (- for the output).")] = None,
) -> None:
    """Print a table of the paper beside ours.

    "teachers" prints every row that a hand-written agent makes; table1, table5 and table6 print the rows of agents that
    imitate one, from the zoo. The paper's means are over 100 instances. The last column tells how far ours are from
    them in standard errors of the difference; 3 or less can be chance. Cells that the paper leaves empty are filled
    over 10 instances, and the graph network has fewer instances where the lists are long.
    """
    from surpass.evaluation.reproduce import TABLES, reproduce

    if table not in TABLES:
        raise UnknownNameError("table", table, TABLES)
    wanted = (1000 if table == "teachers" else 100) if instances is None else instances
    if wanted < 2:
        raise SettingError(f"instances is {wanted}; a mean with an interval needs 2 or more")
    output = OutputFile(json)
    rows = []
    with show_progress() as progress:
        for row in reproduce(
            table,
            instances=wanted,
            seed=seed,
            progress=lambda name, size, done, total: progress(f"{name} n={size:,}", done, total),
        ):
            rows.append(row)
            if not output.is_stdout:
                _print_row(row)
    cells = [cell for row in rows for cell in row.cells if cell.errors is not None]
    agreeing = sum(cell.agrees for cell in cells)
    if not output.is_stdout:
        print(f"{agreeing} of {len(cells)} cells agree with the paper within 3 standard errors.")
    output.write_json({"table": table, "instances": wanted, "seed": seed, "rows": [asdict(row) for row in rows]})


def _print_row(row: TableRow) -> None:
    lines = [_show_cell(cell, row.measure) for cell in row.cells]
    number = row.table.partition("_")[0].removeprefix("table")
    what = "share solved" if row.measure == "solved" else f"mean {row.measure}"
    title = f"Table {number}, {row.name} ({row.agent} on {row.task}): {what}"
    print_table(title, ["size", "paper", "ours", "± 95 %", "solved", "instances", "errors apart"], lines)


def _show_cell(cell: Cell, measure: str) -> list[str]:
    if measure == "solved":
        paper, ours, interval = (_show_share(share) for share in (cell.paper, cell.ours, cell.ci95))
    else:
        digits = 2 if measure == "reward" else 1
        paper, ours, interval = (show_number(number, digits) for number in (cell.paper, cell.ours, cell.ci95))
        if cell.paper_solved is not None:
            paper += f" / {cell.paper_solved:.0%}"
    if cell.errors is not None:
        apart = f"{cell.errors:+.1f}" + ("" if cell.agrees else " differs")
    else:
        apart = "filled" if cell.paper is None else ""
    return [f"{cell.size:,}", paper, ours, interval, f"{cell.solved:.1%}", f"{cell.instances:,}", apart]


def _show_share(share: float | None) -> str:
    return "-" if share is None or share != share else f"{share:.1%}"
