"""What an episode costs that is not solved, where a program must end by itself and the score is what counts."""

from __future__ import annotations

from functools import cache

import numpy as np

from surpass.learning.table.episodes import begin, part_of, take_step
from surpass.machine.state import RUNNING, SCORE
from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Request, Task

PLAYED, STEPS = 64, 200
"""On how many instances of a size, and for how many steps, random actions are tried."""


@cache
def largest_loss(task: Task) -> float:
    """Return the most reward that a step lost by a change of the score, in a trial of random steps.

    If none lost any, and where no score must be finished, it is 0. A solution of n steps loses at most n times as much.
    So what costs this for every step up to the limit is not worth more than a solution, also if scores fall.
    """
    if not task.must_finish_score:
        return 0.0
    random, instructions = np.random.default_rng(0), task.interface.action_rows[:, 0]
    chances = 1 / np.bincount(instructions)[instructions]
    loss, inputs = 0.0, task.inputs
    for size in drawable_sizes(task, sorted({*task.training_sizes})):
        drawn = Request(size=size, count=PLAYED, data=inputs.usual_data, queries=inputs.usual_queries)
        batch, limits = begin(task, task.draw(drawn)), np.full(PLAYED, STEPS + 1)
        for _ in range(STEPS):
            before = part_of(batch, np.arange(PLAYED))
            actions = random.choice(len(chances), PLAYED, p=chances / chances.sum())
            batch = take_step(task, batch, actions, limits)
            lost = task.reward.progress * (before.reals[:, SCORE] - batch.reals[:, SCORE])
            loss = max(loss, float(lost[np.isfinite(lost)].max(initial=0.0)))
            ended = batch.outcomes != RUNNING
            for old, new in zip(before, batch, strict=True):  # ends are taken back: else most episodes are short
                new[ended, *map(slice, old.shape[1:])] = old[ended]
    return loss
