"""A report as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files

import numpy as np

from surpass.agents import Progress
from surpass.errors import SettingError
from surpass.evaluation.growth import growth_of, paper_growth_of
from surpass.evaluation.layout import NumberWriter
from surpass.evaluation.reproduce import PaperRow, PaperTable
from surpass.learning.recipes import setting_text
from surpass.printing import count, cut
from surpass.programs.listing import list_program
from surpass.programs.usage import Usage
from surpass.visualize.charts import Chart, Line, inline_svg
from surpass.visualize.headline import how_learned
from surpass.visualize.histories import SettingHistories
from surpass.visualize.markup import Html, join, tag
from surpass.visualize.plots import growth_chart, how_counted, learning_charts
from surpass.visualize.report import Report
from surpass.visualize.viewer import content_policy, viewer_assets, viewer_fragment

LONG_LISTING = 60
"""A listing of more lines is folded."""
MOST_LINES = 1500
"""A listing is cut after so many lines."""
MOST_CHARACTERS = 20_000
"""Text of checks and notes is cut after so many characters."""


def write_page(report: Report, progress: Progress | None = None) -> Report:
    """Return a report with its page."""
    sections = [
        ("learned", "How it was learned", _how(report, progress)),
        ("numbers", "Against the teachers and the paper", _numbers(report)),
        ("growth", "How it grows", _growth(report)),
        ("watch", "Watch it", _films(report)),
        ("program", "The program", _program(report)),
        ("check", "What was checked", _check(report)),
    ]
    there = [(key, title, body) for key, title, body in sections if body is not None]
    body = join(
        _header(report),
        tag("nav", *(tag("a", title, href=f"#{key}") for key, title, _ in there), aria_label="On this page"),
        *(tag("section", tag("h2", title), part, id=key) for key, title, part in there),
        _footer(report),
    )
    title = f"{report.subject.label}: {report.subject.task.name}"
    return replace(report, html=_frame(title, body, bool(report.films.films)))


def _frame(title: str, body: Html, has_film: bool) -> str:
    style = Html(files("surpass.visualize").joinpath("report.css").read_text())
    head = join(
        Html('<meta charset="utf-8">'),
        Html(content_policy()),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", style),
        Html(viewer_assets()) if has_film else None,
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body><main>{body}</main></body>\n</html>\n'


# At the top


def _header(report: Report) -> Html:
    subject, headline = report.subject, report.headline
    return tag(
        "header",
        tag("p", f"surpass report · task {subject.task.name}", class_="kicker"),
        tag("h1", subject.name),
        tag("p", headline.text, class_=f"headline {headline.tone}"),
        _tiles(report),
        tag(
            "p",
            "A step is one executed instruction. A teacher is an algorithm that a person wrote for the same"
            " instructions. n is the size of the input. All agents run on the same instances, so that differences"
            " between them are not chance of the draw.",
            class_="faint",
        ),
    )


def _tiles(report: Report) -> Html | None:
    """Return the few numbers that matter most."""
    table, subject = report.comparison, report.subject
    if table is None:
        return None
    show = NumberWriter(table.measure)
    own = _own_rows(report)[0]
    cells = [cell for cell in own.cells if cell.instances]
    if not cells:
        return None
    last = cells[-1]
    tiles = [(show.number(last.ours), f"{table.measure} at n = {last.size:,}")]
    other = next((row for row in table.rows if row.label == report.teacher), None)
    level = next((cell for cell in other.cells if cell.size == last.size and cell.instances), None) if other else None
    if level is not None and subject.method:
        tiles.append((show.number(level.ours), f"{report.teacher}, at the same size"))
    if last.paper is not None and subject.method:
        tiles.append((show.number(last.paper), f"the paper's {own.paper_label}"))
    tried = sum(cell.instances for cell in cells)
    solved = sum(cell.solved * cell.instances for cell in cells) / tried
    tiles.append((show.share(solved), f"of {tried:,} test instances solved"))
    if report.program.usage is not None:
        tiles.append((f"{len(report.program.usage.program.rules):,}", "rules"))
    parts = [tag("div", tag("b", number), tag("span", what), class_="tile") for number, what in tiles]
    return tag("div", *parts, class_="tiles")


def _own_rows(report: Report) -> list[PaperRow]:
    """Return the rows of what the report is about, the one against its teacher first."""
    assert report.comparison is not None
    rows = [row for row in report.comparison.rows if row.label == report.subject.label]
    return sorted(rows, key=lambda row: row.against != report.teacher)


# How it was learned


def _how(report: Report, progress: Progress | None) -> Html:
    subject = report.subject
    parts: list[Html | None] = [tag("p", how_learned(subject))]
    if subject.history is not None and subject.history.rows:
        parts.append(_curves(report, progress))
    elif subject.recipe is not None:
        parts.append(tag("p", "What it measured while it learned is not kept in the zoo.", class_="faint"))
    if subject.command:
        parts += [tag("p", "This command does it again:"), tag("pre", subject.command, class_="command")]
    if subject.recipe is not None:
        parts.append(_fold("The whole recipe", _recipe(report)))
    if subject.notes:
        parts.append(_fold("What the learner says at the end", tag("pre", cut(subject.notes, MOST_CHARACTERS))))
    return join(*parts)


def _curves(report: Report, progress: Progress | None) -> Html:
    history = report.subject.history
    assert history is not None
    try:
        charts = learning_charts([SettingHistories(report.subject.label, (history,))], progress=progress)
    except SettingError as error:
        return tag("p", f"There is no chart: {error}.", class_="faint")
    return _figures(charts, "learning")


def _figures(charts: Sequence[Chart], name: str) -> Html:
    figures = [
        tag("figure", tag("figcaption", chart.title), Html(inline_svg(chart, name=f"{name}{number}")))
        for number, chart in enumerate(charts)
    ]
    return tag("div", *figures, class_="figures")


def _recipe(report: Report) -> Html:
    recipe = report.subject.recipe or {}
    rows = [tag("tr", tag("th", key, scope="row"), tag("td", setting_text(value))) for key, value in recipe.items()]
    return _scroll(tag("table", tag("tbody", *rows), class_="recipe"))


# Numbers


def _numbers(report: Report) -> Html | None:
    table = report.comparison
    if table is None:
        return None
    parts = [tag("p", how_counted(report.subject.task, table)), _means(report, table)]
    if any(row.against for row in _own_rows(report)):
        parts.append(_savings(report, table))
    return join(*parts)


def _means(report: Report, table: PaperTable) -> Html:
    show, own = NumberWriter(table.measure), _own_rows(report)[0]
    rows = [row for row in table.rows if row.label != own.label]
    heads = [*(row.label for row in rows), own.label]
    has_paper = any(cell.paper is not None for cell in own.cells)
    has_failures = any(cell.instances and cell.solved < 1 for cell in own.cells)
    heads += [f"the paper's {own.paper_label}"] if has_paper else []
    heads += ["solved"] if has_failures else []
    body = []
    for k, size in enumerate(table.sizes):
        cells = [tag("td", show.number(row.cells[k].ours), _noise(show.number(row.cells[k].ci95))) for row in rows]
        cell = own.cells[k]
        cells.append(tag("td", show.number(cell.ours), _noise(show.number(cell.ci95)), class_="own"))
        cells += [tag("td", show.number(cell.paper))] if has_paper else []
        cells += [tag("td", show.share(cell.solved), class_="bad" if cell.solved < 1 else None)] if has_failures else []
        body.append(tag("tr", tag("th", f"{size:,}", scope="row"), *cells))
    caption = f"Mean {table.measure} for each size n, with the 95 % interval of the mean"
    return _table(caption, ["n", *heads], body)


def _noise(half: str) -> Html | None:
    return None if half == "-" else tag("small", f" ± {half}")


def _savings(report: Report, table: PaperTable) -> Html:
    show, rows = NumberWriter(table.measure), _own_rows(report)
    by_reward = table.measure == "reward"
    has_paper = any(cell.saving and cell.saving.paper is not None for cell in rows[0].cells)
    heads = [f"against {row.against}" for row in rows]
    heads += [f"the paper's, against {rows[0].against}"] if has_paper else []
    body = []
    for k, size in enumerate(table.sizes):
        cells = []
        for row in rows:
            saving, other = row.cells[k].saving, next(one for one in table.rows if one.label == row.against)
            if saving is None:
                cells.append(tag("td", "-"))
                continue
            level = other.cells[k].ours
            share = tag("small", f" ({saving.ours / level:+.0%})") if level and not by_reward else None
            tone = "good" if saving.ours > saving.ci95 else "bad" if -saving.ours > saving.ci95 else None
            cells.append(tag("td", show.number(saving.ours), _noise(show.number(saving.ci95)), share, class_=tone))
        if has_paper:
            first = rows[0].cells[k].saving
            cells.append(tag("td", show.number(first.paper if first else None)))
        body.append(tag("tr", tag("th", f"{size:,}", scope="row"), *cells))
    what = "reward gained" if by_reward else f"{table.measure} saved"
    caption = f"Mean {what} on the same instances: what is above 0 is better than the teacher"
    return _table(caption, ["n", *heads], body)


def _share_chart(report: Report, table: PaperTable) -> Chart | None:
    """Return the steps as shares of the first teacher's, size by size."""
    rows = {row.label: row for row in table.rows}
    if report.teacher not in rows:
        return None
    level = {cell.size: cell.ours for cell in rows[report.teacher].cells if cell.instances and cell.ours > 0}
    lines = []
    for label, row in rows.items():
        cells = [cell for cell in row.cells if cell.instances and cell.size in level]
        x = np.array([float(cell.size) for cell in cells])
        y = np.array([cell.ours / level[cell.size] for cell in cells])
        role = "teacher" if row.is_teacher else "learned"
        if len(x) and (label == report.teacher or not row.is_teacher):
            lines.append(Line(label, x, y, role=role))  # type: ignore[arg-type]
    own = _own_rows(report)[0]
    printed = [(float(c.size), c.paper / level[c.size]) for c in own.cells if c.paper and c.size in level]
    if printed:
        x, y = np.array(printed).T
        lines.append(Line(f"the paper's {own.paper_label}", x, y, role="paper", colour=0))
    title = f"Steps as a multiple of those of {report.teacher}: below 1 is better"
    return Chart(title, "size n", "times its steps", tuple(lines), log_x=True, marks=True) if lines else None


