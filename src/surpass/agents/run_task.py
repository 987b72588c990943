"""What the folder of a run says of its task and method: each records the file that its task came from."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from surpass.bundles import digest, write_atomically
from surpass.errors import SettingError
from surpass.reading import read_bytes, read_record
from surpass.tasks.task import Task
from surpass.tasks.user_file import file_of

log = logging.getLogger("surpass")

RECORD = "task.json"
ABOUT = {"task": str, "file": str, "sha256": str}


def write_task_record(folder: Path, task: Task) -> None:
    """Record in the folder of a run which file its task came from, if it came from one."""
    path = file_of(task)
    if path is not None:
        record = {"task": task.name, "file": str(path.resolve()), "sha256": digest(read_bytes(path))}
        write_atomically(folder / RECORD, (json.dumps(record, indent=1) + "\n").encode())


def recorded_file(folder: Path, name: str, give: str) -> Path | None:
    """Return the file that a run's task of a name came from; refuse if it is gone or has changed.

    `give` says how a user names a task file. None is returned if the run records no file.
    """
    record = _read(folder)
    if record is None or record["task"] != name:
        return None
    path = Path(record["file"])
    if not path.exists():
        raise SettingError(f"task {name!r} came from {path}, which does not exist; give its file with {give} FILE.py")
    if digest(read_bytes(path)) != record["sha256"]:
        raise SettingError(f"task {name!r} came from {path}, which has changed since; give it with {give} {path}")
    log.info("task %s is that of %s", name, path)
    return path


def resuming(recipe: Mapping[str, Any], folder: Path) -> str:
    """Return the command that continues the run in a folder."""
    verb = "discover" if recipe.get("method") == "discover" else "learn"
    return f"surpass {verb} --out {shlex.quote(str(folder))} --resume"


def warn_of_change(folder: Path, task: Task) -> None:
    """Warn if the file of a task is not the one that a run was learned with."""
    path, record = file_of(task), _read(folder)
    if path is None or record is None or record["task"] != task.name or record["sha256"] == digest(read_bytes(path)):
        return
    _warn_once(f"{path} is not as it was when {folder} was learned with {record['file']}")


@cache
def _warn_once(warning: str) -> None:
    log.warning("%s", warning)


def _read(folder: Path) -> dict[str, str] | None:
    """Return the record of a run, or of the first run of a sweep; None if there is none.

    A relative path is ignored: the record could then name a file that came with the run.
    """
    for path in (folder / RECORD, *sorted(folder.glob(f"runs/*/{RECORD}"))):
        if path.exists():
            record: dict[str, str] = read_record(path, ABOUT)
            return record if Path(record["file"]).is_absolute() else None
    return None
