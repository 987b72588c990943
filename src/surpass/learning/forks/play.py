"""Play episodes by a table up to a step, do something else once, and go on by the table."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.advance import Player
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.specialise import specialise
from surpass.machine.state import SCORE, Outcome
from surpass.table import Table
from surpass.tasks.task import Instances, Task

AT_ONCE = 1 << 40
"""How many steps may be played without a look at whether Ctrl-C was pressed; most episodes end long before."""
CUT_SHORT = (int(Outcome.STACK_LIMIT), int(Outcome.NO_ACTION), int(Outcome.LOOP))
"""Ends of episodes that count as many steps as the limit allows."""


def start(task: Task, instances: Instances) -> Batch:
    """Return an episode for each instance."""
    batch = allocate(task, instances.count, int(instances.sizes.max()))
    specialise(task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch


def part_of(batch: Batch, episodes: Ints) -> Batch:
    """Return a copy of some episodes [m]."""
    return Batch(*(np.ascontiguousarray(array[episodes]) for array in batch))  # type: ignore[arg-type]


def player_of(table: Table, *, find_loops: bool, is_counting: bool = False) -> Player:
    """Return what plays episodes by a table, in this thread: most calls are short, and there are many."""
    return Player(table, find_loops=find_loops, is_counting=is_counting, brief=AT_ONCE)


def play(table: Table, batch: Batch, limits: Ints, *, find_loops: bool) -> Batch:
    """Play episodes by a table until each ends or has taken as many steps as its limit, and return them."""
    return player_of(table, find_loops=find_loops).finish(batch, limits)


def go_on(batch: Batch) -> None:
    """Let episodes that a limit or an unknown observation stopped go on, in place."""
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


def returns_of(task: Task, batch: Batch, limits: Ints, step_cost: float, wrong_cost: float) -> Reals:
    """Return what ended episodes brought [B], but for the score that they began with."""
    steps = np.where(np.isin(batch.outcomes, CUT_SHORT), limits, batch.steps)
    wrong = wrong_cost * limits * (batch.outcomes == Outcome.WRONG_ANSWER)
    returns: Reals = task.reward.progress * batch.reals[:, SCORE] - step_cost * steps - wrong
    return returns
