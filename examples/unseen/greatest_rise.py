"""Find the greatest rise of a list: two positions, the first no later than the second, whose values rise most.

`i` and `j` start at the first position; `low` and `high` are the best pair so far:

    surpass evaluate teacher:try_all --task examples/unseen/greatest_rise.py --sizes 5,10,100
    surpass trace teacher:try_all --task examples/unseen/greatest_rise.py --instance 5,1,4,2,9

The teacher takes (n - 1)(n + 2) / 2 + k + 1 steps, where k is how often it finds a better pair. On the lists that
`surpass evaluate` draws these are 215.07, 5058.17 and 500514.78 steps at n = 20, 100 and 1000.

Best known by hand: n + m + k steps for two values or more. Here m is how many values behind the first are smaller than
all before them, and k is how many rise more from the smallest before them than any earlier one does. On the same lists
the mean is 25.96, 110.32 and 1017.62 steps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("i", "j", "low", "high")

LARGEST = 10**15
"""The largest value, and how far below 0 the smallest may be."""


@kernel
def start(state: State) -> int:
    """Begin with all variables at the first position; fewer than two values do not rise."""
    return RUNNING if state.registers[SIZE] > 1 else SOLVED


@kernel
def position(state: State, v: int) -> int:
    """Return where a variable stands."""
    return state.registers[v]


@kernel
def item(state: State, v: int) -> int:
    """Return the value under a variable."""
    return state.items[state.registers[v]]


@kernel
def rise(state: State, first: int, second: int) -> int:
    """Return by how much the value under one variable is greater than that under another."""
    return item(state, second) - item(state, first)


@kernel
def is_first(state: State, v: int) -> bool:
    """Tell whether a variable stands at the first position."""
    return state.registers[v] == 0


@kernel
def is_last(state: State, v: int) -> bool:
    """Tell whether a variable stands at the last position."""
    return state.registers[v] == state.registers[SIZE] - 1


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable, no further than the ends of the list."""
    state.registers[v] = min(max(state.registers[v] + step, 0), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def join(state: State, v: int) -> int:
    """Move a variable to where the other one stands."""
    state.registers[v] = state.registers[R.i + R.j - v]
    return RUNNING


@kernel
def keep(state: State) -> int:
    """Keep the positions of i and j as the best pair."""
    state.registers[R.low] = state.registers[R.i]
    state.registers[R.high] = state.registers[R.j]
    return RUNNING


@kernel
def answer(state: State) -> int:
    """End: no pair rises more than the one that is kept."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the kept positions are in order and no value rises more from any before it."""
    size = state.registers[SIZE]
    if size < 2 or state.registers[R.low] > state.registers[R.high]:
        return size < 2
    least = before[0]
    most = 0
    for k in range(size):
        least = min(least, before[k])
        most = max(most, before[k] - least)
    return before[state.registers[R.high]] - before[state.registers[R.low]] == most


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return a list as an instance, its values as they are."""
    (values,) = parts
    if any(x != int(x) or abs(x) > LARGEST for x in values):
        raise ValueError(f"the values must be whole, and no further than {LARGEST:,} from 0")
    items = np.array([int(x) for x in values], np.int64).reshape(1, len(values))
    return Instances(np.array([len(values)]), items, np.zeros((1, 1))), ()


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    return ",".join(map(str, instance.items[0, : instance.sizes[0]]))


GREATEST_RISE = surpass.register_task(
    surpass.Task(
        name="greatest-rise",
        summary="find the two positions between which a list rises most",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("i", position, R.i), surpass.value("j", position, R.j)),
                surpass.comparison(surpass.value("A[i]", item, R.i), surpass.value("A[j]", item, R.j)),
                surpass.comparison(
                    surpass.value("A[j] - A[i]", rise, R.i, R.j), surpass.value("best", rise, R.low, R.high)
                ),
                surpass.flag("i is first", is_first, R.i),
                surpass.flag("j is last", is_last, R.j),
            ],
            [
                Instruction("Move", surpass.variable("v", R.i, R.j), surpass.binary("by", STEPS), does=move),
                Instruction("Join", surpass.variable("v", R.i, R.j), does=join),
                Instruction("Keep", does=keep),
                Instruction("Answer", does=answer),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R, results={"low": "", "high": ""}),
        inputs=surpass.Inputs(draw=surpass.list_inputs().draw, read=read, write=write),
        is_right=is_right,
        limit="10n^2",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
        training_sizes=(5, 15),
    )
)


@surpass.teacher(GREATEST_RISE)
def try_all(see: See, do: Do) -> Action:
    """Try each j with every i before it, from the nearest to the first."""
    if see("i = j"):
        return do.Answer() if see("j is last") else do.Move(2, +1)
    if see("A[j] - A[i] > best"):
        return do.Keep()
    return do.Join(1) if see("i is first") else do.Move(1, -1)
