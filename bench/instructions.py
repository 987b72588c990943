"""Steps per second of each teacher in the compiled engine on one core, and what a second thread adds.

The whole call of `run` counts: where an instance takes few steps, as in binary search, the rate is that of setting up
and checking instances rather than that of executing instructions.
"""

from __future__ import annotations

from typing import NamedTuple

from bench.contestants import compiled, draw, spinning
from bench.report import Measurement, Ratio, Report
from bench.timing import best_of
from surpass.agents.teachers import find_teacher
from surpass.tasks.task import Instances


class Case(NamedTuple):
    """A teacher on instances of one size; the more steps an instance takes, the fewer instances."""

    teacher: str
    size: int
    instances: int
    limit: str | None = None
    aim: float | None = None


CASES = (
    Case("bubble_sort", 1000, 8),
    Case("insertion_sort", 1000, 8, aim=20e6),
    Case("quick_sort", 1000, 100),
    Case("quick_sort", 100_000, 2),
    Case("hoare_sort", 1000, 200),
    Case("hoare_sort", 100_000, 2),
    Case("linear_search", 1000, 20_000),
    Case("binary_search", 1000, 20_000),
    Case("bracket_search", 1000, 20_000),
    Case("depth_first", 100, 200, limit="100n"),
    Case("selection_sort", 50, 200),
)
THREADED = Case("insertion_sort", 1000, 32)
"""The case that also runs on two threads."""


def measure(rounds: int) -> Report:
    measurements = []
    drawn: dict[tuple[str, int, int], Instances] = {}
    for case in CASES:
        key = (find_teacher(case.teacher).task.name, case.size, case.instances)
        # Keep only the last: those of search are large, and its teachers follow one another.
        drawn = {key: drawn[key] if key in drawn else draw(case.teacher, case.size, case.instances)}
        (timing,) = best_of(rounds, [compiled(case.teacher, drawn[key], limit=case.limit)])
        measurements.append(Measurement(_describe(case), timing, case.aim))
    threaded, ratios = _measure_threads(rounds)
    return Report((*measurements, threaded), ratios)


def _measure_threads(rounds: int) -> tuple[Measurement, tuple[Ratio, ...]]:
    """Return the speed on two threads, and what the second one adds: to the engine, and to a bare loop.

    On a machine whose cores others use a second thread adds little, whatever the engine does. If the bare loop is well
    below 2, the other ratio says nothing about the engine.
    """
    teacher = THREADED.teacher
    instances = draw(teacher, THREADED.size, THREADED.instances)
    works = [compiled(teacher, instances, threads=threads) for threads in (1, 2)]
    one, two, bare_one, bare_two = best_of(rounds, [*works, spinning(1), spinning(2)])
    return (
        Measurement(f"{_describe(THREADED)}, 2 threads", two),
        (
            Ratio(f"{teacher}, 2 threads / 1 thread", two.rate / one.rate),
            Ratio(
                "a bare loop, 2 threads / 1 thread (well below 2: the cores are busy)", bare_two.rate / bare_one.rate
            ),
        ),
    )


def _describe(case: Case) -> str:
    task = find_teacher(case.teacher).task
    return f"{case.teacher}, {task.name}, n = {case.size}" + (f", limit {case.limit}" if case.limit else "")
