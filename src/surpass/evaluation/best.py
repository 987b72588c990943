"""The best of each task: the paper's best agent, the best one that we wrote by hand, and the programs found."""

from __future__ import annotations

from typing import NamedTuple

from surpass.agents.zoo import ZooEntry, find_entry, zoo_entries
from surpass.evaluation.tables import TABLES, RowPlan, TablePlan
from surpass.printing import count


class Contest(NamedTuple):
    """What is compared in a task."""

    task: str
    table: str
    """The paper's table."""
    paper_row: str
    """The row of its best agent."""
    teacher: str
    """The best agent that is written by hand."""
    teacher_row: str | None = None
    """The paper's row of that agent, if it has one."""
    limit: str = ""
    """The step limit; that of the table's first row if empty."""


CONTESTS = (
    Contest("sort-bubble", "table2_bubble_interface_steps", "rl + imitation", "insertion_sort", "insertion sort"),
    Contest("sort-quick", "table2_quick_interface_steps", "rl + imitation", "hoare_sort"),
    Contest("search", "table3_search_steps", "rl + imitation", "bracket_search"),
    *(
        Contest("knapsack", "table4_knapsack_reward", f"rl, {budget}", "depth_first", f"dfs, {budget}", limit)
        for budget, limit in (("budget 20 x size", "20n"), ("budget 100 x size", "100n"))
    ),
)


def best_plans() -> tuple[TablePlan, ...]:
    """Return a table for each task: the teacher, and beside the paper's best agent the programs of the zoo."""
    return tuple(_plan(contest) for contest in CONTESTS)


def _plan(contest: Contest) -> TablePlan:
    like = next(plan for plan in TABLES if plan.paper_table == contest.table)
    limit = contest.limit or like.rows[0].limit
    teacher = RowPlan(contest.teacher, f"teacher:{contest.teacher}", limit, contest.teacher_row)
    found = [_row(contest, one, limit) for one in _programs(contest.task)]
    return TablePlan(
        name="best",
        title=f"The best of {contest.task}, beside the paper's {contest.paper_row}",
        paper_table=contest.table,
        rows=(teacher, *found),
        measure=like.measure,
        queries=like.queries,
    )


MOST_RULES = 60
"""A program of more rules nobody reads."""


def _programs(task: str) -> list[ZooEntry]:
    """Return what improvement made that solves everything and can be read, or else the best agent of the task."""
    made = [one for one in zoo_entries() if one.task == task and one.record["method"] == "improvement"]
    return [one for one in made if one.merit[0] == 1 and one.record["rules"] <= MOST_RULES] or [find_entry(task)]


def _row(contest: Contest, one: ZooEntry, limit: str) -> RowPlan:
    label = f"{one.name.partition('/')[2]}, {count(one.record['rules'], 'rule')}"
    return RowPlan(label, f"zoo:{one.name}", limit, contest.paper_row, contest.teacher)
