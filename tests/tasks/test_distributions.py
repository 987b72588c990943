"""Drawn instances have the property that their distribution promises, and depend on the seed alone."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from surpass.errors import SettingError, UnknownNameError
from surpass.tasks.knapsack import KNAPSACK, WEIGHTS
from surpass.tasks.lists import LISTS
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Instances, Limit, Request, Task

EVERY_DRAW = [
    pytest.param(task, data, queries, id=f"{task.name}-{data}{'-' + queries if queries else ''}")
    for task in PAPER_TASKS
    for data in task.inputs.draw
    for queries in (task.inputs.queries or ("",))
]
every_draw = pytest.mark.parametrize(("task", "data", "queries"), EVERY_DRAW)


def request(size: int, count: int, seed: int = 0, data: str = "uniform", queries: str = "") -> Request:
    return Request(size=size, count=count, seed=seed, data=data, queries=queries or "mixed")


def same(a: Instances, b: Instances) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


# What holds for all of them


@every_draw
@pytest.mark.parametrize("size", [1, 2, 3, 17])
def test_instances_have_the_shape_that_the_task_declares(task: Task, data: str, queries: str, size: int) -> None:
    drawn = task.draw(request(size, 5, data=data, queries=queries))
    assert drawn.count == 5
    assert drawn.sizes.tolist() == [size] * 5
    assert drawn.items.shape == (5, task.memory.item_width(size))
    assert drawn.reals.shape == (5, task.memory.real_width(size))
    assert (drawn.items.dtype, drawn.reals.dtype) == (np.int64, np.float64)


@every_draw
def test_one_seed_draws_the_same_instances_every_time(task: Task, data: str, queries: str) -> None:
    wanted = request(13, 20, seed=7, data=data, queries=queries)
    first = task.draw(wanted)
    np.random.seed(1)
    assert same(first, task.draw(wanted))


@every_draw
def test_the_first_instances_are_the_same_however_many_are_asked_for(task: Task, data: str, queries: str) -> None:
    many = task.draw(request(13, 301, seed=7, data=data, queries=queries))
    for count in (1, 2, 64, 300):
        assert same(task.draw(request(13, count, seed=7, data=data, queries=queries)), many.part(0, count))


@pytest.mark.parametrize(
    ("task", "data"),
    [(SORT_BUBBLE, "uniform"), (SORT_BUBBLE, "few-distinct"), (SORT_BUBBLE, "nearly-sorted"), (SEARCH, "uniform")]
    + [(KNAPSACK, "uniform")],
    ids=lambda thing: getattr(thing, "name", thing),
)
def test_another_seed_draws_other_instances(task: Task, data: str) -> None:
    drawn = [task.draw(request(13, 20, seed=seed, data=data)) for seed in range(4)]
    for k, a in enumerate(drawn):
        assert not any(same(a, b) for b in drawn[k + 1 :])


def test_instances_of_one_request_differ_from_each_other() -> None:
    lists = SORT_BUBBLE.draw(request(13, 50)).items
    assert len(np.unique(lists, axis=0)) == 50


# Lists


def draw_lists(name: str, size: int, count: int = 200) -> np.ndarray:
    return LISTS[name](request(size, count, data=name))


@pytest.mark.parametrize("name", ["uniform", "nearly-sorted", "sorted", "reversed"])
@pytest.mark.parametrize("size", [1, 2, 10, 101])
def test_lists_without_ties_are_permutations(name: str, size: int) -> None:
    assert (np.sort(draw_lists(name, size), axis=1) == np.arange(size)).all()


def test_uniform_lists_are_every_permutation_equally_often() -> None:
    count = 24_000
    met = Counter(map(tuple, draw_lists("uniform", 4, count).tolist()))
    assert set(met) == set(permutations(range(4)))
    expected, deviation = count / 24, math.sqrt(count / 24 * 23 / 24)
    assert all(abs(times - expected) < 5 * deviation for times in met.values())


def test_few_distinct_lists_hold_five_values_equally_often() -> None:
    values, counts = np.unique(draw_lists("few-distinct", 100, 100), return_counts=True)
    assert values.tolist() == [0, 1, 2, 3, 4]
    assert (abs(counts - 2000) < 5 * math.sqrt(10_000 * 0.2 * 0.8)).all()


def test_some_distinct_lists_hold_any_number_of_values() -> None:
    lists = draw_lists("some-distinct", 20, 3000)
    distinct = Counter(len(set(row)) for row in lists.tolist())
    assert set(range(1, 13)) <= set(distinct)
    assert lists.min() == 0
    assert lists.max() > 15
    assert (draw_lists("some-distinct", 1, 50) == 0).all()


def test_lists_with_repeats_draw_each_value_on_its_own() -> None:
    lists = draw_lists("repeats", 100)
    assert set(np.unique(lists)) == set(range(100))
    distinct = np.array([len(set(row)) for row in lists.tolist()])
    expected = 100 * (1 - 0.99**100)
    assert abs(distinct.mean() - expected) < 5 * distinct.std() / math.sqrt(len(distinct))


@pytest.mark.parametrize("size", [1, 2, 10])
def test_all_equal_sorted_and_reversed_lists_are_what_they_say(size: int) -> None:
    assert (np.diff(draw_lists("all-equal", size)) == 0).all()
    assert (np.diff(draw_lists("sorted", size)) > 0).all()
    assert (np.diff(draw_lists("reversed", size)) < 0).all()


@pytest.mark.parametrize("size", [2, 9, 10, 57, 200])
def test_nearly_sorted_lists_are_at_most_n_over_10_swaps_from_sorted(size: int) -> None:
    lists = draw_lists("nearly-sorted", size)
    displaced = (lists != np.arange(size)).sum(axis=1)
    assert displaced.max() <= 2 * max(1, size // 10)
    assert displaced.max() > 0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 16, 17, 100])
def test_organ_pipe_and_sawtooth_lists_have_their_shape(size: int) -> None:
    pipes, half = draw_lists("organ-pipe", size), (size + 1) // 2
    assert (pipes == pipes[:, ::-1]).all()
    assert (pipes[:, :half] == np.arange(half)).all()
    assert (draw_lists("sawtooth", size) == np.arange(size) % max(2, math.isqrt(size))).all()


# Searches


def test_search_lists_keep_the_ties_of_their_distribution() -> None:
    def distinct(data: str) -> set[int]:
        return {len(set(row[:30])) for row in SEARCH.draw(request(30, 50, data=data)).items.tolist()}

    assert distinct("uniform") == {30}
    assert distinct("few-distinct") <= {3, 4, 5}
    assert min(distinct("some-distinct")) <= 2 <= 10 <= max(distinct("some-distinct"))
    assert distinct("all-equal") == {1}


def present(drawn: Instances) -> np.ndarray:
    return (drawn.items[:, :-1] == drawn.items[:, -1:]).any(axis=1)


@pytest.mark.parametrize("data", SEARCH.inputs.draw)
@pytest.mark.parametrize("size", [1, 2, 30])
def test_present_queries_are_in_the_ordered_list_and_absent_ones_are_not(data: str, size: int) -> None:
    for queries in ("present", "absent"):
        drawn = SEARCH.draw(request(size, 300, data=data, queries=queries))
        assert (np.diff(drawn.items[:, :size], axis=1) >= 0).all()
        assert (present(drawn) == (queries == "present")).all()


@pytest.mark.parametrize(("queries", "share"), [("mixed", 1 / 2), ("paper", 3 / 4)])
def test_mixed_queries_are_present_half_of_the_time_and_the_papers_three_times_in_four(
    queries: str, share: float
) -> None:
    there = present(SEARCH.draw(request(10, 10_000, queries=queries)))
    assert abs(there.mean() - share) < 5 * math.sqrt(share * (1 - share) / 10_000)


@pytest.mark.parametrize(("queries", "share"), [("present", 1), ("mixed", 1 / 2), ("paper", 3 / 4), ("absent", 0)])
def test_queries_that_are_drawn_for_a_written_list_are_as_often_present(queries: str, share: float) -> None:
    assert SEARCH.inputs.complete is not None
    random, found = np.random.default_rng(5), Counter[int]()
    for _ in range(2000):
        values, (query,) = SEARCH.inputs.complete([2.5, 4, 4, 9], queries, random)
        assert values == [1, 3, 3, 5]
        found[int(query)] += 1
    there = sum(times for query, times in found.items() if query % 2)
    assert abs(there / 2000 - share) <= 5 * math.sqrt(share * (1 - share) / 2000)
    # The equal values are asked for twice as often as each of the others; each of the four gaps as often as the next.
    chances = {1: share / 4, 3: share / 2, 5: share / 4, **dict.fromkeys((0, 2, 4, 6), (1 - share) / 4)}
    for query, chance in chances.items():
        assert abs(found[query] - 2000 * chance) <= 5 * math.sqrt(2000 * chance * (1 - chance)), query


def test_the_papers_queries_are_those_of_the_other_kinds() -> None:
    queries = {kind: SEARCH.draw(request(9, 500, seed=4, queries=kind)).items[:, -1] for kind in SEARCH.inputs.queries}
    there = present(SEARCH.draw(request(9, 500, seed=4, queries="paper")))
    assert (queries["paper"] == np.where(there, queries["present"], queries["absent"])).all()


def test_trials_and_checks_draw_every_kind_but_what_is_for_measuring_alone() -> None:
    assert SEARCH.inputs.kinds == tuple(
        (data, kind) for data in SEARCH.inputs.draw for kind in ("mixed", "present", "absent")
    )
    assert KNAPSACK.inputs.kinds == tuple((data, "") for data in KNAPSACK.inputs.draw)


@pytest.mark.parametrize("queries", ["absent", "present"])
def test_queries_stand_in_every_gap_or_at_every_position_equally_often(queries: str) -> None:
    count, size = 8_000, 3 if queries == "absent" else 4
    items = SEARCH.draw(request(size, count, queries=queries)).items
    values, asked = items[:, :size], items[:, size:]
    places = (values < asked).sum(axis=1) if queries == "absent" else (values == asked).argmax(axis=1)
    times = np.bincount(places)
    assert len(times) == 4
    assert (abs(times - count / 4) < 5 * math.sqrt(count * 0.25 * 0.75)).all()


def test_absent_queries_fall_into_every_gap_between_equal_values_too() -> None:
    drawn = SEARCH.draw(request(4, 500, data="all-equal", queries="absent"))
    assert set((drawn.items[:, :4] < drawn.items[:, 4:]).sum(axis=1).tolist()) == {0, 4}


# Knapsacks


@pytest.mark.parametrize("size", [1, 2, 30])
def test_knapsack_capacity_is_half_the_total_weight(size: int) -> None:
    drawn = KNAPSACK.draw(request(size, 100))
    weights = drawn.reals[:, WEIGHTS : WEIGHTS + size]
    assert np.allclose(drawn.reals[:, 1], weights.sum(axis=1) / 2, rtol=1e-12, atol=0)


def test_knapsack_weights_and_values_are_uniform_and_independent() -> None:
    drawn = KNAPSACK.draw(request(10, 2_000))
    weights, values = (drawn.reals[:, WEIGHTS + 10 * k : WEIGHTS + 10 * k + 10].ravel() for k in (0, 1))
    for amounts in (weights, values):
        assert (amounts >= 0).all()
        assert (amounts <= 1).all()
        assert abs(amounts.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 20_000)
        assert abs(amounts.var() - 1 / 12) < 5 * math.sqrt(1 / 180 / 20_000)
    assert abs(np.corrcoef(weights, values)[0, 1]) < 5 / math.sqrt(20_000)


def knapsacks(data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, values and the share of the total weight that may be packed."""
    drawn = KNAPSACK.draw(request(10, 2_000, data=data))
    weights, values = (drawn.reals[:, WEIGHTS + 10 * k : WEIGHTS + 10 * k + 10] for k in (0, 1))
    return weights, values, drawn.reals[:, 1] / weights.sum(axis=1)


