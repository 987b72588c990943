"""Reverse a list in place, with one variable from each end.

`i` starts at the first position and `j` at the last. A program sees how they compare, and whether the values under them
have been swapped:

    surpass evaluate teacher:swap_and_close --task examples/reverse.py --sizes 5,10,1000
    surpass trace teacher:swap_and_close --task examples/reverse.py --instance 4,7,2,9
    surpass learn examples/reverse.py --method rl
"""

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Action, Do, Instruction, See, State, kernel

R = surpass.registers("i", "j", "is_swapped")


@kernel
def start(state: State) -> int:
    """Begin with a variable at each end; a list of one value or none is its own reverse."""
    state.registers[R.j] = state.registers[SIZE] - 1
    return RUNNING if state.registers[SIZE] > 1 else SOLVED


@kernel
def position(state: State, v: int) -> int:
    """Return where a variable stands."""
    return state.registers[v]


@kernel
def is_swapped(state: State) -> bool:
    """Tell whether the values under the variables have been swapped."""
    return state.registers[R.is_swapped] == 1


@kernel
def swap(state: State) -> int:
    """Swap the values under the variables."""
    i, j = state.registers[R.i], state.registers[R.j]
    state.items[i], state.items[j] = state.items[j], state.items[i]
    state.registers[R.is_swapped] = 1 - state.registers[R.is_swapped]
    return RUNNING


@kernel
def close(state: State) -> int:
    """Move both variables inwards, no further than the ends of the list."""
    state.registers[R.i] = min(state.registers[R.i] + 1, state.registers[SIZE] - 1)
    state.registers[R.j] = max(state.registers[R.j] - 1, 0)
    state.registers[R.is_swapped] = 0
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: the list is reversed."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the list is the one before backwards."""
    is_reversed, size = True, state.registers[SIZE]
    for k in range(size):
        is_reversed &= state.items[k] == before[size - 1 - k]
    return is_reversed


REVERSE = surpass.register_task(
    surpass.Task(
        name="reverse",
        summary="reverse a list in place",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("i", position, R.i), surpass.value("j", position, R.j)),
                surpass.flag("swapped", is_swapped),
            ],
            [
                Instruction("Swap", does=swap),
                Instruction("Close", does=close),
                Instruction("Done", does=done),
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


@surpass.teacher(REVERSE)
def swap_and_close(see: See, do: Do) -> Action:
    """Swap the values under both ends, move the ends inwards, and so on until they meet."""
    if see("i >= j"):
        return do.Done()
    return do.Close() if see("swapped") else do.Swap()
