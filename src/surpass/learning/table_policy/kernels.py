"""The compiled loops of mirror descent: play episodes by a table of logits, and sum up what they showed.

A template like the engine's own: `specialise` fills in the names below the line for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba

from surpass.arrays import Ints, Reals
from surpass.engine.batch import Batch
from surpass.learning.table_policy.arrays import Choices, Critic, Odds, Record, Sums
from surpass.machine.kernel import kernel
from surpass.machine.state import PREVIOUS, SCORE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import act, hints, in_range, observe, operands_of, pack
    from surpass.engine.kernels import check_stack

RUNNING, WRONG_ANSWER, STEP_LIMIT = int(Outcome.RUNNING), int(Outcome.WRONG_ANSWER), int(Outcome.STEP_LIMIT)
BAD_OBSERVATION, UNKNOWN_OBSERVATION = int(Outcome.BAD_OBSERVATION), int(Outcome.UNKNOWN_OBSERVATION)
UNKNOWN_DECISION = int(Outcome.UNKNOWN_DECISION)
PRIOR = 3.0
"""How many visits of the usual kind each observation is taken to have had."""


@kernel
def draw_bits(random: Ints, b: int) -> int:
    """Return a whole number below 2**32 from the generator of episode `b`, and move it on in place.

    A xorshift and a Weyl sequence of 32 bits each, in 64-bit integers: nothing overflows.
    """
    x = random[b, 0]
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    weyl = (random[b, 1] + 362437) & 0xFFFFFFFF
    random[b, 0], random[b, 1] = x, weyl
    bits: int = (x + weyl) & 0xFFFFFFFF
    return bits


@kernel
def choose(cumulative: Reals, row: int, random: Ints, b: int) -> int:
    """Return a choice of a row, drawn with its probabilities."""
    uniform = draw_bits(random, b) / 4294967296.0
    choice = 0
    while cumulative[row, choice] <= uniform:
        choice += 1
    return choice


@numba.njit(nogil=True, cache=True)
def sample(
    batch: Batch,
    choices: Choices,
    odds: Odds,
    random: Ints,
    limits: Ints,
    record: Record,
    first: int,
    last: int,
    stop: Ints,
) -> None:
    """Play episodes `first` to `last - 1` in place until each ends or waits for a row, or `stop[0]` is set.

    One that waits for a row says in `batch.pending` for which observation, or after which choice of which row.
    """
    width = odds.links.shape[1]
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
            observation = pack(seen)
            outcome = check_stack(state)
            if outcome != RUNNING:
                break
            if steps < record.strays[b]:
                action = draw_bits(random, b) % len(choices.action_rows)
                state.registers[PREVIOUS] = action + 1
                outcome = act(state, choices.action_rows[action, 0], operands_of(choices.action_rows, action))
                steps += 1
                continue
            place = find(odds.keys, observation)
            if odds.keys[place] == EMPTY:
                batch.pending[b] = observation
                outcome = UNKNOWN_OBSERVATION
                break
            row = decision = odds.rows[place]
            x, weyl = random[b, 0], random[b, 1]
            instruction = choice = choose(odds.cumulative, row, random, b)
            action = choices.offsets[instruction]
            for k in range(choices.operand_counts[instruction]):
                following = odds.links[decision, choice]
                if following < 0:
                    batch.pending[b] = decision * width + choice
                    outcome = UNKNOWN_DECISION
                    break
                decision = following
                choice = choose(odds.cumulative, decision, random, b)
                action += choice * choices.weights[instruction, k]
            if outcome != RUNNING:
                random[b, 0], random[b, 1] = x, weyl
                break
            at = record.starts[b] + steps
            record.rows[at] = row
            record.actions[at] = action
            hinted = hints(state)
            for k in range(len(hinted)):
                record.hints[at, k] = hinted[k]
            record.hints[at, len(hinted)] = limits[b] - steps
            score = state.reals[SCORE]
            state.registers[PREVIOUS] = action + 1
            outcome = act(state, choices.action_rows[action, 0], operands_of(choices.action_rows, action))
            record.gains[at] = state.reals[SCORE] - score
            steps += 1
        batch.steps[b] = steps
        batch.outcomes[b] = outcome


@kernel
def estimate(critic: Critic, record: Record, at: int, row: int) -> float:
    """Return what the critic expects to come from a step on."""
    rest, value = critic.returns[row] + PRIOR * critic.usual[0], 0.0
    for k in range(len(critic.weights)):
        rest -= critic.weights[k] * critic.hints[row, k]
        value += critic.weights[k] * record.hints[at, k]
    expected: float = value + rest / (critic.visits[row] + PRIOR)
    return expected


@numba.njit(nogil=True, cache=True)
def sum_up(
    batch: Batch,
    choices: Choices,
    odds: Odds,
    record: Record,
    critic: Critic,
    settings: Reals,
    limits: Ints,
    sums: Sums,
    first: int,
    last: int,
) -> None:
    """Add what episodes `first` to `last - 1` showed to the sums, in place.

    `settings` are the cost of a step, of a wrong answer as a share of the limit, the worth of a gain of the score, and
    how far back an error of the critic is traced. A limit that cuts an episode off costs no more than its steps.
    """
    step_cost, wrong_cost, progress, trace = settings[0], settings[1], settings[2], settings[3]
    count = len(critic.weights)
    for b in range(first, last):
        start = record.starts[b]
        following, advantage, total = 0.0, 0.0, 0.0
        reward = -wrong_cost * limits[b] * (batch.outcomes[b] == WRONG_ANSWER)
        for at in range(start + batch.steps[b] - 1, start + record.strays[b] - 1, -1):
            row, action = record.rows[at], record.actions[at]
            value = estimate(critic, record, at, row)
            reward += progress * record.gains[at] - step_cost
            advantage = reward + following - value + trace * advantage
            total += reward
            following, reward = value, 0.0
            sums.visits[row] += 1
            sums.returns[row] += total
            sums.errors[0] += (total - value) ** 2
            sums.errors[1] += total * total
            for i in range(count):
                hint = float(record.hints[at, i])
                sums.hints[row, i] += hint
                for j in range(i + 1):
                    sums.products[i, j] += hint * record.hints[at, j]
                sums.products[i, count] += hint * total
            instruction = choices.action_rows[action, 0]
            decision, choice = row, instruction
            sums.totals[row] += 1
            sums.advantages[row, choice] += advantage
            sums.counts[row, choice] += 1
            for k in range(choices.operand_counts[instruction]):
                decision, choice = odds.links[decision, choice], choices.action_rows[action, 1 + k]
                sums.totals[decision] += 1
                sums.advantages[decision, choice] += advantage
                sums.counts[decision, choice] += 1
