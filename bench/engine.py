"""Insertion sort on sort-bubble, n = 100: the compiled engine on one core against our Gymnasium environment."""

from __future__ import annotations

from bench.contestants import compiled, draw, stepped
from bench.report import Measurement, Ratio, Report
from bench.timing import best_of

SIZE, LISTS, EPISODES = 100, 1000, 2


def measure(rounds: int) -> Report:
    teacher = "insertion_sort"
    fast, slow = best_of(rounds, [compiled(teacher, draw(teacher, SIZE, LISTS)), stepped(teacher, SIZE, EPISODES)])
    return Report(
        (Measurement("engine, 1 thread", fast), Measurement("Gymnasium environment", slow)),
        (Ratio("engine / Gymnasium environment", fast.rate / slow.rate),),
    )
