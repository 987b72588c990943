"""The runner of this machine: a process for each job."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from surpass.engine.cache import source_version
from surpass.engine.run import core_count
from surpass.errors import SettingError
from surpass.reading import THREADS, check_range
from surpass.workers.processes import last_line, read_message, start_job, start_replica, write_message
from surpass.workers.runner import Ended, Job, Make, Replicas, Watch
from surpass.workers.worker import read_answer, write_call

POLL_SECONDS = 0.1
"""Seconds between two looks at the processes."""
MAX_LOSSES = 3
"""How often a part of the work may be lost with its process: it may be what ends it."""


class LocalRunner:
    """Runs jobs as processes of this machine, each on one core."""

    is_local = True
    count = 1
    """What is cut into parts for the workers of a cluster is done here in one part, by the threads of its own loops."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = core_count() if processes is None else processes
        check_range("processes", self.processes, THREADS)
        self._replicas: list[ProcessReplicas] = []

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""
        waiting = deque(jobs)
        running: dict[subprocess.Popen[bytes], Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.processes:
                    job = waiting.popleft()
                    running[start_job(job)] = job
                if watch:
                    watch(tuple(running.values()))
                ended = [process for process in running if process.poll() is not None]
                for process in ended:
                    job = running.pop(process)
                    yield Ended(job, process.returncode, last_line(job.folder))
                if not ended:
                    time.sleep(POLL_SECONDS)
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.wait()

    def replicate(self, make: Make, *arguments: Any) -> LocalReplica:
        """Return the object that `make` makes of some arguments, as its only replica."""
        return LocalReplica(make(*arguments))

    def replicate_apart(self, make: Make, *arguments: Any) -> Replicas:
        """Return replicas with processes of their own, or the object itself if there is one core only."""
        if self.processes == 1:
            return self.replicate(make, *arguments)
        self._replicas.append(ProcessReplicas(self.processes, make, arguments))
        return self._replicas[-1]

    def close(self) -> None:
        """End the processes of replicas; jobs end with the generator that runs them."""
        while self._replicas:
            self._replicas.pop().close()


class LocalReplica:
    """An object in this process as the only replica of itself."""

    def __init__(self, replica: Any) -> None:
        self._replica = replica

    def broadcast(self, method: str, *arguments: Any) -> None:
        """Let it do something that changes it."""
        getattr(self._replica, method)(*arguments)

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return its answer to each of some parts, given as arguments, in their order."""
        return [getattr(self._replica, method)(*part) for part in parts]

    def submit(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Return the function that finds its answer."""
        return partial(getattr(self._replica, method), *arguments)

    def close(self) -> None:
        """Do nothing: it is gone with the last that knows it."""


class ProcessReplicas:
    """Replicas of an object with processes of this machine; each is asked by a thread of its own."""

    def __init__(self, count: int, make: Make, arguments: tuple[Any, ...]) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()
        self._starting, self._is_closed = threading.Lock(), False
        self._processes: list[subprocess.Popen[bytes]] = []
        self._setup = [write_call(make, arguments)]

    def broadcast(self, method: str, *arguments: Any) -> None:
        """Let every replica do something that changes it, before it answers anything else."""
        self._setup.append(write_call(method, arguments))

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order."""
        return [wait() for wait in [self.submit(method, *part) for part in parts]]

    def submit(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Have one replica answer, and return the function that waits for its answer."""
        future = self._threads.submit(self._call, len(self._setup), write_call(method, arguments))

        def wait() -> Any:
            while True:
                # An interrupt is seen between two waits.
                with suppress(TimeoutError):
                    return read_answer(future.result(POLL_SECONDS))

        return wait

    def _call(self, setup: int, call: bytes) -> bytes:
        """Send a call to the process of this thread, and return the answer; one that was lost is made again."""
        for _ in range(MAX_LOSSES):
            if getattr(self._own, "process", None) is None:
                self._start()
            try:
                sent = self._setup[self._own.done : setup]
                write_message(self._own.process.stdin, source_version().encode(), *sent, call)
                answer = read_message(self._own.process.stdout)
            except (OSError, EOFError):
                self._own.process = None
                continue
            self._own.done = setup
            return answer[0]
        raise SettingError("a part of the work was lost with its process; perhaps the memory is not enough")

    def _start(self) -> None:
        """Start the process of this thread, in place."""
        with self._starting:
            if self._is_closed:
                raise SettingError("the processes of this work have been ended")
            self._own.process, self._own.done = start_replica(), 0
            self._processes.append(self._own.process)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        with self._starting:
            self._is_closed = True
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.wait()
