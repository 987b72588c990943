"""The compiled loops. They are written once and compiled for each task.

`specialise` runs a copy of this file in which the names below the line stand for a task's kernels and numbers, so that
they are inlined and the result is cached on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.machine.calls import FRAME, stack_limit
from surpass.machine.kernel import kernel
from surpass.machine.state import DEPTH, LOCALS, PREVIOUS, SIZE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import FRAME_SIZE, act, in_range, is_right, observe, operands_of, pack, start


RUNNING, UNKNOWN_OBSERVATION, STACK_FULL = (
    int(Outcome.RUNNING),
    int(Outcome.UNKNOWN_OBSERVATION),
    int(Outcome.STACK_FULL),
)
SOLVED, WRONG, LOOP = int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER), int(Outcome.LOOP)
STEP_LIMIT, STACK_LIMIT, NO_ACTION, BAD_OBSERVATION = (
    int(Outcome.STEP_LIMIT),
    int(Outcome.STACK_LIMIT),
    int(Outcome.NO_ACTION),
    int(Outcome.BAD_OBSERVATION),
)


@kernel
def judge(batch: Batch, b: int, state: State, outcome: int) -> int:
    """Return an outcome of episode `b`; one that is called solved is a wrong answer if the task says so."""
    if outcome == SOLVED and not is_right(state, batch.before[b]):
        return WRONG
    return outcome


@kernel
def start_one(batch: Batch, b: int, sizes: Ints, items: Ints, reals: Reals, k: int) -> None:
    """Start episode `b` on instance `k`, in place; instances may have room for larger ones, which episodes lack."""
    batch.registers[b, :] = 0
    batch.registers[b, SIZE] = sizes[k]
    batch.registers[b, LOCALS] = FRAME_SIZE - FRAME
    for at in range(min(items.shape[1], batch.items.shape[1])):
        batch.items[b, at] = items[k, at]
    for at in range(min(items.shape[1], batch.before.shape[1])):
        batch.before[b, at] = items[k, at]
    for at in range(min(reals.shape[1], batch.reals.shape[1])):
        batch.reals[b, at] = reals[k, at]
    batch.steps[b] = 0
    state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
    batch.outcomes[b] = judge(batch, b, state, start(state))


@numba.njit(nogil=True, cache=True)
def reset(batch: Batch, sizes: Ints, items: Ints, reals: Reals, rows: Ints) -> None:
    """Start episode `rows[k]` on instance `k`, in place."""
    for k in range(len(rows)):
        start_one(batch, rows[k], sizes, items, reals, k)


@kernel
def check_stack(state: State) -> int:
    """Return `RUNNING` if one more call can be opened, else why the episode has to wait or end."""
    if FRAME_SIZE > 0:
        if state.registers[DEPTH] > stack_limit(state.registers[SIZE]):
            return STACK_LIMIT
        if (state.registers[DEPTH] + 1) * FRAME_SIZE > len(state.stack):
            return STACK_FULL
    return RUNNING


@kernel
def perform(batch: Batch, b: int, state: State, action: int, rows: Ints, k: int) -> int:
    """Take an action in episode `b` in place, which row `k` of `rows` [m, 1 + operands] spells out.

    Return how things stand. The `state` is that of the episode, wherever its registers are kept.
    """
    state.registers[PREVIOUS] = action + 1
    return judge(batch, b, state, act(state, rows[k, 0], operands_of(rows, k)))


@kernel
def is_same(state: State, other: State) -> bool:
    """Tell whether two states are equal in everything that the rest of an episode depends on."""
    for k in range(len(state.registers)):
        if state.registers[k] != other.registers[k]:
            return False
    for k in range(len(state.reals)):
        if state.reals[k] != other.reals[k]:
            return False
    for k in range(len(state.items)):
        if state.items[k] != other.items[k]:
            return False
    k, used = 0, state.registers[DEPTH] * FRAME_SIZE
    while k < used and state.stack[k] == other.stack[k]:
        k += 1
    all_same: bool = k == used
    return all_same


@kernel
def copy_state(state: State, other: State) -> None:
    """Copy everything that the rest of an episode depends on into `other`, in place."""
    for k in range(len(state.registers)):
        other.registers[k] = state.registers[k]
    for k in range(len(state.items)):
        other.items[k] = state.items[k]
    for k in range(len(state.reals)):
        other.reals[k] = state.reals[k]
    for k in range(state.registers[DEPTH] * FRAME_SIZE):
        other.stack[k] = state.stack[k]


@kernel
def advance_one(
    batch: Batch,
    keys: Ints,
    values: Ints,
    action_rows: Ints,
    limit: int,
    counts: Ints,
    kept: State,
    registers: Ints,
    b: int,
    stop: Ints,
) -> None:
    """Advance episode `b` by a table in place until it ends or has to wait, or `stop[0]` is set meanwhile.

    Meanwhile its registers are in `registers` [R]: in the batch, those of neighbours share a line of the cache, and
    threads that write to one line at every step wait for each other.
    `counts` is empty, or counts in place how often each place of the table was used.
    `kept` is empty, or holds an earlier state that is compared with every later one: if it repeats, the episode is a
    loop. It is replaced after twice as many steps each time, so that it lies on the loop before long (Brent's way). The
    first one is kept after some steps only: copying it costs as much, and most episodes end sooner.
    """
    for k in range(len(registers)):
        registers[k] = batch.registers[b, k]
    state = State(registers, batch.items[b], batch.reals[b], batch.stack[b])
    steps, outcome = batch.steps[b], RUNNING
    renewal = steps + 8 + (len(state.items) + len(state.reals)) // 8
    find_loops = len(kept.registers) > 0
    if find_loops:
        kept.registers[SIZE] = -1
    while outcome == RUNNING:
        if steps >= limit:
            outcome = STEP_LIMIT
            break
        if stop[0] != 0:
            break
        seen = observe(state)
        if not in_range(seen):
            outcome = BAD_OBSERVATION
            break
        observation = pack(seen)
        place = find(keys, observation)
        if keys[place] == EMPTY:
            batch.pending[b] = observation
            outcome = UNKNOWN_OBSERVATION
            break
        action = values[place]
        if action < 0:
            batch.pending[b] = observation
            outcome = NO_ACTION
            break
        outcome = check_stack(state)
        if outcome != RUNNING:
            break
        if len(counts) > 0:
            counts[place] += 1
        outcome = perform(batch, b, state, action, action_rows, action)
        steps += 1
        if find_loops and outcome == RUNNING:
            if is_same(state, kept):
                outcome = LOOP
            elif steps == renewal:
                copy_state(state, kept)
                renewal += steps
    for k in range(len(registers)):
        batch.registers[b, k] = registers[k]
    batch.steps[b] = steps
    batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True)
def advance(
    batch: Batch,
    keys: Ints,
    values: Ints,
    action_rows: Ints,
    limits: Ints,
    counts: Ints,
    find_loops: bool,
    first: int,
    last: int,
    stop: Ints,
) -> None:
    """Advance episodes `first` to `last - 1`, or to the end, by a table in place, until each ends or has to wait.

    `counts` [places] counts in place how often each place of the table is used, unless it is empty. With `find_loops`
    an episode ends when its whole state repeats: it would loop for ever. Another thread may set `stop` [1] to 1:
    then all episodes stay where they are.
    """
    kept = State(
        np.empty(find_loops * batch.registers.shape[1], np.int64),
        np.empty(find_loops * batch.items.shape[1], np.int64),
        np.empty(find_loops * batch.reals.shape[1]),
        np.empty(find_loops * batch.stack.shape[1], np.int64),
    )
    line = 8
    registers = np.empty(line + batch.registers.shape[1] + line, np.int64)[line:-line]
    for b in range(first, min(last, len(limits))):
        if batch.outcomes[b] <= RUNNING:
            advance_one(batch, keys, values, action_rows, limits[b], counts, kept, registers, b, stop)


@numba.njit(nogil=True, cache=True)
def step(batch: Batch, actions: Ints, rows: Ints, limits: Ints) -> None:
    """Execute one given action in each running episode in place; if one has to wait for a larger stack, in none.

    `actions` [B] are the numbers that become the previous actions, `rows` [B, 1 + operands] say what to execute.
    """
    is_waiting = False
    for b in range(len(actions)):
        if batch.outcomes[b] == RUNNING:
            batch.outcomes[b] = check_stack(State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b]))
            is_waiting |= batch.outcomes[b] == STACK_FULL
    if is_waiting:
        return
    for b in range(len(actions)):
        if batch.outcomes[b] != RUNNING:
            continue
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        outcome = perform(batch, b, state, actions[b], rows, b)
        batch.steps[b] += 1
        if outcome == RUNNING and batch.steps[b] >= limits[b]:
            outcome = STEP_LIMIT
        batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True)
def look(batch: Batch, digits: Ints) -> None:
    """Write what each episode shows into `digits` [B, F] in place; an empty instance shows nothing."""
    for b in range(len(digits)):
        if batch.registers[b, SIZE] == 0:
            continue
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        seen = observe(state)
        for k in range(min(len(seen), digits.shape[1])):
            digits[b, k] = seen[k]


@numba.njit(nogil=True, cache=True)
def judge_spent(batch: Batch) -> None:
    """Let the task judge, in place, the episodes that came to their step limit, as if they had ended themselves."""
    for b in range(len(batch.outcomes)):
        if batch.outcomes[b] == STEP_LIMIT:
            state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
            batch.outcomes[b] = judge(batch, b, state, SOLVED)
