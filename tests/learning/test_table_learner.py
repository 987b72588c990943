"""The table learner: its estimators, its repair, and runs from nothing and from a teacher."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest

from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints
from surpass.engine.run import run
from surpass.errors import SavedFileError
from surpass.learning.methods import new_learner
from surpass.learning.table import deviations, learner
from surpass.learning.table.candidates import Candidate, relative_losses
from surpass.learning.table.critic import ActorCritic, explored_actions
from surpass.learning.table.deviations import Deviations
from surpass.learning.table.episodes import Costs, begin, observe, play, play_all, returns_of
from surpass.learning.table.learner import TableLearner
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.repair import Reference, revert_failures, revert_losses, revert_unused
from surpass.learning.table.sampled_tables import SampledTables, ranks_of
from surpass.machine.state import Outcome
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances

COSTS = Costs(1.0, 1.0)


def base_table(task: Task, teacher: str) -> LogitTable:
    """Return logits without cells whose base agent is a teacher."""
    return LogitTable(task, teacher_of(task, teacher), 2.0)


def drawn(task: Task, size: int, count: int, seed: int = 1) -> tuple[Instances, Ints]:
    instances = task.draw(Request(size=size, count=count, seed=seed))
    return instances, Limit.parse(task.limit).steps(instances.sizes)


# Estimators


def test_an_advantage_is_what_one_other_action_changes_on_the_same_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    task = find_task("sort-bubble")
    logits = base_table(task, "bubble_sort")
    found = []
    monkeypatch.setattr(deviations, "OFF_PATH_RATE", 0.0)
    monkeypatch.setattr(logits, "update", lambda *given, **_: found.append(given))
    instances, limits = drawn(task, 4, 12)
    Deviations(logits, COSTS, 2).update(instances, limits, lambda: (instances, limits), np.random.default_rng(0))
    ((observations, tried, advantages, _),) = found
    table = Table.of(teacher_of(task, "bubble_sort"))
    _, usual, _ = play_all(table, instances, limits, COSTS)
    # Each deviation is found again: at some step of some instance the action changes the return by as much.
    outcomes = set()
    for at, action in product(range(40), np.unique(tried).tolist()):
        batch = play(table, begin(task, instances), np.minimum(at, limits), find_loops=False)
        here = np.flatnonzero(batch.outcomes == Outcome.STEP_LIMIT)
        batch.outcomes[here] = Outcome.RUNNING
        seen = observe(task, batch)
        batch = deviations.take_step(task, batch, np.full(len(limits), action), limits)
        gains = returns_of(task, play(table, batch, limits), limits, COSTS) - usual
        outcomes |= {(seen[k], action, gains[k]) for k in here.tolist()}
    assert len(observations) > 10
    assert {*zip(observations.tolist(), tried.tolist(), advantages.tolist(), strict=True)} <= outcomes


def test_deviations_beat_their_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    task = find_task("sort-bubble")
    logits = base_table(task, "bubble_sort")
    estimator = Deviations(logits, COSTS, 4)
    for k in range(25):
        instances, limits = drawn(task, 6, 128, k)
        estimator.update(instances, limits, lambda k=k: drawn(task, 6, 128, 1000 + k), np.random.default_rng(k))
    fresh = task.draw(Request(size=6, count=400, seed=7))
    ours = run(Table(task, logits.greedy()), fresh, find_loops=True)
    assert ours.solved.all()
    assert ours.steps.mean() < run(teacher_of(task, "bubble_sort"), fresh).steps.mean() - 1


def test_the_actor_critic_solves_small_sizes_from_nothing() -> None:
    task = find_task("sort-bubble")
    logits = LogitTable(task)
    critic = ActorCritic(logits, *COSTS)
    for k in range(40):
        critic.anneal(k / 39)
        instances, limits = drawn(task, 3, 512, k)
        critic.update(instances, limits, np.random.default_rng(k), k < 30)
    fresh = task.draw(Request(size=3, count=100, seed=9))
    assert run(Table(task, logits.greedy()), fresh, find_loops=True).solved.all()
    again = ActorCritic(LogitTable(task), *COSTS)
    again.load({name: array.copy() for name, array in critic.save().items()})
    again.anneal(1.0)
    batches = [one.update(instances, limits, np.random.default_rng(3), True) for one in (critic, again)]
    np.testing.assert_array_equal(batches[0].steps, batches[1].steps)
    np.testing.assert_array_equal(critic.save()["spread"], again.save()["spread"])


def test_explored_actions_are_those_of_the_instructions_with_the_fewest() -> None:
    task = find_task("sort-quick")
    actions = explored_actions(task)
    names = {task.interface.instructions[k].name for k in task.interface.action_rows[actions, 0]}
    assert {"SwapWithNext", "MoveVar", "AssignVar", "Return", "Swap"} <= names
    assert len(actions) == 128
    assert len(explored_actions(find_task("search"))) == find_task("search").interface.action_count


def test_ranks_count_the_tables_that_are_beaten() -> None:
    returns = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(ranks_of(returns), [[-2 / 3, 0], [0, 0], [2 / 3, 0]])


def test_sampled_tables_gain_score_from_nothing() -> None:
    task = find_task("knapsack")
    logits = LogitTable(task)
    estimator = SampledTables(logits, Costs(0.0, 1.0))
    for k in range(12):
        instances, limits = drawn(task, 4, 40, k)
        estimator.update(instances, limits, partial(drawn, task, 4, 40, k), np.random.default_rng(k))
    fresh = task.draw(Request(size=4, count=200, seed=5))
    assert run(Table(task, logits.greedy()), fresh).rewards.mean() > 0.9


# Repair


def test_changes_that_lose_are_undone_and_others_stay() -> None:
    task = find_task("sort-bubble")
    logits = base_table(task, "insertion_sort")
    instances, limits = drawn(task, 5, 200)
    table = Table(task, logits.greedy())
    _, returns, path = play_all(table, instances, limits, COSTS)
    before = logits.logits[: logits.count].copy()
    bad = path[::3]
    logits.prefer(bad, np.zeros(len(bad), np.int64), logits.base_actions(bad))
    gained = revert_losses(logits, before, Reference(instances, limits, returns), path, COSTS)
    assert gained >= 0
    _, now, _ = play_all(Table(task, logits.greedy()), instances, limits, COSTS)
    assert now.mean() >= returns.mean()


def test_what_makes_instances_fail_is_undone() -> None:
    task = find_task("sort-bubble")
    logits = base_table(task, "insertion_sort")
    few, many = drawn(task, 5, 60), drawn(task, 9, 1)
    instances, limits = join_instances(task, [few[0], many[0]]), np.concatenate([few[1], many[1]])
    _, _, path = play_all(Table(task, logits.greedy()), instances, limits, COSTS)
    bad = path[len(path) // 2 :]
    logits.prefer(bad, np.zeros(len(bad), np.int64), logits.base_actions(bad))
    assert not run(Table(task, logits.greedy()), instances, find_loops=True).solved.all()
    assert revert_failures(logits, instances, Reference(instances, limits, np.zeros(0)), COSTS) == 0
    assert run(Table(task, logits.greedy()), instances, find_loops=True).solved.all()


def test_changes_that_no_instance_meets_are_undone_and_the_others_stay() -> None:
    task = find_task("sort-bubble")
    logits = base_table(task, "insertion_sort")
    instances, limits = drawn(task, 3, 40)
    _, _, short = play_all(Table(task, logits.greedy()), instances, limits, COSTS)
    longer, longer_limits = drawn(task, 12, 200)
    _, _, path = play_all(Table(task, logits.greedy()), longer, longer_limits, COSTS)
    changed = path[[np.flatnonzero(np.isin(path, short))[0], np.flatnonzero(~np.isin(path, short))[0]]]
    before = logits.best_actions(changed)
    logits.prefer(changed, (before + 1) % task.interface.action_count, before)
    revert_unused(logits, instances, limits, COSTS)
    assert (logits.best_actions(changed) == before).tolist() == [False, True]


@pytest.mark.parametrize("outcome", [Outcome.SOLVED, Outcome.WRONG_ANSWER])
def test_a_repair_may_not_cost_much_where_usual_instances_were_solved(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch, small_effort: None
) -> None:
    one = new_learner(find_task("sort-bubble"), "rl+imitation", settings={"starts": "1", "episodes": "64"})
    assert isinstance(one, TableLearner)
    batch = begin(one.task, drawn(one.task, 4, 64)[0])
    batch.outcomes[:] = Outcome.SOLVED
    batch.outcomes[1:] = outcome
    # The first instance costs as much as before; all others lose half of what they brought.
    returns = iter([np.full(64, -10.0), np.array([-10.0] + [-15.0] * 63)])
    learned: list[object] = []
    monkeypatch.setattr(learner, "play_all", lambda *_: (batch, next(returns), None))
    monkeypatch.setattr(learner, "revert_failures", lambda *_: 0)
    monkeypatch.setattr(one, "_parse_counterexamples", lambda: None)
    monkeypatch.setattr(one, "_update", learned.append)
    one._repair(one.candidates[0])
    assert bool(learned) == (outcome == Outcome.SOLVED)


# Whole runs


def test_a_task_with_a_score_begins_with_several_starts_and_any_estimator_can_be_chosen() -> None:
    one = new_learner(find_task("knapsack"), "rl")
    assert isinstance(one, TableLearner)
    assert [type(candidate.estimator) for candidate in one.candidates] == [SampledTables] * 5
    other = new_learner(find_task("sort-bubble"), "rl+imitation", settings={"estimator": "sampled-tables"})
    assert isinstance(other, TableLearner)
    assert isinstance(other.candidates[0].estimator, SampledTables)


class FailsOnTies:
    """Binary search that does not find what stands next to its like."""

    def __init__(self, task: Task) -> None:
        self.task, self.name, self.teacher = task, "ties", teacher_of(task, "binary_search")

    def actions(self, observations: Ints) -> Ints:
        names = [feature.name for feature in self.task.interface.features]
        columns = [names.index("A[v1] ? A[v1+1]"), names.index("q ? A[v1]")]
        is_tied = (self.task.interface.digits(observations)[:, columns] == [1, 1]).all(axis=1)
        actions: Ints = np.where(is_tied, self.task.interface.action_count - 1, self.teacher.actions(observations))
        return actions


def test_candidates_are_compared_on_all_their_data(small_effort: None) -> None:
    """One that fails on ties, and is as good elsewhere, falls behind."""
    task = find_task("search")
    one = new_learner(task, "rl+imitation", settings={"starts": "1", "data": "uniform,repeats"})
    assert isinstance(one, TableLearner)
    good = one.candidates[0]
    bad = Candidate(task, one.config, FailsOnTies(task))
    for k in range(2):
        bad.updates = good.updates = 1
        one.candidates = [bad, good] if k else [good, bad]
        one._keep_best(1)
        assert one.candidates == [good]


@pytest.mark.parametrize(("task", "method"), [("search", "rl"), ("search", "rl+imitation"), ("knapsack", "rl")])
def test_a_run_ends_with_a_network_that_equals_its_table(task: str, method: str, small_effort: None) -> None:
    settings = {"starts": "1", "episodes": "64", "updates": "4", "sizes": "2-6", "checks": "3"}
    one = new_learner(find_task(task), method, settings=settings)
    assert isinstance(one, TableLearner)
    phases = []
    while not one.done:
        phases.append(one.phase)
        one.advance()
    assert list(dict.fromkeys(phases))[-1] == "distil"
    assert ("solve" in phases) == (task == "search")
    seen = one.student.observations
    np.testing.assert_array_equal(one.agent().actions(seen), one.policy.actions(seen))


def test_a_start_with_a_teacher_competes_with_those_from_nothing(small_effort: None) -> None:
    one = new_learner(find_task("search"), "rl+imitation", settings={"starts": "1", "episodes": "64", "updates": "4"})
    assert isinstance(one, TableLearner)
    while one.phase == "solve":
        one.advance()
    assert {start.name for start in one.candidates} == {"nothing", "teacher:binary_search"}
    while one.phase == "improve":
        one.advance()
    assert len(one.candidates) == 1


def test_losses_are_relative_to_the_best() -> None:
    def losses(*returns: list[float], failed: float = np.nan) -> list[float]:
        found = np.array(returns)
        return relative_losses(found, found != failed).tolist()

    assert losses([-10.0, -10.0], [-30.0, -10.0], [-15.0, -15.0]) == [0, 1, 0.5]
    assert losses([2.0], [3.0]) == [1 / 3, 0]
    # One in four fails: the whole costs as much as if it took twice the steps of the best, whatever the limit.
    for limit in (-100.0, -1000.0):
        assert losses([-10.0] * 4, [-10.0, -10.0, limit, -10.0], failed=limit) == [0, 0.25]
    assert losses([-100.0] * 2, [-100.0] * 2, failed=-100.0) == [0, 0]


def test_a_damaged_state_is_refused(small_effort: None) -> None:
    one = new_learner(find_task("search"), "rl+imitation", settings={"episodes": "32", "starts": "1"})
    tensors, record = one.save_state()
    for damaged in (
        {**record, "phase": "nap"},
        {**record, "candidates": [{"base": "agent", "used": [99], "updates": 0}]},
    ):
        with pytest.raises(SavedFileError):
            one.load_state(tensors, damaged)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [4, 6, 8, 16, 32, 64, 128, 256]),
        ({"solve_to": "8"}, [4, 6, 8]),
        ({"solve_to": "1"}, [4]),
        ({"limit": "5000"}, [4, 6, 8, 16, 32, 64, 128, 256, 512]),
        ({"limit": "10n^2"}, [4, 6, 8, 16]),
        ({"limit": "1000000"}, [4, 6, 8]),
    ],
)
def test_sizes_of_solve_double_as_far_as_the_task_and_the_time_go(
    settings: dict[str, str], expected: list[int]
) -> None:
    """Also where the limit is the same for all sizes."""
    found = new_learner(find_task("search"), "rl", settings=settings)
    assert isinstance(found, TableLearner)
    assert found.tops == expected
