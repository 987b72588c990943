"""The listing that a recording lights up: an agent's own program, or rules written from what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surpass.engine.run import AnyAgent, run
from surpass.printing import Progress
from surpass.programs.extract import write_program
from surpass.programs.listing import ListedLine, list_program
from surpass.programs.program import Program
from surpass.table import Agent, Table
from surpass.tasks.task import Request

OTHER_RUNS = 30
"""How many more runs, of each of the sizes to learn on, the rules of an agent without a program are taken from."""
MOST_OBSERVATIONS = 1_000
"""From more observations than this, rules take long to write and are no easier to read than the table."""
MOST_LINES = 1_000
"""A longer listing is not shown."""


@dataclass(frozen=True)
class Listing:
    """The lines of a program, and where they come from."""

    lines: tuple[ListedLine, ...]
    note: str
    program: Program | None = None

    def rules_for(self, observations: Sequence[int | None]) -> list[int | None]:
        """Return the number of the rule that fires for each observation; None where there is no program."""
        if self.program is None:
            return [None] * len(observations)
        return [int(rule) for rule in self.program.rules_for(np.array(observations, np.int64))]


NO_LISTING = Listing((), "")


def write_aid(agent: AnyAgent, observations: Sequence[int | None], progress: Progress | None = None) -> Listing:
    """Return the listing of an agent whose run showed some observations.

    An agent that is a program is listed as it is. For another one rules are written, quickly, that do what it did in
    this run and some more; `surpass show` looks at everything that occurs, which takes longer.
    """
    if not isinstance(agent, Agent):
        return Listing((), f"{agent.name} sees the whole list: there are no rules to show.")
    if isinstance(agent, Program):
        return _listed(agent, "")
    seen = np.unique(np.array([o for o in observations if o is not None], np.int64))
    table, where = Table(agent.task, agent), f"this run and {2 * OTHER_RUNS} more"
    sizes = agent.task.training_sizes
    for size in sizes:
        inputs = agent.task.inputs
        request = Request(size=size, count=OTHER_RUNS, data=inputs.usual_data, queries=inputs.usual_queries)
        run(table, agent.task.draw(request))
    table.actions(seen)
    if len(table) > MOST_OBSERVATIONS:
        table, where = Table(agent.task, agent), "this run"
        table.actions(seen)
    if len(table) > MOST_OBSERVATIONS or not len(table):
        return Listing((), f"{agent.name} saw {len(table):,} different observations here, too many to list as rules.")
    note = f"Rules that do what {agent.name} did in {where}; surpass show {agent.name} looks at all that can occur."
    return _listed(write_program(agent.name, table, progress), note)


def _listed(program: Program, note: str) -> Listing:
    lines = list_program(program)
    if len(lines) > MOST_LINES:
        return Listing((), f"{program.name} has {len(program.rules):,} rules, too many to show beside its run.")
    return Listing(tuple(lines), note, program)
