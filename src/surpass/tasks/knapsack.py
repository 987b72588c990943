"""knapsack: pack the most valuable items within a weight, in a limited number of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.errors import InstanceError
from surpass.machine.calls import NO_RECEIVER, depth, enter, leave
from surpass.machine.features import PREVIOUS_ACTION, Feature, flag, value
from surpass.machine.instructions import STEPS, Action, Instruction, binary
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import RUNNING, SCORE, SIZE, SOLVED, State, registers
from surpass.tasks.drawing import Drawing, Gauge
from surpass.tasks.signature import RealInput, Signature
from surpass.tasks.task import Enumeration, Inputs, Instances, Memory, Number, Request, Reward, Task
from surpass.tasks.teacher import Do, See, teacher

LARGEST = 1e300
"""The largest weight, value or capacity that is read: a million of them still add up."""

R = registers("i")
"""The current item, 0 to n."""
CAPACITY, LOAD, VALUE = 1, 2, 3
"""Reals: the weight W that may be packed; the weight w and the value v of the current solution."""
LOAD_REST, VALUE_REST = 4, 5
"""Reals: what rounding left out of the load and the value, so that an item put and popped leaves no trace."""
WEIGHTS = 6
"""Reals: weights [n] start here; then values [n], and the sums of the values and weights and the least weight from
each item on, [n + 1] each."""

# Items: whether each is in the current solution [n], then whether each is in the best one so far [n].


@kernel
def start(state: State) -> int:
    """Sum up the rest from each item on, in place."""
    size, reals = state.registers[SIZE], state.reals
    values = WEIGHTS + size
    value_rest, weight_rest, weight_min = values + size, values + 2 * size + 1, values + 3 * size + 2
    reals[weight_min + size] = math.inf
    for k in range(size - 1, -1, -1):
        reals[value_rest + k] = reals[value_rest + k + 1] + reals[values + k]
        reals[weight_rest + k] = reals[weight_rest + k + 1] + reals[WEIGHTS + k]
        reals[weight_min + k] = min(reals[weight_min + k + 1], reals[WEIGHTS + k])
    if size == 0:
        return SOLVED
    return RUNNING


@kernel
def is_taken(state: State) -> bool:
    """Tell whether the current item is in the solution."""
    return state.registers[R.i] < state.registers[SIZE] and state.items[state.registers[R.i]] == 1


@kernel
def is_past_first(state: State) -> bool:
    """Tell whether there are items before the current one."""
    return state.registers[R.i] > 0


@kernel
def is_at_end(state: State) -> bool:
    """Tell whether all items lie before."""
    return state.registers[R.i] == state.registers[SIZE]


@kernel
def fits(state: State) -> bool:
    """Tell whether the solution is within the capacity."""
    return state.reals[LOAD] <= state.reals[CAPACITY]


@kernel
def _rest(state: State, sums: int) -> float:
    """Return one of the sums from the current item on, or from the next on if it is taken."""
    size = state.registers[SIZE]
    return state.reals[WEIGHTS + (2 + sums) * size + sums + state.registers[R.i] + is_taken(state)]


@kernel
def can_become_best(state: State) -> bool:
    """Tell whether all that is left would make the solution the best one."""
    return state.reals[VALUE] + _rest(state, 0) > state.reals[SCORE]


@kernel
def all_fit(state: State) -> bool:
    """Tell whether all that is left fits."""
    return state.reals[LOAD] + _rest(state, 1) <= state.reals[CAPACITY]


@kernel
def lightest_fits(state: State) -> bool:
    """Tell whether the lightest of what is left fits."""
    return state.reals[LOAD] + _rest(state, 2) <= state.reals[CAPACITY]


@kernel
def real(state: State, place: int) -> float:
    """Return one of the real numbers."""
    return state.reals[place]


@kernel
def total_value(state: State) -> float:
    """Return what all items are worth together."""
    return state.reals[WEIGHTS + 2 * state.registers[SIZE]]


@kernel
def value_ahead(state: State) -> float:
    """Return what the items from the current one on are worth together."""
    return state.reals[WEIGHTS + 2 * state.registers[SIZE] + state.registers[R.i]]


@kernel
def _add(reals: Reals, place: int, rest: int, amount: float) -> None:
    """Add to a sum in place, exactly up to the rounding of the rest."""
    total = reals[place] + amount
    part = total - reals[place]
    # What the addition lost (Knuth's two-sum), with what was lost before.
    lost = (reals[place] - (total - part)) + (amount - part) + reals[rest]
    reals[place] = total + lost
    reals[rest] = lost - (reals[place] - total)


@kernel
def _change(state: State, sign: int) -> None:
    """Put (+1) or pop (-1) the current item in place, and keep the solution if it is the best that fits."""
    size, i, reals = state.registers[SIZE], state.registers[R.i], state.reals
    if i == size or state.items[i] == (sign == 1):
        return
    state.items[i] = sign == 1
    _add(reals, LOAD, LOAD_REST, sign * reals[WEIGHTS + i])
    _add(reals, VALUE, VALUE_REST, sign * reals[WEIGHTS + size + i])
    if reals[LOAD] <= reals[CAPACITY] and reals[VALUE] > reals[SCORE]:
        reals[SCORE] = reals[VALUE]
        for k in range(size):
            state.items[size + k] = state.items[k]


@kernel
def put(state: State) -> int:
    """Put the current item into the solution in place, unless it is there."""
    _change(state, 1)
    return RUNNING


@kernel
def pop(state: State) -> int:
    """Take the current item out of the solution in place, if it is there."""
    _change(state, -1)
    return RUNNING


@kernel
def move(state: State, step: int) -> int:
    """Go to the next or the previous item in place."""
    state.registers[R.i] = min(max(state.registers[R.i] + step, 0), state.registers[SIZE])
    return RUNNING


@kernel
def call(state: State) -> int:
    """Call the function itself, in place."""
    enter(state, 1, NO_RECEIVER)
    return RUNNING


@kernel
def give_back(state: State) -> int:
    """Return from a call in place; without one the episode ends."""
    if leave(state, 0):
        return RUNNING
    return SOLVED


ROUNDING = 1e-9
"""What share of the capacity, and what share of a value (at least of 1), is taken for rounding."""


def find_wrong(before: Instances, registers: Ints, items: Ints, reals: Reals) -> Flags:
    """Tell which best solutions are too heavy, not worth what they claim or worse than the last one, up to rounding."""
    wrong = np.zeros(before.count, np.bool_)
    for size in np.unique(before.sizes):
        rows = before.sizes == size
        weights, values = before.reals[rows, WEIGHTS : WEIGHTS + size], before.reals[rows, WEIGHTS + size :][:, :size]
        capacity, claimed = before.reals[rows, CAPACITY], reals[rows, SCORE]
        least, most = (capacity * (1 + sign * ROUNDING) for sign in (-1, 1))
        tolerance = ROUNDING * (1 + np.abs(claimed))
        last, best = items[rows, :size] == 1, items[rows, size : 2 * size] == 1
        is_heavy = (weights * best).sum(axis=1) > most
        is_other = np.abs((values * best).sum(axis=1) - claimed) > tolerance
        fits = (weights * last).sum(axis=1) < least
        wrong[rows] = is_heavy | is_other | (fits & ((values * last).sum(axis=1) > claimed + tolerance))
    return wrong


PACKED = 12
"""Up to how many items every packing is looked at to find the best one."""


def best_packings(instances: Instances) -> Reals:
    """Return the value of the best packing of each instance, from all packings there are; NaN if there are too many."""
    best = np.full(instances.count, np.nan)
    for size in (n for n in np.unique(instances.sizes).tolist() if n <= PACKED):
        (rows,) = np.nonzero(instances.sizes == size)
        reals = instances.reals[rows]
        weights, values = np.zeros((2, len(rows), 1))
        for k in range(WEIGHTS, WEIGHTS + size):
            weights, values = (
                np.concatenate([sums, sums + reals[:, at : at + 1]], axis=1)
                for sums, at in ((weights, k), (values, k + size))
            )
        best[rows] = np.where(weights <= reals[:, CAPACITY : CAPACITY + 1], values, 0.0).max(axis=1)
    return best


def draw_uniform(request: Request) -> Instances:
    """Draw weights and values uniformly from [0, 1]; half of the total weight may be packed."""
    shape = (request.count, request.size)
    weights = request.stream("weights").random(shape)
    return _with_capacity(weights, request.stream("values").random(shape), weights.sum(axis=1) / 2)


def draw_correlated(request: Request) -> Instances:
    """Draw weights from [0, 1], each with a value that lies 0.1 above: the kind that is hard to pack well."""
    weights = request.stream("correlated").random((request.count, request.size))
    return _with_some_capacity(request, weights, weights + 0.1)


def draw_whole(request: Request) -> Instances:
    """Draw weights and values from 0, 1, 2 and 3, whose sums tie with each other and with the capacity."""
    shape = (request.count, request.size)
    weights, values = (request.stream(f"whole {name}").integers(0, 4, shape) for name in ("weights", "values"))
    instances = _with_some_capacity(request, weights.astype(np.float64), values.astype(np.float64))
    instances.reals[:, CAPACITY] = np.round(instances.reals[:, CAPACITY])
    return instances


def draw_wide(request: Request) -> Instances:
    """Draw weights and values over many orders of magnitude."""
    shape = (request.count, request.size)
    weights, values = (10.0 ** request.stream(f"wide {name}").uniform(-20, 20, shape) for name in ("weights", "values"))
    return _with_some_capacity(request, weights, values)


def _with_some_capacity(request: Request, weights: Reals, values: Reals) -> Instances:
    """Return instances in which any share of the total weight may be packed; in one of five, all of it."""
    shares = np.minimum(1.0, 1.25 * request.stream("shares").random(request.count))
    return _with_capacity(weights, values, weights.sum(axis=1) * shares)


def _with_capacity(weights: Reals, values: Reals, capacities: Reals) -> Instances:
    count, size = weights.shape
    instances = KNAPSACK.allocate(count, size)
    instances.reals[:, CAPACITY] = capacities
    instances.reals[:, WEIGHTS : WEIGHTS + size] = weights
    instances.reals[:, WEIGHTS + size : WEIGHTS + 2 * size] = values
    return instances


GRID = 3
"""Enumerated weights and values are 0 to GRID - 1; sums of them tie with each other and with the capacity."""
BATCH = 1 << 16
"""About how many instances to yield at once."""


def every_packing(size: int) -> Iterator[Instances]:
    """Yield every choice of small whole weights and values with every capacity up to the total weight."""
    choices = np.array(list(np.ndindex(*[GRID] * size)), np.int64).reshape(GRID**size, size)
    capacity_counts = choices.sum(axis=1) + 1
    step = max(1, BATCH // (len(choices) * (2 * size + 1)))
    for at in range(0, len(choices), step):
        counts = np.repeat(capacity_counts[at : at + step], len(choices))
        rows = np.repeat(np.arange(len(counts)), counts)
        weights, values = choices[at + rows // len(choices)], choices[rows % len(choices)]
        capacities = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield _with_capacity(weights.astype(np.float64), values.astype(np.float64), capacities.astype(np.float64))


def read(parts: Sequence[Sequence[Number]]) -> tuple[Instances, tuple[str, ...]]:
    """Return weights, values and, if given, the capacity as an instance."""
    if len(parts) not in (2, 3) or len(parts[0]) != len(parts[1]) or (len(parts) == 3 and len(parts[2]) != 1):
        raise InstanceError(
            "it takes as many weights as values and, if wanted, a capacity, such as 0.2,0.7:0.5,0.9:0.8"
        )
    if any(not 0 <= x <= LARGEST for part in parts for x in part):
        raise InstanceError(f"weights, values and capacity must be numbers from 0 to {LARGEST:g}")
    weights, values = np.array(parts[0], np.float64), np.array(parts[1], np.float64)
    capacity = parts[2][0] if len(parts) == 3 else weights.sum() / 2
    return _with_capacity(weights[None], values[None], np.array([capacity], np.float64)), ()


def write(instance: Instances) -> str:
    """Return weights, values and capacity as text."""
    size, reals = int(instance.sizes[0]), instance.reals[0].tolist()
    parts = (reals[WEIGHTS : WEIGHTS + size], reals[WEIGHTS + size : WEIGHTS + 2 * size], [reals[CAPACITY]])
    return ":".join(",".join(map(repr, part)) for part in parts)


_WEIGHTS_AND_VALUES = (RealInput("weights", WEIGHTS, each=True), RealInput("values", WEIGHTS, sizes=1, each=True))

KNAPSACK = Task(
    name="knapsack",
    summary="pack the most valuable items within a weight, in a limited number of steps",
    interface=Interface(
        [
            Feature("sign(i)", (0, 1), is_past_first, encoding="number", labels=("i = 0", "i > 0")),
            Feature("sign(i-n)", (-1, 0), is_at_end, encoding="number", labels=("i < n", "i = n")),
            flag("i in solution", is_taken),
            flag("w <= W", fits),
            flag("v + v_rest > v_best", can_become_best),
            flag("w + w_rest <= W", all_fit),
            flag("w + w_min <= W", lightest_fits),
            PREVIOUS_ACTION,
        ],
        [
            Instruction("Put", does=put),
            Instruction("Pop", does=pop),
            Instruction("MoveVar", binary("direction", STEPS), does=move),
            Instruction("Knapsack", does=call),
            Instruction("Return", does=give_back),
        ],
    ),
    start=start,
    memory=Memory(
        registers=R,
        saved=0,
        reals=("best", "W", "w", "v"),
        item_width=lambda size: 2 * size,
        real_width=lambda size: WEIGHTS + 5 * size + 3,
        item_name=lambda index, size: f"taken[{index}]" if index < size else None,
    ),
    inputs=Inputs(
        draw={"uniform": draw_uniform, "correlated": draw_correlated, "whole": draw_whole, "wide": draw_wide},
        small=Enumeration(
            what=f"n items with weights and values 0 to {GRID - 1}, with every whole capacity up to their total weight",
            instances=every_packing,
            count=lambda size: GRID ** (2 * size) * (size * (GRID - 1) // 2 + 1),
            largest=4,
        ),
        read=read,
        write=write,
        written="weights, values and, if wanted, a capacity, such as 0.2,0.7:0.5,0.9:0.8",
    ),
    hints=(
        *(value(kernel.__name__, kernel) for kernel in (total_value, value_ahead, depth)),
        value("load", real, LOAD),
        value("value", real, VALUE),
    ),
    find_wrong=find_wrong,
    optimum=best_packings,
    limit="20n",
    reward=Reward(step_cost=0.0, progress=1.0),
    measure="reward",
    limit_is_budget=True,
    sizes=(2, 4, 6, 8, 10, 20, 40, 80, 160, 320, 640),
    training_sizes=(4, 8),
    signature=Signature(
        name="knapsack",
        summary="choose the most valuable items within a weight",
        note="The best packing found within the budget of steps is what comes back.",
        items="own",
        reals=(*_WEIGHTS_AND_VALUES, RealInput("capacity", CAPACITY, share_of="weights")),
        largest=LARGEST,
        budget="budget",
        chosen="chosen",
        score="value",
    ),
    default_teacher="depth_first",
    drawing=Drawing(
        positions=("i",),
        flags=("taken",),
        bars=_WEIGHTS_AND_VALUES,
        gauges=(
            Gauge(name="load of capacity", level="w", mark="W", bars="weights"),
            Gauge(name="value, best so far", level="v", mark="best", bars="values"),
        ),
    ),
)


@teacher(KNAPSACK)
def depth_first(see: See, do: Do) -> Action | None:
    """Try each item in and then out, and all the items behind it for both."""
    previous = see.previous
    if previous is None:
        return do.Return() if see("i = n") or see("not w <= W") else do.Put()
    if previous == do.Put() or previous == do.Pop():
        return do.MoveVar(+1)
    if previous == do.MoveVar(+1):
        return do.Knapsack()
    if previous == do.Knapsack():
        return do.MoveVar(-1)
    if previous == do.MoveVar(-1):
        return do.Pop() if see("i in solution") else do.Return()
    return None
