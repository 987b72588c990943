"""Book a room: of meetings with a start and an end, in the order of their starts, take as many as do not overlap.

`at` looks at one meeting after the other, and `last` is the latest of those taken. The score is how many are taken:

    surpass evaluate teacher:first_come --task examples/unseen/booking.py --sizes 5,10,1000
    surpass trace teacher:first_come --task examples/unseen/booking.py --instance 1,2,4:9,3,6
    surpass apply teacher:first_come --task examples/unseen/booking.py --data my-lists.csv

A program must end by itself, and what it takes must not overlap. Steps cost nothing.

The teacher takes a meeting whenever the room is free, in n + 1 steps and one for each meeting taken. On the lists that
`surpass evaluate` draws it takes 3.88, 16.51 and 165.04 meetings on average at n = 20, 100 and 1000: about n / 6.

Best known by hand: as many meetings as there can be, on every list. On the same lists these are 5.41, 25.17 and 249.04
on average: about n / 4.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SCORE, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("at", "last")

LENGTH = 10
"""The longest meeting that is usually drawn."""

# Items: the starts [n], the ends [n], and whether each meeting is taken [n].


@kernel
def start(state: State) -> int:
    """Begin at the first meeting with none taken."""
    state.registers[R.last] = -1
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def none_taken(state: State) -> bool:
    """Tell whether no meeting is taken."""
    return state.registers[R.last] < 0


@kernel
def is_past_end(state: State) -> bool:
    """Tell whether every meeting lies before."""
    return state.registers[R.at] == state.registers[SIZE]


@kernel
def is_last(state: State) -> bool:
    """Tell whether the meeting looked at is the last one taken."""
    return state.registers[R.at] == state.registers[R.last]


@kernel
def start_of(state: State, v: int) -> int:
    """Return when a meeting starts; behind the last one there is none, and the last one's stands in for it."""
    return state.items[min(state.registers[v], state.registers[SIZE] - 1)]


@kernel
def end_of(state: State, v: int) -> int:
    """Return when a meeting ends; behind the last one there is none, and the last one's stands in for it."""
    size = state.registers[SIZE]
    return state.items[size + min(state.registers[v], size - 1)]


@kernel
def move(state: State, step: int) -> int:
    """Go to the next meeting or the one before."""
    state.registers[R.at] = min(max(state.registers[R.at] + step, 0), state.registers[SIZE])
    return RUNNING


@kernel
def take(state: State) -> int:
    """Take the meeting looked at, if it comes behind the last one taken."""
    at = state.registers[R.at]
    if not is_past_end(state) and at > state.registers[R.last]:
        state.items[2 * state.registers[SIZE] + at] = 1
        state.registers[R.last] = at
        state.reals[SCORE] += 1.0
    return RUNNING


@kernel
def drop(state: State) -> int:
    """Give up the last meeting taken; the one taken before it becomes the last."""
    if not none_taken(state):
        taken = 2 * state.registers[SIZE]
        state.items[taken + state.registers[R.last]] = 0
        state.reals[SCORE] -= 1.0
        while state.registers[R.last] >= 0 and state.items[taken + state.registers[R.last]] == 0:
            state.registers[R.last] -= 1
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: these meetings are taken."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether no two meetings taken overlap, and the score is how many there are."""
    size = state.registers[SIZE]
    count, last = 0, -1
    for k in range(size):
        if state.items[2 * size + k] == 1:
            if last >= 0 and before[k] < before[size + last]:
                return False
            count, last = count + 1, k
    return state.reals[SCORE] == count


def most_meetings(instances: Instances) -> NDArray[np.float64]:
    """Return how many meetings can be taken of each instance, from the best score up to each end."""
    best = np.zeros(instances.count)
    for row, size in enumerate(instances.sizes):
        starts, ends = instances.items[row, : 2 * size].reshape(2, size)
        order = np.argsort(ends, kind="stable")
        most = np.zeros(size + 1)
        for k, before in enumerate(np.searchsorted(ends[order], starts[order], side="right")):
            most[k + 1] = max(most[k], most[before] + 1)
        best[row] = most[size]
    return best


