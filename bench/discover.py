"""Edited programs that discover tries per second on one core, from the start of a run.

A set of candidates counts as a whole: editing, the first few instances, and the trials of those that do well there. It
does not count what an attempt takes beside its sets: to draw instances, and to check and simplify the program.
"""

from __future__ import annotations

from time import process_time
from typing import NamedTuple
from unittest.mock import patch

from bench.report import Measurement, Report
from bench.timing import Timing, Work, best_of
from surpass.agents.teachers import teacher_of
from surpass.learning.discover.config import DiscoverConfig
from surpass.learning.discover.learner import Discover
from surpass.learning.discover.objective import Objective, doubling_sizes, mean_steps
from surpass.learning.discover.rounds import Round
from surpass.programs.extract import extract
from surpass.tasks.registry import find_task

SETS = 20
"""Sets of candidates that are timed together."""


class Case(NamedTuple):
    """A task, and the teacher whose program is edited."""

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
    task = find_task(case.task)
    program = extract(teacher_of(task, case.teacher)).program
    learner = Discover(task, DiscoverConfig(task=case.task, start=f"teacher:{case.teacher}"))
    objective = Objective(task, **{**learner.given, "sizes": doubling_sizes(task, program)})

    budget = learner.budget
    how = {"stages": budget.stages(mean_steps(objective, program)), "candidates": budget.candidates}

    def begin(number: int) -> Round:
        return Round(task, objective, program, program, learner.prices, (number, 0), **how)  # type: ignore[arg-type]

    numbers = iter(range(1 << 30))
    begin(next(numbers)).try_set(0.0)

    def work() -> Timing:
        one = begin(next(numbers))
        started = process_time()
        tried = sum(one.try_set(0.0) for _ in range(SETS))
        return Timing(tried, process_time() - started)

    return work
