"""A trial of a user's kernels before they are compiled, and of the teachers, once for each content of their files.

A kernel that is wrong can take the process down or never come back; compiled code has no way to say so. So the kernels
of a task that is not the package's own first run in a copy of this process, which can be lost: see `rehearsal`. There
its teachers are asked, too.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import logging
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numba
import numpy as np

from surpass.bundles import write_atomically
from surpass.engine.cache import cache_folder, feed
from surpass.engine.refusals import check_shapes
from surpass.engine.rehearsal import rehearse
from surpass.errors import DeclarationError, ObservationError, SurpassError
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.task import Task
from surpass.tasks.teacher import declared_teachers

_log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds before anything is said."""
MOST_SECONDS = 60.0
"""Seconds after which a trial that gives no answer is ended."""
PACKAGE = Path(__file__).parents[1]

_tried: WeakSet[Task] = WeakSet()
_is_inside = False
"""Whether this process is the copy in which kernels are tried."""


def try_kernels(task: Task) -> None:
    """Raise `DeclarationError` if a kernel goes wrong on a small instance; what was found good is not tried again."""
    if _is_inside or task in _tried or is_packaged(task) or not hasattr(os, "fork"):
        return
    check_shapes(task)
    note = cache_folder() / "tried" / f"{task.name}-{_fingerprint_of(task)}"
    if note.exists():
        doubts = note.read_text(errors="replace").splitlines()
    else:
        answer = _ask_copy(task)
        _raise_answer(task, answer)
        doubts = answer["said"].splitlines()
        with suppress(OSError, SurpassError):  # a folder that is full or was removed costs another trial, no more
            note.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(note, answer["said"].encode())
    for doubt in doubts:
        _log.warning("%s", doubt)
    _tried.add(task)


def is_packaged(task: Task) -> bool:
    """Tell whether a task is the package's own, whose kernels are tested with it."""
    return any(task is known for known in PAPER_TASKS)


def _raise_answer(task: Task, answer: dict[str, str]) -> None:
    """Raise the error that a trial answered with, if it did."""
    if answer["kind"] == "good":
        return
    kinds: dict[str, type[SurpassError]] = {"observation": ObservationError}
    raise kinds.get(answer["kind"], DeclarationError)(answer["said"])


# The copy of this process


def _ask_copy(task: Task) -> dict[str, str]:
    """Return what a copy of this process says about a task's kernels."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Other threads of ours hold no lock that the copy needs: it runs Python and waits for nobody.
        warnings.simplefilter("ignore", DeprecationWarning)
        copy = os.fork()
    if copy == 0:
        os.close(reader)
        _answer(task, writer)
    os.close(writer)
    try:
        said, in_time = _listen(task, reader)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(copy, signal.SIGKILL)
        _, status = os.waitpid(copy, 0)
    try:
        answer: dict[str, str] = json.loads(said)
    except ValueError:
        answer = {"kind": "declaration", "said": _describe_silence(task, status, in_time, said)}
    return answer


def _listen(task: Task, reader: int) -> tuple[str, bool]:
    """Return all that the copy writes, and whether it came to an end in time."""
    parts: list[bytes] = []
    began, has_told = time.monotonic(), False
    while time.monotonic() - began < MOST_SECONDS:
        if not has_told and time.monotonic() - began > PATIENCE:
            has_told = True
            _log.info("trying the kernels of %s on small instances; this is done once for each change", task.name)
        ready, _, _ = select.select([reader], [], [], 0.5 if has_told else PATIENCE)
        if ready:
            part = os.read(reader, 1 << 16)
            if not part:
                return b"".join(parts).decode(), True
            parts.append(part)
    return b"".join(parts).decode(), False


def _describe_silence(task: Task, status: int, in_time: bool, said: str) -> str:
    """Return what became of a copy that gave no answer."""
    doing = f", last in {said.splitlines()[-1]}" if said.strip() else ""
    whose = f"the trial of the kernels of task {task.name!r}"
    if not in_time:
        return f"{whose} gave no answer within {MOST_SECONDS:g} seconds{doing}"
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"{whose} was ended by signal {name}{doing}"
    return f"{whose} ended without an answer{doing}"


def _answer(task: Task, writer: int) -> None:
    """Try a task's kernels, write what comes of it and end this process, which is a copy of another."""
    global _is_inside
    _is_inside = True
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        answer = _judge(task)
        os.write(writer, json.dumps(answer).encode())
    finally:
        os._exit(0)  # whatever the process was doing when it was copied is none of our business


def _judge(task: Task) -> dict[str, str]:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            doubts = rehearse(task).doubts
    except ObservationError as error:
        return {"kind": "observation", "said": str(error)}
    except SurpassError as error:
        return {"kind": "declaration", "said": str(error)}
    except BaseException as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return {"kind": "declaration", "said": f"the kernels of task {task.name!r} cannot be tried: {said}"}
    return {"kind": "good", "said": "\n".join(doubts)}


# What a trial depends on


def _fingerprint_of(task: Task) -> str:
    """Return a short text that changes with everything that a trial of a task depends on."""
    key = hashlib.sha256(_own_fingerprint())
    for part in _describe(task):
        key.update(part.encode() + b"\0")
    files: set[Path] = set()
    seen: set[int] = set()
    for function in (task.start, task.observe, task.act, task.hint, *_functions(task)):
        if function is not None:
            feed(function, key, seen, files)
    for file in sorted(files):
        with suppress(OSError):
            key.update(file.read_bytes() + b"\0")
    return key.hexdigest()[:16]


@cache
def _own_fingerprint() -> bytes:
    """Return what changes with the versions of surpass, Numba, NumPy and Python."""
    key = hashlib.sha256(repr((numba.__version__, np.__version__, sys.version)).encode())
    for source in sorted(path for part in ("machine", "tasks", "engine") for path in (PACKAGE / part).glob("*.py")):
        key.update(source.read_bytes() + b"\0")
    return key.digest()


def _describe(task: Task) -> Iterator[str]:
    """Yield the numbers and names of a declaration that a trial looks at."""
    interface, memory = task.interface, task.memory
    yield repr([(f.name, getattr(f, "values", ()), getattr(f, "arguments", ())) for f in interface.features])
    yield repr([(i.name, i.operands) for i in interface.instructions])
    yield repr((memory.names, memory.saved, memory.reals, task.limit, task.sizes, task.training_sizes))
    yield repr([(memory.item_width(size), memory.real_width(size)) for size in range(9)])
    yield repr(task.inputs.kinds)


def _functions(task: Task) -> Iterator[Any]:
    """Yield the plain functions that a trial calls."""
    inputs = task.inputs
    yield from inputs.draw.values()
    yield from (inputs.read, inputs.write, task.find_wrong, task.memory.item_width, task.memory.real_width)
    if inputs.small is not None:
        yield inputs.small.instances
    yield from (teacher.choose for teacher in declared_teachers().values() if teacher.task is task)
