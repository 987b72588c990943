"""Sample many episodes at once from a policy that is asked once for each distinct decision."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from surpass.engine.batch import Batch, allocate
from surpass.engine.experience import Plan, Pool, Record, Sums
from surpass.engine.kernels import EMPTY
from surpass.engine.run import core_count, make_room, raise_bad_observation
from surpass.engine.specialise import specialise
from surpass.machine.interface import Interface
from surpass.machine.state import Outcome
from surpass.tasks.task import Limit, Request, Task

__all__ = ["Decisions", "Sampler", "Source"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

ROWS = 1024
"""How many rows a fresh table has room for."""
PARTS = 2
"""Experience is summed in this many parts, whatever the number of threads, so that rounding is the same."""


@dataclass(frozen=True)
class Source:
    """Where episodes come from."""

    smallest: int
    largest: int
    data: str
    queries: str
    limit: str


@dataclass(frozen=True)
class Decisions:
    """Rows of the plan: an observation, a slot, and the operands chosen before it."""

    observations: Ints
    """[m]"""
    slots: Ints
    """[m]"""
    prefixes: Ints
    """[m, operands] padded with 0."""


Ask = Callable[[Decisions], Reals]
"""Returns the probabilities [m, C] of the choices of decisions, 0 beyond a slot's choices."""


class _Nodes:
    """Every slot with every prefix of an interface, numbered."""

    def __init__(self, interface: Interface) -> None:
        most = max(1, interface.most_operands)
        self.slots: list[int] = []
        prefixes: list[tuple[int, ...]] = []
        children: list[int] = []
        self.first: list[int] = []
        slot_of = {(slot.instruction, slot.operand): k for k, slot in enumerate(interface.slots)}
        for number, instruction in enumerate(interface.instructions):
            self.first.append(len(self.slots))
            level: list[tuple[int, ...]] = [()] if instruction.operands else []
            for k, operand in enumerate(instruction.operands):
                after = len(self.slots) + len(level)
                following: list[tuple[int, ...]] = []
                for prefix in level:
                    self.slots.append(slot_of[number, k])
                    prefixes.append(prefix)
                    children.append(after + len(following))
                    following += [(*prefix, choice) for choice in range(len(operand.values))]
                level = following
        self.children = np.array([*children, 0], np.int64)
        self.prefixes = np.zeros((len(prefixes) + 1, most), np.int64)
        for k, prefix in enumerate(prefixes):
            self.prefixes[k, : len(prefix)] = prefix
        self.slot_numbers = np.array([*self.slots, 0], np.int64)
        self.count = len(self.slots) + 1


