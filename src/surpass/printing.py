"""How results print: aligned tables, numbers, counts, and a base for objects that print well everywhere."""

from __future__ import annotations

import html
import io
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Literal

Progress = Callable[[str, int, int | None], None]
"""Is called as `progress(what, done, total)` while something takes long; the total may be None."""
USUAL_WIDTH = 120
"""How many columns lines have where there is no terminal."""
NARROWEST = 40
"""Fewer columns are not made use of."""
MARGIN = "  "
"""What stands before the lines of a table."""
HEADINGS, WORDS = 1, 2
"""What is broken in a table that is too wide."""
WRAPPED = 16
"""The least width of a column of words that are broken."""


class Printed:
    """A result that prints as its `__str__`: on a terminal, in an interactive session and in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        tables: dict[str, str] = {}
        token = _tables.set(tables)
        try:
            parts = re.split("(\0\\d+\0)\n", str(self))
        finally:
            _tables.reset(token)
        return "".join(tables.get(part) or _html_text(part) for part in parts if part.strip("\n"))


_tables: ContextVar[dict[str, str] | None] = ContextVar("_tables", default=None)
"""While a text is written for a notebook: the HTML of each of its tables, by the mark that stands there instead."""


def line_width() -> int:
    """Return how many columns a line may have: the terminal's, or 120 where there is none; `COLUMNS` overrules both."""
    usual = (USUAL_WIDTH, 24)
    found = usual[0] if not (os.environ.get("COLUMNS") or _is_terminal()) else shutil.get_terminal_size(usual).columns
    return max(NARROWEST, found)


def _is_terminal() -> bool:
    return bool(sys.stdout and sys.stdout.isatty())


def wrap(text: str, indent: str = "", *, first: str | None = None, width: int | None = None) -> str:
    """Return a text in lines that fit, broken between words; those below the first begin with `indent`.

    A word that is longer than a line stays whole, so that it can be copied.
    """
    begin, room, lines = indent if first is None else first, width or line_width(), []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(
            line, room, initial_indent=begin, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
        begin = indent
    return "\n".join(lines)


# Tables


def text_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str = "",
    *,
    spare: Sequence[str] = (),
    width: int | None = None,
) -> str:
    """Return a table as lines of text, numbers aligned to the right and words to the left.

    A table that is too wide first leaves out its `spare` columns, the first one first, as far as it must. Then it
    breaks its headings, and then its words. Then its rows have their names on lines of their own, and at last a line
    for each cell. Numbers and names stay whole.
    """
    if (tables := _tables.get()) is not None:
        mark = f"\0{len(tables)}\0"
        tables[mark] = html_table(title, columns, rows, note)
        return f"{mark}\n"
    room = (width or line_width()) - len(MARGIN)
    lines = [wrap(title, "    ", first="", width=width)] if title else []
    lines += [MARGIN + line if line else "" for line in _lay_out(columns, rows, spare, room)]
    if note:
        lines.append(wrap(note, MARGIN, width=width))
    return "\n".join(lines) + "\n"


def _lay_out(columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], room: int) -> list[str]:
    """Return the lines of a table in the first of the shapes that fits."""
    for less in range(len(spare) + 1):
        kept = [k for k, heading in enumerate(columns) if heading not in spare[:less]]
        few, fewer = [columns[k] for k in kept], [[row[k] for k in kept] for row in rows]
        if (lines := _draw(few, fewer, room)) is not None:
            return lines
    for breaks in (HEADINGS, WORDS):
        if (lines := _draw(few, fewer, room, breaks)) is not None:
            return lines
    names, others = [row[0] for row in fewer], [row[1:] for row in fewer]
    rest = _draw(few[1:], others, room - 2 * len(MARGIN), HEADINGS) if _are_words(names) else None
    if rest is None:
        return _draw_records(few, fewer, room)
    top = len(rest) - len(rows)
    lines = [few[0], *(MARGIN * 2 + line for line in rest[:top])]
    for name, line in zip(names, rest[top:], strict=True):
        lines += [*_fold(name, "", room), MARGIN * 2 + line]
    return lines


def _are_words(cells: Sequence[str]) -> bool:
    said = [cell for cell in cells if cell not in ("", "-")]
    return sum(cell.lstrip()[:1].isalpha() for cell in said) > len(said) / 2


