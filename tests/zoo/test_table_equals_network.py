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
from surpass.tasks.task import Instances, Limit, Request, Task
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


def ask_network(agent: NetworkAgent, observations: np.ndarray) -> np.ndarray:
    """Return the network's action for each observation, called on just these."""
    return agent.most_likely(observations)[0]


def draw_pool(task: Task) -> Instances:
    """Return instances of several sizes and every distribution, with room for the largest."""
    parts = [task.draw(Request(size=size, count=20, seed=3, data=data)) for size in SIZES for data in task.inputs.draw]

    def widen(arrays: list[np.ndarray]) -> np.ndarray:
        widest = max(array.shape[1] for array in arrays)
        return np.concatenate([np.pad(array, ((0, 0), (0, widest - array.shape[1]))) for array in arrays])

    sizes = np.concatenate([part.sizes for part in parts])
    return Instances(sizes, widen([part.items for part in parts]), widen([part.reals for part in parts]))


def look(task: Task, batch: Batch) -> np.ndarray:
    """Return the packed observation of each episode."""
    digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
    specialise(task).look(batch, digits)
    return task.interface.pack_digits(digits)


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
    kernels, pool, rows = specialise(task), draw_pool(task), task.interface.action_rows
    batch = allocate(task, width, max(SIZES))
    batch = grow_stack(batch, (stack_limit(max(SIZES)) + 2) * task.frame_size)
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
        differing += int((ask_network(agent, observations) != table.actions(observations)).sum())
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


class Ends(NamedTuple):
    """How episodes ended, for comparison."""

    steps: list[int]
    outcomes: list[int]
    items: list[list[int]]
    reals: list[list[float]]


def start(task: Task, instances: Instances) -> Batch:
    batch = allocate(task, instances.count, int(instances.sizes.max()))
    batch = grow_stack(batch, (stack_limit(int(instances.sizes.max())) + 2) * task.frame_size)
    specialise(task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch


def ends_of(batch: Batch) -> Ends:
    return Ends(batch.steps.tolist(), batch.outcomes.tolist(), batch.items.tolist(), batch.reals.tolist())


def run_by_network(agent: NetworkAgent, instances: Instances) -> Ends:
    """Step every episode to its end, with the network called on all of them at every step."""
    task, batch = agent.task, start(agent.task, instances)
    limits = Limit.parse(task.limit).steps(instances.sizes)
    while (batch.outcomes == Outcome.RUNNING).any():
        actions = ask_network(agent, look(task, batch))
        specialise(task).step(batch, actions, task.interface.action_rows[actions], limits)
    return ends_of(batch)


def run_by_table(agent: NetworkAgent, instances: Instances) -> Ends:
    """Run every episode in the engine's compiled loop, with a fresh table."""
    limits = Limit.parse(agent.task.limit).steps(instances.sizes)
    return ends_of(Player(Table.of(agent)).finish(start(agent.task, instances), limits))


@pytest.mark.parametrize("name", TABLE_IMITATORS)
def test_whole_episodes_by_table_end_as_those_by_the_network_at_every_step(name: str) -> None:
    agent = load(name)
    size = 40 if LONG else 10
    for data in list(agent.task.inputs.draw)[:2]:
        instances = agent.task.draw(Request(size=size, count=20, seed=9, data=data))
        expected, got = run_by_network(agent, instances), run_by_table(agent, instances)
        assert got == expected
        results = run(agent, instances)
        assert results.steps.tolist() == expected.steps
        assert results.solved.all()
        assert sum(expected.steps) > 0


@pytest.mark.parametrize("name", [name for name in TABLE_IMITATORS if name.startswith("sort-")])
def test_lists_sorted_by_table_and_by_network_are_the_sorted_lists(name: str) -> None:
    agent = load(name)
    instances = agent.task.draw(Request(size=7, count=20, seed=2, data="repeats"))
    for ends in (run_by_network(agent, instances), run_by_table(agent, instances)):
        assert [row[:7] for row in ends.items] == np.sort(instances.items[:, :7], axis=1).tolist()
