"""Sampling: the compiled networks, the rows of the plan, and what is recorded."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from surpass.agents.networks.structured import StructuredPolicy
from surpass.engine.groups import group_features
from surpass.engine.specialise import specialise
from surpass.learning.policy_gradient import sampler as sampling
from surpass.learning.policy_gradient.arrays import Record, Tree
from surpass.learning.policy_gradient.forward import WIDTH, fill_row, new_workspace
from surpass.learning.policy_gradient.kernels import tabulate
from surpass.learning.policy_gradient.losses import merge_steps, parameter_rows
from surpass.learning.policy_gradient.sampler import Sampled, Sampler
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.sources import Sources
from surpass.machine.features import Feature, flag
from surpass.machine.instructions import Instruction, binary, integer
from surpass.machine.interface import NO_ACTION, Interface
from surpass.machine.state import Outcome
from surpass.tasks.registry import find_task
from surpass.tasks.task import Limit
from tests.networks.plain import decisions_of

ALL = {
    "sort-bubble": "insertion_sort",
    "sort-quick": "quick_sort",
    "search": "binary_search",
    "knapsack": "depth_first",
}
TEACHERS = {"knapsack": "depth_first"} if os.environ.get("SURPASS_TEST_MODE") else ALL
"""The tasks with a teacher each; in a mode of `test_kernel_modes` one that compiles fast and meets little."""

WIDE = Interface(
    [
        Feature("level", (-1.5, 0.0, 2.0), encoding="number"),
        flag("on"),
        Feature("kind", tuple("abc")),
        Feature("many", tuple(range(40))),
        flag("off"),
    ],
    [Instruction("A", integer("x", tuple(range(70))), binary("y", (0, 1))), Instruction("B")],
)
"""Numbers as inputs, a feature with more values than a group may have, and more choices than a hidden layer is wide."""


def new_sampler(name: str, *, episodes: int = 9, steps: int = 12, limit: str = "1000") -> Sampler:
    task = find_task(name)
    queries = task.inputs.queries[0] if task.inputs.queries else "mixed"
    sources = Sources(task, "uniform", queries, 5)
    return Sampler(task, sources, Limit.parse(limit), largest=9, episodes=episodes, steps=steps, seed=5)


def new_network(name: str) -> StructuredPolicy:
    """Return a network whose choices are far from even."""
    network = StructuredPolicy(find_task(name).interface, seed=3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 1.7
    return network


def fill(network: StructuredPolicy, tree: Tree, observation: int, node: int) -> npt.NDArray[np.float64]:
    """Return the cumulative probabilities of a node's choices for an observation."""
    interface, cumulative = network.interface, np.zeros((1, int(tree.choice_counts.max()) + 2))
    room = np.zeros((len(tree.choice_counts) * tree.table_size, WIDTH), np.float32)
    parameters = np.concatenate([parameter_rows(network), room])
    tabulate(tree, parameters)
    groups = tuple(
        observation // interface.strides[group[0]] % math.prod(interface.radices[k] for k in group)
        for group in group_features(interface)
    )
    fill_row(tree, parameters, groups, node, new_workspace(tree), cumulative, 0)
    return cumulative[0]


def prefixes(interface: Interface) -> list[tuple[int, tuple[int, ...]]]:
    """Return the slot of each node of an interface's tree, and the operands chosen before it."""
    found = [
        (decision.slot, decision.prefix)
        for action in range(interface.action_count)
        for decision in decisions_of(interface, action)
    ]
    by_slot = sorted({one for one in found if one[0]})
    return [*by_slot, (0, ())]


@pytest.mark.parametrize("name", [*TEACHERS, "wide"])
def test_the_compiled_networks_give_the_probabilities_of_the_others(name: str) -> None:
    interface = WIDE if name == "wide" else find_task(name).interface
    network, tree = StructuredPolicy(interface, seed=1), grow_tree(interface)
    nodes = prefixes(interface)
    assert tree.slots.tolist() == [slot for slot, _ in nodes]
    random = np.random.default_rng(0)
    for observation in random.integers(interface.observation_count, size=5).tolist():
        inputs = network.encode(np.array([observation]))
        for node in {*random.integers(len(nodes), size=12).tolist(), len(nodes) - 1}:
            slot, prefix = nodes[node]
            expected = network.log_probabilities(slot, inputs, torch.tensor([prefix], dtype=torch.int64))[0].exp()
            cumulative = np.minimum(fill(network, tree, observation, node), 1.0)
            found = np.diff(cumulative, prepend=0.0)[: len(expected)]
            np.testing.assert_allclose(found, expected.detach().numpy(), atol=2e-6)


