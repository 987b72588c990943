"""A sweep: every run of a recipe's grid, each in its own folder, ranked by its score on the training sizes.

sweep.json      the recipe
runs/           one folder for each run, named after what is varied and the seed
ranking.json    every finished run, the best first; written again whenever a run ends
agent.*         the network of the best run

A sweep that was killed at any moment resumes when it is started again: finished runs are kept, and the others resume
from their checkpoints. More seeds and more values of the grid can be added to a sweep, nothing else can be changed.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from surpass.bundles import load_bundle, save_bundle, write_atomically
from surpass.errors import SettingError
from surpass.learning.jobs import REFUSED, describe_ending, is_finished, learn_words, score_sizes
from surpass.learning.recipes import Recipe, Variant
from surpass.learning.runs import write_json
from surpass.printing import Printed, show_number, text_table
from surpass.reading import Count, Setting, Share, as_path, read_record, show
from surpass.tasks.task import Task
from surpass.workers.runner import Job, JobRunner

MOST_ROWS = 20
"""How many runs of the ranking are printed; all of them are in ranking.json."""
INSTANCES = 200
"""How many instances of each training size a run is scored on."""


FIXED = {"task": str, "method": str, "teacher": str, "settings": dict[str, Setting]}
"""What all runs of a sweep share."""
FAILURE = {"reason": str, "final": bool}
ROW = {"size": Count, "instances": Count, "solved": Share}
"""What the scores of a run say of each size, beside the mean of what the task is measured by."""


@dataclass(frozen=True)
class Ranked:
    """A finished run and its score on the training sizes."""

    run: str
    """The name of its folder."""
    point: dict[str, Any]
    seed: int
    solved: float
    """The mean share solved."""
    score: float
    """The mean steps, or the mean reward where that is what counts."""


@dataclass(frozen=True)
class FailedRun:
    """A run that ended without a score."""

    run: str
    reason: str
    final: bool
    """Whether it would end in the same way if it were started again."""


@dataclass(frozen=True)
class Point:
    """A point of the grid over its finished seeds."""

    point: dict[str, Any]
    seeds: int
    solved: float
    mean: float
    """The mean score of the seeds."""
    best: float
    """The score of the best of them."""


@dataclass(frozen=True, repr=False)
class Ranking(Printed):
    """The runs of a sweep, the best first."""

    measure: str
    sizes: tuple[int, ...]
    """The training sizes that runs were scored on."""
    instances: int
    total: int
    runs: tuple[Ranked, ...]
    failed: tuple[FailedRun, ...]
    points: tuple[Point, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the ranking as plain data."""
        return {**asdict(self), "best": self.runs[0].run if self.runs else None}

    def show_score(self, score: float) -> str:
        """Return a score as text."""
        return show_number(score, 3 if self.measure == "reward" else 2)

    def __str__(self) -> str:
        measure, parts = f"mean {self.measure}", []
        rows = [
            [str(place), run.run, f"{run.solved:.1%}", self.show_score(run.score)]
            for place, run in enumerate(self.runs[:MOST_ROWS], 1)
        ]
        if rows:
            left, sizes = len(self.runs) - len(rows), ", ".join(map(str, self.sizes))
            note = f"scored on {self.instances} instances each of the training sizes {sizes}"
            note += f"; {left} more runs" if left else ""
            parts.append(text_table("", ["", "run", "solved", measure], rows, note))
        if len(self.points) > 1 and any(point.seeds > 1 for point in self.points):
            points = [
                [
                    *(" ".join(f"{key}={value}" for key, value in point.point.items()), str(point.seeds)),
                    *(f"{point.solved:.1%}", self.show_score(point.mean), self.show_score(point.best)),
                ]
                for point in self.points[:MOST_ROWS]
            ]
            parts.append(text_table("over the seeds", ["setting", "seeds", "solved", measure, "best"], points))
        return "\n".join(parts) + "".join(f"failed: {one.run}: {one.reason}\n" for one in self.failed)


@dataclass(frozen=True)
class SweepState:
    """How far a sweep has come, for those who watch it."""

    ranking: Ranking
    running: tuple[Path, ...]
    """The folders of the runs that are being worked on."""

    def __str__(self) -> str:
        ranking = self.ranking
        text = f"{len(ranking.runs)} of {ranking.total} runs done"
        text += f", {len(ranking.failed)} failed" if ranking.failed else ""
        text += f", {len(self.running)} running"
        if ranking.runs:
            best = ranking.runs[0]
            score = f"{ranking.show_score(best.score)} {ranking.measure}"
            text += f"; best so far: {best.run}: {best.solved:.1%} solved, {score}"
        return text


