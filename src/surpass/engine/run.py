"""Run an agent on many instances in compiled code, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.engine.advance import CountProgress, Player, judge_spent, no_outcome
from surpass.engine.batch import Batch, allocate
from surpass.engine.check_task import USUAL_SIZE, check_once
from surpass.engine.pool import run_in_thread
from surpass.engine.specialise import specialise
from surpass.errors import InstanceError, SettingError
from surpass.machine.state import SCORE, Outcome
from surpass.reading import THREADS, check_range, show
from surpass.table import EMPTY, Agent, Table
from surpass.tasks.task import Instances, Limit, Task

Finish = Callable[[Batch, Ints, CountProgress | None], Batch]
"""Plays a batch to its end within step limits [B], and returns it."""

MOST_OUTCOME = int(max(Outcome))
MEMORY_WORDS = 1 << 25
"""About how many 8-byte words the episodes of one round may take: 256 MB."""


class TablelessAgent(Protocol):
    """An agent without a table, which runs itself."""

    @property
    def name(self) -> str:
        """How the agent is called on the command line."""

    @property
    def task(self) -> Task:
        """The task that it works on."""

    def rows(self, items: Ints) -> Ints:
        """Return what to execute [m, 1 + operands] in states with these integers [m, n], all of one size."""

    def finish(self, batch: Batch, limits: Ints, progress: CountProgress | None) -> Batch:
        """Run all episodes of a batch to their end in place, and return it; those that loop count the limit."""


AnyAgent = Agent | TablelessAgent


@dataclass(frozen=True)
class Results:
    """What became of each instance, all arrays [B]."""

    sizes: Ints
    steps: Ints
    outcomes: Ints
    scores: Reals
    rewards: Reals
    asked: Flags
    """Whether the run met an observation that the table lacked."""

    @property
    def solved(self) -> Flags:
        """Whether each instance was solved."""
        solved: Flags = self.outcomes == Outcome.SOLVED
        return solved

    def part(self, first: int, end: int | None = None) -> Results:
        """Return the results of one instance, or of those from the first on and before the end."""
        return Results(*(column[first : first + 1 if end is None else end] for column in vars(self).values()))

    def reasons(self) -> dict[str, int]:
        """Return how many instances ended for each reason."""
        kinds, counts = np.unique(self.outcomes, return_counts=True)
        return {Outcome(kind).reason: int(count) for kind, count in zip(kinds, counts, strict=True)}


def run(
    agent: AnyAgent,
    instances: Instances,
    *,
    limit: Limit | None = None,
    find_loops: bool = False,
    judged: bool = True,
    threads: int | None = None,
    progress: CountProgress | None = None,
) -> Results:
    """Run an agent on every instance and return what became of each.

    An agent that is a `Table` keeps the answers of its source from one call to the next. `progress` receives how many
    instances have ended. With `find_loops` an episode whose whole state repeats ends there, as a loop, and counts
    the limit; agents without a table, which run themselves, always do this. Unless it is `judged`, what the kernels
    call solved counts as solved: a task's `find_wrong` may take far longer than the run.
    """
    if not isinstance(agent, Agent):
        return run_by(agent.finish, agent.task, instances, limit, progress, judged=judged)
    threads = core_count() if threads is None else threads
    check_range("threads", threads, THREADS)
    player = Player(Table.of(agent), find_loops=find_loops, threads=threads)
    return run_by(player.finish, agent.task, instances, limit, progress, judged=judged)


def run_by(
    finish: Finish,
    task: Task,
    instances: Instances,
    limit: Limit | Ints | None = None,
    progress: CountProgress | None = None,
    *,
    judged: bool = True,
) -> Results:
    """Run every instance by a function that plays batches to their end, and return what became of each.

    `limit` is a rule for the step limits, by default the task's, or the limits themselves [B].
    """
    limits = limit if isinstance(limit, np.ndarray) else (limit or Limit.parse(task.limit)).steps(instances.sizes)
    widest = int(instances.sizes.max(initial=0))
    width, reals = task.memory.item_width(widest), task.memory.real_width(widest)
    if instances.items.shape[1] < width or instances.reals.shape[1] < reals:
        raise InstanceError(f"these instances do not have the memory that task {task.name} needs for size {widest}")
    if widest > USUAL_SIZE:
        check_once(task, widest)
    if instances.count == 0:
        none = np.zeros(0, np.int64)
        return Results(none, none, none, np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))
    chunk = max(1, MEMORY_WORDS // (width + reals + task.register_count + 64))
    parts = []
    for first in range(0, instances.count, chunk):
        part = instances.part(first, first + chunk)
        # Without the memory that only a larger instance would need.
        part = Instances(part.sizes, part.items[:, :width], part.reals[:, :reals])
        report = (lambda ended, done=first: progress(done + ended)) if progress else None
        batch = allocate(task, part.count, widest)
        run_in_thread(task.name, specialise(task).reset, batch, *map(np.ascontiguousarray, part), np.arange(part.count))
        before = batch.reals[:, SCORE].copy()
        batch.pending[:] = EMPTY
        batch = finish(batch, np.ascontiguousarray(limits[first : first + chunk]), report)
        parts.append((*_judge(task, part, batch, before, judged), batch.pending != EMPTY))
    return Results(instances.sizes, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _judge(
    task: Task, instances: Instances, batch: Batch, before: Reals, judged: bool
) -> tuple[Ints, Ints, Reals, Reals]:
    """Return steps, outcomes, scores and rewards; a claimed solution that does not hold becomes a wrong answer.

    Unless it is `judged`, every claim holds.
    """
    if batch.outcomes.max(initial=0) > MOST_OUTCOME:
        raise no_outcome(task, int(batch.outcomes.max()))
    judge_spent(task, batch)
    outcomes = batch.outcomes.copy()
    claimed = outcomes == Outcome.SOLVED
    if judged and claimed.any():
        failed = task.judge(instances, batch.registers, batch.items, batch.reals)
        outcomes[claimed & failed] = Outcome.WRONG_ANSWER
    scores = batch.reals[:, SCORE].copy()
    reward, wrong = task.reward, outcomes == Outcome.WRONG_ANSWER
    gains = reward.progress * (scores - before)
    if task.must_finish_score:
        wrong = outcomes != Outcome.SOLVED
        gains[wrong] = np.minimum(gains[wrong], 0.0)
    rewards = gains - reward.step_cost * batch.steps - reward.wrong_cost * wrong
    return batch.steps.copy(), outcomes, scores, rewards


def core_count() -> int:
    """Return how many cores this process may use: SURPASS_THREADS if set, else those the system grants."""
    named = os.environ.get("SURPASS_THREADS")
    if named is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not named.isdecimal() or len(named) > 4 or int(named) not in THREADS:
        raise SettingError(f"SURPASS_THREADS is {show(named)}; it must be a number {THREADS}")
    return int(named)
