"""Sample many episodes at once from a policy whose networks are evaluated once for each distinct decision."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from surpass.arrays import Floats, Ints, Reals
from surpass.bundles import Tensors, take
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.crew import Call
from surpass.engine.run import core_count
from surpass.engine.specialise import specialise
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Sums
from surpass.learning.policy_gradient.decisions import Decisions, emptied, enough
from surpass.learning.sources import Sources
from surpass.learning.updates import SOURCE
from surpass.machine.state import Outcome
from surpass.reading import Count, Range
from surpass.tasks.task import Limit, Request, Task

COUNTERS = {"batches": Count, "instances": Annotated[int, Range(1, 10**6)]}
"""What is counted from batch to batch, and how many instances an episode is given in each."""
PARTS = 2
"""Episodes are sampled and summed in this many parts, whatever the number of threads, so that results are the same."""


@dataclass(frozen=True)
class InstanceSource:
    """Where episodes come from."""

    smallest: int
    largest: int
    sources: Sources
    """Distributions without weights are taken in turn by each size, one in each batch."""
    limit: str


class Sampler(Decisions):
    """Episodes of a task, going on from one batch to the next, and the decisions of the last one."""

    def __init__(
        self,
        task: Task,
        source: InstanceSource,
        *,
        episodes: int,
        steps: int,
        seed: int,
        threads: int | None = None,
    ) -> None:
        super().__init__(task)
        self.source, self._threads = source, threads
        self.sizes = (source.smallest, source.largest)
        """The smallest and the largest size of the instances drawn next; within those of the source."""
        self.episodes, self.steps, self.seed = episodes, steps, seed
        self.batch = allocate(task, episodes, source.largest)
        self.batch.outcomes[:] = Outcome.SOLVED  # every episode starts by taking an instance
        self.limits = np.ones(episodes, np.int64)
        random = np.random.default_rng([seed, 2])
        self.random = random.integers(1, 2**32, (episodes, 2), dtype=np.int64)
        self.batches = 0
        self._instances_per_episode = 2

    @property
    def threads(self) -> int:
        """How many threads sample and sum up side by side."""
        return min(self._threads or core_count(), PARTS)

    # State

    def save(self) -> tuple[Tensors, dict[str, int]]:
        """Return everything that `load` needs to go on exactly from here."""
        tensors = {f"batch.{name}": array for name, array in self.batch._asdict().items()}
        counters = {"batches": self.batches, "instances": self._instances_per_episode}
        return {**tensors, "random": self.random, "limits": self.limits}, counters

    def load(self, tensors: Tensors, counters: dict[str, int]) -> None:
        """Go back to a saved state in place."""
        # The stack grows as it is needed, so its width is the saved one's.
        width = tensors["batch.stack"].shape[-1:] if "batch.stack" in tensors else ()
        like = self.batch._replace(stack=np.zeros((self.episodes, *width), np.int64))
        self.batch = Batch(
            *(take(tensors, f"batch.{k}", a, SOURCE, finite=k != "reals") for k, a in like._asdict().items())
        )
        self.random = take(tensors, "random", self.random, SOURCE)
        self.limits = take(tensors, "limits", self.limits, SOURCE)
        self.batches, self._instances_per_episode = counters["batches"], counters["instances"]

    # A batch

    def sample(self, parameters: Floats) -> Record:
        """Let every episode take `steps` steps by the policy with these parameters, and return what happened.

        The parameters are laid out as `forward` says.
        """
        shape = (self.episodes, self.steps)
        rows, actions, ends, cut, after = (np.zeros(shape, np.int64) for _ in range(5))
        counters = (np.zeros(self.episodes, np.int64) for _ in range(6))
        record = Record(rows, actions, np.zeros(shape), ends, cut, after, *counters)
        pool, parts = self._draw(), split(self.episodes, PARTS)
        self.take_in(parameters)
        size, workers = enough(self.count), self.threads
        # One worker needs no plan for each part: one after the other they add decisions in the order of `_unite`.
        plans = [emptied(self.spare.pop() if self.spare else None, size, self.width) for _ in range(workers)]
        if workers == 1:
            for part in parts:
                plans, pool = self._fill(plans, [part], pool, record)
            self.plan, self.spare = plans[0], plans
        else:
            plans, _ = self._fill(plans, parts, pool, record)
            self.plan = self._unite(plans, parts, record)
            self.spare = [self.plan, *plans[1:]]
        self.batches += 1
        self._instances_per_episode = int(record.used.max()) + 1
        return record

    def _fill(
        self, plans: list[DecisionPlan], parts: list[tuple[int, int]], pool: Pool, record: Record
    ) -> tuple[list[DecisionPlan], Pool]:
        """Fill the record of each part by its own plan, in place; return the plans and the pool as they grew."""
        plans = list(plans)

        def calls(batch: Batch) -> list[Call]:
            shared = (pool, self.random, self.limits, record)
            return [
                (self.kernels.sample, (batch, self.tree, self.parameters, plan, *shared, *part))
                for plan, part in zip(plans, parts, strict=True)
            ]

        def enlarge(waiting: Ints) -> None:
            for k, (first, last) in enumerate(parts):
                if ((first <= waiting) & (waiting < last)).any():
                    plans[k] = self.with_room(plans[k], 2 * len(plans[k].nodes))

        def draw_more(waiting: Ints) -> None:
            nonlocal pool
            self._instances_per_episode = 2 * len(pool.sizes) // self.episodes
            fresh = self._draw()
            pool = Pool(*(np.concatenate([old, new_one[len(old) :]]) for old, new_one in zip(pool, fresh, strict=True)))

        others = {Outcome.TABLE_FULL: enlarge, Outcome.NEEDS_INSTANCE: draw_more}
        self.batch = advance(self.task, self.batch, calls, waits=record.waits, others=others, threads=len(parts))
        return plans, pool

    def _unite(self, plans: list[DecisionPlan], parts: list[tuple[int, int]], record: Record) -> DecisionPlan:
        """Return one plan of all parts, and give the rows in the record their numbers in it, in place."""
        whole = self.with_room(plans[0], enough(sum(int(plan.used[0]) for plan in plans)))
        for plan, (first, last) in zip(plans[1:], parts[1:], strict=True):
            numbers = np.zeros(int(plan.used[0]), np.int64)
            self.kernels.absorb(whole, plan, numbers)
            record.rows[first:last] = numbers[record.rows[first:last]]
        return whole

    def _draw(self) -> Pool:
        """Return the instances of this batch, some for each episode."""
        count, (low, high) = self._instances_per_episode * self.episodes, self.sizes
        sources, seed = self.source.sources, self.seed * 10_000_000 + self.batches
        if not sources.is_plain:
            drawn = sources.draw_between(self.sizes, count, seed, widest=self.source.largest)
            return Pool(drawn.sizes, drawn.items, drawn.reals, Limit.parse(self.source.limit).steps(drawn.sizes))
        random = np.random.default_rng([self.seed, 3, self.batches])
        sizes = random.integers(0, high - low + 1, count) + low
        names = [source.name for source in sources.all]

        def ask(size: int, wanted: int) -> Request:
            data = names[(size - low + self.batches) % len(names)]
            return Request(size=size, count=wanted, seed=seed, data=data, queries=sources.queries)

        drawn = self.task.draw_each(sizes, self.source.largest, ask)
        return Pool(sizes, drawn.items, drawn.reals, Limit.parse(self.source.limit).steps(sizes))

    def final_observations(self) -> Ints:
        """Return what each episode shows now, packed; of an ended one it has no meaning."""
        digits = np.zeros((self.episodes, len(self.task.interface.features)), np.int64)
        specialise(self.task).look(self.batch, digits)
        return self.task.interface.pack_digits(digits)

    def sum_up(self, record: Record, values: Reals, afters: Reals, settings: Reals) -> Sums:
        """Return the sums per row of a record; see `kernels.accumulate`."""
        count = self.count
        parts = [
            Sums(np.zeros((count, self.width)), np.zeros(count), np.zeros(count), np.zeros(count)) for _ in range(PARTS)
        ]
        calls = [
            (self.tree, self.plan, record, values, afters, settings, sums, *part)
            for sums, part in zip(parts, split(self.episodes, PARTS), strict=True)
        ]
        accumulate = self.kernels.accumulate
        with ThreadPoolExecutor(self.threads) as executor:
            list(executor.map(lambda call: accumulate(*call), calls))
        return Sums(*(sum(columns[1:], columns[0]) for columns in zip(*parts, strict=True)))


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """Return the bounds of `parts` slices of about equal size."""
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    return list(pairwise(bounds))
