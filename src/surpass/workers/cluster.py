"""The runner of a Ray cluster.

Jobs and questions are Ray tasks of one processor each. Each answer is a function of what was sent, so Ray repeats
elsewhere what was lost with a worker: a job resumes from its last checkpoint, a replica is made again.

A cluster is for trusted users and machines: whoever can reach it can run programs on it. surpass opens no port of its
own; the ports are Ray's. Jobs need a folder that all machines of the cluster share.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from surpass.engine.cache import source_version
from surpass.errors import SettingError
from surpass.printing import truncate
from surpass.reading import THREADS, check_range
from surpass.workers.connecting import connect, import_ray
from surpass.workers.runner import Ended, Job, Make, Watch
from surpass.workers.worker import Question, answer, read_answer, run_job, write_call

POLL_SECONDS = 0.1
"""Seconds between two looks at the jobs."""
MAX_LOSSES = 4
"""How often the same part of the work may be lost with its worker: it may be what ends them."""
TOKEN = ".shared"
"""A file by which workers show that they see the folder of the jobs."""


class RayRunner:
    """Runs jobs and holds replicas on the processors of a Ray cluster."""

    is_local = False

    def __init__(self, address: str = "", processes: int | None = None) -> None:
        """Connect to a cluster, or start one of this machine's processors, which ends with this runner."""
        if processes is not None:
            check_range("processes", processes, THREADS)
        self.ray, self._processes, self.version = import_ray(), processes, source_version()
        self._has_connected = connect(self.ray, address, processes)
        as_task = self.ray.remote(num_cpus=1, max_retries=MAX_LOSSES)
        self.answer, self._run_job = as_task(_answer), as_task(run_job)
        self.alive: set[str] = set()
        """The names of the replicas that are still needed."""
        if not self._processors():
            self.close()
            raise SettingError("the Ray cluster has no processors; start its nodes with --num-cpus of 1 or more")

    def _processors(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0))

    @property
    def count(self) -> int:
        """How many parts to cut a piece of work into: one for each processor."""
        return max(1, min(self._processes or self._processors(), self._processors()))

    def receive(self, reference: Any) -> bytes:
        """Return what a worker answers."""
        exceptions = self.ray.exceptions
        try:
            written: bytes = self.ray.get(reference)
        except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
            raise SettingError(
                "the object store of the Ray cluster is full: start its nodes with more --object-store-memory, or give"
                f" fewer or smaller instances ({_one_line(error)})"
            ) from None
        except exceptions.RayError as error:
            name = str(error).partition("No module named ")[2].split("'")[1:2]
            said = "a part of the work was lost with its workers; perhaps their memory is not enough"
            if name:
                said = f"a worker of the Ray cluster has no {name[0]}; install surpass there as it is here"
            raise SettingError(f"{said} ({_one_line(error)})") from None
        return written

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""
        waiting, running = deque(jobs), dict[Any, Job]()
        with _shown_token([job.folder.parent for job in jobs]) as token:
            try:
                while waiting or running:
                    while waiting and len(running) < self.count:
                        job = waiting.popleft()
                        shown = job.folder.parent / TOKEN, token
                        running[self._run_job.remote(self.version, job, Path.cwd(), shown)] = job
                    if watch:
                        watch(tuple(running.values()))
                    for reference in self.ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)[0]:
                        job = running.pop(reference)
                        yield Ended(job, *read_answer(self.receive(reference)))
            finally:
                for reference in running:
                    self.ray.cancel(reference, force=True)

    def replicate(self, make: Make, *arguments: Any) -> RayReplicas:
        """Return replicas of the object that `make` makes of some arguments; each worker makes its own."""
        return RayReplicas(self, write_call(make, arguments))

    replicate_apart = replicate

    def close(self) -> None:
        """Let go of the cluster; one that was started here is ended."""
        if self._has_connected:
            self._has_connected = False
            self.ray.shutdown()


class RayReplicas:
    """Replicas of an object on the workers of a cluster."""

    def __init__(self, runner: RayRunner, make: bytes) -> None:
        self._runner, self._name = runner, secrets.token_hex(8)
        self._setup: list[Any] = []
        """How a worker makes its replica: the object, and then every call that was broadcast."""
        self.sent = self.received = 0
        """How many bytes all of them were sent, and have answered with."""
        self.waited = 0.0
        """Seconds spent waiting for answers."""
        runner.alive.add(self._name)
        self._add(make)

    def _add(self, call: bytes) -> None:
        self.sent += len(call)
        self._setup.append(self._runner.ray.put(call))

    def broadcast(self, method: str, *arguments: Any) -> None:
        """Let every replica do something that changes it, before it answers anything else."""
        self._add(write_call(method, arguments))

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order."""
        return [wait() for wait in [self.submit(method, *part) for part in parts]]

    def submit(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Have one replica answer, and return the function that waits for its answer."""
        runner = self._runner
        question = Question(runner.version, frozenset(runner.alive), self._name, write_call(method, arguments))
        self.sent += len(question.call)
        reference = runner.answer.remote(question, self._setup)

        def wait() -> Any:
            began = time.monotonic()
            answer = runner.receive(reference)
            self.waited += time.monotonic() - began
            self.received += len(answer)
            return read_answer(answer)

        return wait

    def close(self) -> None:
        """Let go of them."""
        self._runner.alive.discard(self._name)


def _answer(question: Question, setup: Sequence[Any]) -> bytes:
    """Return the answer of a replica on a worker, which gets its setup from Ray."""
    return answer(question, setup, import_ray().get)


@contextmanager
def _shown_token(folders: Sequence[Path]) -> Iterator[str]:
    """Give a text that stands in a file of each folder for the length of a block."""
    token, paths = secrets.token_hex(8), {folder / TOKEN for folder in folders}
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(token)
    except OSError as error:
        raise SettingError(f"{path.parent} cannot be written: {error.strerror}") from None
    try:
        yield token
    finally:
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _one_line(error: Exception) -> str:
    return truncate(" ".join(str(error).split()), 300)
