"""Remove repeats in place: of equal values that stand beside each other, the first is kept, and the rest closes up.

`at` looks at one value after the other; the first `kept` values are the result so far:

    surpass evaluate teacher:keep_firsts --task examples/remove_repeats.py --sizes 5,10,1000
    surpass trace teacher:keep_firsts --task examples/remove_repeats.py --instance 5,5,5.5,5
    surpass apply teacher:keep_firsts --task examples/remove_repeats.py --data my-lists.csv
"""

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Action, Do, Instruction, See, State, kernel

R = surpass.registers("at", "kept")


@kernel
def start(state: State) -> int:
    """Begin with the first value kept; of no values, none are."""
    state.registers[R.kept] = min(1, state.registers[SIZE])
    state.registers[R.at] = state.registers[R.kept]
    return RUNNING if state.registers[SIZE] > 1 else SOLVED


@kernel
def is_at_end(state: State) -> bool:
    """Tell whether every value was looked at."""
    return state.registers[R.at] == state.registers[SIZE]


@kernel
def is_repeat(state: State) -> bool:
    """Tell whether the value at `at` is the last one kept."""
    return not is_at_end(state) and state.items[state.registers[R.at]] == state.items[state.registers[R.kept] - 1]


@kernel
def skip(state: State) -> int:
    """Go on to the next value."""
    state.registers[R.at] = min(state.registers[R.at] + 1, state.registers[SIZE])
    return RUNNING


@kernel
def keep(state: State) -> int:
    """Copy the value at `at` behind those kept, and go on."""
    if not is_at_end(state):
        state.items[state.registers[R.kept]] = state.items[state.registers[R.at]]
        state.registers[R.kept] += 1
    return skip(state)


@kernel
def done(state: State) -> int:
    """End: what is kept is the result."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the values kept are those that do not repeat the one before them."""
    count = 0
    for k in range(state.registers[SIZE]):
        if k == 0 or before[k] != before[k - 1]:
            if count == state.registers[R.kept] or state.items[count] != before[k]:
                return False
            count += 1
    return count == state.registers[R.kept]


REMOVE_REPEATS = surpass.register_task(
    surpass.Task(
        name="remove-repeats",
        summary="remove values that repeat the one before them, in place",
        interface=surpass.Interface(
            [surpass.flag("at the end", is_at_end), surpass.flag("repeat", is_repeat)],
            [Instruction("Keep", does=keep), Instruction("Skip", does=skip), Instruction("Done", does=done)],
        ),
        start=start,
        memory=surpass.Memory(registers=R, results={"A": "kept"}),
        inputs=surpass.list_inputs(),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(REMOVE_REPEATS)
def keep_firsts(see: See, do: Do) -> Action:
    """Skip what repeats the last value kept, and keep the rest."""
    if see("at the end"):
        return do.Done()
    return do.Skip() if see("repeat") else do.Keep()
