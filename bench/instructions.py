"""Steps per second of each teacher in the compiled engine on one core, and what a second thread adds.

The whole call of `run` counts: where an instance takes few steps, as in binary search, the rate is that of setting up
and checking instances rather than that of executing instructions.
"""

from __future__ import annotations

from typing import NamedTuple

from bench.contestants import compiled, draw
from bench.report import Measurement, Ratio, Report
from bench.timing import best_of
from surpass.agents.teacher import find_teacher
from surpass.tasks.task import Instances


class Case(NamedTuple):
    """A teacher on instances of one size; the more steps an instance takes, the fewer instances."""

    teacher: str
    size: int
    instances: int
    limit: str | None = None
    aim: float | None = None


CASES = (
    Case("bubble_sort", 1000, 16),
    Case("insertion_sort", 1000, 32, aim=20e6),
    Case("quick_sort", 1000, 200),
    Case("quick_sort", 100_000, 2),
    Case("hoare_sort", 1000, 400),
    Case("hoare_sort", 100_000, 3),
    Case("linear_search", 1000, 20_000),
    Case("binary_search", 1000, 20_000),
    Case("bracket_search", 1000, 20_000),
    Case("depth_first", 100, 500, limit="100n"),
    Case("selection_sort", 50, 200),
)
DOUBLED = ("insertion_sort", 1000)
"""The case that also runs on two threads."""


def measure(rounds: int) -> Report:
    measurements, ratios = [], []
    drawn: dict[tuple[str, int, int], Instances] = {}
    for teacher, size, count, limit, aim in CASES:
        task = find_teacher(teacher).task
        key = (task.name, size, count)
        # Keep only the last: those of search are large, and its teachers follow one another.
        drawn = {key: drawn[key] if key in drawn else draw(teacher, size, count)}
        threads = (1, 2) if (teacher, size) == DOUBLED else (1,)
        works = [compiled(teacher, drawn[key], limit=limit, threads=t) for t in threads]
        timings = best_of(rounds, works)
        what = f"{teacher}, {task.name}, n = {size}" + (f", limit {limit}" if limit else "")
        measurements.append(Measurement(what, timings[0], aim))
        if len(timings) == 2:
            measurements.append(Measurement(f"{what}, 2 threads", timings[1]))
            ratios.append(Ratio(f"2 threads / 1 thread, {teacher}", timings[1].rate / timings[0].rate))
    return Report(tuple(measurements), tuple(ratios))
