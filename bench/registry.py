"""The one list of benchmarks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.report import Report
from surpass.errors import UnknownNameError

__all__ = ["BENCHMARKS", "Benchmark", "find_benchmarks"]

BENCHMARKS = {
    "engine": "bench.engine",
    "sorting-gym": "bench.sorting_gym",
    "instructions": "bench.instructions",
    "network": "bench.network",
    "learning": "bench.learning",
    "discover": "bench.discover",
    "scale": "bench.scale",
    "exported": "bench.exported",
}
"""The module of each benchmark by its name, in the order in which they run."""


@dataclass(frozen=True)
class Benchmark:
    """Something to measure."""

    name: str
    summary: str
    measure: Callable[[int], Report]
    """Measures in a number of rounds, of which the best counts."""


def find_benchmarks(names: Iterable[str]) -> list[Benchmark]:
    """Return the benchmarks of these names, or all of them if there are no names."""
    chosen = list(names) or list(BENCHMARKS)
    for name in chosen:
        if name not in BENCHMARKS:
            raise UnknownNameError("benchmark", name, BENCHMARKS)
    return [_load(name) for name in chosen]


def _load(name: str) -> Benchmark:
    module = importlib.import_module(BENCHMARKS[name])
    return Benchmark(name, (module.__doc__ or "").strip().splitlines()[0], module.measure)
