"""HTML in which text stays text: everything that is not `Html` already is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


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


def table(caption: str, heads: Sequence[str], body: Sequence[Html]) -> Html:
    """Return a table of numbers with a caption, which scrolls where it is too wide."""
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    inside = tag("table", tag("thead", head), tag("tbody", *body), class_="numbers")
    return join(tag("p", caption, class_="caption"), scroll(inside, caption))


def scroll(inside: Html, label: str) -> Html:
    """Return something that scrolls sideways where it is too wide, with a label for those who do not see it."""
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=label)


def fold(title: str, inside: Html) -> Html:
    """Return something that is shown once its title is clicked on."""
    return tag("details", tag("summary", title), inside)
