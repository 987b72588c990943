"""Run an agent on many instances in compiled code, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.lookup import Lookup
from surpass.engine.specialise import specialise
from surpass.errors import InstanceError, ObservationError, SettingError
from surpass.machine.state import SCORE, Outcome
from surpass.table import Agent
from surpass.tasks.task import Instances, Limit, Task

__all__ = ["AnyAgent", "Results", "TablelessAgent", "core_count", "make_room", "raise_bad_observation", "run"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Progress = Callable[[int], None]

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

    def finish(self, batch: Batch, limits: Ints, progress: Progress | None) -> Batch:
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

    @property
    def solved(self) -> npt.NDArray[np.bool_]:
        """Whether each instance was solved."""
        solved: npt.NDArray[np.bool_] = self.outcomes == Outcome.SOLVED
        return solved

    def reasons(self) -> dict[str, int]:
        """Return how many instances ended for each reason."""
        kinds, counts = np.unique(self.outcomes, return_counts=True)
        return {Outcome(kind).reason: int(count) for kind, count in zip(kinds, counts, strict=True)}


def run(
    agent: AnyAgent,
    instances: Instances,
    *,
    limit: Limit | None = None,
    lookup: Lookup | None = None,
    find_loops: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run an agent on every instance and return what became of each.

    `lookup` keeps what the agent answered from one call to the next; `progress` is told how many instances have ended.
    With `find_loops` an episode whose whole state comes back ends there, as a loop, and counts the limit; agents
    without a table, which run themselves, always do this.
    """
    task = agent.task
    limits = (limit or Limit.parse(task.limit)).steps(instances.sizes)
    widest = int(instances.sizes.max(initial=0))
    if instances.items.shape[1] < task.item_width(widest) or instances.reals.shape[1] < task.real_width(widest):
        raise InstanceError(f"these instances do not have the memory that task {task.name} needs for size {widest}")
    if instances.count == 0:
        none = np.zeros(0, np.int64)
        return Results(none, none, none, np.zeros(0), np.zeros(0))
    runner = _Tabular(agent, lookup, find_loops, threads) if isinstance(agent, Agent) else agent
    words = task.item_width(widest) + task.real_width(widest) + task.register_count + 64
    chunk = max(1, MEMORY_WORDS // words)
    parts = []
    for first in range(0, instances.count, chunk):
        part = _trim(task, instances.part(first, first + chunk), widest)
        report = (lambda ended, done=first: progress(done + ended)) if progress else None
        batch = allocate(task, part.count, widest)
        specialise(task).reset(batch, *part, np.arange(part.count))
        before = batch.reals[:, SCORE].copy()
        batch = runner.finish(batch, np.ascontiguousarray(limits[first : first + chunk]), report)
        parts.append(_judge(task, part, batch, before))
    return Results(instances.sizes, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _trim(task: Task, instances: Instances, size: int) -> Instances:
    """Return the instances without the memory that only a larger one would need."""
    items, reals = instances.items[:, : task.item_width(size)], instances.reals[:, : task.real_width(size)]
    return Instances(*(np.ascontiguousarray(a) for a in (instances.sizes, items, reals)))  # type: ignore[arg-type]


def _judge(task: Task, instances: Instances, batch: Batch, before: Reals) -> tuple[Ints, Ints, Reals, Reals]:
    """Return steps, outcomes, scores and rewards; a claimed solution that does not hold becomes a wrong answer."""
    outcomes = batch.outcomes.copy()
    if task.measure == "reward":
        # Where the score counts, the step limit is a budget: to spend it is no failure.
        outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.SOLVED
    claimed = outcomes == Outcome.SOLVED
    if claimed.any():
        failed = task.find_wrong(instances, batch.registers, batch.items, batch.reals)
        outcomes[claimed & failed] = Outcome.WRONG_ANSWER
    scores = batch.reals[:, SCORE].copy()
    reward, wrong = task.reward, outcomes == Outcome.WRONG_ANSWER
    rewards = reward.progress * (scores - before) - reward.step_cost * batch.steps - reward.wrong_cost * wrong
    return batch.steps.copy(), outcomes, scores, rewards


class _Tabular:
    """Runs an agent by its table: episodes that meet something new wait until the agent has answered for all."""

    def __init__(self, agent: Agent, lookup: Lookup | None, find_loops: bool, threads: int | None) -> None:
        if lookup is not None and lookup.agent is not agent:
            raise SettingError(f"this table belongs to {lookup.agent.name}, not to {agent.name}")
        self.task = agent.task
        self.lookup = lookup or Lookup(agent)
        kernels = self.lookup.kernels
        self.kernel = kernels.run_finding_loops if find_loops else kernels.run
        self.threads = core_count() if threads is None else threads
        if self.threads < 1:
            raise SettingError(f"threads is {threads}; it must be 1 or more")

    def finish(self, batch: Batch, limits: Ints, progress: Progress | None) -> Batch:
        # A single thread needs no pool: to hand work over and wait costs more than a short run takes.
        with ThreadPoolExecutor(self.threads) if self.threads > 1 else nullcontext() as pool:
            while (batch.outcomes <= Outcome.RUNNING).any():
                self._run_round(pool, batch, limits, progress)
                batch = self._serve(batch)
        loops = batch.outcomes == Outcome.LOOP
        batch.steps[loops] = limits[loops]
        return batch

    def _run_round(
        self, pool: ThreadPoolExecutor | None, batch: Batch, limits: Ints, progress: Progress | None
    ) -> None:
        """Run every episode until it ends or waits."""
        lookup, count = self.lookup, len(batch.steps)
        rows = self.task.interface.action_rows
        slice_size = max(1, -(-count // (self.threads * 16)))
        jobs: set[Future[None]] = set()
        for first in range(0, count, slice_size):
            last = min(first + slice_size, count)
            if (batch.outcomes[first:last] <= Outcome.RUNNING).any():
                arguments = (batch, lookup.keys, lookup.values, rows, limits, first, last)
                if pool is not None:
                    jobs.add(pool.submit(self.kernel, *arguments))
                    continue
                self.kernel(*arguments)
                if progress:
                    progress(int((batch.outcomes > Outcome.RUNNING).sum()))
        while jobs:
            done, jobs = wait(jobs, timeout=0.5)
            for job in done:
                job.result()
            if progress:
                progress(int((batch.outcomes > Outcome.RUNNING).sum()))

    def _serve(self, batch: Batch) -> Batch:
        """Give waiting episodes what they wait for: an action in the table, or a larger stack."""
        raise_bad_observation(self.task, batch)
        waiting = batch.outcomes == Outcome.UNKNOWN_OBSERVATION
        if waiting.any():
            self.lookup.extend(np.unique(batch.pending[waiting]))
        if (batch.outcomes == Outcome.STACK_FULL).any():
            batch = make_room(self.task, batch)
        batch.outcomes[batch.outcomes < Outcome.RUNNING] = Outcome.RUNNING
        return batch


def make_room(task: Task, batch: Batch) -> Batch:
    """Return the batch with twice the room on each stack."""
    return grow_stack(batch, 2 * batch.stack.shape[1] + task.frame_size)


def raise_bad_observation(task: Task, batch: Batch) -> None:
    """Raise `ObservationError` if an episode stopped because `observe` returned a value out of range."""
    bad = np.flatnonzero(batch.outcomes == Outcome.BAD_OBSERVATION)
    if bad.size:
        digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
        specialise(task).look(batch, digits)
        task.interface.pack_digits(digits[bad])
        raise ObservationError(f"observe of task {task.name!r} does not return one value for each feature")


def core_count() -> int:
    """Return how many cores this process may use: SURPASS_THREADS if set, else those the system grants."""
    named = os.environ.get("SURPASS_THREADS")
    if named is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not named.isdigit() or int(named) < 1:
        raise SettingError(f"SURPASS_THREADS is {named!r}; it must be a number of 1 or more")
    return int(named)
