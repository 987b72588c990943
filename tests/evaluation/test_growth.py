"""Agents size by size beside the paper's, and the fitted growth of their steps."""

from __future__ import annotations

import math

import pytest

from surpass.agents import find_agent
from surpass.evaluation.growth import Contender, compare_by_size, fit_growth, growth_of, paper_row_of
from surpass.tasks.registry import find_task

SIZES = (10, 20, 50, 100, 1000)


def test_a_power_is_found_exactly_and_without_doubt() -> None:
    found = fit_growth({size: 3 * size**1.5 for size in SIZES})
    assert found is not None
    assert found.exponent == pytest.approx(1.5)
    assert found.factor == pytest.approx(3)
    assert found.ci95 == pytest.approx(0, abs=1e-6)
    assert found.per_doubling is None
    assert found.sizes == SIZES


def test_a_logarithm_is_told_from_a_power() -> None:
    found = fit_growth({size: 1 + 2 * math.log2(size) for size in SIZES})
    assert found is not None
    assert found.per_doubling == pytest.approx(2)
    assert 0.1 < found.exponent < 0.5


def test_the_interval_is_that_of_a_slope() -> None:
    logs = {1: 0.0, 2: 1.1, 3: 1.9}  # of sizes e, e^2, e^3
    found = fit_growth({round(math.exp(x + 5)): math.exp(y) for x, y in logs.items()})
    assert found is not None
    slope, mean = 0.95, 1.0
    residuals = [0.0 - (mean - slope), 1.1 - mean, 1.9 - (mean + slope)]
    error = math.sqrt(sum(r * r for r in residuals) / 1 / 2)
    assert found.exponent == pytest.approx(slope, rel=1e-3)
    assert found.ci95 == pytest.approx(12.706 * error, rel=1e-2)


def test_small_sizes_are_left_out_where_enough_others_remain() -> None:
    assert fit_growth({2: 100.0, 5: 100.0, 10: 10.0, 20: 20.0, 40: 40.0}).sizes == (10, 20, 40)  # type: ignore[union-attr]
    assert fit_growth({2: 2.0, 4: 4.0, 8: 8.0}).sizes == (2, 4, 8)  # type: ignore[union-attr]


@pytest.mark.parametrize("means", [{}, {10: 1.0, 20: 2.0}, {10: 0.0, 20: -1.0, 30: math.nan, 40: 2.0}])
def test_too_few_means_have_no_growth(means: dict[int, float]) -> None:
    assert fit_growth(means) is None


@pytest.mark.parametrize(
    ("task", "agent", "method", "row"),
    [
        ("search", "teacher:binary_search", "", "binary search"),
        ("search", "teacher:bracket_search", "", None),
        ("search", "runs/x", "rl", "rl from scratch"),
        ("search", "runs/x", "rl+imitation", "rl + imitation"),
        ("sort-quick", "runs/x", "improvement", "rl + imitation"),
        ("sort-quick", "runs/x", "discover", "rl + imitation"),
        ("knapsack", "runs/x", "rl", "rl, budget 20 x size"),
        ("knapsack", "teacher:depth_first", "", "dfs, budget 20 x size"),
        ("minimum", "runs/x", "rl", None),
    ],
)
def test_each_agent_stands_beside_the_papers_of_its_kind(task: str, agent: str, method: str, row: str | None) -> None:
    assert paper_row_of(task, agent, method) == row


def test_each_agent_has_a_row_for_each_that_it_is_compared_with() -> None:
    task = find_task("sort-bubble")
    bubble, insertion = (
        Contender(find_agent(f"teacher:{name}_sort"), f"{name}_sort") for name in ("bubble", "insertion")
    )
    own = Contender(find_agent("zoo:sort-bubble/improvement-insertion_sort"), "own", "improvement", ("bubble_sort",))
    table = compare_by_size(task, [bubble, insertion, own], sizes=(5, 10, 20))
    assert [(row.label, row.is_teacher, row.against) for row in table.rows] == [
        ("bubble_sort", True, ""),
        ("insertion_sort", True, ""),
        ("own", False, "bubble_sort"),
    ]
    assert [cell.paper for cell in table.rows[0].cells] == [13.5, 68.0, 293.6]
    assert table.rows[2].paper_label == "rl + imitation"


def test_growth_is_fitted_over_sizes_that_are_solved() -> None:
    task = find_task("search")
    table = compare_by_size(task, [Contender(find_agent("teacher:linear_search"), "linear")], sizes=(10, 100, 1000))
    found = growth_of(table.rows[0])
    assert found is not None
    assert found.exponent == pytest.approx(1, abs=0.1)
