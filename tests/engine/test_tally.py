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


@pytest.mark.parametrize("name", ["insertion_sort", "hoare_sort"])
def test_every_step_is_counted_with_results_as_without(name):
    teacher = find_teacher(name)
    instances = teacher.task.draw(Request(size=30, count=700, seed=1))
    met, plain = tally(teacher, instances), run(teacher, instances)
    assert (met.results.steps == plain.steps).all()
    assert met.counts.sum() == plain.steps.sum()


def test_deep_calls_are_counted_once_though_the_stack_grows():
    teacher = find_teacher("quick_sort")
    instances = teacher.task.draw(Request(size=300, count=3, data="reversed"))
    met = tally(teacher, instances)
    assert met.results.solved.all()
    assert met.counts.sum() == met.results.steps.sum()


def test_a_cut_off_run_counts_the_steps_it_had():
    teacher = find_teacher("bubble_sort")
    instances = teacher.task.draw(Request(size=20, count=4))
    met = tally(teacher, instances, limit=Limit.parse("50"))
    assert met.counts.sum() == 200


def test_nothing_to_do_meets_nothing():
    teacher = find_teacher("bubble_sort")
    none = Instances(np.zeros(0, np.int64), np.zeros((0, 1), np.int64), np.zeros((0, 1)))
    ordered = teacher.task.draw(Request(size=5, count=3, data="sorted"))
    for instances in (none, ordered):
        met = tally(teacher, instances)
        assert (len(met.observations), len(met.counts)) == (0, 0)
