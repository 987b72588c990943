"""Partition: with the first value as the pivot, bring every smaller value before every greater one.

`i` starts behind the pivot and `j` at the last position; a swap exchanges the values under them:

    surpass evaluate teacher:from_both_ends --task examples/partition.py --sizes 5,10,1000
    surpass trace teacher:from_both_ends --task examples/partition.py --instance 4,7,2,9,1
"""

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("i", "j")


@kernel
def start(state: State) -> int:
    """Begin; a list of one value or none is partitioned."""
    state.registers[R.i] = 1
    state.registers[R.j] = state.registers[SIZE] - 1
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
def pivot(state: State) -> int:
    """Return the first value, which no instruction moves."""
    return state.items[0]


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable, no further than the values behind the pivot."""
    state.registers[v] = min(max(state.registers[v] + step, 1), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def swap(state: State) -> int:
    """Swap the values under the variables."""
    i, j = state.registers[R.i], state.registers[R.j]
    state.items[i], state.items[j] = state.items[j], state.items[i]
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: no smaller value stands behind a greater one."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether no smaller value stands behind a greater one."""
    has_greater = False
    for k in range(1, state.registers[SIZE]):
        if has_greater and state.items[k] < before[0]:
            return False
        has_greater = has_greater or state.items[k] > before[0]
    return True


def find_wrong(
    before: Instances, registers: NDArray[np.int64], items: NDArray[np.int64], reals: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Say it a second time, and of all: the same values as before, the smaller before the greater."""
    wrong = np.zeros(before.count, np.bool_)
    for n in np.unique(before.sizes):  # all lists of a size at once, since a check runs hundreds of thousands
        rows = before.sizes == n
        old, new = before.items[rows, :n], items[rows, :n]
        is_mixed = np.maximum.accumulate(new > old[:, :1], axis=1) & (new < old[:, :1])
        is_other = np.sort(new, axis=1) != np.sort(old, axis=1)
        wrong[rows] = (is_mixed | is_other | (new[:, :1] != old[:, :1])).any(axis=1)
    return wrong


I, J = surpass.value("i", position, R.i), surpass.value("j", position, R.j)
PIVOT = surpass.value("pivot", pivot)

PARTITION = surpass.register_task(
    surpass.Task(
        name="partition",
        summary="bring the values smaller than the first one before the greater ones",
        interface=surpass.Interface(
            [
                surpass.comparison(I, J),
                surpass.comparison(surpass.value("A[i]", item, R.i), PIVOT),
                surpass.comparison(surpass.value("A[j]", item, R.j), PIVOT),
            ],
            [
                Instruction("Move", surpass.variable("v", R.i, R.j), surpass.binary("by", STEPS), does=move),
                Instruction("Swap", does=swap),
                Instruction("Done", does=done),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R),
        inputs=surpass.list_inputs(),
        is_right=is_right,
        find_wrong=find_wrong,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(PARTITION)
def from_both_ends(see: See, do: Do) -> Action:
    """Pass over what is on its side already; swap when neither is; stop where the variables meet."""
    if see("i >= j"):
        return do.Done()
    if see("A[i] <= pivot"):
        return do.Move(1, +1)
    return do.Move(2, -1) if see("A[j] >= pivot") else do.Swap()
