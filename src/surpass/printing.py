"""How results print: aligned tables, numbers, counts, and a base for objects that print well everywhere."""

from __future__ import annotations

import html
import math
import os
import re
import shutil
import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

USUAL_WIDTH = 120
"""How many columns lines have where there is no terminal."""
NARROWEST = 40
"""Fewer columns are not made use of."""
MARGIN, DEEPER = "  ", "    "
"""What stands before the lines of a table, and before what belongs to the line above."""
WRAPPED = 20
"""The least width that a column of broken cells is worth."""


class Printed:
    """A result that prints as its `__str__`: on a terminal, in an interactive session and in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def line_width() -> int:
    """Return how many columns a line may have: the terminal's, or 120 where there is none; `COLUMNS` overrules both."""
    usual = (USUAL_WIDTH, 24)
    found = usual[0] if not (os.environ.get("COLUMNS") or _is_terminal()) else shutil.get_terminal_size(usual).columns
    return max(NARROWEST, found)


def _is_terminal() -> bool:
    return bool(sys.stdout and sys.stdout.isatty())


def wrap(
    text: str, indent: str = "", *, first: str | None = None, width: int | None = None, breaks: bool = False
) -> str:
    """Return a text in lines that fit, broken between words; those below the first begin with `indent`.

    A word that is longer than a line stays whole, so that it can be copied, unless it `breaks`, behind a comma or the
    like.
    """
    lines, start, room = [], indent if first is None else first, width or line_width()
    for line in text.splitlines() or [""]:
        words = [part for word in line.split(" ") for part in (_break_word(word, room) if breaks else [f"{word} "])]
        current = start
        for word in words:
            if len((current + word).rstrip()) > room and current.strip():
                lines.append(current.rstrip())
                current = indent
            current += word
        lines.append(current.rstrip())
        start = indent
    return "\n".join(lines)


