"""Run an agent on instances of every kind and collect the observations that occur, with its action for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from surpass.engine.explore import Explorer, can_explore
from surpass.engine.probes import Effort, drawn_probes, small_instances
from surpass.engine.run import Results, run
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances

Progress = Callable[[str, int, int | None], None]

EFFORT = Effort(up_to=40, drawn=2000, cost=400_000, large=50_000)
SMALL_SIZES = (*range(1, 11), 12, 15, 20)
"""Sizes that are drawn beside the task's own."""
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
        largest = min(enumeration_of(self.task).largest, EFFORT.up_to)
        for batch in small_instances(self.task, largest, EFFORT.enumerated):
            if self.is_complete:
                return
            self._run(batch, progress)

    def collect(self, progress: Progress | None = None, *, effort: int = 1) -> None:
        """Run the agent on a round of fresh instances: all sizes, every distribution, every kind of query.

        With more effort there are as many times more of them.
        """
        seed = self.seed * 1_000_000 + self.rounds
        self.rounds += 1
        sizes = {*SMALL_SIZES, *self.task.training_sizes, *self.task.sizes}
        more = {name: effort * getattr(EFFORT, name) for name in ("drawn", "cost", "large")}
        tried = drawn_probes(
            self.task,
            lambda batch: self._run(batch, progress),
            replace(EFFORT, sizes=tuple(sizes), **more),
            seed,
        )
        while not self.is_complete and next(tried, None):
            pass

    def collect_changed(self, progress: Progress | None = None) -> None:
        """Run the agent on changed copies of instances that showed something new, and on copies of these in turn.

        Observations that are too rare to be drawn are often a small change away from an instance that was.
        """
        for _ in islice(self._changed, CHANGED_ROUNDS):
            self._tell(progress)

    def _run(self, instances: Instances, progress: Progress | None = None) -> Results:
        """Run the agent on instances and return the results."""
        # What occurs does not depend on whether an answer is right, and to judge a million of them can take long.
        results = run(self.table, instances, judged=False, threads=1 if instances.count <= FEW else None)
        self.instances += instances.count
        self._tell(progress)
        return results

    def _tell(self, progress: Progress | None) -> None:
        if progress:
            progress(f"{self.doing}, observations so far", len(self.table), None)
