"""How a program is used: which rules fire how often, and where two programs part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from surpass.engine.run import Results
from surpass.engine.tally import Tally, tally
from surpass.programs.extract import Extraction
from surpass.programs.program import Program
from surpass.programs.words import show_rule
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

    extraction: Extraction
    counted: Tally
    fired: Ints
    """[rules] at how many steps each rule gave the action."""

    @property
    def program(self) -> Program:
        """The program that was run."""
        return self.extraction.program

    @property
    def results(self) -> Results:
        """What became of the instances."""
        return self.counted.results

    @property
    def steps(self) -> int:
        """All steps of the run."""
        return int(self.counted.counts.sum())

    @property
    def observations(self) -> Ints:
        """What occurs: the observations of the table that the program was taken from; without one, those of the run."""
        table = self.extraction.table
        return self.counted.observations if table is None else table.observations

    @cached_property
    def covered(self) -> Ints:
        """[rules] for how many of `observations` each rule gives the action."""
        rules = self.program.rules_for(self.observations)
        return np.bincount(rules[rules >= 0], minlength=len(self.program.rules))

    @property
    def unseen(self) -> int:
        """At how many steps of the run the observation is none of those that the program was taken from."""
        return int(self.counted.counts[~np.isin(self.counted.observations, self.observations)].sum())


def measure_use(extraction: Extraction, instances: Instances, progress: Callable[[int], None] | None = None) -> Usage:
    """Return how often each rule of a program fires on some instances."""
    program = extraction.program
    counted = tally(program, instances, progress=progress)
    rules = program.rules_for(counted.observations)
    fires = rules >= 0
    fired = np.bincount(rules[fires], weights=counted.counts[fires], minlength=len(program.rules)).astype(np.int64)
    return Usage(extraction, counted, fired)


def steps_by_instruction(usage: Usage) -> dict[str, int]:
    """Return how many steps a run spent on each instruction."""
    interface = usage.program.task.interface
    instruction = interface.action_rows[usage.counted.actions, 0]
    counts = np.bincount(instruction, weights=usage.counted.counts, minlength=len(interface.instructions))
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
    unseen: int
    """At how many steps the observation is none that occurs with the other program."""
    ways: tuple[Parting, ...]
    """The rest, the most frequent first."""


def find_partings(usage: Usage, other: Usage) -> Partings:
    """Return where a run of a program differs from another program."""
    counted = usage.counted
    occurs = np.isin(counted.observations, other.observations)
    instead = other.program.actions(counted.observations)
    rules = usage.program.rules_for(counted.observations)
    parted = np.flatnonzero(occurs & (instead != counted.actions))
    ways = []
    for rule, action in np.unique(np.column_stack([rules[parted], instead[parted]]), axis=0).tolist():
        rows = parted[(rules[parted] == rule) & (instead[parted] == action)]
        ways.append(Parting(rule, action, int(counted.counts[rows].sum()), len(rows)))
    unseen = int(counted.counts[~occurs].sum())
    agreed = usage.steps - unseen - sum(way.steps for way in ways)
    return Partings(agreed, unseen, tuple(sorted(ways, key=lambda way: (-way.steps, way.rule, way.instead))))


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
        for number, fired in enumerate(usage.fired.tolist()):
            both = found.setdefault(show_rule(usage.program, number), [None, None])
            # A rule that stands at its place twice fires only where it stands first.
            both[k] = both[k] or (number, fired)
    shared = [
        SharedRule(*words, *zip(*(one or (None, 0) for one in both), strict=True)) for words, both in found.items()
    ]
    return tuple(sorted(shared, key=lambda one: (-abs(one.steps[1] - one.steps[0]), one.place, one.when, one.action)))
