"""`surpass report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.options import Json, OutputFile, TaskName, option
from surpass.errors import SettingError


def report_command(
    what: Annotated[
        str,
        typer.Argument(
            help="The folder of a run, zoo:NAME, or any other agent; of a sweep, its best run.", metavar="RUN|zoo:NAME"
        ),
    ],
    out: Annotated[Path, option("The page to write: .html.", "FILE")] = Path("report.html"),
    task: TaskName = None,
    check: Annotated[
        bool,
        option("Check as surpass check does, and write the rules as surpass show does: takes minutes.", name="--check"),
    ] = False,
    json: Json = None,
) -> None:
    """Write one page about a run or an agent: how it learned, how good it is, its program, its check and a recording.

    The page needs nothing but itself, so it can be sent to anybody. It has the recipe and the command that repeats it,
    the curves, the table against teachers and paper on the same instances, how steps grow with the size, a run to
    watch beside the teacher's, the rules with their use, and what was checked. An unfinished run is reported
    too.

    Example: surpass report runs/mine --out mine.html

    Example: surpass report zoo:sort-quick --check
    """
    from surpass.visualize.report import report

    if out.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{out} has an ending that no report can be written with; allowed: .html, .htm")
    page, output = OutputFile(out), OutputFile(json)
    with ProgressDisplay() as progress:
        made = report(what, task=task, check=check, progress=progress)
    page.write_text(made.html)
    output.show(f"{made}the report is {page}\n", made.as_json())
