"""The compiled loops of trials: rules are interpreted step by step, so that a new program needs no table first.

A template like the engine's own: `specialise` fills in the names below the line for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine.batch import Batch
from surpass.learning.improvement.draft_kernels import copy_draft, edit, firing, place_of, price
from surpass.learning.improvement.drafts import Draft, Ground, Lore, Worth
from surpass.machine.kernel import UNCOUNTED, kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.programs.evaluate import NO_RULE, CompiledRules, Digits, fire

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import in_range, observe
    from surpass.engine.kernels import check_stack, perform, start_one

RUNNING, SOLVED, STACK_FULL = int(Outcome.RUNNING), int(Outcome.SOLVED), int(Outcome.STACK_FULL)
STEP_LIMIT, NO_ACTION, BAD_OBSERVATION = int(Outcome.STEP_LIMIT), int(Outcome.NO_ACTION), int(Outcome.BAD_OBSERVATION)


@kernel
def play_one(batch: Batch, rules: CompiledRules, digits: Digits, action_rows: Ints, limit: int, b: int) -> None:
    """Play episode `b` by rules in place until it ends or has to wait for a larger stack."""
    state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
    steps, outcome = batch.steps[b], RUNNING
    while outcome == RUNNING:
        if steps >= limit:
            outcome = STEP_LIMIT
            break
        seen = observe(state)
        if not in_range(seen):
            outcome = BAD_OBSERVATION
            break
        for k in range(len(seen)):
            digits[k] = seen[k]
        rule = fire(rules, digits)
        if rule == NO_RULE:
            outcome = NO_ACTION
            break
        outcome = check_stack(state)
        if outcome != RUNNING:
            break
        action = rules.actions[rule]
        outcome = perform(state, action, action_rows, action)
        steps += 1
    batch.steps[b] = steps
    batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True)
def play(
    batch: Batch, rules: CompiledRules, action_rows: Ints, limits: Ints, needed: Flags, first: int, stop: Ints
) -> None:
    """Play episodes from `first` on, one for each of `limits` [m], by rules in place.

    When one is not solved that is `needed` [m], the rest are given up: they count as having used up their steps.
    When `stop[0]` is set meanwhile, it comes back at once.
    """
    digits = np.empty(len(rules.radices), np.int16)
    is_lost = False
    for k in range(len(limits)):
        b = first + k
        if stop[0] != 0:
            return
        if batch.outcomes[b] > RUNNING:
            continue
        if is_lost:
            batch.outcomes[b] = STEP_LIMIT
            continue
        play_one(batch, rules, digits, action_rows, limits[k], b)
        is_lost = needed[k] and batch.outcomes[b] != SOLVED and batch.outcomes[b] != STACK_FULL


@kernel
def play_draft(batch: Batch, draft: Draft, lore: Lore, digits: Digits, action_rows: Ints, limit: int, b: int) -> None:
    """Play episode `b` by a draft in place until it ends; one that needs a larger stack has failed."""
    state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
    steps, outcome = 0, batch.outcomes[b]
    while outcome == RUNNING:
        if steps >= limit:
            outcome = STEP_LIMIT
            break
        seen = observe(state)
        if not in_range(seen):
            outcome = BAD_OBSERVATION
            break
        for k in range(len(seen)):
            digits[k] = seen[k]
        place = place_of(draft, lore, digits)
        rule = firing(draft, place, digits) if place >= 0 else NO_RULE
        if rule == NO_RULE:
            outcome = NO_ACTION
            break
        outcome = check_stack(state)
        if outcome != RUNNING:
            break
        action = draft.actions[place, rule]
        outcome = perform(state, action, action_rows, action)
        steps += 1
    batch.steps[b] = steps
    batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True, **UNCOUNTED)  # type: ignore[untyped-decorator]
def redo(draft: Draft, edited: Draft, lore: Lore, random: Ints) -> None:
    """Edit a draft with a generator [1, 2] into `edited`, in place; it uses nothing of a task."""
    copy_draft(draft, edited)
    edit(edited, lore, random)


@numba.njit(nogil=True, cache=True)
def screen(
    batch: Batch,
    b: int,
    draft: Draft,
    edited: Draft,
    lore: Lore,
    ground: Ground,
    worth: Worth,
    action_rows: Ints,
    states: Ints,
    gains: Reals,
    stop: Ints,
) -> None:
    """Edit a draft with each generator `states` [K, 2], play it, and write what it gains into `gains` [K], in place.

    One that fails where it must not gains minus infinity, and so does one that loses much on the first instances: it
    is not played on the rest. `b` is the row of the batch to play in, `edited` the room to edit in.
    """
    digits = np.empty(len(lore.radices), np.int16)
    random = np.empty((1, 2), np.int64)
    before = price(draft, worth.rule_price, worth.test_price)
    for k in range(len(states)):
        if stop[0] != 0:
            return
        random[0, 0], random[0, 1] = states[k, 0], states[k, 1]
        redo(draft, edited, lore, random)
        gain = before - price(edited, worth.rule_price, worth.test_price)
        for i in range(len(ground.sizes)):
            start_one(batch, b, ground.sizes, ground.items, ground.reals, i)
            score = batch.reals[b, SCORE]
            play_draft(batch, edited, lore, digits, action_rows, ground.limits[i], b)
            outcome = batch.outcomes[b]
            is_solved = outcome == SOLVED or (not worth.by_steps and outcome == STEP_LIMIT)
            cost = ground.failure_costs[i]
            if is_solved:
                cost = worth.step_cost * batch.steps[b] - worth.progress * (batch.reals[b, SCORE] - score)
            gain += ground.weights[i] * (ground.costs[i] - cost)
            if (ground.needed[i] and not is_solved) or gain < worth.least:
                gain = -np.inf
                break
        gains[k] = gain
