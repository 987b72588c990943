"""Imitation ends with a network that does what its teacher does on everything that either has met."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from surpass.agents.networks.agent import HIDDEN
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.evaluation.scores import evaluate
from surpass.learning.imitation import Imitation
from surpass.learning.methods import new_learner
from surpass.learning.runs import train
from surpass.table import Table
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.task import Request, Task
from surpass.tasks.user_file import load_task_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"
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


# A user's own task


@pytest.fixture(scope="module")
def minimum() -> Task:
    (task,) = load_task_file(EXAMPLE)
    return task


def test_a_users_own_task_gets_its_network_from_its_declaration(minimum: Task) -> None:
    learner = small_imitation(minimum, "scan")
    network = learner.network
    assert isinstance(network, StructuredPolicy)
    # Two features, a comparison one-hot and a flag, three instructions, of which one has an operand.
    assert len(network.slots) == 2
    shapes = [
        [(m.in_features, m.out_features) for m in slot if isinstance(m, torch.nn.Linear)] for slot in network.slots
    ]  # type: ignore[union-attr]
    assert shapes == [[(4, 64), (64, 64), (64, 64), (64, 3)], [(4, 64), (64, 64), (64, 64), (64, 2)]]
    assert HIDDEN == (64, 64, 64)


def test_a_users_own_task_is_learned_with_no_code_beside_it(minimum: Task) -> None:
    learner = small_imitation(minimum, "scan")
    train(learner)
    assert learner.calm == learner.config.calm_rounds
    agent, teacher = learner.agent(), find_teacher("scan")
    scores = evaluate(agent, sizes=[1, 2, 10, 100, 1000], against=teacher)
    assert [(row.solved, row.difference) for row in scores.rows] == [(1.0, 0.0)] * 5
    # Both of its features in every combination that can occur.
    assert 5 <= len(learner.observations) <= minimum.interface.observation_count
