"""Find the last position at which a query stands in a list, or report that it is nowhere.

`v` starts at the first position and `kept` before it; a program walks and keeps the place where it stands:

    surpass evaluate teacher:scan_all --task examples/last_position.py --sizes 5,10,1000
    surpass trace teacher:scan_all --task examples/last_position.py --instance 2,0,2,1:2
    surpass learn examples/last_position.py --method rl
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import surpass
from surpass import RUNNING, SIZE, SOLVED, Action, Do, Instances, Instruction, See, State, kernel

R = surpass.registers("v", "kept", "answer")


@kernel
def start(state: State) -> int:
    """Begin at the first position with nothing kept; an empty list is answered at once."""
    state.registers[R.kept] = -1
    state.registers[R.answer] = -1
    return RUNNING if state.registers[SIZE] > 0 else SOLVED


@kernel
def query(state: State) -> int:
    """Return what is looked for, which stands behind the list."""
    return state.items[state.registers[SIZE]]


@kernel
def item(state: State) -> int:
    """Return the value under v."""
    return state.items[state.registers[R.v]]


@kernel
def is_kept(state: State) -> bool:
    """Tell whether v stands at the kept position."""
    return state.registers[R.v] == state.registers[R.kept]


@kernel
def is_last(state: State) -> bool:
    """Tell whether v stands at the last position."""
    return state.registers[R.v] == state.registers[SIZE] - 1


@kernel
def walk(state: State) -> int:
    """Move v to the next position, no further than the last."""
    state.registers[R.v] = min(state.registers[R.v] + 1, state.registers[SIZE] - 1)
    return RUNNING


@kernel
def keep(state: State) -> int:
    """Keep the position of v."""
    state.registers[R.kept] = state.registers[R.v]
    return RUNNING


@kernel
def answer(state: State) -> int:
    """End: the kept position is the last one of the query, or nothing is kept and it is nowhere."""
    state.registers[R.answer] = state.registers[R.kept]
    return SOLVED


@kernel
def is_right(state: State, before: NDArray[np.int64]) -> bool:
    """Tell whether the answer is the last position of the query, or -1 if there is none."""
    last = -1
    for k in range(state.registers[SIZE]):
        if before[k] == query(state):
            last = k
    return last == state.registers[R.answer]


def draw(request: surpass.Request) -> Instances:
    """Draw values and queries from half as many numbers as there are positions: most queries are there, some twice."""
    most = max(2, request.size // 2 + 1)
    lists = request.stream("values").integers(0, most, (request.count, request.size))
    queries = request.stream("queries").integers(0, most, (request.count, 1))
    return Instances(np.full(request.count, request.size), np.hstack([lists, queries]), np.zeros((request.count, 1)))


def read(parts: Sequence[Sequence[int | float]]) -> tuple[Instances, tuple[str, ...]]:
    """Return a list and a query as an instance, each value replaced by its rank, and the texts of the ranks."""
    values, (wanted,) = parts
    distinct = sorted({*values, wanted})
    ranks = [distinct.index(value) for value in (*values, wanted)]
    instance = Instances(np.array([len(values)]), np.array([ranks], np.int64), np.zeros((1, 1)))
    return instance, tuple(map(str, distinct))


def write(instance: Instances) -> str:
    """Return an instance as text that `read` understands."""
    *values, wanted = instance.items[0, : instance.sizes[0] + 1]
    return f"{','.join(map(str, values))}:{wanted}"


LAST_POSITION = surpass.register_task(
    surpass.Task(
        name="last-position",
        summary="find the last position of a query in a list",
        interface=surpass.Interface(
            [
                surpass.comparison(surpass.value("A[v]", item), surpass.value("query", query)),
                surpass.flag("v is kept", is_kept),
                surpass.flag("v is last", is_last),
            ],
            [
                Instruction("Walk", does=walk),
                Instruction("Keep", does=keep),
                Instruction("Answer", does=answer),
            ],
        ),
        start=start,
        memory=surpass.Memory(
            registers=R,
            item_width=lambda size: size + 1,
            item_name=lambda index, size: f"A[{index}]" if index < size else "query",
        ),
        inputs=surpass.Inputs(
            draw={"uniform": draw}, read=read, write=write, written="a list and a query, such as 2,0,2,1:2"
        ),
        is_right=is_right,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(LAST_POSITION)
def scan_all(see: See, do: Do) -> Action:
    """Walk to the end and keep every position at which the query stands."""
    if see("A[v] = query") and not see("v is kept"):
        return do.Keep()
    return do.Answer() if see("v is last") else do.Walk()
