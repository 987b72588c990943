"""What the caller of an exported file gives and gets, for each kind of task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from surpass.machine.state import FIRST
from surpass.programs.export.code import Const
from surpass.programs.export.names import name_task
from surpass.tasks.enumeration import reads_lists
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH, R
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task

__all__ = ["Entry", "entry_of", "memory_entry"]


@dataclass(frozen=True, eq=False)
class Entry:
    """How an exported program is called."""

    name: str
    """The name of the function."""
    shape: Literal["sort", "search", "knapsack", "list", "memory"]
    """`list` and `memory` are a user's tasks: given as a list, or as the memory with which an episode starts."""
    outputs: tuple[int, ...] = ()
    """The registers that come back."""
    fixed: tuple[tuple[int, Const], ...] = ()
    """Registers that are taken to hold a value throughout."""

    @property
    def has_query(self) -> bool:
        """Whether the item behind the list is given on its own."""
        return self.shape == "search"

    @property
    def starts_at_zero(self) -> bool:
        """Whether every real number is 0 at the start."""
        return self.shape not in ("knapsack", "memory")


_SORT = Entry("sort", "sort")
# To know whether a query that is reported absent is absent takes another search, so that report is taken on trust.
_SEARCH = Entry("search", "search", (R.answer,), ((R.is_present, Const(0)),))
_ENTRIES = {SORT_BUBBLE: _SORT, SORT_QUICK: _SORT, SEARCH: _SEARCH, KNAPSACK: Entry("knapsack", "knapsack")}


def entry_of(task: Task) -> Entry:
    """Return how the programs of a task are called once they are exported."""
    if task in _ENTRIES:
        return _ENTRIES[task]
    sizes = (0, 1, 2, 3, 10, 100, 1000)
    is_list = reads_lists(task) and all((task.item_width(n), task.real_width(n)) == (n, 1) for n in sizes)
    return replace(memory_entry(task), shape="list") if is_list else memory_entry(task)


def memory_entry(task: Task) -> Entry:
    """Return the way of calling that does for every task: with the memory of an episode."""
    outputs = tuple(FIRST + k for k, name in enumerate(task.registers) if not name.startswith("_"))
    return Entry(name_task(task), "memory", outputs)
