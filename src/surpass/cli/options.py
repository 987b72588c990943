"""Options that commands share, reading them, and writing results to files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from surpass.cli.help import FILES, INSTANCES, RUNNING
from surpass.errors import SettingError
from surpass.reading import SIZE, Range, as_path, check_range, show


def option(text: str, metavar: str | None = None, group: str | None = None, *, name: str = "") -> Any:
    """Return an option of a command: its help, what stands for its value, and the group that it is shown in."""
    return typer.Option(*([name] if name else []), help=text, metavar=metavar, rich_help_panel=group)


AgentName = Annotated[
    str,
    typer.Argument(
        help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
    ),
]
TaskArgument = Annotated[
    str | None, typer.Argument(help="A task's name, or a Python file that registers one.", metavar="[TASK]")
]
Instance = Annotated[
    str | None,
    option(
        "The instance: 5,2,9,1 to sort, 1,3,5:3 to search for 3, 0.2,0.7:0.5,0.9:0.8 for weights, values and"
        " capacity.  [default: one is drawn]",
        "LIST",
        INSTANCES,
    ),
]
TaskName = Annotated[str | None, option("Its task: a name, or a Python file that registers one.", "NAME|FILE")]
Json = Annotated[Path | None, option("Also write the results to this file as JSON (- for the output).", "FILE", FILES)]
Limit = Annotated[
    str | None,
    option("The step limit: a number, Kn or Kn^2, such as 20n or 10n^2.  [default: the task's]", "LIMIT", RUNNING),
]
Seed = Annotated[int, option("Draws other instances.", "N", INSTANCES)]
On = Annotated[
    str,
    option(
        "Where to work: local (all cores of this machine), ray (a Ray of its own here, or that of RAY_ADDRESS) or"
        " ray=HOST:PORT (a Ray cluster, for trusted users and machines).",
        "local|ray[=ADDRESS]",
        RUNNING,
    ),
]


def parse_sizes(text: str | None) -> list[int] | None:
    """Return the sizes of a text such as `5,10,20`."""
    return None if text is None else parse_numbers("size", text, SIZE, "5,10,20")


def parse_numbers(what: str, text: str, allowed: Range, such: str) -> list[int]:
    """Return the whole numbers of a text; the messages say what they are, and show some such."""
    words = text.replace(",", " ").split()
    if not words:
        raise SettingError(f"no {what}s are given; give {what}s such as {such}")
    numbers = []
    for word in words:
        try:
            numbers.append(int(word))
        except ValueError:
            raise SettingError(f"{what} {show(word)} is not a whole number; give {what}s such as {such}") from None
        check_range(what, numbers[-1], allowed)
    return numbers


def check_outputs(**files: OutputFile) -> bool:
    """Return whether the output stream is left for what is printed; raise if two files go there."""
    taken = [f"--{name}" for name, file in files.items() if file.is_stdout]
    if len(taken) > 1:
        raise SettingError(f"{' and '.join(taken)} cannot both go to the output: give one of them a file")
    return not taken


class OutputFile:
    """A file for results that is known to be writable before the work starts, and is then written in one piece."""

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None or str(path) == "-" else as_path(path)
        self.is_stdout = str(path) == "-"
        if self._path is None:
            return
        if self._path.is_dir():
            raise SettingError(f"{self._path} is a folder, not a file to write to")
        folder = self._path.parent
        target = self._path if self._path.exists() else folder
        if not folder.is_dir() or not os.access(target, os.W_OK):
            raise SettingError(f"{self._path} cannot be written: its folder does not exist or is not writable")

    def __str__(self) -> str:
        return "the output" if self.is_stdout else str(self._path)

    def show(self, text: object, record: Any) -> None:
        """Write plain data as JSON; unless that goes to the output stream, a text is printed there first."""
        if not self.is_stdout:
            print(text, end="", flush=True)
        self.write_json(record)

    def write_json(self, record: Any) -> None:
        """Write plain data as JSON, to the file or the output stream."""
        self.write_text(json.dumps(record, indent=1) + "\n")

    def write_text(self, text: str) -> None:
        """Write a text, to the file or the output stream."""
        if self.is_stdout:
            sys.stdout.write(text)
        elif self._path is not None:
            from surpass.bundles import write_atomically

            write_atomically(self._path, text.encode())
