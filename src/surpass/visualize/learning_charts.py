"""How runs learned, round by round, as charts beside the level of their teachers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surpass.arrays import Reals
from surpass.engine.run import AnyAgent
from surpass.errors import SettingError, SurpassError, UnknownNameError
from surpass.evaluation.curves import Curve, mean_with_band
from surpass.evaluation.scores import evaluate
from surpass.printing import Progress, count
from surpass.visualize.charts import Chart, ChartLine
from surpass.visualize.subjects import History, SettingHistories

COST = "relative_cost"
"""The column of what the best program of a search costs, where the first start costs 1."""
LABELS = {
    "solved": "share solved",
    "agreement": "share answered like the teacher",
    "rules": "rules of the program",
    COST: "relative cost of the best program",
}
STUDENT_LABELS = {"agreement": "share answered like the table"}
SHARES = ("solved", "agreement", "sampled_solved")
"""Columns whose values are shares."""
SEARCHES = ("discover", "improvement")
"""The methods whose runs are measured on their own data."""
LEVEL_INSTANCES = 1000
"""On how many instances of a size the level of a teacher is measured."""
AXES = ("steps", "updates", "tried")
"""The columns that a chart of learning may have below, the best first; else it has the rounds."""


def learning_charts(
    settings: Sequence[SettingHistories],
    agents: Sequence[AnyAgent] = (),
    *,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Chart]:
    """Return a chart for each column, or for what runs of these kinds are best seen by."""
    histories = [run for one in settings for run in one.runs]
    known = list(dict.fromkeys(name for run in histories for name in run.columns if name != "round"))
    for column in columns:
        if column not in known:
            raise UnknownNameError("column", column, known)
    x = next((axis for axis in AXES if all(axis in run.columns for run in histories)), "")
    charts = []
    for column in columns or _best_seen_by(histories):
        if not any(np.isfinite(_values(run, column)[~run.is_of_student]).any() for run in histories):
            charts.append(_student_chart(settings, column))
            continue
        lines = _learning_lines(settings, column, x)
        if column == histories[0].measure:
            lines += _levels(settings, agents, x, progress)
        charts.append(_learning_chart(column, lines, histories, x))
    if not columns and any(run.is_of_student.any() for run in histories):
        charts.append(_student_chart(settings, "solved"))
    return charts


def _best_seen_by(histories: Sequence[History]) -> list[str]:
    """Return the columns that show best how runs learned: what the task is measured by, and how much is solved.

    A search over programs is first seen by the cost that it lowers.
    """
    measure = histories[0].measure
    known = {name for run in histories for name in run.columns} - {measure}
    if any(np.isfinite(run.measured()[0]).any() for run in histories):
        known.add(measure)
    first = next((name for name in (measure, "agreement", "solved") if name in known), None)
    if first is None:
        raise SettingError("these runs have measured nothing that a chart shows by itself; name columns")
    if not any((run.values("solved")[~run.is_of_student] < 1).any() for run in histories):
        known.discard("solved")
    costs = [COST] if COST in known else []
    return [*costs, first, *[name for name in ("rules", "solved") if name in known and name != first][:1]]


def _places(run: History, x: str) -> Reals:
    """Return where the rounds [m] of a run stand on the axis; without a column, by their number."""
    return run.values(x) if x else np.arange(1.0, len(run.rows) + 1)


def _values(run: History, column: str) -> Reals:
    """Return what each round [m] of a run shows of a column."""
    return run.measured()[0] if column == run.measure else run.values(column)


def _learning_lines(
    settings: Sequence[SettingHistories], column: str, x: str = "", *, of_student: bool = False
) -> list[ChartLine]:
    """Return a line for each setting, over the rounds in which a run itself learned, or else over its network's."""
    lines = []
    for number, one in enumerate(settings):
        runs = []
        for run in one.runs:
            chosen = run.is_of_student == of_student
            values = _values(run, column)[chosen]
            runs.append((np.arange(1.0, len(values) + 1) if of_student else _places(run, x)[chosen], values))
        points = _by_place(runs)
        if not points:
            continue
        at = np.array(list(points))
        widest = max(map(len, points.values()))
        table = np.array([some + [np.nan] * (widest - len(some)) for some in points.values()])
        line, low, high = mean_with_band(Curve(one.setting, at, table))
        if widest == 1:
            lines.append(ChartLine(one.setting, at, line, colour=number))
            continue
        low = np.maximum(low, min(0.0, float(np.nanmin(table))))  # no interval ends below what can be
        label = f"{one.setting} ({count(len(one.runs), 'seed')})"
        lines.append(ChartLine(label, at, line, low, high, colour=number))
    return lines


