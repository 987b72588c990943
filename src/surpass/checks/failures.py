"""Does an agent fail anywhere? One search for all who ask: learners and users."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from surpass.engine.probes import NORMAL, QUICK, THOROUGH, Effort, probes
from surpass.engine.run import Results, run
from surpass.table import Agent, Table
from surpass.tasks.task import Instances

__all__ = ["NORMAL", "QUICK", "THOROUGH", "Effort", "find_failures"]


def find_failures(
    agent: Agent,
    effort: Effort = NORMAL,
    *,
    known: Sequence[str] = (),
    seed: int = 0,
    enough: int = 40,
    tried: list[Instances] | None = None,
) -> list[str]:
    """Return instances, as text, on which an agent fails, at most `enough` of them.

    The agent is run on the `known` instances, every small one, drawn ones of every distribution at small and large
    sizes, and changed ones. A batch gives at most half of them, so that they differ. If the agent is a `Table`, it
    keeps what its source answered. A task that does not read and write its instances has none to return. All instances
    are added to `tried`, so that other agents can be run on the same ones.
    """
    task, table = agent.task, Table.of(agent)
    if task.inputs.write is None or task.inputs.read is None:
        return []
    failures: dict[str, None] = {}

    def run_all(instances: Instances) -> Results:
        return run(table, instances, find_loops=not task.limit_is_budget)

    for number, level in enumerate([effort.before, effort] if effort.before else [effort]):
        for probe in probes(task, run_all, level, known=() if number else known, seed=seed + number):
            if tried is not None:
                tried.append(probe.instances)
            failures |= dict.fromkeys(map(task.write_instance, islice(probe.failed(), max(1, enough // 2))))
            if len(failures) >= enough:
                return [*failures][:enough]
        if failures:
            break
    return [*failures]
