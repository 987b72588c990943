"""The compiled loops of mirror descent: play episodes by a table of logits, and sum up what they showed.

A template like the engine's own: `specialise` fills in the names below the line for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba

from surpass.arrays import Floats, Ints, Reals
from surpass.engine.batch import Batch
from surpass.engine.chance import RANGE, choose, draw_bits
from surpass.learning.table_policy.arrays import Choices, Critic, Odds, RowSums, StepRecord, Trials
from surpass.machine.kernel import kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import hints, in_range, observe, pack
    from surpass.engine.kernels import check_stack, perform

RUNNING, WRONG_ANSWER, STEP_LIMIT = int(Outcome.RUNNING), int(Outcome.WRONG_ANSWER), int(Outcome.STEP_LIMIT)
BAD_OBSERVATION, UNKNOWN_OBSERVATION = int(Outcome.BAD_OBSERVATION), int(Outcome.UNKNOWN_OBSERVATION)
UNKNOWN_DECISION = int(Outcome.UNKNOWN_DECISION)


@kernel
def pick(choices: Choices, odds: Odds, random: Ints, b: int, row: int, level: int, batch: Batch) -> tuple[int, int]:
    """Return an action and the number of its operands, chosen evenly up to a level and by the policy beyond.

    Level 0 is the instruction, 1 its first operand; -1 is the policy alone.

    The action is -1 if a decision has no row yet; `batch.pending` then says after which choice.
    """
    decision, choice, action = row, 0, 0
    operands, instruction = 0, 0
    for k in range(-1, choices.weights.shape[1]):
        if k >= 0:
            following = odds.links[decision, choice]
            if following < 0:
                batch.pending[b] = decision * odds.links.shape[1] + choice
                return -1, 0
            decision = following
        if k < level:
            number = 1
            while odds.cumulative[decision, number - 1] < 2:
                number += 1
            choice = draw_bits(random, b) % number
        else:
            choice = choose(odds.cumulative, decision, random, b)
        if k < 0:
            instruction = choice
            action, operands = choices.offsets[choice], choices.operand_counts[choice]
        else:
            action += choice * choices.weights[instruction, k]
        if k + 1 == operands:
            break
    return action, operands


@kernel
def try_out(
    choices: Choices, odds: Odds, action: int, state: State, copy: State, trials: Trials, at: int, left: int
) -> None:
    """Note what an action leads to, in place; the episode itself does not change."""
    for k in range(len(state.registers)):
        copy.registers[k] = state.registers[k]
    for k in range(len(state.items)):
        copy.items[k] = state.items[k]
    for k in range(len(state.reals)):
        copy.reals[k] = state.reals[k]
    for k in range(len(state.stack)):
        copy.stack[k] = state.stack[k]
    outcome = perform(copy, action, choices.action_rows, action)
    trials.actions[at] = action
    trials.gains[at] = copy.reals[SCORE] - state.reals[SCORE]
    trials.rows[at] = -1
    if outcome == RUNNING:
        seen = observe(copy)
        if not in_range(seen):
            trials.actions[at] = -1
        place = find(odds.keys, pack(seen))
        if odds.keys[place] != EMPTY:
            trials.rows[at] = odds.rows[place]
        hinted = hints(copy)
        for k in range(len(hinted)):
            trials.hints[at, k] = hinted[k]
        trials.hints[at, len(hinted)] = left
    trials.outcomes[at] = outcome


@numba.njit(nogil=True, cache=True)
def sample(
    batch: Batch,
    choices: Choices,
    odds: Odds,
    random: Ints,
    limits: Ints,
    record: StepRecord,
    trials: Trials,
    tried: float,
    copies: Batch,
    own: int,
    first: int,
    last: int,
    stop: Ints,
) -> None:
    """Play episodes `first` to `last - 1` in place until each ends or waits for a row, or `stop[0]` is set.

    One that waits for a row says in `batch.pending` for which observation, or after which choice of which row. At a
    share `tried` of the steps another action is tried on a copy of the episode, in row `own` of the copies.
    """
    levels = choices.weights.shape[1] + 1
    copy = State(copies.registers[own], copies.items[own], copies.reals[own], copies.stack[own])
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
                outcome = perform(state, action, choices.action_rows, action)
                steps += 1
                continue
            place = find(odds.keys, observation)
            if odds.keys[place] == EMPTY:
                batch.pending[b] = observation
                outcome = UNKNOWN_OBSERVATION
                break
            row = odds.rows[place]
            x, weyl = random[b, 0], random[b, 1]
            at = record.starts[b] + steps
            if tried > 0:
                trials.actions[at] = -1
                if draw_bits(random, b) < tried * RANGE:
                    level = draw_bits(random, b) % levels
                    action, operands = pick(choices, odds, random, b, row, level, batch)
                    if action < 0:
                        random[b, 0], random[b, 1] = x, weyl
                        outcome = UNKNOWN_DECISION
                        break
                    try_out(choices, odds, action, state, copy, trials, at, limits[b] - steps - 1)
                    trials.levels[at] = min(level, operands)
            action, _ = pick(choices, odds, random, b, row, -1, batch)
            if action < 0:
                random[b, 0], random[b, 1] = x, weyl
                outcome = UNKNOWN_DECISION
                break
            record.rows[at] = row
            record.actions[at] = action
            hinted = hints(state)
            for k in range(len(hinted)):
                record.hints[at, k] = hinted[k]
            record.hints[at, len(hinted)] = limits[b] - steps
            score = state.reals[SCORE]
            outcome = perform(state, action, choices.action_rows, action)
            record.gains[at] = state.reals[SCORE] - score
            steps += 1
        batch.steps[b] = steps
        batch.outcomes[b] = outcome


@kernel
def estimate(critic: Critic, hints: Floats, at: int, row: int, doubt: float) -> float:
    """Return what the critic expects to come from a step on, at an observation with a row or at one without, -1."""
    value, own = 0.0, critic.usual[0]
    for k in range(len(critic.weights)):
        value += critic.weights[k] * hints[at, k]
    if row >= 0:
        rest = critic.returns[row] + doubt * critic.usual[0]
        for k in range(len(critic.weights)):
            rest -= critic.weights[k] * critic.hints[row, k]
        own = rest / (critic.visits[row] + doubt)
    expected: float = value + own
    return expected


@numba.njit(nogil=True, cache=True)
def sum_up(
    batch: Batch,
    choices: Choices,
    odds: Odds,
    record: StepRecord,
    trials: Trials,
    critic: Critic,
    settings: Reals,
    limits: Ints,
    sums: RowSums,
    first: int,
    last: int,
) -> None:
    """Add what episodes `first` to `last - 1` showed to the sums, in place.

    `settings` are the cost of a step, of a wrong answer as a share of the limit, the worth of a gain of the score, how
    far back an error of the critic is traced, and how many visits of the usual kind each observation is taken to have
    had. A limit that cuts an episode off costs no more than its steps.
    """
    step_cost, wrong_cost, progress, trace, doubt = settings[0], settings[1], settings[2], settings[3], settings[4]
    count = len(critic.weights)
    for b in range(first, last):
        start = record.starts[b]
        following, advantage, total = 0.0, 0.0, 0.0
        reward = -wrong_cost * limits[b] * (batch.outcomes[b] == WRONG_ANSWER)
        for at in range(start + batch.steps[b] - 1, start + record.strays[b] - 1, -1):
            row, action = record.rows[at], record.actions[at]
            value = estimate(critic, record.hints, at, row, doubt)
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
            if len(trials.actions) > 0 and trials.actions[at] >= 0:
                worth = progress * trials.gains[at] - step_cost
                if trials.outcomes[at] == WRONG_ANSWER:
                    worth -= wrong_cost * limits[b]
                elif trials.outcomes[at] == RUNNING:
                    worth += estimate(critic, trials.hints, at, trials.rows[at], doubt)
                tried = trials.actions[at]
                decision, choice = row, choices.action_rows[tried, 0]
                for k in range(trials.levels[at]):
                    decision, choice = odds.links[decision, choice], choices.action_rows[tried, 1 + k]
                sums.totals[decision] += 1
                sums.tried[decision, choice] += worth - value
                sums.tries[decision, choice] += 1
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
