"""A task of one's own: find the smallest value of a list.

Two variables start at the first position: `v1` walks, `v2` remembers. Run it with

    surpass tasks examples/minimum.py
    surpass evaluate teacher:scan --task examples/minimum.py --sizes 5,10,1000
    surpass trace teacher:scan --task examples/minimum.py --instance 4,2,7,1,3
"""

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Action, Do, Instruction, See, State, kernel

R = surpass.registers("v1", "v2", "answer")


@kernel
def start(state: State) -> int:
    """Begin: registers hold 0, so both variables stand at the first position; an empty list has no answer."""
    state.registers[R.answer] = -1
    return SOLVED if state.registers[SIZE] == 0 else RUNNING


# What a program sees


@kernel
def item(state: State, v: int) -> int:
    """Return the value under a variable."""
    return state.items[state.registers[v]]


@kernel
def is_last(state: State, v: int) -> bool:
    """Tell whether a variable stands at the last position."""
    return state.registers[v] == state.registers[SIZE] - 1


# What a program does


@kernel
def walk(state: State) -> int:
    """Move v1 to the next position, no further than the last."""
    state.registers[R.v1] = min(state.registers[R.v1] + 1, state.registers[SIZE] - 1)
    return RUNNING


@kernel
def keep(state: State) -> int:
    """Move v2 to where v1 stands."""
    state.registers[R.v2] = state.registers[R.v1]
    return RUNNING


@kernel
def answer(state: State, v: int) -> int:
    """End: the smallest value is the one under a variable."""
    state.registers[R.answer] = state.registers[v]
    return SOLVED


# Who is right


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether no value of the list is smaller than the one at the answer."""
    is_least = True
    for k in range(state.registers[SIZE]):
        is_least &= before[k] >= before[state.registers[R.answer]]
    return is_least


MINIMUM = surpass.register_task(
    surpass.Task(
        name="minimum",
        summary="find the smallest value of a list",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("A[v1]", item, R.v1), surpass.value("A[v2]", item, R.v2)),
                surpass.flag("v1 is last", is_last, R.v1),
            ],
            [
                Instruction("Walk", does=walk),
                Instruction("Keep", does=keep),
                Instruction("Answer", surpass.variable("i", R.v1, R.v2), does=answer),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R),
        inputs=surpass.list_inputs(),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(MINIMUM)
def scan(see: See, do: Do) -> Action:
    """Walk to the end and keep each value that is smaller than the kept one."""
    if see("A[v1] < A[v2]"):
        return do.Answer(1) if see("v1 is last") else do.Keep()
    return do.Answer(2) if see("v1 is last") else do.Walk()