@pytest.mark.parametrize("data", ["correlated", "whole", "wide"])
def test_some_or_all_of_a_knapsack_may_be_packed(data: str) -> None:
    _, _, shares = knapsacks(data)
    assert shares.min() < 0.05
    assert shares.max() == 1
    assert 0.15 < (shares == 1).mean() < 0.3


def test_knapsacks_that_are_hard_to_pack() -> None:
    weights, values, _ = knapsacks("correlated")
    assert np.allclose(values, weights + 0.1, rtol=0, atol=1e-12)
    weights, values, shares = knapsacks("whole")
    assert set(np.unique(weights)) == set(np.unique(values)) == {0, 1, 2, 3}
    capacities = shares * weights.sum(axis=1)
    assert np.allclose(capacities, np.round(capacities), rtol=0, atol=1e-9)
    weights, values, _ = knapsacks("wide")
    for amounts in (weights, values):
        assert amounts.min() < 1e-19
        assert amounts.max() > 1e19


def test_a_knapsack_starts_empty_with_nothing_found() -> None:
    drawn = KNAPSACK.draw(request(10, 20))
    assert not drawn.items.any()
    assert not drawn.reals[:, [0, 2, 3]].any()


# What is refused


@pytest.mark.parametrize(
    ("task", "fields"),
    [(SORT_BUBBLE, {"data": "shuffled"}), (SEARCH, {"data": "reversed"}), (SEARCH, {"queries": "some"})],
)
def test_an_unknown_distribution_or_kind_of_query_is_refused(task: Task, fields: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError):
        task.draw(request(5, 5, **fields))


