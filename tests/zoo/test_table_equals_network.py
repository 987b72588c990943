"""The table of a network is the network: wherever play leads, both give the same answer."""

from __future__ import annotations

from typing import NamedTuple

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
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances
from tests.long import LONG
from tests.zoo.zoo_entries import TABLE_IMITATORS, load

STEPS = 1_000_000 if LONG else 20_000
WIDTH = 500 if LONG else 200
"""How many episodes are played side by side."""
SIZES = (1, 2, 3, 5, 8, 13, 30)
PATIENCE = 300
"""After how many steps an episode starts again."""

PLAYED = (
    "sort-bubble/imitation-insertion_sort",
    "sort-quick/imitation-hoare_sort",
    "search/imitation-binary_search",
    "knapsack/imitation-depth_first",
)
"""A network of each task with a table."""


def look(task: Task, batch: Batch) -> np.ndarray:
    """Return the packed observation of each episode."""
    digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
    specialise(task).look(batch, digits)
    return task.interface.pack_digits(digits)


def room_for(task: Task, count: int, size: int) -> Batch:
    """Return a batch with room for episodes of a size, however deep they go."""
    return grow_stack(allocate(task, count, size), (stack_limit(size) + 2) * task.frame_size)


def draw_actions(task: Task, count: int, random: np.random.Generator) -> np.ndarray:
    """Return uniformly random actions; for every other episode the instruction is drawn first, and then its operands.

    Nearly all actions of sort-quick are calls, so that the first half goes deep and the second half about.
    """
    actions = random.integers(0, task.interface.action_count, count)
    first = np.array([*task.interface.offsets, task.interface.action_count])
    kinds = random.integers(0, len(first) - 1, count)
    by_instruction = random.integers(first[kinds], first[kinds + 1])
    return np.where(np.arange(count) % 2, by_instruction, actions)


class Play(NamedTuple):
    """What random play showed."""

    steps: int
    disagreements: int
    observations: int
    """How many distinct ones were met."""
    episodes: int


def play(agent: NetworkAgent, table: Table, steps: int, *, width: int = WIDTH, seed: int = 0) -> Play:
    """Play at random, asking network and table at every step, and return how often they differed."""
    task, random = agent.task, np.random.default_rng(seed)
    kernels, rows = specialise(task), task.interface.action_rows
    kinds = [Request(size=size, count=20, seed=3, data=data) for size in SIZES for data in task.inputs.draw]
    pool = join_instances(task, [task.draw(kind) for kind in kinds])
    batch = room_for(task, width, max(SIZES))
    batch.outcomes[:] = Outcome.SOLVED
    limits = np.full(width, PATIENCE)
    taken = differing = episodes = 0
    while taken < steps:
        while (ended := np.flatnonzero(batch.outcomes != Outcome.RUNNING)).size:
            # Some instances, such as sorted lists, are solved before the first step.
            chosen = random.integers(0, pool.count, len(ended))
            kernels.reset(batch, *(np.ascontiguousarray(array[chosen]) for array in pool), ended)
            episodes += len(ended)
        observations = look(task, batch)
        differing += int((agent.most_likely(observations)[0] != table.actions(observations)).sum())
        before = int(batch.steps.sum())
        actions = draw_actions(task, width, random)
        kernels.step(batch, actions, rows[actions], limits)
        taken += int(batch.steps.sum()) - before
    return Play(taken, differing, len(table), episodes)


@pytest.mark.parametrize("name", PLAYED)
def test_network_and_table_agree_at_every_step_of_random_play(name: str) -> None:
    agent = load(name)
    agent.margins.clear()  # the agent is shared, and other tests have asked it
    found = play(agent, Table.of(agent), STEPS)
    print(f"{name}: {found}, {len(agent.narrow)} narrow, least {min(agent.narrow.values(), default=None)}")
    assert found.steps >= STEPS
    assert found.observations > 50
    assert found.episodes > WIDTH
    assert found.disagreements == 0
    assert len(agent.margins) == found.observations, "the table asks the network once about each observation"


def test_one_wrong_entry_of_a_table_is_noticed() -> None:
    agent = load("knapsack/imitation-depth_first")
    table = Table.of(agent)
    play(agent, table, 2000, width=50)
    count, wrong = len(table), table.observations[[len(table) // 2]]
    table.insert(wrong, (table.actions(wrong) + 1) % agent.task.interface.action_count)
    found = play(agent, table, 2000, width=50)
    assert found.observations == count
    assert found.disagreements > 0


# Whole episodes


def start(task: Task, instances: Instances) -> tuple[Batch, np.ndarray]:
    """Return a batch of episodes that begin, and the step limit of each."""
    batch = room_for(task, instances.count, int(instances.sizes.max()))
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
