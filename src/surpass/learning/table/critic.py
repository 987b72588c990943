"""Actor-critic: learn from nothing, by sampled actions and a critic.

The advantages are those of generalised advantage estimation, without a discount (GAE; Schulman et al., 2016):

    A_t = delta_t + lambda A_{t+1},    delta_t = r_t + V(s_{t+1}) - V(s_t)
    V(s) = w . hints(s) + mean of what that leaves over, for the observation of s

The task may offer hints that the agent does not see, such as the number of inversions; they only reduce the variance.
The advantages of an action are averaged per observation, and the average of all actions there is subtracted. A
temperature pulls logits back to 0, which keeps the policy exploring (an entropy bonus); it falls during a stage.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, checked_tensor
from surpass.engine import chance
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.pool import Call, InterruptiblePool
from surpass.engine.run import core_count
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import record_of, types_of
from surpass.learning.table import kernels
from surpass.learning.table.kernels import Odds, StepRecord, Sums, Values
from surpass.learning.table.logits import LogitTable, with_room
from surpass.learning.updates import SOURCE, take_numbers, tensors_under
from surpass.table import EMPTY, put
from surpass.tasks.task import Instances, Task

STEP_SIZE, PRIOR_COUNT, CRITIC_PRIOR = 0.1, 20.0, 3.0
LAMBDA = 0.9
TEMPERATURES = (1.0, 0.05)
"""How strongly logits are pulled back, at the start and at the end of a stage."""
EPSILONS = (5e-4, 1e-4)
"""The share of random actions at the start and at the end of a stage."""
OFF_PATH_RATE, MAX_OFF_PATH_STEPS = 0.5, 4
"""The share of episodes that begin with random actions, and with how many at most."""
MAX_ACTIONS = 128
"""How many actions are explored at most: those of the instructions with the fewest."""
DECAY = 0.8
"""What remains of the critic's sums in the next update."""
PARTS, SLICES = 2, 16
"""Into how many parts episodes are cut to be summed up and played, whatever the number of threads."""

_RECORDS = {
    "odds": record_of(Odds, "i2 i1 i1 f2 i1"),
    "steps": record_of(StepRecord, "i1 i1 n1 n1 s1 s2"),
    "values": record_of(Values, "f1 f1 f2 f1 f1"),
    "sums": record_of(Sums, "f2 f2 f1 f1 f2 f2"),
}
TEMPLATE = Template(
    kernels,
    {
        "sample": types_of("batch odds i2 i2 i1 steps i i i1", **_RECORDS),
        "accumulate": types_of("batch steps values f1 i1 sums i i", **_RECORDS),
    },
    (chance,),
    general=frozenset({"accumulate"}),
)


