"""Every small instance is enumerated once, the simplest first."""

from __future__ import annotations

import dataclasses
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from surpass.tasks.enumeration import enumeration_of, every_list, ordered_lists, weak_order_count, weak_orders
from surpass.tasks.knapsack import CAPACITY, KNAPSACK, WEIGHTS
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.search import LARGEST_RUN, LARGEST_TIED, SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.task import Instances, Task
from surpass.tasks.user_file import load_task_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"


def expected_weak_orders(size: int) -> list[tuple[int, ...]]:
    """Return every tuple whose values are 0 to k - 1 for some k, in the order that is promised."""
    tuples = (row for row in product(range(size), repeat=size) if set(row) == set(range(len(set(row)))))
    return sorted(tuples, key=lambda row: (len(set(row)), row))


@pytest.mark.parametrize("batch", [1, 7, 1 << 16])
@pytest.mark.parametrize("size", range(6))
def test_weak_orders_are_all_there_in_order_whatever_the_batch(size: int, batch: int) -> None:
    rows = [tuple(row) for part in weak_orders(size, batch) for row in part.tolist()]
    assert rows == expected_weak_orders(size)


def test_the_weak_orders_of_eight_are_distinct_and_as_many_as_there_are() -> None:
    parts = list(weak_orders(8))
    codes = np.concatenate(parts) @ (8 ** np.arange(8))
    assert len(np.unique(codes)) == len(codes) == weak_order_count(8) == 545_835
    assert sum((np.sort(part, axis=1) == np.arange(8)).all(axis=1).sum() for part in parts) == 40_320


def test_weak_orders_are_counted() -> None:
    assert [weak_order_count(size) for size in range(8)] == [1, 1, 3, 13, 75, 541, 4683, 47293]


@pytest.mark.parametrize("size", range(6))
def test_ordered_lists_are_the_weak_orders_in_order(size: int) -> None:
    expected = [row for row in expected_weak_orders(size) if all(a <= b for a, b in pairwise(row))]
    assert [tuple(row) for row in ordered_lists(size).tolist()] == expected


