"""Which file a user's own task came from, so that its agents can be named without it.

To run a file because a run names it would be to run code from the run. So only files count that this user has named
before: the cache keeps the path and the SHA-256 of each, and one is loaded again only if it still is what was named.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path

from surpass.bundles import digest, write_atomically
from surpass.engine.cache import cache_folder
from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.reading import read_bytes, read_record
from surpass.tasks.task import Task
from surpass.tasks.user_file import file_of, load_task_file

log = logging.getLogger("surpass")

NAMED = dict[str, dict[str, str]]
"""By the name of a task: the `file` that registers it and its `sha256`."""
MOST = 500
"""How many tasks are remembered."""
RECORD = "task.json"
"""The file in the folder of a run that says which file its task came from."""
ABOUT = {"task": str, "file": str, "sha256": str}


def remember_task(task: Task, path: Path) -> None:
    """Note which file registers a task, as the user has named it."""
    entry = {"file": str(path.resolve()), "sha256": digest(read_bytes(path))}
    known = _known()
    if known.get(task.name) != entry:
        known.pop(task.name, None)
        kept = dict([*known.items(), (task.name, entry)][-MOST:])
        with suppress(OSError, SurpassError):  # without it the user names the file again, no more
            write_atomically(_place(), json.dumps(kept, indent=1).encode())


def recall_task(name: str) -> tuple[Task, ...]:
    """Load the file that the user named last for a task, if it is still the same; return what it registers.

    Nothing is returned if the user never named one.
    """
    entry = _known().get(name)
    if entry is None:
        return ()
    path = Path(entry["file"])
    if not path.exists():
        raise SettingError(f"task {name!r} came from {path}, which is gone; give its file with --task FILE.py")
    if digest(read_bytes(path)) != entry["sha256"]:
        raise SettingError(f"task {name!r} came from {path}, which has changed since; give it with --task {path}")
    log.info("task %s is that of %s", name, path)
    return load_task_file(path)


def write_origin(folder: Path, task: Task) -> None:
    """Note in the folder of a run which file its task came from; for the reader, and to notice that it has changed."""
    path = file_of(task)
    if path is not None:
        record = {"task": task.name, "file": str(path.resolve()), "sha256": digest(read_bytes(path))}
        write_atomically(folder / RECORD, (json.dumps(record, indent=1) + "\n").encode())


def compare_origin(folder: Path, task: Task) -> None:
    """Say if the file of a task is not as it was when a run was made."""
    path = file_of(task)
    if path is None or not (folder / RECORD).exists():
        return
    record = read_record(folder / RECORD, ABOUT)
    if record["task"] == task.name and record["sha256"] != digest(read_bytes(path)):
        log.warning("%s has changed since %s was learned", path, folder)


def origin_hint(folder: Path) -> str:
    """Return what to give for an agent of a run whose task is not known, in words."""
    with suppress(SavedFileError, OSError):
        if (folder / RECORD).exists():
            return f"; it was learned with --task {read_record(folder / RECORD, ABOUT)['file']}: give that file"
    return "; if it is a task of your own, give its file with --task FILE.py"


def _place() -> Path:
    return cache_folder() / "task-files.json"


def _known() -> NAMED:
    """Return what is remembered; a damaged file counts as none."""
    with suppress(SurpassError, OSError):
        if _place().exists():
            known: NAMED = read_record(_place(), dict[str, dict[str, str]])
            return {name: entry for name, entry in known.items() if {"file", "sha256"} <= entry.keys()}
    return {}
