"""Which rows the paper's tables have, and which agents make ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from surpass.evaluation.paper import paper_tables

Measure = Literal["steps", "reward", "solved"]


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """A row to make: what the paper calls it, and the agent that makes ours."""

    label: str
    agent: str
    limit: str
    paper_row: str | None = ""
    """The paper's row to print beside it; the one named `label` if empty, none if None."""
    against: str = ""
    """The label of the teacher's row that savings are counted from."""
    is_optional: bool = False
    """Whether it is no row of the paper's, and so is left out when its agent is not in the zoo."""

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

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that the paper's table has."""
        return tuple(paper_tables()[self.paper_table]["sizes"])

    def printed(self, row: RowPlan) -> list[Any]:
        """Return the paper's cells of a row: None, a number, or a pair of a number and the percentage solved."""
        if row.paper_row is None:
            return [None] * len(self.sizes)
        return list(paper_tables()[self.paper_table]["rows"][row.paper_row or row.label])


IMPROVED = "improvement (ours)"
"""The label of what our search over programs made, which is no row of the paper's."""


def _learned(label: str, agent: str, *, limit: str, against: str) -> RowPlan:
    """Return a row of the paper's that only an agent learned by gradients can fill."""
    return RowPlan(label=label, agent=f"zoo:{agent}", limit=limit, against=against)


def _ours(label: str, agent: str, *, limit: str, against: str, paper_row: str | None = None) -> RowPlan:
    """Return a row of our own, which is left out if its agent is not in the zoo."""
    return replace(_learned(label, agent, limit=limit, against=against), paper_row=paper_row, is_optional=True)


def _budget(factor: int) -> tuple[RowPlan, ...]:
    limit, label = f"{factor}n", f"rl, budget {factor} x size"
    teacher = RowPlan(label=f"dfs, budget {factor} x size", agent="teacher:depth_first", limit=limit)
    more = f"{label}, learned on more items"
    return (
        teacher,
        _learned(label, "knapsack/rl", limit=limit, against=teacher.label),
        _ours(more, "knapsack/rl-large", limit=limit, against=teacher.label, paper_row=label),
    )


_SUPERVISED = "zoo:sort-full/imitation-selection_sort"

TABLES = (
    TablePlan(
        name="table1",
        title="Table 1, imitation in two views",
        paper_table="table1_percent_solved_full_vs_interface",
        measure="solved",
        rows=(
            RowPlan(label="full view", agent=_SUPERVISED, limit="n^2"),
            RowPlan(label="interface view", agent="zoo:sort-bubble/imitation-insertion_sort", limit="10n^2"),
        ),
    ),
    TablePlan(
        name="table2",
        title="Table 2, bubble interface",
        paper_table="table2_bubble_interface_steps",
        rows=(
            RowPlan(label="bubble sort", agent="teacher:bubble_sort", limit="10n^2"),
            RowPlan(label="insertion sort", agent="teacher:insertion_sort", limit="10n^2"),
            _learned("rl from scratch", "sort-bubble/rl", limit="10n^2", against="insertion sort"),
            _learned(
                "rl + imitation", "sort-bubble/rl+imitation-insertion_sort", limit="10n^2", against="insertion sort"
            ),
            _ours(IMPROVED, "sort-bubble/improvement-insertion_sort", limit="10n^2", against="insertion sort"),
        ),
    ),
    TablePlan(
        name="table2",
        title="Table 2, quick sort interface",
        paper_table="table2_quick_interface_steps",
        rows=(
            RowPlan(label="quick sort", agent="teacher:quick_sort", limit="10n^2"),
            _learned("rl from scratch", "sort-quick/rl", limit="10n^2", against="quick sort"),
            _learned("rl + imitation", "sort-quick/rl+imitation-quick_sort", limit="10n^2", against="quick sort"),
            _ours(IMPROVED, "sort-quick/improvement-quick_sort", limit="10n^2", against="quick sort"),
            _ours(f"{IMPROVED}, from scratch", "sort-quick/improvement", limit="10n^2", against="quick sort"),
        ),
    ),
    TablePlan(
        name="table3",
        title="Table 3, search for what is in the list",
        paper_table="table3_search_steps",
        queries="present",
        rows=(
            RowPlan(label="linear search", agent="teacher:linear_search", limit="20n"),
            RowPlan(label="binary search", agent="teacher:binary_search", limit="20n"),
            _learned("rl from scratch", "search/rl", limit="20n", against="binary search"),
            _learned("rl + imitation", "search/rl+imitation-binary_search", limit="20n", against="binary search"),
            _ours(
                "rl + our own teacher",
                "search/rl+imitation-bracket_search",
                limit="20n",
                against="binary search",
                paper_row="rl + imitation",
            ),
            _ours(f"{IMPROVED}, from scratch", "search/improvement", limit="20n", against="binary search"),
        ),
    ),
    TablePlan(
        name="table4",
        title="Table 4, knapsack",
        paper_table="table4_knapsack_reward",
        measure="reward",
        rows=(*_budget(20), *_budget(100)),
    ),
    TablePlan(
        name="table5",
        title="Table 5, full view",
        paper_table="table5_full_view_steps_and_percent_solved",
        rows=(
            RowPlan(label="teacher", agent="teacher:selection_sort", limit="n^2"),
            RowPlan(label="supervised", agent=_SUPERVISED, limit="n^2", against="teacher"),
            _learned("rl", "sort-full/rl", limit="n^2", against="teacher"),
            _ours(
                "rl + imitation",
                "sort-full/rl+imitation-selection_sort",
                limit="n^2",
                against="teacher",
                paper_row="rl",
            ),
        ),
    ),
    TablePlan(
        name="table6",
        title="Table 6, quick sort interface, large lists",
        paper_table="table6_quick_interface_large_steps",
        rows=(
            RowPlan(label="quick sort", agent="teacher:quick_sort", limit="10n^2"),
            _learned("rl + imitation", "sort-quick/rl+imitation-quick_sort", limit="10n^2", against="quick sort"),
            _ours(IMPROVED, "sort-quick/improvement-quick_sort", limit="10n^2", against="quick sort"),
        ),
    ),
)
"""Every table of the paper, in its order."""
