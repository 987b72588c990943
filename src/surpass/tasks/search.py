"""search: find a query in an ordered list, or report that it is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surpass.errors import InstanceError
from surpass.machine.features import PREVIOUS_ACTION, comparison
from surpass.machine.instructions import Instruction
from surpass.machine.instructions import variables as variable
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import FIRST, PREVIOUS, SIZE, Outcome, State
from surpass.tasks.enumeration import ordered_lists
from surpass.tasks.lists import LISTS, rank
from surpass.tasks.task import Enumeration, Instances, Number, Request, Reward, Task
from surpass.tasks.variables import (
    ASSIGN_VAR,
    COUNT,
    MOVE_VAR,
    VARIABLES,
    assign,
    compare,
    look,
    move,
    variable_features,
)

__all__ = ["SEARCH"]

Ints = npt.NDArray[np.int64]

ASSIGN_MID = Instruction("AssignMid", *(variable(name, COUNT) for name in ("i", "j", "k")))
FOUND = Instruction("Found", variable("i", COUNT))
NOT_FOUND = Instruction("NotFound")

RUNNING, SOLVED, WRONG = int(Outcome.RUNNING), int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER)

ANSWER = FIRST + COUNT
"""Register: the reported position, or -1."""
IS_PRESENT = FIRST + COUNT + 1
"""Register: whether the query is in the list; the agent cannot see it."""


@kernel
def start(state: State) -> int:
    """Set v1 and v2 to the first position and v3 and v4 to the last, in place; an empty list is answered at once.

    The query stands behind the list, at item n.
    """
    registers, items = state.registers, state.items
    size = registers[SIZE]
    registers[ANSWER] = -1
    if size == 0:
        return SOLVED
    registers[FIRST + 2] = size - 1
    registers[FIRST + 3] = size - 1
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if items[middle] < items[size]:
            low = middle + 1
        else:
            high = middle
    registers[IS_PRESENT] = low < size and items[low] == items[size]
    return RUNNING


@kernel
def observe(state: State) -> tuple[int, ...]:
    """Return the value numbers of the features."""
    registers, items = state.registers, state.items
    query = items[registers[SIZE]]
    return look(state) + (
        compare(query, items[registers[FIRST]]),
        compare(query, items[registers[FIRST + 1]]),
        compare(query, items[registers[FIRST + 2]]),
        compare(query, items[registers[FIRST + 3]]),
        registers[PREVIOUS],
    )


@kernel
def act(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    """Execute an action in place."""
    registers = state.registers
    if instruction == 0:
        move(state, operands[0], operands[1])
    elif instruction == 1:
        assign(state, operands[0], operands[1])
    elif instruction == 2:
        registers[FIRST + operands[0]] = (registers[FIRST + operands[1]] + registers[FIRST + operands[2]]) // 2
    elif instruction == 3:
        registers[ANSWER] = registers[FIRST + operands[0]]
        if state.items[registers[ANSWER]] == state.items[registers[SIZE]]:
            return SOLVED
        return WRONG
    else:
        if registers[IS_PRESENT] == 0:
            return SOLVED
        return WRONG
    return RUNNING


def find_wrong(
    before: Instances, registers: Ints, items: Ints, reals: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Tell which reports are wrong: a position without the query, or none although the query is in the list."""
    rows, answers = np.arange(before.count), registers[:, ANSWER]
    queries = before.items[rows, before.sizes]
    is_present = np.zeros(before.count, np.bool_)
    for size in np.unique(before.sizes):
        same = slice(None) if (before.sizes == size).all() else before.sizes == size
        is_present[same] = (before.items[same, :size] == queries[same, None]).any(axis=1)
    is_there = (before.items[rows, answers] == queries) & (answers < before.sizes)
    wrong: npt.NDArray[np.bool_] = np.where(answers >= 0, ~is_there, is_present)
    return wrong


def _draw_ordered(name: str) -> Callable[[Request], Instances]:
    def draw(request: Request) -> Instances:
        lists = np.sort(LISTS[name](request), axis=1)
        ranks = np.cumsum(np.diff(lists, axis=1, prepend=lists[:, :1]) > 0, axis=1, dtype=np.int64)
        # Items are odd, so that every gap between two of them, and before and after all, has an even number.
        instances = SEARCH.allocate(request.count, request.size)
        instances.items[:, : request.size] = 2 * ranks + 1
        instances.items[:, request.size] = _draw_queries(request, ranks)
        return instances

    return draw