def _by_place(runs: Iterable[tuple[Reals, Reals]]) -> dict[float, list[float]]:
    """Return the values at each place in order, from the places [m] and values [m] of each of some runs.

    Of a run there is one value at a place, so that they differ between seeds only.
    """
    points: dict[float, list[float]] = {}
    for places, values in runs:
        known = np.isfinite(values) & np.isfinite(places)
        for at, value in dict(zip(places[known].tolist(), values[known].tolist(), strict=True)).items():
            points.setdefault(at, []).append(value)
    return dict(sorted(points.items()))


def _student_chart(settings: Sequence[SettingHistories], column: str) -> Chart:
    """Return the chart of a column over the rounds in which a network learned what the runs had found."""
    lines = _learning_lines(settings, column, of_student=True)
    label = STUDENT_LABELS.get(column, LABELS.get(column, column.replace("_", " ")))
    title = f"The network learns what the table does: {label}"
    return Chart(title, "round of the network", label, tuple(lines), is_share=column in SHARES, marks=True)


def _learning_chart(column: str, lines: list[ChartLine], histories: Sequence[History], x: str) -> Chart:
    most = max((float(line.x.max()) for line in lines), default=0.0)
    unit = 1e6 if most >= 1e6 else 1.0
    below = {"": "round", "steps": "steps taken to learn", "updates": "updates", "tried": "programs tried"}[x]
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


def _levels(
    settings: Sequence[SettingHistories], agents: Sequence[AnyAgent], x: str, progress: Progress | None
) -> list[ChartLine]:
    """Return what teachers, and agents that have no curves, need at the size of each point of the settings' lines."""
    found: dict[str, tuple[AnyAgent, list[SettingHistories]]] = {}
    for one in settings:
        for agent in (*(run.teacher for run in one.runs), *agents):
            if agent is not None and one not in (whose := found.setdefault(agent.name, (agent, []))[1]):
                whose.append(one)
    lines = []
    for agent, whose in found.values():
        sizes = [_by_place((_places(run, x), _measured_sizes(run)) for run in one.runs) for one in whose]
        known = sorted({int(size) for places in sizes for some in places.values() for size in some})
        level = _measure_level(agent, whose[0].runs[0], known, progress) if known else {}
        if not level:
            continue
        if len(known) == 1:  # a line through the chart, even where there is a single round
            places = sorted({at for some in sizes for at in some})
            ends = np.array([places[0], places[-1]]) + (np.array([-0.5, 0.5]) if len(places) == 1 else 0)
            drawn = [("", ends, np.full(2, level[known[0]]))]
        else:
            means = [[np.mean([level[int(size)] for size in at]) for at in some.values()] for some in sizes]
            drawn = [
                (one.setting, np.array([*at]), np.array(y)) for one, at, y in zip(whose, sizes, means, strict=True)
            ]
        is_same = len({(at.tobytes(), y.tobytes()) for _, at, y in drawn}) == 1
        label = agent.name.removeprefix("teacher:") + (" (teacher)" if agent.name.startswith("teacher:") else "")
        for setting, at, y in drawn[:1] if is_same else drawn:
            lines.append(ChartLine(label if is_same else f"{label} at the sizes of {setting}", at, y, role="teacher"))
    return lines


def _measured_sizes(run: History) -> Reals:
    """Return the size that each round [m] of a run was measured at; NaN where it was not."""
    values, sizes = run.measured()
    return np.where(np.isfinite(values), sizes, np.nan)


def _measure_level(agent: AnyAgent, run: History, sizes: Sequence[int], progress: Progress | None) -> dict[int, float]:
    """Return the mean of an agent at each size, on instances drawn like those that a run was measured on.

    Nothing if the run was measured on a file that is gone or has other sizes.
    """
    data = str(run.recipe.get("data") or "") if run.recipe["method"] in SEARCHES else ""
    if run.recipe["method"] == "discover":  # it shows what programs cost on the first of several sources
        data = data.partition(",")[0].partition("*")[0].strip()
    is_file = bool(data) and data not in run.task.inputs.draw
    how: dict[str, Any] = {"sizes": None if is_file else sizes, "seed": int(run.recipe["seed"]), "data": data or None}
    try:
        measured = evaluate(agent, instances=LEVEL_INSTANCES, progress=progress, **how)
    except SurpassError:
        return {}
    by_reward = run.task.measure == "reward"
    means = {row.size: row.mean_reward if by_reward else row.mean_steps for row in measured.rows}
    return means if means.keys() >= set(sizes) else {}
