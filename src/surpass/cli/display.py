"""What a command shows while it works: a live view on a terminal, plain lines elsewhere.

A thread shows it, so it lives on while something is loaded, compiled or computed. On a terminal it disappears when the
work is done. What the package logs meanwhile becomes a part of it.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from surpass.printing import wrap

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

PATIENCE = 2.0
"""Seconds before anything is shown, unless the work is known to take long."""
REFRESH = 0.25
"""Seconds between two drawings."""
LEAST_PAUSE, MOST_PAUSE, PAUSE_SHARE = 2.0, 300.0, 0.25
"""Seconds between plain lines while there is news, and the share of the time so far that they grow to."""
STILL_EVERY = 60.0
"""Seconds between plain lines at least while there is none."""


def is_terminal() -> bool:
    """Return whether the error stream is a terminal on which lines can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class Display:
    """Something that is shown for the length of a block. On a terminal `draw` is called again and again."""

    patience = PATIENCE
    """Seconds before anything is drawn."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.message = ""
        """What the package said last, until there is news."""
        self._is_drawn = is_terminal()
        self._last_line = self.began
        self._told_last = ""
        self._has_news = False
        self._ended = threading.Event()
        self._lock = threading.RLock()
        self._live: Live | None = None
        self._thread = threading.Thread(target=self._keep_showing, daemon=True)

    @property
    def seconds(self) -> float:
        """How long it has been there."""
        return time.monotonic() - self.began

    @property
    def pause(self) -> float:
        """How many seconds lie between plain lines while there is news: more and more."""
        return min(MOST_PAUSE, max(LEAST_PAUSE, PAUSE_SHARE * self.seconds))

    @abstractmethod
    def draw(self) -> RenderableType:
        """Return what a terminal shows now."""

    @abstractmethod
    def describe(self) -> str:
        """Return what there is to say now, as a plain line."""

    def gist(self) -> str:
        """Return what of the plain line is news: without it no line is printed."""
        return self.describe()

    def announce(self, *, urgent: bool) -> None:
        """Note that there is news; where there is no terminal a line says it, now if it is urgent."""
        with self._lock:
            self._has_news, self.message = True, ""
            if not self._is_drawn:
                self._tell_again(urgent=urgent)

    def on_log(self, message: str, *, is_warning: bool) -> None:
        """Show a message of the package: what it is doing, or a warning, which stays."""
        with self._lock:
            if not is_warning:
                self._has_news, self.message = True, message
            if is_warning or not self._is_drawn:
                with self.paused():
                    self._print(f"surpass: {message}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to something else for the length of a block."""
        with self._lock:
            self._erase()
            yield

    def __enter__(self) -> Self:
        _shown.append(self)
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        _shown.remove(self)
        with self._lock:
            self._erase()
        self._thread.join(REFRESH)

    def _keep_showing(self) -> None:
        waits = self.patience if self._is_drawn else REFRESH
        while not self._ended.wait(waits):
            waits = REFRESH
            with self._lock:
                if not self._ended.is_set():
                    self._show() if self._is_drawn else self._tell_again()

    def _tell_again(self, *, urgent: bool = False) -> None:
        """Print a plain line if there is news that no line has told yet, or if there has been none for long."""
        waited = time.monotonic() - self._last_line
        is_due = self._has_news and not self.message and (urgent or waited >= self.pause)
        if is_due and (gist := self.gist()) != self._told_last:
            self._told_last = gist
            self._print(self.describe())
        elif waited >= max(STILL_EVERY, self.pause):
            self._print(f"still running ({clock(self.seconds)})")

    def _show(self) -> None:
        from rich.console import Console
        from rich.live import Live

        if self._live is None:
            # Other streams are not redirected: what is printed to the output must go there.
            options: dict[str, Any] = {"auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
            self._live = Live(console=Console(stderr=True), transient=True, **options)
            self._live.start()
        self._live.update(self.draw(), refresh=True)

    def _erase(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, line: str) -> None:
        self._last_line, self._has_news = time.monotonic(), False
        print(fit(line), file=sys.stderr, flush=True)


_shown: list[Display] = []
"""What is shown now; of several the last."""


class ProgressDisplay(Display):
    """Shows what is being worked on and how much of it is done."""

    def __init__(self) -> None:
        super().__init__()
        self._what, self._done, self._total = "", 0, None  # type: str, int, int | None

    def __call__(self, what: str, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` of `what` are done; the total may be unknown."""
        with self._lock:
            self._what, self._done, self._total = what, done, total
            self.announce(urgent=done == total and self._told_last.startswith(f"{what}: "))

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


class DisplayHandler(logging.Handler):
    """Passes what the package logs to what is shown now, or to the error stream."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        text = record.getMessage()
        if _shown:
            _shown[-1].on_log(text, is_warning=record.levelno >= logging.WARNING)
        else:
            print(fit(f"surpass: {text}"), file=sys.stderr, flush=True)


# Texts


def fit(line: str) -> str:
    """Return a message for the error stream; on a terminal it is broken between words."""
    return wrap(line, width=shutil.get_terminal_size().columns) if sys.stderr.isatty() else line


def clock(seconds: float) -> str:
    """Return a length of time such as 0:07, 12:30 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def brief(number: float) -> str:
    """Return a number in three digits, such as 87, 12.3 k or 1.92 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"
