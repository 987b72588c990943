"""How long work takes, on a machine that others use too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["Timing", "Work", "best_of"]


class Timing(NamedTuple):
    """How many steps were executed, and how long that took."""

    steps: int
    seconds: float

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds


Work = Callable[[], Timing]
"""Does a piece of work that was prepared before, and times it."""


def best_of(rounds: int, works: Sequence[Work]) -> list[Timing]:
    """Return the fastest of `rounds` timings of each work.

    They take turns, so that what slows the machine for a while slows all of them, and the ratios stand.
    """
    turns = [[work() for work in works] for _ in range(rounds)]
    return [max(timings, key=lambda timing: timing.rate) for timings in zip(*turns, strict=True)]
