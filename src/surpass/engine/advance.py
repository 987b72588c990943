"""Advance the episodes of a batch in compiled code, and answer those that wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

import numpy as np

from surpass.arrays import Ints
from surpass.engine.batch import Batch, grow_stack
from surpass.engine.pool import Call, InterruptiblePool, make_call, run_in_thread
from surpass.engine.specialise import specialise
from surpass.errors import DeclarationError, ObservationError
from surpass.machine.state import DEPTH, Outcome
from surpass.table import Table, put
from surpass.tasks.task import Task

CountProgress = Callable[[int], None]
"""Receives how many episodes have ended."""

BRIEF = 1_000_000
"""How many steps a call may take in the thread that waits for it, which cannot be interrupted meanwhile."""
RUNNING = int(Outcome.RUNNING)
"""NumPy compares with plain integers several times faster than with members of an enumeration."""


def advance(
    task: Task,
    batch: Batch,
    calls: Callable[[Batch], Sequence[Call]],
    *,
    answer: Callable[[Ints], None] | None = None,
    others: Mapping[Outcome, Callable[[Ints], None]] | None = None,
    waits: Ints | None = None,
    threads: int = 1,
    stop: Ints | None = None,
    progress: CountProgress | None = None,
) -> Batch:
    """Make compiled calls, round by round, until no episode waits; return the batch, whose stacks may have grown.

    `calls` returns the calls of a round. Each episode says in `waits` [B] what it waits for; by default these are the
    outcomes of the batch. `answer` receives the distinct observations that the table lacks; `others` maps anything else
    that can be waited for to a function of the episodes that do. Calls that can take long are given `stop` [1], which
    is set to 1 when they must return, as after Ctrl-C.
    """
    waits = batch.outcomes if waits is None else waits
    # Brief calls need no other thread: to hand work over and wait costs more than a short run takes.
    is_brief = threads == 1 and stop is None
    halt = np.zeros(1, np.int64) if stop is None else stop
    with nullcontext() if is_brief else InterruptiblePool(threads, halt, task.name) as pool:
        while True:
            _make(task, calls(batch), pool, batch.outcomes, progress)
            if not np.count_nonzero(waits < RUNNING):  # quicker than `any` for the one episode of an environment
                return batch
            for number in np.unique(waits[waits < RUNNING]).tolist():
                episodes = np.flatnonzero(waits == number)
                if number == Outcome.BAD_OBSERVATION:
                    _raise_bad_observation(task, batch, episodes)
                # A kernel may return this number by mistake: then there is room.
                elif number == Outcome.STACK_FULL and (
                    (batch.registers[episodes, DEPTH].max() + 1) * task.frame_size > batch.stack.shape[1]
                ):
                    batch = grow_stack(batch, 2 * batch.stack.shape[1] + task.frame_size)
                elif number == Outcome.UNKNOWN_OBSERVATION and answer is not None:
                    answer(np.unique(batch.pending[episodes]))
                elif number in (others or {}):
                    (others or {})[Outcome(number)](episodes)
                else:
                    raise no_outcome(task, number)
                waits[episodes] = RUNNING


def _make(
    task: Task, calls: Sequence[Call], pool: InterruptiblePool | None, outcomes: Ints, progress: CountProgress | None
) -> None:
    """Make the calls of a round, side by side if there is a pool."""

    def look() -> None:
        if progress:
            progress(int((outcomes > RUNNING).sum()))

    if pool is not None:
        pool.make(calls, look)
        return
    for call in calls:
        make_call(call, task.name)
        look()


def judge_spent(task: Task, batch: Batch) -> None:
    """Where the limit is a budget, turn its use from a step limit into a solution or a wrong answer, in place."""
    spent = batch.outcomes == Outcome.STEP_LIMIT
    if not task.limit_is_budget or not spent.any():
        return
    if task.is_right is None:
        batch.outcomes[spent] = Outcome.SOLVED
    else:
        run_in_thread(task.name, specialise(task).judge_spent, batch)


def no_outcome(task: Task, number: int) -> DeclarationError:
    """Return the error about a kernel's number that does not stand for an outcome."""
    return DeclarationError(
        f"a kernel of task {task.name!r} returned {number}, which is not an outcome; "
        "an instruction must return RUNNING, SOLVED or WRONG"
    )


def _raise_bad_observation(task: Task, batch: Batch, episodes: Ints) -> None:
    """Raise `ObservationError` about episodes that stopped because `observe` returned a value out of range."""
    digits = np.zeros((len(batch.steps), len(task.interface.features)), np.int64)
    specialise(task).look(batch, digits)
    task.interface.pack_digits(digits[episodes])
    raise ObservationError(f"observe of task {task.name!r} does not return one value for each feature")


class Player:
    """Plays episodes to their end by a table, which asks its source about each observation that it lacks."""

    def __init__(
        self,
        table: Table,
        *,
        find_loops: bool = False,
        is_counting: bool = False,
        threads: int = 1,
        brief: int = BRIEF,
    ) -> None:
        self.table, self.find_loops, self.is_counting, self.threads = table, find_loops, is_counting, threads
        self.brief = brief
        """One thread plays no more steps than this without a look at whether Ctrl-C was pressed."""
        self._counts: list[Ints] = [np.zeros(len(table.keys) if is_counting else 0, np.int64) for _ in range(threads)]

    @property
    def counts(self) -> Ints:
        """[places] how often each place of the table was used, if it is counting."""
        total: Ints = np.sum(self._counts, axis=0)
        return total

    def finish(self, batch: Batch, limits: Ints, progress: CountProgress | None = None) -> Batch:
        """Play every episode to its end, in place but for the stacks; `limits` [B] are those of the steps."""
        task, kernel, stop = self.table.task, specialise(self.table.task).advance, np.zeros(1, np.int64)
        # Threads that count have one slice and counts of their own; others take small slices until all are done.
        slice_size = max(1, -(-len(limits) // (self.threads * (1 if self.is_counting else 16))))

        def calls(batch: Batch) -> list[Call]:
            shared = (batch, self.table.keys, self.table.values, task.interface.action_rows, limits)
            return [
                (kernel, (*shared, self._counts[k % self.threads], self.find_loops, first, first + slice_size, stop))
                for k, first in enumerate(range(0, len(limits), slice_size))
                if (batch.outcomes[first : first + slice_size] <= RUNNING).any()
            ]

        is_brief = limits.sum() <= self.brief and self.threads == 1
        batch = advance(
            task,
            batch,
            calls,
            answer=self._answer,
            threads=1 if is_brief else self.threads,
            stop=None if is_brief else stop,
            progress=progress,
        )
        loops = batch.outcomes == Outcome.LOOP
        batch.steps[loops] = limits[loops]
        return batch

    def _answer(self, observations: Ints) -> None:
        """Put new observations into the table; if its places move, the counts move with them."""
        before = self.table.keys
        self.table.extend(observations)
        if self.is_counting and self.table.keys is not before:
            taken = before >= 0
            for k, old in enumerate(self._counts):
                self._counts[k] = np.zeros(len(self.table.keys), np.int64)
                put(self.table.keys, self._counts[k], before[taken], old[taken])
