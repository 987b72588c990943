"""What can be asked of a runner, wherever it works."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from surpass.errors import SettingError
from surpass.reading import show


@dataclass(frozen=True)
class Job:
    """A command of surpass to run, and the folder that it leaves its work in.

    A job that is started again continues from what is in its folder.
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


class JobRunner(Protocol):
    """Something that can work through jobs."""

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""


class Replicas(Protocol):
    """Copies of one object, which live with workers and answer questions; one that is lost is made again."""

    def broadcast(self, method: str, *arguments: Any) -> None:
        """Let every replica do something that changes it, before it answers anything else."""

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order.

        Any replica may be asked any part: answering changes none of them.
        """

    def submit(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Have one replica answer, beside other work, and return the function that waits for its answer."""

    def close(self) -> None:
        """Let go of them."""


Make = Callable[..., Any]
"""A class or function at the top of a module, which makes an object to replicate."""


class Runner(JobRunner, Protocol):
    """Workers that run jobs, and hold replicas."""

    @property
    def is_local(self) -> bool:
        """Whether it is this process that works."""

    @property
    def count(self) -> int:
        """How many parts to cut a piece of work into, so that all workers have something to do."""

    def replicate(self, make: Make, *arguments: Any) -> Replicas:
        """Return replicas of the object that `make` makes of some arguments, one with each worker."""

    def replicate_apart(self, make: Make, *arguments: Any) -> Replicas:
        """Return replicas that work side by side, each on one core: on this machine with processes of their own."""

    def close(self) -> None:
        """Let go of everything that was begun."""


@contextmanager
def open_runner(on: str | Runner = "local", processes: int | None = None) -> Iterator[Runner]:
    """Give the runner that a text names for the length of a block: `local`, `ray` or `ray=ADDRESS`.

    `processes` is how many jobs run side by side; by default as many as there are processors. A runner that was opened
    before is given as it is.
    """
    if not isinstance(on, str):
        yield on
        return
    kind, equals, address = on.partition("=")
    runner: Runner
    if kind == "local" and not equals:
        from surpass.workers.local import LocalRunner

        runner = LocalRunner(processes)
    elif kind == "ray" and (address or not equals):
        from surpass.workers.cluster import RayRunner

        runner = RayRunner(address, processes)
    else:
        raise SettingError(f"on is {show(on)}; it must be local, ray, or ray=ADDRESS")
    try:
        yield runner
    finally:
        runner.close()
