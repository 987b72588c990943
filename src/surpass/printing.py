"""How results print: aligned tables, numbers, counts, and a base for objects that print well everywhere."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any


class Printed:
    """A result that prints as its `__str__`: on a terminal, in an interactive session and in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def text_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Return a table as lines of text, every column aligned to the right."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [title] if title else []
    for row in (columns, *rows):
        lines.append("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if note:
        lines.append(f"  {note}")
    return "\n".join(lines) + "\n"


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


def cut(text: str, most: int) -> str:
    """Return a text, cut if it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