def test_a_choice_without_probability_is_never_last() -> None:
    interface = Interface([flag("on")], [Instruction("A"), Instruction("B"), Instruction("C")])
    network, tree = StructuredPolicy(interface), grow_tree(interface)
    with torch.no_grad():
        network.slots[0][-1].bias += torch.tensor([0.0, 3.0, -2000.0])  # type: ignore[index, union-attr]
    found = fill(network, tree, 1, len(tree.slots) - 1)
    assert found[0] < 1
    assert found[1:].tolist() == [2.0] * 4


def sample_twice(name: str, **settings: Any) -> Sampled:
    sampler, network = new_sampler(name, **settings), new_network(name)
    return [sampler.sample(parameter_rows(network), (4, 9)) for _ in range(2)][1]


def same(one: Sampled, other: Sampled) -> None:
    """Raise AssertionError unless two batches hold the same steps."""
    rows = one.record._replace(rows=other.record.rows)  # rows depend on the plan, which changes nothing else
    for array, wanted in zip((*rows, *one[:2], one.last), (*other.record, *other[:2], other.last), strict=True):
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("name", TEACHERS)
def test_neither_threads_nor_a_plan_that_grows_make_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads, rows in (("1", 1024), ("2", 8), ("5", 8)):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        monkeypatch.setattr(sampling, "ROWS", rows)
        found.append(sample_twice(name, steps=40, limit="8"))  # instances run out on the way
    same(found[0], found[1])
    same(found[0], found[2])


def seen_again(sampler: Sampler, record: Record, batch: sampling.Batch) -> npt.NDArray[np.int64]:
    """Return the observations [B, T] that the recorded actions lead through from a batch, one step at a time."""
    interface, kernels = sampler.task.interface, specialise(sampler.task)
    digits = np.zeros((sampler.episodes, len(interface.features)), np.int64)
    limits = np.full(sampler.episodes, 10**6)
    found = np.zeros_like(record.rows)
    for t in range(record.rows.shape[1]):
        kernels.look(batch, digits)
        found[:, t] = interface.pack_digits(digits)
        actions = np.ascontiguousarray(record.actions[:, t])
        kernels.step(batch, actions, interface.action_rows[actions], limits)
    return found


@pytest.mark.parametrize("name", TEACHERS)
def test_the_record_is_what_happened(name: str) -> None:
    sampler, network = new_sampler(name, episodes=40, steps=3), new_network(name)
    sampler.sample(parameter_rows(network), (9, 9))
    before = sampling.Batch(*(array.copy() for array in sampler.batch))
    batch = sampler.sample(parameter_rows(network), (9, 9))
    whole = (batch.record.used == 0) & (before.outcomes == Outcome.RUNNING)  # one episode from first step to last
    assert whole.any()
    assert len(np.unique(batch.observations)) == len(batch.observations)
    found = seen_again(sampler, batch.record, before)
    np.testing.assert_array_equal(batch.observations[batch.which][whole], found[whole])


def test_equal_steps_are_merged_with_the_answers_of_the_teacher() -> None:
    owners, actions = np.array([[0, 1, 1], [0, 1, 0]]), np.array([[2, 3, 3], [2, 0, 1]])
    advantages = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = merge_steps(owners, actions, advantages, 4, np.array([1, NO_ACTION]))
    told = [tuple(row) for row in zip(*(column.tolist() for column in found), strict=True)]
    taken = [(0, 1, 6.0, 1.0, 0.0), (0, 2, 5.0, 2.0, 0.0), (1, 0, 5.0, 1.0, 0.0), (1, 3, 5.0, 2.0, 0.0)]
    assert told == [*taken, (0, 1, 0.0, 0.0, 3.0)]


def test_parameters_that_are_not_numbers_still_give_choices() -> None:
    sampler, network = new_sampler("knapsack"), new_network("knapsack")
    record = sampler.sample(np.full_like(parameter_rows(network), np.nan), (9, 9)).record
    assert (record.filled == sampler.steps).all()
    assert (record.actions == 0).all()
