"""The table of a network is the network: wherever play leads, both give the same answer."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.networks.agent import NetworkAgent
from surpass.engine.advance import Player
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.run import run
from surpass.engine.specialise import specialise
from surpass.machine.calls import stack_limit
from surpass.machine.state import Outcome
from surpass.table import Table
from surpass.tasks.task import Instances, Limit, Request, Task
from tests.long import LONG
from tests.zoo.zoo_entries import TABLE_IMITATORS, load


def look(task: Task, batch: Batch) -> np.ndarray:
    """Return the packed observation of each episode."""
    digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
    specialise(task).look(batch, digits)
    return task.interface.pack_digits(digits)


def start(task: Task, instances: Instances) -> tuple[Batch, np.ndarray]:
    """Return a batch of episodes that begin, and the step limit of each."""
    size = int(instances.sizes.max())
    batch = grow_stack(allocate(task, instances.count, size), (stack_limit(size) + 2) * task.frame_size)
    specialise(task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch, Limit.parse(task.limit).steps(instances.sizes)


def run_by_network(agent: NetworkAgent, instances: Instances) -> Batch:
    """Step every episode to its end, with the network called on all of them at every step."""
    task, (batch, limits) = agent.task, start(agent.task, instances)
    while (batch.outcomes == Outcome.RUNNING).any():
        actions = agent.most_likely(look(task, batch))[0]
        specialise(task).step(batch, actions, task.interface.action_rows[actions], limits)
    return batch


@pytest.mark.parametrize("name", TABLE_IMITATORS)
def test_whole_episodes_by_table_end_as_those_by_the_network_at_every_step(name: str) -> None:
    agent = load(name)
    for data in list(agent.task.inputs.draw)[:2]:
        instances = agent.task.draw(Request(size=40 if LONG else 10, count=20, seed=9, data=data))
        expected = run_by_network(agent, instances)
        found = Player(Table.of(agent)).finish(*start(agent.task, instances))
        for part in ("steps", "outcomes", "items", "reals"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        results = run(agent, instances)
        np.testing.assert_array_equal(results.steps, expected.steps)
        assert results.solved.all()
        assert expected.steps.sum() > 0
        if agent.task.name.startswith("sort-"):
            size = instances.items.shape[1]
            np.testing.assert_array_equal(found.items[:, :size], np.sort(instances.items, axis=1))
