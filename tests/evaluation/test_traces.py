import dataclasses
from pathlib import Path

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.agents.teachers import known_teachers
from surpass.checks.check import check
from surpass.engine.record import record, replay
from surpass.engine.run import run
from surpass.errors import TraceError
from surpass.machine.trace import read_trace, write_trace
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Request
from surpass.tasks.teacher import Teacher

GOLDEN = Path(__file__).parent / "traces"
INSTANCES = {
    "sort-full": "3,1,2,5,4",
    "sort-bubble": "5,2,9,1",
    "sort-quick": "5,2,9,1,2",
    "search": "1,3,5,7,9,11:8",
    "knapsack": "0.25,0.5,0.125:1,3,2:0.5",
}
OURS = "surpass.tasks."
TEACHERS = [
    t
    for t in known_teachers()
    # Other tests make teachers of their own known in the same process.
    if t.task in PAPER_TASKS and t.choose.__module__.startswith(OURS)
]


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda t: t.name.partition(":")[2])
def test_a_trace_equals_the_stored_one(teacher):
    text = write_trace(record(teacher, INSTANCES[teacher.task.name]))
    path = GOLDEN / f"{teacher.name.partition(':')[2]}.txt"
    assert text == path.read_text(), f"{path.name} has changed"


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda t: t.name.partition(":")[2])
def test_a_trace_reads_back_replays_and_has_as_many_steps_as_a_run(teacher):
    instances = teacher.task.draw(Request(size=9, count=1, seed=3))
    trace = record(teacher, teacher.task.write_instance(instances))
    assert read_trace(write_trace(trace)) == trace
    replay(teacher.task, trace)
    assert len(trace.steps) == run(teacher, instances).steps[0]


def test_what_find_wrong_calls_wrong_is_no_solution_in_a_trace():
    task = dataclasses.replace(SORT_BUBBLE, find_wrong=lambda before, *after: np.ones(before.count, bool))
    sorting = Teacher("teacher:sorting", task, find_agent("teacher:bubble_sort").choose, "")
    trace = record(sorting, "2,1")
    assert (trace.outcome, len(trace.steps)) == ("wrong answer", run(sorting, task.parse_instance("2,1")[0]).steps[0])
    replay(task, trace)
    with pytest.raises(TraceError, match="ends with 'wrong answer', but its steps lead to 'solved'"):
        replay(SORT_BUBBLE, trace)
    found = check(sorting, up_to=2, sizes=[5]).counter_example
    assert found.why == "the task's kernel calls it solved, but the final state is wrong"
    assert found.trace.outcome == "wrong answer"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("surpass trace 1", "something else", "not a trace"),
        ("limit: 160", "limit: many", "limit"),
        ("   3      0", "   3      x", "not a step"),
        ("after 12 steps", "after 11 steps", "says 11 steps and has 12"),
        ("outcome: solved", "", "cut off"),
        ("A[0] 5 -> 2", "A[0] 5 => 2", "cannot be read"),
    ],
)
def test_a_damaged_trace_is_refused(old, new, message):
    text = write_trace(record(find_agent("teacher:insertion_sort"), "5,2,9,1"))
    assert old in text
    with pytest.raises(TraceError, match=message):
        read_trace(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SwapWithNext(2)", "SwapWithNext(1)"),
        ("v2 0 -> 1", "v2 0 -> 2"),
        ("instance: 5,2,9,1", "instance: 5,2,1,9"),
        ("outcome: solved", "outcome: wrong answer"),
    ],
)
def test_a_forged_trace_does_not_replay(old, new):
    agent = find_agent("teacher:insertion_sort")
    text = write_trace(record(agent, "5,2,9,1"))
    assert old in text
    with pytest.raises(TraceError):
        replay(agent.task, read_trace(text.replace(old, new, 1)))


def test_a_trace_of_a_loop_ends_when_the_state_comes_back_and_replays():
    def choose(see, do):
        return do.MoveVar(1, -1) if see("v1 = high") else do.MoveVar(1, +1)

    pacing = Teacher("teacher:pacing", find_agent("teacher:bubble_sort").task, choose, "")
    trace = record(pacing, "3,2,1")
    assert trace.outcome == "loop"
    moves = [change.after for step in trace.steps for change in step.changes]
    assert moves == ["1", "2", "1", "2"], "the state after step 2 is there again after step 4"
    assert read_trace(write_trace(trace)) == trace
    replay(pacing.task, trace)


def test_a_budget_may_be_spent_going_round():
    task = find_agent("teacher:depth_first").task
    idle = Teacher("teacher:idle", task, lambda _see, do: do.MoveVar(-1), "")
    trace = record(idle, "1:1:1")
    assert (trace.outcome, len(trace.steps)) == ("solved", 20)
