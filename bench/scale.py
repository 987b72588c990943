"""One worker and two on Ray: throughput, bytes and waiting of the policy gradient and of improvement; and a sweep.

Ray runs on this machine alone. Its start is not counted. The bytes are those that are written to be sent; trajectories
are those of the same episodes, written in the same way: as small as they can be (a packed observation, an action, a
reward and an end for each step), and as vectors of numbers, as frameworks for any environment send them.
"""

from __future__ import annotations

import math
import pickle
import shutil
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from bench.learning import CASES, NETWORK, _load
from bench.report import Measurement, PeerMissingError, Quantity, Ratio, Report
from bench.timing import Timing
from surpass.errors import SettingError
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.learner import Improvement
from surpass.learning.improvement.rounds import Round
from surpass.learning.methods import new_learner
from surpass.learning.policy_gradient.actors import SamplingActor
from surpass.learning.policy_gradient.gradient import parameter_rows
from surpass.learning.policy_gradient.learner import PolicyGradient
from surpass.learning.recipes import parse_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from surpass.workers.cluster import RayActors, RayRunner
from surpass.workers.connecting import import_ray
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Runner

WORKERS = (1, 2)
ACTORS, EPISODES, UPDATES = 8, 4096, 10
"""Shares, episodes in all, and updates that are timed."""
CANDIDATES, SETS = 8192, 10
"""Candidates in a set, and sets that are timed."""
RUNS = 12
SWEEP: dict[str, Any] = {
    "task": "knapsack",
    "method": "imitation",
    "seeds": list(range(RUNS)),
    "settings": {"sizes": [2, 3], "items": 6, "epochs": 2, "calm_rounds": 1_000_000, "most_rounds": 100},
}
LEAST = 10
"""How many times as much trajectories, as vectors, should take as sums."""


MODELLED = (10, 100, 1000)
"""Numbers of actors, each on a processor of its own, for which the throughput is computed from what was measured."""
BANDWIDTH, TOGETHER, ANSWER = 1.25e9, 16, 0.002
"""What is assumed of a cluster: bytes per second of the learner's network (10 Gbit), actors on a machine, which is sent
the parameters once, and seconds until an answer has come through Ray."""


class Share(NamedTuple):
    """What was measured of one share of an update, in seconds and bytes."""

    steps: float
    seconds: float
    deviation: float
    sent: float
    received: float
    take: float
    """What the learner needs to take in its sums."""
    update: float
    """What an update takes the learner with the shares of this benchmark."""

    @property
    def each(self) -> float:
        """What one more share costs the learner and its network."""
        return self.take + (self.sent / TOGETHER + self.received) / BANDWIDTH

    def update_by(self, actors: int) -> float:
        """Return what an update takes: the slowest share, the messages, and the learner, which all wait for."""
        slowest = self.seconds + self.deviation * math.sqrt(2 * math.log(actors))
        own = max(0.0, self.update - ACTORS * self.take)
        return slowest + ANSWER + own + actors * self.each


def measure(rounds: int) -> Report:
    """Return what was measured, once: a round of this takes some minutes."""
    try:
        import_ray()
    except SettingError as error:
        raise PeerMissingError(str(error)) from None
    measurements: list[Measurement] = []
    quantities: list[Quantity] = []
    ratios: list[Ratio] = []
    for workers in WORKERS:
        runner = RayRunner(processes=workers)
        try:
            for measure_one in (measure_gradient, measure_improvement):
                report = measure_one(runner, workers)
                measurements += report.measurements
                quantities += report.quantities
            if workers == max(WORKERS):
                here, there = sweep_seconds(LocalRunner(workers)), sweep_seconds(runner)
                measurements += [
                    Measurement(f"sweep, {workers} local processes", Timing(RUNS, here), unit="runs"),
                    Measurement(f"sweep, {workers} workers of Ray", Timing(RUNS, there), unit="runs"),
                ]
                ratios.append(Ratio(f"sweep of {RUNS} runs: time on Ray / time locally", there / here, most=1.1))
        finally:
            runner.close()
    rates = {m.what: m.timing.rate for m in measurements}
    for what in ("policy gradient", "improvement"):
        one, two = (rates[f"{what}, {show(workers)}"] for workers in WORKERS)
        ratios.append(Ratio(f"{what}: 2 workers / 1 worker", two / one))
    sums, packed, vectors = share_bytes()
    steps = EPISODES // ACTORS * new_gradient().config.unroll
    million = 1e6 / steps
    quantities += [
        Quantity("a share's steps in an update", steps, "steps"),
        Quantity("its sums, per million steps", sums * million, "bytes"),
        Quantity("its steps packed, per million", packed * million, "bytes"),
        Quantity("its steps as vectors, per million", vectors * million, "bytes"),
        *time_shares(),
    ]
    known = {one.what: one.value for one in quantities}
    first = f"policy gradient, {show(1)}"
    share = Share(
        steps=steps,
        seconds=known["a share, sampled and summed up, of the processor"],
        deviation=known["its standard deviation"],
        sent=known[f"{first}: sent to an actor for an update"],
        received=known[f"{first}: received from an actor"],
        take=known["to take in the sums of one share"],
        update=known[f"{first}: an update of the learner itself"],
    )
    for count in MODELLED:
        quantities.append(
            Quantity(f"model, {count:,} actors: throughput", count * steps / share.update_by(count), "steps/s")
        )
        quantities.append(
            Quantity(f"model, {count:,} actors: time that actors work", share.seconds / share.update_by(count), "")
        )
    quantities.append(Quantity("model: the most that one learner takes in", steps / share.each, "steps/s"))
    ratios.append(Ratio("bytes: steps packed / sums", packed / sums))
    ratios.append(Ratio("bytes: steps as vectors / sums", vectors / sums, least=LEAST))
    return Report(tuple(measurements), tuple(ratios), tuple(quantities))


