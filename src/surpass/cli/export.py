"""`surpass export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES
from surpass.cli.options import AgentName, Json, OutputFile, TaskName, check_outputs, option
from surpass.errors import SettingError, UnknownNameError

SUFFIXES = {".py": "python", ".c": "c"}


def export_command(
    agent: AgentName,
    out: Annotated[Path, option("The file to write (- for the output).", "FILE", FILES)],
    to: Annotated[str | None, option("The language: python or c.  [default: by the file's name]", "python|c")] = None,
    task: TaskName = None,
    seed: Annotated[int, option("Draws other instances to collect what occurs with the agent.", "N")] = 0,
    json: Json = None,
) -> None:
    """Write an agent as one source file that needs nothing of surpass.

    It gives the same results in the same number of steps. Its heading says how it is called.

    Examples:
      surpass export zoo:sort-quick --to c --out sort.c
      surpass export zoo:search --out search.py
    """
    language, known = to or SUFFIXES.get(out.suffix), tuple(SUFFIXES.values())
    if language is None:
        raise SettingError(f"the name of {out} does not say the language; give --to {' or '.join(known)}")
    if language not in known:
        raise UnknownNameError("language", language, known)
    source, output = OutputFile(out), OutputFile(json)
    is_free = check_outputs(out=source, json=output)
    with ProgressDisplay() as progress:
        from surpass import api

        exported = api.export(agent, language, task=task, seed=seed, progress=progress)
    source.write_text(exported.source)
    if is_free:
        print(f"{out}: {exported}")
    output.write_json(exported.as_json())
