"""The compiled loops. They are written once and compiled for each task.

`specialise` runs a copy of this file in which the names below the line stand for a task's kernels and numbers, so that
they are inlined and the result is cached on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import numpy.typing as npt

from surpass.engine.backward import add_inputs, add_losses, write_slopes
from surpass.engine.batch import Batch
from surpass.engine.experience import Plan, Pool, Record, Sums, Tree
from surpass.engine.forward import ONE, WIDTH, ZERO, add_row, fill_row, new_workspace, write_tables
from surpass.machine.calls import stack_limit
from surpass.machine.state import DEPTH, PREVIOUS, SCORE, SIZE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import FRAME_SIZE, act, in_range, observe, operands_of, pack, start, unpack

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
RealList = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]

RUNNING, UNKNOWN_OBSERVATION, STACK_FULL = (
    int(Outcome.RUNNING),
    int(Outcome.UNKNOWN_OBSERVATION),
    int(Outcome.STACK_FULL),
)
TABLE_FULL, NEEDS_INSTANCE = int(Outcome.TABLE_FULL), int(Outcome.NEEDS_INSTANCE)
SOLVED, WRONG_ANSWER = int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER)
LOOP = int(Outcome.LOOP)
STEP_LIMIT, STACK_LIMIT, NO_ACTION, BAD_OBSERVATION = (
    int(Outcome.STEP_LIMIT),
    int(Outcome.STACK_LIMIT),
    int(Outcome.NO_ACTION),
    int(Outcome.BAD_OBSERVATION),
)


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
def check_stack(state: State) -> int:
    """Return `RUNNING` if one more call can be opened, else why the episode has to wait or end."""
    if FRAME_SIZE > 0:
        if state.registers[DEPTH] > stack_limit(state.registers[SIZE]):
            return STACK_LIMIT
        if (state.registers[DEPTH] + 1) * FRAME_SIZE > len(state.stack):
            return STACK_FULL
    return RUNNING


@numba.njit(forceinline=True)
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


@numba.njit(forceinline=True)
def copy_state(state: State, other: State) -> None:
    """Copy everything that the rest of an episode depends on into `other`, in place."""
    other.registers[:] = state.registers
    other.items[:] = state.items
    other.reals[:] = state.reals
    for k in range(state.registers[DEPTH] * FRAME_SIZE):
        other.stack[k] = state.stack[k]


@numba.njit(forceinline=True)
def advance_one(
    batch: Batch, keys: Ints, values: Ints, action_rows: Ints, limit: int, counts: Ints, kept: State, b: int
) -> None:
    """Advance episode `b` by a table in place until it ends or has to wait.

    `counts` is empty, or counts in place how often each place of the table was used.
    `kept` is empty, or holds an earlier state that is compared with every later one: if it comes back, the episode is a
    loop. It is replaced after twice as many steps each time, so that it lies on the loop before long (Brent's way). The
    first one is kept after some steps only: copying it costs as much, and most episodes end sooner.
    """
    state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
    steps, outcome = batch.steps[b], RUNNING
    renewal = steps + 8 + (len(state.items) + len(state.reals)) // 8
    find_loops = len(kept.registers) > 0
    if find_loops:
        kept.registers[SIZE] = -1
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
        if len(counts) > 0:
            counts[place] += 1
        state.registers[PREVIOUS] = action + 1
        outcome = act(state, action_rows[action, 0], operands_of(action_rows, action))
        steps += 1
        if find_loops and outcome == RUNNING:
            if is_same(state, kept):
                outcome = LOOP
            elif steps == renewal:
                copy_state(state, kept)
                renewal += steps
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
) -> None:
    """Advance episodes `first` to `last - 1`, or to the end, by a table in place, until each ends or has to wait.

    `counts` [places] counts in place how often each place of the table is used, unless it is empty. With `find_loops`
    an episode ends when its whole state comes back: it would go round for ever.
    """
    kept = State(
        np.empty(find_loops * batch.registers.shape[1], np.int64),
        np.empty(find_loops * batch.items.shape[1], np.int64),
        np.empty(find_loops * batch.reals.shape[1]),
        np.empty(find_loops * batch.stack.shape[1], np.int64),
    )
    nothing = limits[:0]
    no_state = State(nothing, nothing, np.empty(0), nothing)
    for b in range(first, min(last, len(limits))):
        if batch.outcomes[b] > RUNNING:
            continue
        if find_loops or len(counts) > 0:
            advance_one(batch, keys, values, action_rows, limits[b], counts, kept, b)
        else:
            # Inlined a second time, with neither: what is known to be empty costs nothing at each step.
            advance_one(batch, keys, values, action_rows, limits[b], nothing, no_state, b)


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


# Sampling: the same loop, with each decision drawn from a table of cumulative probabilities.


@numba.njit(forceinline=True)
def draw_uniform(random: Ints, b: int) -> float:
    """Return a number in [0, 1) from the generator of episode `b`, and move it on in place.

    A xorshift and a Weyl sequence of 32 bits each, in 64-bit integers: nothing overflows.
    """
    x = random[b, 0]
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    weyl = (random[b, 1] + 362437) & 0xFFFFFFFF
    random[b, 0], random[b, 1] = x, weyl
    uniform: float = ((x + weyl) & 0xFFFFFFFF) / 4294967296.0
    return uniform


@numba.njit(forceinline=True)
def choose(cumulative: Reals, row: int, uniform: float) -> int:
    """Return the first choice of a row whose cumulative probability exceeds `uniform`."""
    choice = 0
    while cumulative[row, choice] <= uniform:
        choice += 1
    return choice


@numba.njit(forceinline=True)
def add_decision(plan: Plan, observation: int, owner: int, node: int) -> int:
    """Add a row to a plan in place and return its number; its probabilities are still to be filled in."""
    row: int = plan.used[0]
    plan.used[0] += 1
    plan.observations[row], plan.owners[row], plan.nodes[row], plan.origins[row] = observation, owner, node, -1
    plan.links[row, :] = -1
    return row


@numba.njit(forceinline=True)
def add_after(plan: Plan, row: int, choice: int, owner: int, node: int) -> int:
    """Add the decision after a choice at a row to a plan in place and return its number, as `add_decision` does."""
    added = add_decision(plan, plan.observations[owner], owner, node)
    plan.origins[added] = row * plan.links.shape[1] + choice
    plan.links[row, choice] = added
    return added


@numba.njit(nogil=True, cache=True)
def tabulate(tree: Tree, parameters: Floats) -> None:
    """Write the tables that follow the parameters, in place; see `forward.write_tables`."""
    write_tables(tree, parameters)


@numba.njit(nogil=True, cache=True)
def sample(
    batch: Batch,
    tree: Tree,
    parameters: Floats,
    plan: Plan,
    pool: Pool,
    random: Ints,
    limits: Ints,
    record: Record,
    first: int,
    last: int,
) -> None:
    """Sample episodes `first` to `last - 1` in place until each has filled its record or one has to wait.

    They come strictly one after the other, so that the order of the rows does not depend on what is waited for.
    A decision that is met for the first time is computed from the parameters and becomes a row of the plan.
    An ended episode goes on with its next instance of the pool.
    """
    steps_wanted = record.rows.shape[1]
    most_decisions = 1 + tree.weights.shape[1]
    work = new_workspace(tree)
    for b in range(first, last):
        state = State(batch.registers[b], batch.items[b], batch.reals[b], batch.stack[b])
        outcome = RUNNING
        t = record.filled[b]
        while t < steps_wanted:
            if batch.outcomes[b] > RUNNING:
                if record.used[b] * len(limits) + b >= len(pool.sizes):
                    outcome = NEEDS_INSTANCE
                    break
                start_next(batch, state, pool, record, b, len(limits))
                limits[b] = pool.limits[(record.used[b] - 1) * len(limits) + b]
                continue
            if plan.used[0] + most_decisions > len(plan.nodes):
                outcome = TABLE_FULL
                break
            seen = observe(state)
            if not in_range(seen):
                outcome = BAD_OBSERVATION
                break
            observation = pack(seen)
            outcome = check_stack(state)
            if outcome == STACK_LIMIT:
                batch.outcomes[b] = STACK_LIMIT
                outcome = RUNNING
                if t > 0:
                    record.cut[b, t - 1] = 1
                    record.after[b, t - 1] = observation
                continue
            if outcome != RUNNING:
                break
            place = find(plan.keys, observation)
            if plan.keys[place] == EMPTY:
                plan.keys[place] = observation
                plan.rows[place] = add_decision(plan, observation, plan.used[0], tree.node_count - 1)
                fill_row(tree, parameters, unpack(observation), tree.node_count - 1, work, plan, plan.rows[place])
            row = decision = plan.rows[place]
            instruction = choice = choose(plan.cumulative, row, draw_uniform(random, b))
            action = tree.offsets[instruction]
            node = tree.first_nodes[instruction]
            for k in range(tree.operand_counts[instruction]):
                following = plan.links[decision, choice]
                if following < 0:
                    following = add_after(plan, decision, choice, row, node)
                    fill_row(tree, parameters, unpack(observation), node, work, plan, following)
                decision = following
                choice = choose(plan.cumulative, decision, draw_uniform(random, b))
                action += choice * tree.weights[instruction, k]
                node = tree.children[node] + choice
            score = state.reals[SCORE]
            state.registers[PREVIOUS] = action + 1
            ended = act(state, tree.action_rows[action, 0], operands_of(tree.action_rows, action))
            batch.steps[b] += 1
            record.rows[b, t] = row
            record.actions[b, t] = action
            record.gains[b, t] = state.reals[SCORE] - score
            record.ends[b, t] = ended
            if ended == RUNNING and batch.steps[b] >= limits[b]:
                ended = STEP_LIMIT
                record.cut[b, t] = 1
                record.after[b, t] = pack(observe(state))
            if ended != RUNNING:
                record.episodes[b] += 1
                record.episode_steps[b] += batch.steps[b]
                record.solved[b] += ended == SOLVED
            batch.outcomes[b] = ended
            t += 1
        record.filled[b] = t
        record.waits[b] = outcome
        if outcome != RUNNING:
            return


@numba.njit(nogil=True, cache=True)
def absorb(plan: Plan, other: Plan, numbers: Ints) -> None:
    """Add the rows of another plan that a plan lacks, in place; it must have room.

    `numbers` [R] are set to the number that each of the other's rows has in the plan.
    """
    width = plan.links.shape[1]
    for k in range(other.used[0]):
        before = plan.used[0]
        if other.origins[k] < 0:
            place = find(plan.keys, other.observations[k])
            if plan.keys[place] == EMPTY:
                plan.keys[place] = other.observations[k]
                plan.rows[place] = add_decision(plan, other.observations[k], before, other.nodes[k])
            row = plan.rows[place]
        else:
            origin, choice = numbers[other.origins[k] // width], other.origins[k] % width
            row = plan.links[origin, choice]
            if row < 0:
                row = add_after(plan, origin, choice, numbers[other.owners[k]], other.nodes[k])
        if row == before:
            # Loops, because assignments of whole rows take ten times as long to compile.
            for j in range(plan.cumulative.shape[1]):
                plan.cumulative[row, j] = other.cumulative[k, j]
            for j in range(plan.options.shape[1]):
                plan.options[row, j] = other.options[k, j]
            for i in range(plan.layers.shape[1]):
                for j in range(plan.layers.shape[2]):
                    plan.layers[row, i, j] = other.layers[k, i, j]
        numbers[k] = row


@numba.njit(nogil=True, cache=True)
def follow(tree: Tree, parameters: Floats, plan: Plan, rows: Ints, actions: Ints, told: Ints) -> None:
    """Set the choices that make up an action for each of some observations, in place.

    `rows` [m] are those of the observations, `told` [R] are set to the choice at each row that an action passes
    through. Rows that are not there yet are added to the plan, which must have room.
    """
    work = new_workspace(tree)
    for k in range(len(rows)):
        row, action = rows[k], actions[k]
        instruction = tree.action_rows[action, 0]
        told[row] = instruction
        decision, choice = row, instruction
        node = tree.first_nodes[instruction]
        for operand in range(tree.operand_counts[instruction]):
            following = plan.links[decision, choice]
            if following < 0:
                following = add_after(plan, decision, choice, row, node)
                fill_row(tree, parameters, unpack(plan.observations[row]), node, work, plan, following)
            decision, choice = following, tree.action_rows[action, 1 + operand]
            told[decision] = choice
            node = tree.children[node] + choice


@numba.njit(forceinline=True)
def start_next(batch: Batch, state: State, pool: Pool, record: Record, b: int, count: int) -> None:
    """Start episode `b` on its next instance of the pool in place: every `count`th is its own."""
    k = record.used[b] * count + b
    batch.registers[b, :] = 0
    batch.registers[b, SIZE] = pool.sizes[k]
    batch.items[b, :] = pool.items[k]
    batch.reals[b, :] = pool.reals[k]
    batch.steps[b] = 0
    batch.outcomes[b] = start(state)
    record.used[b] += 1


@numba.njit(nogil=True, cache=True)
def accumulate(
    tree: Tree,
    plan: Plan,
    record: Record,
    values: RealList,
    afters: Reals,
    settings: RealList,
    sums: Sums,
    first: int,
    last: int,
) -> None:
    """Add what episodes `first` to `last - 1` showed to sums per decision, in place.

    `values` [R] are the baselines of rows, `afters` [B, T] those of the states after steps that a limit cut off, and of
    the state after the last step. `settings` are the discount, the cost of a step and of a wrong answer, and the worth
    of a gain of the score.
    """
    discount, step_cost, wrong_cost, progress = settings[0], settings[1], settings[2], settings[3]
    for b in range(first, last):
        following = afters[b, -1]
        for t in range(record.rows.shape[1] - 1, -1, -1):
            row, action = record.rows[b, t], record.actions[b, t]
            reward = progress * record.gains[b, t] - step_cost
            if record.ends[b, t] != RUNNING:
                reward -= wrong_cost * (record.ends[b, t] == WRONG_ANSWER)
                value = reward
            elif record.cut[b, t] == 1:
                # The limit cuts the episode off; what would have come is estimated, not zero.
                value = reward + discount * afters[b, t]
            else:
                value = reward + discount * following
            following = value
            advantage = value - values[row]
            sums.returns[row] += value
            sums.squares[row] += value * value
            instruction = tree.action_rows[action, 0]
            sums.weights[row, instruction] += advantage
            sums.counts[row] += 1
            decision, choice = row, instruction
            for k in range(tree.operand_counts[instruction]):
                decision, choice = plan.links[decision, choice], tree.action_rows[action, 1 + k]
                sums.weights[decision, choice] += advantage
                sums.counts[decision] += 1


@numba.njit(nogil=True, cache=True)
def lose(tree: Tree, plan: Plan, sums: Sums, told: Ints, losses: RealList) -> None:
    """Add the losses of all rows to `losses`, in place; see `backward.add_losses`."""
    add_losses(tree, plan, sums, told, losses)


@numba.njit(nogil=True, cache=True)
def slope(
    tree: Tree,
    plan: Plan,
    sums: Sums,
    told: Ints,
    scales: RealList,
    rows: Ints,
    slopes: Floats,
    layers: Floats,
) -> None:
    """Write the slopes of some rows, in place; see `backward.write_slopes`.

    Copy their hidden layers into `layers` [hidden layers, m, WIDTH].
    """
    write_slopes(tree, plan, sums, told, scales, rows, slopes)
    for k in range(len(rows)):
        row = rows[k]
        for depth in range(len(layers)):
            for j in range(WIDTH):
                # They are never below 0. A loop that only copies would become a call, which takes much longer.
                layers[depth, k, j] = max(plan.layers[row, depth, j], ZERO)


@numba.njit(nogil=True, cache=True)
def spread(tree: Tree, plan: Plan, rows: Ints, slopes: Floats, biases: Floats, gradient: Floats) -> None:
    """Add what some rows of one slot contribute to the gradient of a first layer, in place.

    `slopes` [m, WIDTH] are those of the layer's outputs for `rows` [m]. `biases` is [1, WIDTH], `gradient` [inputs,
    WIDTH].
    """
    totals = np.zeros((tree.value_count, WIDTH), np.float32)
    for k in range(len(rows)):
        add_row(biases, 0, ONE, slopes, k)
        groups = unpack(plan.observations[rows[k]])
        for g in range(len(groups)):
            if tree.table_starts[g] >= 0:
                add_row(totals, tree.value_starts[g] + groups[g], ONE, slopes, k)
            else:
                add_inputs(gradient, tree, tree.value_starts[g] + groups[g], slopes, k)
        add_inputs(gradient, tree, tree.value_count + plan.nodes[rows[k]], slopes, k)
    for g in range(len(tree.value_starts)):
        if tree.table_starts[g] >= 0:
            last = tree.value_starts[g + 1] if g + 1 < len(tree.value_starts) else tree.value_count
            for value in range(tree.value_starts[g], last):
                add_inputs(gradient, tree, value, totals, value)
