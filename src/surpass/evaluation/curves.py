"""The paper's training curves (appendix): mean and best over seeds.

A file of curves is CSV: the steps taken so far, and for each setting and seed the mean episode length of the greedy
policy on fresh instances of the largest training size. An episode that is not solved counts with its limit.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents.teachers import find_teacher
from surpass.arrays import Reals
from surpass.bundles import write_atomically
from surpass.errors import DataFileError
from surpass.evaluation.scores import evaluate
from surpass.evaluation.statistics import mean_of
from surpass.learning.jobs import score_sizes
from surpass.learning.recipes import find_recipe
from surpass.learning.sweeps import Sweep, SweepState
from surpass.reading import read_bytes
from surpass.tasks.registry import find_task
from surpass.workers.runner import JobRunner

EXPERIMENTS = {
    "learning-rate": "The learning rate",
    "shaping": "Shaping reward against sparse reward",
    "unroll": "The unroll length",
}
"""The experiments, each with the recipe `curves-NAME`, and their titles."""
Band = tuple[Reals, Reals, Reals]
"""A line and the lower and upper end of its 95 % interval, each [m]."""
X, Y = "steps", "mean_steps"
"""The columns of a run's curves that are drawn."""
CHANCE = 0.025
"""What lies beyond each end of a 95 % interval."""


@dataclass(frozen=True)
class Curve:
    """The runs of one setting."""

    setting: str
    steps: Reals
    """[m]"""
    values: Reals
    """[m, seeds]; NaN where a run has no value."""


@dataclass(frozen=True)
class Curves:
    """The curves of one experiment."""

    name: str
    curves: tuple[Curve, ...]

    def summary(self) -> list[dict[str, Any]]:
        """Return for each setting the mean of the seeds at the end with its interval, and the best at any time."""
        entries = []
        for curve in self.curves:
            line, lower, upper = mean_with_band(curve)
            entries.append(
                {
                    "setting": curve.setting,
                    "seeds": curve.values.shape[1],
                    "mean": float(line[-1]),
                    "mean_low": float(lower[-1]),
                    "mean_high": float(upper[-1]),
                    "best": float(np.nanmin(curve.values)),
                }
            )
        return entries


def mean_with_band(curve: Curve) -> Band:
    """Return the mean over the seeds, with Student's 95 % interval."""
    means = [mean_of(row[np.isfinite(row)]) for row in curve.values]
    line = np.array([mean.mean for mean in means])
    half = np.array([mean.ci95 if math.isfinite(mean.ci95) else 0.0 for mean in means])
    return line, line - half, line + half


def best_with_band(curve: Curve) -> Band:
    """Return the best of the seeds, with the 95 % interval of the best of as many seeds drawn again from these.

    The best of m drawn with replacement is worse than the k-th best of them with probability ((m - k) / m)^m, so the
    interval goes from the best to the first k for which that is at most 2.5 %: the third of five.
    """
    line, upper = [], []
    for row in curve.values:
        ordered = np.sort(row[np.isfinite(row)])
        count = len(ordered)
        k = next(k for k in range(1, count + 1) if ((count - k) / count) ** count <= CHANCE)
        line.append(ordered[0])
        upper.append(ordered[k - 1])
    return np.array(line), np.array(line), np.array(upper)


# Files


def shipped_curves(name: str) -> Curves:
    """Return the curves of an experiment that ship with surpass."""
    path = Path(str(files("surpass.zoo"))) / "curves" / f"{name}.csv"
    return read_curves(path)


def read_curves(path: Path) -> Curves:
    """Return the curves of a file."""
    content = read_bytes(path, DataFileError)
    try:
        rows = list(csv.reader(io.StringIO(content.decode())))
        header, table = rows[0], np.array([[float(cell or "nan") for cell in row] for row in rows[1:]])
        if header[0] != X or table.shape != (len(table), len(header)) or not len(table):
            raise ValueError
    except (IndexError, ValueError, csv.Error):
        raise DataFileError(
            f"{path} is not a file of curves: a column {X}, and one for each setting and seed"
        ) from None
    settings: dict[str, list[int]] = {}
    for column, label in enumerate(header[1:], 1):
        settings.setdefault(label.rpartition(" seed=")[0], []).append(column)
    curves = []
    for setting, columns in settings.items():
        there = np.isfinite(table[:, columns]).any(axis=1)
        curves.append(Curve(setting, table[there, 0], table[there][:, columns]))
    return Curves(path.stem, tuple(curves))


def read_rounds(path: Path) -> tuple[dict[str, float], ...]:
    """Return what each round of a run showed, from its `curves.csv`; what a round does not have is left out."""
    if not path.exists():
        return ()
    try:
        rows = list(csv.DictReader(io.StringIO(read_bytes(path, DataFileError).decode()), strict=True))
        return tuple({name: float(text) for name, text in row.items() if text} for row in rows)
    except (AttributeError, TypeError, ValueError, csv.Error):
        raise DataFileError(f"{path} is not a file of a run's curves, or it is cut off") from None


def gather_curves(sweep: Sweep) -> dict[str, dict[int, float]]:
    """Return the points of each run of a sweep by the name of its column; a run that failed has those before it did."""
    found = {}
    for variant in sweep.recipe.variants:
        rounds = read_rounds(sweep.run_folder(variant) / "curves.csv")
        if rounds:
            points = {int(row[X]): row[Y] for row in rounds if X in row and Y in row}
            found[f"{variant.label} seed={variant.seed}"] = points
    return found


def write_curves(path: Path, columns: Mapping[str, Mapping[int, float]]) -> None:
    """Write the points of runs, given by the names of their columns, as a file of curves."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([X, *columns])
    for step in sorted({step for points in columns.values() for step in points}):
        writer.writerow([step, *(f"{points[step]:.6g}" if step in points else "" for points in columns.values())])
    write_atomically(path, text.getvalue().encode())


def teacher_level(name: str) -> tuple[str, float]:
    """Return the teacher of an experiment, and its mean episode length where the curves are measured."""
    recipe = find_recipe(f"curves-{name}")
    teacher = find_teacher(recipe.teacher, find_task(recipe.task))
    size = score_sizes(recipe, teacher.task)[-1]
    return recipe.teacher, evaluate(teacher, sizes=[size], instances=1000).rows[0].mean_steps


def train_curves(
    name: str, folder: Path, runner: JobRunner, watch: Callable[[SweepState], None] | None = None
) -> Curves:
    """Do the runs of an experiment by a sweep, and return their curves, which are also written as CSV."""
    recipe = find_recipe(f"curves-{name}")
    sweep = Sweep(recipe, find_task(recipe.task), folder / "curves" / name)
    sweep.run(runner, watch)
    path = folder / f"{name}.csv"
    write_curves(path, gather_curves(sweep))
    return read_curves(path)
