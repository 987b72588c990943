"""What the template of the report shows: tables of numbers, charts and the listing, as plain values."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from surpass.errors import SettingError
from surpass.evaluation.comparison import ComparisonRow, ComparisonTable, show_measured
from surpass.evaluation.growth import growth_of, paper_growth_of
from surpass.pictures.plan import plan_of
from surpass.printing import Progress, count
from surpass.programs.listing import list_program
from surpass.tasks.task import Task
from surpass.visualize.charts import Chart, inline_svg, legend_of
from surpass.visualize.growth_charts import growth_chart, how_counted, ratio_chart
from surpass.visualize.headline import how_learned
from surpass.visualize.learning_charts import learning_charts
from surpass.visualize.subjects import SettingHistories, Subject
from surpass.visualize.viewer import render, viewer_fragment

if TYPE_CHECKING:
    from surpass.visualize.report import Report

LONG_LISTING = 60
"""A listing of more lines is folded."""
MOST_LINES = 1500
"""A longer listing is truncated."""
NARROW, MARGIN = 40, 2
"""How many letters wide a table may be on the screen of a phone, and how many the margins of a column are."""


def write_page(report: Report, progress: Progress | None = None) -> str:
    """Return a report as one page of HTML that needs nothing else."""
    table, recordings, numbers = report.comparison, report.recordings, {}
    if table is not None:
        numbers = {
            "tiles": _tiles(report, table),
            "numbers_title": _title(report, table),
            "how_counted": how_counted(table),
            "means": _means(report, table),
            "savings": _savings(report, table),
            "growth_charts": _drawn([growth_chart(table), ratio_chart(table, report.teacher)], "growth"),
            "growth": _growth(table),
        }
    charts, note = _learning(report.subject, progress)
    page = render(
        "report.html.j2",
        **vars(report),
        **numbers,
        how_learned=how_learned(report.subject),
        learning_charts=_drawn(charts, "learning"),
        learning_note=note,
        viewer=viewer_fragment(recordings) if recordings else "",
        lines=list_program(report.usage.program) if report.usage else [],
        variables=_variables(report.subject.task),
        long_listing=LONG_LISTING,
        most_lines=MOST_LINES,
        version=version("surpass"),
        day=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    return str(page)


# Charts


def _drawn(charts: Sequence[Chart | None], name: str) -> list[dict[str, Any]]:
    shown = [chart for chart in charts if chart]
    return [
        {
            "title": chart.title,
            "svg": Markup(inline_svg(chart, name=f"{name}{number}", in_line=len(shown))),
            "legend": [(label, Markup(sample)) for label, sample in legend_of(chart)],
        }
        for number, chart in enumerate(shown)
    ]


def _learning(subject: Subject, progress: Progress | None) -> tuple[list[Chart], str]:
    """Return the charts of a run's learning, or why there are none."""
    if subject.history is None or not subject.history.rows:
        return [], "The zoo does not keep what it measured while it learned." if subject.recipe else ""
    try:
        return learning_charts([SettingHistories(subject.label, (subject.history,))], progress=progress), ""
    except SettingError as error:
        return [], f"There is no chart: {error}."


def _variables(task: Task) -> str:
    """Return what the variables in a program are, in a sentence; nothing if it has none."""
    plan = plan_of(task, task.training_sizes[1])
    *names, last = [plan.names[slot] for slot in plan.positions] or [""]
    if names:
        return f"{', '.join(names)} and {last} are the agent's variables."
    return f"{last} is the agent's variable." if last else ""


# Numbers


class Cell(NamedTuple):
    """A cell of a table of numbers."""

    text: str
    small: str = ""
    """What follows in smaller letters."""
    tone: str = ""
    """Its class, if it has one."""
    span: int = 0
    """Over how many columns it goes, if over several."""


class NumberTable(NamedTuple):
    """A table of numbers: each row has its name, then its cells."""

    caption: str
    heads: list[str]
    rows: list[tuple[str, list[Cell]]]

    @property
    def is_wide(self) -> bool:
        """Whether it is too wide for a phone: names of columns are broken at spaces, numbers are not."""
        widths = [[max(map(len, re.split(r"[\s/-]", head))) for head in self.heads]]
        for name, cells in self.rows:
            widths.append([len(name), *(0 if one.span else len(one.text + one.small) for one in cells)])
        return sum(max(column) + MARGIN for column in zip_longest(*widths, fillvalue=0)) > NARROW


def _own_rows(report: Report, table: ComparisonTable) -> list[ComparisonRow]:
    """Return the rows of what the report is about, the one against its teacher first."""
    rows = [row for row in table.rows if row.label == report.subject.label]
    return sorted(rows, key=lambda row: row.against != report.teacher)


def _title(report: Report, table: ComparisonTable) -> str:
    """Return what the agent is compared with: teachers and the paper, as far as there are any."""
    beside = dict.fromkeys(row.label for row in table.rows if row.label != report.subject.label)
    has_paper = any(cell.paper is not None for row in table.rows for cell in row.cells)
    if not beside:
        return "Beside the paper" if has_paper else "How good it is"
    teachers = "the teachers" if len(beside) > 1 else next(iter(beside))
    return f"Against {teachers} and the paper" if has_paper else f"Against {teachers}"


