"""Every planted fault is caught, with the smallest instance that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surpass import kernel
from surpass.agents import find_agent
from surpass.agents.teachers import find_teacher
from surpass.checks.certificate import CounterExample
from surpass.checks.check import check
from surpass.engine.record import record, replay
from surpass.engine.run import run
from surpass.full_view.agent import FullViewTeacher
from surpass.machine.instructions import Action
from surpass.machine.state import SCORE, SIZE, State
from surpass.table import Agent
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.knapsack import KNAPSACK, VALUE, R, pop, put
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Limit, Task
from surpass.tasks.teacher import Do, See, Teacher
from surpass.tasks.user_file import load_task_file
from tests.kernels import with_kernels

NOTED = Path(__file__).parent / "noted_sorting.py"
Choose = Callable[[See, Do], Action | None]


def planted(task: Task, choose: Choose) -> Teacher:
    return Teacher(f"teacher:{choose.__name__}", task, choose, "")


def choice_of(name: str) -> Choose:
    teacher = find_teacher(name)
    assert isinstance(teacher, Teacher)
    return teacher.choose


def noted(name: str) -> Agent:
    load_task_file(NOTED)
    agent = find_agent(f"teacher:{name}")
    assert isinstance(agent, Agent)
    return agent


# sort-bubble


def swapped_comparison(see: See, do: Do) -> Action:
    if see("v1 < v2"):
        return do.SwapWithNext(1) if see("A[v1] < A[v1+1]") else do.MoveVar(1, +1)
    return do.MoveVar(2, -1) if see("v1 = v2") else do.AssignVar(1, 3)


def dropped_rule(see: See, do: Do) -> Action | None:
    action = choice_of("insertion_sort")(see, do)
    return None if action == do.MoveVar(2, -1) else action


def right_without_ties(see: See, do: Do) -> Action | None:
    if see("v1 > v2") and see("A[v2] = A[v2+1]"):
        return do.SwapWithNext(2)
    return choice_of("insertion_sort")(see, do)


# sort-quick


def endless_calls(see: See, do: Do) -> Action:
    return do.FunctionCall(1, 1, 2, 1, 2, 1)


def partition_off_by_one(see: See, do: Do) -> Action | None:
    action = choice_of("quick_sort")(see, do)
    return do.MoveVar(1, -1) if see("function = 2") and action == do.Swap(1, 4) else action


# search


def misses_the_last(see: See, do: Do) -> Action:
    if see("q = A[v1]") and not see("v1 = high"):
        return do.Found(1)
    return do.NotFound() if see("q < A[v1]") or see("v1 = high") else do.MoveVar(1, +1)


def denies_the_second_of_three(see: See, do: Do) -> Action | None:
    # Says NotFound right at the start for every query between the first and the last value.
    if see("v1 = low") and see("q > A[v1]") and see("q < A[v3]"):
        return do.NotFound()
    return choice_of("linear_search")(see, do)


def finds_in_one_gap(see: See, do: Do) -> Action | None:
    # Takes the gap before the last value for that value.
    action = choice_of("linear_search")(see, do)
    return do.Found(1) if action == do.NotFound() and see("v1 = v3") and see("q < A[v1]") else action


def loops_in_the_last_gap(see: See, do: Do) -> Action | None:
    return do.MoveVar(1, +1) if see("q > A[v3]") else choice_of("linear_search")(see, do)


# knapsack


def never_returns(see: See, do: Do) -> Action | None:
    action = choice_of("depth_first")(see, do)
    return do.MoveVar(-1) if see("i = 0") and action == do.Return() else action


def forgets_what_to_do(see: See, do: Do) -> Action | None:
    return None if see("i = n") else choice_of("depth_first")(see, do)


def smallest_by_running_each(agent: Agent, up_to: int, limit: str | None = None) -> str:
    """Return the first enumerated instance that is not solved, run one by one without looking for loops."""
    task = agent.task
    for size in range(up_to + 1):
        for batch in enumeration_of(task).instances(size):
            for k in range(batch.count):
                one = batch.part(k, k + 1)
                if not run(agent, one, limit=Limit.parse(limit) if limit else None, threads=1).solved[0]:
                    return task.write_instance(one)
    raise AssertionError("no instance fails")


def fail(agent: Agent, **settings: object) -> CounterExample:
    """Return the failure that a check must find; it must replay."""
    certificate = check(agent, **settings)  # type: ignore[arg-type]
    assert not certificate.passed
    failure = certificate.counter_example
    assert failure is not None
    limit = Limit.parse(failure.limit) if failure.limit else None
    trace = record(agent, failure.instance, limit=limit)
    replay(agent.task, trace)
    if failure.trace is not None:
        assert trace == failure.trace
    return failure


FAULTS = [
    (SORT_BUBBLE, swapped_comparison, "1,0", "loop", "the whole state recurs"),
    (SORT_BUBBLE, dropped_rule, "1,1,0", "no action", "it has no action for an observation: v1 > v2"),
    (SORT_BUBBLE, right_without_ties, "1,1,0", "loop", "the whole state recurs"),
    (SORT_QUICK, endless_calls, "1,0", "stack limit", "it opens more calls"),
    (SORT_QUICK, partition_off_by_one, "1,0", "loop", "the whole state recurs"),
    (SEARCH, misses_the_last, "1:1", "wrong answer", "the answer is wrong"),
    (SEARCH, denies_the_second_of_three, "1,3,5:3", "wrong answer", ""),
    (SEARCH, finds_in_one_gap, "1:0", "wrong answer", ""),
    (SEARCH, loops_in_the_last_gap, "1:2", "loop", "the whole state recurs"),
    (KNAPSACK, forgets_what_to_do, "0.0:0.0:0.0", "no action", "it has no action for an observation: "),
]


@pytest.mark.parametrize(
    ("task", "choose", "instance", "outcome", "why"), FAULTS, ids=[choose.__name__ for _, choose, *_ in FAULTS]
)
def test_a_fault_is_caught_with_the_smallest_instance(
    task: Task, choose: Choose, instance: str, outcome: str, why: str
) -> None:
    agent = planted(task, choose)
    failure = fail(agent)
    assert (failure.instance, failure.outcome) == (instance, outcome)
    assert failure.instance == smallest_by_running_each(agent, 3)
    assert failure.why.startswith(why)
    assert failure.shrunk_from is None
    assert failure.trace is not None
    if outcome == "stack limit":
        assert (failure.steps, failure.limit is None) == (1005, False)


def test_too_many_steps_are_told_from_a_loop() -> None:
    teacher = find_teacher("insertion_sort")
    assert isinstance(teacher, Teacher)
    failure = fail(teacher, limit="2n")
    assert (failure.instance, failure.outcome, failure.limit) == ("1,1,0", "step limit", "2n")
    assert failure.instance == smallest_by_running_each(teacher, 3, "2n")
    steps = len(record(teacher, "1,1,0").steps)
    assert failure.why == f"it takes {steps} steps, but the limit is 6"


# Faults that show on few lists only


def test_a_sound_agent_passes_beside_them() -> None:
    assert check(noted("sound"), up_to=7, sizes=[21, 30], instances=5, effort=500).passed


@pytest.mark.parametrize(
    ("name", "instance", "steps"), [("stuck_on_one_of_seven", "3,0,6,1,5,2,4", 2), ("stuck_on_two", "1,0", 3)]
)
def test_a_loop_on_few_lists_is_found(name: str, instance: str, steps: int) -> None:
    failure = fail(noted(name))
    assert (failure.instance, failure.outcome, failure.steps) == (instance, "loop", steps)


def test_a_fault_on_large_lists_only_is_drawn_and_shrunk_to_the_smallest() -> None:
    failure = fail(noted("stuck_on_large"), up_to=5, sizes=[10, 20, 60], instances=5)
    assert failure.shrunk_from == 60
    assert failure.data == "uniform"
    assert failure.instance == ",".join(["0"] * 19 + ["1", "0"])
    assert failure.outcome == "loop"


# Budgets


def test_a_knapsack_that_never_returns_is_noted_and_fails_where_runs_must_end() -> None:
    agent = planted(KNAPSACK, never_returns)
    certificate = check(agent, up_to=2, instances=0, effort=0)
    assert certificate.passed
    assert certificate.unending is not None
    assert certificate.unending.first == "0.0:0.0:0.0"
    assert certificate.unending.outcome == "loop"
    assert certificate.unending.instances == 18 + 243
    failure = fail(agent, must_end=True)
    assert (failure.instance, failure.outcome) == ("0.0:0.0:0.0", "loop")


def test_a_knapsack_that_returns_passes_where_runs_must_end() -> None:
    certificate = check(find_teacher("depth_first"), up_to=2, instances=0, must_end=True)
    assert certificate.passed
    assert certificate.unending is None


# A task whose own kernel is wrong


@kernel
def claim(state: State, i: int, j: int) -> int:
    """Claim at the first step that the list is sorted."""
    return 1


@kernel
def claim_of_one(state: State, i: int) -> int:
    """Claim, as an instruction with one operand."""
    return claim(state, i, i)


@kernel
def put_anything(state: State) -> int:
    """Put as the knapsack does, but keep heavy packings too."""
    outcome = put(state)
    size, reals = state.registers[SIZE], state.reals
    if reals[VALUE] > reals[SCORE]:
        reals[SCORE] = reals[VALUE]
        for k in range(size):
            state.items[size + k] = state.items[k]
    return outcome


@kernel
def forget(state: State, score: float) -> None:
    """Take back, in place, a best packing with the second item."""
    size = state.registers[SIZE]
    if state.registers[R.i] == 1 and state.reals[SCORE] > score:
        state.reals[SCORE] = score
        state.items[2 * size - 1] = 0
        state.items[size] = score > 0


@kernel
def put_and_forget(state: State) -> int:
    """Put as the knapsack does, but keep no packing of the second item."""
    score = state.reals[SCORE]
    outcome = put(state)
    forget(state, score)
    return outcome


@kernel
def pop_and_forget(state: State) -> int:
    """Pop as the knapsack does, but keep no packing of the second item."""
    score = state.reals[SCORE]
    outcome = pop(state)
    forget(state, score)
    return outcome


@pytest.mark.parametrize(
    ("task", "teacher", "kernels", "instance"),
    [
        (SORT_BUBBLE, "insertion_sort", {"SwapWithNext": claim_of_one, "MoveVar": claim, "AssignVar": claim}, "1,0"),
        (KNAPSACK, "depth_first", {"Put": put_anything}, "1.0:1.0:0.0"),
        (KNAPSACK, "depth_first", {"Put": put_and_forget, "Pop": pop_and_forget}, ""),
    ],
    ids=["a claim that the list belies", "a packing that is too heavy", "a packing that is not kept"],
)
def test_a_wrong_kernel_is_caught(task: Task, teacher: str, kernels: dict[str, Any], instance: str) -> None:
    failure = fail(Teacher("teacher:wrong", with_kernels(task, "wrong", **kernels), choice_of(teacher), ""))
    assert failure.outcome == "wrong answer"
    assert failure.size == 2 if not instance else failure.instance == instance
    assert (failure.limit is not None) == (not instance), "what is not kept shows at its own budget"
    assert task is KNAPSACK or "the final state is wrong" in failure.why


# A full view


def test_a_full_view_that_goes_round_is_caught_with_the_smallest_list() -> None:
    def swap_the_ends(lists: np.ndarray) -> np.ndarray:
        return np.tile([0, lists.shape[1] - 1], (len(lists), 1))

    failure = fail(FullViewTeacher("teacher:ends", SORT_FULL, swap_the_ends, ""))  # type: ignore[arg-type]
    assert (failure.instance, failure.outcome) == ("0,1,0", "loop")
