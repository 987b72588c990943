"""Greedy execution of a zoo network, quick sort at n = 100: by its table against the network called at every step.

Both sort the same 100 lists on one thread. The table is a fresh one in every round, so that filling it counts. The
other way asks the network for the most likely actions of all lists that are not yet sorted, and steps them with the
same kernels.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from bench.report import Measurement, Ratio, Report
from bench.timing import Timing, Work, best_of
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.zoo import load_entry
from surpass.engine.batch import Batch, allocate, grow_stack
from surpass.engine.run import run
from surpass.engine.specialise import specialise
from surpass.errors import WrongAnswerError
from surpass.machine.calls import stack_limit
from surpass.machine.state import Outcome
from surpass.tasks.task import Instances, Limit, Request

AGENT, SIZE, LISTS = "sort-quick/imitation-quick_sort", 100, 100
MOST_ROUNDS = 3
"""A round takes many seconds, and the ratio is far from what noise could change."""


def measure(rounds: int) -> Report:
    agent = load_entry(AGENT)
    if not isinstance(agent, NetworkAgent):
        raise TypeError(f"{agent.name} has no table")
    lists = agent.task.draw(Request(size=SIZE, count=LISTS))
    tabular, called = by_table(agent, lists), by_calls(agent, lists)
    if tabular().steps != called().steps:
        raise WrongAnswerError("the table and the network take different numbers of steps")
    table, network = best_of(min(rounds, MOST_ROUNDS), [tabular, called])
    return Report(
        (
            Measurement("by table, filled on the way", table),
            Measurement("the network called at every step", network),
        ),
        (Ratio("by table / network called at every step", table.rate / network.rate),),
    )


def by_table(agent: NetworkAgent, instances: Instances) -> Work:
    """Return the work of the engine on one thread, which asks the network once for each distinct observation."""

    def work() -> Timing:
        begin = perf_counter()
        results = run(agent, instances, threads=1)
        seconds = perf_counter() - begin
        if not results.solved.all():
            raise WrongAnswerError(f"{agent.name} ended so: {results.reasons()}")
        return Timing(int(results.steps.sum()), seconds)

    return work


def by_calls(agent: NetworkAgent, instances: Instances) -> Work:
    """Return the work of asking the network for all running episodes at every step."""
    kernels, interface = specialise(agent.task), agent.task.interface
    limits = Limit.parse(agent.task.limit).steps(instances.sizes)

    def work() -> Timing:
        begin = perf_counter()
        batch = _start(agent, instances)
        digits = np.zeros((instances.count, len(interface.features)), np.int64)
        actions = np.zeros(instances.count, np.int64)
        while (running := np.flatnonzero(batch.outcomes == Outcome.RUNNING)).size:
            kernels.look(batch, digits)
            actions[running] = agent.most_likely(interface.pack_digits(digits[running]))[0]
            kernels.step(batch, actions, interface.action_rows[actions], limits)
        seconds = perf_counter() - begin
        if not (batch.outcomes == Outcome.SOLVED).all():
            raise WrongAnswerError(f"{agent.name} does not sort every list when it is called at every step")
        return Timing(int(batch.steps.sum()), seconds)

    return work


def _start(agent: NetworkAgent, instances: Instances) -> Batch:
    """Return the episodes at their first step, with all the stack that they may need."""
    batch = allocate(agent.task, instances.count, SIZE)
    batch = grow_stack(batch, (stack_limit(SIZE) + 1) * agent.task.frame_size)
    specialise(agent.task).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch
