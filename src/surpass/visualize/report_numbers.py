"""The numbers of a report: means and savings beside teachers and paper, and how they grow with the size."""

from __future__ import annotations

from collections.abc import Sequence

from surpass.evaluation.growth import growth_of, paper_growth_of
from surpass.evaluation.layout import NumberWriter
from surpass.evaluation.reproduce import PaperRow, PaperTable
from surpass.visualize.charts import Chart, inline_svg, legend_of
from surpass.visualize.growth_charts import growth_chart, how_counted, ratio_chart
from surpass.visualize.markup import Cell, Html, cell, join, table, tag
from surpass.visualize.report import Report


def figures(charts: Sequence[Chart], name: str) -> Html:
    """Return charts side by side, or below one another where there is no room."""
    drawn = [
        tag(
            "figure",
            tag("figcaption", chart.title),
            Html(inline_svg(chart, name=f"{name}{number}")),
            tag("ul", *(tag("li", Html(sample), label) for label, sample in legend_of(chart)), class_="legend"),
        )
        for number, chart in enumerate(charts)
    ]
    return tag("div", *drawn, class_="figures")


def own_rows(report: Report) -> list[PaperRow]:
    """Return the rows of what the report is about, the one against its teacher first."""
    assert report.comparison is not None
    rows = [row for row in report.comparison.rows if row.label == report.subject.label]
    return sorted(rows, key=lambda row: row.against != report.teacher)


# Numbers


def numbers_title(report: Report) -> str:
    """Return what the agent is compared with: teachers and the paper, as far as there are any."""
    rows = report.comparison.rows if report.comparison else ()
    beside = [row.label for row in rows if row.label != report.subject.label]
    has_paper = any(cell.paper is not None for row in rows for cell in row.cells)
    if not beside:
        return "Beside the paper" if has_paper else "How good it is"
    teachers = "the teachers" if len(set(beside)) > 1 else f"{beside[0]}"
    return f"Against {teachers} and the paper" if has_paper else f"Against {teachers}"


def show_numbers(report: Report) -> Html | None:
    """Return the tables of means and of savings, if anything was measured."""
    measured = report.comparison
    if measured is None:
        return None
    parts = [tag("p", how_counted(measured)), _means(report, measured)]
    if any(row.against for row in own_rows(report)):
        parts.append(_savings(report, measured))
    return join(*parts)


def _means(report: Report, measured: PaperTable) -> Html:
    show, own = NumberWriter(measured.measure), own_rows(report)[0]
    others = [row for row in measured.rows if row.label != own.label]
    has_paper = any(cell.paper is not None for cell in own.cells)
    has_failures = any(cell.instances and cell.solved < 1 for cell in own.cells)
    heads = ["n", own.label, *(["solved"] if has_failures else [])]
    heads += [*([f"the paper's {own.paper_label}"] if has_paper else []), *(row.label for row in others)]
    body = []
    for k, size in enumerate(measured.sizes):
        mine = own.cells[k]
        cells = [cell(show.number(mine.ours), _noise(show.number(mine.ci95)), tone="own")]
        cells += [cell(show.share(mine.solved), tone="bad" if mine.solved < 1 else None)] if has_failures else []
        cells += [cell(show.number(mine.paper))] if has_paper else []
        cells += [cell(show.number(row.cells[k].ours), _noise(show.number(row.cells[k].ci95))) for row in others]
        body.append((f"{size:,}", cells))
    return table(f"Mean {measured.measure} for each size n, with the 95 % interval of the mean", heads, body)


def _noise(half: str) -> Html | None:
    return None if half == "-" else tag("small", f" ± {half}")


def _savings(report: Report, measured: PaperTable) -> Html:
    show, rows = NumberWriter(measured.measure), own_rows(report)
    by_reward = measured.measure == "reward"
    has_paper = any(cell.saving and cell.saving.paper is not None for cell in rows[0].cells)
    heads = [f"against {row.against}" for row in rows]
    heads += [f"the paper's, against {rows[0].against}"] if has_paper else []
    body = []
    for k, size in enumerate(measured.sizes):
        cells: list[Cell] = []
        for row in rows:
            saving, other = row.cells[k].saving, next(one for one in measured.rows if one.label == row.against)
            if saving is None or row.cells[k].solved < 1:
                cells.append(cell("-" if saving is None else "not all solved", tone="faint"))
                continue
            level = other.cells[k].ours
            share = tag("small", f" ({saving.ours / level:+.0%})") if level and not by_reward else None
            tone = "good" if saving.ours > saving.ci95 else "bad" if -saving.ours > saving.ci95 else None
            cells.append(cell(show.number(saving.ours), _noise(show.number(saving.ci95)), share, tone=tone))
        if has_paper:
            first = rows[0].cells[k].saving
            cells.append(cell(show.number(first.paper if first else None)))
        body.append((f"{size:,}", cells))
    what = "reward gained" if by_reward else f"{measured.measure} saved"
    caption = f"Mean {what} on the same instances: what is above 0 is better than the teacher"
    return table(caption, ["n", *heads], body)


# Growth


def show_growth(report: Report) -> Html | None:
    """Return how steps grow with the size: charts, and the fitted exponents."""
    measured = report.comparison
    if measured is None:
        return None
    if measured.measure == "reward":
        said = tag("p", "Steps are a budget here, so what grows with n is the reward.")
        return join(said, figures([growth_chart(measured)], "growth"))
    chart = figures([one for one in (growth_chart(measured), ratio_chart(measured, report.teacher)) if one], "growth")
    body: list[tuple[str, list[Cell]]] = []
    for label, row in {row.label: row for row in measured.rows}.items():
        fits = [(label, growth_of(row))]
        if not row.is_teacher and row.paper_label:
            fits.append((f"the paper's {row.paper_label}", paper_growth_of(row)))
        for name, fit in fits:
            if fit is None:
                body.append((name, [cell("too few sizes are solved", span=4)]))
                continue
            log = "-" if fit.per_doubling is None else f"{fit.per_doubling:+.2f} steps"
            exponent = cell(f"{fit.exponent:.2f}", tag("small", f" ± {fit.ci95:.2f}"))
            span = cell(f"{fit.sizes[0]:,} to {fit.sizes[-1]:,} ({len(fit.sizes)} sizes)")
            body.append((name, [exponent, cell(f"{10**fit.exponent:.3g} times"), cell(log), span]))
    explained = (
        "The exponent k is that of the power n^k which fits best, by least squares on the logarithms of size and mean;"
        " ± is its 95 % interval. 1 means that twice the input takes twice the steps, 2 that it takes four times as"
        " many. Where a logarithm fits better than a power, it is said how many steps each doubling of n adds."
    )
    heads = ["", "exponent k", "steps at ten times the size", "or: each doubling", "fitted over n"]
    return join(chart, table("How the number of steps grows with n", heads, body), tag("p", explained, class_="faint"))