# Growth


def _growth(report: Report) -> Html | None:
    table = report.comparison
    if table is None:
        return None
    if table.measure == "reward":
        said = tag("p", "Steps are a budget here, so what grows with n is the reward.")
        return join(said, _figures([growth_chart(table)], "growth"))
    chart = _figures([one for one in (growth_chart(table), _share_chart(report, table)) if one], "growth")
    body, fitted = [], []
    for label, row in {row.label: row for row in table.rows}.items():
        fits = [(label, growth_of(row))]
        if not row.is_teacher and row.paper_label:
            fits.append((f"the paper's {row.paper_label}", paper_growth_of(row)))
        for name, fit in fits:
            if fit is None:
                body.append(tag("tr", tag("th", name, scope="row"), tag("td", "too few sizes are solved", colspan=3)))
                continue
            fitted.append(fit)
            log = "-" if fit.per_doubling is None else f"{fit.per_doubling:+.2f} steps"
            cells = (f"{fit.exponent:.2f}", f"× {10**fit.exponent:.3g}", log)
            span = tag("td", f"{fit.sizes[0]:,} to {fit.sizes[-1]:,} ({len(fit.sizes)} sizes)")
            first = tag("td", cells[0], tag("small", f" ± {fit.ci95:.2f}"))
            rest = (tag("td", cells[1]), tag("td", cells[2]), span)
            body.append(tag("tr", tag("th", name, scope="row"), first, *rest))
    explained = (
        "The exponent k is that of the power n^k which fits best, by least squares on the logarithms of size and mean;"
        " ± is its 95 % interval. 1 means that twice the input takes twice the steps, 2 that it takes four times as"
        " many. Where a logarithm fits better than a power, the last but one column says how many steps a doubling adds."
    )
    heads = ["", "exponent k", "steps at ten times the size", "or: each doubling", "fitted over n"]
    return join(chart, _table("How the number of steps grows with n", heads, body), tag("p", explained, class_="faint"))


