"""`surpass reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile
from surpass.cli.progress import show_progress
from surpass.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from surpass.evaluation.reproduce import Table

__all__ = ["reproduce_command"]


def reproduce_command(
    table: Annotated[str, typer.Argument(help="teachers, table1 to table6, curves, or all of them.", metavar="TABLE")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances: all in about a minute.")] = False,
    instances: Annotated[
        int | None, typer.Option(help="The most instances per cell.  [default: 1000; 100 with --quick]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="First train the agents of the zoo again, each from its recipe.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder for figures and retrained agents.")] = Path("runs/reproduce"),
    json: Annotated[Path | None, typer.Option(help="Also write the tables to this file (- for the output).")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables to this file as Markdown.")] = None,
) -> None:
    """Print tables of the paper beside ours, made by the agents of the zoo.

    The paper's means are over 100 instances; ours are over up to 1000, and over fewer where one takes millions of
    steps. "teachers" are the rows of hand-written agents, with the difference to the paper's in standard
    errors; up to 3 can be chance. For learned agents the saving against the teacher on the same instances is
    compared. "curves" draws the training curves.

    Example: surpass reproduce table3 --json table3.json --markdown table3.md
    """
    from surpass.evaluation.layout import NOTE, as_markdown, as_text
    from surpass.evaluation.reproduce import NAMES, Reproduction, count_verdicts

    if table not in (*NAMES, "curves", "all"):
        raise UnknownNameError("table", table, (*NAMES, "curves", "all"))
    if instances is not None and instances < 2:
        raise SettingError(f"instances is {instances}; a mean with an interval needs 2 or more")
    if seed < 0:
        raise SettingError(f"seed is {seed}; it must be 0 or more")
    output, page = OutputFile(json), OutputFile(markdown)
    speak = not output.is_stdout and not page.is_stdout
    stand_ins: dict[str, str] = {}
    made: list[Table] = []
    with show_progress() as progress:
        reproduction = Reproduction(
            quick=quick,
            instances=instances,
            seed=seed,
            stand_ins=stand_ins,
            progress=lambda row, size, done, total: progress(f"{row} n={size:,}", done, total),
        )
        for one in reproduction.tables(table):
            made.append(one)
            if speak:
                print(as_text(one))
    verdicts = count_verdicts(made)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    if speak:
        print(f"{NOTE}\n{summary}.")
    record: dict[str, Any] = {"name": table, "quick": quick, "seed": seed, "verdicts": verdicts}
    output.write_json({**record, "tables": [one.as_json() for one in made]})
    page.write_text("\n".join([*map(as_markdown, made), NOTE, "", f"{summary}.", ""]))
