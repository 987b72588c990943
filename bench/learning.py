"""Policy gradient with its updates, one core: our learner against A2C of Stable-Baselines3.

Ours is `surpass learn --recipe network-TASK-rl --set data=uniform`, in rounds of 20 updates; that it measures its
greedy policy at the end of a round counts. On `sort-bubble` a table of logits is measured as well, which begins with
insertion sort and is as sharp as a policy that has learned. A2C chooses among whole actions. Both run on one thread, on
instances of the same sizes, kind and step limit, with hidden layers of the same sizes. Time is the processor's: it
changes little with what others do on the machine.

A2C appears twice. "As its users run it" is `make_vec_env` over the registered Gymnasium environment, with the number of
steps per update that it has by default; what we want to be is said of this one. "At its best" steps our vector
environment, which makes one compiled call for all episodes, with as many episodes and steps per update as suit it best
among `SETTINGS` and our own: large batches that learn from far fewer updates.

Our speed depends on how many distinct decisions a batch holds, so it is measured twice. "From nothing" is the first
round of a fresh learner, on the small instances that it begins with. "Learned" is a round of the same learner on its
largest instances with the network of an agent of the zoo, whose answers A2C's network is taught before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import torch

from bench.report import Measurement, PeerMissingError, Ratio, Report
from bench.timing import Timing, Work, best_of
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.files import fill_network, load_agent
from surpass.agents.zoo import find_entry
from surpass.engine.run import run
from surpass.learning.curriculum import read_ranges
from surpass.learning.methods import new_learner
from surpass.learning.policy_gradient.learner import PolicyGradient, PolicyGradientConfig
from surpass.learning.recipes import only_run
from surpass.learning.table.learner import TableLearner
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Limit, Request

Ints = npt.NDArray[np.int64]


class Case(NamedTuple):
    """A task, and the agent of the zoo whose network has learned it."""

    task: str
    agent: str
    least: float | None = None
    """How many times as fast as A2C, as its users run it, we want to be."""


CASES = (
    Case("sort-bubble", "rl-network", least=30),
    Case("sort-quick", "improvement-hoare_sort"),
    Case("search", "rl"),
    Case("knapsack", "rl"),
)
DEFAULT = (16, 5)
"""The number of steps per update that A2C has by default, with a usual number of episodes."""
SETTINGS = (DEFAULT, (64, 5), (512, 5), (2048, 5))
"""How many episodes side by side, and steps of each per update, A2C is tried with."""
NETWORK = {"data": "uniform"}
"""Ours can take several distributions; A2C's environments draw from one."""
RANGES = {"sort-bubble": "10-20", "sort-quick": "5-20", "search": "30-50", "knapsack": "4-8"}
"""The largest instances of each learner."""
TABLE = {"policy": "table", "sizes": "10-20", "starts": "1"}
LARGE = 8
"""How many times as many episodes as usual ours has in a large batch."""
TAUGHT_INSTANCES = 20
MOST_ROUNDS = 2
"""A round takes many seconds."""


def measure(rounds: int) -> Report:
    try:
        import bench.a2c  # noqa: F401
    except ImportError as error:
        raise PeerMissingError(f"Stable-Baselines3 is not installed ({error}); `make bench` does that") from None
    torch.set_num_threads(1)
    with patch.dict(os.environ, SURPASS_THREADS="1"):
        reports = [measure_case(case, min(rounds, MOST_ROUNDS), learned) for case in CASES for learned in (False, True)]
    return Report(
        tuple(measurement for report in reports for measurement in report.measurements),
        tuple(ratio for report in reports for ratio in report.ratios),
    )


def measure_case(case: Case, rounds: int, learned: bool) -> Report:
    """Measure one task, from nothing or learned; one with an aim also in a larger batch."""
    from bench.a2c import NAME

    agent = _load(case) if learned else None
    config = our_learner(case.task, agent).config
    settings = dict.fromkeys([*SETTINGS, (config.episodes, config.unroll)])
    usual, *vectorised = _peers(case.task, agent, config, settings)
    peers = dict(zip(settings, vectorised, strict=True))
    tried = dict(zip(settings, best_of(1, list(peers.values())), strict=True))
    best = max(tried, key=lambda setting: tried[setting].rate)
    works = {
        "ours": _ours(case.task, agent, 1),
        f"{NAME} as its users run it, {_show(DEFAULT)}": usual,
        f"{NAME} on our vector environment, {_show(best)}": peers[best],
    }
    if case.least is not None:
        works |= {f"ours, {LARGE} times the episodes": _ours(case.task, agent, LARGE)}
        works |= {"ours, a table of logits": _table(case.task)} if learned else {}
    timings = best_of(rounds, list(works.values()))
    where = f"{case.task}, {'learned' if learned else 'from nothing'}"
    measurements = [Measurement(f"{where}: {name}", timing) for name, timing in zip(works, timings, strict=True)]
    ours, theirs, theirs_best, *large = (timing.rate for timing in timings)
    ratios = [
        Ratio(f"{where}: ours / A2C as its users run it", ours / theirs, least=case.least),
        Ratio(f"{where}: ours / A2C at its best", ours / theirs_best),
    ]
    names = (f"ours with {LARGE} times the episodes", "a table of logits")
    ratios += [Ratio(f"{where}: {name} / A2C at its best", r / theirs_best) for name, r in zip(names, large)]  # noqa: B905
    return Report(tuple(measurements), tuple(ratios))


