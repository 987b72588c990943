"""What each process of a cluster does: it holds replicas, and runs jobs, on behalf of a runner elsewhere."""

from __future__ import annotations

import os
import pickle
import platform
import secrets
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import surpass
from surpass import errors
from surpass.errors import SurpassError
from surpass.workers.processes import last_line, start_job
from surpass.workers.runner import Job, Make


class About(NamedTuple):
    """Who a worker is."""

    machine: str
    process: int
    version: str
    """That of surpass, by its sources."""


class Worker:
    """A process with one processor for its own. What it is given and what it answers is written as bytes."""

    def __init__(self) -> None:
        os.environ.update({"SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"})
        self._replicas: dict[str, Any] = {}

    def about(self) -> About:
        """Return who this is."""
        return About(platform.node(), os.getpid(), source_version())

    def sees(self, where: Path, path: Path, token: str) -> bool:
        """Tell whether this worker sees the same files as the runner: the file of a path holds a token."""
        try:
            return where.is_dir() and (where / path).read_text() == token
        except OSError:
            return False

    def do(self, name: str, call: bytes, setup: Sequence[bytes] = ()) -> bytes:
        """Let a replica answer a call, once what its setup lacked has been done; return the answer."""
        try:
            for one in setup:
                do, arguments = pickle.loads(one)
                if isinstance(do, str):
                    getattr(self._replicas[name], do)(*arguments)
                else:
                    self._replicas[name] = do(*arguments)
            method, arguments = pickle.loads(call)
            return pickle.dumps((None, getattr(self._replicas[name], method)(*arguments)), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return pickle.dumps((_describe(error), None))

    def forget(self, name: str) -> None:
        """Let go of a replica."""
        self._replicas.pop(name, None)

    def run_job(self, job: Job, where: Path) -> tuple[int, str]:
        """Run a job to its end, and return its exit code and the last line that it printed."""
        with start_job(job, where) as process:
            return process.wait(), last_line(where / job.folder)


def write_call(do: str | Make, arguments: tuple[Any, ...]) -> bytes:
    """Return a call of a replica's method, or of what makes the replica, as bytes."""
    return pickle.dumps((do, arguments), pickle.HIGHEST_PROTOCOL)


def read_answer(answer: bytes) -> Any:
    """Return what a replica answered, or raise what it raised."""
    failure, found = pickle.loads(answer)
    if failure is None:
        return found
    kind, message = failure
    others = {"MemoryError": MemoryError, "RuntimeError": RuntimeError}
    known: type[Exception] = others[kind] if kind in others else getattr(errors, kind)
    error = known.__new__(known)
    Exception.__init__(error, message)  # past those of ours that make their message themselves
    raise error


def _describe(error: Exception) -> tuple[str, str]:
    """Return the kind of an error and what it says; of one that should not be, where it came from too."""
    if isinstance(error, SurpassError | MemoryError):
        return type(error).__name__, str(error)
    return "RuntimeError", f"a worker failed: {traceback.format_exc().strip()}"


def source_version() -> str:
    """Return a short text that changes with the sources of surpass: workers must have the same."""
    import hashlib

    key, package = hashlib.sha256(), Path(surpass.__file__).parent
    for path in sorted(package.rglob("*.py")):
        key.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return key.hexdigest()[:16]


def new_token() -> str:
    """Return a text that nobody else has."""
    return secrets.token_hex(8)
