"""Counting what a run meets: against the recorded steps of the same run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.record import record
from surpass.engine.run import run
from surpass.engine.tally import tally
from surpass.tasks.task import Instances, Limit, Request
from tests.engine.test_run import TABLE_TEACHERS


@pytest.mark.parametrize("name", TABLE_TEACHERS)
def test_counts_are_those_of_the_recorded_runs(name):
    teacher = find_teacher(name)
    instances = teacher.task.draw(Request(size=7, count=5, seed=3))
    expected: Counter[int] = Counter()
    for k in range(instances.count):
        trace = record(teacher, teacher.task.write_instance(instances.part(k, k + 1)))
        expected.update(step.observation for step in trace.steps)
    met = tally(teacher, instances)
    assert dict(zip(met.observations.tolist(), met.counts.tolist(), strict=True)) == expected
    assert (np.diff(met.observations) > 0).all()
    assert (met.actions == teacher.actions(met.observations)).all()


@pytest.mark.parametrize(
    ("name", "size", "count", "data", "limit"),
    [
        ("insertion_sort", 30, 700, "uniform", "10n^2"),
        ("hoare_sort", 30, 700, "uniform", "10n^2"),
        ("quick_sort", 300, 3, "reversed", "10n^2"),  # whose stack grows
        ("bubble_sort", 20, 4, "uniform", "50"),  # which is cut off
    ],
)
def test_every_step_is_counted_with_results_as_without(name, size, count, data, limit):
    teacher, most = find_teacher(name), Limit.parse(limit)
    instances = teacher.task.draw(Request(size=size, count=count, seed=1, data=data))
    met, plain = tally(teacher, instances, limit=most), run(teacher, instances, limit=most)
    assert (met.results.steps == plain.steps).all()
    assert met.counts.sum() == plain.steps.sum()
    assert plain.solved.all() == (limit != "50")


def test_nothing_to_do_meets_nothing():
    teacher = find_teacher("bubble_sort")
    none = Instances(np.zeros(0, np.int64), np.zeros((0, 1), np.int64), np.zeros((0, 1)))
    ordered = teacher.task.draw(Request(size=5, count=3, data="sorted"))
    for instances in (none, ordered):
        met = tally(teacher, instances)
        assert (len(met.observations), len(met.counts)) == (0, 0)
