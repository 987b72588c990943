"""The policy gradient's compiled loops: sample episodes, sum up what they showed, and compute losses and slopes.

A template like the engine's own: `specialise` fills in the names below the line for each task; `check_stack` and
`start_one` are those of the task's engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from surpass.arrays import Floats, Ints, Reals
from surpass.engine.batch import Batch
from surpass.engine.chance import choose
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Sums, Tree
from surpass.learning.policy_gradient.forward import ONE, WIDTH, ZERO, add_row, fill_row, new_workspace, write_tables
from surpass.machine.kernel import kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import in_range, observe, pack, unpack
    from surpass.engine.kernels import check_stack, perform, start_one


RUNNING, SOLVED, WRONG_ANSWER = int(Outcome.RUNNING), int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER)
STEP_LIMIT, STACK_LIMIT = int(Outcome.STEP_LIMIT), int(Outcome.STACK_LIMIT)
BAD_OBSERVATION = int(Outcome.BAD_OBSERVATION)
TABLE_FULL, NEEDS_INSTANCE = int(Outcome.TABLE_FULL), int(Outcome.NEEDS_INSTANCE)


@kernel
def add_decision(plan: DecisionPlan, observation: int, owner: int, node: int) -> int:
    """Add a row to a plan in place and return its number; its probabilities are still to be filled in."""
    row: int = plan.used[0]
    plan.used[0] += 1
    plan.observations[row], plan.owners[row], plan.nodes[row], plan.origins[row] = observation, owner, node, -1
    plan.links[row, :] = -1
    return row


@kernel
def add_after(plan: DecisionPlan, row: int, choice: int, owner: int, node: int) -> int:
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
    plan: DecisionPlan,
    pool: Pool,
    random: Ints,
    limits: Ints,
    record: Record,
    first: int,
    last: int,
) -> None:
    """Sample episodes `first` to `last - 1` in place until each has filled its record or one has to wait.

    They come strictly one after the other, so that the order of the rows does not depend on what is waited for.
    A decision that comes up for the first time is computed from the parameters and becomes a row of the plan.
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
                instance = record.used[b] * len(limits) + b
                if instance >= len(pool.sizes):
                    outcome = NEEDS_INSTANCE
                    break
                start_one(batch, b, pool.sizes, pool.items, pool.reals, instance)
                limits[b] = pool.limits[instance]
                record.used[b] += 1
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
            instruction = choice = choose(plan.cumulative, row, random, b)
            action = tree.offsets[instruction]
            node = tree.first_nodes[instruction]
            for k in range(tree.operand_counts[instruction]):
                following = plan.links[decision, choice]
                if following < 0:
                    following = add_after(plan, decision, choice, row, node)
                    fill_row(tree, parameters, unpack(observation), node, work, plan, following)
                decision = following
                choice = choose(plan.cumulative, decision, random, b)
                action += choice * tree.weights[instruction, k]
                node = tree.children[node] + choice
            score = state.reals[SCORE]
            ended = perform(state, action, tree.action_rows, action)
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
def absorb(plan: DecisionPlan, other: DecisionPlan, numbers: Ints) -> None:
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
def adopt(tree: Tree, parameters: Floats, plan: DecisionPlan, observations: Ints, origins: Ints, numbers: Ints) -> None:
    """Add decisions that came up elsewhere and that a plan lacks, in place; it must have room.

    `origins` [R] say where each decision comes from, as in a plan; those of -1 are the choices of an instruction for
    `observations`, one after the other. `numbers` [R] are set to the number that each has in the plan.
    """
    work = new_workspace(tree)
    width, seen = plan.links.shape[1], 0
    for k in range(len(origins)):
        if origins[k] < 0:
            observation = observations[seen]
            seen += 1
            place = find(plan.keys, observation)
            if plan.keys[place] == EMPTY:
                plan.keys[place] = observation
                plan.rows[place] = add_decision(plan, observation, plan.used[0], tree.node_count - 1)
                fill_row(tree, parameters, unpack(observation), tree.node_count - 1, work, plan, plan.rows[place])
            numbers[k] = plan.rows[place]
            continue
        origin, choice = numbers[origins[k] // width], origins[k] % width
        row = plan.links[origin, choice]
        if row < 0:
            owner = plan.owners[origin]
            node = tree.first_nodes[choice] if origin == owner else tree.children[plan.nodes[origin]] + choice
            row = add_after(plan, origin, choice, owner, node)
            fill_row(tree, parameters, unpack(plan.observations[owner]), node, work, plan, row)
        numbers[k] = row


@numba.njit(nogil=True, cache=True)
def follow(tree: Tree, parameters: Floats, plan: DecisionPlan, rows: Ints, actions: Ints, taught: Ints) -> None:
    """Set the choices that make up an action for each of some observations, in place.

    `rows` [m] are those of the observations, `taught` [R] are set to the choice at each row that an action passes
    through. Rows that are not there yet are added to the plan, which must have room.
    """
    work = new_workspace(tree)
    for k in range(len(rows)):
        row, action = rows[k], actions[k]
        instruction = tree.action_rows[action, 0]
        taught[row] = instruction
        decision, choice = row, instruction
        node = tree.first_nodes[instruction]
        for operand in range(tree.operand_counts[instruction]):
            following = plan.links[decision, choice]
            if following < 0:
                following = add_after(plan, decision, choice, row, node)
                fill_row(tree, parameters, unpack(plan.observations[row]), node, work, plan, following)
            decision, choice = following, tree.action_rows[action, 1 + operand]
            taught[decision] = choice
            node = tree.children[node] + choice


@numba.njit(nogil=True, cache=True)
def accumulate(
    tree: Tree,
    plan: DecisionPlan,
    record: Record,
    values: Reals,
    afters: Reals,
    settings: Reals,
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


# The losses
#
# A row of a plan has three losses: of the policy, minus the sum of each choice's weight times its log-probability;
# minus the entropy, times how often the row came up; and of imitation, minus the log-probability of the teacher's
# choice, times how often its observation came up.


@numba.njit(nogil=True, cache=True)
def lose(tree: Tree, plan: DecisionPlan, sums: Sums, taught: Ints, losses: Reals) -> None:
    """Add the losses of all rows to `losses` [3], in place.

    `taught` [R] is the choice that a teacher makes at each row, or -1.
    """
    for row in range(plan.used[0]):
        policy, entropy = 0.0, 0.0
        for c in range(tree.choice_counts[tree.slots[plan.nodes[row]]]):
            option = plan.options[row, c]
            policy += sums.weights[row, c] * option
            entropy += np.exp(option) * option
        losses[0] -= policy
        losses[1] += sums.counts[row] * entropy
        if taught[row] >= 0:
            losses[2] -= sums.counts[plan.owners[row]] * plan.options[row, taught[row]]


@numba.njit(nogil=True, cache=True)
def slope(
    tree: Tree,
    plan: DecisionPlan,
    sums: Sums,
    taught: Ints,
    scales: Reals,
    rows: Ints,
    slopes: Floats,
    layers: Floats,
) -> None:
    """Write the slopes [m, C] of the losses of `rows` [m] by the outputs of their networks, in place.

    The losses are multiplied by `scales` [3] and added. With p the probabilities and H the entropy, a loss
    -sum(w log p) has the slopes sum(w) p - w, and sum(p log p) has p (log p + H).
    The hidden layers of the rows are copied into `layers` [hidden layers, m, WIDTH].
    """
    for k in range(len(rows)):
        row = rows[k]
        slot = tree.slots[plan.nodes[row]]
        choices = tree.choice_counts[slot]
        weight, entropy = 0.0, 0.0
        for c in range(choices):
            weight += sums.weights[row, c]
            entropy -= np.exp(plan.options[row, c]) * plan.options[row, c]
        pull = scales[2] * sums.counts[plan.owners[row]] if taught[row] >= 0 else 0.0
        even = scales[1] * sums.counts[row]
        without = choices - tree.output_counts[slot]
        for c in range(without, choices):
            option = plan.options[row, c]
            slope = np.exp(option) * (scales[0] * weight + pull + even * (option + entropy))
            slope -= scales[0] * sums.weights[row, c]
            if c == taught[row]:
                slope -= pull
            slopes[k, c - without] = slope
        for depth in range(len(layers)):
            for j in range(WIDTH):
                # They are never below 0. A loop that only copies would become a call, which takes much longer.
                layers[depth, k, j] = max(plan.layers[row, depth, j], ZERO)


@kernel
def add_inputs(gradient: Floats, tree: Tree, value: int, slopes: Floats, k: int) -> None:
    """Add what the inputs that `value` sets contribute to the gradient [inputs, WIDTH] of a first layer, in place."""
    for entry in range(tree.input_starts[value], tree.input_starts[value + 1]):
        add_row(gradient, tree.inputs[entry], tree.strengths[entry], slopes, k)


@numba.njit(nogil=True, cache=True)
def spread(tree: Tree, plan: DecisionPlan, rows: Ints, slopes: Floats, biases: Floats, gradient: Floats) -> None:
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
