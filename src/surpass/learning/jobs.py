"""Runs as jobs: the command that does a run, and agents of the zoo trained again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from surpass.errors import RecipeError
from surpass.learning.curriculum import read_ranges
from surpass.learning.recipes import Recipe, Variant, find_recipe, setting_text
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task
from surpass.workers.runner import Ended, Job, JobRunner

REFUSED = 2
"""The exit code of a run that surpass itself ended: started again it would end in the same way."""


def learn_words(
    variant: Variant, task_text: str, folder: Path, sizes: Sequence[int], instances: int = 0
) -> tuple[str, ...]:
    """Return the command that begins or resumes a run."""
    recipe = variant.recipe
    words = ["learn", task_text, "--method", recipe.method, "--seed", str(variant.seed), "--out", str(folder)]
    words += ["--teacher", recipe.teacher] if recipe.teacher else []
    for key, text in variant.settings.items():
        words += ["--set", f"{key}={text}"]
    words += ["--sizes", setting_text(sizes)]
    words += ["--instances", str(instances)] if instances else []
    return (*words, "--resume", "--no-report")


def score_sizes(recipe: Recipe, task: Task) -> tuple[int, ...]:
    """Return the sizes that runs are scored on: the smallest, middle and largest of those to learn on."""
    sizes = recipe.settings.get("sizes")
    low, high = read_ranges(sizes, task.training_sizes)[-1] if isinstance(sizes, str) else task.training_sizes
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


class Retrained(NamedTuple):
    """What came of training agents again, by their names."""

    folders: dict[str, str]
    """The folder of each that was trained."""
    failures: dict[str, str]
    """Why each of the others was not."""


def retrain(
    names: Iterable[str], folder: Path, runner: JobRunner, watch: Callable[[int, int], None] | None = None
) -> Retrained:
    """Train agents named `zoo:TASK/NAME` again below a folder, and return where they are.

    One that is trained already is kept, and one that was interrupted resumes. `watch(ended, count)` is
    called with how many have ended.
    """
    jobs: dict[str, Job] = {}
    failures: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            jobs[name] = _job(name, folder)
        except RecipeError as error:
            failures[name] = str(error)
    waiting = [job for job in jobs.values() if not is_finished(job.folder)]
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