def _draw(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int, breaks: int = 0) -> list[str] | None:
    """Return the lines of columns side by side, with `HEADINGS` or also `WORDS` broken; None if they do not fit."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    wide = [max(map(len, cells), default=0) for cells in columns]
    least = list(wide)
    for k, (head, cells) in enumerate(zip(heads, columns, strict=True)):
        if breaks == WORDS and _are_words(cells):
            least[k] = min(wide[k], max([WRAPPED, *(len(word) for cell in cells for word in cell.split())]))
        # A heading is broken before a word, and not before a number or a sign.
        least[k] = max([least[k], *map(len, re.split(r" (?=[^\W\d])", head) if breaks else [head])])
    left = room - sum(least) - 2 * (len(heads) - 1)
    if left < 0:
        return None
    for k, head in enumerate(heads):
        more = min(left, max(0, len(head) - least[k], wide[k] - least[k]))
        left, least[k] = left - more, least[k] + more
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    titles = [wrap(head, width=size) for head, size in zip(heads, least, strict=True)]
    height = max(title.count("\n") for title in titles)
    for title, cells, size in zip(titles, columns, least, strict=True):
        justify: Literal["left", "right"] = "left" if _are_words(cells) else "right"
        table.add_column(Text("\n" * (height - title.count("\n")) + title), justify=justify, width=size)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=room, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]


def _draw_records(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[str]:
    """Return the lines of a table row by row, each cell on a line of its own behind its heading."""
    wide = max(map(len, heads[1:]), default=0) + len(MARGIN)
    lines: list[str] = []
    are_named = _are_words([row[0] for row in rows])
    for name, *cells in rows:
        lines += _fold(name if are_named else f"{heads[0]} {name}", "", room)
        for head, cell in zip(heads[1:], cells, strict=True):
            lines += _fold(cell, MARGIN * 2 + head.ljust(wide), room) if cell else []
    return lines


def _fold(text: str, head: str, room: int) -> list[str]:
    """Return a text behind its heading in lines that fit, broken anywhere if need be."""
    indent = " " * len(head) if head else MARGIN * 2
    broken = textwrap.wrap(head + text, room, subsequent_indent=indent, drop_whitespace=False)
    return [line.rstrip() for line in broken]


# HTML: no colours of its own, so that it is as light or as dark as the page around it

LEFT, RIGHT = (f"text-align: {side}; padding: 0.15em 0.8em 0.15em 0; " for side in ("left", "right"))
"""How the cells of a column stand."""


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Return a table as HTML, numbers aligned to the right; a row of a single cell is a heading of those below it."""
    whole = zip(*(row for row in rows if len(row) > 1), strict=True)
    styles = [LEFT if _are_words(cells) else RIGHT for cells in whole] or [LEFT] * len(columns)

    def write(row: Sequence[str], tag: str, more: str) -> str:
        span = f' colspan="{len(columns)}"' if len(row) < len(columns) else ""
        cells = (
            f'<{tag}{span} style="{style}{more}">{html.escape(text)}</{tag}>'
            for text, style in zip(row, [LEFT] if span else styles, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = write(columns, "th", "vertical-align: bottom; border-bottom: 1px solid currentColor")
    body = [
        write(row, "th", "") if len(row) < len(columns) else write(row, "td", "white-space: pre; vertical-align: top")
        for row in rows
    ]
    style = "border-collapse: collapse; table-layout: auto; margin: 0.2em 0; font-variant-numeric: tabular-nums"
    table = f'<table style="{style}"><thead>{head}</thead><tbody>{"".join(body)}</tbody></table>'
    caption = f'<figcaption style="font-weight: 600">{html.escape(title)}</figcaption>' if title else ""
    below = f"<small>{html.escape(note)}</small>" if note else ""
    return f'<figure style="margin: 0.5em 0">{caption}<div style="overflow-x: auto">{table}</div>{below}</figure>'


def _html_text(text: str) -> str:
    """Return text as HTML; what is laid out in columns keeps its lines, other lines are broken where they must be."""
    blocks = []
    for block in re.split("\n{2,}", text.strip("\n")):
        fit = "pre; overflow-x: auto" if re.search(r"\S {2,}\S", block) else "pre-wrap; word-break: normal"
        style = f"font-family: monospace; margin: 0.5em 0; white-space: {fit}"
        blocks.append(f'<pre style="{style}">{html.escape(block)}</pre>')
    return "".join(blocks)


# Numbers and words


def show_number(value: float | None, digits: int = 1) -> str:
    """Return a number with thousands separated, or a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.{digits}f}"


def finite(value: Any) -> Any:
    """Return plain data with None for each number that does not exist."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def count(number: int, one: str) -> str:
    """Return a number of things in words, such as `1 rule` or `1,200 rules`."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def truncate(text: str, most: int, tail: int = 0) -> str:
    """Return a text, cut if it is longer than `most` characters; the last `tail` of them stay."""
    return text if len(text) <= most else text[: most - 3 - tail] + "..." + text[len(text) - tail :]
