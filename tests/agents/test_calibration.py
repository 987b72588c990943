"""The teachers' means are those that DESIGN.md records for these semantics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.tasks.task import Limit, Request

COUNT = 1000

STEPS = {
    "bubble_sort": (2000, {5: 14.7, 10: 70.7, 20: 296.6, 30: 673.2, 50: 1875.4}),
    "insertion_sort": (2000, {5: 14.8, 10: 56.1, 20: 211.3, 30: 467.9, 50: 1278.4}),
    "quick_sort": (400, {5: 27.5, 10: 88.5, 20: 238.2, 30: 404.7, 50: 780.9, 100: 1845.6}),
}
"""Mean steps by size, and over how many instances they were measured."""

VALUES = {
    "20n": {2: 0.50, 4: 1.29, 6: 1.93, 8: 2.54, 10: 3.17, 20: 6.02},
    "100n": {2: 0.50, 4: 1.30, 6: 2.14, 8: 2.87, 10: 3.52, 20: 6.50},
}
"""Mean value that depth-first search packs, by budget and size."""


def check_mean(measured: np.ndarray, recorded: float, recorded_count: int, digit: float) -> None:
    """Raise AssertionError unless two means agree within 4 standard errors of their difference and the last digit."""
    error = measured.std(ddof=1) * math.sqrt(1 / len(measured) + 1 / recorded_count)
    assert abs(measured.mean() - recorded) <= 4 * error + digit / 2, (measured.mean(), recorded, error)


@pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, (_, means) in STEPS.items() for size in means], ids=str
)
def test_sorting_teachers_take_the_recorded_steps(name: str, size: int) -> None:
    teacher = find_teacher(name)
    results = run(teacher, teacher.task.draw(Request(size=size, count=COUNT, seed=11)))
    assert results.solved.all()
    recorded_count, means = STEPS[name]
    check_mean(results.steps, means[size], recorded_count, 0.1)


@pytest.mark.parametrize(
    ("budget", "size"), [(budget, size) for budget, means in VALUES.items() for size in means], ids=str
)
def test_depth_first_packs_the_recorded_values(budget: str, size: int) -> None:
    teacher = find_teacher("depth_first")
    instances = teacher.task.draw(Request(size=size, count=COUNT, seed=11))
    results = run(teacher, instances, limit=Limit.parse(budget))
    assert results.solved.all()
    check_mean(results.scores, VALUES[budget][size], 2000, 0.01)
    assert np.array_equal(results.rewards, results.scores)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_mean_that_is_a_tenth_off_is_noticed(factor: float) -> None:
    teacher = find_teacher("bubble_sort")
    results = run(teacher, teacher.task.draw(Request(size=20, count=COUNT, seed=11)))
    with pytest.raises(AssertionError):
        check_mean(results.steps, 296.6 * factor, 2000, 0.1)
