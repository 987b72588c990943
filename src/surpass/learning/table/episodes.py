"""Play episodes by a table: to their end, or up to a step from which they continue in another way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.advance import Player, judge_spent
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.specialise import specialise
from surpass.machine.state import SCORE, Outcome
from surpass.table import EMPTY, Table
from surpass.tasks.task import Instances, Task

AT_ONCE = 1 << 40
"""How many steps are played without a look at whether Ctrl-C was pressed; most episodes end long before."""
CUT_SHORT = (int(Outcome.STACK_LIMIT), int(Outcome.NO_ACTION), int(Outcome.LOOP))
"""Outcomes that count as many steps as the limit allows."""


class Costs(NamedTuple):
    """What an episode costs beside its score."""

    step: float
    wrong: float
    """The cost of a wrong answer, as a share of what all steps up to the limit cost."""
    loss: float = 0.0
    """Where a score must be finished: the most that a step loses by a change of the score."""


def begin(task: Task, instances: Instances) -> Batch:
    """Return an episode for each instance."""
    batch = allocate(task, instances.count, int(instances.sizes.max()))
    specialise(task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch


def part_of(batch: Batch, episodes: Ints) -> Batch:
    """Return a copy of some episodes [m]."""
    return Batch(*(np.ascontiguousarray(array[episodes]) for array in batch))  # type: ignore[arg-type]


def play(table: Table, batch: Batch, limits: Ints, *, find_loops: bool = True) -> Batch:
    """Play episodes by a table until each ends or has taken as many steps as its limit, and return them."""
    return Player(table, find_loops=find_loops, brief=AT_ONCE).finish(batch, limits)


def play_all(table: Table, instances: Instances, limits: Ints, costs: Costs) -> tuple[Batch, Reals, Ints]:
    """Play instances [B] by a table; return the episodes, their returns [B], and the distinct observations, sorted."""
    player = Player(table, find_loops=True, is_counting=True, brief=AT_ONCE)
    batch = begin(table.task, instances)
    first_scores = batch.reals[:, SCORE].copy()
    batch = player.finish(batch, limits)
    seen = np.sort(table.keys[(player.counts > 0) & (table.keys != EMPTY)])
    return batch, returns_of(table.task, batch, limits, costs, first_scores), seen


def resume(batch: Batch) -> None:
    """Let episodes that a limit or an unknown observation stopped continue, in place."""
    waiting = (batch.outcomes == Outcome.STEP_LIMIT) | (batch.outcomes == Outcome.NO_ACTION)
    batch.outcomes[waiting] = Outcome.RUNNING


def observe(task: Task, batch: Batch) -> Ints:
    """Return what each episode shows [B]."""
    digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
    specialise(task).look(batch, digits)
    return task.interface.pack_digits(digits)


def take_step(task: Task, batch: Batch, actions: Ints, limits: Ints) -> Batch:
    """Execute an action [B] in each running episode, and return the episodes, whose stacks may have grown."""
    while True:
        specialise(task).step(batch, actions, task.interface.action_rows[actions], limits)
        is_waiting = batch.outcomes == Outcome.STACK_FULL
        if not is_waiting.any():
            return batch
        batch = grow_stack(batch, 2 * batch.stack.shape[1] + task.frame_size)
        batch.outcomes[is_waiting] = Outcome.RUNNING


def returns_of(task: Task, batch: Batch, limits: Ints, costs: Costs, first_scores: Reals | float = 0.0) -> Reals:
    """Return what ended episodes brought [B], but for the score that they began with, `first_scores` [B].

    Where a score must be finished, those that are not solved bring less than any that are: no gain, but the cost of a
    wrong answer and of the worst steps up to the limit. The outcomes of spent budgets are judged in place.
    """
    judge_spent(task, batch)
    steps = np.where(np.isin(batch.outcomes, CUT_SHORT), limits, batch.steps)
    wrong, scores = batch.outcomes == Outcome.WRONG_ANSWER, batch.reals[:, SCORE]
    if task.must_finish_score:
        wrong = batch.outcomes != Outcome.SOLVED
        scores, steps = np.where(wrong, first_scores, scores), np.where(wrong, limits, steps)
    returns: Reals = task.reward.progress * scores - costs.step * steps - (costs.wrong + costs.loss) * limits * wrong
    return returns
