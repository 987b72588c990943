"""Exported files: C against qsort, NumPy and bsearch on a million numbers, Python against the engine.

The sort is the best of the zoo on sort-quick and, beside it, the teacher that it may have learned from; the search is
the best of the zoo. C is compiled with -O2, its functions are called from Python, and the call is what is timed.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.report import Measurement, PeerMissingError, Ratio, Report
from bench.timing import Timing, Work, best_of
from surpass.agents import find_agent
from surpass.engine.run import run
from surpass.errors import WrongAnswerError
from surpass.programs.export import export_program
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.lists import from_lists

Ints = npt.NDArray[np.int64]

SORTERS = ("zoo:sort-quick", "teacher:hoare_sort")
SEARCHER = "zoo:search"
COUNT, QUERIES = 1_000_000, 1_000_000
SMALL = 1000
"""The size of the lists that Python and the engine sort."""
MOST_TIMES_QSORT = 2.0
"""What we want of the best agent: at most twice the time of qsort."""


def measure(rounds: int) -> Report:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise PeerMissingError("there is no C compiler")
    sorters = [_extract(name) for name in SORTERS]
    searcher = _extract(SEARCHER)
    with tempfile.TemporaryDirectory() as folder:
        libraries = [_compile(compiler, Path(folder), f"sort{k}", program) for k, program in enumerate(sorters)]
        search = _compile(compiler, Path(folder), "search", searcher, Path(__file__).with_name("exported.c"))
        parts = [
            _measure_sort(rounds, sorters, libraries, search),
            _measure_search(rounds, searcher, search),
            _measure_python(rounds, sorters[0]),
        ]
    return Report(
        tuple(measurement for part in parts for measurement in part.measurements),
        tuple(ratio for part in parts for ratio in part.ratios),
    )


def _extract(name: str) -> Program:
    agent = find_agent(name)
    return extract(agent).program


def _compile(compiler: str, folder: Path, name: str, program: Program, *more: Path) -> ctypes.CDLL:
    """Return a program as a library, together with other sources."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(export_program(program, "c"))
    subprocess.run([compiler, "-std=c11", "-O2", "-shared", "-fPIC", "-o", library, source, *more], check=True)
    return ctypes.CDLL(str(library))


def _measure_sort(
    rounds: int, programs: list[Program], libraries: list[ctypes.CDLL], library_functions: ctypes.CDLL
) -> Report:
    items = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, COUNT)
    ordered = np.sort(items)
    works = [
        *(_sorting(items, ordered, _exported_sort(library)) for library in libraries),
        _sorting(items, ordered, _library_sort(library_functions)),
        _sorting(items, ordered, _numpy_sort),
    ]
    *ours, qsort, numpy_sort = best_of(rounds, works)
    names = [f"{program.name} in C" for program in programs]
    million = f"{COUNT:,} int64"
    return Report(
        (
            *(Measurement(f"{name}, {million}", timing) for name, timing in zip(names, ours, strict=True)),
            Measurement(f"qsort, {million}", qsort, unit="items"),
            Measurement(f"numpy.sort, {million}", numpy_sort, unit="items"),
        ),
        tuple(
            Ratio(f"time of {name} / {other}", timing.seconds / against.seconds, most)
            for name, timing in zip(names, ours, strict=True)
            for other, against, most in (("qsort", qsort, MOST_TIMES_QSORT), ("numpy.sort", numpy_sort, None))
        ),
    )


def _sorting(items: Ints, ordered: Ints, sort: Callable[[Ints], int]) -> Work:
    """Return the work of sorting a copy of some items, which is looked at afterwards."""

    def work() -> Timing:
        copied = items.copy()
        begin = perf_counter()
        steps = sort(copied)
        seconds = perf_counter() - begin
        if not np.array_equal(copied, ordered):
            raise WrongAnswerError("a list is not in order after it was sorted")
        return Timing(steps, seconds)

    return work


def _exported_sort(library: ctypes.CDLL) -> Callable[[Ints], int]:
    function = library.surpass_sort_i64
    function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_void_p, ctypes.c_size_t]

    def sort(items: Ints) -> int:
        steps = int(function(items.ctypes.data, len(items)))
        if steps < 0:
            raise WrongAnswerError(f"the exported sort stopped with code {steps}")
        return steps

    return sort


def _library_sort(library: ctypes.CDLL) -> Callable[[Ints], int]:
    function = library.library_sort
    function.restype, function.argtypes = None, [ctypes.c_void_p, ctypes.c_size_t]

    def sort(items: Ints) -> int:
        function(items.ctypes.data, len(items))
        return len(items)

    return sort


def _numpy_sort(items: Ints) -> int:
    items.sort()
    return len(items)


def _measure_search(rounds: int, program: Program, library: ctypes.CDLL) -> Report:
    random = np.random.default_rng(1)
    items = np.sort(random.integers(-(2**63), 2**63 - 1, COUNT))
    queries = np.where(random.random(QUERIES) < 0.5, random.choice(items, QUERIES), random.integers(0, 2**62, QUERIES))
    present = int(np.isin(queries, items).sum())
    ours, bsearch = best_of(
        rounds, [_searching(items, queries, present, library, name) for name in ("exported", "library")]
    )
    what = f"{QUERIES:,} queries in {COUNT:,} int64"
    return Report(
        (
            Measurement(f"{program.name} in C, {what}", ours),
            Measurement(f"bsearch, {what}", bsearch, unit="queries"),
        ),
        (Ratio(f"time of {program.name} in C / bsearch", ours.seconds / bsearch.seconds),),
    )


def _searching(items: Ints, queries: Ints, present: int, library: ctypes.CDLL, name: str) -> Work:
    """Return the work of looking up all queries, by the exported program or by the C library."""
    function: Any = getattr(library, f"{name}_search")
    array = [ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_int64
    function.argtypes = [*array, *array, *([ctypes.c_void_p] if name == "exported" else [])]

    def work() -> Timing:
        steps = ctypes.c_int64(0)
        arguments = (items.ctypes.data, len(items), queries.ctypes.data, len(queries))
        begin = perf_counter()
        found = function(*arguments, *([ctypes.byref(steps)] if name == "exported" else []))
        seconds = perf_counter() - begin
        if found != present:
            raise WrongAnswerError(f"{found} of {present} queries were found")
        return Timing(steps.value if name == "exported" else len(queries), seconds)

    return work


def _measure_python(rounds: int, program: Program) -> Report:
    """Return the speed of the exported Python file beside that of the engine on the same lists."""
    names: dict[str, Any] = {}
    exec(export_program(program, "python"), names)
    lists = np.random.default_rng(2).permuted(np.tile(np.arange(SMALL), (20, 1)), axis=1)
    table = Table.of(program)

    def in_python() -> Timing:
        copies = lists.tolist()
        begin = perf_counter()
        steps = sum(names["sort"](items) for items in copies)
        return Timing(steps, perf_counter() - begin)

    def in_engine() -> Timing:
        begin = perf_counter()
        results = run(table, from_lists(lists), threads=1)
        return Timing(int(results.steps.sum()), perf_counter() - begin)

    if in_engine().steps != in_python().steps:
        raise WrongAnswerError("the exported Python file and the engine take different numbers of steps")
    ours, engine = best_of(min(rounds, 3), [in_python, in_engine])
    what = f"{program.name}, {len(lists)} lists of {SMALL}"
    return Report(
        (
            Measurement(f"exported Python, {what}", ours),
            Measurement(f"engine, 1 thread, {what}", engine),
        ),
        (Ratio("engine / exported Python", engine.rate / ours.rate),),
    )
