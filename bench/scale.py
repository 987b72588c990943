"""One worker and two on Ray: throughput, bytes and waiting of improvement; and a sweep.

Ray runs on this machine alone. Its start is not counted. The bytes are those that are written to be sent.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.report import Measurement, PeerMissingError, Quantity, Ratio, Report
from bench.timing import Timing
from surpass.errors import SettingError
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.learner import Improvement
from surpass.learning.improvement.rounds import Round
from surpass.learning.recipes import parse_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from surpass.workers.cluster import RayReplicas, RayRunner
from surpass.workers.connecting import import_ray
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Runner

WORKERS = (1, 2)
CANDIDATES, SETS = 8192, 10
"""Candidates in a set, and sets that are timed."""
RUNS = 12
SWEEP: dict[str, Any] = {
    "task": "knapsack",
    "method": "imitation",
    "seeds": list(range(RUNS)),
    "settings": {"sizes": [2, 3], "items": 6, "epochs": 2, "calm_rounds": 1_000_000, "most_rounds": 100},
}


def measure(rounds: int) -> Report:
    """Return what was measured, once: a round of this takes some minutes."""
    try:
        import_ray()
    except SettingError as error:
        raise PeerMissingError(str(error)) from None
    measurements: list[Measurement] = []
    quantities: list[Quantity] = []
    ratios: list[Ratio] = []
    for workers in WORKERS:
        runner = RayRunner(processes=workers)
        try:
            report = measure_improvement(runner, workers)
            measurements += report.measurements
            quantities += report.quantities
            if workers == max(WORKERS):
                here, there = sweep_seconds(LocalRunner(workers)), sweep_seconds(runner)
                measurements += [
                    Measurement(f"sweep, {workers} local processes", Timing(RUNS, here), unit="runs"),
                    Measurement(f"sweep, {workers} workers of Ray", Timing(RUNS, there), unit="runs"),
                ]
                ratios.append(Ratio(f"sweep of {RUNS} runs: time on Ray / time locally", there / here, most=1.1))
        finally:
            runner.close()
    rates = {m.what: m.timing.rate for m in measurements}
    one, two = (rates[f"improvement, {show(workers)}"] for workers in WORKERS)
    ratios.append(Ratio("improvement: 2 workers / 1 worker", two / one))
    return Report(tuple(measurements), tuple(ratios), tuple(quantities))


def show(workers: int) -> str:
    return f"{workers} worker" + "s" * (workers > 1)


def measure_improvement(runner: Runner, workers: int) -> Report:
    """Return the candidates per second of some sets, the bytes of each, and the share of the time spent waiting."""
    config = ImprovementConfig(task="sort-bubble", teacher="insertion_sort", candidates=CANDIDATES)
    learner = Improvement(find_task("sort-bubble"), config)
    learner.begin()
    learner.runner = runner
    one = Round(learner)
    one.try_generation(0.0)
    screens = one.screens
    assert isinstance(screens, RayReplicas)
    sent, received, waited, began = screens.sent, screens.received, screens.waited, perf_counter()
    tried = sum(one.try_generation(0.0) for _ in range(SETS))
    seconds = perf_counter() - began
    screens.close()
    what = f"improvement, {show(workers)}"
    return Report(
        (Measurement(what, Timing(tried, seconds), unit="candidates"),),
        quantities=(
            Quantity(f"{what}: sent for a candidate", (screens.sent - sent) / tried, "bytes"),
            Quantity(f"{what}: received for a candidate", (screens.received - received) / tried, "bytes"),
            Quantity(f"{what}: share of the time that the learner waits", (screens.waited - waited) / seconds, ""),
        ),
    )


def sweep_seconds(runner: Runner) -> float:
    """Return how long a sweep of short runs takes."""
    folder = Path(tempfile.mkdtemp())
    try:
        recipe = parse_recipe("short", SWEEP)
        sweep = Sweep(recipe, find_task(recipe.task), folder / "sweep")
        began = perf_counter()
        ranking = sweep.run(runner)
        assert len(ranking.runs) == RUNS
        return perf_counter() - began
    finally:
        shutil.rmtree(folder)
