"""What each process of a cluster does: it holds actors, and runs jobs, on behalf of a runner elsewhere."""

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


class Remaking(NamedTuple):
    """How to make an actor again as it was when it was lost."""

    make: bytes
    """What makes it, and the arguments of that."""
    state: bytes | None
    """Its last known state, or None for a fresh one."""
    journal: tuple[bytes, ...]
    """What it was told since."""


class Worker:
    """A process with one processor for its own. What it is given and what it answers is written as bytes."""

    def __init__(self) -> None:
        os.environ.update({"SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"})
        self._actors: dict[str, Any] = {}

    def about(self) -> About:
        """Return who this is."""
        return About(platform.node(), os.getpid(), source_version())

    def sees(self, where: Path, path: Path, token: str) -> bool:
        """Tell whether this worker sees the same files as the runner: the file of a path holds a token."""
        try:
            return where.is_dir() and (where / path).read_text() == token
        except OSError:
            return False

    def do(self, name: str, call: bytes, remaking: Remaking | None = None) -> bytes:
        """Let an actor do something, once it has been made again if that is asked for; return what it answers."""
        try:
            if remaking is not None:
                self._remake(name, remaking)
            method, arguments = pickle.loads(call)
            return pickle.dumps((None, getattr(self._actors[name], method)(*arguments)), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return pickle.dumps((_describe(error), None))

    def _remake(self, name: str, remaking: Remaking) -> None:
        make, arguments = pickle.loads(remaking.make)
        actor = make(*arguments)
        if remaking.state is not None:
            actor.load(pickle.loads(remaking.state))
        for call in remaking.journal:
            method, words = pickle.loads(call)
            getattr(actor, method)(*words)
        self._actors[name] = actor

    def forget(self, names: Sequence[str]) -> None:
        """Let go of actors."""
        for name in names:
            self._actors.pop(name, None)

    def run_job(self, job: Job, where: Path) -> tuple[int, str]:
        """Run a job to its end, and return its exit code and the last line that it printed."""
        with start_job(job, where) as process:
            return process.wait(), last_line(where / job.folder)


def write_make(make: Make, arguments: tuple[Any, ...]) -> bytes:
    """Return what makes an actor, as bytes."""
    return pickle.dumps((make, arguments), pickle.HIGHEST_PROTOCOL)


def write_call(method: str, arguments: tuple[Any, ...]) -> bytes:
    """Return something for an actor to do, as bytes."""
    return pickle.dumps((method, arguments), pickle.HIGHEST_PROTOCOL)


def read_answer(answer: bytes) -> Any:
    """Return what an actor answered, or raise what it raised."""
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
