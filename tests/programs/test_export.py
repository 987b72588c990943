"""Exported files give the engine's results in the engine's number of steps."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.agents.teachers import known_teachers
from surpass.agents.zoo import zoo_entries
from surpass.engine.batch import Batch
from surpass.machine.state import SCORE, Outcome
from surpass.programs.export import export_program
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.table import Agent
from surpass.tasks.enumeration import ordered_lists, weak_orders
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH, R
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Limit, Task
from surpass.tasks.teacher import Teacher
from tests.long import LONG, long_test
from tests.programs.drawn import programs
from tests.programs.exported import (
    COMPILER,
    Numbers,
    agent_of,
    as_instances,
    c_knapsack,
    c_search,
    c_sort,
    compile_c,
    draw_lists,
    draw_packings,
    draw_queries,
    forever,
    load_python,
    program_from,
    run_to_the_end,
    taught,
)

TEACHERS = tuple(t.name for t in known_teachers() if isinstance(t, Teacher) and t.task.name != "minimum")
RESIDENTS = tuple(f"zoo:{r.name}" for r in zoo_entries() if not r.name.startswith("sort-full/"))
MODEST = (
    "zoo:search/imitation-bracket_search",
    "zoo:sort-bubble/improvement-insertion_sort",
    "zoo:knapsack/rl-network",
)
"""Those of the zoo that the usual tests look at; the others are as the teachers that they learned from, or large."""
AGENTS = (*TEACHERS, *(RESIDENTS if LONG else MODEST))
MANY = 100_000
"""How many instances an agent's exported files are compared on where time does not matter."""
Parts = list[list[Numbers]]
CODES = {-2: "no rule", -3: "step limit", -4: "stack limit", -7: "wrong answer"}


class Exported:
    """The files of a program in both languages, ready to run."""

    def __init__(self, program: Program, folder: Path | None) -> None:
        self.task = program.task
        self.python = load_python(export_program(program, "python"))
        self.library = compile_c(export_program(program, "c"), folder) if COMPILER and folder else None

    def check(self, parts: Parts, ends: Batch, kind: str, *, with_python: bool = True) -> None:
        """Raise AssertionError unless both files give the engine's results and steps, or its reason for none."""
        for k, part in enumerate(parts):
            want = self.wanted(part, ends, k)
            if with_python:
                assert self.by_python(part) == want, f"Python on {part}"
            if self.library is not None:
                assert self.by_c(part, kind) == want, f"C on {part}"

    def wanted(self, part: list[Numbers], ends: Batch, k: int) -> tuple[Any, ...]:
        """Return what the engine came to on an instance."""
        steps, n, outcome = int(ends.steps[k]), len(part[0]), Outcome(int(ends.outcomes[k]))
        if self.task.name == "knapsack" and outcome == Outcome.STEP_LIMIT:
            outcome = Outcome.SOLVED
        if self.task.name == "search" and ends.registers[k, R.answer] == -1 and outcome == Outcome.WRONG_ANSWER:
            outcome = Outcome.SOLVED  # a report of absence is taken on trust
        if outcome != Outcome.SOLVED:
            return ("no rule" if outcome == Outcome.NO_ACTION else outcome.reason,)
        if self.task.name == "knapsack":
            return np.flatnonzero(ends.items[k, n : 2 * n]).tolist(), float(ends.reals[k, SCORE]), steps
        return (int(ends.registers[k, R.answer]), steps) if self.task.name == "search" else (sorted(part[0]), steps)

    def by_python(self, part: list[Numbers]) -> tuple[Any, ...]:
        try:
            return self._by_python(part)
        except self.python["Unsolved"] as error:
            return (str(error).rpartition(": ")[2],)

    def _by_python(self, part: list[Numbers]) -> tuple[Any, ...]:
        if self.task.name == "knapsack":
            weights, values, (capacity,) = part
            found: tuple[Any, ...] = self.python["knapsack"](weights, values, capacity=capacity)
            return found
        if self.task.name == "search":
            answer, steps = self.python["search"](part[0], part[1][0])
            return (-1 if answer is None else answer), steps
        items = list(part[0])
        steps = self.python["sort"](items)
        return items, steps

    def by_c(self, part: list[Numbers], kind: str) -> tuple[Any, ...]:
        assert self.library is not None
        if self.task.name == "knapsack":
            weights, values, (capacity,) = part
            found: tuple[Any, ...] = c_knapsack(self.library)(weights, values, max(1, 20 * len(weights)), capacity)
            code = found[2]
        elif self.task.name == "search":
            found = c_search(self.library, kind)(part[0], part[1][0])
            code = found[0]
        else:
            found = tuple(c_sort(self.library, kind)(part[0]))
            code = found[1]
        return (CODES[code],) if code in CODES else found


