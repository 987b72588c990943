"""The compiled loops on small instances; `test_kernel_modes` runs this file interpreted and with bounds checks too."""

from __future__ import annotations

import os

import numba
import numpy as np
import pytest

from surpass import Action, Outcome
from surpass.agents.teachers import find_teacher
from surpass.engine.batch import FIRST_DEPTH, allocate, grow_stack
from surpass.engine.record import Episode
from surpass.engine.run import run
from surpass.engine.specialise import specialise
from surpass.machine.state import DEPTH, FIRST
from surpass.table import EMPTY, Table, find, put
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.lists import from_lists
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Limit, Request, Task
from surpass.tasks.teacher import Do, See, Teacher
from tests.reference import Compiled, check_agent, check_machine, random_actions, random_instances

TABLE_TASKS = (SORT_QUICK, SEARCH, KNAPSACK)
"""Without sort-bubble, whose kernels are all part of sort-quick: compiling takes most of the time of the modes."""

MODE = os.environ.get("SURPASS_TEST_MODE", "")
"""The mode in which `test_kernel_modes` means to run this file."""


@numba.njit
def read_behind_the_end(values: np.ndarray) -> int:
    return values[len(values)]


@pytest.mark.skipif(not MODE, reason="only a run by test_kernel_modes has a mode")
def test_this_run_has_the_mode_it_was_started_for() -> None:
    interpreted, checked = MODE == "interpreted", MODE == "checked"
    assert bool(numba.config.DISABLE_JIT) == interpreted
    assert bool(numba.config.BOUNDSCHECK) == checked
    assert hasattr(read_behind_the_end, "py_func") != interpreted
    if interpreted or checked:
        with pytest.raises(IndexError):
            read_behind_the_end(np.zeros(3, np.int64))


@pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_random_actions_do_what_the_reference_does(task: Task, size: int) -> None:
    random = np.random.default_rng(size)
    check_machine(task, random_instances(task, 10, size, random), random_actions(task, (10, 25), random))


@pytest.mark.parametrize("name", ["quick_sort", "hoare_sort", "binary_search", "depth_first"])
def test_running_a_teacher_does_what_the_reference_does(name: str) -> None:
    teacher = find_teacher(name)
    for size in (1, 2, 5):
        check_agent(teacher, random_instances(teacher.task, 4, size, np.random.default_rng(size)), most=60)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_the_full_view_is_sorted_by_swaps(size: int) -> None:
    results = run(find_teacher("selection_sort"), SORT_FULL.draw(Request(size=size, count=5)))
    assert results.reasons() == {"solved": 5}


@pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)
def test_empty_instances_end_at_once_and_show_nothing(task: Task) -> None:
    machine = Compiled(task, task.allocate(3, 0))
    assert (machine.batch.outcomes == Outcome.SOLVED).all()
    assert not machine.digits().any()


def test_a_reset_row_forgets_what_it_held() -> None:
    instances = SORT_QUICK.draw(Request(size=6, count=3))
    fresh, used = Compiled(SORT_QUICK, instances), Compiled(SORT_QUICK, instances)
    for action in (("FunctionCall", (1, 1, 2, 2, 1, 1)), ("Swap", (1, 2)), ("MoveVar", (3, 1))):
        used.step([action] * 3)
    used.kernels.reset(used.batch, *instances, np.arange(3))
    assert used.snapshots() == fresh.snapshots()


def test_only_the_named_rows_are_reset() -> None:
    instances = SORT_QUICK.draw(Request(size=6, count=3))
    machine = Compiled(SORT_QUICK, instances)
    machine.step([("MoveVar", (3, 1))] * 3)
    machine.kernels.reset(machine.batch, *instances.part(0, 1), np.array([1]))
    assert machine.batch.steps.tolist() == [1, 0, 1]
    assert machine.batch.items[1].tolist() == instances.items[0].tolist()
    assert machine.batch.registers[:, FIRST + 2].tolist() == [1, 0, 1]


def test_a_full_stack_waits_and_a_larger_one_still_holds_every_call() -> None:
    machine = Compiled(SORT_QUICK, from_lists(np.array([[3, 2, 1, 0]])))
    calls = [("FunctionCall", (1 + k % 2, 1, 3, 3, 1, 1 + k % 4)) for k in range(FIRST_DEPTH + 5)]
    expected = []
    for call in calls:
        expected.append(machine.snapshots()[0])
        machine.step([call])
        if machine.batch.outcomes[0] == Outcome.STACK_FULL:
            assert machine.batch.registers[0, DEPTH] == FIRST_DEPTH
            machine.batch = grow_stack(machine.batch, 2 * machine.batch.stack.shape[1])
            machine.batch.outcomes[0] = Outcome.RUNNING
            machine.step([call])
    assert machine.batch.registers[0, DEPTH] == len(calls)
    for before, call in zip(reversed(expected), reversed(calls), strict=True):
        machine.step([("Return", (2,))])
        after, receiver = machine.snapshots()[0], call[1][5] - 1
        assert after["depth"] == before["depth"]
        assert after["seen"][-1] == call
        kept = [k for k in range(4) if k != receiver]
        assert [after["variables"][k] for k in kept] == [before["variables"][k] for k in kept]


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_stepping_and_running_stop_at_the_same_limit(limit: int) -> None:
    teacher = find_teacher("hoare_sort")
    instances = SORT_QUICK.draw(Request(size=5, count=6, seed=2))
    machine, limits = Compiled(SORT_QUICK, instances), np.full(6, limit)
    while (machine.batch.outcomes == Outcome.RUNNING).any():
        actions = teacher.actions(SORT_QUICK.interface.pack_digits(machine.digits()))
        machine.kernels.step(machine.batch, actions, SORT_QUICK.interface.action_rows[actions], limits)
    results = run(teacher, instances, limit=Limit(limit, 0))
    assert results.steps.tolist() == machine.batch.steps.tolist()
    assert results.outcomes.tolist() == machine.batch.outcomes.tolist()


