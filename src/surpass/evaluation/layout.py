"""A reproduced table as lines of text or as Markdown: sizes across, the lines of each row below one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from surpass.evaluation.reproduce import AGREEMENT, ComparisonCell, ComparisonRow, ComparisonTable
from surpass.printing import line_width, wrap

MILLION = 1_000_000
"""From here on numbers are given in millions."""
NOTE = (
    "errors: by how many standard errors our mean of a teacher lies above the paper's. agrees: by no more than"
    f" {AGREEMENT:g}; differs, marked !: by more. saves, gains: what an agent does"
    " better than its teacher; the paper's is the difference of two printed means, ours the mean difference on the same"
    " instances. better, worse, even: our saving against the paper's, beyond or within 95 % noise and rounding. filled:"
    " the paper prints no number. no agent: no agent of the zoo learned this by gradients. -: nothing to compare."
)


Line = tuple[str, list[str]]
"""What a line says, and its cell for each size."""


def as_text(table: ComparisonTable) -> str:
    """Return a table as aligned lines; sizes that do not fit beside the others follow below."""
    blocks = [(_heading(row), _lines(row, table)) for row in table.rows]
    sizes = tuple(f"{size:,}" for size in table.sizes)
    lines = [line for _, block in blocks for line in block]
    first = max((len(label) for label, _ in lines), default=0)
    widths = [max([len(size), *(len(cells[k]) for _, cells in lines)]) for k, size in enumerate(sizes)]

    def align(label: str, cells: Sequence[str], part: range) -> str:
        fitted = (cells[k].rjust(widths[k]) for k in part)
        return f"  {label.ljust(first)}  {'  '.join(fitted)}".rstrip()

    text = [wrap(f"{table.title}: {_what(table)}", "    ", first="")]
    for part in _parts(widths, line_width() - first - 2):
        text += [*([""] if part.start else []), align("size", sizes, part)]
        for heading, block in blocks:
            text.append(wrap(heading, "    ", first=""))
            text += [align(label, cells, part) for label, cells in block]
    return "\n".join(text) + "\n"


def _parts(widths: Sequence[int], room: int) -> Iterator[range]:
    """Yield which columns stand side by side, about equally many in each part, as few parts as fit."""
    for count in range(1, len(widths) + 1):
        bounds = [len(widths) * k // count for k in range(count + 1)]
        parts = [range(*pair) for pair in pairwise(bounds)]
        if count == len(widths) or all(sum(widths[k] + 2 for k in part) <= room for part in parts):
            yield from parts
            return


def as_markdown(table: ComparisonTable) -> str:
    """Return a table in Markdown."""
    text = [f"## {table.title}: {_what(table)}", ""]
    text.append("| | " + " | ".join(f"{size:,}" for size in table.sizes) + " |")
    text.append("|---|" + "---:|" * len(table.sizes))
    for row in table.rows:
        text.append(f"| **{_heading(row)}** |" + " |" * len(table.sizes))
        text += [f"| {label} | " + " | ".join(cells) + " |" for label, cells in _lines(row, table)]
    return "\n".join(text) + "\n"


def _what(table: ComparisonTable) -> str:
    return "share solved" if table.measure == "solved" else f"mean {table.measure}"


def _heading(row: ComparisonRow) -> str:
    made = "" if row.is_teacher else row.missing or row.method
    return f"{row.label} ({': '.join(filter(None, (row.agent, made)))})"


def _lines(row: ComparisonRow, table: ComparisonTable) -> list[Line]:
    """Return the lines of a row: the paper's, ours, what is saved, and how they compare."""
    measure, cells = table.measure, row.cells
    lines: list[Line] = []

    def add(label: str, numbers: Iterable[float | None], measure: str = measure) -> None:
        lines.append((label, [show_measured(measure, number) for number in numbers]))

    has_paper_shares = any(cell.paper_solved is not None for cell in cells)
    if any(cell.paper is not None for cell in cells):
        add("paper", (cell.paper for cell in cells))
        if measure != "solved" and has_paper_shares:
            add("  solved", (cell.paper_solved for cell in cells), "solved")
    if row.missing:
        return lines
    add("ours", (cell.ours for cell in cells))
    if measure != "solved" and (has_paper_shares or any(cell.solved < 1 for cell in cells)):
        add("  solved", (cell.solved for cell in cells), "solved")
    if row.is_teacher:
        add("  ± 95 %", (cell.ci95 for cell in cells))
        return [*lines, ("  errors", [_apart(cell) for cell in cells])]
    if row.against:
        verb, savings = "gains" if measure == "reward" else "saves", [cell.saving for cell in cells]
        if any(saving is not None and saving.paper is not None for saving in savings):
            add(f"paper {verb}", (one.paper if one else None for one in savings))
        add(f"ours {verb}", (one.ours if one else None for one in savings))
        add("  ± 95 %", (one.ci95 if one else None for one in savings))
    return [*lines, ("verdict", [cell.verdict for cell in cells])]


def _apart(cell: ComparisonCell) -> str:
    if cell.apart is None:
        return cell.verdict
    return f"{cell.apart:+.1f}" + ("" if cell.verdict == "agrees" else "!")


def show_measured(measure: str, value: float | None) -> str:
    """Return a number of a measure as briefly as a table needs it, or a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    if measure == "solved":
        return f"{100 * value:.4g}%"
    if abs(value) >= MILLION:
        return f"{value / MILLION:.4g} M"
    digits = 2 if measure == "reward" else 1 if abs(value) < 1000 else 0
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # adding 0 makes a negative 0 a plain one
