"""Who works through the jobs of a sweep: the cores of this machine, or in time a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from surpass.errors import SettingError

__all__ = ["Ended", "Job", "LocalRunner", "Runner", "Watch"]

LOOK_EVERY = 0.1
"""Seconds between two looks at the processes."""
LOG = "log.txt"
"""The file in a job's folder that gets what the job prints."""


@dataclass(frozen=True)
class Job:
    """A command of surpass to run, and the folder that it leaves its work in.

    A job that is started again goes on from what it finds in its folder.
    """

    name: str
    words: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    job: Job
    code: int
    """0 if all went well, 2 if surpass refused, else what the system says of a process that failed."""
    message: str
    """The last line that it printed."""


Watch = Callable[[Sequence[Job]], None]
"""Is told again and again which jobs are running."""


class Runner(Protocol):
    """Something that can work through jobs."""

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""


class LocalRunner:
    """Runs jobs as processes of this machine, each on one core."""

    def __init__(self, processes: int) -> None:
        if processes < 1:
            raise SettingError(f"processes is {processes}; it must be 1 or more")
        self.processes = processes

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""
        waiting = deque(jobs)
        running: dict[subprocess.Popen[bytes], Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.processes:
                    job = waiting.popleft()
                    running[_start(job)] = job
                if watch:
                    watch(tuple(running.values()))
                ended = [process for process in running if process.poll() is not None]
                for process in ended:
                    job = running.pop(process)
                    yield Ended(job, process.returncode, _last_line(job.folder / LOG))
                if not ended:
                    time.sleep(LOOK_EVERY)
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.wait()


def _start(job: Job) -> subprocess.Popen[bytes]:
    """Start a job. It ends when its standard input is closed, which happens even if this process is killed."""
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        with (job.folder / LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "surpass.cli.job", *job.words],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"},
                # An interrupt from the keyboard goes to this process alone, which then ends its jobs.
                start_new_session=True,
            )
    except OSError as error:
        raise SettingError(f"{job.folder} cannot be written: {error.strerror}") from None


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1].removeprefix("surpass: ") if lines else ""
