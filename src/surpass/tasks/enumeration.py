"""Every small instance of a task, for checks that leave none out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from surpass.arrays import Ints
from surpass.errors import SurpassError
from surpass.tasks.lists import from_lists
from surpass.tasks.task import Enumeration, Instances, Request, Task

BATCH = 1 << 16
"""About how many lists to yield at once."""
LARGEST_LIST = 8
"""The size up to which every list is checked by default: 545,835 of 8 values, and twelve times as many of 9."""
DRAWN = 200
"""How many instances of a size stand in for every one, of each distribution, where a task cannot enumerate them."""


def enumeration_of(task: Task) -> Enumeration:
    """Return how to enumerate the small instances of a task.

    A task may say so itself. If it does not and a written list is read as its ranks, then its instances are lists, and
    they are enumerated up to order. Any other task is represented by some instances of each of its distributions.
    """
    if task.inputs.small is not None:
        return task.inputs.small
    if reads_lists(task):
        return every_list(layout=lambda lists: _lay_out(task, lists))
    return _draw_some(task)


def every_list(largest: int = LARGEST_LIST, layout: Callable[[Ints], Instances] = from_lists) -> Enumeration:
    """Return the enumeration of lists up to order; `layout` turns lists [B, n] into instances."""
    return Enumeration(
        what="every list of n values up to order, permutations and ties alike",
        instances=lambda size: map(layout, weak_orders(size)),
        count=weak_order_count,
        largest=largest,
    )


def weak_orders(size: int, batch: int = BATCH) -> Iterator[Ints]:
    """Yield every list of `size` values up to order as its ranks, in batches [b, size].

    Lists with fewer distinct values come first; those with as many stand in lexicographic order.
    """
    for distinct in range(1, size + 1):
        yield from _complete(np.zeros((1, 0), np.int8), np.zeros(1, np.int64), size, distinct, batch)
    if size == 0:
        yield np.zeros((1, 0), np.int64)


def _complete(rows: npt.NDArray[np.int8], used: Ints, size: int, distinct: int, batch: int) -> Iterator[Ints]:
    """Yield every list that begins with one of `rows` and has the values 0 to `distinct - 1`, each at least once.

    `used` are the values that each row has already, as bits.
    """
    while rows.shape[1] < size:
        if len(rows) > 1 and len(rows) * distinct > batch:
            step = max(1, batch // distinct)
            for at in range(0, len(rows), step):
                yield from _complete(rows[at : at + step], used[at : at + step], size, distinct, batch)
            return
        values = np.tile(np.arange(distinct), len(rows))
        rows = np.column_stack([np.repeat(rows, distinct, axis=0), values.astype(np.int8)])
        used = np.repeat(used, distinct) | (1 << values)
        can_end = distinct - np.bitwise_count(used) <= size - rows.shape[1]
        rows, used = rows[can_end], used[can_end]
    yield rows.astype(np.int64)


@cache
def weak_order_count(size: int) -> int:
    """Return how many lists of `size` values there are up to order: 1, 1, 3, 13, 75, 541, 4683, ..."""
    if size == 0:
        return 1
    return sum(math.comb(size, k) * weak_order_count(size - k) for k in range(1, size + 1))


def ordered_lists(size: int) -> Ints:
    """Return the ranks [2^(size-1), size] of every list in nondecreasing order.

    Lists with fewer distinct values come first; those with as many stand in lexicographic order.
    """
    if size == 0:
        return np.zeros((1, 0), np.int64)
    rises = (np.arange(1 << (size - 1))[:, None] >> np.arange(size - 1)[::-1]) & 1
    lists = np.concatenate([np.zeros((len(rises), 1), np.int64), np.cumsum(rises, axis=1)], axis=1)
    return lists[np.argsort(lists[:, -1], kind="stable")]


def reads_lists(task: Task) -> bool:
    """Tell whether the task reads a written list as its ranks, so that its instances are lists."""
    sample = [*range(11, -1, -1), 3]  # long, so that a task whose values are a few colours does not read it
    if task.inputs.read is None or task.memory.item_width(len(sample)) < len(sample):
        return False
    try:
        instance, _ = task.read_parts([sample])
    except SurpassError:
        return False
    expected = _lay_out(task, np.array([sample], np.int64))
    return all(np.array_equal(a, b) for a, b in zip(instance, expected, strict=True))


def _lay_out(task: Task, lists: Ints) -> Instances:
    """Return lists [B, n] as instances of a task that keeps its list in the first integers."""
    count, size = lists.shape
    instances = task.allocate(count, size)
    instances.items[:, :size] = lists
    return instances


def _draw_some(task: Task) -> Enumeration:
    """Return some instances of each distribution in the place of every one."""
    kinds = task.inputs.kinds

    def draw(size: int) -> Iterator[Instances]:
        for data, kind in kinds if size else ():
            yield task.draw(Request(size=size, count=DRAWN, data=data, queries=kind))

    return Enumeration(
        what=f"{DRAWN} instances of each size and distribution (the task does not say how to enumerate them all)",
        instances=draw,
        count=lambda size: DRAWN * len(kinds) if size else 0,
        largest=LARGEST_LIST,
        exhaustive=False,
    )


def drawable_sizes(task: Task, sizes: Iterable[int]) -> tuple[int, ...]:
    """Return those of some sizes that a task can draw. It may refuse sizes outside those that it names."""
    smallest, largest = task.training_sizes[0], max(task.training_sizes[1], *task.sizes)
    return tuple(size for size in sizes if smallest <= size <= largest or _can_draw(task, size))


def _can_draw(task: Task, size: int) -> bool:
    try:
        for data, kind in task.inputs.kinds:
            task.draw(Request(size=size, count=1, data=data, queries=kind or task.inputs.usual_queries))
    except SurpassError:
        return False
    return True