class Sweep:
    """The runs of a recipe in a folder."""

    def __init__(self, recipe: Recipe, task: Task, folder: Path, *, task_text: str = "") -> None:
        """Plan a sweep; `task_text` is how to name the task on a command line, if not by its name."""
        self.recipe, self.task, self.folder = recipe, task, as_path(folder)
        self.task_text = task_text or task.name
        self.sizes = score_sizes(recipe, task)

    # What to do

    def check(self) -> None:
        """Raise an error unless every point of the grid can be learned; nothing is written."""
        from surpass.learning.methods import new_learner

        recipe, teacher = self.recipe, self.recipe.teacher or None
        for variant in recipe.with_seeds(recipe.seeds[:1]).variants:
            new_learner(self.task, recipe.method, teacher=teacher, seed=variant.seed, settings=variant.settings)

    def run_folder(self, variant: Variant) -> Path:
        """Return the folder of a run."""
        return self.folder / "runs" / variant.name

    def _job(self, variant: Variant) -> Job:
        words = learn_words(variant, self.task_text, self.run_folder(variant), self.sizes, INSTANCES)
        return Job(variant.name, words, self.run_folder(variant))

    # Doing it

    def run(self, runner: JobRunner, watch: Callable[[SweepState], None] | None = None) -> Ranking:
        """Do every run that is not done yet, and return the ranking. `watch` is shown how far it has come."""
        with self._claimed():
            for variant in self.recipe.variants:
                failure = self._failure(variant)
                if failure is not None and not failure.final:  # it was ended from outside, and is tried again
                    (self.run_folder(variant) / "failure.json").unlink()
            ranking = self._rank()
            ended = {run.run for run in ranking.runs} | {failure.run for failure in ranking.failed}
            jobs = [self._job(variant) for variant in self.recipe.variants if variant.name not in ended]

            def report(running: Sequence[Job]) -> None:
                if watch:
                    watch(SweepState(ranking, tuple(job.folder for job in running)))

            with closing(runner.run(jobs, report)) as endings:
                for ending in endings:
                    if ending.code != 0:
                        record = {"reason": describe_ending(ending), "final": ending.code == REFUSED}
                        write_json(ending.job.folder / "failure.json", record)
                    ranking = self._rank()
            return ranking

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Make the folder this sweep's own: no other recipe's, and worked on by no other process."""
        self._refuse_other_sweep()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / ".lock", blocking=False).acquire()
        except Timeout:
            raise SettingError(f"another sweep is working on {self.folder}") from None
        except OSError as error:
            raise SettingError(f"{self.folder} cannot be written: {error.strerror}") from None
        with lock:
            write_json(self.folder / "sweep.json", self.recipe.as_json())
            yield

    def _refuse_other_sweep(self) -> None:
        path = self.folder / "sweep.json"
        if not path.exists():
            if self.folder.is_dir() and any(entry.name != ".lock" for entry in self.folder.iterdir()):
                raise SettingError(f"{self.folder} is not empty and holds no sweep; choose another --out")
            return
        known, wanted = _fixed(read_record(path, FIXED)), _fixed(json.loads(json.dumps(self.recipe.as_json())))
        for key in sorted({*known, *wanted}):
            if known.get(key) != wanted.get(key):
                has, asked = show(known.get(key)), show(wanted.get(key))
                raise SettingError(f"{self.folder} is a sweep with {key} {has}, not {asked}; choose another --out")

    def _rank(self) -> Ranking:
        """Return the ranking, and write it with the best run's agent."""
        ranking = self.ranking()
        write_json(self.folder / "ranking.json", ranking.as_json())
        if ranking.runs:
            best = self.folder / "runs" / ranking.runs[0].run / "agent"
            tensors, record = load_bundle(best)
            program = best.with_suffix(".rules")
            if program.exists():
                write_atomically(self.folder / program.name, program.read_bytes())
            save_bundle(self.folder / "agent", tensors or None, record)
        return ranking

    # What came out

    def ranking(self) -> Ranking:
        """Return the finished runs, those that solve most first and of these the shortest; failed ones beside them."""
        variants = self.recipe.variants
        scored = [ranked for variant in variants if (ranked := self._ranked(variant)) is not None]
        done = {ranked.run for ranked in scored}
        failed = [f for v in variants if v.name not in done and (f := self._failure(v)) is not None]
        return Ranking(
            measure=self.task.measure,
            sizes=self.sizes,
            instances=INSTANCES,
            total=len(variants),
            runs=tuple(sorted(scored, key=self._order)),
            failed=tuple(failed),
            points=tuple(self._points(scored)),
        )

    def _order(self, ranked: Ranked) -> tuple[float, float]:
        return -ranked.solved, -ranked.score if self.task.measure == "reward" else ranked.score

    def _points(self, scored: Sequence[Ranked]) -> list[Point]:
        """Return the points of the grid that have finished runs, the one with the best run first."""
        by_point: dict[str, list[Ranked]] = {}
        for ranked in sorted(scored, key=self._order):
            by_point.setdefault(json.dumps(ranked.point), []).append(ranked)
        return [
            Point(
                point=runs[0].point,
                seeds=len(runs),
                solved=statistics.mean(run.solved for run in runs),
                mean=statistics.mean(run.score for run in runs),
                best=runs[0].score,
            )
            for runs in by_point.values()
        ]

    def _ranked(self, variant: Variant) -> Ranked | None:
        """Return the score of a run, or None unless it has ended and was scored on the training sizes."""
        folder = self.run_folder(variant)
        if not is_finished(folder):
            return None
        name = "mean_reward" if self.task.measure == "reward" else "mean_steps"
        rows = read_record(folder / "scores.json", {"rows": [{**ROW, name: float}]})["rows"]
        if [(row["size"], row["instances"]) for row in rows] != [(size, INSTANCES) for size in self.sizes]:
            return None
        solved, score = (statistics.mean(row[key] for row in rows) for key in ("solved", name))
        return Ranked(variant.name, dict(variant.point), variant.seed, solved, score)

    def _failure(self, variant: Variant) -> FailedRun | None:
        path = self.run_folder(variant) / "failure.json"
        if not path.exists():
            return None
        record = read_record(path, FAILURE)
        return FailedRun(variant.name, record["reason"], record["final"])


def _fixed(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what all runs of a sweep share, by name."""
    return {**{key: recipe[key] for key in ("task", "method", "teacher")}, **recipe["settings"]}
