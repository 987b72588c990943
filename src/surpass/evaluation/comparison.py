"""A table of the paper beside ours: what its cells hold, and the table as lines of text or as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from surpass.evaluation.tables import Measure
from surpass.printing import Printed, finite, html_table, line_width, wrap

AGREEMENT = 3.0
"""How many standard errors may lie between a teacher's printed mean and ours: there are some 80 such cells."""
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


@dataclass(frozen=True)
class Saving:
    """What an agent saves against its teacher: steps, or how much more reward it gets."""

    paper: float | None
    """The difference of the paper's two printed means."""
    ours: float
    """The mean difference on the same instances."""
    ci95: float
    instances: int


@dataclass(frozen=True)
class ComparisonCell:
    """One size of one row: the paper's number and ours."""

    size: int
    paper: float | None
    """None where the paper prints '-', or has no such row."""
    paper_solved: float | None
    """The share solved, where the paper prints it."""
    instances: int = 0
    """0 if the cell was left empty because it would take too long."""
    solved: float = math.nan
    ours: float = math.nan
    ci95: float = math.nan
    apart: float | None = None
    """Ours minus the paper's, in standard errors of that difference; None where there is nothing to compare."""
    saving: Saving | None = None
    verdict: str = "empty"
    """better, worse or even against the paper; agrees or differs for a teacher; filled, empty, no agent, or -."""


@dataclass(frozen=True)
class ComparisonRow:
    """One row of a table: an agent, size by size."""

    label: str
    agent: str
    method: str
    """How it was made: `teacher`, or how and from whom it was learned."""
    missing: str
    """Why there are no numbers of ours; empty if there are."""
    is_teacher: bool
    against: str
    cells: tuple[ComparisonCell, ...]
    paper_label: str = ""
    """What the paper calls the row beside it; empty if it has none."""


@dataclass(frozen=True, repr=False)
class ComparisonTable(Printed):
    """A table of the paper beside ours."""

    name: str
    title: str
    measure: Measure
    sizes: tuple[int, ...]
    rows: tuple[ComparisonRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain data; numbers that do not exist are null."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain

    @property
    def what(self) -> str:
        """What its numbers are."""
        return "share solved" if self.measure == "solved" else f"mean {self.measure}"

    def __str__(self) -> str:
        """Return the table as aligned lines; sizes that do not fit beside the others follow below."""
        blocks = [(_heading(row), _lines(row, self.measure)) for row in self.rows]
        sizes = [f"{size:,}" for size in self.sizes]
        lines = [("size", sizes), *(line for _, block in blocks for line in block)]
        first = max(len(label) for label, _ in lines)
        widths = [max(len(cells[k]) for _, cells in lines) for k in range(len(sizes))]

        def align(label: str, cells: Sequence[str], part: range) -> str:
            fitted = (cells[k].rjust(widths[k]) for k in part)
            return f"  {label.ljust(first)}  {'  '.join(fitted)}".rstrip()

        text = [wrap(f"{self.title}: {self.what}", "    ", first="")]
        for part in _parts(widths, line_width() - first - 2):
            text += [*([""] if part.start else []), align("size", sizes, part)]
            for heading, block in blocks:
                text.append(wrap(heading, "    ", first=""))
                text += [align(label, cells, part) for label, cells in block]
        return "\n".join(text) + "\n"

    def _repr_html_(self) -> str:
        rows: list[list[str]] = []
        for row in self.rows:
            rows += [[_heading(row)], *([label, *cells] for label, cells in _lines(row, self.measure))]
        return html_table(f"{self.title}: {self.what}", ["size", *(f"{size:,}" for size in self.sizes)], rows)

    def as_markdown(self) -> str:
        """Return the table in Markdown."""
        text = [f"## {self.title}: {self.what}", ""]
        text.append("| | " + " | ".join(f"{size:,}" for size in self.sizes) + " |")
        text.append("|---|" + "---:|" * len(self.sizes))
        for row in self.rows:
            text.append(f"| **{_heading(row)}** |" + " |" * len(self.sizes))
            text += [f"| {label} | " + " | ".join(cells) + " |" for label, cells in _lines(row, self.measure)]
        return "\n".join(text) + "\n"


def _parts(widths: Sequence[int], room: int) -> Iterator[range]:
    """Yield which columns stand side by side, about equally many in each part, as few parts as fit."""
    for count in range(1, len(widths) + 1):
        bounds = [len(widths) * k // count for k in range(count + 1)]
        parts = [range(*pair) for pair in pairwise(bounds)]
        if count == len(widths) or all(sum(widths[k] + 2 for k in part) <= room for part in parts):
            yield from parts
            return


def _heading(row: ComparisonRow) -> str:
    made = "" if row.is_teacher else row.missing or row.method
    return f"{row.label} ({': '.join(filter(None, (row.agent, made)))})"


def _lines(row: ComparisonRow, measure: Measure) -> list[Line]:
    """Return the lines of a row: the paper's, ours, what is saved, and how they compare."""
    cells = row.cells
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
