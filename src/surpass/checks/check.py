"""Check an agent on every small instance, and on large ones of every distribution."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.checks.certificate import (
    SEARCH,
    Certificate,
    CheckedSize,
    CounterExample,
    Explored,
    Slowest,
    Unending,
    fingerprint_of,
)
from surpass.checks.diagnosis import diagnose, stretch, write_out
from surpass.checks.shrink import shrink
from surpass.engine.batch import FIRST_DEPTH
from surpass.engine.explore import Explorer, can_explore, find_slowest
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import SettingError
from surpass.machine.state import Outcome
from surpass.reading import ANY_SEED, MINUTES, Range, check_range
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Enumeration, Instances, Limit, Request, Task
from surpass.workers.playing import PlayedElsewhere
from surpass.workers.runner import Runner

Progress = Callable[[str, int, int | None], None]
Report = Callable[..., None]

MOST_INSTANCES = 10**10
"""More are not enumerated: it would take many hours."""
UP_TO, MANY = Range(0, 10**6), Range(0, 10**12)
"""What may be asked for."""
BATCH_WORDS = 1 << 22
"""About how many 8-byte words of memory the episodes of one run may take: 32 MB."""
BETWEEN = tuple(range(9, 17))
"""The sizes that are drawn by default beside the task's own: those that follow on most enumerated ones."""
QUICK = 10**5
"""Runs that will take fewer steps in all, going by the size before, are left to one thread."""
EFFORT = 200_000
"""How many changed instances in a row must lead to nothing new before the search for such ends."""
MOST_EFFORTS = 10
"""How many times the effort is made at most, however much is new."""
MOST_TIME = 1.0
"""How long it may take at most."""
SLOWEST_SIZES = (10, 20, 50)
"""The sizes of which the slowest instance is searched for."""
SLOWEST_EFFORT = 1000
"""For so much effort there is one round of that search."""
SHRINKING_STEPS = 10**9
"""How many steps may be spent on making a failing instance smaller."""


