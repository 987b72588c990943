"""Which rows the paper's tables have, and which agents make ours."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from surpass.agents.zoo import find_entry, zoo_entries
from surpass.printing import count

Measure = Literal["steps", "steps before the answer", "reward", "solved"]
"""What a table's means are of."""
MOST_RULES = 60
"""A program of more rules nobody reads."""
PAPER_INSTANCES = 100
"""How many instances each printed mean of the paper is over."""


@cache
def paper_tables() -> dict[str, Any]:
    """Return every number that is printed in the paper, by table."""
    tables: dict[str, Any] = json.loads(files("surpass.evaluation").joinpath("paper.json").read_text())
    return tables


@dataclass(frozen=True)
class RowPlan:
    """A row to make: what the paper calls it, and the agent that makes ours."""

    label: str
    agent: str
    limit: str = ""
    paper_row: str | None = ""
    """The paper's row to print beside it; the one named `label` if empty, none if None."""
    against: str = ""
    """The label of the teacher's row that savings are counted from."""
    is_optional: bool = False
    """Whether the paper lacks this row, so that it is left out when its agent is not in the zoo."""

    @property
    def is_teacher(self) -> bool:
        """Whether the agent is written by hand."""
        return self.agent.startswith("teacher:")


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """A table to make."""

    name: str
    title: str
    paper_table: str
    rows: tuple[RowPlan, ...]
    measure: Measure = "steps"
    queries: str = ""
    own_sizes: tuple[int, ...] = ()
    """Other sizes than those of the paper's table; a table that is not from the paper needs some."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that the table has: the paper's, unless it has its own."""
        return self.own_sizes or tuple(paper_tables()[self.paper_table]["sizes"])

    def printed(self, row: RowPlan) -> list[Any]:
        """Return the paper's cells of a row: None, a number, or a pair of a number and the percentage solved."""
        if row.paper_row is None:
            return [None] * len(self.sizes)
        table = paper_tables()[self.paper_table]
        cells = dict(zip(table["sizes"], table["rows"][row.paper_row or row.label], strict=True))
        return [cells.get(size) for size in self.sizes]


IMPROVED = "improvement (ours)"
"""The label of programs that our search made, a row that the paper lacks."""
SEARCHES = ("discover", "improvement")
"""The methods that search over programs; the second is of earlier versions."""


def _plan(
    name: str, title: str, paper_table: str, *rows: RowPlan, limit: str = "", against: str = "", **more: Any
) -> TablePlan:
    """Return a table whose rows have a step limit, and whose learned agents are counted from a teacher's row."""
    filled = [
        replace(row, limit=row.limit or limit, against=row.against or ("" if row.is_teacher else against))
        for row in rows
    ]
    return TablePlan(name=name, title=title, paper_table=paper_table, rows=tuple(filled), **more)


def _ours(label: str, agent: str, paper_row: str | None = None, **more: Any) -> RowPlan:
    """Return a row of our own, which is left out if its agent is not in the zoo."""
    return RowPlan(label, agent, paper_row=paper_row, is_optional=True, **more)


def _knapsack_rows(factor: int) -> list[RowPlan]:
    teacher, label, limit = f"dfs, budget {factor} x size", f"rl, budget {factor} x size", f"{factor}n"
    how: dict[str, Any] = {"limit": limit, "against": teacher}
    return [
        RowPlan(teacher, "teacher:depth_first", limit),
        RowPlan(label, "zoo:knapsack/rl", **how),
        _ours(f"{label} + imitation", "zoo:knapsack/rl+imitation-depth_first", label, **how),
        _ours(f"{IMPROVED}, budget {factor} x size", "zoo:knapsack/improvement-levelled", **how),
    ]


_SUPERVISED = "zoo:sort-full/imitation-selection_sort"

