"""The machine does exactly what DESIGN.md says, by comparison with a second one in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass import Outcome
from surpass.machine.state import FIRST
from surpass.tasks.knapsack import KNAPSACK, WEIGHTS
from surpass.tasks.lists import from_lists
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Task
from tests import reference
from tests.reference import Compiled, check_machine, random_actions, random_instances

TABLE_TASKS = (SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK)


def one_list(*values: int) -> Instances:
    return from_lists(np.array([values], np.int64))


def one_search(query: int, *values: int) -> Instances:
    instances = SEARCH.allocate(1, len(values))
    instances.items[0] = [*values, query]
    return instances


def one_knapsack(weights: list[float], values: list[float], capacity: float) -> Instances:
    size = len(weights)
    instances = KNAPSACK.allocate(1, size)
    instances.reals[0, 1] = capacity
    instances.reals[0, WEIGHTS : WEIGHTS + 2 * size] = [*weights, *values]
    return instances


def play(task: Task, instances: Instances, *actions: str) -> Compiled:
    """Execute written actions on one instance, compared with the reference at every step."""
    sequence = [task.interface.actions[task.interface.parse_action(text)] for text in actions]
    check_machine(task, instances, [sequence])
    machine = Compiled(task, instances)
    for action in sequence:
        machine.step([action])
    return machine


def variables(machine: Compiled) -> list[int]:
    return machine.batch.registers[0, FIRST : FIRST + 4].tolist()


def outcome(machine: Compiled) -> Outcome:
    return Outcome(int(machine.batch.outcomes[0]))


def previous(machine: Compiled) -> Any:
    return machine.snapshots()[0]["seen"][-1]


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)
def test_random_actions_do_what_the_reference_does(task: Task, size: int) -> None:
    random = np.random.default_rng([size, 1])
    instances = random_instances(task, 30, size, random)
    check_machine(task, instances, random_actions(task, (30, 40), random))


@st.composite
def written_episodes(draw: st.DrawFn, task: Task) -> tuple[Instances, list[Any]]:
    small = st.integers(0, 3)
    values = draw(st.lists(small, min_size=1, max_size=6))
    if task is KNAPSACK:
        worth = draw(st.lists(small, min_size=len(values), max_size=len(values)))
        instances = one_knapsack([v / 4 for v in values], [v / 4 for v in worth], draw(st.integers(0, 8)) / 4)
    elif task is SEARCH:
        instances = one_search(draw(st.integers(-1, 4)), *sorted(values))
    else:
        instances = one_list(*values)
    instruction = st.sampled_from(task.interface.instructions)
    action = instruction.flatmap(
        lambda i: st.tuples(*(st.sampled_from(o.values) for o in i.operands)).map(lambda chosen: (i.name, chosen))
    )
    return instances, draw(st.lists(action, min_size=1, max_size=12))


@pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)
def test_no_short_episode_differs_from_the_reference(task: Task) -> None:
    @settings(max_examples=150)
    @given(written_episodes(task))
    def check(episode: tuple[Instances, list[Any]]) -> None:
        instances, actions = episode
        check_machine(task, instances, [actions])

    check()


# The comparison itself is shown machines that are wrong in one rule each.


class ClampsNothing(reference.SortMachine):
    def MoveVar(self, i: int, direction: int) -> None:
        self.v[i] = (self.v[i] + direction) % len(self.A)


class SwapsAround(reference.SortMachine):
    def SwapWithNext(self, i: int) -> None:
        self.exchange(self.v[i], (self.v[i] + 1) % len(self.A))


class NoticesOnlyStrictOrder(reference.SortMachine):
    def end_if_sorted(self) -> None:
        if all(a < b for a, b in zip(self.A, self.A[1:], strict=False)):
            self.outcome = "solved"


class FirstArgumentWins(reference.QuickMachine):
    def FunctionCall(self, function: int, l1: int, l2: int, o1: int, o2: int, r1: int) -> None:
        super().FunctionCall(function, l2, l1, o2, o1, r1)


class SecondArgumentSeesTheFirst(reference.QuickMachine):
    def FunctionCall(self, function: int, l1: int, l2: int, o1: int, o2: int, r1: int) -> None:
        super().FunctionCall(function, l1, l2, o1, o2, r1)
        self.v[l2] = self.v[o2]


class ReturnsWithoutPrevious(reference.QuickMachine):
    def Return(self, l1: int) -> None:
        super().Return(l1)
        self.previous = None


class ReturnsOuterValue(reference.QuickMachine):
    def Return(self, l1: int) -> None:
        if self.stack:
            self.v[l1] = self.stack[-1]["v"][l1]
        super().Return(l1)


class ForgetsLocals(reference.QuickMachine):
    def FunctionCall(self, function: int, l1: int, l2: int, o1: int, o2: int, r1: int) -> None:
        super().FunctionCall(function, l1, l2, o1, o2, r1)
        for k in {1, 2, 3, 4} - {l1, l2}:
            self.v[k] = 0


class StartsLikeSorting(reference.SearchMachine):
    def __init__(self, values: list[int]) -> None:
        super().__init__(values)
        self.v = {1: self.low, 2: self.high, 3: self.low, 4: self.high}


class RoundsUp(reference.SearchMachine):
    def AssignMid(self, i: int, j: int, k: int) -> None:
        self.v[i] = (self.v[j] + self.v[k] + 1) // 2


class RestoresTheIndex(reference.KnapsackMachine):
    def Knapsack(self) -> None:
        super().Knapsack()
        self.stack[-1]["i"] = self.i

    def Return(self) -> None:
        if self.stack:
            self.i = self.stack[-1]["i"]
        super().Return()


class KeepsTooHeavyLoads(reference.KnapsackMachine):
    def keep_the_best(self) -> None:
        if self.total(self.values, self.solution) > self.total(self.values, self.best_solution):
            self.best_solution = set(self.solution)


class CountsTheTakenItemAsRest(reference.KnapsackMachine):
    def amounts(self) -> dict[str, Any]:
        found = super().amounts()
        return {**found, "v_rest": self.total(self.values, range(self.i, self.n))}


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        (SORT_BUBBLE, ClampsNothing),
        (SORT_BUBBLE, SwapsAround),
        (SORT_BUBBLE, NoticesOnlyStrictOrder),
        (SORT_QUICK, FirstArgumentWins),
        (SORT_QUICK, SecondArgumentSeesTheFirst),
        (SORT_QUICK, ReturnsWithoutPrevious),
        (SORT_QUICK, ReturnsOuterValue),
        (SORT_QUICK, ForgetsLocals),
        (SEARCH, StartsLikeSorting),
        (SEARCH, RoundsUp),
        (KNAPSACK, RestoresTheIndex),
        (KNAPSACK, KeepsTooHeavyLoads),
        (KNAPSACK, CountsTheTakenItemAsRest),
    ],
    ids=lambda thing: getattr(thing, "__name__", getattr(thing, "name", "")),
)
def test_the_comparison_notices_a_machine_with_one_wrong_rule(task: Task, wrong: type) -> None:
    random = np.random.default_rng(2)

    def check_all_sizes() -> None:
        for size in (2, 4, 6):
            instances = random_instances(task, 30, size, random)
            check_machine(task, instances, random_actions(task, (30, 40), random), {task.name: wrong})

    with pytest.raises(AssertionError, match="expected and got"):
        check_all_sizes()


# The rules one by one


FOUR, SEARCHED = one_list(3, 2, 1, 0), one_search(0, 0, 1, 2, 3)
CALL = "FunctionCall(1, 1, 2, 4, 4, 3)"
PLACES: dict[str, tuple[Task, Instances, list[str], list[int]]] = {
    "sort-bubble starts with v1, v3 low and v2, v4 high": (SORT_BUBBLE, FOUR, [], [0, 3, 0, 3]),
    "sort-quick starts with v1, v3 low and v2, v4 high": (SORT_QUICK, FOUR, [], [0, 3, 0, 3]),
    "search starts with v1, v2 low and v3, v4 high": (SEARCH, SEARCHED, [], [0, 0, 3, 3]),
    "a variable stops at both ends": (
        *(SORT_BUBBLE, one_list(3, 1, 2)),
        ["MoveVar(1, -1)", "MoveVar(2, +1)", *["MoveVar(3, +1)"] * 3, "MoveVar(4, -1)"],
        [0, 2, 2, 1],
    ),
    "a call sets the named variables and keeps the others": (
        *(SORT_QUICK, FOUR, ["MoveVar(1, +1)", "FunctionCall(2, 2, 4, 1, 3, 1)"]),
        [1, 1, 0, 0],
    ),
    "a call reads both arguments before it writes either": (
        *(SORT_QUICK, FOUR, ["FunctionCall(1, 1, 2, 2, 1, 1)"]),
        [3, 0, 0, 3],
    ),
    "of two arguments the second wins": (SORT_QUICK, FOUR, ["FunctionCall(1, 3, 3, 1, 2, 1)"], [0, 3, 3, 3]),
    "also if it is lower": (SORT_QUICK, FOUR, ["FunctionCall(1, 3, 3, 2, 1, 1)"], [0, 3, 0, 3]),
    "a return restores the caller's scope and writes the result": (
        *(SORT_QUICK, FOUR, [CALL, "MoveVar(1, -1)", "AssignVar(4, 1)", "Return(1)"]),
        [0, 3, 2, 3],
    ),
    "a return without a call does nothing": (SORT_QUICK, FOUR, ["MoveVar(1, +1)", "Return(2)"], [1, 3, 0, 3]),
    "the middle is the lower one": (SEARCH, SEARCHED, ["AssignMid(2, 1, 4)"], [0, 1, 3, 3]),
    "the middle of one position is that position": (SEARCH, SEARCHED, ["AssignMid(2, 3, 4)"], [0, 3, 3, 3]),
}


@pytest.mark.parametrize("rule", PLACES)
def test_variables_stand_where_the_rules_say(rule: str) -> None:
    task, instances, actions, expected = PLACES[rule]
    assert variables(play(task, instances, *actions)) == expected


@pytest.mark.parametrize("task", [SORT_FULL, SORT_BUBBLE, SORT_QUICK], ids=lambda task: task.name)
@pytest.mark.parametrize("values", [(), (7,), (1, 1), (0, 1, 2), (0, 1, 1, 2)], ids=str)
def test_a_list_that_starts_sorted_is_solved_in_no_steps(task: Task, values: tuple[int, ...]) -> None:
    machine = Compiled(task, one_list(*values))
    assert (outcome(machine), machine.batch.steps[0]) == (Outcome.SOLVED, 0)


def test_a_single_item_is_both_low_and_high() -> None:
    seen = play(SEARCH, one_search(5, 7)).snapshots()[0]["seen"]
    assert seen[:12] == ("=",) * 12
    assert seen[12:20] == ("low", "high") * 4
    assert outcome(play(SEARCH, one_search(5, 7), "MoveVar(1, +1)", "MoveVar(3, -1)", "NotFound()")) == Outcome.SOLVED


def test_swap_with_next_at_the_last_position_does_nothing_but_count_a_step() -> None:
    machine = play(SORT_BUBBLE, one_list(3, 1, 2), "SwapWithNext(2)", "SwapWithNext(4)")
    assert machine.batch.items[0].tolist() == [3, 1, 2]
    assert (outcome(machine), machine.batch.steps[0]) == (Outcome.RUNNING, 2)


def test_the_step_that_sorts_the_list_ends_the_episode_and_counts() -> None:
    machine = play(SORT_BUBBLE, one_list(2, 1, 1), "SwapWithNext(1)", "MoveVar(1, +1)", "SwapWithNext(1)")
    assert (outcome(machine), machine.batch.steps[0]) == (Outcome.SOLVED, 3)
    assert machine.batch.items[0].tolist() == [1, 1, 2]


def test_an_ended_episode_executes_nothing_more() -> None:
    machine = play(SORT_QUICK, one_list(2, 1), "Swap(1, 2)")
    machine.step([("Swap", (1, 2))])
    assert (machine.batch.items[0].tolist(), machine.batch.steps[0]) == ([1, 2], 1)


def test_swapping_a_variable_with_itself_changes_nothing() -> None:
    machine = play(SORT_QUICK, one_list(2, 1), "Swap(1, 3)", "Swap(2, 2)")
    assert (machine.batch.items[0].tolist(), outcome(machine)) == ([2, 1], Outcome.RUNNING)


def test_calls_nest_and_each_return_finds_its_own_call() -> None:
    first, second = "FunctionCall(1, 1, 2, 1, 2, 1)", "FunctionCall(2, 3, 4, 3, 4, 2)"
    machine = play(SORT_QUICK, one_list(3, 2, 1, 0), first, "MoveVar(2, -1)", second, "Return(4)")
    assert machine.snapshots()[0]["seen"][-2] == 1
    assert str(previous(machine)) == second
    machine.step([("Return", (2,))])
    assert machine.snapshots()[0]["seen"][-2] is None
    assert str(previous(machine)) == first


def test_a_return_without_a_call_ends_knapsack() -> None:
    machine = play(KNAPSACK, one_knapsack([1.0], [1.0], 1.0), "Put()", "Return()")
    assert (outcome(machine), machine.batch.steps[0]) == (Outcome.SOLVED, 2)


HEAVY = ["Put()", "MoveVar(+1)", "Put()"]
KNAPSACKS: dict[str, tuple[Instances, list[str], dict[str, Any]]] = {
    "index and solution outlive a return": (
        *(one_knapsack([1.0, 1.0], [1.0, 1.0], 2.0), ["Knapsack()", "Put()", "MoveVar(+1)", "Return()"]),
        {"i": 1, "items": (1, 0, 1, 0)},
    ),
    "the index is no less than 0": (one_knapsack([1.0], [1.0], 1.0), ["MoveVar(-1)"], {"i": 0}),
    "the index is at most n": (one_knapsack([1.0], [1.0], 1.0), ["MoveVar(+1)", "MoveVar(+1)"], {"i": 1}),
    "putting twice does nothing": (
        *(one_knapsack([1.0], [1.0], 2.0), ["Put()", "Put()"]),
        {"reals": (1.0, 2.0, 1.0, 1.0)},
    ),
    "putting nothing does nothing": (
        *(one_knapsack([1.0], [1.0], 2.0), ["MoveVar(+1)", "Put()"]),
        {"reals": (0.0, 2.0, 0.0, 0.0)},
    ),
    "popping nothing does nothing": (one_knapsack([1.0], [1.0], 2.0), ["Pop()"], {"reals": (0.0, 2.0, 0.0, 0.0)}),
    "a load above the capacity never becomes the best": (
        *(one_knapsack([2.0, 1.0], [5.0, 1.0], 1.0), HEAVY),
        {"reals": (0.0, 1.0, 3.0, 6.0)},
    ),
    "a load that is light again does": (
        *(one_knapsack([2.0, 1.0], [5.0, 1.0], 1.0), [*HEAVY, "MoveVar(-1)", "Pop()"]),
        {"reals": (1.0, 1.0, 1.0, 1.0), "items": (0, 1, 0, 1)},
    ),
}


@pytest.mark.parametrize("rule", KNAPSACKS)
def test_a_knapsack_holds_what_the_rules_say(rule: str) -> None:
    instances, actions, expected = KNAPSACKS[rule]
    held = play(KNAPSACK, instances, *actions).snapshots()[0]
    assert {name: held[name] for name in expected} == expected


@pytest.mark.parametrize("size", range(1, 7))
def test_found_is_right_exactly_where_the_query_stands(size: int) -> None:
    values = [k // 2 for k in range(size)]
    for query in range(-1, size):
        for position in range(size):
            moves = ["MoveVar(1, +1)"] * position
            machine = play(SEARCH, one_search(query, *values), *moves, "Found(1)")
            right = values[position] == query
            assert outcome(machine) == (Outcome.SOLVED if right else Outcome.WRONG_ANSWER)
        absent = play(SEARCH, one_search(query, *values), "NotFound()")
        assert outcome(absent) == (Outcome.WRONG_ANSWER if query in values else Outcome.SOLVED)
