"""A task of one's own: find the smallest value of a list.

Two index variables start at the first position: `v1` walks, `v2` remembers. Run it with

    surpass tasks examples/minimum.py
    surpass evaluate teacher:scan --task examples/minimum.py --sizes 5,10,1000
    surpass trace teacher:scan --task examples/minimum.py --instance 4,2,7,1,3
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import surpass
from surpass.agents.teacher import Do, See
from surpass.machine.state import FIRST, SIZE
from surpass.tasks.lists import list_data, read_list, write_list

WALKER, KEEPER, ANSWER = FIRST, FIRST + 1, FIRST + 2
RUNNING, SOLVED, WRONG = map(int, (surpass.Outcome.RUNNING, surpass.Outcome.SOLVED, surpass.Outcome.WRONG_ANSWER))


@surpass.kernel
def start(state: surpass.State) -> int:
    """Set both variables to the first position, in place; there is nothing to find in an empty list."""
    state.registers[ANSWER] = -1
    if state.registers[SIZE] == 0:
        return SOLVED
    return RUNNING


@surpass.kernel
def observe(state: surpass.State) -> tuple[int, ...]:
    """Return the value numbers of the two features."""
    registers, items = state.registers, state.items
    walked, kept = items[registers[WALKER]], items[registers[KEEPER]]
    return ((walked >= kept) * 1 + (walked > kept) * 1, (registers[WALKER] == registers[SIZE] - 1) * 1)


@surpass.kernel
def act(state: surpass.State, instruction: int, operands: tuple[int, ...]) -> int:
    """Execute an action in place."""
    registers, items = state.registers, state.items
    if instruction == 0:
        registers[WALKER] = min(registers[WALKER] + 1, registers[SIZE] - 1)
    elif instruction == 1:
        registers[KEEPER] = registers[WALKER]
    else:
        registers[ANSWER] = registers[KEEPER + operands[0] - 1]
        for k in range(registers[SIZE]):
            if items[k] < items[registers[ANSWER]]:
                return WRONG
        return SOLVED
    return RUNNING


def find_wrong(
    before: surpass.Instances,
    registers: npt.NDArray[np.int64],
    items: npt.NDArray[np.int64],
    reals: npt.NDArray[np.float64],
) -> npt.NDArray[np.bool_]:
    """Tell which reported positions do not hold the smallest value."""
    rows = np.arange(before.count)
    answered = before.items[rows, registers[:, ANSWER]] if before.items.shape[1] else np.zeros(before.count)
    wrong: npt.NDArray[np.bool_] = answered != before.items.min(axis=1, initial=np.iinfo(np.int64).max)
    return wrong & (before.sizes > 0)


MINIMUM = surpass.register_task(
    surpass.Task(
        name="minimum",
        summary="find the smallest value of a list",
        interface=surpass.Interface(
            [surpass.comparison("A[v1]", "A[v2]"), surpass.flag("v1 is last")],
            [
                surpass.Instruction("Walk"),
                surpass.Instruction("Keep"),
                surpass.Instruction("Answer", surpass.variables("i", 2)),
            ],
        ),
        start=start,
        observe=observe,
        act=act,
        registers=("v1", "v2", "answer"),
        data=list_data(),
        read=read_list,
        write=write_list,
        find_wrong=find_wrong,
        limit="10n",
        reward=surpass.Reward(step_cost=1.0, wrong_cost=10_000.0),
    )
)


@surpass.teacher(MINIMUM)
def scan(see: See, do: Do) -> surpass.Action:
    """Walk to the end and keep each value that is smaller than the kept one."""
    if see("A[v1] < A[v2]"):
        return do.Answer(1) if see("v1 is last") else do.Keep()
    return do.Answer(2) if see("v1 is last") else do.Walk()
