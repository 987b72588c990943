"""Play many episodes side by side by a network that is evaluated once for each distinct decision."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np

from surpass.arrays import Floats, Ints
from surpass.bundles import Tensors, checked_tensor
from surpass.engine import chance
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.pool import Call
from surpass.engine.run import core_count
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import record_of, types_of
from surpass.learning.policy_gradient import arrays, forward, kernels
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Tree
from surpass.learning.policy_gradient.forward import WIDTH
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.learning.sources import Sources
from surpass.learning.updates import SOURCE
from surpass.machine.state import Outcome
from surpass.reading import Count, Range
from surpass.table import EMPTY, put
from surpass.tasks.task import Limit, Task

_RECORDS = {
    "tree": record_of(Tree, "i2 i2 i1 i1 i1 i i1 i1 s1 i1 i1 i1 i1"),
    "plan": record_of(DecisionPlan, "i1 i1 i1 i2 f2"),
    "pool": record_of(Pool, "i1 i2 f2 i1"),
    "record": record_of(Record, "i2 i2 f2 i2 i2 i2 i1 i1 i1 i1 i1 i1"),
}
TEMPLATE = Template(
    kernels,
    {
        "sample": types_of("batch tree s2 plan pool i2 i1 record i i", **_RECORDS),
        "tabulate": types_of("tree s2", **_RECORDS),
    },
    (arrays, chance, forward),
    general=frozenset({"tabulate"}),
)
COUNTERS = {"batches": Count, "instances": Annotated[int, Range(1, 10**6)]}
"""What a checkpoint counts: batches, and the instances that an episode is given in each."""
ROWS = 1024
"""How many rows a plan has room for at least."""


class Sampled(NamedTuple):
    """A batch of episodes, with its distinct observations."""

    observations: Ints
    """[m] the distinct ones, in order."""
    which: Ints
    """[B, T] the number of each step's observation among them."""
    record: Record
    last: Ints
    """[B] what each episode shows after its last step; of an ended one it has no meaning."""


