"""Sort a list of three colours, 0, 1 and 2, in one pass (Dijkstra's Dutch national flag).

Before `low` all are 0, behind `high` all are 2, and `at` looks at one after the other:

    surpass evaluate teacher:one_pass --task examples/dutch_flag.py --sizes 5,10,1000
    surpass trace teacher:one_pass --task examples/dutch_flag.py --instance 2,0,1,2,0
    surpass learn examples/dutch_flag.py --method rl
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("low", "at", "high")


@kernel
def start(state: State) -> int:
    """Begin with `high` at the last position and the others at the first; one value is in order."""
    state.registers[R.high] = state.registers[SIZE] - 1
    return RUNNING if state.registers[SIZE] > 1 else SOLVED


@kernel
def colour(state: State) -> int:
    """Return the colour under `at`; behind the list it is 1, which leaves nothing to swap."""
    return state.items[state.registers[R.at]] if state.registers[R.at] < state.registers[SIZE] else 1


@kernel
def position(state: State, v: int) -> int:
    """Return where a variable stands."""
    return state.registers[v]


@kernel
def swap(state: State, v: int) -> int:
    """Swap the value under `at` with that under `low`, and move both up; or with that under `high`, which moves."""
    at, other, size = state.registers[R.at], state.registers[v], state.registers[SIZE]
    if at < size and other >= 0:
        state.items[at], state.items[other] = state.items[other], state.items[at]
        if v == R.low:
            state.registers[R.low] = min(other + 1, size - 1)
            state.registers[R.at] = at + 1
        else:
            state.registers[R.high] = other - 1
    return RUNNING


@kernel
def move(state: State, step: int) -> int:
    """Move `at`, no further than the first position and the one behind the list."""
    state.registers[R.at] = min(max(state.registers[R.at] + step, 0), state.registers[SIZE])
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: the list is in order."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the colours are in order, and as many of each as before."""
    twos = ones = 0
    for k in range(state.registers[SIZE]):
        if k > 0 and state.items[k - 1] > state.items[k]:
            return False
        twos += (before[k] == 2) - (state.items[k] == 2)
        ones += (before[k] == 1) - (state.items[k] == 1)
    return twos == 0 and ones == 0


def draw(request: surpass.Request) -> Instances:
    """Draw colours."""
    colours = request.stream("colours").integers(0, 3, (request.count, request.size))
    return Instances(np.full(request.count, request.size), colours, np.zeros((request.count, 1)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return a written list of colours as an instance; surpass itself says what is expected if it is none."""
    (values,) = parts
    if not {*values} <= {0, 1, 2}:
        raise ValueError("a colour is 0, 1 or 2")
    return Instances(np.array([len(values)]), np.array([values], np.int64), np.zeros((1, 1))), ("0", "1", "2")


DUTCH_FLAG = surpass.register_task(
    surpass.Task(
        name="dutch-flag",
        summary="sort a list of three colours in one pass",
        interface=surpass.Interface(
            [
                surpass.Feature("A[at]", (0, 1, 2), colour),
                surpass.comparison(surpass.value("at", position, R.at), surpass.value("high", position, R.high)),
            ],
            [
                Instruction("Swap", surpass.variable("v", R.low, R.high), does=swap),
                Instruction("Move", surpass.binary("by", STEPS), does=move),
                Instruction("Done", does=done),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R),
        inputs=surpass.Inputs(
            draw={"uniform": draw}, read=read, write=surpass.list_inputs().write, written="colours such as 2,0,1,2,0"
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(DUTCH_FLAG)
def one_pass(see: See, do: Do) -> Action:
    """Bring each 0 down and each 2 up, and pass over each 1."""
    if see("at > high"):
        return do.Done()
    if see("A[at] = 0"):
        return do.Swap(1)
    return do.Swap(2) if see("A[at] = 2") else do.Move(+1)
