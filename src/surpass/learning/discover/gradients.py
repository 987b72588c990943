"""Gradients as a source of programs: runs of the table learner, from nothing or from the best program, in parts.

A run from nothing learns to solve instances of ever larger sizes, so it finds what no chain of edits leads to. All its
policies become programs, which islands then edit: that saves steps faster than more gradients do. A run from the best
program proposes many small changes at once, each for what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from surpass.bundles import Tensors
from surpass.checks import NORMAL, Effort, find_failures
from surpass.errors import DivergedError
from surpass.learning.table.learner import TableConfig, TableLearner
from surpass.learning.updates import SOURCE, tensors_under
from surpass.programs.extract import write_program
from surpass.programs.program import Program
from surpass.programs.text import parse_program, write_text
from surpass.reading import Count, validate
from surpass.table import Agent, Table
from surpass.tasks.task import Task

PART_WORK, PART_ROUNDS = 32_000_000, 16
"""A part ends after about so many steps, or so many rounds."""
UPDATES, UPDATES_FROM_PROGRAM = 200, 60
"""The updates of `improve` in a run from nothing whose limit is a budget, and in one from a program."""
NEXT_SEED = 10
"""The difference of the seeds of two runs one after the other."""
MOST_FAILURES = 10_000
"""A search for observations does not end at a failure."""
RECORD = {
    **{"run": Count, "seed": Count, "program": str, "parents": list[Count]},
    "state": dict[str, Any] | None,
}
"""What a checkpoint says of a part beside its tensors."""


class Part(NamedTuple):
    """A part of a run of the table learner."""

    run: int
    """Which of the gradient runs that are side by side it is of."""
    seed: int
    program: str
    """The program that the run begins with, as text; empty for nothing."""
    parents: tuple[int, ...]
    """The number of that program."""
    state: tuple[Tensors, dict[str, Any]] | None
    """Where the run was after the part before; None to begin."""

    @staticmethod
    def first(seed: int, run: int) -> Part:
        """Return the first part of the first run, which begins with nothing."""
        return Part(run, 1000 * (seed % (1 << 21)) + run, "", (), None)

    @property
    def is_later(self) -> bool:
        """Whether another run was made in this one's place before."""
        return self.seed % 1000 >= NEXT_SEED

    def next(self) -> Part:
        """Return the first part of the run after this one, which begins with nothing."""
        return Part(self.run, self.seed + NEXT_SEED, "", (), None)


class LearnedPart(NamedTuple):
    """What came of a part."""

    state: tuple[Tensors, dict[str, Any]] | None
    """Where the run is; None once it has ended."""
    programs: tuple[str, ...] = ()
    """The programs of the policies, once the run has ended."""


def learn(task: Task, given: dict[str, Any], part: Part) -> LearnedPart:
    """Advance a run of the table learner by a part; the run ends with the phase that it began with."""
    base = parse_program(part.program, "a program of the run", task) if part.program else None
    config = TableConfig(
        task=task.name,
        seed=part.seed,
        starts=1,
        updates=UPDATES_FROM_PROGRAM if base else UPDATES,
        **{name: given[name] for name in ("data", "queries", "digest")},
    )
    learner = TableLearner(task, config, given=base, is_taught=False)
    if part.state is not None:
        learner.load_state(*part.state)
    phase = learner.phase
    for _ in range(PART_ROUNDS):
        try:
            learner.advance()
        except DivergedError:
            return LearnedPart(None)
        if learner.phase != phase:
            policies = [candidate.logits.greedy() for candidate in learner.candidates]
            return LearnedPart(None, tuple(write_text(program_of(policy, NORMAL)) for policy in policies))
        if learner.work >= PART_WORK:
            break
    return LearnedPart(learner.save_state())


def program_of(agent: Agent, effort: Effort) -> Program:
    """Return the program of an agent, by what it does on the instances of a search for failures.

    What it does elsewhere does not matter: who edits the program searches for its failures.
    """
    if isinstance(agent, Program):
        return agent
    table = Table(agent.task, agent)
    find_failures(table, effort, enough=MOST_FAILURES)
    return write_program(agent.name, table)


def save_parts(parts: Sequence[Part]) -> tuple[Tensors, list[dict[str, Any]]]:
    """Return parts as tensors and records."""
    tensors: Tensors = {}
    records = []
    for k, part in enumerate(parts):
        own, state = part.state or ({}, None)
        tensors |= {f"gradients.{k}.{name}": array for name, array in own.items()}
        records.append({**part._asdict(), "parents": list(part.parents), "state": state})
    return tensors, records


def load_parts(tensors: Tensors, records: Sequence[dict[str, Any]]) -> list[Part]:
    """Return the parts that were saved as tensors and records."""
    parts = []
    for k, record in enumerate(records):
        found = validate(RECORD, record, SOURCE)
        own = tensors_under(f"gradients.{k}.", tensors)
        state = None if found["state"] is None else (own, found["state"])
        parts.append(Part(**{**found, "parents": tuple(found["parents"]), "state": state}))
    return parts
