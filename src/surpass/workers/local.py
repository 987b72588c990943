"""The runner of this machine: a process for each job, and threads for actors, whose loops are compiled."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from surpass.engine.run import core_count
from surpass.reading import THREADS, check_range
from surpass.workers.processes import last_line, start_job
from surpass.workers.runner import Actors, Ended, Job, Make, Watch

LOOK_EVERY = 0.1
"""Seconds between two looks at the processes."""


class LocalRunner:
    """Runs jobs as processes of this machine, each on one core, and actors as threads of this process."""

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
                    time.sleep(LOOK_EVERY)
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.wait()

    def gather(self, make: Make, arguments: Sequence[tuple[Any, ...]]) -> Actors:
        """Return actors, one for each of some arguments of `make`."""
        return LocalActors([make(*words) for words in arguments], self.processes)

    def close(self) -> None:
        """Do nothing: jobs end with the generator that runs them."""


class LocalActors:
    """Actors in this process."""

    def __init__(self, actors: Sequence[Any], threads: int) -> None:
        self._actors, self._threads = actors, min(threads, len(actors))

    def tell(self, method: str, *arguments: Any) -> list[Any]:
        """Let every actor do something that may change it, and return what each answers, in their order."""
        return self._share_out(method, [(actor, arguments) for actor in self._actors])

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order."""
        if len(self._actors) == 1:
            return [getattr(self._actors[0], method)(*part) for part in parts]
        first = len(self._actors)
        return [
            answer
            for at in range(0, len(parts), first)
            for answer in self._share_out(method, list(zip(self._actors, parts[at : at + first], strict=False)))
        ]

    def _share_out(self, method: str, calls: Sequence[tuple[Any, tuple[Any, ...]]]) -> list[Any]:
        if self._threads == 1:
            return [getattr(actor, method)(*arguments) for actor, arguments in calls]
        executor = ThreadPoolExecutor(self._threads)
        try:
            return list(executor.map(lambda call: getattr(call[0], method)(*call[1]), calls))
        finally:
            # After Ctrl-C nothing is waited for: what has begun comes to its end by itself.
            executor.shutdown(wait=False, cancel_futures=True)

    def save(self) -> list[Any]:
        """Return the state of each actor."""
        return [actor.save() for actor in self._actors]

    def load(self, states: Sequence[Any]) -> None:
        """Set each actor to a state."""
        for actor, state in zip(self._actors, states, strict=True):
            actor.load(state)

    def close(self) -> None:
        """Do nothing: they go with the last that knows them."""
