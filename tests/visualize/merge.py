"""A task with three lists, each with a variable of its own: merge A and B, which are in order, into C."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, WRONG, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("a", "b", "c")


@kernel
def start(state: State) -> int:
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def a_ends(state: State) -> bool:
    return state.registers[R.a] == state.registers[SIZE] // 2


@kernel
def b_ends(state: State) -> bool:
    return state.registers[R.b] == state.registers[SIZE] - state.registers[SIZE] // 2


@kernel
def item_of_a(state: State) -> int:
    return state.items[min(state.registers[R.a], state.registers[SIZE] // 2)]


@kernel
def item_of_b(state: State) -> int:
    return state.items[min(state.registers[SIZE] // 2 + state.registers[R.b], state.registers[SIZE] - 1)]


@kernel
def take(state: State, value: int) -> int:
    size = state.registers[SIZE]
    if state.registers[R.c] == size:
        return WRONG
    state.items[size + state.registers[R.c]] = value
    state.registers[R.c] += 1
    return SOLVED if state.registers[R.c] == size else RUNNING


@kernel
def take_a(state: State) -> int:
    value, over = item_of_a(state), a_ends(state)
    state.registers[R.a] += 1 - over
    return WRONG if over else take(state, value)


@kernel
def take_b(state: State) -> int:
    value, over = item_of_b(state), b_ends(state)
    state.registers[R.b] += 1 - over
    return WRONG if over else take(state, value)


def find_wrong(
    before: Instances, registers: NDArray[np.int64], items: NDArray[np.int64], reals: NDArray[np.float64]
) -> NDArray[np.bool_]:
    wrong = np.zeros(before.count, np.bool_)
    for k, (n, row) in enumerate(zip(before.sizes, before.items, strict=True)):
        wrong[k] = (items[k, n : 2 * n] != np.sort(row[:n])).any()
    return wrong


def lists(values: NDArray[np.int64]) -> Instances:
    """Return instances whose lists A and B are the halves of some values [count, n], each in order."""
    count, n = values.shape
    halves = [np.sort(values[:, : n // 2], axis=1), np.sort(values[:, n // 2 :], axis=1)]
    items = np.hstack([*halves, np.zeros_like(values)])
    return Instances(np.full(count, n), items, np.zeros((count, 1)))


def draw(request: surpass.Request) -> Instances:
    return lists(request.stream("values").integers(1, 3 * request.size + 2, (request.count, request.size)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    (values,) = parts
    return lists(np.array([values], np.int64)), ()


def write(instance: Instances) -> str:
    return ",".join(map(str, instance.items[0, : instance.sizes[0]]))


def name_of(index: int, size: int) -> str:
    first, second = size // 2, size - size // 2
    if index < first:
        return f"A[{index}]"
    return f"B[{index - first}]" if index < first + second else f"C[{index - size}]"


MERGE = surpass.register_task(
    surpass.Task(
        name="merge-halves",
        summary="merge two lists that are in order",
        interface=surpass.Interface(
            [
                surpass.flag("A ends", a_ends),
                surpass.flag("B ends", b_ends),
                surpass.comparison(surpass.value("A[a]", item_of_a), surpass.value("B[b]", item_of_b)),
            ],
            [Instruction("TakeA", does=take_a), Instruction("TakeB", does=take_b)],
        ),
        start=start,
        memory=surpass.Memory(registers=R, item_width=lambda size: 2 * size, item_name=name_of),
        inputs=surpass.Inputs(draw={"uniform": draw}, read=read, write=write),
        find_wrong=find_wrong,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(MERGE)
def take_the_smaller(see: See, do: Do) -> Action:
    """Take the smaller of the two values, and what is left once one list has ended."""
    if see("A ends"):
        return do.TakeB()
    return do.TakeA() if see("B ends") or see("A[a] <= B[b]") else do.TakeB()