def written(task: Task, size: int) -> list[str]:
    """Return every enumerated instance of a size as text."""
    batches = enumeration_of(task).instances(size)
    return [task.write_instance(batch.part(k, k + 1)) for batch in batches for k in range(batch.count)]


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
def test_as_many_are_yielded_as_are_counted_each_once_and_all_can_be_read(task: Task) -> None:
    for size in range(5):
        texts = written(task, size)
        assert len(set(texts)) == len(texts) == enumeration_of(task).count(size)
        for text in texts[:: max(1, len(texts) // 50)]:
            instance, _ = task.parse_instance(text)
            assert instance.sizes.tolist() == [size]


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
def test_instances_have_the_memory_that_their_task_needs(task: Task) -> None:
    for size in (0, 1, 3):
        for batch in enumeration_of(task).instances(size):
            assert (batch.sizes == size).all()
            assert batch.items.shape[1] == task.memory.item_width(size)
            assert batch.reals.shape[1] == task.memory.real_width(size)


def test_every_query_of_a_list_is_asked() -> None:
    assert written(SEARCH, 0) == [":0"]
    assert written(SEARCH, 2) == ["1,1:0", "1,1:1", "1,1:2", "1,3:0", "1,3:1", "1,3:2", "1,3:3", "1,3:4"]


def test_a_list_beyond_those_has_every_run_of_equal_values_once() -> None:
    size = LARGEST_TIED + 1
    items = np.concatenate([batch.items for batch in enumeration_of(SEARCH).instances(size)])
    assert len(items) == enumeration_of(SEARCH).count(size) == len(np.unique(items, axis=0))
    lists = np.unique(items[:, :size], axis=0)
    assert len(lists) == 1 + size * (size - 1) // 2
    for one in lists:
        same = np.flatnonzero(np.diff(one) == 0)
        assert (np.diff(one) >= 0).all()
        assert len(same) == 0 or same[-1] - same[0] == len(same) - 1, "the equal values stand together"
        queries = items[(items[:, :size] == one).all(axis=1), size]
        assert queries.tolist() == list(range(one[-1] + 2))


@pytest.mark.parametrize("size", [LARGEST_RUN + 1, 700])
def test_a_large_list_is_asked_for_every_value_and_gap(size: int) -> None:
    batches = list(SEARCH.inputs.small.instances(size)) if SEARCH.inputs.small else []
    items = np.concatenate([batch.items for batch in batches])
    assert (items[:, :size] == np.arange(1, 2 * size, 2)).all()
    assert items[:, size].tolist() == list(range(2 * size + 1))
    assert enumeration_of(SEARCH).count(size) == 2 * size + 1


@pytest.mark.parametrize("size", [0, 1, 2])
def test_every_packing_of_small_whole_numbers_is_there(size: int) -> None:
    found = []
    for batch in enumeration_of(KNAPSACK).instances(size):
        for row in batch.reals:
            weights, values = row[WEIGHTS : WEIGHTS + size], row[WEIGHTS + size : WEIGHTS + 2 * size]
            found.append((tuple(weights), tuple(values), row[CAPACITY]))
    grid = list(product(range(3), repeat=size))
    assert found == [(w, v, c) for w in grid for v in grid for c in range(sum(w) + 1)]


# What a task need not say


def with_inputs(name: str, **fields: object) -> Task:
    inputs = dataclasses.replace(SORT_BUBBLE.inputs, **fields)  # type: ignore[arg-type]
    return dataclasses.replace(SORT_BUBBLE, name=name, inputs=inputs)


def test_a_task_that_reads_lists_has_every_list() -> None:
    (minimum,) = load_task_file(EXAMPLE)
    assert minimum.inputs.small is None
    assert [row for batch in enumeration_of(minimum).instances(4) for row in batch.items.tolist()] == [
        list(row) for row in expected_weak_orders(4)
    ]
    assert enumeration_of(SORT_BUBBLE).largest == 8
    assert enumeration_of(SORT_FULL).largest == 6


def test_a_task_with_a_list_and_more_memory_has_every_list_in_its_own_layout() -> None:
    def read(parts: list[list[int]]) -> tuple[Instances, tuple[str, ...]]:
        ranks = np.unique(parts[0], return_inverse=True)[1]
        instances = wide.allocate(1, len(ranks))
        instances.items[0, : len(ranks)] = ranks
        return instances, ()

    wide = dataclasses.replace(
        SORT_BUBBLE,
        name="wide",
        memory=dataclasses.replace(SORT_BUBBLE.memory, item_width=lambda n: 2 * n + 1, real_width=lambda n: n + 2),
        inputs=dataclasses.replace(SORT_BUBBLE.inputs, read=read),
    )
    (batch, *_) = enumeration_of(wide).instances(3)
    assert (batch.items.shape[1], batch.reals.shape[1]) == (7, 5)
    assert not batch.items[:, 3:].any()
    assert enumeration_of(wide).exhaustive


@pytest.mark.parametrize(
    "read", [None, KNAPSACK.inputs.read, SEARCH.inputs.read], ids=["none", "weights and values", "with query"]
)
def test_any_other_task_is_represented_by_its_distributions(read: object) -> None:
    other = with_inputs("other", read=read)
    enumeration = enumeration_of(other)
    assert not enumeration.exhaustive
    assert list(enumeration.instances(0)) == []
    batches = list(enumeration.instances(5))
    assert len(batches) == len(SORT_BUBBLE.inputs.draw)
    assert sum(batch.count for batch in batches) == enumeration.count(5)


def test_a_task_may_say_how_its_instances_are_enumerated() -> None:
    own = every_list(largest=3)
    assert enumeration_of(with_inputs("own", small=own)) is own
