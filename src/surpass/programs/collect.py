"""Run an agent on instances of every kind and collect the observations that occur, with its action for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from surpass.engine.explore import Explorer, can_explore
from surpass.engine.run import Results, run
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Request

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
FEW = 256
"""To hand so few instances over to threads takes longer than to run them."""
CHANGED_ROUNDS = 16
"""How many rounds of changed instances are run at a time."""


class Collector:
    """Runs an agent on instances of every kind and keeps the observations that occur."""

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        self.task, self.seed = agent.task, seed
        self.table = Table(agent.task, agent)
        """What has occurred so far."""
        self.instances = 0
        """How many instances it was run on."""
        self.rounds = 0
        self.doing = "running it on every small instance"
        """What is being done, in words."""
        self._changed = Explorer(self.task, self._run, seed=seed).rounds() if can_explore(self.task) else iter(())

    @property
    def is_complete(self) -> bool:
        """Whether every observation that the task can show has occurred, so that nothing new can."""
        return len(self.table) == self.task.interface.observation_count

    def collect_small(self, progress: Progress | None = None) -> None:
        """Run the agent on every small instance."""
        small = enumeration_of(self.task)
        for size in range(min(small.largest, LARGEST_ENUMERATED) + 1):
            if small.count(size) <= MOST_ENUMERATED:
                for batch in small.instances(size):
                    if self.is_complete:
                        return
                    self._run(batch, progress)

    def collect(self, progress: Progress | None = None, *, effort: int = 1) -> None:
        """Run the agent on a round of fresh instances: all sizes, every distribution, every kind of query.

        With more effort there are as many times more of them. Where an agent fails on most instances, it is not run on
        larger ones: it would only use up its steps.
        """
        if self.is_complete:
            return
        seed = self.seed * 1_000_000 + self.rounds
        self.rounds += 1
        kinds = list(self.task.inputs.kinds)
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
        for _ in islice(self._changed, CHANGED_ROUNDS):
            self._tell(progress)

    def _run(self, instances: Instances, progress: Progress | None = None) -> Results:
        """Run the agent on instances and return what came of them."""
        # What occurs does not depend on whether an answer is right, and to judge a million of them can take long.
        results = run(self.table, instances, judged=False, threads=1 if instances.count <= FEW else None)
        self.instances += instances.count
        self._tell(progress)
        return results

    def _tell(self, progress: Progress | None) -> None:
        if progress:
            progress(f"{self.doing}, observations so far", len(self.table), None)
