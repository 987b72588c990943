"""How a program is used: which rules fire how often, and where two programs part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surpass.engine.run import Results
from surpass.engine.tally import Tally, tally
from surpass.programs.program import Program
from surpass.programs.words import show_action, show_place, show_way
from surpass.tasks.task import Instances

__all__ = [
    "Parting",
    "Partings",
    "SharedRule",
    "Usage",
    "find_partings",
    "match_rules",
    "measure_use",
    "steps_by_instruction",
]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Usage:
    """What became of the rules of a program in a run."""

    program: Program
    met: Tally
    covered: Ints
    """[rules] how many observations of the program's table each rule answers."""
    fired: Ints
    """[rules] at how many steps each rule gave the action."""

    @property
    def results(self) -> Results:
        """What became of the instances."""
        return self.met.results

    @property
    def steps(self) -> int:
        """All steps of the run."""
        return int(self.met.counts.sum())

    @property
    def unmet(self) -> int:
        """At how many steps the program met an observation that is not in its table."""
        return int(self.met.counts[~self.program.table.holds(self.met.observations)].sum())

    @property
    def outside(self) -> int:
        """At how many steps the action came from elsewhere, since the rules alone give another."""
        return self.steps - int(self.fired.sum())


def measure_use(program: Program, instances: Instances, progress: Callable[[int], None] | None = None) -> Usage:
    """Return how often each rule of a program fires on some instances."""
    met = tally(program, instances, progress=progress)
    rules, count = program.rules_for(met.observations), len(program.rules)
    followed = program.follow(met.observations) == met.actions
    fired = np.bincount(rules[followed], weights=met.counts[followed], minlength=count).astype(np.int64)
    covered = np.bincount(program.rules_for(program.table.observations), minlength=count)
    return Usage(program, met, covered, fired)


def steps_by_instruction(usage: Usage) -> dict[str, int]:
    """Return how many steps a run spent on each instruction."""
    interface = usage.program.task.interface
    instruction = interface.action_rows[usage.met.actions, 0]
    counts = np.bincount(instruction, weights=usage.met.counts, minlength=len(interface.instructions))
    return {one.name: int(count) for one, count in zip(interface.instructions, counts, strict=True)}


@dataclass(frozen=True)
class Parting:
    """A rule of one program at steps where another program does something else."""

    rule: int
    instead: int
    """The other program's action."""
    steps: int
    observations: int


@dataclass(frozen=True)
class Partings:
    """Where a run of a program differs from another program."""

    agreed: int
    """At how many steps the other program does the same."""
    strange: int
    """At how many steps the other program never meets what this one saw."""
    ways: tuple[Parting, ...]
    """The rest, the most frequent first."""


def find_partings(usage: Usage, other: Program) -> Partings:
    """Return where a run of a program differs from another program, by the tables of both."""
    met = usage.met
    known = other.table.holds(met.observations)
    instead = other.follow(met.observations)
    rules = usage.program.rules_for(met.observations)
    parted = np.flatnonzero(known & (instead != met.actions))
    ways = []
    for rule, action in np.unique(np.column_stack([rules[parted], instead[parted]]), axis=0).tolist():
        rows = parted[(rules[parted] == rule) & (instead[parted] == action)]
        ways.append(Parting(rule, action, int(met.counts[rows].sum()), len(rows)))
    strange = int(met.counts[~known].sum())
    agreed = usage.steps - strange - sum(way.steps for way in ways)
    return Partings(agreed, strange, tuple(sorted(ways, key=lambda way: (-way.steps, way.rule, way.instead))))


@dataclass(frozen=True)
class SharedRule:
    """A rule that one of two programs has, or both."""

    place: str
    when: str
    action: str
    rules: tuple[int | None, int | None]
    """Its number in each program."""
    steps: tuple[int, int]
    """At how many steps of each program's run it gave the action."""


def match_rules(first: Usage, second: Usage) -> tuple[SharedRule, ...]:
    """Return the rules of two programs, equal ones as one; those at which most steps are saved or lost come first."""
    found: dict[tuple[str, str, str], list[tuple[int, int] | None]] = {}
    for k, usage in enumerate((first, second)):
        program = usage.program
        for rule in program.rules:
            words = show_place(program, rule), show_way(program, rule), show_action(program.task.interface, rule.action)
            found.setdefault(words, [None, None])[k] = rule.number, int(usage.fired[rule.number])
    shared = [
        SharedRule(*words, *zip(*(one or (None, 0) for one in both), strict=True)) for words, both in found.items()
    ]
    return tuple(sorted(shared, key=lambda one: (-abs(one.steps[1] - one.steps[0]), one.place, one.when, one.action)))
