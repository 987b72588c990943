"""Sample many episodes at once from a policy whose networks are evaluated once for each distinct decision."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from surpass.arrays import Array, Floats, Ints, Reals
from surpass.bundles import Tensors, take
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.crew import Call
from surpass.engine.run import core_count
from surpass.engine.specialise import specialise
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Sums
from surpass.learning.policy_gradient.compiled import TEMPLATE
from surpass.learning.policy_gradient.forward import HIDDEN_LAYERS, WIDTH
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.sources import Sources
from surpass.learning.updates import SOURCE
from surpass.machine.state import Outcome
from surpass.reading import Count, Range
from surpass.table import EMPTY, put
from surpass.tasks.task import Limit, Request, Task

ROWS = 1024
"""How many rows a plan has room for at least."""
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


class Sampler:
    """Episodes of a task, going on from one batch to the next, and the decisions of the last one."""

    def __init__(self, task: Task, source: InstanceSource, *, episodes: int, steps: int, seed: int) -> None:
        self.task, self.source = task, source
        self.sizes = (source.smallest, source.largest)
        """The smallest and the largest size of the instances drawn next; within those of the source."""
        self.episodes, self.steps, self.seed = episodes, steps, seed
        self.kernels = specialise(task, TEMPLATE)
        self.tree = grow_tree(task.interface)
        self.width = max(slot.choices for slot in task.interface.slots)
        self.batch = allocate(task, episodes, source.largest)
        self.batch.outcomes[:] = Outcome.SOLVED  # every episode starts by taking an instance
        self.limits = np.ones(episodes, np.int64)
        random = np.random.default_rng([seed, 2])
        self.random = random.integers(1, 2**32, (episodes, 2), dtype=np.int64)
        self.batches = 0
        self._instances_per_episode = 2
        self.plan = _new_plan(ROWS, self.width)
        self._parameters = np.zeros((0, WIDTH), np.float32)
        self._spare: list[DecisionPlan] = []
        """Plans whose memory the next batch uses again."""

    @property
    def count(self) -> int:
        """How many distinct decisions came up in the last batch, or were followed since."""
        return int(self.plan.used[0])

    @property
    def first(self) -> Ints:
        """The rows of the plan that are choices of an instruction, one for each observation."""
        return np.flatnonzero(self.plan.origins[: self.count] < 0)

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
        pool, parts = self._draw(), _split(self.episodes, PARTS)
        tree = self.tree
        self._parameters = np.empty((len(parameters) + len(tree.parameter_starts) * tree.table_size, WIDTH), np.float32)
        self._parameters[: len(parameters)] = parameters
        self.kernels.tabulate(tree, self._parameters)
        size = _enough(self.count)
        workers = min(core_count(), PARTS)
        # One worker needs no plan for each part: one after the other they add decisions in the order of `_unite`.
        plans = [_emptied(self._spare.pop() if self._spare else None, size, self.width) for _ in range(workers)]
        if workers == 1:
            for part in parts:
                plans, pool = self._fill(plans, [part], pool, record)
            self.plan, self._spare = plans[0], plans
        else:
            plans, _ = self._fill(plans, parts, pool, record)
            self.plan = self._unite(plans, parts, record)
            self._spare = [self.plan, *plans[1:]]
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
                (self.kernels.sample, (batch, self.tree, self._parameters, plan, *shared, *part))
                for plan, part in zip(plans, parts, strict=True)
            ]

        def enlarge(waiting: Ints) -> None:
            for k, (first, last) in enumerate(parts):
                if ((first <= waiting) & (waiting < last)).any():
                    plans[k] = self._with_room(plans[k], 2 * len(plans[k].nodes))

        def draw_more(waiting: Ints) -> None:
            nonlocal pool
            self._instances_per_episode = 2 * len(pool.sizes) // self.episodes
            fresh = self._draw()
            pool = Pool(*(np.concatenate([old, new_one[len(old) :]]) for old, new_one in zip(pool, fresh, strict=True)))

        others = {Outcome.TABLE_FULL: enlarge, Outcome.NEEDS_INSTANCE: draw_more}
        self.batch = advance(self.task, self.batch, calls, waits=record.waits, others=others, threads=len(parts))
        return plans, pool

    def _with_room(self, plan: DecisionPlan, rows: int) -> DecisionPlan:
        """Return a plan with room for this many rows, a power of two."""
        if rows <= len(plan.nodes):
            return plan
        larger, count = _new_plan(rows, self.width), int(plan.used[0])
        larger.used[0] = count
        arrays: list[tuple[Array, Array]] = list(zip(larger[3:], plan[3:], strict=True))
        for new, old in arrays:
            new[:count] = old[:count]
        first = np.flatnonzero(plan.origins[:count] < 0)
        put(larger.keys, larger.rows, plan.observations[first], first)
        return larger

    def _unite(self, plans: list[DecisionPlan], parts: list[tuple[int, int]], record: Record) -> DecisionPlan:
        """Return one plan of all parts, and give the rows in the record their numbers in it, in place."""
        whole = self._with_room(plans[0], _enough(sum(int(plan.used[0]) for plan in plans)))
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

    def follow(self, rows: Ints, actions: Ints) -> Ints:
        """Return the choice [R] that an action [m] for the observation of each of some rows [m] makes at every row.

        It is -1 at rows that no action passes through. Decisions that the batch did not come to become rows, in place.
        """
        more = len(rows) * self.tree.weights.shape[1]
        self.plan = self._with_room(self.plan, _enough(self.count + more))
        self._spare[0] = self.plan
        taught = np.full(self.count + more, -1, np.int64)
        self.kernels.follow(self.tree, self._parameters, self.plan, rows, actions, taught)
        return taught[: self.count]

    # The losses

    def losses(self, sums: Sums, taught: Ints) -> Reals:
        """Return the losses [3] of policy, entropy and imitation, summed over all steps; see `kernels.lose`."""
        losses = np.zeros(3)
        self.kernels.lose(self.tree, self.plan, sums, taught, losses)
        return losses

    def sum_up(self, record: Record, values: Reals, afters: Reals, settings: Reals) -> Sums:
        """Return the sums per row of a record; see `kernels.accumulate`."""
        count = self.count
        parts = [
            Sums(np.zeros((count, self.width)), np.zeros(count), np.zeros(count), np.zeros(count)) for _ in range(PARTS)
        ]
        calls = [
            (self.tree, self.plan, record, values, afters, settings, sums, *part)
            for sums, part in zip(parts, _split(self.episodes, PARTS), strict=True)
        ]
        accumulate = self.kernels.accumulate
        with ThreadPoolExecutor(min(core_count(), PARTS)) as executor:
            list(executor.map(lambda call: accumulate(*call), calls))
        return Sums(*(sum(columns[1:], columns[0]) for columns in zip(*parts, strict=True)))


def _enough(rows: int) -> int:
    """Return a number of rows to make room for, a power of two."""
    return max(ROWS, 1 << rows.bit_length())


def _new_plan(rows: int, width: int) -> DecisionPlan:
    """Return an empty plan with room for a number of rows, a power of two; at most half of its table is in use."""
    keys, places = (np.full(2 * rows, EMPTY, np.int64) for _ in range(2))
    observations, owners, nodes, origins = (np.empty(rows, np.int64) for _ in range(4))
    return DecisionPlan(
        keys,
        places,
        np.zeros(1, np.int64),
        observations,
        owners,
        nodes,
        origins,
        np.empty((rows, width), np.int64),
        np.empty((rows, width)),
        np.empty((rows, width)),
        np.empty((rows, HIDDEN_LAYERS, WIDTH), np.float32),
    )


def _emptied(plan: DecisionPlan | None, rows: int, width: int) -> DecisionPlan:
    """Return an empty plan with room for a number of rows: this one, if it has just as much."""
    if plan is None or len(plan.nodes) != rows:
        return _new_plan(rows, width)
    plan.keys[:] = EMPTY
    plan.used[0] = 0
    return plan


def _split(count: int, parts: int) -> list[tuple[int, int]]:
    """Return the bounds of `parts` slices of about equal size."""
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    return list(pairwise(bounds))
