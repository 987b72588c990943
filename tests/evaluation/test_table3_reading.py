"""The reading of the paper's table 3 fits its teachers, and the earlier one does not (docs/decisions/0002)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tools.table3_reading import BEFORE_THE_ANSWER, EARLIER, Reading, chi_square, measure, teacher_cells

from surpass.evaluation.reproduce import Reproduction, plans_of

BY_CHANCE = 28.9
"""A right reading of 18 cells has a larger chi-square once in 20 times."""


def fit(reading: Reading) -> float:
    linear, binary = teacher_cells(reading)
    assert len(linear) == len(binary) == 9
    return chi_square([*linear, *binary])


def test_chi_square_is_15_where_the_earlier_reading_has_36() -> None:
    assert fit(BEFORE_THE_ANSWER) == pytest.approx(15.1, abs=0.05)
    assert fit(EARLIER) == pytest.approx(35.7, abs=0.05)
    assert fit(BEFORE_THE_ANSWER) < BY_CHANCE < fit(EARLIER)
    assert max(abs(cell.errors) for cells in teacher_cells(BEFORE_THE_ANSWER) for cell in cells) < 2.1


def test_one_query_in_four_fits_better_than_far_fewer_or_more() -> None:
    fits = {absent: fit(replace(BEFORE_THE_ANSWER, absent=absent)) for absent in (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5)}
    assert sorted(fits, key=fits.__getitem__)[:2] == [0.25, 0.2]
    assert [absent for absent, found in fits.items() if found > BY_CHANCE] == [0.0, 0.4, 0.5]


@pytest.mark.parametrize("change", [{"counts_answer": True}, {"linear": EARLIER.linear}, {"absent": 0.0}], ids=str)
def test_each_part_of_the_reading_is_needed(change: dict[str, object]) -> None:
    assert fit(replace(BEFORE_THE_ANSWER, **change)) > BY_CHANCE  # type: ignore[arg-type]


def test_the_exact_means_are_those_that_the_table_draws() -> None:
    (plan,) = plans_of("table3")
    drawn = Reproduction(instances=1000).table(replace(plan, rows=plan.rows[:2])).rows
    for row, cells in zip(drawn, teacher_cells(BEFORE_THE_ANSWER), strict=True):
        for ours, cell in zip(row.cells, cells, strict=True):
            assert abs(ours.ours - cell.mean) < 4 * (cell.variance / ours.instances) ** 0.5, (row.label, cell)


def test_the_papers_learned_agents_start_where_bracket_search_is() -> None:
    learned = measure(BEFORE_THE_ANSWER, "bracket_search", "rl from scratch")
    assert [round(cell.mean, 2) for cell in learned] == [1.25, 2.44, 3.60, 4.23, 5.07, 6.13, 7.17, 8.45, 9.46]
    assert all(abs(cell.errors) < 1 for cell in learned[:2])
    assert all(cell.paper > cell.mean for cell in learned)
    earlier = measure(EARLIER, "bracket_search", "rl from scratch")
    assert all(cell.paper < cell.mean - 0.5 for cell in earlier[:2])
