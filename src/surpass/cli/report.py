"""`surpass report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.options import Json, OutputFile, TaskName
from surpass.cli.progress import show_progress
from surpass.errors import SettingError


def report_command(
    what: Annotated[
        str,
        typer.Argument(
            help="The folder of a run, zoo:NAME, or any other agent; of a sweep, its best run.", metavar="RUN|zoo:NAME"
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write: .html.", metavar="FILE")] = Path("report.html"),
    task: TaskName = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Check as surpass check does, and write the rules as surpass show does: takes minutes."
        ),
    ] = False,
    json: Json = None,
) -> None:
    """Write one page about what was learned: how, how good it is, its program, its check, and a film of it.

    The page needs nothing but itself, so it can be sent to anybody. It has the recipe and the command that repeats it,
    the curves, the table against teachers and paper on the same instances, how steps grow with the size, a run to
    watch beside the teacher's, the rules with their use, and what was checked. An unfinished run is reported as far as
    it has come.

    Example: surpass report runs/mine --out mine.html

    Example: surpass report zoo:sort-quick --check
    """
    from surpass.visualize.report import report

    if out.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{out} has an ending that no report can be written with; allowed: .html, .htm")
    page, output = OutputFile(out), OutputFile(json)
    with show_progress() as progress:
        made = report(what, task=task, check=check, progress=progress)
    page.write_text(made.html)
    if not output.is_stdout:
        print(made, end="")
        print(f"the report is {page}")
    output.write_json(made.as_json())
