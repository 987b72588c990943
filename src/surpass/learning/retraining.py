"""Agents of the zoo, trained again from their recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from surpass.learning.recipes import find_recipe
from surpass.learning.runners import Job, Runner
from surpass.learning.sweeps import describe_ending, is_finished, learn_words, score_sizes
from surpass.tasks.registry import find_task

__all__ = ["Retrained", "retrain"]


@dataclass(frozen=True)
class Retrained:
    """What came of training agents again, by their names."""

    folders: dict[str, str]
    """The folder of each that was trained."""
    failures: dict[str, str]
    """Why each of the others was not."""


def retrain(
    names: Iterable[str], folder: Path, runner: Runner, watch: Callable[[int, int], None] | None = None
) -> Retrained:
    """Train agents named `zoo:TASK/NAME` again below a folder, and return where they are.

    One that is trained already is kept, and one that was broken off goes on. `watch(ended, count)` is told how far
    it has come.
    """
    jobs = {name: _job(name, folder) for name in dict.fromkeys(names)}
    waiting = [job for job in jobs.values() if not is_finished(job.folder)]
    failures: dict[str, str] = {}
    ended = len(jobs) - len(waiting)

    def tell(_: Sequence[Job]) -> None:
        if watch:
            watch(ended, len(jobs))

    with closing(runner.run(waiting, tell)) as endings:
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
