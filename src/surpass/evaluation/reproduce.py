"""The paper's tables beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from surpass.agents import find_agent
from surpass.engine.run import Results
from surpass.evaluation.paper import PAPER_INSTANCES, paper_tables
from surpass.evaluation.scores import runner
from surpass.evaluation.statistics import mean_of
from surpass.tasks.task import Limit, Request

__all__ = ["Cell", "TableRow", "reproduce_teachers"]

AGREEMENT = 3.0
"""How many standard errors may lie between the paper's mean and ours."""
UNPRINTED_INSTANCES = 10
"""How many instances fill a cell that the paper leaves empty, where one takes tens of millions of steps."""


@dataclass(frozen=True)
class Cell:
    """One size of one row: the paper's number and ours."""

    size: int
    paper: float | None
    """None where the paper prints '-'."""
    instances: int
    solved: float
    ours: float
    ci95: float
    errors: float | None
    """Ours minus the paper's, in standard errors of that difference; None where the paper prints '-'."""

    @property
    def agrees(self) -> bool:
        """Whether the difference can be chance."""
        return self.errors is None or abs(self.errors) <= AGREEMENT


@dataclass(frozen=True)
class TableRow:
    """One row of a table: an agent on a task, size by size."""

    table: str
    name: str
    """What the paper calls the row."""
    agent: str
    task: str
    measure: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class _Wanted:
    """A row of the paper and the agent and settings that make it."""

    table: str
    name: str
    agent: str
    limit: str
    queries: str = ""


TEACHER_ROWS = (
    _Wanted("table2_bubble_interface_steps", "bubble sort", "teacher:bubble_sort", "10n^2"),
    _Wanted("table2_bubble_interface_steps", "insertion sort", "teacher:insertion_sort", "10n^2"),
    _Wanted("table2_quick_interface_steps", "quick sort", "teacher:quick_sort", "10n^2"),
    _Wanted("table3_search_steps", "linear search", "teacher:linear_search", "20n", "present"),
    _Wanted("table3_search_steps", "binary search", "teacher:binary_search", "20n", "present"),
    _Wanted("table4_knapsack_reward", "dfs, budget 20 x size", "teacher:depth_first", "20n"),
    _Wanted("table4_knapsack_reward", "dfs, budget 100 x size", "teacher:depth_first", "100n"),
    _Wanted("table5_full_view_steps_and_percent_solved", "teacher", "teacher:selection_sort", "n^2"),
    _Wanted("table6_quick_interface_large_steps", "quick sort", "teacher:quick_sort", "10n^2"),
)

Progress = Callable[[str, int, int, int], None]


def reproduce_teachers(*, instances: int = 1000, seed: int = 0, progress: Progress | None = None) -> Iterator[TableRow]:
    """Yield every row of the paper's tables that a teacher makes, beside ours on the same sizes.

    `progress(row, size, ended, count)` is called as instances end.
    """
    for wanted in TEACHER_ROWS:
        yield _reproduce_row(wanted, instances, seed, progress)


def _reproduce_row(wanted: _Wanted, instances: int, seed: int, progress: Progress | None) -> TableRow:
    table = paper_tables()[wanted.table]
    agent = find_agent(wanted.agent)
    task, run_one = agent.task, runner(agent)
    cells = []
    for size, printed in zip(table["sizes"], table["rows"][wanted.name], strict=True):
        count = instances if printed is not None else min(instances, UNPRINTED_INSTANCES)
        request = Request(size=size, count=count, seed=seed, queries=wanted.queries or "mixed")
        report = _report(progress, wanted, size, count)
        results = run_one(task.draw(request), Limit.parse(wanted.limit), report)
        cells.append(_compare(size, _printed_mean(printed), results, task.measure))
    return TableRow(wanted.table, wanted.name, wanted.agent, task.name, task.measure, tuple(cells))


def _report(progress: Progress | None, wanted: _Wanted, size: int, count: int) -> Callable[[int], None] | None:
    return (lambda ended: progress(wanted.name, size, ended, count)) if progress else None


def _printed_mean(printed: Any) -> float | None:
    """Return the mean of a printed cell; cells of the full view also hold the percentage solved."""
    mean: float | None = printed[0] if isinstance(printed, list) else printed
    return mean


def _compare(size: int, printed: float | None, results: Results, measure: str) -> Cell:
    values = results.rewards if measure == "reward" else results.steps
    ours = mean_of(values)
    errors = None
    if printed is not None:
        error = ours.deviation * math.sqrt(1 / PAPER_INSTANCES + 1 / len(values))
        errors = (ours.mean - printed) / error if error > 0 else (0.0 if ours.mean == printed else math.inf)
    return Cell(size, printed, len(values), float(results.solved.mean()), ours.mean, ours.ci95, errors)