def check(
    agent: AnyAgent,
    *,
    up_to: int | None = None,
    sizes: Sequence[int] | None = None,
    instances: int = 100,
    seed: int = 0,
    limit: str | None = None,
    must_end: bool = False,
    effort: int | None = None,
    minutes: float | None = None,
    threads: int | None = None,
    workers: Runner | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Return a certificate of an agent, with the smallest failing instance if there is one.

    Every instance that the task enumerates is run up to size `up_to`, then `instances` of each named distribution and
    kind of query at each of `sizes`. Then a search changes instances and keeps those that lead to observations that did
    not occur before, until `effort` of them in a row have led to nothing new or `minutes` are over; with an effort of 0
    there is none. Each instance must be solved within `limit`, by the word of the task's kernel and by that of its
    `find_wrong`. Where steps are a budget, what is claimed must hold at every budget up to the limit; with
    `must_end` the enumerated runs must also end by themselves. What takes long and is no search is shared out among
    the `workers` of a cluster, if there are. `progress(what, done, total)` is called as runs end.
    """
    task = agent.task
    effort, minutes = EFFORT if effort is None else effort, MOST_TIME if minutes is None else minutes
    enumeration = enumeration_of(task)
    largest = enumeration.largest if up_to is None else up_to
    check_range("the number of instances", instances, MANY)
    check_range("the effort", effort, MANY)
    check_range("the size to check up to", largest, UP_TO)
    check_range("minutes", minutes, MINUTES)
    check_range("seed", seed, ANY_SEED)
    total = _count(enumeration, largest)
    checker = _Checker(
        agent, Limit.parse(limit or task.limit), must_end, threads, workers, progress or (lambda *_: None)
    )
    small = checker.check_enumerated(enumeration, largest, total)
    wanted = sorted({*(sizes or (*BETWEEN, *task.sizes))}) if instances else []
    drawn = checker.check_drawn(wanted, instances, seed) if checker.failure is None else []
    explored, slowest = None, []
    if effort and checker.table is not None and can_explore(task):
        occurred = len(checker.table)
        slowest = checker.find_slowest(effort, seed) if checker.failure is None else []
        explored = checker.explore(effort, 60 * minutes, seed, occurred) if checker.failure is None else None
    return Certificate(
        agent=agent.name,
        task=task.name,
        what=enumeration.what,
        exhaustive=enumeration.exhaustive,
        up_to=largest,
        small=tuple(small),
        drawn=tuple(drawn),
        data=tuple(task.inputs.draw) if drawn else (),
        explored=explored,
        slowest=tuple(slowest),
        seed=seed,
        limit=str(checker.limit),
        fingerprint=None if checker.table is None else fingerprint_of(checker.table),
        observations=None if checker.table is None else len(checker.table),
        counter_example=checker.failure,
        unending=checker.unending,
        narrow_choices=len(agent.narrow) if hasattr(agent, "narrow") else None,
    )


def _count(enumeration: Enumeration, largest: int) -> int:
    """Return how many instances there are up to a size, once they are known not to be too many."""
    total = 0
    for size in range(largest + 1):
        total += enumeration.count(size)
        if total > MOST_INSTANCES:
            raise SettingError(
                f"up to n = {largest} there are too many instances to check: n = {size} alone has "
                f"{enumeration.count(size):,}, and at most {MOST_INSTANCES:,} are checked"
            )
    return total


class _Checker:
    """Runs an agent on batches until one fails, and keeps what the agent saw and did."""

    def __init__(
        self,
        agent: AnyAgent,
        limit: Limit,
        must_end: bool,
        threads: int | None,
        workers: Runner | None,
        progress: Progress,
    ) -> None:
        self.agent = agent
        self.task = agent.task
        self.limit = limit
        self.must_end = must_end
        self.progress = progress
        # Its own, also for an agent that is a table: it shall hold what the checks ask and nothing else.
        self.table = Table(agent.task, agent) if isinstance(agent, Agent) else None
        self.failure: CounterExample | None = None
        self.unending: Unending | None = None
        self._threads = threads
        self._is_budget = self.task.measure == "reward"
        self._usual_steps = 0.0
        is_elsewhere = workers is not None and not workers.is_local
        self._elsewhere = PlayedElsewhere(workers, agent, self.table) if workers is not None and is_elsewhere else None

    def check_enumerated(self, enumeration: Enumeration, largest: int, total: int) -> list[CheckedSize]:
        """Return a row for each size up to `largest`, or for those before the first failure."""
        rows: list[CheckedSize] = []
        done, what = 0, f"checking every instance up to n = {largest:,}"
        for size in range(largest + 1):
            batches = ((batch, "") for batch in enumeration.instances(size))
            found = self._check_size(batches, partial(self._report, what, total, done))
            if isinstance(found, _Failing):
                self.failure = diagnose(self.agent, found.instance, found.limit, self._run)
                break
            rows += [found] if found else []
            done += enumeration.count(size)
        return rows

    def check_drawn(self, sizes: Sequence[int], count: int, seed: int) -> list[CheckedSize]:
        """Return a row for each size, with instances of every distribution, or for those before the first failure."""
        rows: list[CheckedSize] = []
        for number, size in enumerate(sizes, 1):
            batches = self._draw(size, count, seed)
            what = f"checking drawn instances, n = {size:,} (size {number} of {len(sizes)}), checked so far"
            found = self._check_size(batches, partial(self._report, what, None, 0))
            if isinstance(found, _Failing):
                self._fail(found.instance, found.limit, found.data)
                break
            rows += [found] if found else []
        return rows

    def explore(self, effort: int, seconds: float, seed: int, before: int) -> Explored | None:
        """Search for instances that lead to new observations; return what was tried, or None if one fails.

        New are those beyond the number `before`.
        """
        started = time.monotonic()
        explorer = Explorer(self.task, lambda batch: self._run(batch, self.limit, not self._is_budget), seed=seed)
        for batch, results in explorer.rounds():
            if not results.solved.all():
                self._fail(_unsolved(self.task, batch, results), self.limit, SEARCH)
                return None
            quiet = min(explorer.since_new, effort)
            self.progress("searching for an instance that fails, tried in a row with nothing new", quiet, effort)
            is_enough = explorer.since_new >= effort or explorer.tried >= MOST_EFFORTS * effort
            if is_enough or time.monotonic() - started > seconds:
                break
        return Explored(explorer.tried, len(self.table or ()) - before, explorer.since_new, effort)

    def find_slowest(self, effort: int, seed: int) -> list[Slowest]:
        """Return the slowest instance of some sizes that a search comes to, where steps are what counts."""
        rows: list[Slowest] = []
        for done, size in enumerate(SLOWEST_SIZES if self.task.measure == "steps" else ()):
            self.progress("searching for the slowest instances, sizes done", done, len(SLOWEST_SIZES))
            rounds = 1 + min(effort, EFFORT) // SLOWEST_EFFORT
            instance, results = find_slowest(
                self.task, lambda batch: self._run(batch, self.limit, True), size, rounds, seed
            )
            if not results.solved.all():
                self._fail(_unsolved(self.task, instance, results), self.limit, SEARCH)
                return []
            rows.append(Slowest(size, int(results.steps[0]), write_out(self.task, instance)))
        return rows

    def _fail(self, instance: Instances, limit: Limit, source: str) -> None:
        """Note an instance that is not solved, made smaller."""
        failure = diagnose(self.agent, self._shrink(instance), limit, self._run)
        self.failure = dataclasses.replace(failure, data=source, shrunk_from=int(instance.sizes[0]))

    def _draw(self, size: int, count: int, seed: int) -> Iterator[tuple[Instances, str]]:
        """Yield the instances of each distribution and kind of query, each once, and what they were drawn from."""
        for data, kind in self.task.inputs.kinds:
            batch = self.task.draw(Request(size=size, count=count, seed=seed, data=data, queries=kind))
            yield _distinct(batch), f"{data}, {kind}" if kind else data

    def _check_size(self, batches: Iterable[tuple[Instances, str]], report: Report) -> CheckedSize | _Failing | None:
        """Return what was found on the instances of one size, each with its distribution; None if there are none."""
        met_before = len(self.table or ())
        count, total, most, worst, worst_data = 0, 0, -1, None, ""
        for batch, data in batches:
            for part in _slices(self.task, batch):
                steps = self._run_part(part, data, partial(report, count))
                if isinstance(steps, _Failing):
                    return steps
                count, total = count + part.count, total + int(steps.sum())
                if steps.max() > most:
                    k = int(steps.argmax())
                    most, worst, worst_data = int(steps[k]), part.part(k, k + 1), data
        if worst is None:
            return None
        self._usual_steps = total / count
        return CheckedSize(
            size=int(worst.sizes[0]),
            instances=count,
            mean_steps=total / count,
            most_steps=most,
            worst=write_out(self.task, worst),
            data=worst_data,
            new_observations=len(self.table or ()) - met_before,
        )

    def _run_part(self, part: Instances, data: str, report: Report) -> Ints | _Failing:
        """Return the steps [B] of runs that are all solved, or the first instance that fails."""
        if self._is_budget and not data:
            report(0)
            return self._run_budgets(part)
        results = self._run(part, self.limit, not self._is_budget, report)
        if results.solved.all():
            return results.steps
        first = int((~results.solved).argmax())
        return _Failing(part.part(first, first + 1), self.limit, data)

    def _run_budgets(self, part: Instances) -> Ints | _Failing:
        """Return the steps [B] of runs whose claims hold at every budget, or the first instance that fails at one.

        The steps are those after which a run ends by itself, or the limit if it does not.
        """
        limits = self.limit.steps(part.sizes)
        failing: tuple[int, Limit] | None = None
        for budget in range(1, int(limits[0]) + 1):
            before = part if failing is None else part.part(0, failing[0])
            results = self._run(before, Limit(budget, 0), False)
            if not results.solved.all():
                failing = int((~results.solved).argmax()), Limit(budget, 0)
        longer = self._run(part, stretch(self.limit), True)
        ends = longer.solved & (longer.steps < stretch(self.limit).steps(part.sizes))
        if not ends.all():
            first = int((~ends).argmax())
            if self.must_end and (failing is None or first < failing[0]):
                failing = first, self.limit
            elif not self.must_end:
                self._note_unending(part.part(first, first + 1), longer, ends)
        if failing is not None:
            return _Failing(part.part(failing[0], failing[0] + 1), failing[1], "")
        return np.where(ends, longer.steps, limits)

    def _note_unending(self, first: Instances, results: Results, ends: Flags) -> None:
        count = int((~ends).sum())
        if self.unending is not None:
            self.unending = dataclasses.replace(self.unending, instances=self.unending.instances + count)
            return
        outcome = Outcome(int(results.outcomes[~ends][0]))
        how = "still running" if outcome == Outcome.SOLVED else outcome.reason
        self.unending = Unending(count, write_out(self.task, first), how)

    def _shrink(self, instance: Instances) -> Instances:
        """Return the smallest failing instance that can be made of one in a number of steps."""
        spent = tried = 0

        def fails(batch: Instances) -> Flags | None:
            nonlocal spent, tried
            if spent > SHRINKING_STEPS:
                return None
            results = self._run(batch, self.limit, not self._is_budget)
            # A loop counts the limit but is noticed after some times its length.
            is_loop = results.outcomes == Outcome.LOOP
            spent += int(np.where(is_loop, 10 * batch.sizes + 1000, results.steps).sum())
            tried += batch.count
            self.progress(f"making a failing instance of n = {instance.sizes[0]:,} smaller, tried so far", tried, None)
            return ~results.solved

        return shrink(self.task, instance, fails)

    def _report(self, what: str, total: int | None, *done: int) -> None:
        """Show the sum of what is done: in sizes before, in parts before, in this part."""
        self.progress(what, sum(done), total)

    def _run(self, instances: Instances, limit: Limit, find_loops: bool, report: Report | None = None) -> Results:
        is_quick = instances.count * self._usual_steps < QUICK
        if self._elsewhere is not None and report is not None and not is_quick:  # a search is led by what a table lacks
            return self._elsewhere.run(instances, limit=limit, find_loops=find_loops, progress=report)
        return run(
            self.agent if self.table is None else self.table,
            instances,
            limit=limit,
            find_loops=find_loops,
            threads=1 if is_quick else self._threads,
            progress=report,
        )


class _Failing(NamedTuple):
    """An instance that is not solved, the limit under which it is not, and where it was drawn from."""

    instance: Instances
    limit: Limit
    data: str


def _unsolved(task: Task, batch: Instances, results: Results) -> Instances:
    """Return the first instance of a batch that is not solved, without the memory that only a larger one needs."""
    first = int(results.solved.argmin())
    size = int(batch.sizes[first])
    return Instances(
        batch.sizes[first : first + 1],
        batch.items[first : first + 1, : task.memory.item_width(size)],
        batch.reals[first : first + 1, : task.memory.real_width(size)],
    )


def _slices(task: Task, batch: Instances) -> Iterator[Instances]:
    """Yield a batch in parts whose episodes take little memory."""
    words = batch.items.shape[1] + batch.reals.shape[1] + task.register_count + FIRST_DEPTH * task.frame_size
    step = max(1, BATCH_WORDS // words)
    for first in range(0, batch.count, step):
        yield batch.part(first, first + step)


def _distinct(batch: Instances) -> Instances:
    """Return each instance of a batch once; some distributions have only one of a size."""
    rows = zip(batch.sizes, batch.items, batch.reals, strict=True)
    first = {tuple(part.tobytes() for part in row): k for k, row in reversed(list(enumerate(rows)))}
    kept = sorted(first.values())
    return Instances(batch.sizes[kept], batch.items[kept], batch.reals[kept])
