"""What may come of bad input: a refusal in one sentence, or what would have come of good input."""

from __future__ import annotations

import faulthandler
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surpass.errors import SurpassError

SECONDS = 30
"""How much time of a core anything may take."""
PATIENCE = 3600
"""After so many seconds of the clock the process ends and shows where it was stuck."""
MEMORY = 4 << 30
"""How many bytes of memory anything may ask for beyond what the tests have; a system gives more than there is, and then
kills."""
REFUSED, SAME, OTHER, TRACEBACK, HANG = "refused", "accepted unchanged", "read as another", "tracebacks", "hangs"
GREEDY = "out of memory"


class HangError(BaseException):
    """Something took too long; no handler of ordinary errors catches it."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise `HangError` in a block that takes too long, and `MemoryError` in one that asks for too much memory.

    One stuck in compiled code ends the process with its stack. Memory is limited where the system says what is used.
    """

    def ring(*_: object) -> None:
        raise HangError

    used, memory = Path("/proc/self/statm"), resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
    if used.exists():
        most = int(used.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, memory[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, memory)
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


class Judge:
    """Counts what came of bad input, and keeps what should not have."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys((REFUSED, SAME, OTHER, TRACEBACK, HANG, GREEDY), 0))
        self.faults: list[str] = []

    def judge(self, what: str, use: Callable[[], Any], whole: Any, *, may_differ: bool) -> None:
        """Use something damaged, and compare what comes of it with what came of the whole."""
        try:
            with limited():
                found = use()
        except SurpassError as refusal:
            self.counts[REFUSED] += 1
            if not str(refusal) or len(str(refusal).splitlines()) > 1 or len(str(refusal)) > 2000:
                self.faults.append(f"{what}: this is no sentence: {str(refusal)[:300]!r}")
        except HangError:
            self.fault(HANG, what, "it hangs")
        except MemoryError:
            self.fault(GREEDY, what, traceback.format_exc())
        except Exception:
            self.fault(TRACEBACK, what, traceback.format_exc())
        else:
            is_same = found == whole
            self.counts[SAME if is_same else OTHER] += 1
            if not is_same and not may_differ:
                self.faults.append(f"{what}: it was read as something else")

    def fault(self, kind: str, what: str, why: str) -> None:
        """Note what should not have happened."""
        self.counts[kind] += 1
        self.faults.append(f"{what}: {why}")

    def check(self, title: str, at_least: int) -> None:
        """Print the counts; raise AssertionError if there is a fault, or if too little was tried."""
        total = sum(self.counts.values())
        print(f"{title}: {total:,} in all; " + ", ".join(f"{n:,} {name}" for name, n in self.counts.items()))
        assert not self.faults, f"{len(self.faults)} faults, such as\n" + "\n".join(self.faults[:20])
        assert total >= at_least
        assert self.counts[REFUSED] > total / 4, "most of what is damaged must be refused"
