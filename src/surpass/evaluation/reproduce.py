"""The paper's tables beside ours: each mean, and what each agent saves against its teacher on the same instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surpass.agents import find_agent
from surpass.agents.zoo import zoo_entries
from surpass.arrays import Reals
from surpass.engine.run import AnyAgent, Results
from surpass.errors import SettingError, UnknownNameError
from surpass.evaluation.comparison import AGREEMENT, ComparisonCell, ComparisonRow, ComparisonTable, Saving
from surpass.evaluation.scores import runner
from surpass.evaluation.statistics import mean_of, student_quantile
from surpass.evaluation.tables import PAPER_INSTANCES, TABLES, Measure, RowPlan, TablePlan, best_plans
from surpass.machine.state import SOLVED, WRONG
from surpass.printing import Progress
from surpass.table import Agent
from surpass.tasks.task import Instances, Limit, Request
from surpass.workers.runner import Runner

NO_AGENT = "no agent by gradient yet"
"""What a row of the paper's says for which the zoo has no agent; a program that was searched for does not stand in."""
HALF_A_UNIT: dict[Measure, float] = {"steps": 0.05, "steps before the answer": 0.05, "reward": 0.005, "solved": 0.005}
"""By how much a printed number can be off from rounding."""

NAMES = ("teachers", "best", *dict.fromkeys(plan.name for plan in TABLES))
"""The tables that can be asked for."""


def plans_of(name: str) -> tuple[TablePlan, ...]:
    """Return what to make for one of `NAMES`, or for `all`."""
    if name == "all":
        return TABLES
    if name == "best":
        return best_plans()
    if name == "teachers":
        return tuple(
            replace(plan, rows=rows) for plan in TABLES if (rows := tuple(row for row in plan.rows if row.is_teacher))
        )
    found = tuple(plan for plan in TABLES if plan.name == name)
    if not found:
        raise UnknownNameError("table", name, [*NAMES, "curves", "all"])
    return found


