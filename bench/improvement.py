"""Edited programs that improvement tries per second on one core, from the start of a run.

A set of candidates counts as a whole: editing, the first few instances, and the trials of those that do well there. It
does not count what a round takes beside its sets: to draw instances, and to check the program at the end.
"""

from __future__ import annotations

from time import process_time
from typing import NamedTuple
from unittest.mock import patch

from bench.report import Measurement, Report
from bench.timing import Timing, Work, best_of
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.learner import Improvement
from surpass.learning.improvement.rounds import Round
from surpass.tasks.registry import find_task

SETS = 20
"""Sets of candidates that are timed together."""


class Case(NamedTuple):
    """A task, and the teacher that is improved."""

    task: str
    teacher: str
    aim: float | None = None


CASES = (
    Case("sort-bubble", "insertion_sort", aim=1000),
    Case("sort-quick", "hoare_sort"),
    Case("search", "binary_search"),
    Case("knapsack", "depth_first"),
)


def measure(rounds: int) -> Report:
    """Return how many candidates are tried per second of the processor's time."""
    measurements = []
    with patch.dict("os.environ", SURPASS_THREADS="1"):
        for case in CASES:
            (timing,) = best_of(rounds, [_trying(case)])
            what = f"{case.task}, from {case.teacher}"
            measurements.append(Measurement(what, timing, case.aim, unit="candidates"))
    return Report(tuple(measurements))


def _trying(case: Case) -> Work:
    learner = Improvement(find_task(case.task), ImprovementConfig(task=case.task, teacher=case.teacher))
    learner.begin()
    Round(learner).try_generation(0.0)

    def work() -> Timing:
        one = Round(learner)
        started = process_time()
        tried = sum(one.try_generation(0.0) for _ in range(SETS))
        return Timing(tried, process_time() - started)

    return work
