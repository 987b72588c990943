"""Scores of an agent on a task, size by size, and paired comparisons of two agents."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents import AgentLike, TaskLike, as_agent
from surpass.engine.advance import CountProgress
from surpass.engine.check_task import check_once
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import SettingError
from surpass.evaluation.statistics import mean_of
from surpass.printing import Printed, Progress, finite, show_number, text_table, wrap
from surpass.reading import ANY_SEED, COUNT, as_path, check_range
from surpass.table import Agent, Table
from surpass.tasks.files import read_instances
from surpass.tasks.task import Instances, Limit, Request, Task
from surpass.workers.playing import PlayedElsewhere
from surpass.workers.runner import Runner, open_runner

Run = Callable[[Instances, Limit | None, CountProgress | None], Results]


@dataclass(frozen=True)
class SizeScores:
    """The scores on instances of one size."""

    size: int
    instances: int
    solved: float
    """The share of instances that were solved, 0 to 1."""
    mean_steps: float
    ci95: float
    """The half-width of the 95 % interval of the mean steps."""
    max_steps: int
    mean_reward: float
    reward_ci95: float
    reasons: Mapping[str, int]
    """How many instances ended for each reason."""
    difference: float | None = None
    """The mean difference to the other agent on the same instances, of what the task is measured by."""
    difference_ci95: float | None = None
    difference_count: int = 0
    """How many instances the difference is over: those that both solve, since to fail is quick; all, where the limit is
    a budget."""
    optimum_share: float | None = None
    """What share of the best scores there are was reached, where the task can tell."""
    mean_score: float | None = None
    """The mean score of those that were solved, where the score counts; None if none was."""
    score_ci95: float | None = None
    """The half-width of the 95 % interval of that mean."""


@dataclass(frozen=True, repr=False)
class Evaluation(Printed):
    """The scores of an agent on a task."""

    agent: str
    task: str
    data: str
    seed: int
    rows: tuple[SizeScores, ...]
    against: str | None = None
    limit: str = ""
    measure: str = "steps"
    queries: str | None = None
    left_out: tuple[int, ...] = ()
    """Sizes that were not run, because the time was up."""
    narrow_choices: int | None = None
    """For a network: how many of its choices lead by less than 1e-4, so that rounding could turn them."""

    @property
    def verdict(self) -> str:
        """How the agent compares with the other one, in a sentence."""
        sign = 1 if self.measure == "reward" else -1
        solved = [row for row in self.rows if row.solved == 1]
        gains = [(sign * (row.difference or 0.0), row.difference_ci95 or 0.0) for row in solved]
        sure = [gain > 0 for gain, noise in gains if abs(gain) > noise]
        more, less = ("More reward", "less") if self.measure == "reward" else ("Fewer steps", "more")
        parts = [f"{less} at {sure.count(False)}", f"no difference beyond chance at {len(gains) - len(sure)}"]
        if len(solved) < len(self.rows):
            parts.append(f"not everything solved at {len(self.rows) - len(solved)}")
        return f"{more} than {self.against} at {sure.count(True)} of {len(self.rows)} sizes, {', '.join(parts)}."

    def __str__(self) -> str:
        by_reward = self.measure == "reward"
        digits = 3 if by_reward else 2
        has_optimum = any(row.optimum_share is not None for row in self.rows)
        columns = ["size", "instances", "solved", *(["mean score", "± 95 %"] if by_reward else [])]
        columns += ["mean steps", "± steps" if by_reward else "± 95 %", "max steps", "mean reward"]
        columns += ["of optimum"] if has_optimum else []
        columns += [f"{self.measure} against", "± 95 %"] if self.against else []
        rows = []
        for row in self.rows:
            cells = [f"{row.size:,}", f"{row.instances:,}", f"{row.solved:.1%}"]
            cells += [show_number(row.mean_score, 3), show_number(row.score_ci95, 3)] if by_reward else []
            cells += [show_number(row.mean_steps, 2), show_number(row.ci95, 2)]
            cells += [f"{row.max_steps:,}", show_number(row.mean_reward, digits)]
            if has_optimum:
                cells.append("" if row.optimum_share is None else f"{row.optimum_share:.2%}")
            if self.against:
                sign = "+" if (row.difference or 0) > 0 else ""
                cells += [sign + show_number(row.difference, digits), show_number(row.difference_ci95, digits)]
            rows.append(cells)
        title = f"{self.agent} on {self.task}, data {self.data}"
        title += f", queries {self.queries}" if self.queries else ""
        title += f", against {self.against}" if self.against else ""
        # Where every step costs one and nothing else counts, the reward says the same as the steps.
        spare = ["mean reward"] if all(row.mean_reward == -row.mean_steps for row in self.rows) else ["max steps"]
        spare = ["mean reward", "max steps", "± steps"] if by_reward else spare
        spare += ["instances"] if has_optimum and self.against else []
        verdict = f"\n{wrap(self.verdict)}\n" if self.against else ""
        return text_table(title, columns, rows, self._note(), spare=spare) + verdict

    def _note(self) -> str:
        notes = [f"at most {self.limit} steps; seed {self.seed}"]
        if self.left_out:
            notes.append(f"left out for want of time: {', '.join(f'n={size:,}' for size in self.left_out)}")
        if self.measure == "reward" and any(row.solved < 1 for row in self.rows):
            notes.append("mean score: of the solved instances")
        if self.against and any(row.difference_count < row.instances for row in self.rows):
            where = "only where both solve the instance, which flatters whoever solves the easy ones"
            notes.append(f"{self.measure} against: {where}")
        if self.narrow_choices:
            notes.append(f"{self.narrow_choices} choices of the network lead by less than 1e-4")
        unsolved = []
        for row in self.rows:
            reasons = ", ".join(f"{number} {reason}" for reason, number in row.reasons.items() if reason != "solved")
            unsolved += [f"n={row.size}: {reasons}"] if row.solved < 1 else []
        return "; ".join([*notes, *([f"unsolved: {'; '.join(unsolved)}"] if unsolved else [])])

    def as_json(self) -> dict[str, Any]:
        """Return the scores as plain data; numbers that do not exist, such as the interval of one value, are null."""
        about = ("agent", "task", "data", "queries", "seed", "limit", "measure")
        record = {name: getattr(self, name) for name in about}
        record |= {name: found for name in ("narrow_choices", "against") if (found := getattr(self, name)) is not None}
        left_out = [] if self.against else ["difference", "difference_ci95", "difference_count"]
        left_out += [] if self.measure == "reward" else ["mean_score", "score_ci95"]
        record["rows"] = []
        for row in self.rows:
            absent = [*left_out, *(["optimum_share"] if row.optimum_share is None else [])]
            record["rows"].append({name: value for name, value in finite(vars(row)).items() if name not in absent})
        return record


def runner(agent: AnyAgent, threads: int | None = None, workers: Runner | None = None) -> Run:
    """Return a function that runs an agent on instances and remembers what the agent answered.

    The workers of a cluster each remember for themselves.
    """
    if workers is not None and not workers.is_local:
        elsewhere = PlayedElsewhere(workers, agent)
        return lambda instances, limit, progress: elsewhere.run(instances, limit=limit, progress=progress)
    player = Table.of(agent) if isinstance(agent, Agent) else agent
    return lambda instances, limit, progress: run(player, instances, limit=limit, threads=threads, progress=progress)


def score(task: Task, instances: Instances, results: Results, other: Results | None = None) -> SizeScores:
    """Return the scores of results on instances of one size, compared with another agent's on the same instances."""
    steps, reward, by_reward = mean_of(results.steps), mean_of(results.rewards), task.measure == "reward"
    difference, compared = None, np.zeros(0, np.bool_)
    if other is not None:
        compared = results.solved & other.solved
        if task.limit_is_budget:
            compared = np.ones(len(results.sizes), np.bool_)
        saved = results.rewards - other.rewards if by_reward else (results.steps - other.steps).astype(float)
        difference = mean_of(saved[compared]) if compared.any() else None
    best = float(task.optimum(instances).sum()) if task.optimum is not None else math.nan
    scores = results.scores[results.solved]
    mean_score = mean_of(scores) if by_reward and len(scores) else None
    return SizeScores(
        size=int(results.sizes[0]),
        instances=len(results.sizes),
        solved=float(results.solved.mean()),
        mean_steps=steps.mean,
        ci95=steps.ci95,
        max_steps=int(results.steps.max()),
        mean_reward=reward.mean,
        reward_ci95=reward.ci95,
        reasons=results.reasons(),
        difference=difference.mean if difference else None,
        difference_ci95=difference.ci95 if difference else None,
        difference_count=int(np.count_nonzero(compared)),
        optimum_share=float(scores.sum()) / best if math.isfinite(best) and best else None,
        mean_score=mean_score.mean if mean_score else None,
        score_ci95=mean_score.ci95 if mean_score else None,
    )


