"""Runs as jobs: the command that does a run, who works through many of them, and agents of the zoo trained again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from surpass.errors import RecipeError, SettingError
from surpass.learning.recipes import Recipe, Variant, find_recipe, setting_text
from surpass.reading import THREADS, check_range, conform
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task

LOOK_EVERY = 0.1
"""Seconds between two looks at the processes."""
LOG = "log.txt"
"""The file in a job's folder that gets what the job prints."""
REFUSED = 2
"""The exit code of a run that surpass itself ended: started again it would end in the same way."""


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
"""Is called again and again with the jobs that are running."""


class Runner(Protocol):
    """Something that can work through jobs."""

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""


class LocalRunner:
    """Runs jobs as processes of this machine, each on one core."""

    def __init__(self, processes: int) -> None:
        check_range("processes", processes, THREADS)
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


# A run as a job


def learn_words(
    variant: Variant, task_text: str, folder: Path, sizes: Sequence[int] = (), instances: int = 0
) -> tuple[str, ...]:
    """Return the command that does a run, or goes on with it."""
    recipe = variant.recipe
    words = [
        "learn",
        task_text,
        "--method",
        recipe.method,
        "--seed",
        str(variant.seed),
        "--out",
        str(folder),
        "--resume",
        "--no-report",
    ]
    if recipe.teacher:
        words += ["--teacher", recipe.teacher]
    for key, text in variant.settings.items():
        words += ["--set", f"{key}={text}"]
    if sizes:
        words += ["--sizes", setting_text(sizes)]
    if instances:
        words += ["--instances", str(instances)]
    return tuple(words)


def score_sizes(recipe: Recipe, task: Task) -> tuple[int, ...]:
    """Return the sizes that runs are scored on: the smallest, middle and largest of those to learn on."""
    low, high = (
        conform(int, recipe.settings.get(name) or size, f"recipe {recipe.name}: {name}", RecipeError)
        for name, size in zip(("smallest", "largest"), task.training_sizes, strict=True)
    )
    return tuple(sorted({low, (low + high) // 2, high}))


def is_finished(folder: Path) -> bool:
    """Return whether a run has ended and was scored; the scores are written last."""
    return (folder / "agent.json").exists() and (folder / "scores.json").exists()


def describe_ending(ending: Ended) -> str:
    """Return why a job failed: in its own words if surpass refused, else how it ended and what it said last."""
    if ending.code == REFUSED and ending.message:
        return ending.message
    how = f"ended by signal {-ending.code}" if ending.code < 0 else f"ended with code {ending.code}"
    return f"{how}: {ending.message}" if ending.message else how


# Agents of the zoo, trained again from their recipes


class Retrained(NamedTuple):
    """What came of training agents again, by their names."""

    folders: dict[str, str]
    """The folder of each that was trained."""
    failures: dict[str, str]
    """Why each of the others was not."""


def retrain(
    names: Iterable[str], folder: Path, runner: Runner, watch: Callable[[int, int], None] | None = None
) -> Retrained:
    """Train agents named `zoo:TASK/NAME` again below a folder, and return where they are.

    One that is trained already is kept, and one that was broken off goes on. `watch(ended, count)` is
    called with how many have ended.
    """
    jobs = {name: _job(name, folder) for name in dict.fromkeys(names)}
    waiting = [job for job in jobs.values() if not is_finished(job.folder)]
    failures: dict[str, str] = {}
    ended = len(jobs) - len(waiting)

    def report(_: Sequence[Job]) -> None:
        if watch:
            watch(ended, len(jobs))

    with closing(runner.run(waiting, report)) as endings:
        for ending in endings:
            ended += 1
            if ending.code != 0:
                failures[ending.job.name] = describe_ending(ending)
    folders = {name: str(job.folder) for name, job in jobs.items() if name not in failures}
    return Retrained(folders, failures)


def _job(name: str, folder: Path) -> Job:
    recipe = find_recipe(name)
    task, own = find_task(recipe.task), folder / name.removeprefix("zoo:").replace("/", "-")
    return Job(name, learn_words(recipe.variants[0], task.name, own, score_sizes(recipe, task)), own)
