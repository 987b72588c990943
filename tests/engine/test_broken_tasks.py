"""A task whose kernels are wrong is refused when it is first run, with a sentence that names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surpass.agents.teacher import Teacher
from surpass.engine.run import Results, run
from surpass.errors import DeclarationError, ObservationError
from surpass.machine import Feature, Instruction, Interface, State, kernel
from surpass.tasks.task import Instances, Task

SIZE = 0


@kernel
def start(state: State) -> int:
    return 0


@kernel
def see_right(state: State) -> tuple[int, ...]:
    return (0, 1)


@kernel
def see_the_size(state: State) -> tuple[int, ...]:
    return (0, state.registers[SIZE] - 2)


@kernel
def see_too_little(state: State) -> tuple[int, ...]:
    return (0,)


@kernel
def see_too_much(state: State) -> tuple[int, ...]:
    return (0, 1, 1)


@kernel
def end(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    return 1


@kernel
def call_a_stranger(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    return int(state.no_such_array[0])


@kernel
def measure_a_number(x: int) -> int:
    return len(x)  # type: ignore[arg-type]


@kernel
def call_a_bad_helper(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    return measure_a_number(3)


def make_task(name: str, observe: Callable[..., Any] = see_right, act: Callable[..., Any] = end) -> Task:
    return Task(
        name=name,
        summary="a task for these tests",
        interface=Interface([Feature("colour", ("red", "green")), Feature("weight", (0, 1, 2))], [Instruction("Go")]),
        start=start,
        observe=observe,
        act=act,
        data={"uniform": lambda request: make_task(name).allocate(request.count, request.size)},
        find_wrong=lambda before, registers, items, reals: np.zeros(before.count, np.bool_),
    )


def run_task(task: Task, sizes: list[int]) -> Results:
    width = max(sizes)
    instances = Instances(
        np.array(sizes), np.zeros((len(sizes), width), np.int64), np.zeros((len(sizes), task.real_width(width)))
    )
    return run(Teacher("teacher:goer", task, lambda _see, do: do.Go(), ""), instances)


def test_a_right_task_runs() -> None:
    assert run_task(make_task("right"), [3, 1]).reasons() == {"solved": 2}


def test_values_in_range_are_accepted_at_both_ends() -> None:
    assert run_task(make_task("sized", see_the_size), [2, 3, 4]).reasons() == {"solved": 3}


@pytest.mark.parametrize(("size", "value"), [(5, 3), (1, -1)])
def test_an_observed_value_out_of_range_is_refused_by_its_features_name(size: int, value: int) -> None:
    with pytest.raises(ObservationError, match=f"returned {value} for feature 'weight'; allowed: 0 to 2"):
        run_task(make_task("sized", see_the_size), [3, 2, size, 4])


def test_a_kernel_that_does_not_compile_is_refused_by_its_name_and_its_tasks() -> None:
    with pytest.raises(DeclarationError, match=r"task 'stranger' does not compile: .*no_such_array.* call_a_stranger"):
        run_task(make_task("stranger", act=call_a_stranger), [3])


def test_a_helper_that_does_not_compile_is_refused_by_its_name() -> None:
    with pytest.raises(DeclarationError, match="measure_a_number"):
        run_task(make_task("measurer", act=call_a_bad_helper), [3])


def test_too_few_observed_values_are_refused() -> None:
    with pytest.raises(DeclarationError, match="task 'nearsighted'"):
        run_task(make_task("nearsighted", see_too_little), [3])


def test_too_few_observed_values_are_counted() -> None:
    with pytest.raises(DeclarationError, match=r"observe.* 1 .* 2"):
        run_task(make_task("nearsighted", see_too_little), [3])


def test_too_many_observed_values_are_refused() -> None:
    with pytest.raises(DeclarationError):
        run_task(make_task("farsighted", see_too_much), [3])