def evaluate(
    agent: AgentLike,
    *,
    task: TaskLike | None = None,
    sizes: Sequence[int] | None = None,
    instances: int | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    queries: str | None = None,
    limit: str | None = None,
    against: AgentLike | None = None,
    threads: int | None = None,
    seconds: float | None = None,
    on: str | Runner = "local",
    progress: Progress | None = None,
) -> Evaluation:
    """Return the scores of an agent for each size, on drawn instances or on those of a file.

    `data` is the name of a distribution or a path. `against` runs another agent of the task on the same instances.
    With `seconds`, the sizes from the first on are left out that would take longer, judged by the one before.
    `on` is where they run: `local`, or `ray` or `ray=ADDRESS` for a cluster.
    """
    if sizes is not None and (isinstance(sizes, str) or not isinstance(sizes, Iterable)):
        raise SettingError(f"sizes is {sizes!r}; it must be a list of whole numbers")
    first = as_agent(agent, task)
    agents = [first, *([] if against is None else [as_agent(against, first.task)])]
    last, of_task = agents[-1], first.task
    if queries is not None and not of_task.inputs.queries:
        raise SettingError(f"task {of_task.name} has no queries")
    steps_limit = Limit.parse(limit or of_task.limit)
    rows: list[SizeScores] = []
    left_out: list[int] = []
    started, took = time.monotonic(), 0.0
    with open_runner(on) as workers:
        runs = [runner(one, threads, workers) for one in agents]
        for size, batch in _instances(of_task, sizes, instances, seed, data, queries):
            began = time.monotonic()
            if rows and seconds is not None:
                took *= max(1, size / rows[-1].size) ** 2  # as where steps grow with the square of the size
                if left_out or began - started + took > seconds:
                    left_out.append(size)
                    continue
            total = batch.count * len(runs)
            results = []
            for k, run_one in enumerate(runs):
                done = k * batch.count
                what = f"measuring {first.name} at n={size:,}"
                report = (lambda ended, w=what, d=done, t=total: progress(w, d + ended, t)) if progress else None
                results.append(run_one(batch, steps_limit, report))
            rows.append(score(of_task, batch, *results))
            took = time.monotonic() - began
    return Evaluation(
        agent=first.name,
        task=of_task.name,
        data=str(data or of_task.inputs.usual_data),
        seed=seed,
        rows=tuple(rows),
        against=None if against is None else last.name,
        limit=str(steps_limit),
        measure=of_task.measure,
        queries=(queries or of_task.inputs.queries[0]) if of_task.inputs.queries else None,
        left_out=tuple(left_out),
        narrow_choices=len(first.narrow) if hasattr(first, "narrow") else None,
    )


