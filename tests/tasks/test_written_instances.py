"""Instances written by hand: whatever can be ordered is read, whatever cannot is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surpass.errors import InstanceError, SurpassError
from surpass.tasks.knapsack import KNAPSACK, WEIGHTS
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Request, Task

SORTING = (SORT_FULL, SORT_BUBBLE, SORT_QUICK)
HUGE = 10**400

numbers = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([HUGE, -HUGE, HUGE + 1]),
    st.floats(allow_nan=False),
    st.floats(-3, 3, allow_nan=False),
)


def ranks(text: str, task: Task = SORT_BUBBLE) -> list[int]:
    instance, _ = task.parse_instance(text)
    return instance.items[0].tolist()


def value_of(text: str) -> int | float:
    return float(text) if any(mark in text for mark in ".einf") else int(text)


@given(st.lists(numbers, max_size=12))
def test_ranks_stand_in_the_order_of_the_written_values(values: list[int | float]) -> None:
    instance, texts = SORT_BUBBLE.parse_instance(",".join(map(repr, values)))
    found = instance.items[0].tolist()
    assert instance.sizes.tolist() == [len(values)] == [len(found)]
    assert sorted(set(found)) == list(range(len(texts)))
    for a, rank_a in zip(values, found, strict=True):
        assert value_of(texts[rank_a]) == a
        for b, rank_b in zip(values, found, strict=True):
            assert (a < b) == (rank_a < rank_b)
            assert (a == b) == (rank_a == rank_b)


@pytest.mark.parametrize("task", SORTING, ids=lambda task: task.name)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5,2,9,1", [2, 1, 3, 0]),
        ("5 2 9 1", [2, 1, 3, 0]),
        (" 5,  2,9 , 1 ", [2, 1, 3, 0]),
        ("2,1,2,1,1", [1, 0, 1, 0, 0]),
        ("1.5,1,2,1.0", [1, 0, 2, 0]),
        ("inf,1,-inf,1e300", [3, 1, 0, 2]),
        (f"{HUGE + 1},{HUGE},inf,-{HUGE}", [2, 1, 3, 0]),
        ("9007199254740993,9007199254740992.0", [1, 0]),
        ("7", [0]),
        ("", []),
    ],
)
def test_lists_are_read_as_written(task: Task, text: str, expected: list[int]) -> None:
    assert ranks(text, task) == expected


def test_the_texts_of_a_list_are_its_distinct_values_in_order() -> None:
    assert SORT_BUBBLE.parse_instance(f"3,-1.5,3,{HUGE},inf")[1] == ("-1.5", "3", str(HUGE), "inf")


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize(
    ("text", "culprit"),
    [(word, word) for word in ("nan", "NaN", "-nan", "abc", "0x10", "1/2", "1.2.3", "²")] + [("1,2,x,3", "x")],
)
def test_what_is_no_number_is_refused_by_name(task: Task, text: str, culprit: str) -> None:
    written = {"search": f"{text}:1", "knapsack": f"1,1,1,1:{text}"}.get(task.name, text)
    with pytest.raises(InstanceError, match=f"{task.name}: {culprit!r} (is not a number|cannot be ordered)"):
        task.parse_instance(written)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        *((task, text) for task in SORTING for text in ("1:2", "1,2:", "1:2:3")),
        *((SEARCH, text) for text in ("1,2,3", "1:2:3", "1,2:", "1,2:1,2", "")),
        *((KNAPSACK, text) for text in ("1,2", "1,2:1", "1:1,2", "1:1:1:1", "1:1:", "1:1:1,2")),
    ],
    ids=lambda thing: getattr(thing, "name", thing),
)
def test_a_wrong_number_of_parts_is_refused_with_an_example(task: Task, text: str) -> None:
    with pytest.raises(InstanceError, match=task.name):
        task.parse_instance(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,3,5,9:5", [0, 1, 2, 3, 2]),
        ("1,3,5,9:0", [1, 2, 3, 4, 0]),
        ("1,3,5,9:4", [0, 1, 3, 4, 2]),
        ("1,3,5,9:10", [0, 1, 2, 3, 4]),
        ("1,1,1:1", [0, 0, 0, 0]),
        ("1,1.0,2:1.5", [0, 0, 2, 1]),
        (f"1,{HUGE},{HUGE + 1}:{HUGE + 1}", [0, 1, 2, 2]),
        ("-inf,inf:0", [0, 2, 1]),
        (":5", [0]),
    ],
)
def test_searches_are_read_as_written(text: str, expected: list[int]) -> None:
    assert ranks(text, SEARCH) == expected


def test_a_search_in_a_list_out_of_order_is_refused_where_it_falls() -> None:
    with pytest.raises(InstanceError, match="must be in order, but 5 stands before 3"):
        SEARCH.parse_instance("1,5,3,9:5")


@pytest.mark.parametrize(
    ("text", "capacity", "amounts"),
    [("0.25,1:0.5,2:0.75", 0.75, [0.25, 1, 0.5, 2]), ("0.25,1:0.5,2", 0.625, [0.25, 1, 0.5, 2]), (":", 0, [])],
)
def test_knapsacks_are_read_as_written_with_half_the_weight_as_capacity(
    text: str, capacity: float, amounts: list[float]
) -> None:
    instance, _ = KNAPSACK.parse_instance(text)
    assert instance.sizes.tolist() == [len(amounts) // 2]
    assert instance.reals[0, [0, 1, 2, 3]].tolist() == [0, capacity, 0, 0]
    assert instance.reals[0, WEIGHTS : WEIGHTS + len(amounts)].tolist() == amounts


@pytest.mark.parametrize("text", ["-1:1", "1:-1", "1:1:-1", "inf:1", "1:inf", "1:1:inf"])
def test_a_knapsack_takes_finite_amounts_from_0_on(text: str) -> None:
    with pytest.raises(InstanceError, match="must be numbers from 0 to 1e"):
        KNAPSACK.parse_instance(text)


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_drawn_instance_is_read_back_as_it_was_written(task: Task, size: int) -> None:
    drawn = task.draw(Request(size=size, count=20, seed=3))
    for k in range(drawn.count):
        one = drawn.part(k, k + 1)
        again, _ = task.parse_instance(task.write_instance(one))
        assert again.sizes.tolist() == [size]
        assert np.array_equal(again.reals, one.reals)
        assert np.array_equal(
            np.sign(np.subtract.outer(again.items[0], again.items[0])),
            np.sign(np.subtract.outer(one.items[0], one.items[0])),
        )


@pytest.mark.parametrize("text", ["1" + "0" * 5000, "2" + "0" * 5000])
def test_an_integer_of_5000_digits_is_not_taken_for_infinity(text: str) -> None:
    with pytest.raises(SurpassError):
        ranks(f"{text},inf")


@pytest.mark.parametrize("text", [f"{HUGE}:1", f"1:{HUGE}", f"1:1:{HUGE}", "1e308,1e308:1,1"])
def test_a_knapsack_with_amounts_beyond_the_floats_or_their_sums_is_refused(text: str) -> None:
    with pytest.raises(SurpassError):
        KNAPSACK.parse_instance(text)
