"""Tables: drawn on a terminal, aligned plain text elsewhere."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

__all__ = ["print_table", "show_number"]


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Print a table; every column but the first of a text table is right-aligned."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
        for column in columns:
            table.add_column(column, justify="right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(column), *(len(row[k]) for row in rows)) for k, column in enumerate(columns)]
    print(title)
    for row in (columns, *rows):
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if note:
        print(f"  {note}")
    print()


def show_number(value: float | None, digits: int = 1) -> str:
    """Return a number with thousands separated, or a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.{digits}f}"
