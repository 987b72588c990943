"""One worker and two, of this machine and of Ray: throughput, bytes and waiting of discover; and a sweep.

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
from surpass.learning.discover.config import DiscoverConfig
from surpass.learning.discover.learner import Discover
from surpass.learning.recipes import parse_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from surpass.workers.cluster import RayReplicas, RayRunner
from surpass.workers.connecting import import_ray
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Replicas, Runner

WORKERS = (1, 2)
SETS, ATTEMPTS = 10, 12
"""Sets of candidates in a round of an attempt, and attempts that are timed."""
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
        measurements += measure_discover(
            LocalRunner(workers), f"discover, {show(workers)} of this machine"
        ).measurements
    for workers in WORKERS:
        runner = RayRunner(processes=workers)
        try:
            report = measure_discover(runner, f"discover, {show(workers)} of Ray")
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
    for where in ("this machine", "Ray"):
        one, two = (rates[f"discover, {show(workers)} of {where}"] for workers in WORKERS)
        ratios.append(Ratio(f"discover, {where}: 2 workers / 1 worker", two / one))
    return Report(tuple(measurements), tuple(ratios), tuple(quantities))


def show(workers: int) -> str:
    return f"{workers} worker" + "s" * (workers > 1)


def measure_discover(runner: Runner, what: str) -> Report:
    """Return the programs per second of some attempts; on Ray, the bytes of each and the share of waiting, too."""
    config = DiscoverConfig(task="sort-bubble", start="teacher:insertion_sort", gradients=0, sets=SETS)
    learner = Discover(find_task("sort-bubble"), config)
    learner.runner = runner
    for _ in range(config.islands):  # from now on every worker has compiled what it needs
        learner.advance()
    replicas = learner._workers
    before = _traffic(replicas)
    tried, began = learner.tried, perf_counter()
    for _ in range(ATTEMPTS):
        learner.advance()
    seconds, tried = perf_counter() - began, learner.tried - tried
    sent, received, waited = (now - then for now, then in zip(_traffic(replicas), before, strict=True))
    replicas.close()
    quantities = (
        Quantity(f"{what}: sent for a program", sent / tried, "bytes"),
        Quantity(f"{what}: received for a program", received / tried, "bytes"),
        Quantity(f"{what}: share of the time that the learner waits", waited / seconds, ""),
    )
    is_counted = isinstance(replicas, RayReplicas)
    return Report(
        (Measurement(what, Timing(tried, seconds), unit="programs"),), quantities=quantities if is_counted else ()
    )


def _traffic(replicas: Replicas) -> tuple[float, float, float]:
    """Return the bytes that were sent and received, and the seconds of waiting, so far."""
    if not isinstance(replicas, RayReplicas):
        return 0.0, 0.0, 0.0
    return replicas.sent, replicas.received, replicas.waited


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
