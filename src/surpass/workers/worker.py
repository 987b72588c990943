"""What the processes of a cluster do: they hold replicas, and run jobs, on behalf of a runner elsewhere."""

from __future__ import annotations

import os
import pickle
import platform
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from surpass import errors
from surpass.engine.cache import source_version
from surpass.errors import SettingError, SurpassError
from surpass.workers.processes import last_line, start_job
from surpass.workers.runner import Job, Make


class Question(NamedTuple):
    """A call of a replica's method, with all that a process needs to answer it."""

    version: str
    """That of the runner's sources."""
    alive: frozenset[str]
    """The replicas that are still needed, by name."""
    name: str
    """That of the replica."""
    call: bytes
    """As `write_call` writes it."""


_replicas: dict[str, tuple[Any, int]] = {}
"""The replicas of this process, each with how much of its setup has been done."""


def answer(question: Question, setup: Sequence[Any], fetch: Callable[[Any], bytes]) -> bytes:
    """Return the answer of a replica, or what it raised, as bytes.

    `fetch` gets the calls of its setup, of which this process does those that it has not done yet.
    """

    def do() -> Any:
        for old in _replicas.keys() - question.alive:
            del _replicas[old]
        replica, done = _replicas.pop(question.name, (None, 0))
        for one in setup[done:]:
            make, arguments = pickle.loads(fetch(one))
            if isinstance(make, str):
                getattr(replica, make)(*arguments)
            else:
                replica = make(*arguments)
        _replicas[question.name] = replica, len(setup)
        method, arguments = pickle.loads(question.call)
        return getattr(replica, method)(*arguments)

    return _guarded(question.version, do)


def run_job(version: str, job: Job, where: Path, token: tuple[Path, str]) -> bytes:
    """Run a job to its end, and return its exit code and its last line as bytes.

    A file that holds a token shows whether this process sees the same files as the runner.
    """

    def do() -> tuple[int, str]:
        path, text = where / token[0], token[1]
        if not path.is_file() or path.read_text() != text:
            raise SettingError(
                f"the worker on {platform.node()} does not see {path.parent}: on a cluster, start in a folder that all"
                " of its machines share, and put --out there"
            )
        with start_job(job, where) as process:
            return process.wait(), last_line(where / job.folder)

    return _guarded(version, do)


def _guarded(version: str, do: Callable[[], Any]) -> bytes:
    """Return what a function returns, or the kind of its error and what it says, as bytes."""
    os.environ.update({"SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"})
    try:
        if version != source_version():
            raise SettingError(
                f"the worker on {platform.node()} has other sources of surpass; install the same version everywhere"
            )
        return pickle.dumps((None, do()), pickle.HIGHEST_PROTOCOL)
    except (SurpassError, MemoryError) as error:
        failure = type(error).__name__, str(error)
    except Exception:  # one that should not be says where it came from too
        failure = "RuntimeError", f"a worker failed: {traceback.format_exc().strip()}"
    return pickle.dumps((failure, None))


def write_call(do: str | Make, arguments: tuple[Any, ...]) -> bytes:
    """Return a call of a replica's method, or of what makes the replica, as bytes."""
    return pickle.dumps((do, arguments), pickle.HIGHEST_PROTOCOL)


def read_answer(written: bytes) -> Any:
    """Return what a process answered, or raise what it raised."""
    failure, found = pickle.loads(written)
    if failure is None:
        return found
    kind, message = failure
    others = {"MemoryError": MemoryError, "RuntimeError": RuntimeError}
    known: type[Exception] = others[kind] if kind in others else getattr(errors, kind)
    error = known.__new__(known)
    Exception.__init__(error, message)  # past those of ours that make their message themselves
    raise error