TABLES = (
    _plan(
        "table1",
        "Table 1, imitation in two views",
        "table1_percent_solved_full_vs_interface",
        RowPlan("full view", _SUPERVISED, limit="n^2"),
        RowPlan("interface view", "zoo:sort-bubble/imitation-insertion_sort", limit="10n^2"),
        measure="solved",
    ),
    _plan(
        "table2",
        "Table 2, bubble interface",
        "table2_bubble_interface_steps",
        RowPlan("bubble sort", "teacher:bubble_sort"),
        RowPlan("insertion sort", "teacher:insertion_sort"),
        RowPlan("rl from scratch", "zoo:sort-bubble/rl"),
        RowPlan("rl + imitation", "zoo:sort-bubble/rl+imitation-insertion_sort"),
        _ours(IMPROVED, "zoo:sort-bubble/improvement-insertion_sort"),
        limit="10n^2",
        against="insertion sort",
    ),
    _plan(
        "table2",
        "Table 2, quick sort interface",
        "table2_quick_interface_steps",
        RowPlan("quick sort", "teacher:quick_sort"),
        RowPlan("rl from scratch", "zoo:sort-quick/rl"),
        _ours("rl from an agent of sort-bubble", "zoo:sort-quick/rl-from-sort-bubble", "rl from scratch"),
        RowPlan("rl + imitation", "zoo:sort-quick/rl+imitation-quick_sort"),
        _ours(IMPROVED, "zoo:sort-quick/improvement-hoare_sort"),
        limit="10n^2",
        against="quick sort",
    ),
    _plan(
        "table3",
        "Table 3, search with one query in four absent",
        "table3_search_steps",
        RowPlan("linear search", "teacher:linear_search"),
        RowPlan("binary search", "teacher:binary_search"),
        RowPlan("rl from scratch", "zoo:search/rl"),
        RowPlan("rl + imitation", "zoo:search/rl+imitation-binary_search"),
        _ours("rl + our own teacher", "zoo:search/rl+imitation-bracket_search", "rl + imitation"),
        _ours(IMPROVED, "zoo:search/improvement-binary_search"),
        limit="20n",
        against="binary search",
        measure="steps before the answer",
        queries="paper",
    ),
    _plan(
        "table4",
        "Table 4, knapsack",
        "table4_knapsack_reward",
        *_knapsack_rows(20),
        *_knapsack_rows(100),
        measure="reward",
    ),
    _plan(
        "table5",
        "Table 5, full view",
        "table5_full_view_steps_and_percent_solved",
        RowPlan("teacher", "teacher:selection_sort"),
        RowPlan("supervised", _SUPERVISED),
        RowPlan("rl", "zoo:sort-full/rl"),
        _ours("rl + imitation", "zoo:sort-full/rl+imitation-selection_sort", "rl"),
        limit="n^2",
        against="teacher",
    ),
    _plan(
        "table6",
        "Table 6, quick sort interface, large lists",
        "table6_quick_interface_large_steps",
        RowPlan("quick sort", "teacher:quick_sort"),
        RowPlan("rl + imitation", "zoo:sort-quick/rl+imitation-quick_sort"),
        _ours(IMPROVED, "zoo:sort-quick/improvement-hoare_sort"),
        limit="10n^2",
        against="quick sort",
    ),
)
"""Every table of the paper, in its order."""


def table_of_task(task: str) -> TablePlan | None:
    """Return the paper's first table of steps or reward of a task, if it has one."""
    return next((plan for plan in TABLES if paper_tables()[plan.paper_table].get("task") == task), None)


# The best of each task: the paper's best agent, the best one that we wrote by hand, and the programs found


class Contest(NamedTuple):
    """What is compared in a task."""

    task: str
    paper_table: str
    paper_row: str
    """The row of its best agent."""
    teacher: RowPlan
    """The best agent that is written by hand."""


def _contest(task: str, table: str, paper_row: str, teacher: str, limit: str, teacher_row: str | None) -> Contest:
    return Contest(task, table, paper_row, RowPlan(teacher, f"teacher:{teacher}", limit, teacher_row))


CONTESTS = (
    _contest(
        "sort-bubble", "table2_bubble_interface_steps", "rl + imitation", "insertion_sort", "10n^2", "insertion sort"
    ),
    _contest("sort-quick", "table2_quick_interface_steps", "rl + imitation", "hoare_sort", "10n^2", None),
    _contest("search", "table3_search_steps", "rl + imitation", "bracket_search", "20n", None),
    *(
        _contest("knapsack", "table4_knapsack_reward", f"rl, {budget}", "depth_first", limit, f"dfs, {budget}")
        for budget, limit in (("budget 20 x size", "20n"), ("budget 100 x size", "100n"))
    ),
)


def best_plans() -> tuple[TablePlan, ...]:
    """Return a table for each task: the teacher, and beside the paper's best agent the programs of the zoo."""
    return tuple(_best_plan(contest) for contest in CONTESTS)


def _best_plan(contest: Contest) -> TablePlan:
    like, teacher = next(plan for plan in TABLES if plan.paper_table == contest.paper_table), contest.teacher
    made = [one for one in zoo_entries() if one.task == contest.task and one.record["method"] in SEARCHES]
    # What a search made that solves everything and can be read, or else the best agent of the task.
    shown = [one for one in made if one.merit[0] == 1 and one.record["rules"] <= MOST_RULES]
    rows = [
        RowPlan(
            label=f"{one.name.partition('/')[2]}, {count(one.record['rules'], 'rule')}",
            agent=f"zoo:{one.name}",
            limit=teacher.limit,
            paper_row=contest.paper_row,
            against=teacher.label,
        )
        for one in shown or [find_entry(contest.task)]
    ]
    title = f"The best of {contest.task}, beside the paper's {contest.paper_row}"
    return replace(like, name="best", title=title, rows=(teacher, *rows))