def _draw_queries(request: Request, ranks: Ints) -> Ints:
    count, size = ranks.shape
    positions = request.stream("present queries").integers(0, size, count)
    present = 2 * ranks[np.arange(count), positions] + 1
    gaps = request.stream("absent queries").random(count) * (ranks[:, -1] + 2)
    absent = 2 * gaps.astype(np.int64)
    if request.queries == "mixed":
        return np.where(request.stream("mixed queries").random(count) < 0.5, present, absent)
    return present if request.queries == "present" else absent


LARGEST_TIED = 10
"""Up to this size every ordered list is enumerated, beyond only the one without ties."""
BATCH_WORDS = 1 << 20
"""About how many integers of instances to yield at once."""


def every_query(size: int) -> Iterator[Instances]:
    """Yield ordered lists of a size with every query: each value, and each gap before, between and after values."""
    lists = ordered_lists(size) if size <= LARGEST_TIED else np.arange(size)[None, :]
    values = 2 * lists + 1
    query_counts = values.max(axis=1, initial=-1) + 2
    rows = np.repeat(np.arange(len(lists)), query_counts)
    queries = np.arange(len(rows)) - np.repeat(np.cumsum(query_counts) - query_counts, query_counts)
    step = max(1, BATCH_WORDS // (size + 1))
    for at in range(0, len(rows), step):
        part = rows[at : at + step]
        instances = SEARCH.allocate(len(part), size)
        instances.items[:, :size] = values if len(values) == 1 else values[part]
        instances.items[:, size] = queries[at : at + step]
        yield instances


def query_count(size: int) -> int:
    """Return how many instances `every_query` yields."""
    return 2 * size + 1 if size > LARGEST_TIED else (size + 2) * 2**size // 2


def read(parts: Sequence[Sequence[Number]]) -> tuple[Instances, tuple[str, ...]]:
    """Return an ordered list and a query as an instance."""
    if len(parts) != 2 or len(parts[1]) != 1:
        raise InstanceError("it takes an ordered list, a colon and one query, such as 1,3,5,9:5")
    values, query = list(parts[0]), parts[1][0]
    for a, b in pairwise(values):
        if a > b:
            raise InstanceError(f"the list must be in order, but {a} stands before {b}")
    ranks, distinct = rank([*values, query])
    instances = SEARCH.allocate(1, len(values))
    instances.items[0, : len(ranks)] = ranks
    return instances, tuple(map(str, distinct))


def write(instance: Instances) -> str:
    """Return an ordered list and its query as text."""
    *values, query = instance.items[0, : instance.sizes[0] + 1].tolist()
    return f"{','.join(map(str, values))}:{query}"


def complete(values: Sequence[Number], kind: str, random: np.random.Generator) -> Sequence[Sequence[Number]]:
    """Return a list and a query of a kind, with values replaced by whole numbers of the same order."""
    ranks, distinct = rank(values)
    if kind == "mixed":
        kind = "present" if random.random() < 0.5 else "absent"
    if kind == "present":
        query = 2 * ranks[random.integers(len(ranks))] + 1
    else:
        query = 2 * int(random.integers(len(distinct) + 1))
    return [[2 * r + 1 for r in ranks], [query]]


SEARCH = Task(
    name="search",
    summary="find a query in an ordered list, or report that it is not there",
    interface=Interface(
        [*variable_features(), *(comparison("q", f"A[{v}]") for v in VARIABLES), PREVIOUS_ACTION],
        [MOVE_VAR, ASSIGN_VAR, ASSIGN_MID, FOUND, NOT_FOUND],
    ),
    start=start,
    observe=observe,
    act=act,
    registers=(*VARIABLES, "answer", "_is_present"),
    item_width=lambda size: size + 1,
    item_name=lambda index, size: f"A[{index}]" if index < size else "q",
    data={name: _draw_ordered(name) for name in ("uniform", "repeats", "few-distinct", "some-distinct", "all-equal")},
    small=Enumeration(
        what=f"ordered lists of n distinct values, and with every pattern of ties up to n = {LARGEST_TIED},"
        " with every query: each value, and each gap before, between and after values",
        instances=every_query,
        count=query_count,
        largest=2000,
    ),
    queries=("mixed", "present", "absent"),
    read=read,
    write=write,
    complete=complete,
    written="an ordered list, a colon and a query, such as 1,3,5,9:5",
    find_wrong=find_wrong,
    limit="20n",
    reward=Reward(step_cost=1.0, wrong_cost=10_000.0),
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(30, 50),
)
