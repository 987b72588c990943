"""Gather as much as possible in 2n steps from n bushes in a row, each of which yields half as much every time.

`at` stands at a bush. To take its yield is a step, and so is to go to the next bush or the one before. The score is all
that was taken:

    surpass evaluate teacher:empty_each --task examples/unseen/gather.py --sizes 5,10,1000
    surpass trace teacher:empty_each --task examples/unseen/gather.py --instance 100,900,0,350
    surpass apply teacher:empty_each --task examples/unseen/gather.py --data my-lists.csv

A bush yields 0 to 1000 at first. The limit is a budget: when it is used up, the score is what was gathered.

The teacher takes all of a bush before it goes on, so that it comes by one bush in five. It gathers about 200n. On the
lists that `surpass evaluate` draws these are 4195.97, 20283.99 and 199807.53 on average at n = 20, 100 and 1000.

Best known by hand: about 583n. On the same lists these are 11644.88, 58461.79 and 583198.82 on average.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SCORE, SIZE, SOLVED, STEPS, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("at")

MOST = 1000
"""The most that a bush yields."""


@kernel
def start(state: State) -> int:
    """Begin at the first bush; without one there is nothing to gather."""
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def quarter(state: State) -> int:
    """Return 0 if the bush yields nothing, else in which quarter of the possible yields its own lies, from 1 on."""
    found = state.items[state.registers[R.at]]
    return 0 if found == 0 else 1 + min(4 * found // MOST, 3)


@kernel
def neighbour(state: State, step: int) -> int:
    """Return the yield of the bush at some distance."""
    return state.items[state.registers[R.at] + step]


@kernel
def is_first(state: State) -> bool:
    """Tell whether no bush stands before this one."""
    return state.registers[R.at] == 0


@kernel
def is_last(state: State) -> bool:
    """Tell whether no bush stands behind this one."""
    return state.registers[R.at] == state.registers[SIZE] - 1


@kernel
def take(state: State) -> int:
    """Take what the bush yields; the next time it yields half as much, rounded down."""
    at = state.registers[R.at]
    state.reals[SCORE] += state.items[at]
    state.items[at] //= 2
    return RUNNING


@kernel
def move(state: State, step: int) -> int:
    """Go to a bush beside this one, if there is one."""
    state.registers[R.at] = min(max(state.registers[R.at] + step, 0), state.registers[SIZE] - 1)
    return RUNNING


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the score is what the bushes yielded until they were as they are."""
    total = 0
    for k in range(state.registers[SIZE]):
        left = before[k]
        while left > state.items[k]:
            total += left
            left //= 2
        if left != state.items[k]:
            return False
    return state.reals[SCORE] == total


def lay_out(yields: NDArray[np.int64]) -> Instances:
    """Return yields [B, n] as instances."""
    count, size = yields.shape
    return Instances(np.full(count, size), yields, np.zeros((count, 1)))


def draw_any(request: surpass.Request) -> Instances:
    """Draw each yield from 0 to the most."""
    return lay_out(request.stream("yields").integers(0, MOST + 1, (request.count, request.size)))


def draw_equal(request: surpass.Request) -> Instances:
    """Draw one yield for all bushes."""
    yields = request.stream("equal").integers(0, MOST + 1, (request.count, 1))
    return lay_out(np.repeat(yields, request.size, axis=1))


def draw_rising(request: surpass.Request) -> Instances:
    """Draw yields and put them in order, the best last."""
    return lay_out(np.sort(request.stream("rising").integers(0, MOST + 1, (request.count, request.size)), axis=1))


def draw_rare(request: surpass.Request) -> Instances:
    """Draw bushes of which one in eight yields the most and the others nearly nothing."""
    shape = (request.count, request.size)
    is_rich = request.stream("rich").integers(0, 8, shape) == 0
    return lay_out(np.where(is_rich, MOST, request.stream("poor").integers(0, 3, shape)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return yields as an instance."""
    (yields,) = parts
    if any(x != int(x) or not 0 <= x <= MOST for x in yields):
        raise ValueError(f"the yields must be whole and from 0 to {MOST:,}")
    return lay_out(np.array([int(x) for x in yields], np.int64).reshape(1, len(yields))), ()


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    return ",".join(map(str, instance.items[0, : instance.sizes[0]]))


YIELD = surpass.value("yield", neighbour, 0)

GATHER = surpass.register_task(
    surpass.Task(
        name="gather",
        summary="gather as much as possible from bushes in a row, in a limited number of steps",
        interface=surpass.Interface(
            [
                surpass.Feature(
                    "quarter",
                    (0, 1, 2, 3, 4),
                    quarter,
                    labels=("bare", "first quarter", "second quarter", "third quarter", "fourth quarter"),
                ),
                surpass.comparison(
                    YIELD,
                    surpass.value("next", neighbour, 1),
                    values=("<", "=", ">", "end"),
                    edge=surpass.value("at is last", is_last),
                ),
                surpass.comparison(
                    YIELD,
                    surpass.value("one before", neighbour, -1),
                    values=("<", "=", ">", "end"),
                    edge=surpass.value("at is first", is_first),
                ),
            ],
            [Instruction("Take", does=take), Instruction("Move", surpass.binary("by", STEPS), does=move)],
        ),
        start=start,
        memory=surpass.Memory(registers=R, reals=("gathered",)),
        inputs=surpass.Inputs(
            draw={"uniform": draw_any, "equal": draw_equal, "rising": draw_rising, "rare": draw_rare},
            read=read,
            write=write,
            written="a list of yields such as 100,900,0,350",
        ),
        is_right=is_right,
        limit="2n",
        reward=surpass.Reward(step_cost=0.0, progress=1.0),
        measure="reward",
        limit_is_budget=True,
    )
)


@surpass.teacher(GATHER)
def empty_each(see: See, do: Do) -> Action:
    """Take all that a bush yields, then go to the next."""
    return do.Move(+1) if see("bare") else do.Take()
