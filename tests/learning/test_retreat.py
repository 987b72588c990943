"""What a policy learned is undone where it makes instances fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surpass.arrays import Ints
from surpass.engine.run import run
from surpass.learning import stages
from surpass.learning.forks.learner import PATIENT, ForkPolicyGradient
from surpass.learning.forks.retreat import Deviation, Retreat, _chosen
from surpass.table import Table
from surpass.tasks.task import Instances, Request
from tests.learning.test_forks import learner_of, prefer_everywhere


def retreat_of(learner: ForkPolicyGradient) -> Retreat:
    usual = learner._draw_usual()
    table = Table(learner.task, learner.most_likely)
    return Retreat(learner.judge, table, usual, learner._limits_of(usual.sizes))


def seen_on(learner: ForkPolicyGradient, instances: Instances) -> Ints:
    """Return what the learner's most likely actions come to."""
    table = Table(learner.task, learner.most_likely)
    run(table, instances)
    return table.observations


def test_what_fails_is_undone_and_all_else_stays() -> None:
    learner = learner_of("sort-bubble", "insertion_sort", stages="5-6", episodes=50)
    task, policy = learner.task, learner.policy
    usual = task.draw(Request(size=6, count=60, seed=1))
    ties = task.draw(Request(size=6, count=60, seed=2, data="few-distinct"))
    on_ties = np.setdiff1d(seen_on(learner, ties), seen_on(learner, usual))
    prefer_everywhere(policy, on_ties, task.interface.parse_action("MoveVar(1, -1)"))
    was = run(learner.most_likely, usual)
    assert was.solved.all()
    assert not run(learner.most_likely, ties, find_loops=True).solved.all()
    assert retreat_of(learner).run(ties) == 0
    assert run(learner.most_likely, ties, find_loops=True).solved.all()
    np.testing.assert_array_equal(run(learner.most_likely, usual).steps, was.steps)
    undone = policy.best_actions(on_ties) == policy.taught(on_ties)
    assert undone.any()
    assert not undone.all(), "what is in nobody's way stays"


def test_what_the_policy_began_with_fails_on_is_left() -> None:
    learner = learner_of("search", "linear_search", stages="4-6", episodes=20)
    task = learner.task
    gives_up = task.interface.parse_action("NotFound()")
    everything = seen_on(learner, task.draw(Request(size=5, count=40, seed=1)))
    learner.policy.teacher = Table.holding(task, everything, np.full(len(everything), gives_up))
    here = task.draw(Request(size=5, count=10, seed=3, queries="present"))
    failing = int((~run(learner.most_likely, here, find_loops=True).solved).sum())
    assert failing > 5
    assert retreat_of(learner).run(here) == failing


def change(observation: int, solves: list[bool], cost: float) -> Deviation:
    return Deviation(observation, 0, 1, np.array(solves), cost)


def undone(changes: list[Deviation], is_on: list[list[bool]]) -> list[int]:
    return [one.observation for one in _chosen(changes, np.array(is_on))]


def test_of_changes_that_solve_the_same_the_cheaper_one_is_undone() -> None:
    changes = [change(10, [True, True], 3.0), change(11, [True, False], 0.0), change(12, [False, True], 0.5)]
    assert undone(changes, [[True, True, False], [True, False, True]]) == [11, 12]


def test_of_changes_that_cost_nothing_the_one_that_solves_most_is_undone() -> None:
    changes = [change(10, [True, False], 0.0), change(11, [True, True], -1.0)]
    assert undone(changes, [[True, True], [True, True]]) == [11]


def test_where_no_single_change_helps_those_off_the_usual_way_are_undone_first() -> None:
    changes = [change(10, [False], 0.0), change(11, [False], -1.0), change(12, [False], -1.0)]
    assert undone(changes, [[True, True, False]]) == [11]
    assert undone(changes[:1], [[True]]) == [10]


def test_a_policy_is_mended_before_a_network_learns_it(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_of("search", "binary_search", stages="3-5", episodes=20, updates=1, updates_per_round=1)
    learner.advance()
    assert not learner.is_descending
    asked: list[tuple[str, list[str]]] = []
    answers = iter([["1,3,5:3"], [], ["1,3:2"], [], []])

    def find(table: Table, hard: list[str], **_: object) -> list[str]:
        asked.append((table.source.name, list(hard)))  # type: ignore[union-attr]
        run(table, learner.task.draw(Request(size=4, count=5, seed=1)))
        return next(answers)

    monkeypatch.setattr(stages, "find_failures", find)
    assert learner.advance()["failing"] == 1
    assert not learner.has_network
    assert learner.hard == ["1,3,5:3"]
    assert learner.advance()["failing"] == 0
    assert learner.has_network, "it is taught what the check came to"
    while not learner.done:
        learner.advance()
    assert [name for name, _ in asked] == ["rl", "rl", "imitation", "rl", "imitation"]
    assert asked[-1][1] == ["1,3,5:3", "1,3:2"]
    assert learner.is_sound


def test_what_fails_is_left_to_be_learned_at_first_where_undoing_it_costs_too_much() -> None:
    learner = learner_of("search", "linear_search", stages="6-6", episodes=200, settled_every=1)
    task, policy = learner.task, learner.policy
    found = task.interface.parse_action("Found(4)")
    everything = seen_on(learner, task.draw(Request(size=6, count=300, seed=1)))
    feature, values = task.interface.conditions["q = A[v4]"]
    is_there = np.isin(task.interface.digits(everything)[:, feature], list(values))
    prefer_everywhere(policy, everything[is_there], found)  # a step is saved where the query is the last value,
    gives_up = task.interface.parse_action("NotFound()")
    begin = seen_on(learner, task.draw(Request(size=6, count=1, seed=1)))
    prefer_everywhere(policy, begin, gives_up)  # and all is over at once, mostly with a wrong answer
    wanted = policy.best_actions(everything)
    learner.hard = [task.write_instance(task.draw(Request(size=6, count=1, seed=9, queries="present")))]
    learner.config = replace(learner.config, wrong_cost=0.0)
    learner.judge.wrong_cost = 0.0  # so that wrong answers save steps, and undoing costs
    assert not learner._go_back(Table(task, learner.most_likely))
    np.testing.assert_array_equal(policy.best_actions(everything), wanted)
    learner.mended = PATIENT
    assert learner._go_back(Table(task, learner.most_likely))
    assert (policy.best_actions(everything) != wanted).any()
