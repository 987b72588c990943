"""The compiled loop that plays episodes by a policy whose decisions are evaluated once each.

A template like the engine's own: `specialise` fills in the names below the line for each task; `check_stack`, `perform`
and `start_one` are those of the task's engine. It is a loop of its own because an action is drawn decision by decision:
a table of all actions would have thousands of columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba

from surpass.arrays import Floats, Ints
from surpass.engine.batch import Batch
from surpass.engine.chance import choose
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Tree
from surpass.learning.policy_gradient.forward import WIDTH, fill_row, new_workspace
from surpass.machine.kernel import kernel
from surpass.machine.state import SCORE, Outcome, State
from surpass.table import EMPTY, find

if TYPE_CHECKING:  # ---------------------------------------------------------- what `specialise` fills in
    from surpass.engine.declared import in_range, observe, pack, unpack
    from surpass.engine.kernels import check_stack, perform, start_one


RUNNING, SOLVED = int(Outcome.RUNNING), int(Outcome.SOLVED)
STEP_LIMIT, STACK_LIMIT = int(Outcome.STEP_LIMIT), int(Outcome.STACK_LIMIT)
BAD_OBSERVATION = int(Outcome.BAD_OBSERVATION)
TABLE_FULL, NEEDS_INSTANCE = int(Outcome.TABLE_FULL), int(Outcome.NEEDS_INSTANCE)


@numba.njit(nogil=True, cache=True)
def tabulate(tree: Tree, parameters: Floats) -> None:
    """Write the tables of sums that come after the parameters, in place; it uses nothing of a task."""
    row = tree.parameter_starts[-1]
    for slot in range(len(tree.choice_counts)):
        for g in range(len(tree.table_starts)):
            if tree.table_starts[g] < 0:
                continue
            for value in range(tree.value_starts[g], tree.value_starts[g + 1]):
                parameters[row] = 0
                for k in range(tree.input_starts[value], tree.input_starts[value + 1]):
                    term = tree.parameter_starts[slot] + tree.inputs[k]
                    for j in range(WIDTH):
                        parameters[row, j] += tree.strengths[k] * parameters[term, j]
                row += 1


@kernel
def add_decision(plan: DecisionPlan) -> int:
    """Add a row to a plan in place and return its number; its probabilities are still to be filled in."""
    row: int = plan.used[0]
    plan.used[0] += 1
    plan.links[row, :] = -1
    return row


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
    """Play episodes `first` to `last - 1` in place until each has filled its record or one has to wait.

    They come strictly one after the other. A decision that comes up for the first time is computed from the parameters
    and becomes a row of the plan. When an episode ends, the next instance of the pool follows.
    """
    steps_wanted, root = record.rows.shape[1], len(tree.slots) - 1
    most_decisions = tree.action_rows.shape[1]
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
            if plan.used[0] + most_decisions > len(plan.links):
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
                plan.rows[place] = add_decision(plan)
                fill_row(tree, parameters, unpack(observation), root, work, plan.cumulative, plan.rows[place])
            row = decision = plan.rows[place]
            choice = choose(plan.cumulative, row, random, b)
            node = tree.following[root, choice]
            while node >= 0:
                following = plan.links[decision, choice]
                if following < 0:
                    following = plan.links[decision, choice] = add_decision(plan)
                    fill_row(tree, parameters, unpack(observation), node, work, plan.cumulative, following)
                decision = following
                choice = choose(plan.cumulative, decision, random, b)
                node = tree.following[node, choice]
            action = -1 - node
            score = state.reals[SCORE]
            ended = perform(batch, b, state, action, tree.action_rows, action)
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