# Films


def _films(report: Report) -> Html | None:
    part = report.films
    if report.subject.agent is None:
        return None
    if not part.films:
        return tag("p", part.why)
    return join(tag("p", part.why), Html(viewer_fragment(part.films, element_id="viewer")))


# The program


def _program(report: Report) -> Html | None:
    part = report.program
    if report.subject.agent is None:
        return None
    if part.usage is None:
        return tag("p", part.why)
    usage = part.usage
    program, results = usage.program, usage.results
    size = f"{count(len(program.rules), 'rule')} at {count(len(program.places), 'place')}"
    ran = f"{count(len(results.sizes), 'instance')} of size {int(results.sizes[0]):,}"
    said = (
        f"{part.why} {size[0].upper()}{size[1:]}, written out as code: v1, v2 and so on are the agent's variables, and a"
        f" line with a number takes one step. Steps are shares of all {usage.steps:,} steps on {ran}."
    )
    listing, lines = _listing(usage)
    shown = listing if lines <= LONG_LISTING else _fold(f"The listing, {count(lines, 'line')}", listing)
    return join(tag("p", said), shown)


def _listing(usage: Usage) -> tuple[Html, int]:
    """Return the listing with the share of each line, and how many lines it has."""
    lines = list_program(usage.program)
    rows = []
    for line in lines[:MOST_LINES]:
        share = sum(int(usage.fired[rule]) for rule in line.rules) / max(1, usage.steps)
        numbers = "+".join(str(rule + 1) for rule in line.rules)
        bar = tag("span", class_="bar", style=f"width:{100 * share:.1f}%") if line.rules else None
        rows.append(
            tag(
                "tr",
                tag("td", numbers, class_="number"),
                tag("td", tag("code", line.text)),
                tag("td", f"{share:.1%}" if line.rules else "", class_="number"),
                tag("td", bar, class_="share"),
            )
        )
    head = tag("tr", *(tag("th", name, scope="col") for name in ("rule", "", "steps", "")))
    left = len(lines) - MOST_LINES
    rest = tag("p", f"{left:,} more lines are left out; surpass show prints them.") if left > 0 else None
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="listing")
    return join(_scroll(table), rest), len(lines)