def our_learner(task: str, agent: NetworkAgent | None, scale: int = 1) -> PolicyGradient:
    """Return our learner with what it ships with: a fresh one, or one that has all that an agent of the zoo knows.

    With `scale` times the episodes a round has as many steps as before, in fewer updates.
    """
    settings = only_run(f"network-{task}-rl").settings | NETWORK | ({"sizes": RANGES[task]} if agent else {})
    config = _learner(task, settings).config
    larger = {"episodes": config.episodes * scale, "updates_per_round": -(-config.updates_per_round // scale)}
    learner = _learner(task, settings | {name: str(value) for name, value in larger.items()})
    if agent is not None:
        fill_network(learner.network, agent.tensors, agent.name, prefix="")
    return learner


def _learner(task: str, settings: dict[str, str]) -> PolicyGradient:
    learner = new_learner(find_task(task), "rl", settings=settings)
    assert isinstance(learner, PolicyGradient)
    return learner


def _ours(task: str, agent: NetworkAgent | None, scale: int) -> Work:
    """Return the work of a round of our learner, the same in every turn."""

    def work() -> Timing:
        learner = our_learner(task, agent, scale)
        begin = process_time()
        found = learner.advance()
        return Timing(int(found["steps"]), process_time() - begin)

    our_learner(task, agent, scale)._update()
    return work


def _table(task: str) -> Work:
    """Return the work of some updates of a table of logits, which goes on from turn to turn."""
    learner = new_learner(find_task(task), "rl+imitation", settings=TABLE)
    assert isinstance(learner, TableLearner)
    learner.phase = "improve"
    learner.advance()

    def work() -> Timing:
        begin, before = process_time(), learner.work
        learner.advance()
        return Timing(learner.work - before, process_time() - begin)

    return work


def _peers(
    task: str, agent: NetworkAgent | None, config: PolicyGradientConfig, settings: Iterable[tuple[int, int]]
) -> list[Work]:
    """Return the work of some updates of A2C, as its users run it and then in each setting on our vector environment.

    It goes on learning from turn to turn.
    """
    from bench.a2c import make_environment, make_learner, make_usual_environment, teach, updating

    sizes = read_ranges(config.sizes, (1, 1))[0]
    options: dict[str, Any] = {"size": sizes, "data": config.data, "limit": config.limit or None}
    has_value_network = config.baseline == "network"
    environments = [(make_usual_environment(task, DEFAULT[0], **options), DEFAULT[1])]
    environments += [(make_environment(task, episodes, **options), steps) for episodes, steps in settings]
    learners = [make_learner(env, steps, has_value_network=has_value_network) for env, steps in environments]
    if agent is not None:
        observations, actions = _answers(agent, config)
        teach(learners[0], agent.task.interface.encode(observations), actions)
        for learner in learners[1:]:
            learner.policy.load_state_dict(learners[0].policy.state_dict())
    return [updating(learner) for learner in learners]


def _load(case: Case) -> NetworkAgent:
    agent = load_agent(find_entry(f"{case.task}/{case.agent}").stem, case.agent)[0]
    if not isinstance(agent, NetworkAgent):
        raise TypeError(f"{agent.name} has no table")
    return agent


def _answers(agent: NetworkAgent, config: PolicyGradientConfig) -> tuple[Ints, Ints]:
    """Return the observations that an agent meets on some of the largest instances, and its actions."""
    task, table = agent.task, Table.of(agent)
    queries = task.inputs.queries[0] if task.inputs.queries else Request.queries
    size = read_ranges(config.sizes, (1, 1))[-1][1]
    request = Request(size=size, count=TAUGHT_INSTANCES, data=config.data, queries=queries)
    run(table, task.draw(request), limit=Limit.parse(config.limit or task.limit), threads=1)
    return table.entries()


def _show(setting: tuple[int, int]) -> str:
    return f"{setting[0]} x {setting[1]}"
