"""Failing instances are made smaller as long as they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from surpass.checks.shrink import shrink
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Instances, Request, Task, join_instances


def shrink_text(task: Task, text: str, fails: Callable[[str], bool]) -> str:
    """Return what is left of a written instance under a test of written instances."""

    def which(batch: Instances) -> np.ndarray:
        return np.array([fails(task.write_instance(batch.part(k, k + 1))) for k in range(batch.count)])

    instance, _ = task.parse_instance(text)
    return task.write_instance(shrink(task, instance, which))


def values_of(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def has_inversion(values: Sequence[int], distance: int = 1) -> bool:
    return any(values[i] > values[j] for i in range(len(values)) for j in range(i + distance, len(values)))


@pytest.mark.parametrize(
    ("fails", "smallest"),
    [
        (lambda values: True, ""),
        (lambda values: len(values) >= 5, "0,0,0,0,0"),
        (lambda values: has_inversion(values), "1,0"),
        (lambda values: has_inversion(values, 3), "1,0,0,0"),
        (lambda values: len(set(values)) >= 4, "0,1,2,3"),
        (lambda values: max(map(values.count, values), default=0) >= 3, "0,0,0"),
        (lambda values: len(values) >= 4 and values[-1] > values[0], "0,0,0,1"),
    ],
)
def test_a_list_shrinks_to_the_smallest_that_fails(fails: Callable[[list[int]], bool], smallest: str) -> None:
    drawn = SORT_BUBBLE.draw(Request(size=40, count=20, data="repeats"))
    texts = [SORT_BUBBLE.write_instance(drawn.part(k, k + 1)) for k in range(drawn.count)]
    text = next(text for text in texts if fails(values_of(text)))
    assert shrink_text(SORT_BUBBLE, text, lambda one: fails(values_of(one))) == smallest


def test_a_large_list_shrinks_in_few_tries() -> None:
    tried = 0

    def which(batch: Instances) -> np.ndarray:
        nonlocal tried
        tried += batch.count
        return np.array(
            [has_inversion(row[:size].tolist()) for row, size in zip(batch.items, batch.sizes, strict=True)]
        )

    drawn = SORT_BUBBLE.draw(Request(size=300, count=1))
    assert SORT_BUBBLE.write_instance(shrink(SORT_BUBBLE, drawn, which)) == "1,0"
    assert tried < 100


def test_a_search_stays_ordered_and_keeps_its_query() -> None:
    def fails(text: str) -> bool:
        values, query = text.split(":")
        assert values_of(values) == sorted(values_of(values))
        return values_of(values).count(int(query)) >= 2

    assert shrink_text(SEARCH, "1,2,2,3,3,3,5,8:3", fails) == "0,0:0"


def test_a_knapsack_loses_items_with_their_values() -> None:
    def fails(text: str) -> bool:
        weights, values, capacity = ([float(word) for word in part.split(",") if word] for part in text.split(":"))
        assert len(weights) == len(values)
        return any(w > capacity[0] and v > 0 for w, v in zip(weights, values, strict=True))

    assert shrink_text(KNAPSACK, "0.3,0.7,0.2:0.5,0.1,0.9:0.6", fails) == "1.0:1.0:0.0"


def test_shrinking_stops_when_enough_was_tried() -> None:
    drawn = SORT_BUBBLE.draw(Request(size=12, count=1))
    assert shrink(SORT_BUBBLE, drawn, lambda _batch: None) is drawn


def test_instances_of_any_sizes_stand_side_by_side() -> None:
    parts = [KNAPSACK.parse_instance(text)[0] for text in ("1:2:3", "1,2:3,4:5")]
    batch = join_instances(KNAPSACK, parts)
    assert batch.sizes.tolist() == [1, 2]
    for k, one in enumerate(parts):
        assert KNAPSACK.write_instance(batch.part(k, k + 1)) == KNAPSACK.write_instance(one)