class Sampler:
    """Episodes of a task, going on from one batch to the next, and the policy's table that drives them."""

    def __init__(self, task: Task, source: Source, *, episodes: int, steps: int, seed: int) -> None:
        self.task, self.source = task, source
        self.sizes = (source.smallest, source.largest)
        """The smallest and the largest size of the instances drawn next; within those of the source."""
        self.episodes, self.steps, self.seed = episodes, steps, seed
        self.kernels = specialise(task)
        interface = task.interface
        self.nodes = _Nodes(interface)
        self.width = max(slot.choices for slot in interface.slots)
        self.batch = allocate(task, episodes, source.largest)
        self.batch.outcomes[:] = Outcome.SOLVED  # every episode starts by taking an instance
        self.limits = np.ones(episodes, np.int64)
        random = np.random.default_rng([seed, 2])
        self.random = random.integers(1, 2**32, (episodes, 2), dtype=np.int64)
        self.batches = 0
        self._instances_per_episode = 2
        self.forget()

    # The plan

    def forget(self) -> None:
        """Empty the table of the policy, in place."""
        self.count = 0
        self._observations = np.zeros(ROWS, np.int64)
        self._slots = np.zeros(ROWS, np.int64)
        self._prefixes = np.zeros((ROWS, self.nodes.prefixes.shape[1]), np.int64)
        interface = self.task.interface
        most = max(1, interface.most_operands)
        weights = np.zeros((len(interface.instructions), most), np.int64)
        for number, instruction in enumerate(interface.instructions):
            for k in range(len(instruction.operands)):
                weights[number, k] = math.prod(len(o.values) for o in instruction.operands[k + 1 :])
        self.plan = Plan(
            np.full(1024, EMPTY, np.int64),
            np.zeros(1024, np.int64),
            np.full(1024, EMPTY, np.int64),
            np.zeros(1024, np.int64),
            np.zeros((ROWS, self.width)),
            interface.action_rows,
            np.array(interface.offsets, np.int64),
            np.array([len(i.operands) for i in interface.instructions], np.int64),
            weights,
            np.array(self.nodes.first, np.int64),
            self.nodes.children,
            np.array([self.nodes.count], np.int64),
        )

    def extend(self, decisions: Decisions, probabilities: Reals, keys: Ints, *, are_observations: bool) -> None:
        """Add rows for new decisions to the table, in place; `keys` [m] are what the kernels find them by."""
        first, last_row = self.count, self.count + len(keys)
        rows = np.arange(first, last_row)
        self._reserve(last_row)
        plan = self.plan
        cumulative = np.cumsum(probabilities, axis=1)
        # The last choice with any probability takes what rounding leaves over.
        last = self.width - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
        cumulative[np.arange(self.width) >= last[:, None]] = 2.0
        plan.cumulative[first:last_row] = cumulative
        self._observations[first:last_row] = decisions.observations
        self._slots[first:last_row] = decisions.slots
        self._prefixes[first:last_row] = decisions.prefixes
        self.count = last_row
        names = ("keys", "rows") if are_observations else ("decision_keys", "decision_rows")
        table_keys, table_rows = self._with_room(getattr(plan, names[0]), getattr(plan, names[1]), len(keys))
        self.kernels.insert(table_keys, table_rows, keys, rows)
        self.plan = plan._replace(**{names[0]: table_keys, names[1]: table_rows})  # type: ignore[arg-type]

    def _reserve(self, rows: int) -> None:
        """Make room for this many rows in place, at least doubling what there is."""
        have = len(self._slots)
        if rows <= have:
            return
        more = max(rows, 2 * have) - have

        def longer(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

        self._observations, self._slots = longer(self._observations), longer(self._slots)
        self._prefixes = longer(self._prefixes)
        self.plan = self.plan._replace(cumulative=longer(self.plan.cumulative))

    @property
    def known(self) -> Decisions:
        """The decisions of all rows."""
        return Decisions(self._observations[: self.count], self._slots[: self.count], self._prefixes[: self.count])

    def _with_room(self, keys: Ints, rows: Ints, more: int) -> tuple[Ints, Ints]:
        """Return a hash table with room for `more` entries."""
        taken = keys != EMPTY
        wanted = int(taken.sum()) + more
        if 2 * wanted <= len(keys):
            return keys, rows
        capacity = 1 << (4 * wanted).bit_length()
        new_keys, new_rows = np.full(capacity, EMPTY, np.int64), np.zeros(capacity, np.int64)
        self.kernels.insert(new_keys, new_rows, keys[taken], rows[taken])
        return new_keys, new_rows

    def refresh(self, kept: npt.NDArray[np.bool_], ask: Ask) -> None:
        """Ask for the probabilities of the `kept` rows [R] anew and drop all others, in place."""
        known, count = self.known, self.nodes.count
        decision_taken = self.plan.decision_keys != EMPTY
        decision_keys = np.zeros(len(kept), np.int64)
        decision_keys[self.plan.decision_rows[decision_taken]] = self.plan.decision_keys[decision_taken]
        first = np.flatnonzero(kept & (known.slots == 0))
        others = np.flatnonzero(kept & (known.slots != 0))
        self.forget()
        renumbered = np.full(len(kept), -1, np.int64)
        renumbered[first] = np.arange(len(first))
        chosen = _pick(known, first)
        self.extend(chosen, ask(chosen), chosen.observations, are_observations=True)
        owner, node = decision_keys[others] // count, decision_keys[others] % count
        chosen = _pick(known, others)
        if len(others):
            self.extend(chosen, ask(chosen), renumbered[owner] * count + node, are_observations=False)

    # State

    def save_plan(self) -> dict[str, Ints]:
        """Return what each row of the table is about, and the keys it is found by."""
        keys = np.zeros(self.count, np.int64)
        taken = self.plan.decision_keys != EMPTY
        keys[self.plan.decision_rows[taken]] = self.plan.decision_keys[taken]
        known = self.known
        return {"observations": known.observations, "slots": known.slots, "prefixes": known.prefixes, "keys": keys}

    def counters(self) -> dict[str, int]:
        """Return how many batches were sampled, and how many instances an episode has needed."""
        return {"batches": self.batches, "instances": self._instances_per_episode}

    def load(self, tensors: dict[str, npt.NDArray[Any]], counters: dict[str, int], ask: Ask) -> None:
        """Go back to a saved state in place."""
        self.batch = Batch(*(tensors[f"batch.{name}"].copy() for name in Batch._fields))
        self.random, self.limits = tensors["random"].copy(), tensors["limits"].copy()
        self.batches, self._instances_per_episode = counters["batches"], counters["instances"]
        known = Decisions(*(tensors[f"known.{name}"] for name in ("observations", "slots", "prefixes")))
        self.forget()
        # After a refresh the rows of observations come first, then all others: in that order they are asked for again.
        first = int((known.slots == 0).sum())
        chosen = _pick(known, np.arange(first))
        self.extend(chosen, ask(chosen), chosen.observations, are_observations=True)
        chosen = _pick(known, np.arange(first, len(known.slots)))
        if len(chosen.slots):
            self.extend(chosen, ask(chosen), tensors["known.keys"][first:], are_observations=False)

    # A batch

    def sample(self, ask: Ask) -> Record:
        """Let every episode take `steps` steps and return what happened; `ask` gives probabilities of new decisions."""
        shape = (self.episodes, self.steps)
        rows, actions, ends, cut, after = (np.zeros(shape, np.int64) for _ in range(5))
        counters = (np.zeros(self.episodes, np.int64) for _ in range(6))
        record = Record(rows, actions, np.zeros(shape), ends, cut, after, *counters)
        pool = self._draw(0)
        with ThreadPoolExecutor(core_count()) as workers:
            while (record.filled < self.steps).any():
                jobs = [
                    workers.submit(
                        self.kernels.sample, self.batch, self.plan, pool, self.random, self.limits, record, *bounds
                    )
                    for bounds in _split(self.episodes, core_count() * 4)
                ]
                for job in jobs:
                    job.result()
                pool = self._serve(record, pool, ask)
        self.batches += 1
        self._instances_per_episode = int(record.used.max()) + 1
        return record

    def _draw(self, again: int) -> Pool:
        """Return the instances of this batch, some for each episode; `again` tells how often it ran out of them."""
        per_episode = self._instances_per_episode << again
        count = per_episode * self.episodes
        sizes = np.arange(self.sizes[0], self.sizes[1] + 1)
        random = np.random.default_rng([self.seed, 3, self.batches])
        wanted = random.integers(0, len(sizes), count)
        task, widest = self.task, self.source.largest
        pool_sizes = sizes[wanted]
        items = np.zeros((count, task.item_width(widest)), np.int64)
        reals = np.zeros((count, task.real_width(widest)))
        for k, size in enumerate(sizes.tolist()):
            places = np.flatnonzero(wanted == k)
            if len(places):
                seed = self.seed * 10_000_000 + self.batches
                drawn = task.draw(
                    Request(size=size, count=len(places), seed=seed, data=self.source.data, queries=self.source.queries)
                )
                items[places, : drawn.items.shape[1]] = drawn.items
                reals[places, : drawn.reals.shape[1]] = drawn.reals
        return Pool(pool_sizes, items, reals, Limit.parse(self.source.limit).steps(pool_sizes))

    def _serve(self, record: Record, pool: Pool, ask: Ask) -> Pool:
        """Give waiting episodes what they wait for, in place; return the pool, larger if it ran out."""
        self.batch.outcomes[record.waits == Outcome.BAD_OBSERVATION] = Outcome.BAD_OBSERVATION
        raise_bad_observation(self.task, self.batch)
        new = np.unique(self.batch.pending[record.waits == Outcome.UNKNOWN_OBSERVATION])
        if len(new):
            prefixes = np.zeros((len(new), self.nodes.prefixes.shape[1]), np.int64)
            decisions = Decisions(new, np.zeros(len(new), np.int64), prefixes)
            self.extend(decisions, ask(decisions), new, are_observations=True)
        new = np.unique(self.batch.pending[record.waits == Outcome.UNKNOWN_DECISION])
        if len(new):
            row, node = new // self.nodes.count, new % self.nodes.count
            decisions = Decisions(
                self.known.observations[row], self.nodes.slot_numbers[node], self.nodes.prefixes[node]
            )
            self.extend(decisions, ask(decisions), new, are_observations=False)
        if (record.waits == Outcome.STACK_FULL).any():
            self.batch = make_room(self.task, self.batch)
        if (record.waits == Outcome.NEEDS_INSTANCE).any():
            have = len(pool.sizes) // self.episodes
            self._instances_per_episode = 2 * have
            fresh = self._draw(0)
            pool = Pool(*(np.concatenate([old, new_one[len(old) :]]) for old, new_one in zip(pool, fresh, strict=True)))
        return pool

    def final_observations(self) -> Ints:
        """Return what each episode shows now, packed; of an ended one it has no meaning."""
        digits = np.zeros((self.episodes, len(self.task.interface.features)), np.int64)
        self.kernels.look(self.batch, digits)
        return self.task.interface.pack_digits(digits)

    def sum_up(self, record: Record, values: Reals, afters: Reals, settings: Reals) -> Sums:
        """Return the sums per row of a record; see `kernels.accumulate`."""
        count = self.count
        parts = [
            Sums(np.zeros((count, self.width)), np.zeros(count), np.zeros(count), np.zeros(count)) for _ in range(PARTS)
        ]
        with ThreadPoolExecutor(core_count()) as workers:
            jobs = [
                workers.submit(self.kernels.accumulate, self.plan, record, values, afters, settings, sums, *bounds)
                for sums, bounds in zip(parts, _split(self.episodes, PARTS), strict=True)
            ]
            for job in jobs:
                job.result()
        return Sums(*(sum(columns[1:], columns[0]) for columns in zip(*parts, strict=True)))


def _pick(decisions: Decisions, places: Ints) -> Decisions:
    return Decisions(decisions.observations[places], decisions.slots[places], decisions.prefixes[places])


def _split(count: int, parts: int) -> list[tuple[int, int]]:
    """Return the bounds of `parts` slices of about equal size."""
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    return list(pairwise(bounds))
