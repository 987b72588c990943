"""Running agents on many instances: the same results on any number of threads, and a reason for every end."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from surpass import Outcome
from surpass.agents.teachers import find_teacher, known_teachers
from surpass.engine import run as run_module
from surpass.engine.run import Results, core_count, run
from surpass.errors import DeclarationError, InstanceError, SettingError
from surpass.machine.calls import stack_limit
from surpass.table import Table
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.lists import from_lists
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances
from surpass.tasks.teacher import Teacher
from tests import reference
from tests.reference import check_agent, random_instances

TEACHERS = [teacher.name.partition(":")[2] for teacher in known_teachers() if teacher.task in PAPER_TASKS]
TABLE_TEACHERS = [name for name in TEACHERS if name != "selection_sort"]


def same(a: Results, b: Results) -> bool:
    # What was asked tells about the table that the runs share, not about the runs.
    fields = [field.name for field in dataclasses.fields(Results) if field.name != "asked"]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in fields)


def mixed(task: Task) -> Instances:
    sizes = (3, 17, 1, 8) if task is not KNAPSACK else (3, 9, 1, 5)
    return join_instances(task, [task.draw(Request(size=size, count=40, seed=size)) for size in sizes])


# The same as the reference


@pytest.mark.parametrize("name", TABLE_TEACHERS)
def test_a_run_goes_the_way_of_the_reference_machine_step_by_step(name: str) -> None:
    teacher = find_teacher(name)
    for size in (1, 2, 3, 5, 8):
        instances = random_instances(teacher.task, 6, size, np.random.default_rng([size, 9]))
        most = 300
        references = check_agent(teacher, instances, most)
        results = run(teacher, instances, limit=Limit(most, 0))
        ends = [machine.outcome.replace("running", "step limit") for machine in references]
        if teacher.task is KNAPSACK:
            ends = ["solved"] * len(ends)
            assert results.scores.tolist() == [float(machine.amounts()["v_best"]) for machine in references]
        assert [Outcome(outcome).reason for outcome in results.outcomes] == ends
        assert results.steps.tolist() == [machine.steps for machine in references]


class SwapsTooFar(reference.SortMachine):
    def SwapWithNext(self, i: int) -> None:
        self.exchange(self.v[i], min(self.v[i] + 2, self.high))


def test_the_comparison_notices_a_run_that_goes_another_way() -> None:
    instances = random_instances(SORT_BUBBLE, 6, 5, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="expected and got"):
        check_agent(find_teacher("bubble_sort"), instances, 100, {"sort-bubble": SwapsTooFar})


# Threads, chunks and tables


@pytest.mark.parametrize("name", TEACHERS)
def test_results_do_not_depend_on_threads_nor_on_how_instances_are_split(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = find_teacher(name)
    equal, instances = teacher.task.draw(Request(size=9, count=100)), mixed(teacher.task)
    alone, whole = run(teacher, instances, threads=1), run(teacher, equal)
    assert all(same(alone, run(teacher, instances, threads=threads)) for threads in (2, 7))
    for words in (1, 1000, 3333):
        monkeypatch.setattr(run_module, "MEMORY_WORDS", words)
        assert same(whole, run(teacher, equal))
        assert same(alone, run(teacher, instances))


def test_the_split_is_really_made_and_progress_rises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    monkeypatch.setattr(run_module, "MEMORY_WORDS", 1)
    run(find_teacher("bubble_sort"), SORT_BUBBLE.draw(Request(size=5, count=4)), progress=told.append)
    assert set(told) >= {1, 2, 3, 4}
    assert told == sorted(told)
    assert told[-1] == 4


@pytest.mark.parametrize("name", ["hoare_sort", "selection_sort"])
def test_an_instance_is_worth_the_same_alone_and_in_company(name: str) -> None:
    teacher = find_teacher(name)
    instances = mixed(teacher.task)
    together = run(teacher, instances)
    for k in range(0, instances.count, 13):
        alone = run(teacher, instances.part(k, k + 1))
        assert (alone.steps[0], alone.outcomes[0]) == (together.steps[k], together.outcomes[k])


def test_instances_are_left_as_they_were() -> None:
    instances = mixed(SORT_QUICK)
    before = [array.copy() for array in instances]
    run(find_teacher("quick_sort"), instances)
    assert all(np.array_equal(a, b) for a, b in zip(before, instances, strict=True))


def test_an_agent_is_asked_once_about_each_observation() -> None:
    teacher, asked = find_teacher("quick_sort"), []

    @dataclasses.dataclass(frozen=True, eq=False)
    class Noted:
        name: str = "noted"
        task: Task = SORT_QUICK

        def actions(self, observations: np.ndarray) -> np.ndarray:
            asked.extend(observations.tolist())
            return teacher.actions(observations)

    noted = Noted()
    table, instances = Table.of(noted), SORT_QUICK.draw(Request(size=20, count=50))
    first = run(table, instances)
    count = len(asked)
    assert count == len(set(asked)) == len(table)
    assert same(first, run(table, instances))
    assert len(asked) == count
    assert same(first, run(teacher, instances))


# Ends


@pytest.mark.parametrize("limit", [1, 5, 17, 100])
def test_the_step_limit_ends_exactly_the_episodes_that_need_more(limit: int) -> None:
    teacher = find_teacher("insertion_sort")
    instances = SORT_BUBBLE.draw(Request(size=6, count=200))
    free, bound = run(teacher, instances), run(teacher, instances, limit=Limit(limit, 0))
    assert bound.steps.tolist() == np.minimum(free.steps, limit).tolist()
    assert bound.solved.tolist() == (free.steps <= limit).tolist()
    assert (bound.outcomes[~bound.solved] == Outcome.STEP_LIMIT).all()


def test_the_limit_of_each_instance_follows_its_size() -> None:
    idle = Teacher("teacher:idle", SORT_BUBBLE, lambda _see, do: do.MoveVar(1, -1), "")
    lists = np.zeros((3, 5), np.int64)
    lists[:, 0] = 1
    results = run(idle, Instances(np.array([2, 3, 5]), lists, np.zeros((3, 1))), limit=Limit.parse("2n^2"))
    assert results.steps.tolist() == [8, 18, 50]
    assert results.reasons() == {"step limit": 3}


def test_a_spent_budget_is_no_failure_where_the_score_counts() -> None:
    results = run(find_teacher("depth_first"), KNAPSACK.draw(Request(size=12, count=20)), limit=Limit.parse("5n"))
    assert results.reasons() == {"solved": 20}
    assert results.steps.tolist() == [60] * 20


def test_a_program_with_a_score_must_end_by_itself_unless_its_limit_is_a_budget() -> None:
    reward = dataclasses.replace(KNAPSACK.reward, wrong_cost=7.0)
    strict = dataclasses.replace(KNAPSACK, name="strict", limit_is_budget=False, reward=reward)
    agent = dataclasses.replace(find_teacher("depth_first"), task=strict)
    instances = KNAPSACK.draw(Request(size=6, count=20))
    results = run(agent, instances, limit=Limit.parse("5n"))
    assert results.reasons() == {"step limit": 20}
    assert results.rewards.tolist() == [-7.0] * 20, "nothing is kept of a score that was not brought home"
    ended = run(agent, instances, limit=Limit.parse("5000"))
    assert ended.reasons() == {"solved": 20}
    assert np.allclose(ended.rewards, ended.scores)
    with pytest.raises(DeclarationError, match="limit_is_budget"):
        dataclasses.replace(SORT_BUBBLE, limit_is_budget=True)


def test_a_wrong_report_ends_unsolved_and_costs_the_penalty() -> None:
    denier = Teacher("teacher:denier", SEARCH, lambda _see, do: do.NotFound(), "")
    instances = SEARCH.draw(Request(size=9, count=100, queries="mixed"))
    there = (instances.items[:, :9] == instances.items[:, 9:]).any(axis=1)
    results = run(denier, instances)
    assert 0 < there.sum() < 100
    assert results.outcomes.tolist() == np.where(there, Outcome.WRONG_ANSWER, Outcome.SOLVED).tolist()
    assert results.rewards.tolist() == np.where(there, -10_001.0, -1.0).tolist()
    assert results.reasons() == {"solved": 100 - there.sum(), "wrong answer": there.sum()}


def test_having_no_action_ends_only_the_episodes_that_need_one() -> None:
    def choose(see: Any, do: Any) -> Any:
        return None if see("A[v1] < A[v1+1]") else do.SwapWithNext(1)

    agent = Teacher("teacher:choosy", SORT_BUBBLE, choose, "")
    results = run(agent, from_lists(np.array([[0, 2, 1], [1, 0, 2], [0, 1, 2], [1, 1, 0]])))
    reasons = [Outcome(outcome).reason for outcome in results.outcomes]
    assert reasons == ["no action", "solved", "solved", "step limit"]
    assert results.steps.tolist() == [0, 1, 0, 90]


def test_every_outcome_has_its_reason_in_words() -> None:
    assert Outcome.STACK_LIMIT.reason == "stack limit"
    assert len({outcome.reason for outcome in Outcome}) == len(Outcome)


# The stack limit

ENDLESS = Teacher("teacher:endless", SORT_QUICK, lambda _see, do: do.FunctionCall(1, 1, 2, 1, 2, 1), "")
PLENTY = Limit.parse("1000000")


@pytest.mark.parametrize("size", [2, 50, 3000])
def test_an_agent_that_calls_for_ever_ends_at_the_stack_limit(size: int) -> None:
    lists = np.arange(size)[::-1][None]
    results = run(ENDLESS, from_lists(lists), limit=PLENTY)
    assert results.outcomes.tolist() == [Outcome.STACK_LIMIT]
    assert results.steps.tolist() == [stack_limit(size) + 1] == [2 * size + 1001]
    assert not results.solved.any()


def test_calling_for_ever_in_knapsack_ends_at_the_stack_limit_too() -> None:
    endless = Teacher("teacher:nested", KNAPSACK, lambda _see, do: do.Knapsack(), "")
    results = run(endless, KNAPSACK.draw(Request(size=5, count=3)), limit=PLENTY)
    assert results.reasons() == {"stack limit": 3}


def test_others_in_the_batch_go_on_when_one_meets_the_stack_limit() -> None:
    def choose(see: Any, do: Any) -> Any:
        return do.FunctionCall(1, 1, 2, 1, 2, 1) if see("A[v1] > A[v2]") else do.SwapWithNext(1)

    agent = Teacher("teacher:moody", SORT_QUICK, choose, "")
    results = run(agent, from_lists(np.array([[1, 2, 0], [1, 0, 2]])), limit=Limit.parse("5000"))
    assert results.outcomes.tolist() == [Outcome.STACK_LIMIT, Outcome.SOLVED]


def test_the_stack_limit_of_an_instance_does_not_depend_on_the_others_in_its_batch() -> None:
    small, large = from_lists(np.array([[1, 0]])), SORT_QUICK.draw(Request(size=100, count=1))
    together = run(ENDLESS, join_instances(SORT_QUICK, [small, large]), limit=PLENTY)
    assert together.steps.tolist() == [stack_limit(2) + 1, stack_limit(100) + 1]


# What is refused


def test_instances_without_the_memory_of_the_task_are_refused() -> None:
    with pytest.raises(InstanceError, match="memory that task search needs for size 5"):
        run(find_teacher("linear_search"), SORT_BUBBLE.draw(Request(size=5, count=2)))


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(SettingError, match=f"threads is {threads}"):
        run(find_teacher("bubble_sort"), SORT_BUBBLE.draw(Request(size=5, count=2)), threads=threads)


def test_the_number_of_threads_can_be_set_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURPASS_THREADS", "3")
    assert core_count() == 3
    for wrong in ("0", "-2", "two", ""):
        monkeypatch.setenv("SURPASS_THREADS", wrong)
        with pytest.raises(SettingError, match=f"SURPASS_THREADS is {wrong!r}"):
            core_count()
    monkeypatch.delenv("SURPASS_THREADS")
    assert core_count() >= 1
