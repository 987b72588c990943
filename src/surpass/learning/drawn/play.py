"""Play instances by a table, and note which of its places each of them came to."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine.advance import advance
from surpass.engine.batch import Batch
from surpass.engine.crew import Call
from surpass.engine.specialise import specialise
from surpass.learning.forks.play import returns_of, start
from surpass.machine.state import RUNNING, Outcome
from surpass.table import EMPTY, Table, find_all
from surpass.tasks.task import Instances, Task

FAILED = (int(Outcome.STACK_LIMIT), int(Outcome.NO_ACTION))
"""Ends of episodes that bring nothing where the score counts, whatever it was."""


def play_and_see(table: Table, instances: Instances, limits: Ints) -> tuple[Batch, Ints, Flags]:
    """Play instances [B] to their end by a table, within limits [B] of their steps.

    Return how they ended, the observations [m] that came up, in ascending order, and whether each instance came to each
    of them [B, m].
    """
    task, kernel, stop = table.task, specialise(table.task).advance, np.zeros(1, np.int64)
    counts: Ints = np.zeros((instances.count, len(table.keys)), np.int64)

    def calls(batch: Batch) -> list[Call]:
        shared = (batch, table.keys, table.values, task.interface.action_rows, limits)
        return [
            (kernel, (*shared, counts[b], True, b, b + 1, stop))
            for b in np.flatnonzero(batch.outcomes <= RUNNING).tolist()
        ]

    def answer(observations: Ints) -> None:
        nonlocal counts
        before = table.keys
        table.extend(observations)
        if table.keys is not before:
            taken = np.flatnonzero(before != EMPTY)
            moved = np.zeros((instances.count, len(table.keys)), np.int64)
            moved[:, find_all(table.keys, before[taken])] = counts[:, taken]
            counts = moved

    batch = advance(task, start(task, instances), calls, answer=answer)
    places = np.flatnonzero(counts.any(axis=0))
    places = places[np.argsort(table.keys[places])]
    return batch, table.keys[places], counts[:, places] > 0


def worth_of(task: Task, batch: Batch, limits: Ints, step_cost: float, wrong_cost: float) -> Reals:
    """Return what ended episodes brought [B]; where the score counts, those that failed bring nothing."""
    worth = returns_of(task, batch, limits, step_cost, wrong_cost)
    if task.measure == "reward":
        worth[np.isin(batch.outcomes, FAILED)] = 0.0
    return worth
