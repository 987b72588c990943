"""The curriculum of sizes that all learners share."""

from __future__ import annotations

from surpass.learning.curriculum import Curriculum, read_ranges


def test_ranges_are_read_in_order_and_the_usual_one_stands_in_for_none() -> None:
    assert read_ranges("3-5 5-10 10-20", (1, 1)) == [(3, 5), (5, 10), (10, 20)]
    assert read_ranges("", (10, 20)) == [(10, 20)]


def test_the_next_range_begins_once_nearly_all_was_solved_and_the_last_one_stays() -> None:
    curriculum = Curriculum("3-5 5-10", (1, 1))
    assert not curriculum.advance_if(0.97)
    assert curriculum.sizes == (3, 5)
    assert curriculum.advance_if(0.98)
    assert curriculum.sizes == (5, 10)
    assert curriculum.is_last
    assert not curriculum.advance_if(1.0)
    assert curriculum.sizes == (5, 10)