@pytest.mark.parametrize("fields", [{"size": 0}, {"count": 0}, {"seed": -1}, {"size": 10**6, "count": 10**6}])
def test_an_impossible_request_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(SettingError):
        Request(**{"size": 5, "count": 5, **fields})


# Limits


@pytest.mark.parametrize(
    ("text", "steps"),
    [("5000", [5000, 5000, 5000]), ("20n", [20, 200, 2000]), ("n^2", [1, 100, 10_000]), ("10n^2", [10, 1000, 100_000])]
    + [("n", [1, 10, 100]), ("0.5n", [1, 5, 50]), (" 2 n ", [2, 20, 200])],
)
def test_a_limit_grows_with_the_size_as_written(text: str, steps: list[int]) -> None:
    assert Limit.parse(text).steps(np.array([1, 10, 100])).tolist() == steps
    assert Limit.parse(str(Limit.parse(text))) == Limit.parse(text)


@pytest.mark.parametrize("text", ["", "0", "0n", "-5", "n^3", "nn", "many", "1e5", "n20"])
def test_an_unreadable_limit_is_refused(text: str) -> None:
    with pytest.raises(SettingError):
        Limit.parse(text)


def test_an_empty_instance_has_a_limit_of_a_step() -> None:
    assert Limit.parse("10n^2").steps(np.array([0])).tolist() == [1]
