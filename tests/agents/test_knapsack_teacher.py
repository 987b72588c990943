"""Depth-first search finds the best packing when it may look at all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.tasks.knapsack import KNAPSACK, WEIGHTS
from surpass.tasks.task import Instances, Limit, Request

PLENTY = Limit.parse("1000000")


def best_values(instances: Instances) -> np.ndarray:
    """Return the largest value of any subset that fits, by trying all of them."""
    size = int(instances.sizes[0])
    subsets = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    weights = instances.reals[:, WEIGHTS : WEIGHTS + size] @ subsets.T
    values = instances.reals[:, WEIGHTS + size : WEIGHTS + 2 * size] @ subsets.T
    return np.where(weights <= instances.reals[:, 1:2], values, 0).max(axis=1)


def test_trying_all_subsets_gives_what_one_can_see() -> None:
    instance, _ = KNAPSACK.parse_instance("2,1,1:5,3,4:2")
    assert best_values(instance).tolist() == [7]


def test_depth_first_finds_the_best_packing_of_up_to_10_items() -> None:
    for size in range(1, 11):
        instances = KNAPSACK.draw(Request(size=size, count=50, seed=size))
        results = run(find_teacher("depth_first"), instances, limit=PLENTY)
        assert results.reasons() == {"solved": 50}
        assert np.allclose(results.scores, best_values(instances), rtol=0, atol=1e-12)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=7), st.integers(0, 12))
def test_depth_first_finds_the_best_packing_with_ties_and_zeros(pairs: list[tuple[int, int]], capacity: int) -> None:
    size = len(pairs)
    instances = KNAPSACK.allocate(1, size)
    instances.reals[0, 1] = capacity
    instances.reals[0, WEIGHTS : WEIGHTS + size] = [weight for weight, _ in pairs]
    instances.reals[0, WEIGHTS + size : WEIGHTS + 2 * size] = [value for _, value in pairs]
    results = run(find_teacher("depth_first"), instances, limit=PLENTY)
    assert results.scores.tolist() == best_values(instances).tolist()


def test_more_budget_never_finds_less() -> None:
    instances = KNAPSACK.draw(Request(size=12, count=100))
    scores = [
        run(find_teacher("depth_first"), instances, limit=Limit.parse(text)).scores for text in ("5n", "20n", "100n")
    ]
    assert (scores[0] <= scores[1]).all()
    assert (scores[1] <= scores[2]).all()
    assert scores[0].mean() < scores[2].mean()


def test_what_was_popped_leaves_no_trace_in_the_load() -> None:
    instance, _ = KNAPSACK.parse_instance("0.1,0.2,0:1,1,1:0.1")
    assert run(find_teacher("depth_first"), instance, limit=PLENTY).scores.tolist() == best_values(instance).tolist()
