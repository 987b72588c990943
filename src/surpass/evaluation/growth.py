"""Agents of a task beside one another and the paper's, size by size on the same instances; and how their steps grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from surpass.arrays import Reals
from surpass.engine.run import AnyAgent
from surpass.evaluation.comparison import ComparisonRow, ComparisonTable
from surpass.evaluation.reproduce import Reproduction
from surpass.evaluation.statistics import student_quantile
from surpass.evaluation.tables import CONTESTS, Measure, RowPlan, TablePlan, table_of_task
from surpass.printing import Progress
from surpass.tasks.task import Task

LARGEST = 1000
"""The largest size that agents are compared at unless sizes are given."""
SMALLEST_FITTED = 10
"""Growth is fitted from this size on, where enough larger ones remain: below it, starting and ending weigh most."""
FEWEST_FITTED = 3
"""Fewer sizes have no interval."""


@dataclass(frozen=True)
class Contender:
    """An agent that is compared with others."""

    agent: AnyAgent
    label: str
    method: str = ""
    """How it was learned; empty for a teacher."""
    against: tuple[str, ...] = ()
    """The labels of the agents that its savings are counted from."""


def compare_by_size(
    task: Task,
    contenders: Sequence[Contender],
    *,
    sizes: Sequence[int] = (),
    instances: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ComparisonTable:
    """Return a row for each agent, and for each that it is compared with; beside it what the paper prints.

    Agents are measured as in the paper's table of the task: its step limit, its queries, its count of steps.
    """
    usual: Measure = "reward" if task.measure == "reward" else "steps"
    like = table_of_task(task.name) or TablePlan(
        name="comparison", title="", paper_table="", rows=(), measure=usual, own_sizes=task.sizes
    )
    limit = like.rows[0].limit if like.rows else task.limit
    agents, rows = {}, []
    for one in contenders:
        key = f"{'learned' if one.method else 'teacher'}:{one.label}"  # that of a teacher says so, for its verdicts
        agents[key] = one.agent
        paper_row = paper_row_of(task.name, one.agent.name, one.method)
        rows += [RowPlan(one.label, key, limit, paper_row, other) for other in one.against or ("",)]
    plan = replace(
        like,
        name="comparison",
        title=f"Agents of {task.name}",
        rows=tuple(rows),
        own_sizes=tuple(sizes) or tuple(size for size in like.sizes if size <= LARGEST) or like.sizes[:1],
    )
    return Reproduction(quick=True, instances=instances, seed=seed, agents=agents, progress=progress).table(plan)


def paper_row_of(task: str, agent: str, method: str) -> str | None:
    """Return the paper's row to print beside an agent: that of the teacher, or of the method that made the agent.

    What the paper has no row for stands beside its best.
    """
    plan = table_of_task(task)
    if plan is None:
        return None
    if method not in ("", "rl"):
        return next((one.paper_row for one in CONTESTS if one.task == task), "rl")
    like = f"zoo:{task}/rl" if method else agent
    return next((row.paper_row or row.label for row in plan.rows if row.agent == like), None)


# Growth


class Growth(NamedTuple):
    """How a mean grows with the size n: about as a power of n, or as its logarithm."""

    exponent: float
    ci95: float
    """The half-width of the 95 % interval of the exponent."""
    factor: float
    """The mean is about `factor * n ** exponent`."""
    sizes: tuple[int, ...]
    """The sizes that it is fitted over."""
    per_doubling: float | None = None
    """By how much the mean grows whenever n doubles, where that fits better than a power."""

    def as_json(self) -> dict[str, Any]:
        """Return the fit as plain data."""
        return self._asdict()


def fit_growth(means: Mapping[int, float]) -> Growth | None:
    """Return how means by size grow, fitted on logarithms; None where there are too few that are above 0."""
    known = {size: mean for size, mean in sorted(means.items()) if size > 0 and mean > 0 and math.isfinite(mean)}
    large = {size: mean for size, mean in known.items() if size >= SMALLEST_FITTED}
    used = large if len(large) >= FEWEST_FITTED else known
    if len(used) < FEWEST_FITTED:
        return None
    sizes, values = np.array(list(used), float), np.array(list(used.values()))
    slope, start, noise = _fit_line(np.log(sizes), np.log(values))
    per_doubling, offset, _ = _fit_line(np.log2(sizes), values)
    power_error = ((np.exp(start) * sizes**slope / values - 1) ** 2).sum()
    log_error = (((offset + per_doubling * np.log2(sizes)) / values - 1) ** 2).sum()
    is_log = per_doubling > 0 and log_error < power_error
    return Growth(slope, noise, math.exp(start), tuple(used), per_doubling if is_log else None)


def _fit_line(x: Reals, y: Reals) -> tuple[float, float, float]:
    """Return slope and start of the least-squares line, and the half-width of the slope's 95 % interval."""
    spread = ((x - x.mean()) ** 2).sum()
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / spread)
    start = float(y.mean() - slope * x.mean())
    degrees = len(x) - 2
    error = math.sqrt(float(((y - start - slope * x) ** 2).sum()) / degrees / spread)
    return slope, start, student_quantile(0.975, degrees) * error


def growth_of(row: ComparisonRow) -> Growth | None:
    """Return how our mean of a row grows, over the sizes at which everything is solved."""
    return fit_growth({cell.size: cell.ours for cell in row.cells if cell.instances and cell.solved == 1})


def paper_growth_of(row: ComparisonRow) -> Growth | None:
    """Return how the paper's mean of a row grows."""
    return fit_growth({cell.size: cell.paper for cell in row.cells if cell.paper is not None})
