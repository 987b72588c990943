"""`surpass export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile, resolve_agent
from surpass.cli.progress import show_progress
from surpass.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from surpass.programs.program import Program

__all__ = ["export_command"]

SUFFIXES = {".py": "python", ".c": "c"}


def export_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file to write (- for the output).", metavar="FILE")],
    to: Annotated[
        str | None,
        typer.Option(help="The language: python or c.  [default: by the file's name]", metavar="python|c"),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Its task: a name, or a Python file that registers one.", metavar="NAME|FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances to collect what the agent meets.")] = 0,
    json: Annotated[
        Path | None, typer.Option(help="Also write what was exported to this file (- for the output).")
    ] = None,
) -> None:
    """Write an agent as one source file that needs nothing of surpass.

    It gives the same results in the same number of steps. Its heading says how it is called.

    Example: surpass export zoo:sort-quick --to c --out sort.c
    """
    from surpass.programs.export import LANGUAGES, export_program
    from surpass.programs.extract import extract

    language = to or SUFFIXES.get(out.suffix)
    if language is None:
        raise SettingError(f"the name of {out} does not say the language; give --to {' or '.join(LANGUAGES)}")
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    source, output = OutputFile(out), OutputFile(json)
    if source.is_stdout and output.is_stdout:
        raise SettingError("--out and --json cannot both go to the output: give one of them a file")
    found = resolve_agent(agent, task)
    with show_progress() as progress:
        program, _, _ = extract(found, seed=seed, progress=progress)
    text = export_program(program, language)
    source.write_text(text)
    record = _describe(program, language, text)
    if not source.is_stdout and not output.is_stdout:
        print(
            f"{out}: {program.name} on {program.task.name}, {_count(record['rules'], 'rule')} at"
            f" {_count(record['places'], 'place')}, {_count(record['lines'], 'line')}"
            f" of {'C' if language == 'c' else 'Python'}"
        )
    output.write_json(record)


def _describe(program: Program, language: str, text: str) -> dict[str, Any]:
    """Return what was exported as plain data."""
    from hashlib import sha256

    return {
        "agent": program.name,
        "task": program.task.name,
        "language": language,
        "rules": len(program.rules),
        "places": len(program.places),
        "lines": text.count("\n"),
        "sha256": sha256(text.encode()).hexdigest(),
    }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
