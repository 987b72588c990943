"""A report as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import datetime
import shlex
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files

from surpass.agents import Progress
from surpass.errors import SettingError
from surpass.evaluation.layout import NumberWriter
from surpass.evaluation.reproduce import PaperCell, PaperRow
from surpass.learning.recipes import setting_text
from surpass.printing import count, cut
from surpass.programs.listing import list_program
from surpass.programs.usage import Usage
from surpass.visualize.headline import how_learned
from surpass.visualize.histories import SettingHistories
from surpass.visualize.learning_charts import learning_charts
from surpass.visualize.markup import Html, fold, join, scroll, tag
from surpass.visualize.report import Report
from surpass.visualize.report_numbers import figures, numbers_title, own_rows, show_growth, show_numbers
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
        ("numbers", numbers_title(report), show_numbers(report)),
        ("growth", "How it grows", show_growth(report)),
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
    table = report.comparison
    if table is None:
        return None
    show = NumberWriter(table.measure)
    own = own_rows(report)[0]
    cells = [cell for cell in own.cells if cell.instances]
    if not cells:
        return None
    last = cells[-1]
    tried = sum(cell.instances for cell in cells)
    solved = sum(cell.solved * cell.instances for cell in cells) / tried
    tiles = [(show.share(solved), f"of {tried:,} test instances solved")]
    if solved == 1:  # how many steps it takes to fail says nothing
        tiles = [*_level_tiles(report, own, last, show), *tiles]
    if report.program.usage is not None:
        tiles.append((f"{len(report.program.usage.program.rules):,}", "rules"))
    parts = [tag("div", tag("b", number), tag("span", what), class_="tile") for number, what in tiles]
    return tag("div", *parts, class_="tiles")


def _level_tiles(report: Report, own: PaperRow, last: PaperCell, show: NumberWriter) -> list[tuple[str, str]]:
    """Return what the agent, its teacher and the paper's come to at the largest size."""
    assert report.comparison is not None
    tiles = [(show.number(last.ours), f"{report.comparison.measure} at n = {last.size:,}")]
    teacher = [row for row in report.comparison.rows if row.label == report.teacher]
    level = [cell for row in teacher for cell in row.cells if cell.size == last.size and cell.instances]
    if level:
        tiles.append((show.number(level[0].ours), f"{report.teacher}, at the same size"))
    if last.paper is not None and report.subject.method:
        tiles.append((show.number(last.paper), f"the paper's {own.paper_label}"))
    return tiles


# How it was learned


def _how(report: Report, progress: Progress | None) -> Html:
    subject = report.subject
    parts: list[Html | None] = [tag("p", how_learned(subject))]
    if subject.notes and subject.history is None:
        parts.append(tag("p", subject.notes))
    if subject.history is not None and subject.history.rows:
        parts.append(_curves(report, progress))
    elif subject.recipe is not None:
        parts.append(tag("p", "What it measured while it learned is not kept in the zoo.", class_="faint"))
    if subject.command:
        parts += [tag("p", "This command does it again:"), tag("pre", subject.command, class_="command")]
    if subject.recipe is not None:
        parts.append(fold("The whole recipe", _recipe(report)))
    if subject.notes and subject.history is not None:
        parts.append(fold("What the learner says at the end", tag("pre", cut(subject.notes, MOST_CHARACTERS))))
    return join(*parts)


def _curves(report: Report, progress: Progress | None) -> Html:
    history = report.subject.history
    assert history is not None
    try:
        charts = learning_charts([SettingHistories(report.subject.label, (history,))], progress=progress)
    except SettingError as error:
        return tag("p", f"There is no chart: {error}.", class_="faint")
    return figures(charts, "learning")


def _recipe(report: Report) -> Html:
    recipe = report.subject.recipe or {}
    rows = [tag("tr", tag("th", key, scope="row"), tag("td", setting_text(value))) for key, value in recipe.items()]
    return scroll(tag("table", tag("tbody", *rows), class_="recipe"), "the recipe")


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
        f"{part.why} {size[0].upper()}{size[1:]}, written out as code: v1, v2 and so on are the agent's variables, and"
        f" a line with a number takes one step. Steps are shares of all {usage.steps:,} steps on {ran}."
    )
    listing, lines = _listing(usage)
    shown = listing if lines <= LONG_LISTING else fold(f"The listing, {count(lines, 'line')}", listing)
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
                tag("td", f"{share:.1%}" if line.rules else "", class_="number"),
                tag("td", bar, class_="share"),
                tag("td", tag("code", line.text)),
            )
        )
    head = tag("tr", *(tag("th", name, scope="col") for name in ("rule", "steps", "", "")))
    left = len(lines) - MOST_LINES
    rest = tag("p", f"{left:,} more lines are left out; surpass show prints them.") if left > 0 else None
    listed = tag("table", tag("thead", head), tag("tbody", *rows), class_="listing")
    return join(scroll(listed, "the listing"), rest), len(lines)


# The check


def _check(report: Report) -> Html | None:
    found = report.certificate
    if found is None:
        return None
    checked = [
        f"{sum(row.instances for row in found.small):,} small instances ({found.what}, n = 0 to {found.up_to:,})"
    ]
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
    kind = (
        "This is the whole check, as made by " if report.is_whole_check else "This is a short check; the whole one is "
    )
    beyond = ". A check is no proof for sizes and instances beyond it."
    said = tag("p", kind, tag("code", again), beyond, class_="faint")
    text = tag("pre", cut(str(found), MOST_CHARACTERS))
    return join(verdict, listed, said, fold("The certificate" if found.passed else "The failing instance", text))


def _footer(report: Report) -> Html:
    again = shlex.join(["surpass", "report", report.subject.name, "--out", "report.html"])
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return tag("footer", tag("p", f"Made by surpass {version('surpass')} on {day} with ", tag("code", again)))
