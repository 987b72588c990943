"""The paper's tables beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from surpass.agents import find_agent
from surpass.engine.run import Results
from surpass.errors import UnknownNameError
from surpass.evaluation.paper import PAPER_INSTANCES, paper_tables
from surpass.evaluation.scores import runner
from surpass.evaluation.statistics import mean_of
from surpass.tasks.task import Limit, Request

__all__ = ["TABLES", "Cell", "TableRow", "Wanted", "reproduce"]

AGREEMENT = 3.0
"""How many standard errors may lie between the paper's mean and ours."""
UNPRINTED_INSTANCES = 10
"""How many instances fill a cell that the paper leaves empty, where one takes tens of millions of steps."""

Measure = Literal["steps", "reward", "solved"]


@dataclass(frozen=True)
class Cell:
    """One size of one row: the paper's number and ours."""

    size: int
    paper: float | None
    """None where the paper prints '-', or has no such row."""
    paper_solved: float | None
    """The share solved, where the paper prints it."""
    instances: int
    solved: float
    ours: float
    ci95: float
    errors: float | None
    """Ours minus the paper's, in standard errors of that difference; None where there is nothing to compare."""

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
    measure: Measure
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Wanted:
    """A row to make: what the paper calls it, and the agent and settings that make ours."""

    table: str
    name: str
    agent: str
    limit: str
    queries: str = ""
    paper_row: str = ""
    """The paper's row to print beside it, if that is not `name`; '-' for none."""
    measure: Measure | None = None
    """What is compared, if not what the task is measured by."""
    most_pairs: int = 0
    """For a graph network: about how many pairs of positions all instances of a size may have together."""

    def printed(self) -> list[Any]:
        """Return the paper's cells of this row."""
        table = paper_tables()[self.table]
        row = self.paper_row or self.name
        return [None] * len(table["sizes"]) if row == "-" else list(table["rows"][row])

    def instances(self, size: int, wanted: int, is_printed: bool) -> int:
        """Return how many instances to run at a size."""
        if self.most_pairs:
            return max(1, min(wanted, self.most_pairs // size**2))
        return wanted if is_printed else min(wanted, UNPRINTED_INSTANCES)


_BUBBLE, _QUICK, _SEARCH = "table2_bubble_interface_steps", "table2_quick_interface_steps", "table3_search_steps"
_KNAPSACK, _LARGE = "table4_knapsack_reward", "table6_quick_interface_large_steps"
_VIEWS, _FULL = "table1_percent_solved_full_vs_interface", "table5_full_view_steps_and_percent_solved"

_SELECTION = Wanted(_FULL, "teacher", "teacher:selection_sort", "n^2")
_QUICK_LARGE = Wanted(_LARGE, "quick sort", "teacher:quick_sort", "10n^2")

TABLES: dict[str, tuple[Wanted, ...]] = {
    "teachers": (
        Wanted(_BUBBLE, "bubble sort", "teacher:bubble_sort", "10n^2"),
        Wanted(_BUBBLE, "insertion sort", "teacher:insertion_sort", "10n^2"),
        Wanted(_QUICK, "quick sort", "teacher:quick_sort", "10n^2"),
        Wanted(_SEARCH, "linear search", "teacher:linear_search", "20n", "present"),
        Wanted(_SEARCH, "binary search", "teacher:binary_search", "20n", "present"),
        Wanted(_KNAPSACK, "dfs, budget 20 x size", "teacher:depth_first", "20n"),
        Wanted(_KNAPSACK, "dfs, budget 100 x size", "teacher:depth_first", "100n"),
        _SELECTION,
        _QUICK_LARGE,
    ),
    "table1": (
        Wanted(
            _VIEWS,
            "full view",
            "zoo:sort-full/imitation-selection_sort",
            "n^2",
            measure="solved",
            most_pairs=250_000,
        ),
        Wanted(_VIEWS, "interface view", "zoo:sort-bubble/imitation-insertion_sort", "10n^2", measure="solved"),
    ),
    "table5": (
        _SELECTION,
        Wanted(_FULL, "supervised", "zoo:sort-full/imitation-selection_sort", "n^2", most_pairs=250_000),
    ),
    "table6": (
        _QUICK_LARGE,
        Wanted(
            _LARGE, "imitation of quick sort", "zoo:sort-quick/imitation-quick_sort", "10n^2", paper_row="quick sort"
        ),
        Wanted(_LARGE, "imitation of hoare sort", "zoo:sort-quick/imitation-hoare_sort", "10n^2", paper_row="-"),
    ),
}
"""What can be reproduced, by name."""

Progress = Callable[[str, int, int, int], None]


def reproduce(
    name: str, *, instances: int = 1000, seed: int = 0, progress: Progress | None = None
) -> Iterator[TableRow]:
    """Yield every row of one of `TABLES`, ours beside the paper's on the same sizes.

    `progress(row, size, ended, count)` is called as instances end.
    """
    if name not in TABLES:
        raise UnknownNameError("table", name, TABLES)
    for wanted in TABLES[name]:
        yield _reproduce_row(wanted, instances, seed, progress)


def _reproduce_row(wanted: Wanted, instances: int, seed: int, progress: Progress | None) -> TableRow:
    agent = find_agent(wanted.agent)
    task, run_one = agent.task, runner(agent)
    measure: Measure = wanted.measure or task.measure
    cells = []
    for size, printed in zip(paper_tables()[wanted.table]["sizes"], wanted.printed(), strict=True):
        count = wanted.instances(size, instances, printed is not None or wanted.paper_row == "-")
        request = Request(size=size, count=count, seed=seed, queries=wanted.queries or "mixed")
        report = _report(progress, wanted, size, count)
        results = run_one(task.draw(request), Limit.parse(wanted.limit), report)
        cells.append(_compare(size, printed, results, measure))
    return TableRow(wanted.table, wanted.name, wanted.agent, task.name, measure, tuple(cells))


def _report(progress: Progress | None, wanted: Wanted, size: int, count: int) -> Callable[[int], None] | None:
    return (lambda ended: progress(wanted.name, size, ended, count)) if progress else None


def _compare(size: int, printed: Any, results: Results, measure: Measure) -> Cell:
    """Return a cell; the paper prints a mean, a percentage solved, or a pair of both."""
    if measure == "solved":
        values, paper, paper_solved = results.solved.astype(float), printed / 100, printed / 100
    else:
        values = results.rewards if measure == "reward" else results.steps.astype(float)
        paper, percent = printed if isinstance(printed, list) else (printed, None)
        paper_solved = None if percent is None else percent / 100
    ours = mean_of(values)
    errors = None
    if paper is not None and len(values) > 1:
        error = ours.deviation * math.sqrt(1 / PAPER_INSTANCES + 1 / len(values))
        errors = (ours.mean - paper) / error if error > 0 else (0.0 if ours.mean == paper else None)
    return Cell(size, paper, paper_solved, len(values), float(results.solved.mean()), ours.mean, ours.ci95, errors)
