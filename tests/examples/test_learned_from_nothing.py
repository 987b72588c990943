"""A task of one's own that declares no settings is learned from nothing, and what is wrong is said early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import surpass
from surpass.agents import as_task
from surpass.evaluation.scores import evaluate
from surpass.programs.export import export_program
from tests.programs.exported import forever

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ("minimum", "pair_sum", "partition", "reverse", "last_position", "dutch_flag")


@pytest.mark.parametrize("method", ["rl", "rl+imitation"])
def test_defaults_solve_an_example(method: str, tmp_path: Path) -> None:
    small = {"episodes": 256, "updates": 20, "starts": 1, "checks": 2}
    run = surpass.learn(FOLDER / "dutch_flag.py", method, out=tmp_path / "run", score_sizes=[5, 30], settings=small)
    assert run.scores is not None
    assert [row.solved for row in run.scores.rows] == [1.0, 1.0]


def one_pass(seen: dict[str, Any]) -> str:
    if seen["at ? high"] == ">":
        return "Done()"
    return {0: "Swap(1)", 1: "Move(+1)", 2: "Swap(2)"}[seen["A[at]"]]


def test_a_function_is_shown_checked_and_exported_as_any_agent() -> None:
    agent = surpass.agent(one_pass, task=FOLDER / "dutch_flag.py", observation="named")
    program = surpass.program(agent)
    assert len(program.rules) == 4
    assert surpass.check(program, up_to=4, instances=2, sizes=[10], effort=100).passed
    assert "def dutch_flag(" in surpass.export(agent, "python").source


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_of_every_example_can_be_exported(name: str) -> None:
    task = as_task(FOLDER / f"{name}.py")
    for number in task.interface.offsets:
        for language in ("python", "c"):
            assert export_program(forever(task, str(task.interface.actions[number])), language)


def test_steps_are_compared_where_both_solve_and_late_sizes_are_left_out() -> None:
    hasty = surpass.agent(lambda _: "Found(1)", task="search", name="hasty")
    found = evaluate(hasty, sizes=[4, 8], instances=50, against="teacher:binary_search", seconds=0.0)
    (row,) = found.rows
    assert found.left_out == (8,)
    assert 0 < row.difference_count == round(row.solved * 50) < 50
    assert "only where both solve the instance" in str(found)
    assert "left out for want of time: n=8" in str(found)
