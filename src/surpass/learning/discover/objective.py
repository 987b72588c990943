"""What a program costs: its steps, or the reward that it misses, relative to a reference program.

A sample holds instances of sizes that double, of all distributions. Half of them are of the usual one. A program costs

    cost(program) = mean over sizes and instances of  c(program) / c(reference)

where c is the mean over the instances of one size and distribution, on the same instances for both. An instance far
above the median of its kind is a kind of its own, so that it does not outweigh the others. So a walk through
a long list counts as much as one through a short list, and no distribution can be given up for another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.run import run
from surpass.learning.curriculum import smallest_size
from surpass.learning.sources import Source, Sources
from surpass.programs.program import Program
from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances

LONGEST_TRIAL = 2000
"""Sizes double as long as the reference takes at most so many steps in the mean."""
FIRST_SIZE = 5
"""The smallest size, unless the task has only larger ones; a check tries all smaller ones."""
USUAL_SHARE = 0.5
"""The share of the usual distribution, or of the one that an island looks at; all others share the rest."""
STEPS_ON = 20
"""On how many instances of each size the steps of a program are measured."""
FAR_ABOVE = 4
"""How many times the median of its kind an instance must cost to count as a share of its own cost."""


class Sample(NamedTuple):
    """Instances on which programs are compared."""

    instances: Instances
    limits: Ints
    """[m] how many steps are allowed."""
    sizes: Ints
    """[m] the number of the size, or -1 for a counter-example, which has no share: a trial gives it a small weight."""
    sources: Ints
    """[m] the number of the distribution or file, or -1 for a counter-example."""
    shares: Reals
    """[m] what each instance counts for, 1 together."""

    def by_size(self) -> Sample:
        """Return the sample with small instances first: most edited programs fail on those."""
        order = np.argsort(self.instances.sizes, kind="stable")
        instances, limits, sizes, sources, shares = self
        return Sample(instances.rows(order), limits[order], sizes[order], sources[order], shares[order])


class Objective:
    """Draws the instances that count."""

    def __init__(
        self, task: Task, data: str, queries: str, seed: int, sizes: tuple[int, ...], digest: str = ""
    ) -> None:
        self.task, self.queries, self.seed = task, queries or task.inputs.usual_queries, seed
        self.sources = Sources(task, data or mixture(task), self.queries, seed, sizes=sizes, digest=digest)
        self.sizes = self.sources.sizes
        weights = np.array([source.weight for source in self.sources.all])
        self._shares: Reals = weights / weights.sum()

    @property
    def names(self) -> list[str]:
        """The names of the distributions and files."""
        return [source.name for source in self.sources.all]

    def shares_of(self, focus: str) -> Reals:
        """Return the share of each source [s], where one of them, if it is named, counts as the usual one does."""
        if not focus:
            return self._shares
        shares = np.where(np.array(self.names) == focus, 0.0, self._shares)
        focused: Reals = (1 - USUAL_SHARE) * shares / max(shares.sum(), 1e-9)
        focused[self.names.index(focus)] = USUAL_SHARE if shares.any() else 1.0
        return focused

    def draw(self, counts: Sequence[int], part: tuple[int, ...], focus: str = "", known: Sequence[str] = ()) -> Sample:
        """Return so many instances of each size, and the counter-examples `known`; equal parts give equal samples."""
        random = np.random.default_rng([self.seed, 5, *part])
        shares, parts, sizes, sources = self.shares_of(focus), list[Instances](), list[Ints](), list[Ints]()
        for s, (size, count) in enumerate(zip(self.sizes, counts, strict=True)):
            offsets = np.floor(np.append(0.0, np.cumsum(shares)) * count * (1 + 1e-12) + random.random())
            for k, own in enumerate(np.diff(offsets).astype(int).tolist()):
                drawn = self._draw(self.sources.all[k], size, own, int(random.integers(2**31))) if own else None
                if drawn is not None:
                    parts.append(drawn)
                    sizes.append(np.full(drawn.count, s))
                    sources.append(np.full(drawn.count, k))
        examples = [self.task.parse_instance(text)[0] for text in known]
        none = np.full(len(examples), -1)
        joined = join_instances(self.task, parts + examples)
        of_size: Ints = np.concatenate([*sizes, none])
        found = np.bincount(of_size[of_size >= 0], minlength=len(self.sizes))
        weights = np.where(of_size >= 0, 1.0 / np.maximum(1, found)[of_size], 0.0)
        limits = Limit.parse(self.task.limit).steps(joined.sizes)
        return Sample(joined, limits, of_size, np.concatenate([*sources, none]), weights / weights.sum())

    def _draw(self, source: Source, size: int, count: int, seed: int) -> Instances | None:
        if source.learned is None:
            request = Request(size=size, count=count, seed=seed, data=source.name, queries=self.queries)
            return self.task.draw(request)
        rows = np.flatnonzero(self.sources.group(source.learned.sizes) == size)
        return source.learned.rows(np.random.default_rng(seed).choice(rows, count)) if len(rows) else None


def weights_of(sample: Sample, costs: Reals) -> Reals:
    """Return what each instance [m] counts for per unit of its cost, given the reference's costs [m]."""
    scales = np.ones(len(costs))
    costs = np.abs(costs)
    for size in np.unique(sample.sizes[sample.sizes >= 0]).tolist():
        at_size = sample.sizes == size
        usual = max(1e-12, float(costs[at_size].mean()))
        for source in np.unique(sample.sources[at_size]).tolist():
            cell = at_size & (sample.sources == source)
            far = costs[cell] > FAR_ABOVE * max(1e-12, float(np.median(costs[cell])))
            near = costs[cell][~far].mean()
            scales[cell] = np.where(far, costs[cell], near if near > 0 else usual)
    weights: Reals = sample.shares / scales
    return weights


def mixture(task: Task) -> str:
    """Return the distributions of a task with their weights, as text: half of all are of the usual one."""
    usual, *others = task.inputs.draw
    if not others:
        return usual
    share = (1 - USUAL_SHARE) / USUAL_SHARE / len(others)
    return ",".join([usual, *(f"{name}*{share:.6g}" for name in others)])


def mean_steps(objective: Objective, program: Program) -> list[float]:
    """Return how many steps a program takes at each size, in the mean over the distributions."""
    sample = objective.draw([STEPS_ON] * len(objective.sizes), (0, 0))
    steps = run(program, sample.instances).steps
    return [float(steps[sample.sizes == s].mean()) for s in range(len(objective.sizes))]


def doubling_sizes(task: Task, program: Program, queries: str = "") -> tuple[int, ...]:
    """Return sizes that double, up to the largest at which a program takes few enough steps for many trials."""
    low = max(FIRST_SIZE, smallest_size(task))
    sizes = drawable_sizes(task, [low << k for k in range(12)])
    chosen: list[int] = []
    for size in sizes:
        request = Request(
            size=size, count=50, data=task.inputs.usual_data, queries=queries or task.inputs.usual_queries
        )
        results = run(program, task.draw(request))
        if chosen and (size > max(task.sizes) or results.steps.mean() > LONGEST_TRIAL):
            break
        chosen.append(size)
    return tuple(chosen)
