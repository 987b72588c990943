"""How a program is used: which rules fire how often in a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.engine.run import Results
from surpass.engine.tally import Tally, tally
from surpass.printing import Printed, count, wrap
from surpass.programs.extract import Extraction
from surpass.programs.listing import list_program
from surpass.programs.program import Program
from surpass.programs.words import show_action, show_place, show_test
from surpass.tasks.task import Instances


class TableRow(NamedTuple):
    """An observation that occurs with a program, and what the program does."""

    observation: int
    says: str
    """The observation in words."""
    action: str
    rule: int | None
    """The number of the rule that gives the action, from 1 on."""
    steps: int
    """How often it occurred in the run."""


@dataclass(frozen=True, eq=False, repr=False)
class Usage(Printed):
    """A program, and what became of its rules in a run; prints as the program with the use of each rule."""

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

    def table(self) -> list[TableRow]:
        """Return every observation that occurs with the program."""
        program, interface, seen = self.program, self.program.task.interface, self.observations
        steps = dict(zip(self.counted.observations.tolist(), self.counted.counts.tolist(), strict=True))
        answers = (seen, program.actions(seen), program.rules_for(seen))
        return [
            TableRow(
                observation,
                interface.describe(observation),
                show_action(interface, action),
                rule + 1 if rule >= 0 else None,
                steps.get(observation, 0),
            )
            for observation, action, rule in zip(*(array.tolist() for array in answers), strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the program as plain data: how many rules and places, each rule with its use, and its origin."""
        program, results, evidence = self.program, self.results, self.extraction.evidence
        interface = program.task.interface
        return {
            "agent": program.name,
            "task": program.task.name,
            "rules": len(program.rules),
            "places": len(program.places),
            "listing": [
                {
                    "place": show_place(interface, function, place),
                    "conditions": [show_test(interface, test) for test in rule.conditions],
                    "action": show_action(interface, rule.action),
                    "share": steps / max(1, self.steps),
                    "steps": steps,
                    "observations": covered,
                }
                for (function, place, rule), steps, covered in zip(
                    program.placed, self.fired.tolist(), self.covered.tolist(), strict=True
                )
            ],
            "code": [line.text for line in list_program(program)],
            "observations": len(self.observations),
            "instances": evidence.instances if evidence else None,
            "rounds": [one._asdict() for one in evidence.rounds] if evidence else None,
            "typical": {
                "instances": len(results.sizes),
                "sizes": np.unique(results.sizes).tolist(),
                "solved": float(results.solved.mean()),
                "steps": self.steps,
                "unseen_steps": self.unseen,
                "instructions": steps_by_instruction(self),
            },
        }

    def __str__(self) -> str:
        return f"{self.program.listing(self._columns)}\n" + "".join(
            f"{wrap(line, '  ', first='')}\n" for line in self._explain()
        )

    def _columns(self, rules: tuple[int, ...]) -> tuple[str, str]:
        """Return what share of the steps some rules take, and how many observations they answer."""
        if not rules:
            return "", ""
        fired, covered = (sum(int(of_rule[rule]) for rule in rules) for of_rule in (self.fired, self.covered))
        return f"{fired / max(1, self.steps):.1%}", f"{covered:,}"

    def _explain(self) -> list[str]:
        """Return where the rules come from and what the numbers are of, in sentences."""
        results, evidence = self.results, self.extraction.evidence
        run = f"{count(len(results.sizes), 'instance')} of size {int(results.sizes[0])}"
        found = [f"Steps: shares of {self.steps:,} on {run}, {results.solved.mean():.1%} of them solved."]
        if evidence is None:
            return [*found, "The agent is this program. Where no rule fits, it has no action."]
        occurred = count(len(self.observations), "observation")
        found.append(
            f"The rules do what the agent does on each of {occurred} that occurred in {evidence.instances:,} instances."
        )
        new, wrong = (sum(getattr(one, name) for one in evidence.rounds) for name in ("new", "wrong"))
        held = f"all but {wrong:,} and were then written again" if wrong else "all"
        if new:
            late = f"{new:,} of them first occurred when the rules were written already"
            found.append(f"{late}; they had the agent's action for {held}.")
        if len(self.observations) == self.program.task.interface.observation_count:
            return [*found, "There are no other observations."]
        found.append("On any other observation the program follows the rules; where no rule fits, it has no action.")
        if self.unseen:
            found.append(f"Such observations occurred at {count(self.unseen, 'step')} of this run.")
        return found


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
