"""Every search teacher finds every item and notices every gap."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.tasks.search import SEARCH
from surpass.tasks.task import Instances, Request

TEACHERS = ("linear_search", "binary_search", "bracket_search")


def all_queries(values: list[int]) -> Instances:
    """Return a search for every value, and for one in every gap, of a list of odd numbers."""
    queries = np.arange(values[0] - 1, values[-1] + 2)
    instances = SEARCH.allocate(len(queries), len(values))
    instances.items[:, :-1] = values
    instances.items[:, -1] = queries
    return instances


def odd(size: int) -> list[int]:
    return list(range(1, 2 * size, 2))


def test_the_queries_are_every_item_and_every_gap() -> None:
    assert all_queries(odd(3)).items.tolist() == [[1, 3, 5, query] for query in range(7)]


@pytest.mark.parametrize("name", TEACHERS)
def test_every_position_and_every_gap_is_answered_rightly(name: str) -> None:
    for size in (*range(1, 65), 127, 128, 129, 1000, 2000):
        assert run(find_teacher(name), all_queries(odd(size))).reasons() == {"solved": 2 * size + 1}, size


@pytest.mark.parametrize("name", TEACHERS)
def test_lists_with_ties_are_searched_rightly(name: str) -> None:
    for size in range(1, 7):
        for values in combinations_with_replacement((1, 3, 5, 7), size):
            assert run(find_teacher(name), all_queries(list(values))).solved.all(), values


@pytest.mark.parametrize("name", TEACHERS)
@pytest.mark.parametrize("data", SEARCH.inputs.draw)
@pytest.mark.parametrize("queries", SEARCH.inputs.queries)
def test_drawn_searches_are_answered_rightly(name: str, data: str, queries: str) -> None:
    instances = SEARCH.draw(Request(size=500, count=200, data=data, queries=queries))
    assert run(find_teacher(name), instances).reasons() == {"solved": 200}


def present(size: int) -> Instances:
    instances = all_queries(odd(size))
    return Instances(instances.sizes[1::2], instances.items[1::2], instances.reals[1::2])


def test_bracket_search_takes_9_97_steps_over_all_positions_of_1000() -> None:
    steps = run(find_teacher("bracket_search"), present(1000)).steps
    assert abs(steps.mean() - 9.97) <= 0.01


@pytest.mark.parametrize("size", [2, 3, 64, 100, 1000, 2000])
def test_bracket_search_halves_once_per_step(size: int) -> None:
    """Halving leaves fewer than half of the positions inside the bracket, and the last step is the report."""
    halvings = int(np.ceil(np.log2(size)))
    assert run(find_teacher("bracket_search"), all_queries(odd(size))).steps.max() <= halvings + 2


def test_linear_search_walks_to_the_query_or_past_it_and_looks_at_v1_alone() -> None:
    size = 50
    steps = run(find_teacher("linear_search"), all_queries(odd(size))).steps
    # Position p takes p moves and the report, although v3 shows the last one at once.
    assert steps[1::2].tolist() == list(range(1, size + 1))
    # A gap is passed by one position, but there is none behind the last.
    assert steps[0::2].tolist() == [*range(1, size + 1), size]


@pytest.mark.parametrize("size", [30, 100, 1000])
def test_bracket_search_takes_fewer_steps_than_binary_and_binary_fewer_than_linear(size: int) -> None:
    linear, binary, bracket = (run(find_teacher(name), present(size)).steps.mean() for name in TEACHERS)
    assert bracket < binary
    assert size < 100 or binary < linear
