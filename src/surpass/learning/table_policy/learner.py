"""Policy gradient on a table of logits: mirror descent.

Each update plays whole episodes by the table, compares what came of every choice with what a critic expected, averages
these advantages for each choice of each decision, and adds them to the logits. For a table of logits this is the
natural gradient: a choice that is rarely made learns as fast as others. The critic may see what the agent cannot, as
far as the task offers hints; it only takes noise out of the averages.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.advance import advance
from surpass.engine.batch import Batch, allocate
from surpass.engine.crew import Call
from surpass.engine.run import core_count, run
from surpass.engine.specialise import specialise
from surpass.learning.table_policy.arrays import Critic, Record, Sums
from surpass.learning.table_policy.compiled import TEMPLATE
from surpass.learning.table_policy.policy import TablePolicy
from surpass.machine.state import Outcome
from surpass.agents.teachers import teacher_of
from surpass.table import Table
from surpass.tasks.task import Limit, Request, Task
from surpass.machine.interface import NO_ACTION

PARTS = 2


@dataclass(kw_only=True)
class Config:
    task: str
    teacher: str = ""
    seed: int = 0
    stages: str = "3-6 5-10 8-16 10-20"
    updates: int = 100
    """Updates of each stage."""
    episodes: int = 2048
    data: str = "uniform"
    queries: str = ""
    step_size: float = 0.05
    softness: float = 6.0
    explored: float = 0.002
    final_explored: float = 0.0002
    temperature: float = 0.0
    final_temperature: float = 0.0
    trace: float = 1.0
    memory: float = 0.5
    shrink: float = 20.0
    step_cost: float = 1.0
    wrong_cost: float = 1.0
    limit: str = ""
    solved: float = 0.98
    soften: float = 8.0
    largest_change: float = 1.0
    shared: float = 1.0


class GreedyTable:
    def __init__(self, learner):
        self.name, self.task, self.learner = "table", learner.task, learner

    def actions(self, observations: Ints) -> Ints:
        found = self.learner.policy.best_actions(observations)
        teacher = self.learner.teacher
        if teacher is not None:
            missing = found == NO_ACTION
            found[missing] = teacher.actions(observations[missing])
        return found


class MirrorDescent:
    def __init__(self, task: Task, config: Config) -> None:
        self.task, self.config = task, config
        self.teacher = Table.of(teacher_of(task, config.teacher)) if config.teacher else None
        self.policy = TablePolicy(task, self.teacher, config.softness)
        self.kernels = specialise(task, TEMPLATE)
        self.stages = [tuple(map(int, s.split("-"))) for s in config.stages.split()]
        self.hint_count = task.hint_count + 1
        self.weights = np.zeros(self.hint_count)
        self.base = np.zeros(0)
        self.memory: Sums | None = None
        self.updates = 0
        self.limit = Limit.parse(config.limit or task.limit)
        self.queries = config.queries or task.inputs.usual_queries
        self.explained = 0.0

    def draw(self, sizes_range):
        low, high = sizes_range
        c = self.config
        random = np.random.default_rng([c.seed, 3, self.updates])
        sizes = np.sort(random.integers(low, high + 1, c.episodes))
        names = c.data.split(",")

        def ask(size, wanted):
            return Request(size=size, count=wanted, seed=c.seed * 10_000_000 + self.updates, data=names[(size + self.updates) % len(names)], queries=self.queries)

        return self.task.draw_each(sizes, high, ask)

    def sample(self, instances):
        task, c = self.task, self.config
        count = instances.count
        limits = self.limit.steps(instances.sizes)
        batch = allocate(task, count, int(instances.sizes.max()))
        specialise(task).reset(batch, *instances, np.arange(count))
        starts = np.cumsum(limits) - limits
        self.limits = limits
        total = int(limits.sum())
        record = Record(starts, np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.float32), np.empty((total, self.hint_count), np.float32))
        random = np.random.default_rng([c.seed, 2, self.updates]).integers(1, 2**32, (count, 2), dtype=np.int64)
        stop = np.zeros(1, np.int64)
        slices = max(1, count // 16)

        def calls(batch: Batch) -> list[Call]:
            return [
                (self.kernels.sample, (batch, self.policy.choices, self.policy.odds, random, limits, record, first, min(count, first + slices), stop))
                for first in range(0, count, slices)
            ]

        def unknown_decision(waiting: Ints) -> None:
            self.policy.add_after(np.unique(batch.pending[waiting]))

        batch = advance(task, batch, calls, answer=self.policy.add_observations, others={Outcome.UNKNOWN_DECISION: unknown_decision}, threads=core_count(), stop=stop)
        return batch, record

    def new_sums(self):
        r, k, w = self.policy.count, self.hint_count, self.policy.width
        return Sums(np.zeros((r, w)), np.zeros((r, w)), np.zeros(r), np.zeros(r), np.zeros((r, k)), np.zeros((k, k + 1)), np.zeros(2))

    def sum_up(self, batch, record, scales):
        c = self.config
        base = np.full(self.policy.count, self.default if self.updates else 0.0)
        base[: len(self.base)] = self.base
        critic = Critic(base, self.weights)
        settings = np.array([c.step_cost, c.wrong_cost, self.task.reward.progress, c.trace])
        parts = [self.new_sums() for _ in range(PARTS)]
        bounds = np.linspace(0, len(batch.steps), PARTS + 1).astype(int)
        calls = [(self.kernels.sum_up, (batch, self.policy.choices, self.policy.odds, record, critic, settings, scales, self.limits, sums, int(a), int(b))) for sums, a, b in zip(parts, bounds[:-1], bounds[1:])]
        from surpass.engine.crew import Crew
        with Crew(core_count(), np.zeros(1, np.int64), self.task.name) as crew:
            crew.make(calls)
        return Sums(*(sum(columns[1:], columns[0]) for columns in zip(*parts)))

    def update(self, sizes, explored):
        c = self.config
        if explored != self.policy.explored or self.updates % 10 == 0:
            self.policy.refresh(explored)
        batch, record = self.sample(self.draw(sizes))
        sums = self.sum_up(batch, record, np.ones(len(batch.steps)))
        self._learn(sums)
        self._fit(sums)
        self.updates += 1
        solved = float((batch.outcomes == Outcome.SOLVED).mean())
        return solved, float(batch.steps.mean()), int(batch.steps.sum())

    def _grow(self, name, count, shape):
        old = getattr(self, name, None)
        if old is None:
            old = np.zeros((0, *shape))
        if len(old) < count:
            fresh = np.zeros((1 << count.bit_length(), *shape))
            fresh[: len(old)] = old
            setattr(self, name, fresh)
        return getattr(self, name)

    def _learn(self, sums):
        c, n, w = self.config, self.policy.count, self.policy.width
        total = sums.counts.sum(axis=1)
        rows = np.flatnonzero(total)
        kept_a, kept_n = self._grow("kept_advantages", n, (w,)), self._grow("kept_counts", n, (w,))
        counts, advantages = sums.counts[rows], sums.advantages[rows]
        advantages = advantages - counts * (advantages.sum(axis=1) / total[rows])[:, None]
        kept_a[rows] = advantages = c.memory * kept_a[rows] + advantages
        kept_n[rows] = counts = c.memory * kept_n[rows] + counts
        change = advantages / (counts + c.shrink)
        change = np.clip(c.step_size * change, -c.largest_change, c.largest_change)
        pull = c.step_size * self.temperature
        logits = self.policy.logits[rows] * (1 - pull) + change
        taught = self.policy.taught[rows]
        known = np.flatnonzero(taught >= 0)
        logits[known, taught[known]] += pull * c.softness
        np.maximum(logits, logits.max(axis=1, keepdims=True) - c.soften - 8, out=logits)
        self.policy.logits[rows] = logits
        shared = self.policy.shared_of[rows]
        if shared.any():
            several, place = np.unique(shared, return_inverse=True)
            a, m = np.zeros((len(several), w)), np.zeros((len(several), w))
            np.add.at(a, place, sums.advantages[rows] - sums.counts[rows] * (sums.advantages[rows].sum(axis=1) / total[rows])[:, None])
            np.add.at(m, place, sums.counts[rows])
            change = np.clip(c.shared * c.step_size * a / (m + c.shrink), -c.largest_change, c.largest_change)
            logits = self.policy.shared_logits[several] * (1 - pull) + change
            np.maximum(logits, logits.max(axis=1, keepdims=True) - c.soften - 8, out=logits)
            self.policy.shared_logits[several] = logits
            changed = np.zeros(len(self.policy.shared_logits), bool)
            changed[several] = True
            rows = np.flatnonzero(changed[self.policy.shared_of[:n]])
        self.policy.refresh(self.policy.explored, rows)

    def _fit(self, sums):
        k, c = self.hint_count, self.config
        rows = np.flatnonzero(sums.visits)
        visits, hints, returns = sums.visits[rows], sums.hints[rows], sums.returns[rows]
        means = hints / visits[:, None]
        products = sums.products[:, :k] + np.tril(sums.products[:, :k], -1).T
        xx = products - hints.T @ means
        xy = sums.products[:, k] - means.T @ returns
        if self.updates:
            xx, xy = xx + c.memory * self.xx, xy + c.memory * self.xy
        self.xx, self.xy = xx, xy
        self.weights = np.linalg.solve(xx + (1e-6 * np.trace(xx) / k + 1e-9) * np.eye(k), xy)
        n = self.policy.count
        kept_v, kept_r, kept_h = self._grow("kept_visits", n, ()), self._grow("kept_returns", n, ()), self._grow("kept_hints", n, (k,))
        kept_v[rows] = c.memory * kept_v[rows] + visits
        kept_r[rows] = c.memory * kept_r[rows] + returns
        kept_h[rows] = c.memory * kept_h[rows] + hints
        self.default = (returns.sum() - hints.sum(axis=0) @ self.weights) / visits.sum()
        self.base = (kept_r[:n] - kept_h[:n] @ self.weights + 3 * self.default) / (kept_v[:n] + 3)
        mean = returns.sum() / visits.sum()
        self.explained = 1 - sums.errors[0] / max(1e-9, sums.errors[1] - visits.sum() * mean**2)

    def soften(self):
        logits = self.policy.logits[: self.policy.count]
        np.maximum(logits, logits.max(axis=1, keepdims=True) - self.config.soften, out=logits)


def evaluate(learner, sizes, count=1000, data="uniform", queries=None):
    found = []
    table = Table.of(GreedyTable(learner))
    for n in sizes:
        inst = learner.task.draw(Request(size=n, count=count, seed=77, data=data, queries=queries or learner.queries))
        r = run(table, inst, find_loops=learner.task.measure == "steps")
        found.append((n, float(r.solved.mean()), float(r.steps.mean()), float(r.rewards.mean())))
    return found


def main():
    from surpass.tasks.registry import find_task
    settings = dict(word.split("=") for word in sys.argv[2:])
    sizes = [int(x) for x in settings.pop("eval", "5,10,20,50,100").split(",")]
    every = int(settings.pop("every", "25"))
    task = find_task(sys.argv[1])
    kinds = {k: type(v) for k, v in vars(Config(task="x")).items()}
    config = Config(task=task.name, **{k: kinds[k](v) for k, v in settings.items()})
    learner = MirrorDescent(task, config)
    base = {}
    if learner.teacher is not None:
        for n in sizes:
            inst = task.draw(Request(size=n, count=1000, seed=77, queries=learner.queries))
            r = run(learner.teacher, inst)
            base[n] = float(r.steps.mean()) if task.measure == "steps" else float(r.rewards.mean())
        print("teacher", base, flush=True)
    began = time.time()
    steps_total = 0
    for stage in learner.stages:
        learner.soften()
        k = 0
        t0, s0 = time.time(), steps_total
        while True:
            share = min(1, k // 20 * 20 / max(1, config.updates))
            explored = config.explored * (config.final_explored / config.explored) ** share if config.explored else 0
            learner.temperature = config.temperature * (config.final_temperature / config.temperature) ** share if config.temperature else 0
            solved, mean, n = learner.update(stage, explored)
            steps_total += n
            k += 1
            if k % every == 0:
                got = evaluate(learner, [s for s in sizes if s <= 5 * stage[1]], 400)
                text = " ".join((f"{n}:{(base[n] - st if n in base else st):.2f}" if task.measure == "steps" else f"{n}:{rw - base.get(n, 0):.3f}") + (f"({so:.0%})" if so < 1 else "") for n, so, st, rw in got)
                print(f"{time.time()-began:.0f}s {stage} u{k} solved {solved:.3f} mean {mean:.1f} rows {learner.policy.count} expl {learner.explained:.3f} Msteps {steps_total/1e6:.0f} rate {(steps_total-s0)/(time.time()-t0)/1e6:.2f}M/s | {text}", flush=True)
            if k >= config.updates and (solved >= config.solved or k >= 4 * config.updates):
                break
    got = evaluate(learner, sizes, 1000)
    print("final", [(n, so, round(base.get(n, 0) - st, 2) if n in base else round(st, 2), round(rw, 3)) for n, so, st, rw in got])


if __name__ == "__main__":
    main()
