"""A task whose kernels have the wrong types is refused before they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surpass import RUNNING, SIZE, SOLVED, Feature, Instruction, Interface, Outcome, State, kernel
from surpass.engine.run import Results, run
from surpass.errors import DeclarationError, ObservationError
from surpass.machine.features import comparison, value
from surpass.tasks.task import Inputs, Instances, Task
from surpass.tasks.teacher import Teacher


@kernel
def start(state: State) -> int:
    return RUNNING


@kernel
def see_red(state: State) -> int:
    return 0


@kernel
def see_the_size(state: State) -> int:
    return max(0, state.registers[SIZE] - 22) if state.registers[SIZE] != 21 else -1


@kernel
def see_a_half(state: State) -> float:
    return 0.5


@kernel
def end(state: State) -> int:
    return SOLVED


@kernel
def end_by_enumeration(state: State) -> int:
    return Outcome.SOLVED


@kernel
def call_a_stranger(state: State) -> int:
    return state.no_such_array[0]  # type: ignore[attr-defined]


@kernel
def measure_a_number(x: int) -> int:
    return len(x)  # type: ignore[arg-type]


@kernel
def call_a_bad_helper(state: State) -> int:
    return measure_a_number(3)


@kernel
def forget_to_return(state: State) -> None:
    state.items[0] = 1


@kernel
def see_nothing(state: State) -> None:
    return None


@kernel
def return_now_and_then(state: State) -> int | None:
    if state.registers[SIZE] > 3:
        return SOLVED
    return None


@kernel
def say_yes(state: State) -> bool:
    return True


@kernel
def want_more(state: State, more: int) -> int:
    return more


def no_kernel(state: State) -> int:
    return SOLVED


def make_task(
    name: str,
    weight: Callable[..., Any] = see_red,
    does: Callable[..., Any] = end,
    start: Callable[..., Any] = start,
    **values: Callable[..., Any],
) -> Task:
    features = [Feature("colour", ("red", "green"), see_red), Feature("weight", (0, 1, 2), weight)]
    if values:
        left, right, edge = (value(name, values.get(name, see_red)) for name in ("left", "right", "edge"))
        features.append(comparison(left, right, values=("<", "=", ">", "none"), edge=edge))
    return Task(
        name=name,
        summary="a task for these tests",
        interface=Interface(features, [Instruction("Go", does=does)]),
        start=start,
        inputs=Inputs(draw={"uniform": lambda request: make_task(name).allocate(request.count, request.size)}),
        find_wrong=lambda before, registers, items, reals: np.zeros(before.count, np.bool_),
    )


def run_task(task: Task, sizes: list[int]) -> Results:
    width = max(sizes)
    instances = Instances(np.array(sizes), np.zeros((len(sizes), width), np.int64), np.zeros((len(sizes), 1)))
    return run(Teacher("teacher:goer", task, lambda _see, do: do.Go(), ""), instances)


def make_right_task() -> Task:
    """Return a task that sees its size, compares numbers of any kind, and ends by a member of an enumeration."""
    return make_task("right", see_the_size, end_by_enumeration, left=see_a_half)


def test_a_right_task_runs_with_values_at_both_ends_of_their_range() -> None:
    assert run_task(make_right_task(), [22, 23, 24, 1]).reasons() == {"solved": 4}


@pytest.mark.parametrize(("size", "number"), [(25, 3), (21, -1)])
def test_an_observed_value_out_of_range_is_refused_by_its_features_name(size: int, number: int) -> None:
    with pytest.raises(ObservationError, match=f"'weight' returned {number};"):
        run_task(make_right_task(), [23, 22, size, 24])


REFUSED: dict[str, tuple[dict[str, Callable[..., Any]], str]] = {
    "an instruction that does not compile": ({"does": call_a_stranger}, "instruction Go: .*no_such_array"),
    "a feature that does not compile": ({"weight": call_a_stranger}, "feature 'weight'"),
    "a value that does not compile": ({"right": call_a_stranger}, "value 'right'"),
    "an edge that does not compile": ({"edge": call_a_stranger}, "edge 'edge'"),
    "a helper that does not compile": ({"does": call_a_bad_helper}, "instruction Go: "),
    "a start that does not compile": ({"start": call_a_stranger}, "start:"),
    "a feature that is no whole number": ({"weight": see_a_half}, "feature 'weight': .* float64"),
    "an edge that is no truth": ({"edge": see_a_half}, "edge 'edge': .* float64"),
    "a value that is none": ({"left": see_nothing}, "returns nothing;"),
    "an instruction without a return": ({"does": forget_to_return}, "returns nothing;"),
    "an instruction that returns now and then": ({"does": return_now_and_then}, "on some of its paths"),
    "an instruction that returns a truth": ({"does": say_yes}, "returns bool"),
    "a kernel with too many parameters": ({"does": want_more}, "'want_more'"),
    "a function that is no kernel": ({"does": no_kernel}, "'no_kernel' is not a kernel"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_kernel_is_refused_by_its_name_and_its_place(case: str) -> None:
    kernels, message = REFUSED[case]
    with pytest.raises(
        DeclarationError, match=rf"task 'broken', .*{message}.*test_kernel_types.py, line \d+"
    ) as refused:
        run_task(make_task("broken", **kernels), [3])
    assert "\n" not in str(refused.value)
