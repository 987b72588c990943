"""Every sorting teacher sorts everything: all small lists with ties, and every kind of large one."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from surpass import Outcome
from surpass.agents.teachers import find_teacher
from surpass.engine.advance import Player
from surpass.engine.batch import allocate
from surpass.engine.run import Results, run
from surpass.engine.specialise import specialise
from surpass.machine.calls import stack_limit
from surpass.machine.state import DEPTH
from surpass.table import Table
from surpass.tasks.enumeration import weak_orders
from surpass.tasks.lists import LISTS, from_lists
from surpass.tasks.task import Instances, Limit, Request

TEACHERS = ("selection_sort", "bubble_sort", "insertion_sort", "quick_sort", "hoare_sort")
FUBINI = (1, 1, 3, 13, 75, 541, 4683, 47293)
"""The number of weak orders of n elements."""


@cache
def every_list(size: int) -> np.ndarray:
    """Return every list of ranks of a size, [m, size]: each value below the largest occurs."""
    return np.concatenate(list(weak_orders(size)))


def run_lists(name: str, lists: np.ndarray) -> Results:
    return run(find_teacher(name), from_lists(lists))


@pytest.mark.parametrize("name", TEACHERS)
@pytest.mark.parametrize("size", range(1, 8))
def test_a_teacher_sorts_every_list_of_up_to_7_values_with_ties(name: str, size: int) -> None:
    results = run_lists(name, every_list(size))
    assert results.reasons() == {"solved": FUBINI[size]}


@pytest.mark.parametrize("name", TEACHERS)
@pytest.mark.parametrize("data", LISTS)
def test_a_teacher_sorts_large_lists_of_every_distribution(name: str, data: str) -> None:
    teacher = find_teacher(name)
    size = 60 if teacher.task.interface.is_full_view else 1000
    results = run(teacher, teacher.task.draw(Request(size=size, count=2, seed=1, data=data)))
    assert results.reasons() == {"solved": 2}


@pytest.mark.parametrize("name", TEACHERS)
def test_a_sorted_list_takes_no_step_and_any_other_at_least_one(name: str) -> None:
    lists = every_list(5)
    results = run_lists(name, lists)
    is_sorted = (np.diff(lists, axis=1) >= 0).all(axis=1)
    assert ((results.steps == 0) == is_sorted).all()


@pytest.mark.parametrize("name", TEACHERS)
def test_lists_of_different_sizes_in_one_batch_are_sorted_as_if_alone(name: str) -> None:
    alone, sizes = [], [2, 9, 5, 1, 9, 3]
    together = np.zeros((len(sizes), max(sizes)), np.int64)
    for row, size in enumerate(sizes):
        values = np.random.default_rng(row).integers(0, size, (1, size))
        together[row, :size] = values
        alone.append(run_lists(name, values))
    results = run(find_teacher(name), Instances(np.array(sizes), together, np.zeros((len(sizes), 1))))
    assert results.steps.tolist() == [one.steps[0] for one in alone]
    assert results.solved.all()


def test_selection_sort_swaps_no_more_than_n_minus_1_times() -> None:
    for size in range(2, 8):
        assert run_lists("selection_sort", every_list(size)).steps.max() == size - 1


def test_bubble_and_insertion_sort_swap_each_inversion_once() -> None:
    lists = np.array(list(permutations(range(6))))
    inversions = sum((lists[:, [i]] > lists[:, i + 1 :]).sum(axis=1) for i in range(6))
    for name in ("bubble_sort", "insertion_sort"):
        assert (run_lists(name, lists).steps >= inversions).all()


# Depth


def deep_list(size: int) -> Instances:
    """Return a list in order but for its first two values: around its last value, a partition takes off one."""
    values = np.arange(size)
    values[:2] = [1, 0]
    return from_lists(values[None])


def run_and_measure_depth(name: str, instances: Instances) -> tuple[Outcome, int]:
    """Return how one instance ended and how many calls were open then."""
    teacher = find_teacher(name)
    batch = allocate(teacher.task, 1, int(instances.sizes[0]))
    specialise(teacher.task).reset(batch, *instances, np.arange(1))
    limits = Limit.parse(teacher.task.limit).steps(instances.sizes)
    batch = Player(Table.of(teacher)).finish(batch, limits)
    return Outcome(int(batch.outcomes[0])), int(batch.registers[0, DEPTH])


def test_quick_sort_solves_a_list_on_which_it_is_10000_calls_deep() -> None:
    size = 10_000
    outcome, depth = run_and_measure_depth("quick_sort", deep_list(size))
    # n - 1 calls, for the ranges from the whole list down to the first two values, and the partition of these two.
    assert (outcome, depth) == (Outcome.SOLVED, size)
    assert depth < stack_limit(size)


@pytest.mark.parametrize("data", LISTS)
def test_hoare_sort_stays_within_its_stack_on_large_lists(data: str) -> None:
    teacher = find_teacher("hoare_sort")
    results = run(teacher, teacher.task.draw(Request(size=5000, count=1, data=data)))
    assert results.reasons() == {"solved": 1}


# Speed


def test_hoare_sort_takes_at_most_as_many_steps_as_is_claimed() -> None:
    assert run_lists("hoare_sort", np.array(list(permutations(range(5))))).steps.mean() <= 18.5
    teacher = find_teacher("hoare_sort")
    results = run(teacher, teacher.task.draw(Request(size=1000, count=1000)))
    assert results.solved.all()
    assert results.steps.mean() <= 16_364


@pytest.mark.parametrize("size", [5, 20, 100, 1000])
def test_hoare_sort_takes_fewer_steps_than_quick_sort(size: int) -> None:
    quick, hoare = find_teacher("quick_sort"), find_teacher("hoare_sort")
    lists = quick.task.draw(Request(size=size, count=200))
    assert run(hoare, lists).steps.mean() < run(quick, lists).steps.mean()