def test_a_table_finds_every_key_also_when_it_is_almost_full() -> None:
    observations = np.unique(np.random.default_rng(0).integers(0, 2**62, 63))
    keys, values = np.full(64, EMPTY), np.zeros(64, np.int64)
    put(keys, values, observations, np.arange(len(observations)))
    assert (keys == EMPTY).sum() == 64 - len(observations)
    put(keys, values, observations, np.arange(len(observations)) + 100)
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == {
        **{int(observation): k + 100 for k, observation in enumerate(observations)},
        EMPTY: 0,
    }
    assert [keys[find(keys, observation)] for observation in observations.tolist()] == observations.tolist()


class RandomTable:
    """An agent with a random action for each observation."""

    name = "agent:random"

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.seed = seed

    def actions(self, observations: np.ndarray) -> np.ndarray:
        return np.array([self.action(seen) for seen in observations.tolist()])

    def action(self, observation: int) -> int:
        random, interface = np.random.default_rng([self.seed, observation]), self.task.interface
        edges = [*interface.offsets, interface.action_count]
        instruction = random.integers(len(interface.instructions))
        return int(random.integers(edges[instruction], edges[instruction + 1]))


def steps_until_a_state_returns(agent: RandomTable, instance: Instances, most: int) -> int | None:
    """Return after how many steps an earlier state is there again, or None if the episode ends or takes too long."""
    episode = Episode(agent.task, instance, most)
    met: set[bytes] = set()
    while episode.is_running:
        if episode.digest in met:
            return len(met)
        met.add(episode.digest)
        action = int(agent.actions(np.array([episode.observe()]))[0])
        episode.step(action, agent.task.interface.action_rows[action])
    return None


@pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)
def test_a_loop_is_found_soon_and_only_where_a_state_returns(task: Task) -> None:
    most, kinds = 60, set()
    for seed in range(20):
        agent, instances = RandomTable(task, seed), random_instances(task, 3, 3, np.random.default_rng(seed))
        plain, watched = (run(agent, instances, limit=Limit(most, 0), find_loops=find) for find in (False, True))
        for k in range(instances.count):
            returns = steps_until_a_state_returns(agent, instances.part(k, k + 1), most)
            is_loop = watched.outcomes[k] == Outcome.LOOP
            kinds.add(bool(is_loop))
            if returns is None:
                assert watched.outcomes[k] == plain.outcomes[k]
                assert watched.steps[k] == plain.steps[k]
            else:
                assert is_loop or 3 * returns + 16 > most
            assert not is_loop or watched.steps[k] == most
    assert kinds == {False, True}


def test_what_grows_or_counts_without_end_is_no_loop() -> None:
    endless = Teacher("teacher:endless", SORT_QUICK, lambda _see, do: do.FunctionCall(1, 1, 2, 1, 2, 1), "")
    results = run(endless, from_lists(np.array([[1, 0]])), limit=Limit(5000, 0), find_loops=True)
    assert results.outcomes.tolist() == [Outcome.STACK_LIMIT]


def test_a_state_that_differs_on_the_stack_only_is_another_state() -> None:
    # Function 2 is entered from two places of function 1 with equal variables; only the stack tells them apart.
    def choose(see: See, do: Do) -> Action:
        if see("function = None"):
            return do.FunctionCall(1, 1, 1, 1, 1, 1)
        if see("function = 2"):
            return do.Return(1) if see.previous else do.MoveVar(1, -1)
        return do.SwapWithNext(1) if see.previous == do.FunctionCall(2, 1, 1, 1, 1, 2) else second(see, do)

    def second(see: See, do: Do) -> Action:
        return do.FunctionCall(2, 1, 1, 1, 1, 2) if see.previous else do.FunctionCall(2, 1, 1, 1, 1, 1)

    agent = Teacher("teacher:twice", SORT_QUICK, choose, "")
    assert run(agent, from_lists(np.array([[1, 0]])), find_loops=True).reasons() == {"solved": 1}


def test_a_table_grows_in_any_mode() -> None:
    table = Table.of(find_teacher("hoare_sort"))
    table.extend(np.arange(10))
    table.extend(np.arange(10, 2000))
    assert table.observations.tolist() == list(range(2000))
    assert table.actions(np.arange(2000)).tolist() == find_teacher("hoare_sort").actions(np.arange(2000)).tolist()


def test_a_fresh_batch_is_blank() -> None:
    batch = allocate(SORT_QUICK, 2, 5)
    assert not any(array.any() for array in batch)
    assert batch.stack.shape == (2, FIRST_DEPTH * SORT_QUICK.frame_size)


def test_instances_may_have_room_for_larger_ones_than_the_episodes() -> None:
    drawn = SORT_QUICK.draw(Request(size=3, count=2, seed=0))
    items = np.pad(drawn.items, ((0, 0), (0, 6)), constant_values=7)
    batch = allocate(SORT_QUICK, 2, 3)
    specialise(SORT_QUICK).reset(batch, drawn.sizes, items, drawn.reals, np.arange(2))
    assert np.array_equal(batch.items[:, :3], drawn.items[:, :3])
