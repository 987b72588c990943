"""Multiply two numbers up to n by adding.

The registers `a` and `b` start as the two numbers and `total` as 0; a program sees whether `a` and `b` are zero, odd or
even, and what it did last:

    surpass evaluate teacher:add_often --task examples/unseen/product.py --sizes 5,10,1000
    surpass trace teacher:add_often --task examples/unseen/product.py --instance 6:5

The teacher takes 2b + 1 steps: about n + 1 on average. On the numbers that `surpass evaluate` draws these are 22.16,
102.22 and 1008.74 steps at n = 20, 100 and 1000.

Best known by hand: 2L + O + 2 steps, where L + 1 is the number of binary digits of b and O is how many of them are
ones; 1 step if a or b is 0. On the same numbers the mean is 8.90, 14.53 and 23.19 steps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SOLVED, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("a", "b", "total")

LARGEST = 10**9
"""The largest number that is multiplied."""
FULL = 2**61
"""Registers hold no more than this."""

# Items: the two numbers, whatever the size is.


@kernel
def start(state: State) -> int:
    """Begin with the numbers in the registers."""
    state.registers[R.a] = state.items[0]
    state.registers[R.b] = state.items[1]
    return RUNNING


@kernel
def kind(state: State, v: int) -> int:
    """Return 0 if a number is zero, 1 if it is odd and 2 if it is even."""
    return 0 if state.registers[v] == 0 else 2 - state.registers[v] % 2


@kernel
def add(state: State, v: int) -> int:
    """Add a number to the total."""
    state.registers[R.total] = min(state.registers[R.total] + state.registers[v], FULL)
    return RUNNING


@kernel
def lessen(state: State, v: int) -> int:
    """Make a number smaller by 1, unless it is 0."""
    state.registers[v] = max(state.registers[v] - 1, 0)
    return RUNNING


@kernel
def double(state: State, v: int) -> int:
    """Make a number twice as large."""
    state.registers[v] = min(2 * state.registers[v], FULL)
    return RUNNING


@kernel
def halve(state: State, v: int) -> int:
    """Make a number half as large, rounded down."""
    state.registers[v] = state.registers[v] // 2
    return RUNNING


@kernel
def done(state: State) -> int:
    """End: the total is the product."""
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the total is the product."""
    return state.registers[R.total] == before[0] * before[1]


def lay_out(size: int, numbers: NDArray[np.int64]) -> Instances:
    """Return pairs of numbers [B, 2] as instances."""
    return Instances(np.full(len(numbers), size), numbers, np.zeros((len(numbers), 1)))


def draw_any(request: surpass.Request) -> Instances:
    """Draw two numbers from 0 to n."""
    return lay_out(request.size, request.stream("numbers").integers(0, request.size + 1, (request.count, 2)))


def draw_great(request: surpass.Request) -> Instances:
    """Draw two numbers of which each is n or just below."""
    below = request.stream("below").integers(0, 3, (request.count, 2))
    return lay_out(request.size, np.maximum(request.size - below, 0))


def draw_unlike(request: surpass.Request) -> Instances:
    """Draw a number up to 2 and one from 0 to n, in either order."""
    numbers = request.stream("unlike").integers(0, request.size + 1, (request.count, 2))
    small = request.stream("place").integers(0, 2, request.count)
    rows = np.arange(request.count)
    numbers[rows, small] = np.minimum(numbers[rows, small], request.stream("small").integers(0, 3, request.count))
    return lay_out(request.size, numbers)


def draw_powers(request: surpass.Request) -> Instances:
    """Draw two powers of 2 up to n."""
    powers = request.stream("powers").integers(0, request.size.bit_length(), (request.count, 2))
    return lay_out(request.size, np.minimum(2**powers, request.size))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return two numbers as an instance, whose size is the larger one."""
    (a,), (b,) = parts
    if any(x != int(x) or not 0 <= x <= LARGEST for x in (a, b)):
        raise ValueError(f"the numbers must be whole and from 0 to {LARGEST:,}")
    return lay_out(int(max(a, b)), np.array([[a, b]], np.int64)), ()


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    a, b = instance.items[0, :2]
    return f"{a}:{b}"


KINDS = ("zero", "odd", "even")

PRODUCT = surpass.register_task(
    surpass.Task(
        name="product",
        summary="multiply two numbers by adding",
        interface=surpass.Interface(
            [
                surpass.Feature("a is ?", KINDS, kind, (R.a,)),
                surpass.Feature("b is ?", KINDS, kind, (R.b,)),
                surpass.PREVIOUS_ACTION,
            ],
            [
                Instruction("Add", surpass.variable("v", R.a, R.b), does=add),
                Instruction("Lessen", surpass.variable("v", R.a, R.b), does=lessen),
                Instruction("Double", surpass.variable("v", R.a, R.b), does=double),
                Instruction("Halve", surpass.variable("v", R.a, R.b), does=halve),
                Instruction("Done", does=done),
            ],
        ),
        start=start,
        memory=surpass.Memory(
            registers=R,
            item_width=lambda _: 2,
            item_name=lambda index, _: ("first", "second")[index],
            results={"total": ""},
        ),
        inputs=surpass.Inputs(
            draw={"uniform": draw_any, "great": draw_great, "unlike": draw_unlike, "powers": draw_powers},
            read=read,
            write=write,
            written="two numbers such as 6:5",
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
        sizes=(5, 10, 20, 100, 1000),
        training_sizes=(10, 40),
    )
)


@surpass.teacher(PRODUCT)
def add_often(see: See, do: Do) -> Action:
    """Add a to the total, b times."""
    if see("b is zero"):
        return do.Done()
    return do.Lessen(2) if see.previous == do.Add(1) else do.Add(1)
