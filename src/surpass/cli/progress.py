"""Progress of long work: a bar on a terminal, plain lines elsewhere, nothing for work of under two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0
"""Seconds before anything is shown."""
PLAIN_EVERY = 10.0
"""Seconds between plain lines."""


class Progress:
    """Shows what is being worked on and how much of it is done."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._last_line = self._started - PLAIN_EVERY + PATIENCE
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._ended: set[str] = set()

    def __call__(self, what: str, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` of `what` are done; the total may be unknown."""
        now = time.monotonic()
        if now - self._started < PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(what, done, total)
        elif now - self._last_line >= PLAIN_EVERY or (
            done == total and what in self._tasks and what not in self._ended
        ):
            self._last_line = now
            self._tasks[what] = None
            if done == total:
                self._ended.add(what)
            shown = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            print(f"{what}: {shown}", file=sys.stderr, flush=True)

    def _draw(self, what: str, done: int, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total)
        self._bar.update(self._tasks[what], completed=done)

    def stop(self) -> None:
        """Remove what is shown."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a progress display for the length of a block."""
    progress = Progress()
    try:
        yield progress
    finally:
        progress.stop()
