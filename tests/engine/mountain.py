"""A right task that uses everything a task can declare; tests plant faults in its text, one at a time.

Find a highest value of a list: a variable climbs, calls remember where it was, and the last item counts the swaps.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SCORE, SIZE, SOLVED, STEPS, WRONG, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("i", "j", "answer")
TOTAL, HEIGHTS = 1, 2
TABLE = (1, 2, 4)


@kernel
def clamp(value: int, size: int) -> int:
    """Return the nearest position of a list."""
    return min(max(value, 0), size - 1)


@kernel
def start(state: State) -> int:
    """Begin at the first position, and note the heights."""
    size = state.registers[SIZE]
    state.registers[R.answer] = -1
    for k in range(size):
        state.reals[HEIGHTS + k] = state.items[k]
        state.reals[TOTAL] += state.items[k]
    return SOLVED if size == 0 else RUNNING


@kernel
def zone(state: State, v: int) -> int:
    """Return 0 at the first position, 2 at the last and 1 between."""
    if state.registers[v] == 0:
        return 0
    return 2 if state.registers[v] == state.registers[SIZE] - 1 else 1


@kernel
def item(state: State, v: int) -> int:
    """Return the value under a variable."""
    return state.items[state.registers[v]]


@kernel
def height_after(state: State, v: int) -> float:
    """Return the height behind a variable."""
    return state.reals[HEIGHTS + state.registers[v] + 1]


@kernel
def at_end(state: State, v: int) -> bool:
    """Tell whether nothing is behind a variable."""
    return state.registers[v] == state.registers[SIZE] - 1


@kernel
def together(state: State) -> bool:
    """Tell whether both variables stand at the same position."""
    return state.registers[R.i] == state.registers[R.j]


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable, no further than the ends."""
    state.registers[v] = clamp(state.registers[v] + step, state.registers[SIZE])
    return RUNNING


@kernel
def swap(state: State) -> int:
    """Swap the values under the variables, and count it."""
    i, j = state.registers[R.i], state.registers[R.j]
    state.items[i], state.items[j] = state.items[j], state.items[i]
    state.reals[HEIGHTS + i], state.reals[HEIGHTS + j] = state.items[i], state.items[j]
    state.items[state.registers[SIZE]] += TABLE[i % 3]
    return RUNNING


@kernel
def call(state: State) -> int:
    """Remember both variables."""
    surpass.enter(state, 1, R.j)
    return RUNNING


@kernel
def back(state: State) -> int:
    """Go back to where the last call was made; j becomes where i stood."""
    surpass.leave(state, state.registers[R.i])
    return RUNNING


@kernel
def stop(state: State) -> int:
    """End: a highest value is under i."""
    state.registers[R.answer] = state.registers[R.i]
    for k in range(state.registers[SIZE]):
        if state.items[k] > item(state, R.i):
            return WRONG
    state.reals[SCORE] = 1.0
    return SOLVED


def find_wrong(
    before: Instances, registers: NDArray[np.int64], items: NDArray[np.int64], reals: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell which answers are not highest."""
    wrong = np.zeros(before.count, np.bool_)
    for k, size in enumerate(before.sizes.tolist()):
        if size:
            wrong[k] = items[k, registers[k, R.answer]] != items[k, :size].max()
    return wrong


def lay_out(lists: NDArray[np.int64]) -> Instances:
    """Return lists as instances, each with a counter behind it."""
    count, size = lists.shape
    items = np.hstack([lists, np.zeros((count, 1), np.int64)])
    return Instances(np.full(count, size), items, np.zeros((count, 2 + size)))


def draw(request: surpass.Request) -> Instances:
    """Draw lists of small values."""
    return lay_out(request.stream("values").integers(0, 9, (request.count, request.size)))


def every(size: int) -> Iterator[Instances]:
    """Yield every list of 0, 1 and 2."""
    yield lay_out(np.array(list(np.ndindex(*[3] * size)), np.int64).reshape(3**size, size))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return one list as an instance."""
    (values,) = parts
    return lay_out(np.array([values], np.int64).reshape(1, len(values))), ()


def write(instance: Instances) -> str:
    """Return an instance as text."""
    return ",".join(map(str, instance.items[0, : instance.sizes[0]].tolist()))


MOUNTAIN = surpass.register_task(
    surpass.Task(
        name="mountain",
        summary="find a highest value of a list",
        interface=surpass.Interface(
            [
                surpass.Feature("zone", ("first", "inner", "last"), zone, (R.i,)),
                surpass.comparison(
                    surpass.value("A[i]", item, R.i),
                    surpass.value("A[i+1]", height_after, R.i),
                    values=("<", "=", ">", "end"),
                    edge=surpass.value("i at end", at_end, R.i),
                ),
                surpass.flag("i = j", together),
                surpass.CurrentFunction(),
                surpass.PREVIOUS_ACTION,
            ],
            [
                Instruction("Move", surpass.variable("v", R.i, R.j), surpass.binary("by", STEPS), does=move),
                Instruction("Swap", does=swap),
                Instruction("Call", does=call),
                Instruction("Back", does=back),
                Instruction("Stop", does=stop),
            ],
        ),
        start=start,
        memory=surpass.Memory(
            registers=R,
            saved=2,
            reals=("score", "total"),
            item_width=lambda size: size + 1,
            real_width=lambda size: 2 + size,
        ),
        inputs=surpass.Inputs(
            draw={"small": draw},
            small=surpass.Enumeration(
                what="every list of 0, 1 and 2", instances=every, count=lambda size: 3**size, largest=4
            ),
            read=read,
            write=write,
        ),
        find_wrong=find_wrong,
        limit="20n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=100.0),
        sizes=(5, 10),
        training_sizes=(3, 6),
        default_teacher="climb",
    )
)


@surpass.teacher(MOUNTAIN)
def climb(see: See, do: Do) -> Action:
    """Climb to the next peak and stop, which is right on a list with one peak."""
    return do.Move(1, +1) if see("A[i] <= A[i+1]") else do.Stop()
