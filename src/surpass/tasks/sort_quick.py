"""sort-quick: sort a list by swaps, with four index variables, two functions and a call stack."""

from __future__ import annotations

from surpass.machine.calls import enter, leave
from surpass.machine.features import PREVIOUS_ACTION, CurrentFunction
from surpass.machine.instructions import Instruction, integer, variable
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import RUNNING, State
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import FROM_SMALL_LISTS, SORT, SWAP_WITH_NEXT, start_variables, swap
from surpass.tasks.task import Memory, Task
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, V, one_of, variable_features

__all__ = ["SORT_QUICK"]

FUNCTIONS = (1, 2)


@kernel
def call(state: State, function: int, l1: int, l2: int, o1: int, o2: int, r1: int) -> int:
    """Enter a function in place with two of its variables set from the caller's; the others keep their values."""
    first, second = state.registers[o1], state.registers[o2]
    enter(state, function, r1)
    state.registers[l1] = first
    state.registers[l2] = second
    return RUNNING


@kernel
def give_back(state: State, v: int) -> int:
    """Return a variable's value from a function in place; outside of every function do nothing."""
    leave(state, state.registers[v])
    return RUNNING


@kernel
def swap_variables(state: State, i: int, j: int) -> int:
    """Swap the values under two variables in place."""
    return swap(state, state.registers[i], state.registers[j])


FUNCTION_CALL = Instruction(
    "FunctionCall",
    integer("id", FUNCTIONS),
    *(variable(name, *V) for name in ("l1", "l2", "o1", "o2", "r1")),
    does=call,
)
RETURN = Instruction("Return", variable("l1", *V), does=give_back)
SWAP = Instruction("Swap", one_of[0], one_of[1], does=swap_variables)

SORT_QUICK = Task(
    name="sort-quick",
    summary="sort a list by swaps, with functions that call themselves",
    interface=Interface(
        [*variable_features(), CurrentFunction(values=(None, *FUNCTIONS)), PREVIOUS_ACTION],
        [SWAP_WITH_NEXT, MOVE_VAR, ASSIGN_VAR, FUNCTION_CALL, RETURN, SWAP],
    ),
    start=start_variables,
    memory=Memory(registers=V, saved=len(V), reals=("in_order",)),
    inputs=list_inputs(),
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(30, 50),
    learning={"rl": FROM_SMALL_LISTS, "rl+imitation": {**FROM_SMALL_LISTS, "unroll": 160}},
    signature=SORT,
    default_teacher="quick_sort",
)
