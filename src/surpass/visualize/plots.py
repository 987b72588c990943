"""Plots of one's own runs while they learn, and of any agents' steps against the size."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents import AgentLike, Progress, TaskLike, as_agent
from surpass.agents.teachers import usual_teacher
from surpass.arrays import Reals
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SettingError, UnknownNameError
from surpass.evaluation.curves import Curve, mean_with_band
from surpass.evaluation.growth import Contender, Growth, compare_by_size, growth_of, paper_growth_of
from surpass.evaluation.reproduce import PaperRow, PaperTable
from surpass.evaluation.scores import evaluate
from surpass.printing import Printed, count, finite, show_number, text_table
from surpass.reading import COUNT, SIZE, as_path, check_range
from surpass.tasks.task import Task
from surpass.visualize.charts import MOST_LINES, Chart, Line, render_charts, write_charts
from surpass.visualize.histories import (
    History,
    SettingHistories,
    is_run,
    is_sweep,
    read_history,
    read_sweep,
)

BY = ("learning", "size")
"""What a plot can be over: the rounds of learning, or the size of the instances."""
LEVEL_INSTANCES = 200
"""On how many instances of a size the level of a teacher is measured."""


@dataclass(frozen=True, repr=False, eq=False)
class Plot(Printed):
    """Charts side by side, and where their numbers come from."""

    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write the plot to a file whose ending says what it is: .png, .svg or .pdf."""
        write_charts(Path(path), self.charts, title=self.title, note=" ".join(self.notes))

    def as_json(self) -> dict[str, Any]:
        """Return what is drawn as plain data: each chart with its lines, point by point."""
        charts = [
            {
                "title": chart.title,
                "x": chart.x_label,
                "y": chart.y_label,
                "lines": [_line_as_json(line) for line in chart.lines],
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
        image = base64.b64encode(render_charts("svg", self.charts, title=self.title, note=" ".join(self.notes)))
        return f'<img alt="a plot" src="data:image/svg+xml;base64,{image.decode()}">'


def _line_as_json(line: Line) -> dict[str, Any]:
    arrays = {"x": line.x, "y": line.y, "low": line.low, "high": line.high}
    listed = {name: None if array is None else finite(array.tolist()) for name, array in arrays.items()}
    return {"label": line.label, "role": line.role, **listed}


# What can be plotted


@dataclass(frozen=True, eq=False)
class _Subject:
    """Something to plot: the runs of a folder with their settings, or an agent that has no curves."""

    name: str
    task: Task
    settings: tuple[SettingHistories, ...] = ()
    agent: AnyAgent | None = None
    """Only if there are no curves; else the folder is loaded when its agent is needed."""
    is_sweep: bool = False

    def load(self) -> AnyAgent:
        """Return the agent."""
        return self.agent or as_agent(self.name)

    @property
    def method(self) -> str:
        """How it was learned; empty for a teacher."""
        if self.settings:
            return str(self.settings[0].runs[0].recipe["method"])
        return "" if self.name.startswith("teacher:") else _method_of(self.name)


def _method_of(name: str) -> str:
    """Return the method of an agent that is no run: that of one of the zoo, else it is a program."""
    if name.startswith("zoo:"):
        from surpass.agents.zoo import find_resident

        return str(find_resident(name.removeprefix("zoo:")).record["method"])
    return "program"


def _find_subject(what: Any, task: TaskLike | None) -> _Subject:
    what = getattr(what, "folder", what)  # a Run means its folder
    if not isinstance(what, str | Path):
        agent = as_agent(what, task)
        return _Subject(agent.name, agent.task, agent=agent)
    path = as_path(what) if not str(what).startswith(("teacher:", "zoo:")) else None
    if path is not None and is_sweep(path):
        settings = read_sweep(path, task)
        if not settings:
            raise SettingError(f"no run of the sweep {path} has ended a round yet: there is nothing to plot")
        return _Subject(str(path), settings[0].runs[0].task, tuple(settings), is_sweep=True)
    if path is not None and is_run(path):
        history = read_history(path, task)
        if not history.rows:
            raise SettingError(f"the run {path} has not ended a round yet: there is nothing to plot")
        return _Subject(str(path), history.task, (SettingHistories("", (history,)),))
    if path is not None and path.is_dir() and not (path / "agent.json").exists():
        raise SavedFileError(f"{path} holds neither a run nor a sweep: there is nothing to plot")
    agent = as_agent(what, task)
    return _Subject(agent.name, agent.task, agent=agent)


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
    for size in sizes or ():
        check_range("size", size, SIZE)
    if instances is not None:
        check_range("the number of instances", instances, COUNT)
    subjects = [_find_subject(one, task) for one in what]
    names = list(dict.fromkeys(one.task.name for one in subjects))
    if len(names) > 1:
        raise SettingError(f"these are of several tasks ({', '.join(names)}); a plot shows one")
    if by == "learning" and not any(one.settings for one in subjects):
        raise SettingError(f"{subjects[0].name} has no curves to plot: only runs and sweeps have; by size it can be")
    if by == "size" or not any(one.settings for one in subjects):
        if columns:
            raise SettingError("columns are those of a run's curves: they do not go with a plot by size")
        return _plot_by_size(subjects, tuple(sizes or ()), instances, seed, progress)
    return _plot_learning(subjects, columns, progress)


# By learning

LABELS = {"solved": "share solved", "agreement": "share answered like the teacher", "rules": "rules of the program"}
SHARES = ("solved", "agreement", "sampled_solved")
"""Columns whose values are shares."""
AXES = ("steps", "updates")
"""The columns that a chart of learning may have below, the best first; else it has the rounds."""


def _plot_learning(subjects: Sequence[_Subject], columns: Sequence[str], progress: Progress | None) -> Plot:
    settings, notes = _all_settings(subjects)
    histories = [run for one in settings for run in one.runs]
    task = histories[0].task
    agents = [one.load() for one in subjects if not one.settings]
    charts = learning_charts(settings, agents, columns=columns, progress=progress)
    if any(len(one.runs) > 1 for one in settings):
        notes.append("Shaded: the 95 % interval of the mean over the seeds.")
    return Plot(f"Learning {task.name}", tuple(charts), tuple(notes))


def _all_settings(subjects: Sequence[_Subject]) -> tuple[list[SettingHistories], list[str]]:
    """Return the lines to draw with labels that tell them apart, and what had to be left out."""
    settings: list[SettingHistories] = []
    several = sum(bool(one.settings) for one in subjects) > 1
    for subject in subjects:
        for one in subject.settings:
            label = one.setting if subject.is_sweep else ""
            named = f"{subject.name} {label}".strip() if several or not label else label
            settings.append(SettingHistories(named, one.runs))
    if len(settings) <= MOST_LINES:
        return settings, []

    def rank(one: SettingHistories) -> float:
        ends = [run.measured()[0][np.isfinite(run.measured()[0])][-1:] for run in one.runs]
        mean = float(np.mean(np.concatenate(ends))) if any(map(len, ends)) else np.inf
        return -mean if one.runs[0].task.measure == "reward" else mean

    kept = sorted(sorted(settings, key=rank)[:MOST_LINES], key=settings.index)
    return kept, [f"The {MOST_LINES} of {len(settings)} settings that ended best."]


def learning_charts(
    settings: Sequence[SettingHistories],
    agents: Sequence[AnyAgent] = (),
    *,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Chart]:
    """Return a chart for each column, or for what runs of these kinds are best seen by."""
    histories = [run for one in settings for run in one.runs]
    known = list(dict.fromkeys(name for run in histories for name in run.columns))
    for column in columns:
        if column not in known or column == "round":
            raise UnknownNameError("column", column, [name for name in known if name != "round"])
    x = next((axis for axis in AXES if all(axis in run.columns for run in histories)), "")
    charts = []
    for column in columns or _best_seen_by(histories):
        lines = _learning_lines(settings, column, x)
        if column == histories[0].measure:
            lines += _levels(histories, agents, x, progress)
        charts.append(_learning_chart(column, lines, histories, x))
    return charts


def _best_seen_by(histories: Sequence[History]) -> list[str]:
    """Return the columns that show best how runs learned: what the task is measured by, and how much is solved."""
    measure = histories[0].measure
    has = {measure: any(np.isfinite(run.measured()[0]).any() for run in histories)}
    for name in ("rules", "agreement", "solved"):
        has[name] = any(name in run.columns for run in histories)
    first = [name for name in (measure, "agreement", "solved") if has[name]][:1]
    has["solved"] = has["solved"] and (not first or any((run.values("solved") < 1).any() for run in histories))
    second = [name for name in ("rules", "solved") if has[name] and name not in first][:1]
    if not first:
        raise SettingError("these runs have measured nothing that a chart shows by itself; name columns")
    return first + second


def _x_of(run: History, x: str) -> Reals:
    """Return where the rounds [m] of a run stand on the axis; without a column, by their number."""
    return run.values(x) if x else np.arange(1.0, len(run.rows) + 1)


def _learning_lines(settings: Sequence[SettingHistories], column: str, x: str) -> list[Line]:
    lines = []
    for number, one in enumerate(settings):
        points: dict[float, list[float]] = {}
        for run in one.runs:
            values = run.measured()[0] if column == run.measure else run.values(column)
            for at, value in zip(_x_of(run, x).tolist(), values.tolist(), strict=True):
                if np.isfinite(value) and np.isfinite(at):
                    points.setdefault(at, []).append(value)
        if not points:
            continue
        at = np.array(sorted(points))
        widest = max(map(len, points.values()))
        table = np.array([points[k] + [np.nan] * (widest - len(points[k])) for k in at])
        line, low, high = mean_with_band(Curve(one.setting, at, table))
        has_band = widest > 1
        label = f"{one.setting} ({count(len(one.runs), 'seed')})" if has_band else one.setting
        lines.append(Line(label, at, line, low if has_band else None, high if has_band else None, colour=number))
    return lines


def _learning_chart(column: str, lines: list[Line], histories: Sequence[History], x: str) -> Chart:
    most = max((float(line.x.max()) for line in lines), default=0.0)
    unit = 1e6 if most >= 1e6 else 1.0
    below = {"": "round", "steps": "steps taken to learn", "updates": "updates"}[x]
    label = LABELS.get(column, column.replace("_", " "))
    if column == histories[0].measure:
        sizes = {int(size) for run in histories for size in run.measured()[1][np.isfinite(run.measured()[1])]}
        label += f" at n = {min(sizes)}" if len(sizes) == 1 else ", while sizes grow" if sizes else ""
    is_share = column in SHARES
    return Chart(
        title=label[0].upper() + label[1:],
        x_label=f"{below}, million" if unit > 1 else below,
        y_label=label,
        lines=tuple(lines),
        is_share=is_share,
        x_unit=unit,
    )


def _levels(histories: Sequence[History], agents: Sequence[AnyAgent], x: str, progress: Progress | None) -> list[Line]:
    """Return the levels of teachers, and of agents that have no curves, where the runs are measured."""
    spans = [_x_of(run, x)[np.isfinite(run.measured()[0])] for run in histories]
    ends = (min(span.min() for span in spans if len(span)), max(span.max() for span in spans if len(span)))
    lines = []
    for agent, run in _level_agents(histories, agents):
        values, sizes = run.measured()
        known = np.isfinite(values) & np.isfinite(sizes)
        if not known.any():
            continue
        # The teacher of a single run follows the sizes that it grew through; among several runs there is one level.
        follows = len(histories) == 1 and len(set(sizes[known])) > 1
        chosen = sizes[known] if follows else sizes[known][-1:]
        level = _measure_level(agent, run, sorted({int(size) for size in chosen}), progress)
        if level is None:
            continue
        at = _x_of(run, x)[known] if follows else np.array(ends, float)
        y = np.array([level[int(size)] for size in chosen]) if follows else np.full(2, level[int(chosen[0])])
        label = agent.name.removeprefix("teacher:") + (" (teacher)" if agent.name.startswith("teacher:") else "")
        lines.append(Line(label, at, y, role="teacher"))
    return lines


def _level_agents(histories: Sequence[History], agents: Sequence[AnyAgent]) -> list[tuple[AnyAgent, History]]:
    """Return every agent that has a level, each once, with a run that says where it is measured."""
    found: dict[str, tuple[AnyAgent, History]] = {}
    for run in histories:
        teacher = run.teacher
        if teacher is not None:
            found.setdefault(teacher.name, (teacher, run))
    for agent in agents:
        found.setdefault(agent.name, (agent, histories[0]))
    return list(found.values())


def _measure_level(
    agent: AnyAgent, run: History, sizes: Sequence[int], progress: Progress | None
) -> dict[int, float] | None:
    """Return the mean of an agent at each size on what a run learned on; None if that is no one distribution."""
    data = str(run.recipe.get("data") or "") or run.task.inputs.usual_data
    if data not in run.task.inputs.draw:
        return None
    scores = evaluate(agent, sizes=sizes, instances=LEVEL_INSTANCES, data=data, progress=progress)
    by_reward = run.task.measure == "reward"
    return {row.size: row.mean_reward if by_reward else row.mean_steps for row in scores.rows}


# By size


def _plot_by_size(
    subjects: Sequence[_Subject], sizes: tuple[int, ...], instances: int | None, seed: int, progress: Progress | None
) -> Plot:
    task = subjects[0].task
    contenders = [Contender(one.load(), one.name.removeprefix("teacher:"), one.method) for one in subjects]
    known = {one.label for one in contenders}
    for subject in subjects:
        teacher = _teacher_of(subject)
        if teacher is not None and teacher.name.removeprefix("teacher:") not in known:
            contenders.append(Contender(teacher, teacher.name.removeprefix("teacher:")))
            known.add(contenders[-1].label)
    if len(contenders) > MOST_LINES:
        raise SettingError(f"a plot shows at most {MOST_LINES} agents; these are {len(contenders)}")
    table = compare_by_size(
        task, contenders, sizes=sizes, instances=instances, seed=seed, progress=as_cell_progress(progress)
    )
    notes = [how_counted(task, table)]
    if any(not cell.instances for row in table.rows for cell in row.cells):
        notes.append("Sizes that would take too long are left out.")
    return Plot(f"Agents of {task.name}", (growth_chart(table),), tuple(notes))


def _teacher_of(subject: _Subject) -> AnyAgent | None:
    """Return whom something learned from, which is drawn beside it."""
    if subject.settings:
        return subject.settings[0].runs[0].teacher
    return usual_teacher(subject.task) if subject.method else None


def as_cell_progress(progress: Progress | None) -> Callable[[str, int, int, int], None] | None:
    """Return what tables tell of their progress to, given what commands show theirs by."""
    return None if progress is None else lambda row, size, done, total: progress(f"{row} n={size:,}", done, total)


def how_counted(task: Task, table: PaperTable) -> str:
    """Return on what the numbers of a table are, in a sentence."""
    most = max((cell.instances for row in table.rows for cell in row.cells), default=0)
    least = min((cell.instances for row in table.rows for cell in row.cells if cell.instances), default=0)
    number = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    text = f"Means over {number} instances of each size, the same for every agent of ours."
    if table.measure == "steps before the answer":
        text += " As in the paper's table, the answer is no step and one query in four is not in the list."
    return text


def growth_chart(table: PaperTable) -> Chart:
    """Return steps or reward against the size, both on logarithmic axes, with the paper's numbers.

    Those of the paper's teachers, which ours equal, are drawn only where nothing learned is.
    """
    rows = {row.label: row for row in table.rows}
    learned = [label for label, row in rows.items() if not row.is_teacher]
    lines: list[Line] = []
    for label, row in rows.items():
        colour = learned.index(label) if label in learned else None
        lines += _row_line(row, table, colour)
        if colour is not None or not learned:
            lines += [line for line in _paper_line(row, table, colour) if not _is_drawn(line, lines)]
    measure = f"mean {table.measure}"
    return Chart(
        title=f"{measure[0].upper()}{measure[1:]} against the size",
        x_label="size n",
        y_label=measure.removesuffix(" before the answer"),
        lines=tuple(lines),
        log_x=True,
        log_y=True,
        marks=True,
    )


def _is_drawn(line: Line, lines: Sequence[Line]) -> bool:
    return any(line.label == other.label for other in lines)


def _row_line(row: PaperRow, table: PaperTable, colour: int | None) -> list[Line]:
    """Return the line of our numbers of a row, if there are any that a logarithmic axis can show."""
    cells = [cell for cell in row.cells if cell.instances and cell.ours > 0]
    if not cells:
        return []
    label = row.label + _power(growth_of(row), table)
    label += " (does not solve all)" if any(cell.solved < 1 for cell in cells) else ""
    x, y = np.array([float(cell.size) for cell in cells]), np.array([cell.ours for cell in cells])
    half = np.nan_to_num(np.array([cell.ci95 for cell in cells]))
    band = np.maximum(y - half, y / 10), y + half
    return [Line(label, x, y, *band, role="learned" if colour is not None else "teacher", colour=colour)]


def _paper_line(row: PaperRow, table: PaperTable, colour: int | None) -> list[Line]:
    """Return the line of the paper's numbers of a row, if it has any."""
    printed = [(float(cell.size), cell.paper) for cell in row.cells if cell.paper]
    if not printed:
        return []
    label = f"the paper's {row.paper_label}{_power(paper_growth_of(row), table)}"
    x, y = np.array(printed).T
    return [Line(label, x, y, role="paper", colour=colour)]


def _power(growth: Growth | None, table: PaperTable) -> str:
    return f", n^{growth.exponent:.2f}" if growth and table.measure != "reward" else ""