class CellEffort:
    """How many instances a cell gets: many where they are cheap, as many as the paper's where they are not."""

    def __init__(self, *, quick: bool = False, instances: int | None = None) -> None:
        part = 20 if quick else 1
        self.most = instances or (100 if quick else 1000)
        self.usual = min(self.most, 10 if quick else PAPER_INSTANCES)
        self.cheap_steps, self.costly_steps = 100_000_000 // part, 500_000_000 // part
        self.hopeless_steps = 80_000_000 if quick else 4_000_000_000
        """What even two instances of a cell must not take."""
        self.pairs = 250_000 // part
        """For a full view: about how many pairs of positions all instances of a cell may have together"""
        self.hopeless_pairs = 4_000_000 // part
        """and how many even one must not have."""

    def count(self, steps: float) -> int:
        """Return how many instances a cell gets, given the mean steps of its first two."""
        cheap, costly = (int(total // max(1.0, steps)) for total in (self.cheap_steps, self.costly_steps))
        return max(2, min(self.most, cheap), min(self.usual, costly))


class Reproduction:
    """Makes tables; what an agent did on some instances is kept, for other rows and tables that need it."""

    def __init__(
        self,
        *,
        quick: bool = False,
        instances: int | None = None,
        seed: int = 0,
        stand_ins: Mapping[str, str] | None = None,
        failures: Mapping[str, str] | None = None,
        agents: Mapping[str, AnyAgent] | None = None,
        workers: Runner | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Plan tables.

        `stand_ins` gives for agents of the zoo others to run in their place, such as retrained ones, and `failures` why
        there is none for an agent. `agents` are agents by the names that rows call them by, beside those of the zoo.
        The agents run on this machine, or by the `workers` of a cluster.
        """
        self.effort = CellEffort(quick=quick, instances=instances)
        self.seed = seed
        self.stand_ins = stand_ins or {}
        self.failures = {name: why for name, why in (failures or {}).items() if name not in self.stand_ins}
        self.progress, self._workers = progress, workers
        self._methods = {f"zoo:{one.name}": _describe(one.record) for one in zoo_entries()}
        self._runs = {name: (agent, runner(agent, workers=workers)) for name, agent in (agents or {}).items()}
        self._results: dict[tuple[Any, ...], Results | None] = {}

    def tables(self, name: str) -> Iterator[ComparisonTable]:
        """Yield the tables of a name, each as it is done."""
        for plan in plans_of(name):
            yield self.table(plan)

    def table(self, plan: TablePlan) -> ComparisonTable:
        """Return a table beside the paper's."""
        rows = [self._row(plan, row) for row in plan.rows if not (row.is_optional and self._is_missing(row))]
        return ComparisonTable(plan.name, plan.title, plan.measure, plan.sizes, tuple(rows))

    def _is_missing(self, row: RowPlan) -> bool:
        return not row.is_teacher and row.agent not in self._methods and row.agent not in self._runs

    def _row(self, plan: TablePlan, row: RowPlan) -> ComparisonRow:
        missing = NO_AGENT if self._is_missing(row) else self.failures.get(row.agent, "")
        teacher = next((other for other in plan.rows if other.label == row.against), None)
        printed, nothing = plan.printed(row), [None] * len(plan.sizes)
        if missing:
            cells = [
                ComparisonCell(size, *_printed(paper, plan.measure), verdict="no agent")
                for size, paper in zip(plan.sizes, printed, strict=True)
            ]
        else:
            ours = self._results_of(plan, row)
            before, theirs = (plan.printed(teacher), self._results_of(plan, teacher)) if teacher else (nothing, nothing)
            parts = zip(plan.sizes, printed, before, ours, theirs, strict=True)
            cells = [_cell(plan.measure, row.is_teacher, *of_size) for of_size in parts]
        return ComparisonRow(
            label=row.label,
            agent="" if missing == NO_AGENT else self.stand_ins.get(row.agent, row.agent),
            method="teacher" if row.is_teacher else "" if missing else self._methods.get(row.agent, ""),
            missing=missing,
            is_teacher=row.is_teacher,
            against=row.against,
            cells=tuple(cells),
            paper_label="" if row.paper_row is None else row.paper_row or row.label,
        )

    # Running

    def _results_of(self, plan: TablePlan, row: RowPlan) -> list[Results | None]:
        """Return what became of an agent's instances at each size; None where that would take too long."""
        found: list[Results | None] = []
        before: tuple[int, float] | None = None
        for size in plan.sizes:
            key = (row.agent, size, row.limit, plan.queries)
            if key not in self._results:
                # No algorithm here takes more than quadratic time, so this is the most that a cell can take.
                expected = before[1] * (size / before[0]) ** 2 if before else 0.0
                is_hopeless = 2 * expected > self.effort.hopeless_steps
                self._results[key] = None if is_hopeless else self._run(plan, row, size)
            results = self._results[key]
            found.append(results)
            if results is not None:
                before = (size, float(results.steps.mean()))
        return found

    def _run(self, plan: TablePlan, row: RowPlan, size: int) -> Results | None:
        agent, run_one = self._agent(self.stand_ins.get(row.agent, row.agent))
        limit = Limit.parse(row.limit)

        def draw(count: int) -> Instances:
            queries = plan.queries or agent.task.inputs.usual_queries
            return agent.task.draw(Request(size=size, count=count, seed=self.seed, queries=queries))

        def report(count: int, done: int) -> Callable[[int], None] | None:
            progress, what = self.progress, f"measuring {row.label} at n = {size:,}"
            return (lambda ended: progress(what, done + ended, count)) if progress else None

        if not isinstance(agent, Agent):
            if size**2 > self.effort.hopeless_pairs:
                return None
            count = max(1, min(self.effort.usual, self.effort.pairs // size**2))
            return run_one(draw(count), limit, report(count, 0))
        first = run_one(draw(2), limit, report(2, 0))
        count = self.effort.count(float(first.steps.mean()))
        if count == 2:
            return first
        return _join(first, run_one(draw(count).part(2, count), limit, report(count, 2)))

    def _agent(self, name: str) -> tuple[AnyAgent, Callable[..., Results]]:
        if name not in self._runs:
            agent = find_agent(name)
            self._runs[name] = (agent, runner(agent, workers=self._workers))
        return self._runs[name]


def _describe(record: Mapping[str, Any]) -> str:
    """Return how an agent was made: its method, and from whom it learned."""
    return str(record["method"]) + (f" from {record['teacher']}" if record["teacher"] else "")


def _join(first: Results, second: Results) -> Results:
    columns = zip(vars(first).values(), vars(second).values(), strict=True)
    return Results(*(np.concatenate(pair) for pair in columns))


# Comparing


def _cell(
    measure: Measure,
    is_teacher: bool,
    size: int,
    printed: Any,
    printed_teacher: Any,
    results: Results | None,
    teacher: Results | None,
) -> ComparisonCell:
    """Return a cell with the paper's number and that of its teacher."""
    paper, paper_solved = _printed(printed, measure)
    if results is None:
        return ComparisonCell(size, paper, paper_solved)
    values = _values(results, measure)
    ours = mean_of(values)
    apart = saving = None
    if paper is not None:
        error = ours.deviation * math.sqrt(1 / PAPER_INSTANCES + 1 / len(values))
        apart = (ours.mean - paper) / error if error > 0 else (0.0 if ours.mean == paper else None)
    if teacher is not None:
        paper_teacher = _printed(printed_teacher, measure)[0]
        sign, both = 1 if measure == "reward" else -1, min(len(values), len(teacher.sizes))
        saved = mean_of(sign * (values[:both] - _values(teacher, measure)[:both]))  # both ran on the first ones
        paper_saves = None if paper is None or paper_teacher is None else sign * (paper - paper_teacher)
        saving = Saving(paper_saves, saved.mean, saved.ci95, both)
    cell = ComparisonCell(
        size=size,
        paper=paper,
        paper_solved=paper_solved,
        instances=len(values),
        solved=float(results.solved.mean()),
        ours=ours.mean,
        ci95=ours.ci95,
        apart=apart,
        saving=saving,
    )
    return replace(cell, verdict=_judge_teacher(cell) if is_teacher else _judge(cell, measure))


def _values(results: Results, measure: Measure) -> Reals:
    """Return what is measured of each instance."""
    if measure == "solved":
        return results.solved.astype(float)
    if measure == "reward":
        return results.rewards
    steps = results.steps.astype(float)
    if measure == "steps before the answer":
        steps -= np.isin(results.outcomes, (SOLVED, WRONG))
    return steps


def _printed(printed: Any, measure: Measure) -> tuple[float | None, float | None]:
    """Return a printed number and the printed share solved; the paper prints a mean, a percentage, or both."""
    if printed is None:
        return None, None
    if measure == "solved":
        return printed / 100, printed / 100
    return (printed[0], printed[1] / 100) if isinstance(printed, list) else (printed, None)


def _judge_teacher(cell: ComparisonCell) -> str:
    """Return whether a teacher's mean is the paper's, as far as chance allows."""
    if cell.apart is None:
        return "filled"
    return "agrees" if abs(cell.apart) <= AGREEMENT else "differs"


def _judge(cell: ComparisonCell, measure: Measure) -> str:
    """Return whether a learned agent is better or worse than the paper's beyond noise and rounding."""
    if cell.paper is None:
        return "filled"
    if cell.paper_solved is None and cell.solved < 1:
        return "worse"  # the paper's agents solve everything, except where it prints how much they solve
    saving, count, rounding = cell.saving, cell.instances, HALF_A_UNIT[measure]
    if measure == "solved":
        pooled = (cell.ours * count + cell.paper * PAPER_INSTANCES) / (count + PAPER_INSTANCES)
        error = math.sqrt(max(0.0, pooled * (1 - pooled)) * (1 / PAPER_INSTANCES + 1 / count))
        gain, noise = cell.ours - cell.paper, student_quantile(0.975, PAPER_INSTANCES) * error + rounding
    elif saving is not None and saving.paper is not None:
        # The paper's saving is taken to be over its 100 instances, with the spread that ours has.
        gain = saving.ours - saving.paper
        noise = saving.ci95 * math.sqrt(1 + saving.instances / PAPER_INSTANCES) + 2 * rounding
    else:
        return "-"
    if not abs(gain) > noise:  # the noise of a single instance is NaN
        return "even"
    return "better" if gain > 0 else "worse"


def learned_agents(name: str) -> list[str]:
    """Return the agents of the zoo that the tables of a name need and that are there."""
    known = {f"zoo:{one.name}" for one in zoo_entries()}
    wanted = [row.agent for plan in plans_of(name) for row in plan.rows if not row.is_teacher]
    return [agent for agent in dict.fromkeys(wanted) if agent in known]


def parse_stand_ins(table: str, words: Sequence[str]) -> dict[str, str]:
    """Return which agents run in place of which of a table's, given as `zoo:TASK/NAME=AGENT`."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, agent = word.partition("=")
        if not equals:
            raise SettingError(f"stand-in {word!r} is not of the form zoo:TASK/NAME=AGENT")
        known = learned_agents(table)
        if name not in known:
            raise UnknownNameError(f"agent of {table}", name, known)
        task = find_agent(agent).task.name
        if not name.startswith(f"zoo:{task}/"):
            raise SettingError(f"{agent} is an agent of {task} and cannot stand in for {name}")
        found[name] = agent
    return found


def count_verdicts(tables: Sequence[ComparisonTable]) -> dict[str, int]:
    """Return how many cells of all tables have each verdict."""
    verdicts = [cell.verdict for table in tables for row in table.rows for cell in row.cells]
    return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
