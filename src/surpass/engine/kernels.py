"""The compiled loops. They are written once and compiled for each task.

`specialise` runs a copy of this file in which the names below the line stand for a task's kernels and numbers, so that
they are inlined and the result is cached on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import numpy.typing as npt

from surpass.engine.batch import Batch
from surpass.machine.calls import stack_limit
from surpass.machine.state import DEPTH, PREVIOUS, SIZE, Outcome, State

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import FRAME_SIZE, act, in_range, observe, operands_of, pack, start

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

RUNNING, UNKNOWN_OBSERVATION, STACK_FULL = (
    int(Outcome.RUNNING),
    int(Outcome.UNKNOWN_OBSERVATION),
    int(Outcome.STACK_FULL),
)
STEP_LIMIT, STACK_LIMIT, NO_ACTION, BAD_OBSERVATION = (
    int(Outcome.STEP_LIMIT),
    int(Outcome.STACK_LIMIT),
    int(Outcome.NO_ACTION),
    int(Outcome.BAD_OBSERVATION),
)
EMPTY = -1
"""Marks a free place in a table, whose keys are observations and so never negative."""


@numba.njit(nogil=True, cache=True)
def reset(batch: Batch, sizes: Ints, items: Ints, reals: Reals, rows: Ints) -> None:
    """Start episode `rows[k]` on instance `k`, in place."""
    for k in range(len(rows)):
        b = rows[k]
        batch.registers[b, :] = 0
        batch.registers[b, SIZE] = sizes[k]
        batch.items[b, : items.shape[1]] = items[k]
        batch.reals[b, : reals.shape[1]] = reals[k]
        batch.steps[b] = 0
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        batch.outcomes[b] = start(state)


@numba.njit(forceinline=True)
def find(keys: Ints, observation: int) -> int:
    """Return the place of an observation in a table, or the free place where it belongs."""
    mask = len(keys) - 1
    # Fold to 31 bits and multiply by 2**32 over the golden ratio: neighbours land far apart and nothing overflows.
    place = ((((observation ^ (observation >> 31)) & 0x7FFFFFFF) * 0x9E3779B1) >> 20) & mask
    while keys[place] != observation and keys[place] != EMPTY:
        place = (place + 1) & mask
    return place


@numba.njit(nogil=True, cache=True)
def insert(keys: Ints, values: Ints, observations: Ints, actions: Ints) -> None:
    """Put observations and their actions into a table in place; it must have room."""
    for k in range(len(observations)):
        place = find(keys, observations[k])
        keys[place] = observations[k]
        values[place] = actions[k]


@numba.njit(forceinline=True)
def check_stack(state: State) -> int:
    """Return `RUNNING` if one more call can be opened, else why the episode has to wait or end."""
    if FRAME_SIZE > 0:
        if state.registers[DEPTH] > stack_limit(state.registers[SIZE]):
            return STACK_LIMIT
        if (state.registers[DEPTH] + 1) * FRAME_SIZE > len(state.stack):
            return STACK_FULL
    return RUNNING


@numba.njit(nogil=True, cache=True)
def run(batch: Batch, keys: Ints, values: Ints, action_rows: Ints, limits: Ints, first: int, last: int) -> None:
    """Run episodes `first` to `last - 1` by a table in place, until each ends or has to wait."""
    for b in range(first, last):
        if batch.outcomes[b] > RUNNING:
            continue
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        steps, limit, outcome = batch.steps[b], limits[b], RUNNING
        while outcome == RUNNING:
            if steps >= limit:
                outcome = STEP_LIMIT
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
            state.registers[PREVIOUS] = action + 1
            outcome = act(state, action_rows[action, 0], operands_of(action_rows, action))
            steps += 1
        batch.steps[b] = steps
        batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True)
def step(batch: Batch, actions: Ints, rows: Ints, limits: Ints) -> None:
    """Execute one given action in each running episode in place.

    `actions` [B] are the numbers that become the previous actions, `rows` [B, 1 + operands] say what to execute.
    """
    for b in range(len(actions)):
        if batch.outcomes[b] != RUNNING:
            continue
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        batch.outcomes[b] = check_stack(state)
        if batch.outcomes[b] != RUNNING:
            continue
        state.registers[PREVIOUS] = actions[b] + 1
        outcome = act(state, rows[b, 0], operands_of(rows, b))
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
