"""Two pointers: find two values of an ordered list that add up to a target, or report that there are none.

`low` starts at the first position and `high` at the last, and the teacher moves them towards each other:

    surpass evaluate teacher:close_in --task examples/pair_sum.py --sizes 5,10,1000
    surpass trace teacher:close_in --task examples/pair_sum.py --instance 1,3,4,8:7
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("low", "high", "found")


@kernel
def start(state: State) -> int:
    """Begin with a pointer at each end; fewer than two values have no pair."""
    state.registers[R.high] = state.registers[SIZE] - 1
    return RUNNING if state.registers[SIZE] > 1 else SOLVED


@kernel
def meet(state: State) -> bool:
    """Tell whether both pointers stand at the same position."""
    return state.registers[R.low] == state.registers[R.high]


@kernel
def total(state: State) -> int:
    """Return the sum of the values under the pointers."""
    return state.items[state.registers[R.low]] + state.items[state.registers[R.high]]


@kernel
def target(state: State) -> int:
    """Return the wanted sum, which stands behind the list."""
    return state.items[state.registers[SIZE]]


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a pointer, no further than the ends of the list."""
    state.registers[v] = min(max(state.registers[v] + step, 0), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def found(state: State) -> int:
    """End: the pointers stand at a pair."""
    state.registers[R.found] = 1
    return SOLVED


@kernel
def not_found(state: State) -> int:
    """End: there is no pair."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the pointers stand at a pair, or rightly none is reported."""
    if state.registers[R.found]:
        return total(state) == target(state) and not meet(state)
    for j in range(state.registers[SIZE]):
        for i in range(j):
            if before[i] + before[j] == target(state):
                return False
    return True


def draw(request: surpass.Request) -> Instances:
    """Draw values up to n^2 and targets up to twice that: about one target in four is the sum of a pair."""
    most = request.size**2 + 1
    lists = np.sort(request.stream("values").integers(0, most, (request.count, request.size)), axis=1)
    targets = request.stream("targets").integers(0, 2 * most, (request.count, 1))
    return Instances(np.full(request.count, request.size), np.hstack([lists, targets]), np.zeros((request.count, 1)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return a list and a target as an instance; surpass itself says what is expected if they do not fit."""
    values, (wanted,) = parts
    if any(value != int(value) for value in (*values, wanted)):
        raise ValueError("the values must be whole numbers, since they are added up")
    if list(values) != sorted(values):
        raise ValueError("the list must be in order")
    return Instances(np.array([len(values)]), np.array([[*values, wanted]], np.int64), np.zeros((1, 1))), ()


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    *values, wanted = instance.items[0, : instance.sizes[0] + 1]
    return f"{','.join(map(str, values))}:{wanted}"


PAIR_SUM = surpass.register_task(
    surpass.Task(
        name="pair-sum",
        summary="find two values of an ordered list that add up to a target",
        interface=surpass.Interface(
            [
                surpass.flag("low = high", meet),
                surpass.comparison(surpass.value("A[low] + A[high]", total), surpass.value("target", target)),
            ],
            [
                Instruction("Move", surpass.variable("i", R.low, R.high), surpass.binary("by", STEPS), does=move),
                Instruction("Found", does=found),
                Instruction("NotFound", does=not_found),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R, item_width=lambda size: size + 1),
        inputs=surpass.Inputs(
            draw={"uniform": draw}, read=read, write=write, written="an ordered list and a target, such as 1,3,4,8:7"
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(PAIR_SUM)
def close_in(see: See, do: Do) -> Action:
    """Too little: move the low pointer up; too much: move the high one down; until they meet."""
    if see("low = high"):
        return do.NotFound()
    if see("A[low] + A[high] = target"):
        return do.Found()
    return do.Move(1, +1) if see("A[low] + A[high] < target") else do.Move(2, -1)
