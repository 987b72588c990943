"""Which file a user's own task came from, so that its agents can be named without it.

To run a file because a run names it would be to run code from the run. So only files count that this user has named
before: the cache keeps the path and the SHA-256 of each, and one is loaded again only if it still is what was named.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from surpass.bundles import digest, write_atomically
from surpass.engine.cache import cache_folder
from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.reading import conform, read_bytes, read_record
from surpass.tasks.task import Task
from surpass.tasks.teacher import declared_teachers
from surpass.tasks.user_file import file_of, load_task_file

log = logging.getLogger("surpass")

MOST = 500
"""How many tasks are remembered."""
MOST_FILES = 8
"""How many files are remembered for a task."""
FILE = {"file": str, "sha256": str, "teachers": list[str]}
"""A file that registers a task, as it was when the user named it last, and the names of its teachers."""
RECORD = "task.json"
"""The file in the folder of a run that says which file its task came from."""
ABOUT = {"task": str, "file": str, "sha256": str}

_said: set[str] = set()
"""What has been said about runs, so that it is said once."""


def remember_task(task: Task, path: Path) -> None:
    """Note which file registers a task, as the user has named it."""
    teachers = [name for name, teacher in declared_teachers().items() if teacher.task is task]
    entry = {"file": str(path.resolve()), "sha256": digest(read_bytes(path)), "teachers": teachers}
    known = _known()
    if known.get(task.name, [None])[-1] != entry:
        others = [one for one in known.pop(task.name, []) if one["file"] != entry["file"]]
        kept = dict([*known.items(), (task.name, [*others, entry][-MOST_FILES:])][-MOST:])
        with suppress(OSError, SurpassError):  # without it the user names the file again, no more
            write_atomically(_place(), json.dumps(kept, indent=1).encode())


def recall_task(name: str, folder: Path | None = None) -> tuple[Task, ...]:
    """Load the file that the user named last for a task, if it is still the same; return what it registers.

    For what lies in the folder of a run, the file that the run was learned with is taken instead, if the user has named
    that one too and it is still the same. Nothing is returned if the user never named one.
    """
    entries = _known().get(name, [])
    if not entries:
        return ()
    origin = _origin(folder) or {}
    learned_with = [
        one
        for one in entries
        if one["sha256"] == origin.get("sha256") and Path(one["file"]).exists() and _is_unchanged(one)
    ]
    same_place = [one for one in learned_with if one["file"] == origin.get("file")]
    return _load(name, (same_place or learned_with or entries)[-1])


def recall_teacher(name: str) -> tuple[Task, ...]:
    """Load the file that the user named last of those with a teacher of this name; nothing if there is none."""
    for task, entries in reversed(_known().items()):
        for entry in reversed(entries):
            if name in entry["teachers"]:
                return _load(task, entry)
    return ()


def _load(name: str, entry: dict[str, Any]) -> tuple[Task, ...]:
    """Load a file that the user has named for a task; refuse if it is gone or has changed."""
    path = Path(entry["file"])
    if not path.exists():
        raise SettingError(f"task {name!r} came from {path}, which is gone; give its file with --task FILE.py")
    if not _is_unchanged(entry):
        raise SettingError(f"task {name!r} came from {path}, which has changed since; give it with --task {path}")
    log.info("task %s is that of %s", name, path)
    return load_task_file(path)


def _is_unchanged(entry: dict[str, Any]) -> bool:
    return digest(read_bytes(Path(entry["file"]))) == str(entry["sha256"])


def write_origin(folder: Path, task: Task) -> None:
    """Note in the folder of a run which file its task came from; for the reader, and to notice that it has changed."""
    path = file_of(task)
    if path is not None:
        record = {"task": task.name, "file": str(path.resolve()), "sha256": digest(read_bytes(path))}
        write_atomically(folder / RECORD, (json.dumps(record, indent=1) + "\n").encode())


def compare_origin(folder: Path, task: Task) -> None:
    """Say if the file of a task is not the one that a run was learned with."""
    path, record = file_of(task), _origin(folder)
    if path is None or record is None or record["task"] != task.name or record["sha256"] == digest(read_bytes(path)):
        return
    if str(path.resolve()) == record["file"]:
        said = f"{path} has changed since {folder} was learned"
    else:
        said = f"{path} is not the file that {folder} was learned with, {record['file']}"
    if said not in _said:
        _said.add(said)
        log.warning("%s", said)


def origin_hint(folder: Path, give: str) -> str:
    """Return what to give for an agent of a run whose task is not known, in words."""
    with suppress(SavedFileError):
        if record := _origin(folder):
            return f"; it was learned with {give} {record['file']}: give that file"
    return f"; if it is a task of your own, give its file with {give} FILE.py"


def _origin(folder: Path | None) -> dict[str, str] | None:
    """Return what a run says about the file of its task; of a sweep, what its first run says; None if nothing."""
    if folder is None:
        return None
    for path in (folder / RECORD, *sorted(folder.glob(f"runs/*/{RECORD}"))):
        if path.exists():
            record: dict[str, str] = read_record(path, ABOUT)
            return record
    return None


def _place() -> Path:
    return cache_folder() / "named-task-files.json"


def _known() -> dict[str, list[dict[str, Any]]]:
    """Return the files that are remembered for each task, the last named last; a damaged record counts as none."""
    with suppress(SurpassError, OSError):
        if _place().exists():
            known: dict[str, list[dict[str, Any]]] = read_record(_place(), dict[str, list[dict[str, Any]]])
            return {name: [conform(FILE, one, _place()) for one in files] for name, files in known.items() if files}
    return {}