def draw(agent: Agent, count: int, kind: str, largest: int, seed: int) -> Parts:
    """Return instances of an agent's task, with values of a kind."""
    random = np.random.default_rng(seed)
    if agent.task.name == "knapsack":
        return draw_packings(random, count, largest)
    lists = draw_lists(random, count, largest, kind)
    return draw_queries(random, lists, kind) if agent.task.name == "search" else [[items] for items in lists]


def every_small(agent: Agent) -> Parts:
    """Return every small instance: lists in all orders with ties, ordered lists with every query, a few packings."""
    if agent.task.name == "knapsack":
        return [[[], [], [0.0]], [[0.5], [0.25], [0.5]], [[0.5], [0.25], [0.25]], [[0.0] * 3, [0.0] * 3, [0.0]]]
    if agent.task.name == "search":
        return [
            [[2 * v + 1 for v in items], [query]]
            for size in range(6)
            for items in ordered_lists(size).tolist()
            for query in range(2 * max(items, default=-1) + 3)
        ]
    return [[items] for size in range(6) for batch in weak_orders(size) for items in batch.tolist()]


@pytest.mark.parametrize("name", AGENTS)
def test_exported_files_do_what_the_agent_does(name: str, tmp_path: Path) -> None:
    agent = agent_of(name)
    largest = 40 if name.startswith("teacher:") else 20
    kinds = {kind: draw(agent, 60, kind, largest, seed) for seed, kind in enumerate(("i64", "f64"))}
    kinds["i64"] += every_small(agent)
    instances = {kind: as_instances(agent.task, parts) for kind, parts in kinds.items()}
    program = program_from(agent, *instances.values())
    exported = Exported(program, tmp_path)
    for kind, parts in kinds.items():
        exported.check(parts, run_to_the_end(agent, instances[kind]), kind)


