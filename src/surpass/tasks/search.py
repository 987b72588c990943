"""search: find a query in an ordered list, or report that it is not there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.errors import InstanceError
from surpass.machine.features import PREVIOUS_ACTION, comparison, value
from surpass.machine.instructions import Action, Instruction
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import RUNNING, SIZE, SOLVED, WRONG, State, registers
from surpass.tasks.drawing import Drawing
from surpass.tasks.enumeration import ordered_lists
from surpass.tasks.lists import LISTS, rank
from surpass.tasks.signature import Signature
from surpass.tasks.task import Enumeration, Inputs, Instances, Memory, Number, Request, Reward, Task
from surpass.tasks.teacher import Do, See, teacher
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, NAMES, V, item, one_of, variable_features

R = registers(*NAMES, "answer", "is_present")
"""Beside the variables the reported position, or -1, and whether the query is in the list, which no agent sees."""


@kernel
def start(state: State) -> int:
    """Set v1 and v2 to the first position and v3 and v4 to the last, in place; an empty list is answered at once.

    The query stands behind the list, at item n.
    """
    registers, items = state.registers, state.items
    size = registers[SIZE]
    registers[R.answer] = -1
    if size == 0:
        return SOLVED
    registers[R.v3] = size - 1
    registers[R.v4] = size - 1
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if items[middle] < items[size]:
            low = middle + 1
        else:
            high = middle
    registers[R.is_present] = low < size and items[low] == items[size]
    return RUNNING


@kernel
def query(state: State) -> int:
    """Return what is searched for."""
    return state.items[state.registers[SIZE]]


@kernel
def open_places(state: State) -> int:
    """Return how many positions lie between the variables on both sides of the query."""
    registers, items = state.registers, state.items
    low, high = -1, registers[SIZE]
    for v in range(R.v1, R.v4 + 1):
        place = registers[v]
        if items[place] < query(state):
            low = max(low, place)
        elif items[place] > query(state):
            high = min(high, place)
    return high - low - 1


@kernel
def halvings(state: State) -> float:
    """Return how many times the open positions can be halved, about."""
    return math.log2(open_places(state) + 1.0)


@kernel
def is_shown(state: State) -> bool:
    """Tell whether a variable stands at the query."""
    shown = False
    for v in range(R.v1, R.v4 + 1):
        shown |= state.items[state.registers[v]] == query(state)
    return shown


@kernel
def is_present(state: State) -> int:
    """Tell whether the query is in the list."""
    return state.registers[R.is_present]


@kernel
def assign_middle(state: State, v: int, i: int, j: int) -> int:
    """Set a variable in place to the middle of two others."""
    state.registers[v] = (state.registers[i] + state.registers[j]) // 2
    return RUNNING


@kernel
def report(state: State, v: int) -> int:
    """Report where a variable stands as the position of the query, in place."""
    state.registers[R.answer] = state.registers[v]
    if item(state, v) == query(state):
        return SOLVED
    return WRONG


@kernel
def report_absent(state: State) -> int:
    """Report that the query is not in the list."""
    if state.registers[R.is_present] == 0:
        return SOLVED
    return WRONG


ASSIGN_MID = Instruction("AssignMid", *one_of, does=assign_middle)
FOUND = Instruction("Found", one_of[0], does=report)
NOT_FOUND = Instruction("NotFound", does=report_absent)


def find_wrong(before: Instances, registers: Ints, items: Ints, reals: Reals) -> Flags:
    """Tell which reports are wrong: a position without the query, or none although the query is in the list."""
    rows, answers = np.arange(before.count), registers[:, R.answer]
    queries = before.items[rows, before.sizes]
    is_present = np.zeros(before.count, np.bool_)
    for size in np.unique(before.sizes):
        same = slice(None) if (before.sizes == size).all() else before.sizes == size
        is_present[same] = (before.items[same, :size] == queries[same, None]).any(axis=1)
    is_there = (before.items[rows, answers] == queries) & (answers < before.sizes)
    wrong: Flags = np.where(answers >= 0, ~is_there, is_present)
    return wrong


PRESENT = {"mixed": 0.5, "present": 1.0, "absent": 0.0, "paper": 0.75}
"""The kinds of query, and the share of each that is in the list; `paper` is how the paper's table 3 is read."""


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
    return np.where(request.stream("mixed queries").random(count) < PRESENT[request.queries], present, absent)


LARGEST_TIED = 14
"""Up to this size every ordered list is enumerated."""
LARGEST_RUN = 40
"""Up to this size every one with a single run of equal values, beyond only the one without ties."""
BATCH_WORDS = 1 << 20
"""About how many integers of instances to yield at once."""


def every_query(size: int) -> Iterator[Instances]:
    """Yield ordered lists of a size with every query: each value, and each gap before, between and after values."""
    lists = _lists_to_check(size)
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


def _lists_to_check(size: int) -> Ints:
    """Return the ordered lists [m, size] that are enumerated."""
    if size <= LARGEST_TIED:
        return ordered_lists(size)
    rises = [np.ones(size - 1, np.int64)]
    if size <= LARGEST_RUN:
        for length in range(2, size + 1):
            for first in range(size - length + 1):
                rises.append(np.ones(size - 1, np.int64))
                rises[-1][first : first + length - 1] = 0
    return np.cumsum(np.insert(rises, 0, 0, axis=1), axis=1)


