"""Sampling: the compiled networks, the rows of the plan, and what is recorded."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch

from surpass.agents.networks.structured import HIDDEN, StructuredPolicy
from surpass.agents.teachers import find_teacher
from surpass.engine.groups import group_features
from surpass.engine.specialise import specialise
from surpass.learning.policy_gradient import decisions
from surpass.learning.policy_gradient import sampler as sampling
from surpass.learning.policy_gradient.arrays import DecisionPlan, Record, Tree
from surpass.learning.policy_gradient.forward import HIDDEN_LAYERS, WIDTH, fill_row, new_workspace, write_tables
from surpass.learning.policy_gradient.gradient import parameter_rows
from surpass.learning.policy_gradient.sampler import InstanceSource, Sampler
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.sources import Sources
from surpass.machine.features import Feature, flag
from surpass.machine.instructions import Instruction, binary, integer
from surpass.machine.interface import Interface
from surpass.machine.state import Outcome
from surpass.tasks.registry import find_task
from surpass.tasks.teacher import Teacher

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


def new_sampler(name: str, *, episodes: int = 9, steps: int = 12, size: int = 9, limit: str = "1000") -> Sampler:
    task = find_task(name)
    queries = task.inputs.queries[0] if task.inputs.queries else "mixed"
    return Sampler(
        task,
        InstanceSource(size, size, Sources(task, "uniform", queries, 5), limit),
        episodes=episodes,
        steps=steps,
        seed=5,
    )


def new_network(name: str) -> StructuredPolicy:
    """Return a network whose choices are far from even."""
    network = StructuredPolicy(find_task(name).interface, seed=3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 1.7
    return network


class Decisions(NamedTuple):
    """Rows of a plan: observations, slots and the operands chosen before, with the row of the choice of instruction."""

    observations: npt.NDArray[np.int64]
    owners: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    prefixes: npt.NDArray[np.int64]


def decisions_of(sampler: Sampler) -> Decisions:
    """Return the decisions that came up in a sampler's last batch, and those followed since."""
    plan, tree = sampler.plan, sampler.tree
    nodes = plan.nodes[: sampler.count]
    return Decisions(
        plan.observations[: sampler.count], plan.owners[: sampler.count], tree.slots[nodes], tree.prefixes[nodes]
    )


