"""sort-quick: sort a list by swaps, with four index variables, two functions and a call stack."""

from __future__ import annotations

import math

from surpass.machine.calls import FRAME, depth, enter, leave
from surpass.machine.features import PREVIOUS_ACTION, CurrentFunction, value
from surpass.machine.instructions import Action, Instruction, integer, variable
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import DEPTH, RUNNING, SIZE, State
from surpass.tasks.lists import list_inputs, wrongly_sorted
from surpass.tasks.sorting import SORT, SWAP_WITH_NEXT, start_variables, swap
from surpass.tasks.task import Memory, Task
from surpass.tasks.teacher import Do, See, teacher
from surpass.tasks.variables import ASSIGN_VAR, MOVE_VAR, V, one_of, positions, variable_features

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


@kernel
def open_ranges(state: State) -> int:
    """Return how many positions the callers have left to sort, from their second variable to their fourth."""
    left = 0
    for k in range(state.registers[DEPTH]):
        frame = k * (FRAME + len(V)) + FRAME
        left += state.stack[frame + V.v4 - V.v1] - state.stack[frame + V.v2 - V.v1]
    return left


@kernel
def displaced(state: State) -> int:
    """Return how many values do not stand where their rank is, in a list without ties."""
    count = 0
    for k in range(state.registers[SIZE]):
        count += state.items[k] != k
    return count


@kernel
def range_work(state: State) -> float:
    """Return m log m for the m positions from the third variable to the fourth."""
    width = max(0, state.registers[V.v4] - state.registers[V.v3]) + 1.0
    return width * math.log2(width)


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
    hints=(
        *(value(kernel.__name__, kernel) for kernel in (open_ranges, displaced, range_work, depth)),
        *positions(),
    ),
    find_wrong=wrongly_sorted,
    limit="10n^2",
    sizes=(5, 10, 20, 30, 50, 100, 200, 500, 1000),
    training_sizes=(30, 50),
    signature=SORT,
    default_teacher="quick_sort",
)


@teacher(SORT_QUICK)
def quick_sort(see: See, do: Do) -> Action:
    """Partition around the last value, then sort both sides by calls."""
    if see("function = None"):
        return do.FunctionCall(1, L, H, L, H, H)
    if see("function = 1"):
        return _sort_range(see, do)
    return _partition(see, do)


I, J, L, H = 1, 2, 3, 4
"""The variables i and j that run, and the ends l and h of the range."""


def _sort_range(see: See, do: Do) -> Action:
    if not see("v3 < v4"):
        return do.Return(H)
    previous = see.previous
    if previous is None:
        return do.FunctionCall(2, L, H, L, H, I)
    if previous == do.FunctionCall(2, L, H, L, H, I):
        return do.AssignVar(J, I)
    if previous == do.AssignVar(J, I):
        return do.MoveVar(I, -1)
    if previous == do.MoveVar(I, -1):
        return do.FunctionCall(1, L, H, L, I, I) if see("v1 > v3") else do.MoveVar(J, +1)
    if previous == do.FunctionCall(1, L, H, L, I, I):
        return do.MoveVar(J, +1)
    if previous == do.MoveVar(J, +1) and see("v2 < v4"):
        return do.FunctionCall(1, L, H, J, H, H)
    return do.Return(H)


def _partition(see: See, do: Do) -> Action:
    previous = see.previous
    if previous is None:
        return do.AssignVar(I, L)
    if previous == do.AssignVar(I, L):
        return do.AssignVar(J, L)
    if see("v2 < v4"):
        if previous == do.Swap(I, J):
            return do.MoveVar(I, +1)
        if previous in (do.AssignVar(J, L), do.MoveVar(J, +1)) and see("A[v2] < A[v4]"):
            return do.Swap(I, J) if see("v1 != v2") else do.MoveVar(I, +1)
        return do.MoveVar(J, +1)
    if previous == do.MoveVar(J, +1):
        return do.Swap(I, H)
    return do.Return(I)


@teacher(SORT_QUICK)
def hoare_sort(see: See, do: Do) -> Action:
    """Partition around the first value from both ends; call for the left side and loop for the right."""
    previous = see.previous
    call_left = do.FunctionCall(1, H, I, J, L, J)
    if previous == do.AssignVar(L, I):
        return do.AssignVar(J, H)
    if previous == do.AssignVar(H, J):
        return do.AssignVar(I, L)
    if previous == do.Swap(L, J):
        return do.MoveVar(J, -1)
    if previous == call_left or (previous == do.MoveVar(J, -1) and see("v1 > v2")):
        if see("v2 > v3") and previous != call_left:
            return call_left if see("v1 < v4") else do.AssignVar(H, J)
        return do.AssignVar(L, I) if see("v1 < v4") else do.Return(H)
    # The scan: j stops at a value that belongs to the left, then i at one that belongs to the right.
    # It ends with i just behind j, or with both at the end of the range, so always with a move of i.
    if see("v1 > v2") or (see("v1 = v2") and see("v1 = v4")):
        if see("v2 > v3"):
            return do.Swap(L, J)
        return do.AssignVar(L, I) if see("v1 < v4") else do.Return(H)
    if see("A[v2] > A[v3]"):
        return do.MoveVar(J, -1)
    if see("A[v1] <= A[v3]"):
        return do.MoveVar(I, +1)
    return do.Swap(I, J)