class ActorCritic:
    """Plays by the probabilities of a table of logits, and improves them by advantages."""

    def __init__(self, logits: LogitTable, step_cost: float, wrong_cost: float, loss: float = 0.0) -> None:
        self.logits, self.task = logits, logits.task
        unsolved_cost = step_cost + wrong_cost + loss if self.task.must_finish_score else -1.0
        progress = self.task.reward.progress
        self.settings = np.array([step_cost, wrong_cost, progress, LAMBDA, CRITIC_PRIOR, unsolved_cost])
        self.actions = explored_actions(self.task)
        self._prior = _prior(self.task)[self.actions]
        view, interface = logits.features, self.task.interface
        hidden = [k for k in range(len(interface.features)) if k not in view]
        self._hidden = np.array([(interface.strides[k], interface.radices[k]) for k in hidden], np.int64).reshape(-1, 2)
        self._kernels = specialise(self.task, TEMPLATE)
        self.hint_count = len(self.task.all_hints) + 1
        self.temperature, self.epsilon = TEMPERATURES[0], EPSILONS[0]
        self.clear()

    def clear(self) -> None:
        """Forget the critic and every row, in place."""
        self.shown: Ints = np.zeros(0, np.int64)
        """[R] what is seen in each row."""
        self._keys, self._rows = (np.full(4096, EMPTY, np.int64) for _ in range(2))
        self._cumulative: Reals = np.zeros((0, len(self.actions)))
        hints = self.hint_count
        self.values = Values(np.zeros(0), np.zeros(0), np.zeros((0, hints)), np.zeros(hints), np.zeros(1))
        self._scatter = np.zeros((hints, hints + 1))
        """The scatter of the hints with each other and with the returns, within observations."""
        width = len(self.actions)
        shapes = ((0, width), (0, width), (0,), (0,), (0, hints), (hints, hints + 1))
        self._sums = [Sums(*(np.zeros(shape) for shape in shapes)) for _ in range(PARTS)]

    def anneal(self, share: float) -> None:
        """Set how much is explored at a share of the stage, in place."""
        self.temperature, self.epsilon = (float(a * (b / a) ** share) for a, b in (TEMPERATURES, EPSILONS))
        self._refresh(np.arange(len(self.shown)))

    # Rows

    def _add_rows(self, shown: Ints) -> None:
        """Add rows for what is seen [m] for the first time, in place."""
        before = len(self.shown)
        self.shown = np.concatenate([self.shown, shown])
        count = len(self.shown)
        self._cumulative = with_room(self._cumulative, count)
        self.values = self.values._replace(
            **{name: with_room(getattr(self.values, name), count) for name in ("visits", "returns", "hints")}
        )
        new = np.arange(before, count)
        if 4 * count > len(self._keys):
            self._keys, self._rows = (np.full(1 << (8 * count).bit_length(), EMPTY, np.int64) for _ in range(2))
            put(self._keys, self._rows, self.shown, np.arange(count))
        else:
            put(self._keys, self._rows, shown, new)
        self._refresh(new)

    def _refresh(self, rows: Ints) -> None:
        """Compute the probabilities of rows [m] from their logits, in place."""
        logits = self.logits.all_logits(self.shown[rows])[:, self.actions] + self._prior
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares *= (1 - self.epsilon) / shares.sum(axis=1, keepdims=True)
        self._cumulative[rows] = np.cumsum(shares + self.epsilon / len(self.actions), axis=1)
        self._cumulative[rows, -1] = 2.0

    # An update

    def update(self, instances: Instances, limits: Ints, random: np.random.Generator, off_path: bool) -> Batch:
        """Play every instance to its end, learn from it, and return the episodes without random actions."""
        skipped = random.integers(1, MAX_OFF_PATH_STEPS + 1, instances.count)
        skipped *= random.random(instances.count) < (OFF_PATH_RATE if off_path else 0.0)
        skipped = np.minimum(skipped, limits - 1)
        generators = random.integers(1, 2**32, (instances.count, 2), dtype=np.int64)
        batch, record = self._play(instances, limits, skipped, generators)
        sums = self._sum_up(batch, record, limits)
        rows = np.flatnonzero(sums.visits)
        if rows.size:
            self._learn(sums, rows)
            self._fit(sums, rows)
            for array in sums[:-1]:
                array[rows] = 0
            sums.products[:] = 0
        own = skipped == 0
        return Batch(*(array[own] for array in batch))

    def _play(self, instances: Instances, limits: Ints, skipped: Ints, random: Ints) -> tuple[Batch, StepRecord]:
        count, total, stop = instances.count, int(limits.sum()), np.zeros(1, np.int64)
        batch = allocate(self.task, count, int(instances.sizes.max()))
        specialise(self.task).reset(batch, *instances, np.arange(count))
        record = StepRecord(
            np.cumsum(limits) - limits,
            skipped,
            np.empty(total, np.int32),
            np.empty(total, np.int32),
            np.empty(total, np.float32),
            np.empty((total, self.hint_count), np.float32),
        )
        bounds = pairwise(np.linspace(0, count, SLICES + 1).astype(int).tolist())
        parts = [part for part in bounds if part[0] < part[1]]

        def calls(batch: Batch) -> list[Call]:
            odds = Odds(self._hidden, self._keys, self._rows, self._cumulative, self.actions)
            shared = (batch, odds, self.task.interface.action_rows, random, limits, record)
            return [(self._kernels.sample, (*shared, *part, stop)) for part in parts]

        batch = advance(self.task, batch, calls, answer=self._add_rows, threads=core_count(), stop=stop)
        return batch, record

    def _sum_up(self, batch: Batch, record: StepRecord, limits: Ints) -> Sums:
        count = len(self.shown)
        self._sums = [Sums(*[*(with_room(array, count) for array in sums[:-1]), sums.products]) for sums in self._sums]
        bounds = pairwise(np.linspace(0, len(limits), PARTS + 1).astype(int).tolist())
        calls: list[Call] = [
            (self._kernels.accumulate, (batch, record, self.values, self.settings, limits, sums, *part))
            for sums, part in zip(self._sums, bounds, strict=True)
        ]
        with InterruptiblePool(min(core_count(), PARTS), np.zeros(1, np.int64), self.task.name) as pool:
            pool.make(calls)
        first, *others = self._sums
        for other in others:
            rows = np.flatnonzero(other.visits)
            for whole, part in zip(first[:-1], other[:-1], strict=True):
                whole[rows] += part[rows]
                part[rows] = 0
            first.products[:] += other.products
            other.products[:] = 0
        return first

    def _learn(self, sums: Sums, rows: Ints) -> None:
        """Move the logits of rows [m] by their advantages, in place."""
        advantages, counts = sums.advantages[rows], sums.counts[rows]
        advantages = advantages - counts * (advantages.sum(axis=1) / counts.sum(axis=1))[:, None]
        at, choices = np.nonzero(counts)
        self.logits.update(
            self.shown[rows[at]],
            self.actions[choices],
            advantages[at, choices],
            counts[at, choices],
            step_size=STEP_SIZE,
            prior_count=PRIOR_COUNT,
            decay=STEP_SIZE * self.temperature,
        )
        self._refresh(rows)

    def _fit(self, sums: Sums, rows: Ints) -> None:
        """Fit the critic to the returns of rows [m] by least squares within observations, in place."""
        visits, returns, hints = sums.visits[rows], sums.returns[rows], sums.hints[rows]
        products = sums.products.copy()
        products[:, :-1] += np.tril(products[:, :-1], -1).T
        within = products - (hints / visits[:, None]).T @ np.column_stack([hints, returns])
        self._scatter = DECAY * self._scatter + within
        ridge = 1e-6 * np.trace(self._scatter[:, :-1]) / self.hint_count + 1e-9
        weights = np.linalg.solve(self._scatter[:, :-1] + ridge * np.eye(self.hint_count), self._scatter[:, -1])
        values = self.values
        for kept, new in zip(values[:3], (visits, returns, hints), strict=True):
            kept[rows] = DECAY * kept[rows] + new
        values.weights[:] = weights
        values.usual[0] = (returns.sum() - hints.sum(axis=0) @ weights) / visits.sum()

    # State

    def save(self) -> Tensors:
        """Return everything that `load` needs."""
        count = len(self.shown)
        names = ("visits", "returns", "hints", "weights", "usual")
        arrays = [*(array[:count] for array in self.values[:3]), *self.values[3:]]
        values = {f"values.{name}": array for name, array in zip(names, arrays, strict=True)}
        logits = {f"logits.{name}": array for name, array in self.logits.save().items()}
        return {**logits, **values, "shown": self.shown, "spread": self._scatter}

    def load(self, tensors: Tensors) -> None:
        """Go back to a saved state in place."""
        self.clear()
        self.logits.load(tensors_under("logits.", tensors))
        shown = take_numbers(tensors, "shown", self.task.interface.observation_count)
        self._add_rows(shown)
        count, hints = len(shown), self.hint_count
        shapes = {"visits": (count,), "returns": (count,), "hints": (count, hints), "weights": (hints,), "usual": (1,)}
        found = [checked_tensor(tensors, f"values.{name}", np.zeros(shape), SOURCE) for name, shape in shapes.items()]
        self.values = Values(*found)
        self._scatter = checked_tensor(tensors, "spread", self._scatter, SOURCE)


def explored_actions(task: Task) -> Ints:
    """Return the actions that are explored: those of the instructions with the fewest, up to a number of them."""
    instructions = task.interface.action_rows[:, 0]
    order = np.argsort(np.bincount(instructions)[instructions], kind="stable")
    return np.sort(order[:MAX_ACTIONS])


def _prior(task: Task) -> Reals:
    """Return log-probabilities [A] by which each instruction is as likely as any other."""
    instructions = task.interface.action_rows[:, 0]
    prior: Reals = -np.log(np.bincount(instructions)[instructions])
    return prior