def differences(cumulative: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the probabilities of cumulative ones."""
    return np.diff(np.minimum(cumulative, 1.0), prepend=0.0)


def test_the_compiled_networks_have_the_shape_of_the_others() -> None:
    assert HIDDEN == (WIDTH,) * HIDDEN_LAYERS


@pytest.mark.parametrize("name", TEACHERS)
def test_every_row_has_the_probabilities_of_the_network(name: str) -> None:
    sampler, network = new_sampler(name), new_network(name)
    sampler.sample(parameter_rows(network))
    known = decisions_of(sampler)
    assert len(known.slots) > 10
    slots = sampler.task.interface.slots
    for row in range(len(known.slots)):
        slot = int(known.slots[row])
        prefix = torch.from_numpy(known.prefixes[row : row + 1, : max(0, slots[slot].operand)])
        options = network.log_probabilities(slot, network.encode(known.observations[row : row + 1]), prefix)
        found = differences(sampler.plan.cumulative[row])[: slots[slot].choices]
        np.testing.assert_allclose(found, options.exp()[0].detach().numpy(), atol=2e-6)


def fill(network: StructuredPolicy, tree: Tree, observation: int, node: int) -> DecisionPlan:
    """Return a plan whose first row is that of a node and an observation."""
    interface, plan = network.interface, decisions.new_plan(8, int(tree.choice_counts.max()) + 2)
    parameters = parameter_rows(network)
    room = np.zeros((len(tree.parameter_starts) * tree.table_size, WIDTH), np.float32)
    parameters = np.concatenate([parameters, room])
    write_tables(tree, parameters)
    groups = tuple(
        observation // interface.strides[group[0]] % math.prod(interface.radices[k] for k in group)
        for group in group_features(interface)
    )
    fill_row(tree, parameters, groups, node, new_workspace(tree), plan, 0)
    return plan


def test_numbers_and_many_choices_are_computed_like_the_network() -> None:
    network, tree = StructuredPolicy(WIDE, seed=1), grow_tree(WIDE)
    assert [list(group) for group in group_features(WIDE)] == [[0, 1, 2], [3], [4]]
    for observation in range(0, WIDE.observation_count, 37):
        inputs = network.encode(np.array([observation]))
        for node in (0, 1, 5, 70, tree.node_count - 1):
            plan = fill(network, tree, observation, node)
            slot = int(tree.slots[node])
            prefix = torch.from_numpy(tree.prefixes[node : node + 1, : max(0, WIDE.slots[slot].operand)])
            expected = network.log_probabilities(slot, inputs, prefix)[0].detach().numpy()
            np.testing.assert_allclose(differences(plan.cumulative[0])[: len(expected)], np.exp(expected), atol=2e-6)
            np.testing.assert_allclose(plan.options[0, : len(expected)], expected, atol=2e-5)


def test_a_choice_without_probability_is_never_last() -> None:
    interface = Interface([flag("on")], [Instruction("A"), Instruction("B"), Instruction("C")])
    network, tree = StructuredPolicy(interface), grow_tree(interface)
    with torch.no_grad():
        network.slots[0][-1].bias += torch.tensor([0.0, 3.0, -2000.0])  # type: ignore[index, union-attr]
    found = fill(network, tree, 1, tree.node_count - 1).cumulative
    assert found[0, 0] < 1
    assert found[0, 1:].tolist() == [2.0] * 4


@pytest.mark.parametrize("name", TEACHERS)
def test_the_plan_does_not_depend_on_the_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "ROWS", 8)
    network, met = new_network(name), []
    for threads in ("1", "2"):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        sampler = new_sampler(name, size=4, steps=40, limit="8")  # instances run out on the way
        records = [sampler.sample(parameter_rows(network)) for _ in range(2)]
        plan, count = sampler.plan, sampler.count
        met.append((*records[1], *(array[:count] for array in plan[3:])))
    for one, two in zip(*met, strict=True):
        np.testing.assert_array_equal(one, two)


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
    sampler.sample(parameter_rows(network))
    before = sampling.Batch(*(array.copy() for array in sampler.batch))
    record = sampler.sample(parameter_rows(network))
    whole = (record.used == 0) & (before.outcomes == Outcome.RUNNING)  # one episode from the first step to the last
    assert whole.any()
    known = decisions_of(sampler)
    decisions = np.column_stack([known.observations, known.slots, known.prefixes])
    assert len(np.unique(decisions, axis=0)) == len(decisions), "a decision has two rows"
    found = seen_again(sampler, record, before)
    np.testing.assert_array_equal(known.observations[record.rows][whole], found[whole])


@pytest.mark.parametrize("name", TEACHERS)
def test_a_plan_that_grows_on_the_way_makes_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = new_network(name)
    wide = new_sampler(name)
    expected = [wide.sample(parameter_rows(network)) for _ in range(2)][1]
    monkeypatch.setattr(decisions, "ROWS", 8)
    tight = new_sampler(name)
    record = [tight.sample(parameter_rows(network)) for _ in range(2)][1]
    for name_, array, other in zip(Record._fields, record, expected, strict=True):
        np.testing.assert_array_equal(array, other, err_msg=name_)
    np.testing.assert_array_equal(decisions_of(tight).observations, decisions_of(wide).observations)
    np.testing.assert_array_equal(decisions_of(tight).prefixes, decisions_of(wide).prefixes)


@pytest.mark.parametrize("name", TEACHERS)
def test_followed_actions_are_told_choice_by_choice(name: str) -> None:
    sampler, teacher = new_sampler(name), find_teacher(TEACHERS[name])
    assert isinstance(teacher, Teacher)
    sampler.sample(parameter_rows(new_network(name)))
    met = sampler.count
    first = sampler.first
    assert first.tolist() == np.flatnonzero(decisions_of(sampler).slots == 0).tolist()
    actions = teacher.actions(sampler.plan.observations[first])
    first, actions = first[actions >= 0], actions[actions >= 0]
    told = sampler.follow(first, actions)
    known = decisions_of(sampler)
    assert len(told) == len(known.slots) >= met
    rows = {
        (int(owner), int(slot), tuple(prefix)): row
        for row, (owner, slot, prefix) in enumerate(
            zip(known.owners, known.slots, known.prefixes.tolist(), strict=True)
        )
    }
    passed = set()
    for owner, action in zip(first.tolist(), actions.tolist(), strict=True):
        for decision in sampler.task.interface.decisions(action):
            prefix = (*decision.prefix, *[0] * (known.prefixes.shape[1] - len(decision.prefix)))
            row = rows[owner, decision.slot, prefix]
            assert told[row] == decision.choice
            passed.add(row)
    assert set(np.flatnonzero(told >= 0).tolist()) == passed


def test_parameters_that_are_no_numbers_still_give_choices() -> None:
    sampler, network = new_sampler("knapsack"), new_network("knapsack")
    record = sampler.sample(np.full_like(parameter_rows(network), np.nan))
    assert (record.filled == sampler.steps).all()
    assert (record.actions == 0).all()


def test_each_size_takes_several_distributions_in_turn() -> None:
    task = find_task("sort-bubble")
    source = InstanceSource(4, 5, Sources(task, "uniform,all-equal", "mixed", 5), "1000")
    sampler = Sampler(task, source, episodes=40, steps=3, seed=5)
    for batch in range(4):
        sampler.batches = batch
        pool = sampler._draw()
        for k, size in enumerate((4, 5)):
            lists = pool.items[pool.sizes == size][:, :size]
            assert len(lists)
            assert (np.ptp(lists, axis=1) == 0).all() == bool((k + batch) % 2)