# The check


def _check(report: Report) -> Html | None:
    found = report.certificate
    if found is None:
        return None
    checked = [f"{sum(row.instances for row in found.small):,} small instances ({found.what}, n = 0 to {found.up_to:,})"]
    if found.drawn:
        sizes = ", ".join(f"{row.size:,}" for row in found.drawn)
        drawn = sum(row.instances for row in found.drawn)
        checked.append(f"{drawn:,} drawn from {', '.join(found.data)} at n = {sizes}")
    if found.explored:
        checked.append(f"{found.explored.instances:,} that a search for odd ones made")
    listed = tag("ul", *(tag("li", one) for one in checked))
    if found.passed:
        verdict = tag("p", f"Passed: each of {found.instances:,} instances was solved within {found.limit} steps.")
    else:
        verdict = tag("p", "Failed: there is an instance that it does not solve.", class_="bad")
    again = shlex.join(["surpass", "check", report.subject.name])
    kind = "This is the whole check, as made by " if report.is_whole_check else "This is a short check; the whole one is "
    beyond = ". A check is no proof for sizes and instances beyond it."
    said = tag("p", kind, tag("code", again), beyond, class_="faint")
    text = tag("pre", cut(str(found), MOST_CHARACTERS))
    return join(verdict, listed, said, _fold("The certificate" if found.passed else "The failing instance", text))


# Pieces


def _table(caption: str, heads: Sequence[str], body: Sequence[Html]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    return _scroll(tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_="numbers"))


def _scroll(inside: Html) -> Html:
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label="a table")


def _fold(title: str, inside: Html) -> Html:
    return tag("details", tag("summary", title), inside)


def _footer(report: Report) -> Html:
    again = shlex.join(["surpass", "report", report.subject.name, "--out", "report.html"])
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return tag("footer", tag("p", f"Made by surpass {version('surpass')} on {day} with ", tag("code", again)))
