"""HTML in which text stays text: everything that is not `Html` already is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

NARROW, MARGIN = 40, 2
"""How many letters wide a table may be on the screen of a phone, and how many the margins of a column are."""


class Html(str):
    """A piece of HTML, which is put into a page as it is."""

    __slots__ = ()


def as_html(value: object) -> Html:
    """Return a value as HTML: a piece of it as it is, anything else as text."""
    return value if isinstance(value, Html) else Html(escape(str(value), quote=True))


def join(*children: object) -> Html:
    """Return pieces one after another; None is nothing."""
    return Html("".join(as_html(child) for child in children if child is not None))


def tag(name: str, *children: object, **attributes: Any) -> Html:
    """Return an element; attributes that are None are left out, and `class_` is `class`."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    head = "".join(f' {key}="{escape(str(value), quote=True)}"' for key, value in given.items())
    return Html(f"<{name}{head}>{join(*children)}</{name}>")


class Cell(NamedTuple):
    """A cell of a table of numbers."""

    children: tuple[object, ...]
    tone: str | None = None
    """Its class, if it has one."""
    span: int | None = None
    """Over how many columns it goes, if over several."""


def cell(*children: object, tone: str | None = None, span: int | None = None) -> Cell:
    """Return a cell of a table of numbers."""
    return Cell(tuple(child for child in children if child is not None), tone, span)


def table(caption: str, heads: Sequence[str], body: Sequence[tuple[str, Sequence[Cell]]]) -> Html:
    """Return a table of numbers with a caption: each row has its name, then its cells.

    Where the screen is narrow and the table too wide for it, the cells of a row stand below one another, each with the
    name of its column before it.
    """
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    rows = []
    for name, cells in body:
        # By the column, for the cells that stand below one another; a screen reader has the heads.
        labelled = (
            tag("td", tag("span", *one.children), class_=one.tone, colspan=one.span, data_label=label)
            for one, label in zip(cells, heads[1:], strict=False)
        )
        first = tag("th", tag("span", f"{heads[0]} = ", class_="unit") if heads[0] else None, name, scope="row")
        rows.append(tag("tr", first, *labelled))
    is_wide = _width(heads, body) > NARROW
    inside = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers stacked" if is_wide else "numbers")
    return join(tag("p", caption, class_="caption"), scroll(inside, caption))


def _width(heads: Sequence[str], body: Sequence[tuple[str, Sequence[Cell]]]) -> int:
    """Return how wide a table is at the least, in letters: names of columns are broken at spaces, numbers are not."""
    wide = [max(map(len, re.split(r"[\s/-]", name))) for name in heads]
    for name, cells in body:
        wide[0] = max(wide[0], len(name))
        for k, one in enumerate(cells, 1):
            if one.span is None:
                wide[k] = max(wide[k], sum(len(re.sub("<[^>]*>", "", str(child))) for child in one.children))
    return sum(wide) + MARGIN * len(wide)


def scroll(inside: Html, label: str) -> Html:
    """Return something that scrolls sideways where it is too wide, with a label for those who do not see it."""
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=label)


def fold(title: str, inside: Html) -> Html:
    """Return something that is shown once its title is clicked on."""
    return tag("details", tag("summary", title), inside)
