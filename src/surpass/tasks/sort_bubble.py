"""sort-bubble: sort a list by swapping neighbours, with four index variables."""

from __future__ import annotations

from surpass.machine.instructions import Instruction
from surpass.machine.instructions import variables as variable
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import Outcome, State
from surpass.tasks.lists import list_data, read_list, write_list, wrongly_sorted
from surpass.tasks.sorting import start_variables, swap_with_next
from surpass.tasks.task import Task
from surpass.tasks.variables import ASSIGN_VAR, COUNT, MOVE_VAR, VARIABLES, assign, look, move, variable_features

__all__ = ["SORT_BUBBLE", "SWAP_WITH_NEXT"]

SWAP_WITH_NEXT = Instruction("SwapWithNext", variable("i", COUNT))

RUNNING = int(Outcome.RUNNING)


@kernel
def act(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    """Execute an action in place."""
    if instruction == 0:
        return swap_with_next(state, operands[0])
    if instruction == 1:
        move(state, operands[0], operands[1])
    else:
        assign(state, operands[0], operands[1])
    return RUNNING


SORT_BUBBLE = Task(
    name="sort-bubble",
    summary="sort a list by swapping neighbours",
    interface=Interface(variable_features(), [SWAP_WITH_NEXT, MOVE_VAR, ASSIGN_VAR]),
    start=start_variables,
    observe=look,
    act=act,
    registers=VARIABLES,
    real_names=("in_order",),
    data=list_data(),
    read=read_list,
    write=write_list,
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(10, 20),
)
