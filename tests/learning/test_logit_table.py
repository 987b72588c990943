"""The table of logits: the best action, the update rule, and what changes in place."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.teachers import teacher_of
from surpass.engine.run import run
from surpass.errors import SavedFileError
from surpass.learning.table.features import ViewAgent, drop_features
from surpass.learning.table.logits import LogitTable
from surpass.machine.interface import NO_ACTION
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


def feature(task: str, name: str) -> int:
    return [one.name for one in find_task(task).interface.features].index(name)


def random_table() -> tuple[LogitTable, np.ndarray]:
    """Return logits of sort-quick with quick sort as the base agent, and observations that it meets."""
    task = find_task("sort-quick")
    base = Table.of(teacher_of(task, "quick_sort"))
    run(base, task.draw(Request(size=6, count=30, seed=1)))
    logits = LogitTable(task, base, 2.0)
    random = np.random.default_rng(3)
    seen = random.choice(base.observations, 400)
    logits.cells_of(seen, random.integers(0, 12, 400))
    logits.logits[: logits.count] = random.normal(size=logits.count)
    return logits, base.observations


def test_the_best_action_has_the_largest_logit() -> None:
    logits, seen = random_table()
    every, best, base = logits.all_logits(seen), logits.best_actions(seen), logits.base_actions(seen)
    assert (every.max(axis=1) == every[np.arange(len(seen)), best]).all()
    assert (best != base).any()
    np.testing.assert_array_equal(logits.greedy().actions(seen), best)


def test_a_cell_holds_wherever_its_features_are_the_same() -> None:
    task = find_task("sort-quick")
    previous = feature("sort-quick", "previous")
    logits = LogitTable(task, features=[previous])
    stride = task.interface.strides[previous]
    here, alike, other = 5 * stride + 1, 5 * stride + 2, 6 * stride + 1
    logits.logits[logits.cells_of(np.array([here]), np.array([7]))] = 1.0
    np.testing.assert_array_equal(logits.best_actions(np.array([here, alike, other])), [7, 7, NO_ACTION])


def test_others_are_drawn_as_often_as_their_logits_say() -> None:
    logits, seen = random_table()
    counts = (logits.all_logits(seen) != 0).sum(axis=1)
    observation = seen[counts.argmax()]
    sums = logits.all_logits(np.array([observation]))[0]
    best = int(sums.argmax())
    many = np.full(20_000, observation)
    drawn = logits.draw_others(many, np.full(20_000, best), np.random.default_rng(2))
    shares = {action: np.exp(sums[action]) for action in np.flatnonzero(sums).tolist() if action != best}
    assert len(shares) > 3
    for action, share in shares.items():
        assert (drawn == action).mean() == pytest.approx(share / sum(shares.values()), abs=0.015)


def test_an_update_adds_the_mean_advantage_shrunk_by_a_prior_count() -> None:
    task = find_task("search")
    logits = LogitTable(task)
    one = np.array([17])
    logits.update(one, np.array([4]), np.array([6.0]), np.array([3.0]), step_size=0.1, prior_count=9.0)
    assert logits.all_logits(one)[0, 4] == pytest.approx(0.1 * 6 / (3 + 9))
    logits.update(one, np.array([4]), np.array([1e6]), np.array([1.0]), step_size=0.1, prior_count=9.0, decay=0.5)
    assert logits.all_logits(one)[0, 4] == pytest.approx(0.5 * 0.05 + 0.5)


def test_preferred_actions_are_the_best_and_a_restored_table_is_as_before() -> None:
    logits, seen = random_table()
    before, best = logits.logits[: logits.count].copy(), logits.best_actions(seen)
    wanted = (best + 1) % 12
    logits.prefer(seen, wanted, best)
    assert (logits.best_actions(seen) != best).all()
    np.testing.assert_array_equal(logits.best_actions(seen, before), best)
    logits.restore(before)
    np.testing.assert_array_equal(logits.best_actions(seen), best)


def test_a_saved_table_comes_back_and_damaged_ones_are_refused() -> None:
    logits, seen = random_table()
    saved = {name: array.copy() for name, array in logits.save().items()}
    other, _ = random_table()
    other.clear()
    other.load(saved)
    np.testing.assert_array_equal(other.all_logits(seen), logits.all_logits(seen))
    for name, damage in (
        ("following", lambda a: np.arange(len(a)) + 1),
        ("heads", lambda a: a + 10**6),
        ("actions", lambda a: a + 10**6),
        ("shown", lambda a: np.zeros_like(a)),
        ("logits", lambda a: a[:-1]),
    ):
        with pytest.raises(SavedFileError):
            other.load({**saved, name: damage(saved[name])})


def test_a_policy_of_the_features_that_matter_holds_on_larger_sizes() -> None:
    task = find_task("sort-bubble")
    table = Table.of(teacher_of(task, "insertion_sort"))
    run(table, task.draw(Request(size=8, count=100, seed=1)))
    run(table, task.draw(Request(size=8, count=100, seed=1, data="repeats")))
    observations, actions = table.entries()
    used = [feature("sort-bubble", name) for name in ("v1 ? v2", "A[v2] ? A[v2-1]", "A[v2] ? A[v2+1]")]
    agent = ViewAgent.voted(task, used, observations, actions, np.ones(len(actions)))
    large = task.draw(Request(size=40, count=20, seed=2))
    np.testing.assert_array_equal(run(Table(task, agent), large).steps, run(table, large).steps)


def test_a_feature_is_dropped_only_if_the_others_are_enough() -> None:
    task = find_task("search")
    needed = {2, 5}
    assert set(drop_features(task, list(range(8)), lambda features: needed <= set(features))) == needed
