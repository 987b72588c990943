"""Function calls: a stack of frames `[function, previous action, receiver, locals...]`."""

from __future__ import annotations

from surpass.machine.kernel import kernel
from surpass.machine.state import DEPTH, FIRST, FUNCTION, LOCALS, PREVIOUS, State

FRAME = 3
"""The words of a frame beside its locals."""

NO_RECEIVER = -1
"""Stands for the register that receives the result of a call, where none does."""


@kernel
def stack_limit(size: int) -> int:
    """Return how many calls may be open at once on an instance of a size: 2n + 1000.

    A quick sort needs n; the rest is room for programs that are still being learned.
    """
    return 2 * size + 1000


@kernel
def enter(state: State, function: int, receiver: int) -> None:
    """Open a call in place: save the scope and its local registers, forget the previous action.

    The saved previous action is the call itself, since an instruction runs with it in the register already. `receiver`
    is the register that the result of the call goes to, or `NO_RECEIVER`.
    """
    registers, stack = state.registers, state.stack
    base = registers[DEPTH] * (FRAME + registers[LOCALS])
    stack[base] = registers[FUNCTION]
    stack[base + 1] = registers[PREVIOUS]
    stack[base + 2] = receiver
    for k in range(registers[LOCALS]):
        stack[base + FRAME + k] = registers[FIRST + k]
    registers[DEPTH] += 1
    registers[FUNCTION] = function
    registers[PREVIOUS] = 0


@kernel
def depth(state: State) -> int:
    """Return how many calls are open."""
    open_calls: int = state.registers[DEPTH]
    return open_calls


@kernel
def leave(state: State, result: int) -> bool:
    """Close the newest call in place and write `result` to its receiver; return False when no call is open."""
    registers, stack = state.registers, state.stack
    if registers[DEPTH] == 0:
        return False
    registers[DEPTH] -= 1
    base = registers[DEPTH] * (FRAME + registers[LOCALS])
    registers[FUNCTION] = stack[base]
    registers[PREVIOUS] = stack[base + 1]
    for k in range(registers[LOCALS]):
        registers[FIRST + k] = stack[base + FRAME + k]
    if stack[base + 2] >= 0:
        registers[stack[base + 2]] = result
    return True
