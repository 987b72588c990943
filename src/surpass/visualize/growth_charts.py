"""Agents against the size, as charts with the paper's numbers beside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surpass.evaluation.comparison import ComparisonRow, ComparisonTable
from surpass.evaluation.growth import Growth, growth_of, paper_growth_of
from surpass.visualize.charts import Chart, ChartLine

UNSOLVED = " (does not solve all)"
"""What the label of an agent says that fails at some size."""


def how_counted(table: ComparisonTable) -> str:
    """Return on what the numbers of a table are, in a sentence."""
    most = max((cell.instances for row in table.rows for cell in row.cells), default=0)
    least = min((cell.instances for row in table.rows for cell in row.cells if cell.instances), default=0)
    number = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    text = f"Means over {number} instances of each size, the same for every agent of ours."
    if table.measure == "steps before the answer":
        text += " As in the paper's table, the answer does not count as a step; one query in four is not in the list."
    return text


def growth_chart(table: ComparisonTable) -> Chart:
    """Return steps or reward against the size, both on logarithmic axes, with the paper's numbers.

    Those of the paper's teachers, which ours equal, are drawn only where nothing learned is.
    """
    rows = {row.label: row for row in table.rows}
    has_learned = any(not row.is_teacher for row in rows.values())
    lines: list[ChartLine] = []
    for row in rows.values():
        number = sum(line.role == ("teacher" if row.is_teacher else "learned") for line in lines)
        lines += _row_line(row, table, number)
        if not row.is_teacher or not has_learned:
            colour = None if row.is_teacher else number
            drawn = {line.label for line in lines}
            lines += [line for line in _paper_line(row, table, colour) if line.label not in drawn]
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


def ratio_chart(table: ComparisonTable, teacher: str) -> Chart | None:
    """Return the steps of agents that solve everything, and the paper's, as multiples of a teacher's."""
    rows = {row.label: row for row in table.rows}
    if teacher not in rows or table.measure == "reward":
        return None
    level = {cell.size: cell.ours for cell in rows[teacher].cells if cell.instances and cell.ours > 0}
    lines = []
    for line in growth_chart(table).lines:
        known = np.array([size in level for size in line.x.astype(int)])
        if known.any() and not line.label.endswith(UNSOLVED):
            x = line.x[known]
            y = line.y[known] / np.array([level[int(size)] for size in x])
            lines.append(replace(line, x=x, y=y, low=None, high=None))
    title = f"Steps as a multiple of those of {teacher}: below 1 is better"
    return Chart(title, "size n", "times its steps", tuple(lines), log_x=True, marks=True) if len(lines) > 1 else None


def _row_line(row: ComparisonRow, table: ComparisonTable, number: int) -> list[ChartLine]:
    """Return the line of our numbers of a row, if there are any that a logarithmic axis can show."""
    cells = [cell for cell in row.cells if cell.instances and cell.ours > 0]
    if not cells:
        return []
    label = row.label + _power(growth_of(row), table)
    label += UNSOLVED if any(cell.solved < 1 for cell in cells) else ""
    x, y = np.array([float(cell.size) for cell in cells]), np.array([cell.ours for cell in cells])
    half = np.nan_to_num(np.array([cell.ci95 for cell in cells]))
    band = np.maximum(y - half, y / 10), y + half
    return [ChartLine(label, x, y, *band, role="teacher" if row.is_teacher else "learned", colour=number)]


def _paper_line(row: ComparisonRow, table: ComparisonTable, colour: int | None) -> list[ChartLine]:
    """Return the line of the paper's numbers of a row, if it has any."""
    printed = [(float(cell.size), cell.paper) for cell in row.cells if cell.paper]
    if not printed:
        return []
    label = f"the paper's {row.paper_label}{_power(paper_growth_of(row), table)}"
    x, y = np.array(printed).T
    return [ChartLine(label, x, y, role="paper", colour=colour)]


def _power(growth: Growth | None, table: ComparisonTable) -> str:
    return f", n^{growth.exponent:.2f}" if growth and table.measure != "reward" else ""
