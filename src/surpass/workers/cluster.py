"""The runner of a Ray cluster.

Every worker is one Ray actor with one processor: a process that runs jobs and holds replicas of objects. Each answer is
a function of what was sent, so another worker repeats what was lost with one: a job resumes from its last checkpoint,
a replica is made again.

A cluster is for trusted users and machines: whoever can reach it can run programs on it. surpass opens no port of its
own; the ports are Ray's. Jobs need a folder that all machines of the cluster share.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from surpass.errors import SettingError
from surpass.printing import truncate
from surpass.reading import THREADS, check_range
from surpass.workers.connecting import connect, import_ray
from surpass.workers.runner import Ended, Job, Make, Watch
from surpass.workers.worker import About, Worker, new_token, read_answer, source_version, write_call

_log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
"""Seconds between two looks at the workers while jobs run."""
FIRST_WORKER_SECONDS = 120.0
"""Seconds within which a first worker must be there."""
OTHER_WORKERS_SECONDS = 20.0
"""Seconds that the others then have; those that come later join in."""
MAX_LOSSES = 4
"""How often the same part of the work may be lost with its worker: it may be what ends them."""
CALLS_AT_ONCE = 2
"""Calls that a worker is given at once: one waits there while it does the other."""
TOKEN = ".shared"
"""A file by which workers show that they see the folder of the jobs."""


@dataclass(eq=False)
class WorkerHandle:
    """A worker of the cluster as it is known here."""

    actor: Any
    about: About
    sees_files: bool = False
    delivered: dict[str, int] = field(default_factory=dict)
    """How much of each replica's setup it has been sent."""


class RayRunner:
    """Runs jobs and holds replicas on the processors of a Ray cluster."""

    is_local = False

    def __init__(self, address: str = "", processes: int | None = None) -> None:
        """Connect to a cluster, or start one of this machine's processors, which ends with this runner."""
        if processes is not None:
            check_range("processes", processes, THREADS)
        self.ray = import_ray()
        self._kind = self.ray.remote(Worker)
        self._version = source_version()
        self._has_connected = connect(self.ray, address, processes)
        self._workers: list[WorkerHandle] = []
        self._coming: dict[Any, Any] = {}
        """Workers that were asked for, by what says that they are there."""
        self._numbers = count()
        self.lost = 0
        """How many workers were lost."""
        try:
            self._recruit(processes)
        except BaseException:
            self.close()
            raise

    # Workers

    def _recruit(self, processes: int | None) -> None:
        """Ask for a worker on each processor, and wait until they are there."""
        processors = int(self.ray.cluster_resources().get("CPU", 0))
        if not processors:
            raise SettingError("the Ray cluster has no processors; start its nodes with --num-cpus of 1 or more")
        wanted = min(processes or processors, processors)
        for _ in range(wanted):
            self._ask_for_worker()
        began = time.monotonic()
        while len(self._workers) < wanted:
            self.workers(wait=1.0)
            waited = time.monotonic() - began
            if self._workers and waited > OTHER_WORKERS_SECONDS:
                break
            if waited > FIRST_WORKER_SECONDS:
                raise SettingError(
                    f"no processor of the Ray cluster came free within {FIRST_WORKER_SECONDS:.0f} seconds;"
                    f" it has {processors}"
                )

    def _ask_for_worker(self) -> None:
        actor = self._kind.options(num_cpus=1, max_restarts=0).remote()
        self._coming[actor.about.remote()] = actor

    def workers(self, wait: float = 0.0) -> list[WorkerHandle]:
        """Return the workers that are there, including those that have just come."""
        while self._coming:
            ready, _ = self.ray.wait(list(self._coming), num_returns=1, timeout=wait)
            if not ready:
                break
            actor = self._coming.pop(ready[0])
            about = self._handshake(ready[0])
            if about is None:  # its machine was lost before it could begin
                self._ask_for_worker()
                wait = min(wait, 1.0)
                if not wait:
                    break
                continue
            if about.version != self._version:
                raise SettingError(
                    f"the worker on {about.machine} has other sources of surpass; install the same version everywhere"
                )
            self._workers.append(WorkerHandle(actor, about))
            wait = 0.0
        return self._workers

    def _handshake(self, ready: Any) -> About | None:
        """Return who a worker is that was asked for, or None if it was lost on the way."""
        try:
            about: About = self.ray.get(ready)
        except Exception as error:
            said = str(error)
            if "No module named" in said:
                name = said.partition("No module named ")[2].split("'")[1]
                raise SettingError(
                    f"a worker of the Ray cluster has no {name}; install surpass there as it is here, with its extras"
                ) from None
            if isinstance(error, self.ray.exceptions.RayActorError) and "node" in said.lower():
                return None
            raise SettingError(f"a worker of the Ray cluster cannot begin: {_one_line(said, 500)}") from None
        return about

    def wait_for_worker(self) -> None:
        """Wait until there is a worker."""
        began = time.monotonic()
        while not self.workers():
            if time.monotonic() - began > FIRST_WORKER_SECONDS:
                raise SettingError("all workers of the Ray cluster are gone")
            self.workers(wait=1.0)

    def discard(self, worker: WorkerHandle, *, on_purpose: bool = False) -> None:
        """Do without a worker from here on, and ask for another."""
        if worker in self._workers:
            self._workers.remove(worker)
            if not on_purpose:
                self.lost += 1
                about = worker.about
                _log.warning("the worker %d on %s was lost; others do its work", about.process, about.machine)
            with suppress(Exception):  # it is gone already, as a rule
                self.ray.kill(worker.actor)
            self._ask_for_worker()

    @property
    def count(self) -> int:
        """How many parts to cut a piece of work into: one for each worker."""
        return max(1, len(self.workers()))

    def receive(self, reference: Any) -> Any:
        """Return what a worker answers, or None if it was lost."""
        exceptions = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
            raise SettingError(
                "the object store of the Ray cluster is full: start its nodes with more --object-store-memory, or give"
                f" fewer or smaller instances ({_one_line(str(error), 160)})"
            ) from None
        except (
            exceptions.RayActorError,
            exceptions.ObjectLostError,
            exceptions.WorkerCrashedError,
            exceptions.NodeDiedError,
        ):
            return None

    # What is asked of a runner

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""
        where, waiting, losses = Path.cwd(), deque(jobs), Counter[str]()
        running: dict[Any, tuple[WorkerHandle, Job]] = {}
        try:
            while waiting or running:
                busy = {worker for worker, _ in running.values()}
                for worker in [worker for worker in self.workers() if worker not in busy][: len(waiting)]:
                    if self._sees(worker, where, waiting[0].folder):
                        job = waiting.popleft()
                        running[worker.actor.run_job.remote(job, where)] = worker, job
                if not running:
                    self.wait_for_worker()
                    continue
                if watch:
                    watch(tuple(job for _, job in running.values()))
                for reference in self.ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)[0]:
                    worker, job = running.pop(reference)
                    ended = self.receive(reference)
                    if ended is not None:
                        yield Ended(job, *ended)
                        continue
                    self.discard(worker)
                    losses[job.name] += 1
                    _check_losses(losses[job.name], job.name)
                    waiting.appendleft(job)
        finally:
            for worker, _ in running.values():
                self.discard(worker, on_purpose=True)

    def _sees(self, worker: WorkerHandle, where: Path, folder: Path) -> bool:
        """Return whether a worker is there, once it is known that it sees the folder of the jobs."""
        if worker.sees_files:
            return True
        token, path = new_token(), folder.parent / TOKEN
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(token)
        except OSError as error:
            raise SettingError(f"{folder} cannot be written: {error.strerror}") from None
        try:
            sees = self.receive(worker.actor.sees.remote(where, path, token))
        finally:
            path.unlink(missing_ok=True)
        if sees is None:
            self.discard(worker)
            return False
        if not sees:
            raise SettingError(
                f"the worker on {worker.about.machine} does not see {(where / folder.parent)}: on a cluster, start in a"
                " folder that all of its machines share, and put --out there"
            )
        worker.sees_files = True
        return True

    def replicate(self, make: Make, *arguments: Any) -> RayReplicas:
        """Return replicas of the object that `make` makes of some arguments, one with each worker."""
        return RayReplicas(self, str(next(self._numbers)), write_call(make, arguments))

    def close(self) -> None:
        """Let go of all workers, and of the cluster; one that was started here is ended."""
        for actor in [worker.actor for worker in self._workers] + list(self._coming.values()):
            with suppress(Exception):
                self.ray.kill(actor)
        self._workers, self._coming = [], {}
        if self._has_connected:
            self._has_connected = False
            self.ray.shutdown()


