"""sort-quick: sort a list by swaps, with four index variables, two functions and a call stack."""

from __future__ import annotations

from surpass.machine.calls import enter, leave
from surpass.machine.features import PREVIOUS_ACTION, Feature
from surpass.machine.instructions import Instruction, integer
from surpass.machine.instructions import variables as variable
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import FIRST, FUNCTION, PREVIOUS, Outcome, State
from surpass.tasks.lists import list_data, read_list, write_list, wrongly_sorted
from surpass.tasks.sort_bubble import SWAP_WITH_NEXT
from surpass.tasks.sorting import start_variables, swap, swap_with_next
from surpass.tasks.task import Task
from surpass.tasks.variables import ASSIGN_VAR, COUNT, MOVE_VAR, VARIABLES, assign, look, move, variable_features

__all__ = ["SORT_QUICK"]

FUNCTIONS = (1, 2)

FUNCTION_CALL = Instruction(
    "FunctionCall", integer("id", FUNCTIONS), *(variable(name, COUNT) for name in ("l1", "l2", "o1", "o2", "r1"))
)
RETURN = Instruction("Return", variable("l1", COUNT))
SWAP = Instruction("Swap", variable("i", COUNT), variable("j", COUNT))

RUNNING = int(Outcome.RUNNING)


@kernel
def observe(state: State) -> tuple[int, ...]:
    """Return the value numbers of the features."""
    return look(state) + (state.registers[FUNCTION], state.registers[PREVIOUS])


@kernel
def _call(state: State, operands: tuple[int, ...]) -> None:
    """Enter a function in place with two of its variables set from the caller's; the others keep their values."""
    first = state.registers[FIRST + operands[3]]
    second = state.registers[FIRST + operands[4]]
    enter(state, operands[0] + 1, COUNT, operands[5])
    state.registers[FIRST + operands[1]] = first
    state.registers[FIRST + operands[2]] = second


@kernel
def act(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    """Execute an action in place."""
    if instruction == 0:
        return swap_with_next(state, operands[0])
    if instruction == 1:
        move(state, operands[0], operands[1])
    elif instruction == 2:
        assign(state, operands[0], operands[1])
    elif instruction == 3:
        _call(state, operands)
    elif instruction == 4:
        leave(state, COUNT, state.registers[FIRST + operands[0]])
    else:
        return swap(state, state.registers[FIRST + operands[0]], state.registers[FIRST + operands[1]])
    return RUNNING


SORT_QUICK = Task(
    name="sort-quick",
    summary="sort a list by swaps, with functions that call themselves",
    interface=Interface(
        [*variable_features(), Feature("function", (None, *FUNCTIONS)), PREVIOUS_ACTION],
        [SWAP_WITH_NEXT, MOVE_VAR, ASSIGN_VAR, FUNCTION_CALL, RETURN, SWAP],
    ),
    start=start_variables,
    observe=observe,
    act=act,
    registers=VARIABLES,
    local_count=COUNT,
    has_calls=True,
    real_names=("in_order",),
    data=list_data(),
    read=read_list,
    write=write_list,
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(30, 50),
)
