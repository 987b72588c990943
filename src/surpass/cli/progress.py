"""Progress of work that may take long: a bar on a terminal, plain lines elsewhere, nothing within two seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from surpass.cli.display import PATIENCE, PLAIN_EVERY, Display, clock

if TYPE_CHECKING:
    from rich.console import RenderableType


class ProgressDisplay(Display):
    """Shows what is being worked on and how much of it is done."""

    def __init__(self) -> None:
        super().__init__()
        self._what, self._done, self._total = "", 0, None  # type: str, int, int | None
        self._told: set[str] = set()
        self._next_line = self.began + PATIENCE
        self._since = self.began

    def __call__(self, what: str, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` of `what` are done; the total may be unknown."""
        with self._lock:
            now, is_end = time.monotonic(), done == total and what in self._told
            if what != self._what:
                self._since = now
            self._what, self._done, self._total = what, done, total
            # Quick work is announced only after a long silence.
            is_due = now >= self._next_line and (now - self._since >= PATIENCE or now >= self._next_line + PLAIN_EVERY)
            if is_due or is_end:
                self._next_line = now + PLAIN_EVERY
                (self._told.discard if is_end else self._told.add)(what)
            self.announce(urgent=is_due or is_end)

    @property
    def _count(self) -> str:
        return f"{self._done:,}" if self._total is None else f"{self._done:,} of {self._total:,}"

    def describe(self) -> str:
        """Return how far it is, as a plain line."""
        return f"{self._what}: {self._count}"

    def draw(self) -> RenderableType:
        """Return a bar, or what is done if there is no total, and the last message."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 2))
        bar = [ProgressBar(self._total, self._done, width=20)] if self._total else []
        line.add_row(
            Text(self._what or "loading"),
            *bar,
            Text(self._count if self._done or bar else ""),
            Text(clock(self.seconds), style="dim"),
        )
        return Group(line, Text(self.message)) if self.message else line


def show_progress() -> ProgressDisplay:
    """Return a progress display for the length of a `with` block."""
    return ProgressDisplay()