def lay_out(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Instances:
    """Return starts and ends [B, n] as instances: in the order of the starts, with none taken."""
    count, size = starts.shape
    order = np.argsort(starts, axis=1, kind="stable")
    columns = [np.take_along_axis(starts, order, axis=1), np.take_along_axis(ends, order, axis=1)]
    return Instances(np.full(count, size), np.hstack([*columns, np.zeros_like(starts)]), np.zeros((count, 1)))


def draw_meetings(request: surpass.Request) -> Instances:
    """Draw about one start for each unit of time, and lengths up to ten."""
    shape = (request.count, request.size)
    starts = request.stream("starts").integers(0, request.size, shape)
    return lay_out(starts, starts + request.stream("lengths").integers(1, LENGTH + 1, shape))


def draw_long_and_short(request: surpass.Request) -> Instances:
    """Draw short meetings, and one in four that takes as long as half of them together."""
    shape = (request.count, request.size)
    starts = request.stream("starts of all").integers(0, 2 * request.size + 1, shape)
    is_long = request.stream("long").integers(0, 4, shape) == 0
    return lay_out(starts, starts + np.where(is_long, request.size + 1, 1))


def draw_nested(request: surpass.Request) -> Instances:
    """Draw meetings each of which lies within the one before, and some starts and ends that tie."""
    shape = (request.count, request.size)
    steps = request.stream("steps").integers(0, 2, (request.count, 2, request.size))
    starts = np.cumsum(steps[:, 0], axis=1)
    return lay_out(starts, 2 * request.size + 2 - np.cumsum(steps[:, 1], axis=1).reshape(shape))


def draw_chain(request: surpass.Request) -> Instances:
    """Draw meetings that start when the one before ends: all of them can be taken."""
    lengths = request.stream("chain").integers(1, LENGTH + 1, (request.count, request.size))
    ends = np.cumsum(lengths, axis=1)
    return lay_out(ends - lengths, ends)


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return whole starts and ends as an instance."""
    starts, ends = parts
    if (
        len(starts) != len(ends)
        or list(starts) != sorted(starts)
        or any(a >= b for a, b in zip(starts, ends, strict=True))
    ):
        raise ValueError("there must be as many ends as starts, the starts in order, and each end after its start")
    if any(time != int(time) for time in (*starts, *ends)):
        raise ValueError("the times must be whole numbers")
    return lay_out(*np.array([[starts], [ends]], np.int64).reshape(2, 1, len(starts))), ()


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    size = int(instance.sizes[0])
    return ":".join(",".join(map(str, instance.items[0, k * size : (k + 1) * size])) for k in range(2))


def item_name(index: int, size: int) -> str:
    """Return the name of an item: an element of one of the three arrays."""
    array = min(index // size, 2)
    return f"{('start', 'end', 'taken')[array]}[{index - array * size}]"


FREE = surpass.value("none taken", none_taken)

BOOKING = surpass.register_task(
    surpass.Task(
        name="booking",
        summary="take as many meetings as do not overlap",
        interface=surpass.Interface(
            [
                surpass.comparison(
                    surpass.value("start[at]", start_of, R.at),
                    surpass.value("end[last]", end_of, R.last),
                    values=("<", "=", ">", "none"),
                    edge=FREE,
                ),
                surpass.comparison(
                    surpass.value("end[at]", end_of, R.at),
                    surpass.value("end[last]", end_of, R.last),
                    values=("<", "=", ">", "none"),
                    edge=FREE,
                ),
                surpass.flag("at is last", is_last),
                surpass.flag("at is past the end", is_past_end),
            ],
            [
                Instruction("Move", surpass.binary("by", STEPS), does=move),
                Instruction("Take", does=take),
                Instruction("Drop", does=drop),
                Instruction("Done", does=done),
            ],
        ),
        start=start,
        memory=surpass.Memory(
            registers=R,
            reals=("meetings",),
            item_width=lambda size: 3 * size,
            item_name=item_name,
            results={"taken": ""},
        ),
        inputs=surpass.Inputs(
            draw={
                "uniform": draw_meetings,
                "long-and-short": draw_long_and_short,
                "nested": draw_nested,
                "chain": draw_chain,
            },
            read=read,
            write=write,
            written="the starts in order and the ends of meetings, such as 1,2,4:9,3,6",
        ),
        is_right=is_right,
        optimum=most_meetings,
        limit="20n",
        reward=surpass.Reward(step_cost=0.0, progress=1.0, wrong_cost=100.0),
        measure="reward",
    )
)


@surpass.teacher(BOOKING)
def first_come(see: See, do: Do) -> Action:
    """Take each meeting that starts when the last one taken is over."""
    if see("at is past the end"):
        return do.Done()
    if see("at is last"):
        return do.Move(+1)
    return do.Take() if see("none taken") or see("start[at] >= end[last]") else do.Move(+1)
