"""Changed instances are still instances, and every kind of change is made."""

from __future__ import annotations

import pytest

from surpass.tasks.changes import Changer, Parts, read_parts, written_parts
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Request, Task


def changes(task: Task, parts: Parts, count: int = 400, largest: int = 12, **settings: bool) -> list[Parts]:
    """Return what becomes of an instance, each time changed anew."""
    changer = Changer(task, 0, largest)
    found = [changer.change(parts, parts, **settings) for _ in range(count)]
    return [one[0] for one in found if one is not None]


def test_lists_grow_shrink_get_ties_and_another_order() -> None:
    made = [parts[0] for parts in changes(SORT_BUBBLE, [[5, 2, 9, 1]])]
    assert len(made) == 400, "the task takes every list"
    assert {len(one) for one in made} >= {0, 1, 2, 3, 4, 5, 6, 8, 12}
    assert max(map(len, made)) == 12
    assert any(len(set(one)) < len(one) for one in made)
    assert any(len(one) == 4 and sorted(one) == [1, 2, 5, 9] and one != [5, 2, 9, 1] for one in made)


def test_a_size_can_be_kept() -> None:
    made = changes(SORT_BUBBLE, [[5, 2, 9, 1]], keep_size=True)
    assert {len(parts[0]) for parts in made} == {4}


def test_lists_that_must_be_in_order_are_and_queries_move() -> None:
    made = changes(SEARCH, [[1, 3, 5, 5, 9], [5]])
    assert len(made) > 390
    assert all(parts[0] == sorted(parts[0]) for parts in made)
    assert len({parts[1][0] for parts in made}) > 3
    assert len({tuple(parts[0]) for parts in made}) > 100


def test_lists_beside_each_other_grow_and_shrink_together() -> None:
    made = changes(KNAPSACK, [[0.2, 0.7, 0.4], [0.5, 0.9, 0.1], [0.8]])
    assert len(made) > 200
    assert all(len(parts[0]) == len(parts[1]) and len(parts[2]) == 1 for parts in made)
    assert len({len(parts[0]) for parts in made}) > 3


@pytest.mark.parametrize("task", [SORT_BUBBLE, SEARCH, KNAPSACK], ids=lambda task: task.name)
def test_an_instance_is_read_as_it_was_written(task: Task) -> None:
    drawn = task.draw(Request(size=7, count=3))
    for k in range(3):
        one = read_parts(task, written_parts(task, drawn.part(k, k + 1)))
        assert one is not None
        again = read_parts(task, written_parts(task, one))
        assert again is not None
        assert all((a == b).all() for a, b in zip(one, again, strict=True))


def test_what_a_task_does_not_take_is_no_instance() -> None:
    assert read_parts(SEARCH, [[3, 1], [2]]) is None
    assert read_parts(SEARCH, [[1, 3]]) is None
