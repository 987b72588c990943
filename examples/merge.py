"""Merge two ordered lists of one length into a third, the output.

`i`, `j` and `k` stand at the next value of the lists `A` and `B` and at the next place of the output `C`:

    surpass evaluate teacher:take_smaller --task examples/merge.py --sizes 5,10,1000
    surpass trace teacher:take_smaller --task examples/merge.py --instance 1,4,4:2,4,9
    surpass learn examples/merge.py --method rl
    surpass apply teacher:take_smaller --task examples/merge.py --data my-lists.csv
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("i", "j", "k")

# Items: A [n], B [n] and C [2n].


@kernel
def start(state: State) -> int:
    """Begin at the first values; empty lists are merged."""
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def is_used_up(state: State, v: int) -> bool:
    """Tell whether all values of a list were taken."""
    return state.registers[v] == state.registers[SIZE]


@kernel
def item(state: State, v: int) -> int:
    """Return the next value of a list, or its last one when all were taken."""
    size = state.registers[SIZE]
    return state.items[(v == R.j) * size + min(state.registers[v], size - 1)]


@kernel
def take(state: State, v: int) -> int:
    """Copy the next value of a list to the output."""
    if not is_used_up(state, v):
        state.items[2 * state.registers[SIZE] + state.registers[R.k]] = item(state, v)
        state.registers[v] += 1
        state.registers[R.k] += 1
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: the output is complete."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the output has all values of both lists, in order."""
    size = state.registers[SIZE]
    i = j = 0
    for k in range(2 * size):
        is_first = j == size or (i < size and before[i] <= before[size + j])
        if state.items[2 * size + k] != (before[i] if is_first else before[size + j]):
            return False
        i += is_first
        j += not is_first
    return state.registers[R.k] == 2 * size


def lay_out(lists: NDArray[np.int64]) -> Instances:
    """Return lists [B, 2n] as instances: each half in order, and behind them an output of -1."""
    count, size = len(lists), lists.shape[1] // 2
    halves = np.sort(lists.reshape(count, 2, size), axis=2).reshape(count, 2 * size)
    return Instances(np.full(count, size), np.hstack([halves, np.full_like(halves, -1)]), np.zeros((count, 1)))


def draw(request: surpass.Request) -> Instances:
    """Draw values from as many numbers as there are positions: some occur in both lists."""
    return lay_out(request.stream("values").integers(0, 2 * request.size, (request.count, 2 * request.size)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return two lists as an instance, each value replaced by its rank, and the texts of the ranks."""
    first, second = parts
    if len(first) != len(second) or list(first) != sorted(first) or list(second) != sorted(second):
        raise ValueError("the lists must be in order and of one length")
    distinct = sorted({*first, *second})
    ranks = [distinct.index(value) for value in (*first, *second)]
    return lay_out(np.array([ranks], np.int64).reshape(1, len(ranks))), tuple(map(str, distinct))


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    size = int(instance.sizes[0])
    return ":".join(",".join(map(str, instance.items[0, k * size : (k + 1) * size])) for k in range(2))


def item_name(index: int, size: int) -> str:
    """Return the name of an item: an element of one of the three arrays."""
    array = min(index // size, 2)
    return f"{'ABC'[array]}[{index - array * size}]"


MERGE = surpass.register_task(
    surpass.Task(
        name="merge",
        summary="merge two ordered lists of one length into a third",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("A[i]", item, R.i), surpass.value("B[j]", item, R.j)),
                surpass.flag("A is used up", is_used_up, R.i),
                surpass.flag("B is used up", is_used_up, R.j),
            ],
            [Instruction("Take", surpass.variable("v", R.i, R.j), does=take), Instruction("Done", does=done)],
        ),
        start=start,
        memory=surpass.Memory(registers=R, item_width=lambda size: 4 * size, item_name=item_name, results={"C": ""}),
        inputs=surpass.Inputs(
            draw={"uniform": draw}, read=read, write=write, written="two ordered lists of one length, such as 1,4:2,9"
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
        drawing=surpass.Drawing(positions=("A[i]", "B[j]", "C[k]")),
    )
)


@surpass.teacher(MERGE)
def take_smaller(see: See, do: Do) -> Action:
    """Take the smaller of the next values, and what is left of one list when the other is used up."""
    if see("A is used up"):
        return do.Done() if see("B is used up") else do.Take(2)
    return do.Take(1) if see("B is used up") or see("A[i] <= B[j]") else do.Take(2)
