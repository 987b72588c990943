"""Compiled calls beside the thread that waits for them, so that Ctrl-C comes through.

Python looks for an interruption between two of its own steps, and a compiled call is one step, however long. So long
calls are made by other threads, and the one that waits tells them to stop.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from surpass.arrays import Ints
from surpass.errors import DeclarationError, SurpassError
from surpass.tasks.user_code import describe_error

_log = logging.getLogger(__name__)

Call = tuple[Callable[..., None], tuple[Any, ...]]
"""A compiled loop and its arguments."""

POLL_SECONDS = 0.5
"""Seconds between two looks at how far the calls have come."""
GRACE = 1.0
"""Seconds that calls have to return once they are told to stop."""


class _Worker(Thread):
    """A thread that serves one pool after the other: to start one takes longer than most calls."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.pools: SimpleQueue[InterruptiblePool] = SimpleQueue()
        self.start()

    def run(self) -> None:
        """Serve pools until the process ends."""
        while True:
            pool = self.pools.get()
            pool.serve()
            _idle.append(self)
            pool.left.put(None)
            del pool


_idle: list[_Worker] = []
"""The workers that serve no pool."""


class InterruptiblePool:
    """Threads that make compiled calls; they do not keep the process from ending."""

    def __init__(self, threads: int, stop: Ints, what: str) -> None:
        self._threads, self._stop, self._what = threads, stop, what
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._ends: SimpleQueue[BaseException | None] = SimpleQueue()
        self.left: SimpleQueue[None] = SimpleQueue()
        """Has an item for each worker that has left."""
        for _ in range(threads):
            try:
                worker = _idle.pop()
            except IndexError:
                worker = _Worker()
            worker.pools.put(self)

    def __enter__(self) -> InterruptiblePool:
        return self

    def __exit__(self, *error: object) -> None:
        for _ in range(self._threads):
            self._calls.put(None)
        if error[0] is None:
            # A thread that is still there when the process ends would be cut off in the midst of compiled code.
            with suppress(Empty):
                for _ in range(self._threads):
                    self.left.get(timeout=GRACE)

    def serve(self) -> None:
        """Make calls until there are no more."""
        while (call := self._calls.get()) is not None:
            failure = None
            try:
                make_call(call, self._what)
            except BaseException as error:
                failure = error
            self._ends.put(failure)

    def make(self, calls: Sequence[Call], look: Callable[[], None] | None = None) -> None:
        """Make calls side by side and wait for them; `look` is called now and then.

        If anything is raised meanwhile, the others are told to stop: `stop[0]` is 1 then.
        """
        for call in calls:
            self._calls.put(call)
        left = len(calls)
        try:
            while left:
                with suppress(Empty):
                    error = self._ends.get(timeout=POLL_SECONDS)
                    left -= 1
                    if error is not None:
                        raise error
                if look:
                    look()
        except BaseException:
            self._stop[0] = 1
            self._wait_for(left)
            raise

    def _wait_for(self, left: int) -> None:
        """Wait a moment for calls to return; one in an endless kernel is left behind."""
        until = time.monotonic() + GRACE
        try:
            for _ in range(left):
                self._ends.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            _log.warning("a kernel of %s does not end; it is left behind", self._what)


def make_call(call: Call, what: str) -> None:
    """Make a compiled call; what a kernel raises becomes a `DeclarationError`."""
    kernel, arguments = call
    try:
        kernel(*arguments)
    except (SurpassError, MemoryError):
        raise
    except Exception as error:
        said = f"a kernel of task {what!r} raises {describe_error(error)}; kernels must not raise"
        raise DeclarationError(said) from error


def run_in_thread(what: str, kernel: Callable[..., None], *arguments: Any) -> None:
    """Make one compiled call in a thread of its own and wait for it; an interruption leaves it behind."""
    with InterruptiblePool(1, np.zeros(1, np.int64), what) as pool:
        pool.make([(kernel, arguments)])