def _instances(
    task: Task, sizes: Sequence[int] | None, count: int | None, seed: int, data: str | Path | None, queries: str | None
) -> Iterator[tuple[int, Instances]]:
    """Yield the instances of each size."""
    kind = queries or task.inputs.usual_queries
    if _is_file(task, data):
        if sizes is not None:
            raise SettingError("sizes do not go with a file: its rows are reported by their length")
        if count is not None:
            check_range("the number of instances", count, COUNT)
        check_range("seed", seed, ANY_SEED)
        for size, batch in read_instances(task, Path(str(data)), queries=kind, seed=seed).items():
            yield size, batch if count is None else batch.part(0, count)
        return
    name = str(data) if data is not None else task.inputs.usual_data
    many = 100 if count is None else count
    # All of them are made, and so checked, before the first is drawn.
    drawn = sizes or task.sizes
    requests = [Request(size=size, count=many, seed=seed, data=name, queries=kind) for size in drawn]
    check_once(task, max(drawn))
    for request in requests:
        yield request.size, task.draw(request)


def _is_file(task: Task, data: str | Path | None) -> bool:
    """Return whether `data` means a file: a path, or a text that looks like one and names no distribution."""
    if data is None or data in task.inputs.draw:
        return False
    text = str(data)
    return isinstance(data, Path) or "/" in text or "." in text or as_path(text).exists()
