"""The paper's training curves as figures: mean and best over the seeds side by side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surpass.bundles import write_atomically
from surpass.errors import SettingError
from surpass.evaluation.curves import EXPERIMENTS, Curves, best_with_band, mean_with_band, teacher_level
from surpass.printing import Printed, show_number, text_table
from surpass.reading import as_path
from surpass.visualize.charts import Chart, ChartLine, render_charts

SUMMARY = ["setting", "seeds", "mean at the end", "95 %", "best at any time"]


@dataclass(frozen=True, repr=False)
class Figure(Printed):
    """The drawn curves of an experiment."""

    curves: Curves
    teacher: tuple[str, float]
    """The teacher, and its mean episode length."""
    paths: tuple[Path, ...]

    @property
    def title(self) -> str:
        """What the experiment varies."""
        return EXPERIMENTS.get(self.curves.name, self.curves.name)

    def as_json(self) -> dict[str, Any]:
        """Return what the figure shows as plain data."""
        return {
            "name": self.curves.name,
            "title": self.title,
            "teacher": {"agent": self.teacher[0], "mean_steps": self.teacher[1]},
            "settings": self.curves.summary(),
            "files": [str(path) for path in self.paths],
        }

    def __str__(self) -> str:
        note = f"{self.teacher[0]}: {self.teacher[1]:.1f}; drawn in {' and '.join(map(str, self.paths))}"
        return text_table(f"{self.title}: mean episode length", SUMMARY, self._rows(), note)

    def as_markdown(self, folder: Path) -> str:
        """Return the figure and its numbers as Markdown for a page in a folder."""
        rows = [SUMMARY, ["---", *["---:"] * (len(SUMMARY) - 1)], *self._rows()]
        rows.append([self.teacher[0], "", f"{self.teacher[1]:.1f}", "", ""])
        lines = [f"## {self.title}: mean episode length", ""]
        lines += [f"![{self.title}]({os.path.relpath(self.paths[0], folder)})", ""]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])

    def _rows(self) -> list[list[str]]:
        rows = []
        for entry in self.curves.summary():
            mean, low, high, best = (show_number(entry[name]) for name in ("mean", "mean_low", "mean_high", "best"))
            rows.append([str(entry["setting"]), str(entry["seeds"]), mean, f"{low} to {high}", best])
        return rows


def make_figure(curves: Curves, folder: Path) -> Figure:
    """Draw mean and best of the seeds side by side, beside the level of their teacher, as PNG and SVG in a folder."""
    try:
        as_path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"{folder} cannot be written: {error.strerror}") from None
    teacher, level = teacher_level(curves.name)
    charts = []
    for title, band in (("mean of the seeds", mean_with_band), ("best of the seeds", best_with_band)):
        lines = [ChartLine(curve.setting.replace("_", " "), curve.steps, *band(curve)) for curve in curves.curves]
        ends = np.array([min(line.x.min() for line in lines), max(line.x.max() for line in lines)])
        lines.append(ChartLine(teacher.replace("_", " "), ends, np.full(2, level), role="teacher"))
        charts.append(Chart(title, "million steps", "mean episode length", tuple(lines), x_unit=1e6))
    paths = (folder / f"{curves.name}.png", folder / f"{curves.name}.svg")
    figure = Figure(curves, (teacher, level), paths)
    for path in paths:
        write_atomically(path, render_charts(path.suffix[1:], charts, title=figure.title, shared=True))
    return figure