def query_count(size: int) -> int:
    """Return how many instances `every_query` yields."""
    if size <= LARGEST_TIED:
        return (size + 2) * 2**size // 2
    runs = sum(distinct * (2 * distinct + 1) for distinct in range(1, size)) if size <= LARGEST_RUN else 0
    return 2 * size + 1 + runs


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
    share = PRESENT[kind]
    is_present = random.random() < share if 0 < share < 1 else share == 1
    if is_present:
        query = 2 * ranks[random.integers(len(ranks))] + 1
    else:
        query = 2 * int(random.integers(len(distinct) + 1))
    return [[2 * r + 1 for r in ranks], [query]]


_Q = value("q", query)

SEARCH = Task(
    name="search",
    summary="find a query in an ordered list, or report that it is not there",
    interface=Interface(
        [
            *variable_features(),
            *(comparison(_Q, value(f"A[{v}]", item, i)) for v, i in zip(NAMES, V, strict=True)),
            PREVIOUS_ACTION,
        ],
        [MOVE_VAR, ASSIGN_VAR, ASSIGN_MID, FOUND, NOT_FOUND],
    ),
    start=start,
    memory=Memory(
        registers=R,
        hidden=("is_present",),
        item_width=lambda size: size + 1,
        item_name=lambda index, size: f"A[{index}]" if index < size else "q",
    ),
    inputs=Inputs(
        draw={
            name: _draw_ordered(name) for name in ("uniform", "repeats", "few-distinct", "some-distinct", "all-equal")
        },
        queries=tuple(PRESENT),
        eval_only_queries=("paper",),
        small=Enumeration(
            what=f"ordered lists of n distinct values, with every pattern of ties up to n = {LARGEST_TIED}, with every"
            f" run of equal values up to n = {LARGEST_RUN}, with every query: each value, and each gap before, between"
            " and after values",
            instances=every_query,
            count=query_count,
            largest=2000,
        ),
        read=read,
        write=write,
        complete=complete,
        written="an ordered list, a colon and a query, such as 1,3,5,9:5",
    ),
    hints=tuple(value(hint.__name__, hint) for hint in (open_places, halvings, is_shown, is_present)),
    find_wrong=find_wrong,
    limit="20n",
    reward=Reward(step_cost=1.0, wrong_cost=10_000.0),
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(30, 50),
    signature=Signature(
        name="search",
        summary="find the position of a query in an ordered list",
        note="The list must be in order. A report that the query is not there is taken on trust, since to check it"
        " takes another search; a reported position is checked.",
        items="ordered list",
        query="query",
        answer=R.answer,
        assumed={R.is_present: 0},
    ),
    default_teacher="binary_search",
    drawing=Drawing(positions=NAMES, level="q", bracket=True),
)


@teacher(SEARCH)
def linear_search(see: See, do: Do) -> Action:
    """Walk with v1 from the first position on, and look at it alone."""
    if see("q = A[v1]"):
        return do.Found(1)
    if see("q < A[v1]") or see("v1 = high"):
        return do.NotFound()
    return do.MoveVar(1, +1)


@teacher(SEARCH)
def binary_search(see: See, do: Do) -> Action | None:
    """Look at the middle of the range and drop the half without the query."""
    i, low, high = 1, 2, 3
    if see("v2 > v3") or (see("v1 = v2") and see("q < A[v1]")) or (see("v1 = v3") and see("q > A[v1]")):
        return do.NotFound()
    if see("q = A[v1]"):
        return do.Found(i)
    previous = see.previous
    if previous in (None, do.AssignVar(low, i), do.AssignVar(high, i)):
        return do.AssignMid(i, low, high)
    if previous == do.AssignMid(i, low, high):
        return do.MoveVar(i, +1) if see("q > A[v1]") else do.MoveVar(i, -1)
    if previous == do.MoveVar(i, +1):
        return do.AssignVar(low, i)
    if previous == do.MoveVar(i, -1):
        return do.AssignVar(high, i)
    return None


@teacher(SEARCH)
def bracket_search(see: See, do: Do) -> Action:
    """Halve the bracket that the variables themselves show, one instruction per halving."""
    numbers = range(1, len(NAMES) + 1)
    for k in numbers:
        if see(f"q = A[v{k}]"):
            return do.Found(k)
    if _shows_neighbours(see):
        return do.NotFound()
    below = [k for k in numbers if see(f"q > A[v{k}]")]
    above = [k for k in numbers if see(f"q < A[v{k}]")]
    if not below or not above:
        return do.NotFound()
    low = below[0]
    for k in below[1:]:
        low = k if see(f"v{low} < v{k}") else low
    high = above[0]
    for k in above[1:]:
        high = k if see(f"v{high} > v{k}") else high
    spare = next(k for k in numbers if k not in (low, high))
    return do.AssignMid(spare, low, high)


def _shows_neighbours(see: See) -> bool:
    """Tell whether the last step took the middle of two neighbours around the query: it is then the lower of them."""
    previous = see.previous
    if previous is None or previous.instruction != "AssignMid":
        return False
    middle, low, high = map(str, previous.operands)
    if middle in (low, high) or not (see(f"q > A[v{low}]") and see(f"q < A[v{high}]")):
        return False
    first, second = sorted((middle, low))
    return see(f"v{first} = v{second}")