class Sampler:
    """Episodes of a task; each batch continues where the last one stopped."""

    def __init__(
        self, task: Task, sources: Sources, limit: Limit, *, largest: int, episodes: int, steps: int, seed: int
    ) -> None:
        self.task, self.sources, self.limit, self.largest = task, sources, limit, largest
        self.episodes, self.steps, self.seed = episodes, steps, seed
        self.kernels, self.tree = specialise(task, TEMPLATE), grow_tree(task.interface)
        self.batch = allocate(task, episodes, largest)
        self.batch.outcomes[:] = Outcome.SOLVED  # every episode starts by taking an instance
        self.limits = np.ones(episodes, np.int64)
        self.random = np.random.default_rng([seed, 2]).integers(1, 2**32, (episodes, 2), dtype=np.int64)
        self.batches, self.instances = 0, 2
        self.plans: list[DecisionPlan] = []
        """The decisions of the last batch, of each thread's episodes; they change nothing but the time."""

    @property
    def decision_count(self) -> int:
        """How many decisions the last batch evaluated."""
        return sum(int(plan.used[0]) for plan in self.plans)

    # A batch

    def sample(self, parameters: Floats, sizes: tuple[int, int]) -> Sampled:
        """Let every episode take `steps` steps by the policy with these parameters, on instances of these sizes.

        The parameters are laid out as `forward` says.
        """
        shape = (self.episodes, self.steps)
        rows, actions, ends, cut, after = (np.zeros(shape, np.int64) for _ in range(5))
        counters = (np.zeros(self.episodes, np.int64) for _ in range(6))
        record = Record(rows, actions, np.zeros(shape), ends, cut, after, *counters)
        parts = list(pairwise(np.linspace(0, self.episodes, 1 + core_count()).astype(int).tolist()))
        room = len(self.tree.choice_counts) * self.tree.table_size
        parameters = np.concatenate([parameters, np.zeros((room, WIDTH), np.float32)])
        self.kernels.tabulate(self.tree, parameters)
        self._play(parameters, parts, record, sizes)
        self.batches += 1
        self.instances = int(record.used.max()) + 1
        return self._merge(parts, record)

    def _play(self, parameters: Floats, parts: list[tuple[int, int]], record: Record, sizes: tuple[int, int]) -> None:
        """Fill the record, each part of the episodes by a thread with its own plan, in place."""
        width = int(self.tree.choice_counts.max())
        before = [int(plan.used[0]) for plan in self.plans] if len(self.plans) == len(parts) else [0] * len(parts)
        plans = [new_plan(max(ROWS, 1 << used.bit_length()), width) for used in before]
        pool = self._draw(sizes)

        def calls(batch: Batch) -> list[Call]:
            shared = (pool, self.random, self.limits, record)
            return [
                (self.kernels.sample, (batch, self.tree, parameters, plan, *shared, *part))
                for plan, part in zip(plans, parts, strict=True)
            ]

        def enlarge(waiting: Ints) -> None:
            for k, (first, last) in enumerate(parts):
                if ((first <= waiting) & (waiting < last)).any():
                    plans[k] = _enlarged(plans[k])

        def draw_more(waiting: Ints) -> None:
            nonlocal pool
            self.instances = 2 * len(pool.sizes) // self.episodes
            fresh = self._draw(sizes)
            pool = Pool(*(np.concatenate([old, new[len(old) :]]) for old, new in zip(pool, fresh, strict=True)))

        others = {Outcome.TABLE_FULL: enlarge, Outcome.NEEDS_INSTANCE: draw_more}
        self.batch = advance(self.task, self.batch, calls, waits=record.waits, others=others, threads=len(parts))
        self.plans = plans

    def _merge(self, parts: list[tuple[int, int]], record: Record) -> Sampled:
        """Return the batch with the distinct observations of all plans together."""
        taken = [plan.keys != EMPTY for plan in self.plans]
        met = [plan.keys[here] for plan, here in zip(self.plans, taken, strict=True)]
        observations = np.unique(np.concatenate(met))
        which = np.zeros(record.rows.shape, np.int64)
        for plan, here, own, (first, last) in zip(self.plans, taken, met, parts, strict=True):
            numbers = np.zeros(int(plan.used[0]), np.int64)
            numbers[plan.rows[here]] = np.searchsorted(observations, own)
            which[first:last] = numbers[record.rows[first:last]]
        digits = np.zeros((self.episodes, len(self.task.interface.features)), np.int64)
        specialise(self.task).look(self.batch, digits)
        return Sampled(observations, which, record, self.task.interface.pack_digits(digits))

    def _draw(self, sizes: tuple[int, int]) -> Pool:
        """Return the instances of this batch, some for each episode."""
        count, seed = self.instances * self.episodes, self.seed * 10_000_000 + self.batches
        drawn = self.sources.draw_between(sizes, count, seed, widest=self.largest)
        return Pool(drawn.sizes, drawn.items, drawn.reals, self.limit.steps(drawn.sizes))

    # State

    def save(self) -> tuple[Tensors, dict[str, int]]:
        """Return everything that `load` needs to continue exactly from here."""
        tensors = {f"batch.{name}": array for name, array in self.batch._asdict().items()}
        counters = {"batches": self.batches, "instances": self.instances}
        return {**tensors, "random": self.random, "limits": self.limits}, counters

    def load(self, tensors: Tensors, counters: dict[str, int]) -> None:
        """Restore a saved state in place."""
        # The stack grows as it is needed, so its width is the saved one's.
        width = tensors["batch.stack"].shape[-1:] if "batch.stack" in tensors else ()
        like = self.batch._replace(stack=np.zeros((self.episodes, *width), np.int64))
        self.batch = Batch(
            *(
                checked_tensor(tensors, f"batch.{k}", a, SOURCE, finite=k != "reals") if a.size else a
                for k, a in like._asdict().items()
            )
        )
        self.random = checked_tensor(tensors, "random", self.random, SOURCE)
        self.limits = checked_tensor(tensors, "limits", self.limits, SOURCE)
        self.batches, self.instances = counters["batches"], counters["instances"]


def new_plan(rows: int, width: int) -> DecisionPlan:
    """Return an empty plan with room for a number of rows, a power of two; at most half of its hash table is used."""
    keys, places = (np.full(2 * rows, EMPTY, np.int64) for _ in range(2))
    return DecisionPlan(keys, places, np.zeros(1, np.int64), np.empty((rows, width), np.int64), np.empty((rows, width)))


def _enlarged(plan: DecisionPlan) -> DecisionPlan:
    """Return a plan with twice the room."""
    larger, count = new_plan(2 * len(plan.links), plan.links.shape[1]), int(plan.used[0])
    larger.used[0], larger.links[:count], larger.cumulative[:count] = count, plan.links[:count], plan.cumulative[:count]
    taken = plan.keys != EMPTY
    put(larger.keys, larger.rows, plan.keys[taken], plan.rows[taken])
    return larger