class RayReplicas:
    """Replicas of an object on the workers of a cluster."""

    def __init__(self, runner: RayRunner, name: str, make: bytes) -> None:
        self._runner, self._name = runner, name
        self._setup = [make]
        """How a worker makes its replica: the object, and then every call that was broadcast."""
        self.sent = self.received = 0
        """How many bytes all of them were sent, and have answered with."""
        self.waited = 0.0
        """Seconds spent waiting for answers."""

    def broadcast(self, method: str, *arguments: Any) -> None:
        """Let every replica do something that changes it, before it answers anything else."""
        self._setup.append(write_call(method, arguments))

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order."""
        calls = [write_call(method, part) for part in parts]
        answers: list[Any] = [None] * len(calls)
        todo, losses = deque(range(len(calls))), Counter[int]()
        waiting: dict[Any, tuple[int, WorkerHandle]] = {}
        while todo or waiting:
            given = Counter(worker for _, worker in waiting.values())
            free = [worker for worker in self._runner.workers() for _ in range(CALLS_AT_ONCE - given[worker])]
            for worker, _ in zip(free, range(len(todo)), strict=False):
                at = todo.popleft()
                waiting[self._submit(worker, calls[at])] = at, worker
            if not waiting:
                self._runner.wait_for_worker()
                continue
            began = time.monotonic()
            (reference, *_), _ = self._runner.ray.wait(list(waiting), num_returns=1)
            answer = self._runner.receive(reference)
            self.waited += time.monotonic() - began
            at, worker = waiting.pop(reference)
            if answer is None:
                self._runner.discard(worker)
                losses[at] += 1
                _check_losses(losses[at], f"{at + 1} of {len(calls)}")
                todo.appendleft(at)
                continue
            self.received += len(answer)
            answers[at] = read_answer(answer)
        return answers

    def _submit(self, worker: WorkerHandle, call: bytes) -> Any:
        """Send a call to a worker, with what its replica lacks; a worker does what it is sent in that order."""
        missing = self._setup[worker.delivered.get(self._name, 0) :]
        worker.delivered[self._name] = len(self._setup)
        self.sent += len(call) + sum(map(len, missing))
        return worker.actor.do.remote(self._name, call, missing)

    def close(self) -> None:
        """Let go of them."""
        for worker in self._runner.workers():
            if worker.delivered.pop(self._name, 0):
                with suppress(Exception):
                    worker.actor.forget.remote(self._name)


def _check_losses(losses: int, what: str) -> None:
    """Raise an error about a part of the work that is lost again and again."""
    if losses > MAX_LOSSES:
        raise SettingError(
            f"part {what} of the work was lost {losses} times with its worker; perhaps their memory is not enough"
        )


def _one_line(text: str, most: int) -> str:
    return truncate(" ".join(text.split()), most)
