"""The compiled loops of the actor-critic: play episodes by sampled actions, and sum up what they showed.

`specialise` runs a copy of this file for each task, in which the names below the line stand for the task's kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba

from surpass.arrays import Array, Floats, Ints, Reals
from surpass.engine.batch import Batch
from surpass.engine.chance import choose, draw_bits
from surpass.machine.kernel import kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import hints, in_range, observe, pack
    from surpass.engine.kernels import check_stack, perform

RUNNING, SOLVED = int(Outcome.RUNNING), int(Outcome.SOLVED)
WRONG_ANSWER, STEP_LIMIT = int(Outcome.WRONG_ANSWER), int(Outcome.STEP_LIMIT)
BAD_OBSERVATION, UNKNOWN_OBSERVATION = int(Outcome.BAD_OBSERVATION), int(Outcome.UNKNOWN_OBSERVATION)


class Odds(NamedTuple):
    """The policy as the loops read it."""

    hidden: Ints
    """[H, 2] the stride and the radix of each feature that the policy does not see."""
    keys: Ints
    """[P] what it sees, hashed,"""
    rows: Ints
    """[P] and the row of each."""
    cumulative: Reals
    """[R, C] cumulative probabilities of the actions; from the last one on they are 2."""
    actions: Ints
    """[C] the actions that it chooses from."""


class StepRecord(NamedTuple):
    """Every step of some episodes, one episode after the other."""

    starts: Ints
    """[B] where the steps of each episode begin."""
    skipped: Ints
    """[B] how many random actions each episode begins with; they are not recorded."""
    rows: Array
    """[T] int32: the row of the observation"""
    choices: Array
    """[T] int32: and the number of the chosen action."""
    gains: Floats
    """[T] the gain of the score."""
    hints: Floats
    """[T, K] what the critic sees before the step."""


class Values(NamedTuple):
    """The critic: a weighted sum of the hints, plus for each row the mean of what that leaves over."""

    visits: Reals
    """[R] the discounted number of visits of each row,"""
    returns: Reals
    """[R] the sum of the returns after them,"""
    hints: Reals
    """[R, K] and of the hints."""
    weights: Reals
    """[K]"""
    usual: Reals
    """[1] the mean of what the hints leave over; rows with few visits are drawn towards it."""


class Sums(NamedTuple):
    """What a batch showed."""

    advantages: Reals
    """[R, C] the sum of the advantages of each action"""
    counts: Reals
    """[R, C] and how often it was taken."""
    visits: Reals
    """[R] how often a row came up,"""
    returns: Reals
    """[R] the sum of the returns after it,"""
    hints: Reals
    """[R, K] and of the hints."""
    products: Reals
    """[K, K + 1] the sums of the products of hints with each other (below the diagonal) and with the returns."""


@numba.njit(nogil=True, cache=True)
def sample(
    batch: Batch,
    odds: Odds,
    action_rows: Ints,
    random: Ints,
    limits: Ints,
    record: StepRecord,
    first: int,
    last: int,
    stop: Ints,
) -> None:
    """Play episodes `first` to `last - 1` in place until each ends or waits for a row, or `stop[0]` is set."""
    for b in range(first, last):
        if batch.outcomes[b] > RUNNING:
            continue
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        steps, outcome = batch.steps[b], RUNNING
        while outcome == RUNNING:
            if steps >= limits[b]:
                outcome = STEP_LIMIT
                break
            if stop[0] != 0:
                break
            seen = observe(state)
            if not in_range(seen):
                outcome = BAD_OBSERVATION
                break
            outcome = check_stack(state)
            if outcome != RUNNING:
                break
            if steps < record.skipped[b]:
                action = odds.actions[draw_bits(random, b) % len(odds.actions)]
                outcome = perform(batch, b, state, action, action_rows, action)
                steps += 1
                continue
            shown = pack(seen)
            for k in range(len(odds.hidden)):
                shown -= shown // odds.hidden[k, 0] % odds.hidden[k, 1] * odds.hidden[k, 0]
            place = find(odds.keys, shown)
            if odds.keys[place] == EMPTY:
                batch.pending[b] = shown
                outcome = UNKNOWN_OBSERVATION
                break
            at, row = record.starts[b] + steps, odds.rows[place]
            choice = choose(odds.cumulative, row, random, b)
            record.rows[at], record.choices[at] = row, choice
            hinted = hints(state)
            for k in range(len(hinted)):
                record.hints[at, k] = hinted[k]
            record.hints[at, len(hinted)] = limits[b] - steps
            score = state.reals[SCORE]
            action = odds.actions[choice]
            outcome = perform(batch, b, state, action, action_rows, action)
            record.gains[at] = state.reals[SCORE] - score
            steps += 1
        batch.steps[b] = steps
        batch.outcomes[b] = outcome


@kernel
def value_of(values: Values, hinted: Floats, at: int, row: int, prior_count: float) -> float:
    """Return what the critic expects to come from a step on."""
    rest, hinted_value = values.returns[row] + prior_count * values.usual[0], 0.0
    for k in range(len(values.weights)):
        hinted_value += values.weights[k] * hinted[at, k]
        rest -= values.weights[k] * values.hints[row, k]
    expected: float = hinted_value + rest / (values.visits[row] + prior_count)
    return expected


@numba.njit(nogil=True, cache=True)
def accumulate(
    batch: Batch, record: StepRecord, values: Values, settings: Reals, limits: Ints, sums: Sums, first: int, last: int
) -> None:
    """Add the lambda-advantages and returns of episodes `first` to `last - 1` to the sums, in place.

    `settings` are the cost of a step, of a wrong answer as a share of the limit, the worth of a gain of the score,
    lambda, the critic's prior count, and for a score that must be finished what each step up to the limit costs unless
    the episode is solved, which then keeps no gain; else -1. There a limit costs no more than the steps.
    """
    step_cost, wrong_cost, progress, lambda_, prior_count, unsolved_cost = (
        settings[0],
        settings[1],
        settings[2],
        settings[3],
        settings[4],
        settings[5],
    )
    count = len(values.weights)
    for b in range(first, last):
        start = record.starts[b]
        following, advantage, total = 0.0, 0.0, 0.0
        reward = -wrong_cost * limits[b] * (batch.outcomes[b] == WRONG_ANSWER)
        if unsolved_cost >= 0 and batch.outcomes[b] != SOLVED:
            reward = -unsolved_cost * limits[b]
            for at in range(start + record.skipped[b], start + batch.steps[b]):
                reward -= progress * record.gains[at]
        for at in range(start + batch.steps[b] - 1, start + record.skipped[b] - 1, -1):
            row = record.rows[at]
            value = value_of(values, record.hints, at, row, prior_count)
            reward += progress * record.gains[at] - step_cost
            advantage = reward + following - value + lambda_ * advantage
            total += reward
            following, reward = value, 0.0
            sums.advantages[row, record.choices[at]] += advantage
            sums.counts[row, record.choices[at]] += 1
            sums.visits[row] += 1
            sums.returns[row] += total
            for i in range(count):
                hint = float(record.hints[at, i])
                sums.hints[row, i] += hint
                for j in range(i + 1):
                    sums.products[i, j] += hint * record.hints[at, j]
                sums.products[i, count] += hint * total