def _tiles(report: Report, table: ComparisonTable) -> list[tuple[str, str]]:
    """Return the few numbers that matter most: the agent, its teacher and the paper's at the largest size."""
    show, own = partial(show_measured, table.measure), _own_rows(report, table)[0]
    cells = [cell for cell in own.cells if cell.instances]
    if not cells:
        return []
    last, tried, tiles = cells[-1], sum(cell.instances for cell in cells), []
    solved = sum(cell.solved * cell.instances for cell in cells) / tried
    if solved == 1:  # the steps of failures say nothing
        tiles.append((show(last.ours), f"{table.measure} at n = {last.size:,}"))
        for level in (cell for row in table.rows if row.label == report.teacher for cell in row.cells):
            if level.size == last.size and level.instances:
                tiles.append((show(level.ours), f"{report.teacher}, at the same size"))
        if last.paper is not None and report.subject.method:
            tiles.append((show(last.paper), f"the paper's {own.paper_label}"))
    tiles.append((show_measured("solved", solved), f"of {tried:,} test instances solved"))
    if report.usage is not None:
        number, _, what = count(len(report.usage.program.rules), "rule").partition(" ")
        tiles.append((number, what))
    return tiles


def _means(report: Report, table: ComparisonTable) -> NumberTable:
    show, own = partial(show_measured, table.measure), _own_rows(report, table)[0]
    others = [row for row in table.rows if row.label != own.label]
    has_paper = any(cell.paper is not None for cell in own.cells)
    has_failures = any(cell.instances and cell.solved < 1 for cell in own.cells)
    heads = ["n", own.label, *["solved"] * has_failures, *[f"the paper's {own.paper_label}"] * has_paper]
    rows = []
    for k, mine in enumerate(own.cells):
        cells = [Cell(show(mine.ours), _noise(show(mine.ci95)), "own")]
        if has_failures:
            cells.append(Cell(show_measured("solved", mine.solved), tone="bad" if mine.solved < 1 else ""))
        if has_paper:
            cells.append(Cell(show(mine.paper)))
        cells += [Cell(show(row.cells[k].ours), _noise(show(row.cells[k].ci95))) for row in others]
        rows.append((f"{mine.size:,}", cells))
    caption = f"Mean {table.measure} for each size n, with the 95 % interval of the mean"
    return NumberTable(caption, [*heads, *(row.label for row in others)], rows)


def _noise(half: str) -> str:
    return "" if half == "-" else f"± {half}"


def _savings(report: Report, table: ComparisonTable) -> NumberTable | None:
    """Return what the agent saves against each teacher; None if there is none."""
    show, own = partial(show_measured, table.measure), _own_rows(report, table)
    if not own[0].against:
        return None
    by_reward = table.measure == "reward"
    papers = [cell.saving.paper if cell.saving else None for cell in own[0].cells]
    has_paper = any(paper is not None for paper in papers)
    heads = ["n", *(f"against {row.against}" for row in own)]
    levels = {row.label: row.cells for row in table.rows}
    rows = []
    for k, size in enumerate(table.sizes):
        cells = []
        for row in own:
            saving, level = row.cells[k].saving, levels[row.against][k].ours
            if saving is None or row.cells[k].solved < 1:
                cells.append(Cell("-" if saving is None else "not all solved", tone="faint"))
                continue
            share = f" ({saving.ours / level:+.0%})" if level and not by_reward else ""
            tone = "good" if saving.ours > saving.ci95 else "bad" if -saving.ours > saving.ci95 else ""
            cells.append(Cell(show(saving.ours), _noise(show(saving.ci95)) + share, tone))
        rows.append((f"{size:,}", cells + [Cell(show(papers[k]))] * has_paper))
    what = "reward gained" if by_reward else f"{table.measure} saved"
    caption = f"Mean {what} on the same instances: above 0 is better than the teacher"
    return NumberTable(caption, heads + [f"the paper's, against {own[0].against}"] * has_paper, rows)


def _growth(table: ComparisonTable) -> NumberTable | None:
    """Return how steps grow with the size: the fitted exponents; None where the reward counts."""
    if table.measure == "reward":
        return None
    rows: list[tuple[str, list[Cell]]] = []
    for label, row in {row.label: row for row in table.rows}.items():
        fits = [(label, growth_of(row))]
        if not row.is_teacher and row.paper_label:
            fits.append((f"the paper's {row.paper_label}", paper_growth_of(row)))
        for name, fit in fits:
            if fit is None:
                rows.append((name, [Cell("too few sizes are solved", span=4)]))
                continue
            log = "-" if fit.per_doubling is None else f"{fit.per_doubling:+.2f} steps"
            exponent = Cell(f"{fit.exponent:.2f}", f"± {fit.ci95:.2f}")
            sizes = Cell(f"{fit.sizes[0]:,} to {fit.sizes[-1]:,} ({len(fit.sizes)} sizes)")
            rows.append((name, [exponent, Cell(f"{10**fit.exponent:.3g} times"), Cell(log), sizes]))
    heads = ["", "exponent k", "steps at ten times the size", "or: each doubling", "fitted over n"]
    return NumberTable("How the number of steps grows with n", heads, rows)