def _break_word(word: str, room: int) -> list[str]:
    """Return a word and the blank behind it in parts: whole, or broken behind a comma, a slash or a dash."""
    if len(word) <= room:
        return [f"{word} "]
    parts = re.findall(r"[^,/;|-]*[,/;|-]|[^,/;|-]+", word)
    return [*parts[:-1], f"{parts[-1]} "]


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

    A table that is wider than the lines may be first takes more lines for its heading, then leaves out its `spare`
    columns, which say nothing that the others do not say, then breaks the cells of its last column or puts its longest
    words on lines of their own, and then goes on below, or has a line for each cell. No cell is ever cut.
    """
    room = (width or line_width()) - len(MARGIN)
    lines = [wrap(title, "    ", first="", width=width)] if title else []
    lines += [MARGIN + line if line else "" for line in _lay_out(_columns(columns, rows), spare, room)]
    if note:
        lines.append(wrap(note, MARGIN, width=width))
    return "\n".join(lines) + "\n"


class _Column(NamedTuple):
    """A column of a table."""

    heading: str
    cells: tuple[str, ...]
    is_words: bool

    def lines(self, *, tall: bool) -> list[str]:
        """Return the heading: on one line, or on as many as make it no wider than it must be."""
        if not tall or self.is_continued:
            return [self.heading]
        narrowest = max(map(len, (*self.cells, *self.heading.split())), default=0)
        return wrap(self.heading, width=max(1, narrowest)).split("\n")

    def aligned(self, *, tall: bool, height: int) -> list[str]:
        """Return the lines of the heading and the cells, all equally wide."""
        heading = self.lines(tall=tall)
        texts = [*[""] * (height - len(heading)), *heading, *self.cells]
        width = max(map(len, texts))
        return [text.ljust(width) if self.is_words else text.rjust(width) for text in texts]

    @property
    def is_continued(self) -> bool:
        """Whether it belongs to the column before it, as the noise does to a mean."""
        return self.heading.startswith("±")


def _columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[_Column]:
    found = []
    for heading, *cells in zip(headings, *rows, strict=True):
        said = [cell for cell in cells if cell not in ("", "-")]
        words = sum(cell[0].isalpha() for cell in said)
        found.append(_Column(heading, tuple(cells), words > len(said) / 2))
    return found


def _lay_out(columns: list[_Column], spare: Sequence[str], room: int) -> list[str]:
    """Return the lines of a table in the first of the shapes that fits, or else in blocks."""
    needed = [column for column in columns if column.heading not in spare]
    for some, tall in ((columns, False), (columns, True), (needed, False), (needed, True)):
        lines = _draw(some, tall=tall)
        if _fits(lines, room):
            return lines
    *others, last = needed
    if others and (left := room - max(map(len, _draw(others, tall=True))) - 2) >= min(_width(last), WRAPPED):
        return _break_last(others, last, left)
    words = max((column for column in needed if column.is_words), key=_width, default=None)
    if words is not None and len(needed) > 2:
        rest = _draw([column for column in needed if column is not words], tall=True)
        if _fits(rest, room - len(DEEPER)):
            return _stack(words, rest, room, is_below=words is needed[-1])
    blocks = _draw_blocks(needed, room)
    return blocks if _fits(blocks, room) else _draw_records(needed, room)


def _fits(lines: Sequence[str], room: int) -> bool:
    return max(map(len, lines), default=0) <= room


def _width(column: _Column) -> int:
    return max(map(len, column.cells), default=0)


def _draw(columns: Sequence[_Column], *, tall: bool) -> list[str]:
    """Return the lines of columns side by side."""
    height = max(len(column.lines(tall=tall)) for column in columns)
    aligned = [column.aligned(tall=tall, height=height) for column in columns]
    return ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def _break_last(others: Sequence[_Column], last: _Column, room: int) -> list[str]:
    """Return the lines of a table in which the cells of the last column take as many lines as they need."""
    heading = wrap(last.heading, width=room).split("\n")
    texts = [wrap(cell, width=room, breaks=True).split("\n") for cell in last.cells]
    height = max(len(heading), *(len(column.lines(tall=True)) for column in others))
    aligned = [column.aligned(tall=True, height=height) for column in others]
    rows = ["  ".join(cells) for cells in zip(*aligned, strict=True)]
    lines = [f"{row}  {text}" for row, text in zip(rows, [*[""] * (height - len(heading)), *heading], strict=False)]
    for row, text in zip(rows[height:], texts, strict=True):
        lines += [f"{part}  {line}" for part, line in zip_longest([row], text, fillvalue=" " * len(row))]
    return [line.rstrip() for line in lines]


def _stack(words: _Column, rest: list[str], room: int, *, is_below: bool) -> list[str]:
    """Return the lines of a table whose longest words stand above, or below, the other cells of their row."""
    height = len(rest) - len(words.cells)
    heading = [DEEPER + line for line in rest[:height]]
    lines = [*heading, DEEPER * 2 + words.heading] if is_below else [words.heading, *heading]
    for cell, others in zip(words.cells, rest[height:], strict=True):
        name = wrap(cell, DEEPER * 2, first=DEEPER * 2 if is_below else "", width=room, breaks=True).split("\n")
        row = [DEEPER + others]
        lines += [*row, *name] if is_below else [*name, *row]
    return lines


def _draw_blocks(columns: Sequence[_Column], room: int) -> list[str]:
    """Return the lines of some columns after the other, each block beginning with the first column."""
    key, *others = columns
    groups: list[list[_Column]] = []
    for column in others:
        if groups and column.is_continued:
            groups[-1].append(column)
        else:
            groups.append([column])
    blocks: list[list[_Column]] = []
    for group in groups:
        if blocks and _fits(_draw([key, *blocks[-1], *group], tall=True), room):
            blocks[-1] += group
        else:
            blocks.append(list(group))
    lines: list[str] = []
    for block in blocks or [[]]:
        lines += [*([""] if lines else []), *_draw([key, *block], tall=True)]
    return lines


def _draw_records(columns: Sequence[_Column], room: int) -> list[str]:
    """Return the lines of a table row by row, each cell on a line of its own behind its heading."""
    key, *others = columns
    margin = max((len(column.heading) for column in others), default=0) + len(MARGIN)
    lines: list[str] = []
    for k, name in enumerate(key.cells):
        lines += wrap(name, DEEPER, first="", width=room, breaks=True).split("\n")
        for column in others:
            head = DEEPER + column.heading.ljust(margin)
            lines += wrap(column.cells[k], " " * len(head), first=head, width=room, breaks=True).split("\n")
    return lines


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


def cut(text: str, most: int, tail: int = 0) -> str:
    """Return a text, cut if it is longer than `most` characters; the last `tail` of them stay."""
    return text if len(text) <= most else text[: most - 3 - tail] + "..." + text[len(text) - tail :]
