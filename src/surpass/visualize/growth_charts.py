"""Agents against the size, as charts with the paper's numbers beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from surpass.agents import Progress
from surpass.evaluation.growth import Growth, growth_of, paper_growth_of
from surpass.evaluation.reproduce import PaperRow, PaperTable
from surpass.visualize.charts import Chart, Line


def as_cell_progress(progress: Progress | None) -> Callable[[str, int, int, int], None] | None:
    """Return what tables tell of their progress to, given what commands show theirs by."""
    return None if progress is None else lambda row, size, done, total: progress(f"{row} n={size:,}", done, total)


def how_counted(table: PaperTable) -> str:
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
