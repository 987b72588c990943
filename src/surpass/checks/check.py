"""Check an agent on every small instance, and on large ones of every distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from surpass.arrays import Flags
from surpass.checks.certificate import (
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
from surpass.engine.check_task import check_once
from surpass.engine.explore import Explorer, can_explore, find_slowest
from surpass.engine.probes import SEARCH, THOROUGH, Effort, Probe, changed_probes, drawn_probes, small_instances
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import SettingError
from surpass.machine.state import Outcome
from surpass.printing import Progress
from surpass.reading import ANY_SEED, MINUTES, Range, check_range
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Enumeration, Instances, Limit, Request
from surpass.workers.playing import PlayedElsewhere
from surpass.workers.runner import Runner

Report = Callable[..., None]

MOST_INSTANCES = 10**10
"""More are not enumerated: it would take many hours."""
UP_TO, MANY = Range(0, 10**6), Range(0, 10**12)
"""What may be asked for."""
BETWEEN = tuple(range(9, 17))
"""The sizes that are drawn by default beside the task's own: those that follow on most enumerated ones."""
QUICK = 10**5
"""Runs that will take fewer steps in all, judging by the size before, use one thread."""
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
SHRINKING_STEPS, READING_STEPS = 2 * 10**9, 40
"""How many steps may be spent on making a failing instance smaller; to read an item takes as long as so many."""


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

    The check runs every instance that the task enumerates up to size `up_to`, then `instances` of each distribution and
    kind of query at each of `sizes`. Unless sizes are named, it spends a third of the `minutes` on more instances of
    large sizes, with ties of every kind. Then a search changes instances, small and large, and keeps those that lead to
    new observations. It ends after `effort` of them in a row with nothing new, or when the `minutes` are over; with an
    effort of 0 there is no search and no share for large sizes.

    Each instance must be solved within `limit`, by the task's kernel and by its `find_wrong`. Where steps are a budget,
    what is claimed must hold at every budget up to the limit; with `must_end` the enumerated runs must also end by
    themselves. The `workers` of a cluster share all runs but those of the search. `progress(what, done, total)` is
    called as runs end.
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
    check_once(task, max(sizes or (), default=0))
    for size in sizes or ():
        task.draw(Request(size=size, count=1, data=task.inputs.usual_data, queries=task.inputs.usual_queries))
    total = _count(enumeration, largest)
    show = progress or (lambda *_: None)
    checker = _Checker(agent, Limit.parse(limit or task.limit), must_end, threads, workers, show)
    small = checker.check_enumerated(largest, total)
    # The time goes into large instances and changed ones; sizes that are named get what is asked for and no more.
    plan = Effort(
        sizes=(sizes or (*BETWEEN, *task.sizes)) if instances else (),
        drawn=instances,
        large=THOROUGH.large if sizes is None and instances and effort and checker.table is not None else 0,
        changed=MOST_EFFORTS * effort,
        quiet=effort,
        seconds=60 * minutes,
    )
    drawn = checker.check_drawn(plan, seed) if checker.failure is None else []
    explored, slowest = None, []
    if effort and checker.table is not None and can_explore(task):
        occurred = len(checker.table)
        slowest = checker.find_slowest(effort, seed) if checker.failure is None else []
        explored = checker.explore(plan, seed, occurred) if checker.failure is None else None
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
        self.agent, self.task, self.limit, self.must_end, self.progress = agent, agent.task, limit, must_end, progress
        # Its own, also for an agent that is a table: it shall hold what the checks ask and nothing else.
        self.table = Table(agent.task, agent) if isinstance(agent, Agent) else None
        self.failure: CounterExample | None = None
        self.unending: Unending | None = None
        self._threads = threads
        self._is_budget = self.task.limit_is_budget
        self._usual_steps = 0.0
        self._failed_within: Limit | None = None
        """The budget at which an enumerated instance fails."""
        is_elsewhere = workers is not None and not workers.is_local
        self._elsewhere = PlayedElsewhere(workers, agent, self.table) if workers is not None and is_elsewhere else None

    def check_enumerated(self, largest: int, total: int) -> list[CheckedSize]:
        """Return a row for each size up to `largest`, or for those before the first failure."""
        what, done = f"checking every instance up to n = {largest:,}", 0
        run_all = self._run_budgets if self._is_budget else partial(self._run, limit=self.limit, find_loops=True)

        def tried() -> Iterator[Probe]:
            nonlocal done
            for instances in small_instances(self.task, largest):
                yield Probe(instances, run_all(instances, report=partial(self._report, what, total, done)))
                done += instances.count

        rows, failing = self._summarise(tried())
        if failing is not None:
            self.failure = diagnose(self.agent, failing.instances, self._failed_within or self.limit, self._run)
        return rows

    def check_drawn(self, effort: Effort, seed: int) -> list[CheckedSize]:
        """Return a row for each size, with instances of every distribution, or for those before the first failure."""
        done = 0

        def run_drawn(instances: Instances) -> Results:
            nonlocal done
            what = f"checking drawn instances, n = {instances.sizes[0]:,}, checked so far"
            results = self._run(instances, self.limit, not self._is_budget, partial(self._report, what, None, done))
            done += instances.count
            return results

        rows, failing = self._summarise(drawn_probes(self.task, run_drawn, effort, seed))
        if failing is not None:
            self._fail(failing)
        return rows

    def explore(self, effort: Effort, seed: int, before: int) -> Explored | None:
        """Search for instances that lead to new observations; return what was tried, or None if one fails.

        New are those beyond the number `before`.
        """
        explorer = Explorer(self.task, lambda batch: self._run(batch, self.limit, not self._is_budget), seed=seed)
        quiet = effort.quiet or 1
        for probe in changed_probes(explorer, effort):
            if not probe.results.solved.all():
                self._fail(probe)
                return None
            what = "searching for an instance that fails, tried in a row with nothing new"
            self.progress(what, min(explorer.since_new, quiet), quiet)
        return Explored(explorer.tried, len(self.table or ()) - before, explorer.since_new, quiet)

    def find_slowest(self, effort: int, seed: int) -> list[Slowest]:
        """Return the slowest instance of some sizes that a search finds, where runs must end by themselves."""
        rows: list[Slowest] = []
        for done, size in enumerate(() if self._is_budget else SLOWEST_SIZES):
            self.progress("searching for the slowest instances, sizes done", done, len(SLOWEST_SIZES))
            rounds = 1 + min(effort, EFFORT) // SLOWEST_EFFORT
            instance, results = find_slowest(
                self.task, lambda batch: self._run(batch, self.limit, True), size, rounds, seed
            )
            if not results.solved.all():
                self._fail(Probe(instance, results, SEARCH))
                return []
            rows.append(Slowest(size, int(results.steps[0]), write_out(self.task, instance)))
        return rows

    def _fail(self, failing: Probe) -> None:
        """Note the first instance of a batch that is not solved, made smaller."""
        instance = next(failing.failed())
        size = int(instance.sizes[0])
        items, reals = self.task.memory.item_width(size), self.task.memory.real_width(size)
        # Without the memory that only larger instances of the batch need.
        instance = Instances(instance.sizes, instance.items[:, :items], instance.reals[:, :reals])
        failure = diagnose(self.agent, self._shrink(instance), self.limit, self._run)
        self.failure = dataclasses.replace(failure, data=failing.data, shrunk_from=size)

    def _summarise(self, tried: Iterator[Probe]) -> tuple[list[CheckedSize], Probe | None]:
        """Return a row for each size of some batches, in their order, and the first instance that fails."""
        rows: list[CheckedSize] = []
        known = len(self.table or ())
        for probe in tried:
            if not probe.results.solved.all():
                first = int(probe.results.solved.argmin())
                return rows, Probe(probe.instances.part(first, first + 1), probe.results.part(first), probe.data)
            steps = probe.results.steps
            k = int(steps.argmax())
            row = CheckedSize(
                size=probe.size,
                instances=probe.instances.count,
                mean_steps=float(steps.mean()),
                most_steps=int(steps[k]),
                worst=write_out(self.task, probe.instances.part(k, k + 1)),
                data=probe.data,
                new_observations=len(self.table or ()) - known,
            )
            known += row.new_observations
            if rows and rows[-1].size == row.size:
                rows[-1] = rows[-1].joined(row)
            else:
                rows.append(row)
            self._usual_steps = rows[-1].mean_steps
        return rows, None

    def _run_budgets(self, part: Instances, report: Report) -> Results:
        """Run instances at every budget; return the results without one, or of the first instance that fails.

        The steps are those after which a run ends by itself, or the limit if it does not.
        """
        report(0)
        limits = self.limit.steps(part.sizes)
        failing: int | None = None
        for budget in range(1, int(limits[0]) + 1):
            results = self._run(part if failing is None else part.part(0, failing), Limit(budget, 0), False)
            if not results.solved.all():
                failing, self._failed_within = int(results.solved.argmin()), Limit(budget, 0)
        longer = self._run(part, stretch(self.limit), True)
        ends = longer.solved & (longer.steps < stretch(self.limit).steps(part.sizes))
        if not ends.all():
            first = int(ends.argmin())
            if self.must_end and (failing is None or first < failing):
                failing, self._failed_within = first, self.limit
            elif not self.must_end:
                self._note_unending(part.part(first, first + 1), longer, ends)
        outcomes = np.full(part.count, Outcome.SOLVED, np.int64)
        if failing is not None:
            outcomes[failing] = Outcome.STEP_LIMIT
        return dataclasses.replace(longer, steps=np.where(ends, longer.steps, limits), outcomes=outcomes)

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
            spent += READING_STEPS * int(batch.sizes.sum())
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
