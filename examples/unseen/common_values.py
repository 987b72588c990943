"""Write the values of an ordered list A that also stand in an ordered list B of the same length into an output C.

`i` stands at a value of A and `j` at one of B; what is taken goes to the end of C:

    surpass evaluate teacher:look_up_each --task examples/unseen/common_values.py --sizes 5,10,100
    surpass trace teacher:look_up_each --task examples/unseen/common_values.py --instance 1,4,4:2,4,9
    surpass apply teacher:look_up_each --task examples/unseen/common_values.py --data my-lists.csv

The teacher takes 2n steps, and for each value of A one more for each smaller value of B: about n^2 / 2 + 2n. On the
lists that `surpass evaluate` draws these are 235.75, 5217.39 and 503716.79 steps at n = 20, 100 and 1000.

Best known by hand: p + q + 1 steps. Where A has the greatest value of both lists, p is how many values of A are no
greater than the greatest of B, and q is n. Elsewhere p is n, and q is how many values of B are smaller than the
greatest of A. On the same lists the mean is 39.34, 198.87 and 1998.79 steps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("i", "j", "taken")

NOTHING = -1
"""What stands in the output where nothing was written."""

# Items: A [n], B [n] and C [n].


@kernel
def start(state: State) -> int:
    """Begin at the first values; empty lists have none in common."""
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def is_past_end(state: State, v: int) -> bool:
    """Tell whether a variable stands behind its list."""
    return state.registers[v] == state.registers[SIZE]


@kernel
def item(state: State, v: int) -> int:
    """Return the value under a variable, or the last one of its list where the variable stands behind it."""
    size = state.registers[SIZE]
    return state.items[(v == R.j) * size + min(state.registers[v], size - 1)]


@kernel
def move(state: State, v: int, step: int) -> int:
    """Move a variable, no further than the first position and the one behind the list."""
    state.registers[v] = min(max(state.registers[v] + step, 0), state.registers[SIZE])
    return RUNNING


@kernel
def go_back(state: State, v: int) -> int:
    """Move a variable to the first position."""
    state.registers[v] = 0
    return RUNNING


@kernel
def take(state: State) -> int:
    """Write the value under i behind those taken, if there is room for it, and go on to the next."""
    size = state.registers[SIZE]
    if not is_past_end(state, R.i) and state.registers[R.taken] < size:
        state.items[2 * size + state.registers[R.taken]] = item(state, R.i)
        state.registers[R.taken] += 1
    return move(state, R.i, 1)


@kernel
def done(state: State) -> int:
    """End: the output is complete."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the output has the values of A that stand in B, in order, and no others."""
    size = state.registers[SIZE]
    count = place = 0
    for k in range(size):
        while place < size and before[size + place] < before[k]:
            place += 1
        if place < size and before[size + place] == before[k]:
            if count == state.registers[R.taken] or state.items[2 * size + count] != before[k]:
                return False
            count += 1
    return count == state.registers[R.taken]


def find_wrong(
    before: Instances, registers: NDArray[np.int64], items: NDArray[np.int64], reals: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Say it a second time: the output begins with what NumPy finds in both lists."""
    wrong = np.zeros(before.count, np.bool_)
    for row, size in enumerate(before.sizes):
        first, second = before.items[row, : 2 * size].reshape(2, size)
        wanted = first[np.isin(first, second)]
        wrong[row] = not np.array_equal(items[row, 2 * size :][: registers[row, R.taken]], wanted)
    return wrong


def lay_out(lists: NDArray[np.int64]) -> Instances:
    """Return lists [B, 2n] as instances: each half in order, and an output in which nothing is written."""
    count, size = len(lists), lists.shape[1] // 2
    halves = np.sort(lists.reshape(count, 2, size), axis=2).reshape(count, 2 * size)
    return Instances(np.full(count, size), np.hstack([halves, np.full((count, size), NOTHING)]), np.zeros((count, 1)))


def draw_values(request: surpass.Request) -> Instances:
    """Draw values from as many numbers as there are positions: some stand in both lists."""
    return lay_out(request.stream("values").integers(0, 2 * request.size, (request.count, 2 * request.size)))


def draw_few_distinct(request: surpass.Request) -> Instances:
    """Draw values from five numbers: nearly all are ties."""
    return lay_out(request.stream("few").integers(0, 5, (request.count, 2 * request.size)))


def draw_same(request: surpass.Request) -> Instances:
    """Draw one list and take it twice."""
    values = request.stream("same").integers(0, 2 * request.size, (request.count, request.size))
    return lay_out(np.hstack([values, values]))


def draw_apart(request: surpass.Request) -> Instances:
    """Draw lists of which one has only smaller values than the other."""
    values = request.stream("apart").integers(0, request.size + 1, (request.count, 2, request.size))
    is_above = request.stream("above").integers(0, 2, request.count)
    values[np.arange(request.count), is_above] += request.size + 1
    return lay_out(values.reshape(request.count, 2 * request.size))


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


COMMON_VALUES = surpass.register_task(
    surpass.Task(
        name="common-values",
        summary="write the values of one ordered list that also stand in another",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("A[i]", item, R.i), surpass.value("B[j]", item, R.j)),
                surpass.flag("i is past the end", is_past_end, R.i),
                surpass.flag("j is past the end", is_past_end, R.j),
                surpass.PREVIOUS_ACTION,
            ],
            [
                Instruction("Move", surpass.variable("v", R.i, R.j), surpass.binary("by", STEPS), does=move),
                Instruction("GoBack", surpass.variable("v", R.i, R.j), does=go_back),
                Instruction("Take", does=take),
                Instruction("Done", does=done),
            ],
        ),
        start=start,
        memory=surpass.Memory(
            registers=R, item_width=lambda size: 3 * size, item_name=item_name, results={"C": "taken"}
        ),
        inputs=surpass.Inputs(
            draw={"uniform": draw_values, "few-distinct": draw_few_distinct, "same": draw_same, "apart": draw_apart},
            read=read,
            write=write,
            written="two ordered lists of one length, such as 1,4,4:2,4,9",
        ),
        is_right=is_right,
        find_wrong=find_wrong,
        limit="10n^2",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
        training_sizes=(5, 15),
    )
)


@surpass.teacher(COMMON_VALUES)
def look_up_each(see: See, do: Do) -> Action:
    """Look for each value of A in B, from the first position on."""
    if see("i is past the end"):
        return do.Done()
    if see.previous == do.Take() or see.previous == do.Move(1, +1):
        return do.GoBack(2)
    if see("j is past the end") or see("A[i] < B[j]"):
        return do.Move(1, +1)
    return do.Take() if see("A[i] = B[j]") else do.Move(2, +1)