def show(workers: int) -> str:
    return f"{workers} worker" + "s" * (workers > 1)


def new_gradient() -> PolicyGradient:
    """Return a learner of sort-bubble with the network of an agent of the zoo, on its largest lists."""
    settings = NETWORK | {"episodes": str(EPISODES), "actors": str(ACTORS), "updates": "1000000"}
    learner = new_learner(find_task("sort-bubble"), "rl", settings=settings)
    assert isinstance(learner, PolicyGradient)
    agent = _load(next(case for case in CASES if case.task == "sort-bubble"))
    learner.network.load_state_dict(agent.network.state_dict())
    learner.grown = learner.config.growth
    return learner


def measure_gradient(runner: Runner, workers: int) -> Report:
    """Return the steps per second of some updates, the bytes of each, and the share of the time spent waiting."""
    learner = new_gradient()
    learner.runner = runner
    learner._update()
    actors = learner.actors
    assert isinstance(actors, RayActors)
    sent, received, waited, began = actors.sent, actors.received, actors.waited, perf_counter()
    for _ in range(UPDATES):
        learner._update()
    seconds = perf_counter() - began
    each = UPDATES * ACTORS
    what = f"policy gradient, {show(workers)}"
    return Report(
        (Measurement(what, Timing(UPDATES * EPISODES * learner.config.unroll, seconds)),),
        quantities=(
            Quantity(f"{what}: sent to an actor for an update", (actors.sent - sent) / each, "bytes"),
            Quantity(f"{what}: received from an actor", (actors.received - received) / each, "bytes"),
            Quantity(f"{what}: share of the time that the learner waits", (actors.waited - waited) / seconds, ""),
            Quantity(f"{what}: an update of the learner itself", (seconds - actors.waited + waited) / UPDATES, "s"),
        ),
    )


def measure_improvement(runner: Runner, workers: int) -> Report:
    """Return the candidates per second of some sets, the bytes of each, and the share of the time spent waiting."""
    config = ImprovementConfig(task="sort-bubble", teacher="insertion_sort", candidates=CANDIDATES)
    learner = Improvement(find_task("sort-bubble"), config)
    learner.begin()
    learner.runner = runner
    one = Round(learner)
    one.try_generation(0.0)
    screens = one.screens
    assert isinstance(screens, RayActors)
    sent, received, waited, began = screens.sent, screens.received, screens.waited, perf_counter()
    tried = sum(one.try_generation(0.0) for _ in range(SETS))
    seconds = perf_counter() - began
    screens.close()
    what = f"improvement, {show(workers)}"
    return Report(
        (Measurement(what, Timing(tried, seconds), unit="candidates"),),
        quantities=(
            Quantity(f"{what}: sent for a candidate", (screens.sent - sent) / tried, "bytes"),
            Quantity(f"{what}: received for a candidate", (screens.received - received) / tried, "bytes"),
            Quantity(f"{what}: share of the time that the learner waits", (screens.waited - waited) / seconds, ""),
        ),
    )


def time_shares() -> tuple[Quantity, ...]:
    """Return how long a share takes to sample and how much that varies, and how long to take in one share's sums."""
    learner = new_gradient()
    actor: Any = SamplingActor(*learner._arguments_of_actors()[0])
    orders = learner.orders()
    actor.sample(orders)
    times, shares = [], []
    for _ in range(UPDATES):
        began = process_time()
        shares.append(actor.sample(orders))
        times.append(process_time() - began)
    learner.sampler.adopt(orders.parameters, shares)
    began = process_time()
    learner.sampler.add_up(shares, learner.sampler.adopt(orders.parameters, shares))
    taken = (process_time() - began) / UPDATES
    return (
        Quantity("a share, sampled and summed up, of the processor", float(np.mean(times)), "s"),
        Quantity("its standard deviation", float(np.std(times)), "s"),
        Quantity("to take in the sums of one share", taken, "s"),
    )


def share_bytes() -> tuple[int, int, int]:
    """Return the bytes of one share of an update: its sums, its steps packed, and its steps as vectors."""
    learner = new_gradient()
    arguments = learner._arguments_of_actors()[0]
    actor: Any = SamplingActor(*arguments)
    learner.runner = LocalRunner()
    actors = learner.actors
    learner._update()
    share = actors.tell("sample", learner.orders())[0]
    actor._sampler.sizes = learner.config.sizes(learner.task, learner.grown)
    record = actor._sampler.sample(parameter_rows(learner.network))
    observations = actor._sampler.plan.observations[record.rows].ravel()
    rest = (record.actions.astype(np.int16), record.gains.astype(np.float32), record.ends.astype(np.int8))
    vectors = (learner.task.interface.encode(observations).astype(np.float32), *rest)
    return len(pickle.dumps(share)), len(pickle.dumps((observations, *rest))), len(pickle.dumps(vectors))


def sweep_seconds(runner: Runner) -> float:
    """Return how long a sweep of short runs takes."""
    folder = Path(tempfile.mkdtemp())
    try:
        recipe = parse_recipe("short", SWEEP)
        sweep = Sweep(recipe, find_task(recipe.task), folder / "sweep")
        began = perf_counter()
        ranking = sweep.run(runner)
        assert len(ranking.runs) == RUNS
        return perf_counter() - began
    finally:
        shutil.rmtree(folder)
