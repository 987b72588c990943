"""The runner of this machine: a process for each job."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from surpass.engine.run import core_count
from surpass.reading import THREADS, check_range
from surpass.workers.processes import last_line, start_job
from surpass.workers.runner import Ended, Job, Make, Watch

POLL_SECONDS = 0.1
"""Seconds between two looks at the processes."""


class LocalRunner:
    """Runs jobs as processes of this machine, each on one core."""

    is_local = True
    count = 1
    """What is cut into parts for the workers of a cluster is done here in one part, by the threads of its own loops."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = core_count() if processes is None else processes
        check_range("processes", self.processes, THREADS)

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

    def close(self) -> None:
        """Do nothing: jobs end with the generator that runs them."""


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

    def close(self) -> None:
        """Do nothing: it is gone with the last that knows it."""
