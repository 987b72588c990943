"""Run an agent on instances of every kind and collect the observations that occur, with its action for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from surpass.engine.run import Results, run
from surpass.errors import InstanceError
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Number, Request, join_instances, parse_numbers

Progress = Callable[[str, int, int | None], None]

MOST_ENUMERATED = 600_000
"""Up to how many instances of a size every one is run: for lists, all of up to 8 values with ties."""
LARGEST_ENUMERATED = 40
"""The largest size of which every instance is run, however few they are."""
SMALL_SIZES = (*range(1, 11), 12, 15, 20)
STEPS = 300_000
"""About how many steps the instances of a size, distribution and kind of query take together in a round."""
MOST_ITEMS = 400_000
"""At most how many items they have together."""
MOST_DRAWN = 2000
"""How many there are at most."""
CHANGED_SIZE = 30
"""Up to which size instances are kept to be changed."""
CHANGED_ROUNDS, CHANGED = 8, 400
"""How many times changed instances are run, and how many of them each time."""
TOGETHER = 8
"""How many changed instances are run at once, and are all kept if something new occurs in them."""
MOST_KEPT = 400


class Collector:
    """Runs an agent on instances of every kind and keeps the observations that occur."""

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        self.task, self.seed = agent.task, seed
        self.table = Table(agent.task, agent)
        """What has occurred so far."""
        self.instances = 0
        """How many instances it was run on."""
        self.rounds = 0
        self._kept: list[str] = []
        """Instances, as text, in which something new occurred, the latest last."""

    def collect_small(self, progress: Progress | None = None) -> None:
        """Run the agent on every small instance."""
        small = enumeration_of(self.task)
        for size in range(min(small.largest, LARGEST_ENUMERATED) + 1):
            if small.count(size) <= MOST_ENUMERATED:
                for batch in small.instances(size):
                    self._run(batch, progress)

    def collect(self, progress: Progress | None = None, *, effort: int = 1) -> None:
        """Run the agent on a round of fresh instances: all sizes, every distribution, every kind of query.

        With more effort there are as many times more of them. Where an agent fails on most instances, it is not run on
        larger ones: it would only use up its steps.
        """
        seed = self.seed * 1_000_000 + self.rounds
        self.rounds += 1
        kinds = [(data, queries) for data in self.task.inputs.draw for queries in self.task.inputs.queries or ("",)]
        for size in sorted({*SMALL_SIZES, *self.task.training_sizes, *self.task.sizes}):
            for data, queries in tuple(kinds):
                # The first two tell how many more can be afforded; if they are the same, there are no others.
                request = Request(size=size, count=2, seed=seed, data=data, queries=queries)
                two = self.task.draw(request)
                results = self._run(two, progress)
                most = effort * min(STEPS / max(1.0, results.steps.mean()), MOST_ITEMS / size, MOST_DRAWN)
                is_one = all((numbers[0] == numbers[1]).all() for numbers in (two.items, two.reals))
                if most > 2 and not is_one and (results.solved.any() or size in SMALL_SIZES):
                    results = self._run(self.task.draw(replace(request, count=int(most))), progress)
                if results.solved.mean() < 0.5:
                    kinds.remove((data, queries))

    def collect_changed(self, progress: Progress | None = None) -> None:
        """Run the agent on changed copies of instances in which something new occurred, and of those in turn.

        Observations that are too rare to be drawn are often a small change away from an instance that was.
        """
        random = np.random.default_rng([self.seed, self.rounds])
        for _ in range(CHANGED_ROUNDS if self._kept else 0):
            self._kept = self._kept[-MOST_KEPT:]
            changed = []
            for _ in range(CHANGED):
                text = change_instance(random, self._kept[int(random.integers(len(self._kept)))])
                try:
                    changed.append(self.task.parse_instance(text)[0])
                except InstanceError:
                    continue  # this task does not take it: its lists are ordered, or of one length
            for first in range(0, len(changed), TOGETHER):
                self._run(join_instances(self.task, changed[first : first + TOGETHER]), progress, keep=TOGETHER)

    def _run(self, instances: Instances, progress: Progress | None, *, keep: int = 2) -> Results:
        """Run the agent on instances and return what came of them; keep some if something new occurred."""
        before = len(self.table)
        # To hand a few instances over to threads takes longer than to run them.
        results = run(self.table, instances, threads=1 if instances.count <= TOGETHER else None)
        self.instances += instances.count
        if len(self.table) > before and self.task.inputs.write and self.task.inputs.read:
            chosen = [k for k in range(instances.count) if 1 < instances.sizes[k] <= CHANGED_SIZE][-keep:]
            self._kept += [self.task.write_instance(instances.part(k, k + 1)) for k in chosen]
        if progress:
            progress("observations", len(self.table), None)
        return results


def change_instance(random: np.random.Generator, text: str) -> str:
    """Return a written instance with one of its lists changed a little.

    Two items are swapped, or one is changed, copied onto another, cut or appended. A list in order that stands beside
    others stays in order.
    """
    parts = [parse_numbers(part) for part in text.split(":")]
    part = parts[int(random.integers(len(parts)))]
    is_ordered = len(parts) > 1 and part == sorted(part)
    here, there = (int(random.integers(len(part))) for _ in range(2)) if part else (0, 0)
    step: Number = int(random.integers(-2, 3))
    kind = int(random.integers(5)) if part else 4
    if kind == 0:
        part[here], part[there] = part[there], part[here]
    elif kind == 1:
        part[here] += step
    elif kind == 2:
        part[here] = part[there]
    elif kind == 3:
        del part[here]
    else:
        part.append((part[here] if part else 0) + step)
    if is_ordered:
        part.sort()
    return ":".join(",".join(map(str, numbers)) for numbers in parts)
