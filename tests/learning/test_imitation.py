"""Imitation ends with a network that does what its teacher does on everything that either has met."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from surpass.engine.run import run
from surpass.learning.imitation import Imitation
from surpass.learning.methods import new_learner
from surpass.learning.runs import train
from surpass.table import Table
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.task import Request, Task

SMALL = {"sizes": "2,3,6", "items": "24"}


def small_imitation(task: Task, teacher: str, **settings: str) -> Imitation:
    learner = new_learner(task, "imitation", teacher=teacher, settings={**SMALL, **settings})
    assert isinstance(learner, Imitation)
    return learner


def check_agrees_on_all_it_met(learner: Imitation, seed: int) -> int:
    """Raise AssertionError unless the network answers all that either meets like its teacher; return how much it is."""
    agent, teacher = learner.agent(), learner.teacher
    tables = Table.of(agent), Table.of(teacher)
    for size in learner.config.sizes:
        for data in learner.task.inputs.draw:
            instances = learner.task.draw(Request(size=size, count=5, seed=seed, data=data))
            for table in tables:
                run(table, instances)
    met = np.union1d(learner.observations, np.union1d(tables[0].observations, tables[1].observations))
    expected = teacher.actions(met)
    differing = int((agent.actions(met) != expected).sum())
    assert differing == 0, f"{differing} of {len(met)} answers differ"
    return len(met)


@pytest.mark.parametrize(
    ("task", "teacher", "rare"),
    [(SEARCH, "linear_search", 50), (KNAPSACK, "depth_first", 40)],
    ids=["search", "knapsack"],
)
def test_a_finished_run_agrees_with_its_teacher_on_everything_met(task: Task, teacher: str, rare: int) -> None:
    learner = small_imitation(task, teacher)
    curves = train(learner)
    assert learner.calm == learner.config.calm_rounds
    assert [line["agreement"] for line in curves[-learner.calm :]] == [1.0] * learner.calm
    # The last rounds' instances once more: what they showed has been learned.
    assert check_agrees_on_all_it_met(learner, seed=learner.rounds - 1) >= rare
    assert len(np.unique(learner.observations)) == len(learner.observations)
    assert learner.answers.tolist() == learner.teacher.actions(learner.observations).tolist()


def test_a_network_that_has_learned_nothing_is_noticed() -> None:
    learner = small_imitation(KNAPSACK, "depth_first")
    with pytest.raises(AssertionError, match="answers differ"):
        check_agrees_on_all_it_met(learner, seed=0)


def test_a_round_that_shows_nothing_new_and_no_doubt_is_calm_and_changes_nothing() -> None:
    learner = small_imitation(KNAPSACK, "depth_first", calm_rounds="4")
    while learner.calm < 1:
        learner.advance()
    before = {name: tensor.clone() for name, tensor in learner.network.state_dict().items()}
    curve = learner.advance()
    assert curve["agreement"] == 1.0
    assert "loss" not in curve
    assert learner.calm == 2
    assert all(torch.equal(before[name], tensor) for name, tensor in learner.network.state_dict().items())
