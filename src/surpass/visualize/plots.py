"""Plots of one's own runs while they learn, and of any agents' steps against the size."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents import AgentLike, TaskLike
from surpass.bundles import write_atomically
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SettingError, UnknownNameError
from surpass.evaluation.growth import Contender, compare_by_size
from surpass.printing import Printed, Progress, show_number, text_table
from surpass.reading import COUNT, check_range
from surpass.visualize.charts import MOST_LINES, Chart, drawing_kind, render_charts
from surpass.visualize.growth_charts import growth_chart, how_counted, ratio_chart
from surpass.visualize.learning_charts import learning_charts
from surpass.visualize.subjects import SettingHistories, Subject, find_subject

BY = ("learning", "size")
"""What a plot can be over: the rounds of learning, or the size of the instances."""


@dataclass(frozen=True, repr=False, eq=False)
class Plot(Printed):
    """Charts side by side, and where their numbers come from."""

    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write the plot to a file whose ending says what it is: .png, .svg or .pdf."""
        write_atomically(Path(path), self._render(drawing_kind(Path(path))))

    def _render(self, kind: str) -> bytes:
        return render_charts(kind, self.charts, title=self.title, note=" ".join(self.notes))

    def as_json(self) -> dict[str, Any]:
        """Return what is drawn as plain data: each chart with its lines, point by point."""
        charts = [
            {
                "title": chart.title,
                "x": chart.x_label,
                "y": chart.y_label,
                "lines": [one.as_json() for one in chart.lines],
            }
            for chart in self.charts
        ]
        return {"title": self.title, "charts": charts, "notes": list(self.notes)}

    def __str__(self) -> str:
        parts = []
        for chart in self.charts:
            rows = [
                [line.label, str(len(line.y)), *(show_number(float(line.y[k]), 3) for k in (0, -1))]
                for line in chart.lines
            ]
            columns = [chart.y_label, "points", "first", "last"]
            parts.append(text_table(f"{self.title}: {chart.title}", columns, rows))
        return "\n".join(parts) + "".join(f"  {note}\n" for note in self.notes)

    def _repr_html_(self) -> str:
        image = base64.b64encode(self._render("svg"))
        return f'<img alt="a plot" src="data:image/svg+xml;base64,{image.decode()}">'


def plot(
    *what: AgentLike | Any,
    by: str | None = None,
    columns: Sequence[str] = (),
    sizes: Sequence[int] | None = None,
    instances: int | None = None,
    seed: int = 0,
    task: TaskLike | None = None,
    progress: Progress | None = None,
) -> Plot:
    """Return a plot of runs, sweeps and agents of one task; `write` puts it into a file.

    `by="learning"` draws what runs measured round by round, a sweep as mean and 95 % interval over its seeds, with the
    level of the teacher and of any agent that has no curves; `columns` of `curves.csv` choose what. `by="size"` draws
    steps (or reward) against the size of the instances for any agents, with the paper's where it has them; `sizes`,
    `instances` and `seed` choose on what. If not given, it is by learning where there is something that learned.
    """
    if not what:
        raise SettingError("nothing to plot is given; name runs, sweeps or agents")
    if by is not None and by not in BY:
        raise UnknownNameError("kind of plot", by, BY)
    if instances is not None:
        check_range("the number of instances", instances, COUNT)
    subjects = [find_subject(one, task, all_runs=True) for one in what]
    for one in subjects:
        if one.history is not None and not one.history.rows:
            raise SettingError(f"the run {one.name} has not ended a round yet: there is nothing to plot")
    names = list(dict.fromkeys(one.task.name for one in subjects))
    if len(names) > 1:
        raise SettingError(f"these are of several tasks ({', '.join(names)}); a plot shows one")
    if by == "learning" and not any(one.curves for one in subjects):
        raise SettingError(f"{subjects[0].name} has no curves to plot: only runs and sweeps have; by size it can be")
    if by == "size" or not any(one.curves for one in subjects):
        if columns:
            raise SettingError("columns are those of a run's curves: they do not go with a plot by size")
        return _plot_by_size(subjects, tuple(sizes or ()), instances, seed, progress)
    return _plot_learning(subjects, columns, progress)


# By learning


def _plot_learning(subjects: Sequence[Subject], columns: Sequence[str], progress: Progress | None) -> Plot:
    settings, notes = _all_settings(subjects)
    histories = [run for one in settings for run in one.runs]
    task = histories[0].task
    agents = [_agent_of(one) for one in subjects if not one.curves]
    charts = learning_charts(settings, agents, columns=columns, progress=progress)
    if any(len(one.runs) > 1 for one in settings):
        notes.append("Shaded: the 95 % interval of the mean over the seeds.")
    return Plot(f"Learning {task.name}", tuple(charts), tuple(notes))


def _all_settings(subjects: Sequence[Subject]) -> tuple[list[SettingHistories], list[str]]:
    """Return the lines to draw with labels that tell them apart, and what had to be left out."""
    settings: list[SettingHistories] = []
    several = sum(bool(one.curves) for one in subjects) > 1
    for subject in subjects:
        for one in subject.curves:
            named = f"{subject.name} {one.setting}".strip() if several or not one.setting else one.setting
            settings.append(SettingHistories(named, one.runs))
    if len(settings) <= MOST_LINES:
        return settings, []

    def rank(one: SettingHistories) -> float:
        ends = [run.measured()[0][np.isfinite(run.measured()[0])][-1:] for run in one.runs]
        mean = float(np.mean(np.concatenate(ends))) if any(map(len, ends)) else np.inf
        return -mean if one.runs[0].task.measure == "reward" else mean

    kept = sorted(sorted(settings, key=rank)[:MOST_LINES], key=settings.index)
    return kept, [f"The {MOST_LINES} of {len(settings)} settings that ended best."]


# By size


def _plot_by_size(
    subjects: Sequence[Subject], sizes: tuple[int, ...], instances: int | None, seed: int, progress: Progress | None
) -> Plot:
    task = subjects[0].task
    contenders = [Contender(_agent_of(one), one.name.removeprefix("teacher:"), one.method) for one in subjects]
    known = {one.label for one in contenders}
    for subject in subjects:
        teacher = subject.teacher if subject.method else None  # whom it learned from is drawn beside it
        if teacher is not None and (label := teacher.name.removeprefix("teacher:")) not in known:
            contenders.append(Contender(teacher, label))
            known.add(label)
    if len(contenders) > MOST_LINES:
        raise SettingError(f"a plot shows at most {MOST_LINES} agents; these are {len(contenders)}")
    table = compare_by_size(task, contenders, sizes=sizes, instances=instances, seed=seed, progress=progress)
    notes = [how_counted(table)]
    if any(not cell.instances for row in table.rows for cell in row.cells):
        notes.append("Sizes that would take too long are left out.")
    level = next((row.label for row in table.rows if row.is_teacher), "")
    charts = [one for one in (growth_chart(table), ratio_chart(table, level)) if one]
    return Plot(f"Agents of {task.name}", tuple(charts), tuple(notes))


def _agent_of(subject: Subject) -> AnyAgent:
    if subject.agent is None:
        raise SavedFileError(f"the run {subject.name} has no agent yet")
    return subject.agent
