"""Find the peak of a list that rises to it and falls behind it.

`v1` starts at the first position, `v2` and `v3` at the last; a program sees how they stand and where the list rises:

    surpass evaluate teacher:climb --task examples/unseen/peak.py --sizes 5,10,1000
    surpass trace teacher:climb --task examples/unseen/peak.py --instance 2,5,9,4,1

The teacher takes p + 1 steps, where p is the position of the peak, counted from 0: about (n + 1) / 2 on average. On the
lists that `surpass evaluate` draws these are 10.36, 50.25 and 486.71 steps at n = 20, 100 and 1000.

Best known by hand: at most ceil(log2(n - 1)) + 2 steps for two values or more. On the same lists the mean is 6.14, 8.66
and 11.96 steps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("v1", "v2", "v3", "answer")


@kernel
def start(state: State) -> int:
    """Begin with v1 at the first position and the others at the last; an empty list has no peak."""
    state.registers[R.v2] = max(state.registers[SIZE] - 1, 0)
    state.registers[R.v3] = state.registers[R.v2]
    state.registers[R.answer] = -1
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def position(state: State, v: int) -> int:
    """Return where a variable stands."""
    return state.registers[v]


@kernel
def rises(state: State, v: int) -> bool:
    """Tell whether a greater value follows the one under a variable."""
    at = state.registers[v]
    return at < state.registers[SIZE] - 1 and state.items[at] < state.items[at + 1]


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable, no further than the ends of the list."""
    state.registers[v] = min(max(state.registers[v] + step, 0), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def put_between(state: State, v: int, left: int, right: int) -> int:
    """Put a variable in the middle between two, or where they stand if they stand together."""
    state.registers[v] = (state.registers[left] + state.registers[right]) // 2
    return RUNNING


@kernel
def answer(state: State, v: int) -> int:
    """End: the peak is under a variable."""
    state.registers[R.answer] = state.registers[v]
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether no value is greater than the one at the answer."""
    is_greatest = True
    for k in range(state.registers[SIZE]):
        is_greatest &= before[k] <= before[state.registers[R.answer]]
    return is_greatest


def rise_and_fall(request: surpass.Request, peaks: NDArray[np.int64]) -> Instances:
    """Return lists of the values 0 to n - 1 with the greatest at some positions [B]; the others lie where they may."""
    count, size = request.count, request.size
    order = request.stream("sides").permuted(np.tile(np.arange(size - 1), (count, 1)), axis=1)
    is_left = order < peaks[:, None]
    values = np.arange(size - 1)
    # In the order of these keys the left values rise and the right ones fall.
    keys = np.sort(np.hstack([np.where(is_left, values, 2 * size - values), np.full((count, 1), size - 1)]), axis=1)
    return Instances(np.full(count, size), np.where(keys < size, keys, 2 * size - keys), np.zeros((count, 1)))


def draw_anywhere(request: surpass.Request) -> Instances:
    """Draw lists whose peak is at any position."""
    return rise_and_fall(request, request.stream("peaks").integers(0, request.size, request.count))


def draw_at_an_end(request: surpass.Request) -> Instances:
    """Draw lists whose peak is at one of the ends: sorted and reversed ones."""
    return rise_and_fall(request, (request.size - 1) * request.stream("ends").integers(0, 2, request.count))


def draw_in_the_middle(request: surpass.Request) -> Instances:
    """Draw lists whose peak is in the middle."""
    return rise_and_fall(request, np.full(request.count, request.size // 2))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return a list as an instance, each value replaced by its rank, and the texts of the ranks."""
    (values,) = parts
    top = list(values).index(max(values)) if values else 0
    left, right = list(values[: top + 1]), list(values[top:])
    if left != sorted(set(left)) or right != sorted(set(right), reverse=True):
        raise ValueError("the list must rise to its greatest value and fall behind it")
    distinct = sorted(set(values))
    ranks = np.array([distinct.index(value) for value in values], np.int64).reshape(1, len(values))
    return Instances(np.array([len(values)]), ranks, np.zeros((1, 1))), tuple(map(str, distinct))


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    return ",".join(map(str, instance.items[0, : instance.sizes[0]]))


V1, V2, V3 = (surpass.value(f"v{k}", position, v) for k, v in enumerate((R.v1, R.v2, R.v3), 1))


PEAK = surpass.register_task(
    surpass.Task(
        name="peak",
        summary="find the peak of a list that rises and then falls",
        interface=surpass.Interface(
            [
                surpass.comparison(V1, V2),
                surpass.comparison(V1, V3),
                surpass.comparison(V2, V3),
                surpass.flag("v1 rises", rises, R.v1),
                surpass.flag("v2 rises", rises, R.v2),
                surpass.flag("v3 rises", rises, R.v3),
            ],
            [
                Instruction("Move", surpass.variable("v", R.v1, R.v2, R.v3), surpass.binary("by", STEPS), does=move),
                Instruction(
                    "PutBetween",
                    surpass.variable("v", R.v1, R.v2, R.v3),
                    surpass.variable("left", R.v1, R.v2, R.v3),
                    surpass.variable("right", R.v1, R.v2, R.v3),
                    does=put_between,
                ),
                Instruction("Answer", surpass.variable("v", R.v1, R.v2, R.v3), does=answer),
            ],
        ),
        start=start,
        memory=surpass.Memory(registers=R, results={"answer": ""}),
        inputs=surpass.Inputs(
            draw={"uniform": draw_anywhere, "at-an-end": draw_at_an_end, "in-the-middle": draw_in_the_middle},
            read=read,
            write=write,
            written="a list that rises and then falls, such as 2,5,9,4,1",
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
        sizes=(5, 10, 20, 100, 1000),
        training_sizes=(10, 40),
    )
)


@surpass.teacher(PEAK)
def climb(see: See, do: Do) -> Action:
    """Walk with v1 for as long as the list rises."""
    return do.Move(1, +1) if see("v1 rises") else do.Answer(1)
