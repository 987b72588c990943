"""Judging is separate from doing: `is_right` decides what an end is worth, and exported programs go without it."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Outcome
from surpass.agents import as_task
from surpass.engine.run import run
from surpass.errors import DeclarationError
from surpass.learning.discover.objective import Sample
from surpass.learning.discover.trials import Screen, Trial
from surpass.programs.export import export_program
from surpass.programs.program import Program
from surpass.tasks.task import Instances, Request, Task
from tests.programs.exported import forever, load_python

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT, LONG = [0, 1], [1, 0]
"""The first value is the least of one and not of the other."""


@pytest.fixture
def minimum() -> Task:
    """Return the task of an example that has `is_right` alone."""
    (task,) = (as_task(EXAMPLES / "minimum.py"),)
    assert task.find_wrong is None
    return task


def hasty(task: Task) -> Program:
    """Return the program that answers with the first position."""
    return forever(task, "Answer(1)")


def lists(*values: list[int]) -> Instances:
    """Return lists of one length as instances."""
    return Instances(np.full(len(values), len(values[0])), np.array(values), np.zeros((len(values), 1)))


def test_an_end_that_is_not_right_is_a_wrong_answer_wherever_it_is_met(minimum: Task) -> None:
    results = run(hasty(minimum), lists(SHORT, LONG))
    assert results.outcomes.tolist() == [Outcome.SOLVED, Outcome.WRONG_ANSWER]
    assert results.rewards.tolist() == [-1.0, -10_001.0]
    assert run(hasty(minimum), lists(LONG), judged=False).outcomes.tolist() == [Outcome.WRONG_ANSWER]
    assert surpass.trace(hasty(minimum), [1, 0]).outcome == Outcome.WRONG_ANSWER.reason
    assert surpass.apply(hasty(minimum), [SHORT, LONG]).results[1] is None
    certificate = surpass.check(hasty(minimum), up_to=3, instances=0, effort=0)
    assert certificate.counter_example is not None
    assert certificate.counter_example.instance == "1,0"


def test_discover_does_not_take_an_edit_that_answers_wrongly(minimum: Task) -> None:
    """It plays thousands of edits in compiled code, where no NumPy is asked."""
    program = surpass.program("teacher:scan", task=minimum)
    instances = minimum.draw(Request(size=6, count=30))
    alike = np.zeros(30, np.int64)
    limits = surpass.Limit.parse(minimum.limit).steps(instances.sizes)
    sample = Sample(instances, limits, alike, alike, np.full(30, 1 / 30))
    trial = Trial(minimum, sample, program)
    screen, costs = Screen(minimum, sample), trial.measure(program)
    screen.prepare(program, None, costs, trial.limits, sample.shares, trial.seen, trial.seen)
    states = np.random.default_rng(0).integers(1, 1 << 32, (300, 2), np.int64)
    gains = screen.run(states, (0.0, 0.0), -np.inf)
    answers = [run(screen.edited(state), instances).solved.all() for state in states]
    assert np.isfinite(gains).tolist() == answers
    assert 0 < sum(answers) < len(answers)


@pytest.mark.parametrize("language", ["python", "c"])
@pytest.mark.parametrize("name", ["minimum", "last_position", "pair_sum", "partition", "dutch_flag", "merge"])
def test_exported_programs_hold_no_judge(name: str, language: str) -> None:
    """They look at no more than an instruction does: none of these has a loop over the list."""
    task = as_task(EXAMPLES / f"{name}.py")
    for number in task.interface.offsets:
        text = export_program(forever(task, str(task.interface.actions[number])), language)
        code = text.split("def _run" if language == "python" else "static int64_t run_i64")[1].split("\n}")[0]
        assert "for " not in code
        assert "return WRONG_ANSWER" not in code
        assert "outcome = WRONG_ANSWER" not in code


def test_an_exported_program_needs_the_input_alone() -> None:
    """The reverse of a list is judged by the list before, which exported code has no use for."""
    reverse = load_python(surpass.program("teacher:swap_and_close", task=EXAMPLES / "reverse.py").to_python())[
        "reverse"
    ]
    items = ["a", "b", "c", "d"]
    assert reverse(items)[0] == "solved"
    assert items == ["d", "c", "b", "a"]
    least = load_python(hasty(as_task(EXAMPLES / "minimum.py")).to_python())["minimum"]
    assert least([2, 1]).outcome == "solved", "an answer is taken on trust"


# What it is given


R = surpass.registers("sum")


@surpass.kernel
def start(state: surpass.State) -> int:
    """Claim that an empty list is done."""
    return RUNNING if state.registers[SIZE] else SOLVED


@surpass.kernel
def spoil(state: surpass.State) -> int:
    """Set every item to 0, and end."""
    for k in range(state.registers[SIZE]):
        state.registers[R.sum] += state.items[k]
        state.items[k] = 0
    return SOLVED


@surpass.kernel
def is_sum(state: surpass.State, before: NDArray[np.int64]) -> bool:
    """Tell whether the register holds the sum of the items before."""
    total = 0
    for k in range(state.registers[SIZE]):
        total += before[k]
    return total == state.registers[R.sum]


@surpass.kernel
def is_nothing(state: surpass.State) -> bool:
    """Show nothing."""
    return False


def sums(**changes: Any) -> Task:
    found = Task(
        name="sums",
        summary="add up a list",
        interface=surpass.Interface([surpass.flag("x", is_nothing)], [surpass.Instruction("Spoil", does=spoil)]),
        start=start,
        memory=surpass.Memory(registers=R),
        inputs=surpass.list_inputs(),
        is_right=is_sum,
    )
    return dataclasses.replace(found, **changes) if changes else found


def test_it_sees_the_items_as_they_were_of_instances_of_any_sizes() -> None:
    task = sums()
    instances = Instances(
        np.array([3, 1, 0, 2]), np.array([[1, 2, 3], [7, 9, 9], [9, 9, 9], [4, 4, 9]]), np.zeros((4, 1))
    )
    assert run(forever(task, "Spoil()"), instances).solved.all()


@pytest.mark.parametrize("wrong", [True, False])
def test_both_judges_must_agree(wrong: bool) -> None:
    task = sums(find_wrong=lambda before, *after: np.full(before.count, wrong))
    assert run(forever(task, "Spoil()"), lists([1, 2])).solved.all() == (not wrong)


def test_a_task_says_what_is_right() -> None:
    with pytest.raises(DeclarationError):
        sums(is_right=None)


MISTAKES = {
    "an index past the end": ("before[k] >=", "before[k + 1] >=", r"reads before\[1\]"),
    "a write to the memory": ("is_least = True", "state.registers[R.answer] = is_least = True", "writes registers"),
    "a write to the items before": ("is_least = True", "before[0] = is_least = True", "writes before"),
    "a number instead of a truth": ("    return is_least", "    return 3", "must return True or False"),
    "no kernel": ("@kernel\ndef is_right", "def is_right", "is not a kernel"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_it_comes_with_its_line(case: str, tmp_path: Path) -> None:
    old, new, said = MISTAKES[case]
    text = (EXAMPLES / "minimum.py").read_text()
    assert text.count(old) == 1
    (tmp_path / "mistake.py").write_text(text.replace(old, new))
    # In a process of its own, since this one knows a task of that name.
    words = ("evaluate", "teacher:scan", "--task", str(tmp_path / "mistake.py"), "--sizes", "3")
    ended = subprocess.run([sys.executable, "-m", "surpass", *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert re.search(r"mistake.py, line [67]\d", ended.stderr)
    assert re.search(said, ended.stderr), ended.stderr