@long_test
@pytest.mark.parametrize("name", [*TEACHERS, *RESIDENTS])
def test_a_hundred_thousand_instances(name: str, tmp_path: Path) -> None:
    """The files do what the program does, and what the agent does."""
    agent = agent_of(name)
    program = extract(agent).program
    exported = Exported(program, tmp_path)
    others = 0
    for seed, kind in enumerate(("i64", "f64")):
        for batch in range(20):
            parts = draw(agent, MANY // 40, kind, 200, 1000 * seed + batch)
            instances = as_instances(agent.task, parts)
            ends = Batch(*(array.copy() for array in run_to_the_end(agent, instances)))
            own = run_to_the_end(program, instances)
            # Python takes a thousand times as long.
            exported.check(parts[100:], Batch(*(array[100:] for array in own)), kind, with_python=False)
            exported.check(parts[:100], own, kind)
            for k, part in enumerate(parts):
                by_agent, by_rules = exported.wanted(part, ends, k), exported.wanted(part, own, k)
                if by_agent == by_rules:
                    continue
                others += 1
                if agent.task.measure == "steps":
                    assert by_agent[0] == by_rules[0], f"another result: {part}"
    print(f"{name}: {others} of {MANY} instances end otherwise, or in other steps, by the rules than by the agent")
    assert others == 0


# What is not met


@pytest.mark.parametrize("name", ["teacher:hoare_sort", "teacher:quick_sort", "teacher:bracket_search"])
def test_what_was_never_met_goes_by_the_rules(name: str, tmp_path: Path) -> None:
    agent = agent_of(name)
    few = draw(agent, 3, "i64", 4, 0)
    parts = draw(agent, 20, "i64", 12, 1) + every_small(agent)[:100]
    program = program_from(agent, as_instances(agent.task, few))
    ends = run_to_the_end(program, as_instances(agent.task, parts))
    assert (ends.outcomes != Outcome.SOLVED).any()
    has_stops = bool((ends.outcomes == Outcome.NO_ACTION).any())
    assert has_stops == (agent.task.name != "search"), "only a task with functions has places that may be missing"
    Exported(program, tmp_path).check(parts, ends, "i64")


@pytest.mark.parametrize("task", [SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK], ids=lambda task: task.name)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_any_program_does_in_python_what_it_does_in_the_engine(task: Task, data: st.DataObject) -> None:
    """Programs that are drawn have places that nothing leads to, calls that never return and rules that do nothing."""
    program = data.draw(programs(task))
    parts = draw(program, 20, "i64", 8, 0)
    ends = run_to_the_end(program, as_instances(task, parts))
    Exported(program, None).check(parts, ends, "i64")


# The limits


@pytest.mark.parametrize(
    ("task", "action", "reason"),
    [
        (SORT_BUBBLE, "MoveVar(1, +1)", "step limit"),
        (SORT_BUBBLE, "SwapWithNext(4)", "step limit"),
        (SORT_QUICK, "Swap(1, 2)", "step limit"),
        (SORT_QUICK, "FunctionCall(1, 2, 3, 3, 2, 1)", "stack limit"),
        (SORT_QUICK, "Return(1)", "step limit"),
        (SEARCH, "MoveVar(2, -1)", "step limit"),
        (SEARCH, "Found(4)", "wrong answer"),
    ],
)
def test_runs_without_end_stop_as_in_the_engine(task: Task, action: str, reason: str, tmp_path: Path) -> None:
    program = forever(task, action)
    lists: Parts = [[[3, 1, 2]], [[5, 1, 4, 1, 4, 4, 3, 2, 9, 8, 7, 6]], [[2, 1]], [[1, 2, 3]], [[1]], [[]]]
    parts = [[sorted(part[0]), [0]] for part in lists] if task is SEARCH else lists
    ends = run_to_the_end(program, as_instances(task, parts))
    exported = Exported(program, tmp_path)
    exported.check(parts, ends, "i64")
    assert exported.by_python(parts[1]) == (reason,)


def test_depth_first_spends_any_budget_as_the_engine_does(tmp_path: Path) -> None:
    agent = agent_of("teacher:depth_first")
    (weights, values, (capacity,)) = draw_packings(np.random.default_rng(3), 40, 12)[-1]
    instance = as_instances(agent.task, [[weights, values, [capacity]]])
    exported = Exported(program_from(agent, instance), tmp_path)
    for budget in range(1, 60):
        end = run_to_the_end(agent, instance, limits=np.array([budget]))
        n, steps, value = len(weights), int(end.steps[0]), float(end.reals[0, SCORE])
        want = np.flatnonzero(end.items[0, n : 2 * n]).tolist(), value, steps
        assert exported.python["knapsack"](weights, values, budget, capacity) == want
        if exported.library is not None:
            assert c_knapsack(exported.library)(weights, values, budget, capacity) == want


@pytest.mark.parametrize(
    "items",
    [
        ["pear", "fig", "apple", "fig", "", "date"],
        [(2, "b"), (1, "z"), (2, "a"), (1,)],
        [Fraction(1, 3), 0.25, 1, Fraction(1, 3), -(10**40), math.inf],
        np.array([3.5, -1.0, 2.0, 2.0, 0.5]),
        bytearray(b"exported"),
        [],
        ["one"],
    ],
)
def test_python_sorts_whatever_can_be_compared(items: Any) -> None:
    names = load_python(export_program(taught("hoare_sort"), "python"))
    want = sorted(items)
    steps = names["sort"](items)
    assert list(items) == want
    assert (steps > 0) == (len(want) > 1)
    assert names["sort"](items) == 0


@pytest.mark.parametrize("name", ["hoare_sort", "insertion_sort"])
def test_python_refuses_what_cannot_be_ordered(name: str) -> None:
    sort = load_python(export_program(taught(name), "python"))["sort"]
    items = [3.0, 1.0, math.nan, 2.0]
    with pytest.raises(ValueError, match="nan"):
        sort(items)
    assert items[:2] == [3.0, 1.0]
    with pytest.raises(ValueError, match="at least 1 step, not 0"):
        sort([2, 1], limit=0)


@pytest.mark.parametrize("limit", [1, 1.5, 10.5, Fraction(21, 2), 10**30, math.inf])
def test_python_takes_a_limit_that_is_not_whole_as_the_library_does(limit: Any) -> None:
    sort, items = load_python(export_program(taught("insertion_sort"), "python"))["sort"], list(range(40, 0, -1))
    if limit > 10**6:
        assert sort(items, limit) > 100
        return
    (wanted,) = Limit.parse(str(float(limit))).steps(np.array([len(items)]))
    with pytest.raises(RuntimeError, match=f"after {wanted} steps: step limit"):
        sort(items, limit)
    for refused in (0.5, math.nan, -3):
        with pytest.raises(ValueError, match="at least 1 step"):
            sort(items, refused)


def test_python_refuses_what_cannot_be_packed() -> None:
    knapsack = load_python(export_program(taught("depth_first"), "python"))["knapsack"]
    for arguments in (([1, 2], [1]), ([1, math.nan], [1, 1]), ([1, 1], [1, -1]), ([1, 1], [1, 1], 0)):
        with pytest.raises(ValueError, match=r"weights|number|step"):
            knapsack(*arguments)
    assert knapsack([], []) == ([], 0.0, 0)
    assert knapsack([1, 1], [3, 4])[:2] == ([1], 4.0)


# The comparison itself


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    program = taught("insertion_sort")
    agent = agent_of("teacher:insertion_sort")
    parts: Parts = [[[3, 1, 2, 2, 0]], [[1, 2]], [[9, 8, 7, 6, 5]], [[1, 1, 0, 1]], [[2, 2, 1, 1, 0]]]
    ends = run_to_the_end(agent, as_instances(agent.task, parts))
    right = export_program(program, "python")
    exported = Exported(program, tmp_path)
    exported.check(parts, ends, "i64")
    for old, new in (
        ("steps += 1", "steps += 2"),
        ("items[first] = b", "items[first] = a"),
        ("> items[v2 + 1]", ">= items[v2 + 1]"),
    ):
        assert old in right
        exported.python = load_python(right.replace(old, new))
        with pytest.raises(AssertionError, match="Python on"):
            exported.check(parts, ends, "i64")
