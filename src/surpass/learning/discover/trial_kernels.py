"""The compiled loop of a screen: drafts are interpreted step by step, so that a new program needs no table first.

A template like the engine's own: `specialise` fills in the names below the line for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.learning.discover.draft_kernels import NONE, copy_draft, edit, firing, has_same_rules, place_of, price
from surpass.learning.discover.drafts import BITS, Draft, EditContext, Prices, ScreeningSet
from surpass.machine.kernel import UNCOUNTED, inner, kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.programs.evaluate import Digits

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import in_range, observe, pack
    from surpass.engine.kernels import check_stack, judge, perform, start_one

RUNNING, SOLVED = int(Outcome.RUNNING), int(Outcome.SOLVED)
STEP_LIMIT, NO_ACTION, BAD_OBSERVATION = int(Outcome.STEP_LIMIT), int(Outcome.NO_ACTION), int(Outcome.BAD_OBSERVATION)


@kernel
def play_one(
    batch: Batch, draft: Draft, context: EditContext, digits: Digits, limit: int, stack: Ints, notes: Ints, b: int
) -> None:
    """Play episode `b` by a draft in place until it ends, or would need a larger stack.

    As many of its first observations are noted, packed, as `notes` has room for.
    """
    state = State(batch.registers[b], batch.items[b], batch.reals[b], stack)
    steps, outcome = batch.steps[b], RUNNING
    while outcome == RUNNING:
        if steps >= limit:
            outcome = STEP_LIMIT
            break
        seen = observe(state)
        if not in_range(seen):
            outcome = BAD_OBSERVATION
            break
        if steps < len(notes):
            notes[steps] = pack(seen)
        for k in range(len(seen)):
            digits[k] = seen[k]
        place = place_of(draft, context, digits)
        rule = firing(draft, place, digits) if place >= 0 else NONE
        if rule == NONE:
            outcome = NO_ACTION
            break
        outcome = check_stack(state)
        if outcome != RUNNING:
            break
        action = draft.actions[place, rule]
        outcome = perform(batch, b, state, action, context.action_rows, action)
        steps += 1
    batch.steps[b] = steps
    batch.outcomes[b] = outcome


@numba.njit(nogil=True, cache=True)
def play_all(
    batch: Batch, draft: Draft, context: EditContext, limits: Ints, stack: Ints, notes: Ints, ends: Ints, stop: Ints
) -> None:
    """Play all episodes by a draft, one after the other on the same stack, in place.

    What episode `b` sees goes into `notes`, from `ends[b]` on and before `ends[b + 1]`.
    """
    digits = np.empty(len(context.radices), np.int16)
    for b in range(len(limits)):
        if stop[0] != 0:
            return
        if batch.outcomes[b] == RUNNING:
            play_one(batch, draft, context, digits, limits[b], stack, notes[ends[b] : ends[b + 1]], b)


@numba.njit(nogil=True, cache=True, **UNCOUNTED)  # type: ignore[untyped-decorator]
def redo(draft: Draft, edited: Draft, mate: Draft, context: EditContext, random: Ints) -> None:
    """Edit a draft, which may copy from its mate, with a generator [1, 2] into `edited`, in place."""
    copy_draft(draft, edited)
    edit(edited, mate, context, random)


@inner
def find_affected(draft: Draft, edited: Draft, context: EditContext, chosen: ScreeningSet, affected: Ints) -> None:
    """Write the instances on which an edited draft does anything else than the draft into `affected` [words], in place.

    All others end as they did, so they need not be played.
    """
    words, left = len(affected), 0
    for w in range(words):
        affected[w] = chosen.always[w]
    for g in range(len(chosen.groups) - 1):
        first = chosen.groups[g]
        old, new = place_of(draft, context, chosen.digits[first]), place_of(edited, context, chosen.digits[first])
        if old == new and (new == NONE or has_same_rules(draft, edited, new)):
            continue
        for k in range(first, chosen.groups[g + 1]):
            left = 0
            for w in range(words):
                left |= chosen.met_by[k, w] & ~affected[w]
            if left == 0:
                continue
            rule = firing(edited, new, chosen.digits[k]) if new >= 0 else NONE
            action = edited.actions[new, rule] if rule >= 0 else NONE
            if action != chosen.actions[k]:
                for w in range(words):
                    affected[w] |= chosen.met_by[k, w]


@numba.njit(nogil=True, cache=True)
def screen(
    batch: Batch,
    b: int,
    draft: Draft,
    edited: Draft,
    mate: Draft,
    context: EditContext,
    chosen: ScreeningSet,
    prices: Prices,
    states: Ints,
    gains: Reals,
    stop: Ints,
) -> None:
    """Edit a draft with each generator `states` [K, 2], play it, and write what it gains into `gains` [K], in place.

    It is played where it does anything else than the draft. One that fails where it must not, or needs a larger stack,
    gains minus infinity. So does one that loses much on the first instances: it is not played on the rest. `b` is the
    row of the batch to play in, `edited` the room to edit in.
    """
    digits = np.empty(len(context.radices), np.int16)
    random, notes = np.empty((1, 2), np.int64), np.empty(0, np.int64)
    affected = np.empty(len(chosen.always), np.int64)
    before = price(draft, prices.rule_price, prices.test_price)
    for k in range(len(states)):
        if stop[0] != 0:
            return
        random[0, 0], random[0, 1] = states[k, 0], states[k, 1]
        redo(draft, edited, mate, context, random)
        gain = before - price(edited, prices.rule_price, prices.test_price)
        find_affected(draft, edited, context, chosen, affected)
        for i in range(len(chosen.sizes)):
            if not (affected[i // BITS] >> (i % BITS)) & 1:
                continue
            start_one(batch, b, chosen.sizes, chosen.items, chosen.reals, i)
            score = batch.reals[b, SCORE]
            if batch.outcomes[b] == RUNNING:
                play_one(batch, edited, context, digits, chosen.limits[i], batch.stack[b], notes, b)
            outcome = batch.outcomes[b]
            if outcome == STEP_LIMIT and not prices.must_end:
                state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
                outcome = judge(batch, b, state, SOLVED)
            is_solved = outcome == SOLVED
            cost = chosen.failure_costs[i]
            if is_solved:
                cost = prices.step_cost * batch.steps[b] - prices.progress * (batch.reals[b, SCORE] - score)
            gain += chosen.weights[i] * (chosen.costs[i] - cost)
            if (chosen.needed[i] and not is_solved) or gain < prices.least:
                gain = -np.inf
                break
        gains[k] = gain
