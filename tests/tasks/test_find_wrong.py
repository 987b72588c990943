"""The judges of claimed solutions accept right answers and catch wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from surpass.tasks.knapsack import KNAPSACK, WEIGHTS
from surpass.tasks.search import SEARCH, R
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Task


def judge_sorting(task: Task, before: list[int], after: list[int], size: int | None = None) -> bool:
    """Return whether `after` is judged a wrong answer to `before`."""
    size = len(before) if size is None else size
    instances = Instances(np.array([size]), np.array([before]).reshape(1, -1), np.zeros((1, 1)))
    registers = np.zeros((1, task.register_count), np.int64)
    return bool(task.find_wrong(instances, registers, np.array([after]).reshape(1, -1), np.zeros((1, 1)))[0])


@pytest.mark.parametrize("task", [SORT_FULL, SORT_BUBBLE, SORT_QUICK], ids=lambda task: task.name)
class TestSorting:
    @pytest.mark.parametrize("before", [[3, 1, 2], [1, 1, 0], [0], [], [0, 0, 0]], ids=str)
    def test_the_sorted_list_is_right(self, task: Task, before: list[int]) -> None:
        assert not judge_sorting(task, before, sorted(before))

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ([3, 1, 2], [3, 1, 2]),
            ([3, 1, 2], [1, 3, 2]),
            ([3, 1, 2], [3, 2, 1]),
            ([3, 1, 2], [0, 0, 0]),
            ([3, 1, 2], [1, 2, 2]),
            ([3, 1, 2], [1, 1, 3]),
            ([3, 1, 2], [2, 3, 4]),
            ([1, 1, 0], [0, 0, 1]),
        ],
        ids=str,
    )
    def test_unsorted_lists_and_lost_elements_are_wrong(self, task: Task, before: list[int], after: list[int]) -> None:
        assert judge_sorting(task, before, after)

    def test_only_the_positions_of_the_list_are_sorted(self, task: Task) -> None:
        assert not judge_sorting(task, [3, 1, 0, 0], [1, 3, 0, 0], size=2)
        assert judge_sorting(task, [3, 1, 0, 0], [0, 0, 1, 3], size=2)

    def test_each_instance_is_judged_by_itself(self, task: Task) -> None:
        before = Instances(np.array([2, 3]), np.array([[2, 1, 0], [2, 1, 0]]), np.zeros((2, 1)))
        registers = np.zeros((2, task.register_count), np.int64)
        after = np.array([[1, 2, 0], [1, 2, 0]])
        assert task.find_wrong(before, registers, after, np.zeros((2, 1))).tolist() == [False, True]


def judge_search(values: Sequence[int], query: int, answer: int) -> bool:
    instances = SEARCH.allocate(1, len(values))
    instances.items[0] = [*values, query]
    registers = np.zeros((1, SEARCH.register_count), np.int64)
    registers[0, R.answer] = answer
    return bool(SEARCH.find_wrong(instances, registers, instances.items, instances.reals)[0])


@pytest.mark.parametrize("values", [(1,), (1, 3, 5), (1, 1, 3, 3), (2, 2, 2), ()], ids=str)
def test_a_report_is_wrong_unless_the_query_stands_there_or_nowhere(values: tuple[int, ...]) -> None:
    for query in range(7):
        assert judge_search(values, query, -1) == (query in values)
        for position, value in enumerate(values):
            assert judge_search(values, query, position) == (value != query)


def test_the_query_behind_the_list_is_not_an_item_of_it() -> None:
    assert not judge_search((1, 3), 5, -1)
    assert judge_search((1, 3), 5, 1)


def judge_knapsack(
    weights: list[float],
    values: list[float],
    capacity: float,
    best: list[int],
    claimed: float,
    last: Sequence[int] = (),
) -> bool:
    """Return whether a claim about the best packing is judged wrong, while the last one is at hand."""
    size = len(weights)
    instances = KNAPSACK.allocate(1, size)
    instances.reals[0, 1] = capacity
    instances.reals[0, WEIGHTS : WEIGHTS + 2 * size] = [*weights, *values]
    items, reals = instances.items.copy(), instances.reals.copy()
    items[0], reals[0, 0] = [*(last or [0] * size), *best], claimed
    registers = np.zeros((1, KNAPSACK.register_count), np.int64)
    return bool(KNAPSACK.find_wrong(instances, registers, items, reals)[0])


@pytest.mark.parametrize(("best", "claimed"), [([0, 0, 0], 0.0), ([1, 0, 0], 5.0), ([0, 1, 1], 7.0), ([0, 0, 1], 4.0)])
def test_a_packing_that_fits_and_is_worth_its_claim_is_right(best: list[int], claimed: float) -> None:
    assert not judge_knapsack([2.0, 1.0, 1.0], [5.0, 3.0, 4.0], 2.0, best, claimed)


@pytest.mark.parametrize("worth", [1.0, 1e12, 1e250])
@pytest.mark.parametrize("heaviness", [1e-12, 1.0, 1e12])
def test_a_load_is_judged_by_the_capacity_whatever_the_items_are_worth(worth: float, heaviness: float) -> None:
    weights = [heaviness, heaviness * 1.000_001]
    for capacity, is_wrong in ((weights[0] * 2, True), (sum(weights), False), (sum(weights) * (1 - 1e-15), False)):
        assert judge_knapsack(weights, [worth, worth], capacity, [1, 1], 2 * worth) == is_wrong


@pytest.mark.parametrize(
    ("best", "claimed"),
    [([1, 1, 0], 8.0), ([1, 1, 1], 12.0), ([1, 0, 0], 5.5), ([0, 1, 1], 5.0), ([0, 0, 0], 1.0), ([1, 0, 0], 0.0)],
)
def test_a_packing_too_heavy_or_with_a_wrong_claim_is_wrong(best: list[int], claimed: float) -> None:
    assert judge_knapsack([2.0, 1.0, 1.0], [5.0, 3.0, 4.0], 2.0, best, claimed)


def test_a_packing_may_differ_from_its_claim_by_rounding_only() -> None:
    assert not judge_knapsack([0.1, 0.2], [0.1, 0.2], 0.3, [1, 1], 0.1 + 0.2)
    assert judge_knapsack([0.1, 0.2], [0.1, 0.2], 0.3, [1, 1], 0.3 + 1e-6)
    assert judge_knapsack([0.1, 0.2 + 1e-6], [0.1, 0.2], 0.3, [1, 1], 0.1 + 0.2)


def test_the_claim_is_about_the_best_packing_not_the_last() -> None:
    assert not judge_knapsack([1.0, 1.0], [1.0, 2.0], 1.0, [0, 1], 2.0, last=[1, 1])


@pytest.mark.parametrize(
    ("last", "best", "claimed", "is_wrong"),
    [
        ([0, 1, 1], [1, 0, 0], 5.0, True),
        ([0, 1, 1], [0, 1, 1], 7.0, False),
        ([1, 1, 1], [0, 1, 1], 7.0, False),
        ([1, 0, 0], [0, 1, 1], 7.0, False),
        ([0, 0, 1], [0, 0, 0], 0.0, True),
        ([0, 0, 0], [0, 0, 0], 0.0, False),
    ],
)
def test_a_claim_below_the_packing_at_hand_is_wrong_if_that_fits(
    last: list[int], best: list[int], claimed: float, is_wrong: bool
) -> None:
    assert judge_knapsack([2.0, 1.0, 1.0], [5.0, 3.0, 4.0], 2.5, best, claimed, last) == is_wrong
