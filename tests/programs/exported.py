"""Exported files at work, beside the engine: for the tests of all of them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from surpass.agents import find_agent
from surpass.engine.advance import Player
from surpass.engine.batch import Batch, allocate
from surpass.engine.specialise import specialise
from surpass.programs.extract import write_program
from surpass.programs.program import Function, Place, Program, Rule, place_features
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit, Task

COMPILERS = tuple(found for name in ("gcc", "cc", "clang") if (found := shutil.which(name)))[:3]
COMPILER = COMPILERS[0] if COMPILERS else None
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler was found: gcc, cc or clang")
CPLUSPLUS = next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
CLEAN = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
"""What every exported file compiles with, as C and as C++."""

INT64 = np.iinfo(np.int64)
Numbers = list[int] | list[float]


# Programs


@cache
def agent_of(name: str) -> Agent:
    agent = find_agent(name)
    assert isinstance(agent, Agent)
    return agent


def forever(task: Task, action: str) -> Program:
    """Return the program that always does the same."""
    number = task.interface.parse_action(action)
    function_feature, previous_feature = place_features(task.interface)
    after = () if previous_feature is None else (0, number + 1)
    ids = () if function_feature is None else (0, 1, 2)
    return Program("forever", task, (Function(ids, (Place(after, (Rule((), number),)),)),))


def program_from(agent: Agent, *instances: Instances) -> Program:
    """Return the program that an agent follows on some instances."""
    table = Table(agent.task, agent)
    for part in instances:
        run_to_the_end(table, part)
    return write_program(agent.name, table)


@cache
def taught(name: str) -> Program:
    """Return the program of a teacher, taken from lists of up to 40 values."""
    agent, random = agent_of(f"teacher:{name}"), np.random.default_rng(0)
    lists = draw_lists(random, 60, 40, "i64")
    parts = [[items] for items in lists]
    if agent.task.name == "search":
        parts = draw_queries(random, lists, "i64")
    elif agent.task.name == "knapsack":
        parts = draw_packings(random, 60, 12)
    return program_from(agent, as_instances(agent.task, parts))


# The engine


def run_to_the_end(agent: Agent, instances: Instances, *, limits: npt.NDArray[np.int64] | None = None) -> Batch:
    """Return the episodes of an agent at their end, with all that they have in memory."""
    task = agent.task
    if limits is None:
        limits = Limit.parse(task.limit).steps(instances.sizes)
    batch = allocate(task, instances.count, int(instances.sizes.max(initial=0)))
    specialise(task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return Player(Table.of(agent)).finish(batch, limits)


def as_instances(task: Task, parts: Sequence[Sequence[Numbers]]) -> Instances:
    """Return written instances of any sizes as one batch; the task replaces values by their ranks."""
    assert task.inputs.read is not None
    read = [task.inputs.read(part)[0] for part in parts]
    largest = max((int(instance.sizes[0]) for instance in read), default=0)
    together = task.allocate(len(read), largest)
    for k, instance in enumerate(read):
        together.sizes[k] = instance.sizes[0]
        together.items[k, : instance.items.shape[1]] = instance.items[0]
        together.reals[k, : instance.reals.shape[1]] = instance.reals[0]
    return together


# Lists


def draw_lists(random: np.random.Generator, count: int, largest: int, kind: str) -> list[Numbers]:
    """Return lists of 0 to `largest` values of a kind, i64 or f64: all over the range, tied, in order and extreme."""
    return [_draw_list(random, int(random.integers(0, largest + 1)), kind) for _ in range(count)]


def _draw_list(random: np.random.Generator, size: int, kind: str) -> Numbers:
    manner = int(random.integers(6))
    if manner == 0:
        values: npt.NDArray[Any] = random.integers(INT64.min, INT64.max, size, endpoint=True)
    elif manner == 1:
        values = random.integers(-3, 4, size)
    elif manner == 2:
        values = random.choice(np.array([INT64.min, INT64.min + 1, -1, 0, 1, INT64.max - 1, INT64.max]), size)
    else:
        values = random.integers(-size, size + 1, size)
    if kind == "f64":
        with np.errstate(over="ignore"):
            values = values * random.choice([1.0, 0.1, 1e300, 5e-324])
        if manner == 2:
            values = random.choice(np.array([-np.inf, -1.7e308, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf]), size)
    if manner == 4:
        values = np.sort(values)
    elif manner == 5:
        values = np.sort(values)[::-1]
        if size > 2:
            values[random.integers(size)] = values[0]
    numbers: Numbers = values.tolist()
    return numbers


def draw_queries(random: np.random.Generator, lists: list[Numbers], kind: str) -> list[list[Numbers]]:
    """Return the lists in order, each with a query: one of its values, or any."""
    found = []
    for items in lists:
        items = sorted(items)
        query = _draw_list(random, 1, kind)
        if items and random.random() < 0.6:
            query = [items[int(random.integers(len(items)))]]
        found.append([items, query])
    return found


def draw_packings(random: np.random.Generator, count: int, largest: int) -> list[list[Numbers]]:
    """Return weights, values and capacities, some of them whole numbers whose sums tie, some far apart."""
    found = []
    for _ in range(count):
        shape = (2, int(random.integers(0, largest + 1)))
        manner = int(random.integers(3))
        if manner == 0:
            drawn: npt.NDArray[Any] = random.random(shape)
        elif manner == 1:
            drawn = random.integers(0, 4, shape).astype(np.float64)
        else:
            drawn = 10.0 ** random.integers(-20, 20, shape) * random.random(shape)
        capacity = float(drawn[0].sum() * random.choice([0.0, 0.3, 0.5, 1.0]))
        found.append([*drawn.tolist(), [capacity]])
    return found


# Exported files


def load_python(text: str) -> dict[str, Any]:
    """Return the names of an exported Python file, run with nothing but the language."""
    names: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), names)
    return names


def compile_c(text: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """Return an exported C file as a library; any warning is an error, also where it is compiled as C++."""
    assert COMPILER is not None
    # A name of its own: a library that is loaded already would be taken for one of the same name.
    name = f"exported{len(list(folder.glob('*.so')))}"
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    made: list[list[str | Path]] = [
        [COMPILER, "-std=c11", *CLEAN, "-O2", "-shared", "-fPIC", *flags, "-o", library, source, "-lm"]
    ]
    made += [[CPLUSPLUS, "-std=c++11", *CLEAN, "-fsyntax-only", "-x", "c++", source]] if CPLUSPLUS else []
    for command in made:
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
    return ctypes.CDLL(str(library))


class Result(ctypes.Structure):
    """What an exported C function of a task writes: the steps, the score and up to three registers."""

    _fields_ = [("steps", ctypes.c_int64), ("score", ctypes.c_double), ("registers", ctypes.c_int64 * 3)]


_LETTERS: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "n": ctypes.c_size_t,
    "i": ctypes.c_int64,
    "d": ctypes.c_double,
}


def c_function(library: ctypes.CDLL, name: str, given: str) -> Any:
    """Return an exported function; `given` has a letter for each argument: p(ointer), n (a size), i(nt64), d(ouble)."""
    function = getattr(library, f"surpass_{name}")
    function.restype, function.argtypes = ctypes.c_int64, [_LETTERS[letter] for letter in given]
    return function


class Sorted(NamedTuple):
    items: Numbers
    steps: int


def c_sort(library: ctypes.CDLL, kind: str) -> Callable[[Numbers], Sorted]:
    """Return the sort of a library as a function of lists."""
    function = c_function(library, f"sort_{kind}", "pn")

    def sort(items: Numbers) -> Sorted:
        array = np.array(items, np.int64 if kind == "i64" else np.float64)
        steps = function(array.ctypes.data, len(array))
        return Sorted(array.tolist(), steps)

    return sort


def c_search(library: ctypes.CDLL, kind: str) -> Callable[[Numbers, float], tuple[int, int]]:
    """Return the search of a library as a function of a list and a query."""
    function = c_function(library, f"search_{kind}", "pnip" if kind == "i64" else "pndp")

    def search(items: Numbers, query: float) -> tuple[int, int]:
        array, steps = np.array(items, np.int64 if kind == "i64" else np.float64), ctypes.c_int64(-1)
        answer = function(array.ctypes.data, len(array), query, ctypes.byref(steps))
        return answer, steps.value

    return search


def c_knapsack(library: ctypes.CDLL) -> Callable[..., tuple[list[int], float, int]]:
    """Return the packing of a library as a function of weights, values, budget and capacity."""
    function = c_function(library, "knapsack_f64", "ppndipp")

    def knapsack(weights: Numbers, values: Numbers, budget: int, capacity: float) -> tuple[list[int], float, int]:
        heavy, worth = np.array(weights, np.float64), np.array(values, np.float64)
        chosen, value = np.zeros(len(heavy), np.uint8), ctypes.c_double(-1)
        steps = function(
            heavy.ctypes.data, worth.ctypes.data, len(heavy), capacity, budget, chosen.ctypes.data, ctypes.byref(value)
        )
        return np.flatnonzero(chosen).tolist(), value.value, steps

    return knapsack
