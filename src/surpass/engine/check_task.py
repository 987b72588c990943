"""Check a task before its first run, in a fresh process with the compiler off: see `checked_play`.

Compiled kernels check nothing: a wrong index ends the process, and an endless loop never returns. A file that has
passed is not checked again until it, a module that it imports, or surpass changes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np

from surpass.bundles import digest, write_atomically
from surpass.engine.cache import cache_folder, source_version
from surpass.engine.kernel_types import check_kernels
from surpass.errors import DeclarationError, ObservationError, SurpassError
from surpass.reading import read_record
from surpass.tasks.task import Task
from surpass.tasks.user_file import file_of, task_file

_log = logging.getLogger(__name__)

CALL_SECONDS = 2.0
"""Seconds of work after which a call of the user's code counts as endless."""
MOST_SECONDS = 180.0
"""Seconds after which a check that gives no answer is ended; on a busy machine a few seconds of work take long."""
USUAL_SIZE, MOST_SIZE = 1000, 100_000
"""Up to which size a task is checked before its first run, which is what checks of agents draw, and at most."""
PASSED = {"instances": int, "largest": int, "doubts": list[str], "modules": dict[str, str]}
"""What is kept of a check: on how many instances, up to which size, what to warn of, and the SHA-256 of each module of
the user's."""

_checked: WeakKeyDictionary[Task, int] = WeakKeyDictionary()
"""Up to which size tasks were checked."""


def check_once(task: Task, largest: int = 0) -> None:
    """Raise `DeclarationError` if a task that a file registers goes wrong on instances up to the size `largest`.

    What has passed before is skipped.
    """
    largest = min(max(largest, USUAL_SIZE, *task.sizes), MOST_SIZE)
    if _checked.get(task, 0) >= largest or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    file = file_of(task)
    if file is None:
        return
    check_kernels(task, compiling=False)
    versions = (source_version(), numba.__version__, np.__version__, sys.version)
    content = hashlib.sha256(repr(versions).encode() + file.read_bytes())
    note = cache_folder() / "checked" / f"{task.name}-{content.hexdigest()[:16]}.json"
    passed = _read_note(note)
    if passed is None or passed["largest"] < largest:
        _log.info("checking task %s up to n = %s, once for each version of its file", task.name, f"{largest:,}")
        passed = check_task(task, largest=largest)
        with suppress(OSError, SurpassError):  # without the note the task is checked again
            note.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(note, json.dumps(passed).encode())
    for doubt in passed["doubts"]:
        _log.warning("%s", doubt)
    _checked[task] = passed["largest"]


def check_task(task: Task, effort: int = 1, largest: int = USUAL_SIZE) -> dict[str, Any]:
    """Check a task in a fresh process; raise `DeclarationError` about its first mistake, or return a `PASSED` record.

    The error's note has the user's lines on the way to the mistake.
    """
    verdict = _ask_process(task, effort, largest)
    kind, said = verdict.pop("kind"), verdict.get("said", "")
    if kind == "python" or effort > 1:  # the compiler knows whether a kernel has the types that it needs
        check_kernels(task)
    if kind == "passed":
        return verdict
    if kind == "python":
        return {"instances": 0, "largest": largest, "doubts": [f"{said}; compiled, it was not tried"], "modules": {}}
    error = (ObservationError if kind == "ObservationError" else DeclarationError)(said)
    error.add_note(verdict.get("way", ""))
    raise error


def _ask_process(task: Task, effort: int, largest: int) -> dict[str, Any]:
    """Return the verdict of a fresh process about a task."""
    words = (task.name, task_file(task), str(effort), str(CALL_SECONDS), str(largest))
    command = [sys.executable, "-P", "-m", "surpass.engine.checked_play", *words]
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    whose, most = f"the check of task {task.name!r}", MOST_SECONDS * effort
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=most)
    except subprocess.TimeoutExpired:
        return {"kind": "", "said": f"{whose} gave no answer within {most:g} s"}
    with suppress(ValueError, IndexError):
        verdict: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return verdict
    how = f"by signal {signal.Signals(-ran.returncode).name}" if ran.returncode < 0 else "without an answer"
    return {"kind": "", "said": f"{whose} ended {how}"}


def _read_note(note: Path) -> dict[str, Any] | None:
    """Return the record of a check, if every module of the user's is still the same."""
    with suppress(OSError, SurpassError, ImportError, ValueError):
        passed: dict[str, Any] = read_record(note, PASSED)
        files = [(find_spec(name), known) for name, known in passed["modules"].items()]
        if all(spec and digest(Path(str(spec.origin)).read_bytes()) == known for spec, known in files):
            return passed
    return None
