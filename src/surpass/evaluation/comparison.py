"""Two programs on the same instances: where they part, and where steps are saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surpass.errors import SettingError
from surpass.evaluation.scores import SizeScores, score
from surpass.printing import Printed, count, show_number, text_table, wrap
from surpass.programs.usage import Usage, steps_by_instruction
from surpass.programs.words import show_action, show_rule

MOST_LINES = 20
"""How many lines of each part are printed; all of them are in the plain data."""


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


@dataclass(frozen=True, eq=False, repr=False)
class ProgramComparison(Printed):
    """Two programs of a task and their use on the same instances."""

    first: Usage
    second: Usage

    def __post_init__(self) -> None:
        first, second = self.first.program, self.second.program
        if first.task is not second.task:
            raise SettingError(f"{second.name} works on {second.task.name}, not on {first.task.name}")

    @property
    def scores(self) -> SizeScores:
        """The scores of the first program, with the difference to the second."""
        return score(self.first.program.task, self.first.results, self.second.results)

    def as_json(self) -> dict[str, Any]:
        """Return the first program, the second (`against`) and how they compare (`comparison`) as plain data."""
        spent, row = [steps_by_instruction(usage) for usage in (self.first, self.second)], self.scores
        comparison = {
            "measure": self.first.program.task.measure,
            "difference": row.difference,
            "difference_ci95": row.difference_ci95 if row.instances > 1 else None,
            "instructions": [{"instruction": k, "steps": v, "against_steps": spent[1][k]} for k, v in spent[0].items()],
            "rules": [
                {
                    "place": shared.place,
                    "when": shared.when,
                    "action": shared.action,
                    "rule": None if shared.rules[0] is None else shared.rules[0] + 1,
                    "against_rule": None if shared.rules[1] is None else shared.rules[1] + 1,
                    "steps": shared.steps[0],
                    "against_steps": shared.steps[1],
                }
                for shared in match_rules(self.first, self.second)
            ],
            "partings": _partings_as_json(self.first, self.second),
            "against_partings": _partings_as_json(self.second, self.first),
        }
        return {**self.first.as_json(), "against": self.second.as_json(), "comparison": comparison}

    def __str__(self) -> str:
        parts = (self._totals(), self._instructions(), self._rules())
        return "\n".join((*parts, _show_partings(self.first, self.second), _show_partings(self.second, self.first)))

    def _totals(self) -> str:
        measure, row = self.first.program.task.measure, self.scores
        digits = 3 if measure == "reward" else 2
        rows = []
        for usage in (self.first, self.second):
            mean = (usage.results.rewards if measure == "reward" else usage.results.steps).mean()
            rules, solved = len(usage.program.rules), usage.results.solved.mean()
            rows.append([usage.program.name, f"{rules:,}", f"{solved:.1%}", show_number(mean, digits)])
        noise = show_number(row.difference_ci95, digits)
        gain = "-" if row.difference is None else f"{row.difference:+,.{digits}f}"
        note = f"the first has {gain} ± {noise} {measure} per instance"
        title = f"On the same {count(row.instances, 'instance')} of size {row.size}"
        return text_table(title, ["program", "rules", "solved", f"mean {measure}"], rows, note)

    def _instructions(self) -> str:
        number = len(self.first.results.sizes)
        spent = [steps_by_instruction(usage) | {"all": usage.steps} for usage in (self.first, self.second)]
        rows = [
            [name, *(show_number(steps / number, 2) for steps in (ours, spent[1][name], spent[1][name] - ours))]
            for name, ours in spent[0].items()
            if ours or spent[1][name]
        ]
        columns = ["instruction", self.first.program.name, self.second.program.name, "saved"]
        return text_table("Steps per instance, by instruction", columns, rows)

    def _rules(self) -> str:
        number, shared = len(self.first.results.sizes), match_rules(self.first, self.second)
        what = "Steps per instance, by rule (of the first, of the second, saved; - where a program does not have it)"
        lines = [wrap(what, "    ", first="")]
        for one in shared[:MOST_LINES]:
            steps = [
                show_number(spent / number, 2) if rule is not None else "-"
                for spent, rule in zip(one.steps, one.rules, strict=True)
            ]
            saved = (one.steps[1] - one.steps[0]) / number
            numbers = f"  {steps[0]:>9}  {steps[1]:>9}  {saved:>+10,.2f}  "
            lines.append(wrap(_line(one.action, one.when, one.place), " " * (len(numbers) + 2), first=numbers))
        return "\n".join(lines + _rest(len(shared))) + "\n"


def _show_partings(usage: Usage, other: Usage) -> str:
    program, number, partings = usage.program, len(usage.results.sizes), find_partings(usage, other)
    steps = (partings.agreed, partings.unseen, sum(way.steps for way in partings.ways))
    agreed, unseen, parted = (show_number(spent / number, 2) for spent in steps)
    said = (
        f"Of the steps of {program.name} per instance, {other.program.name} does the same at {agreed}, never sees the"
        f" observation at {unseen}, and does something else at {parted}{':' if partings.ways else '.'}"
    )
    lines = [wrap(said, "    ", first="")]
    for way in partings.ways[:MOST_LINES]:
        place, when, action = ("", "else", "no action") if way.rule < 0 else show_rule(program, way.rule)
        instead = show_action(program.task.interface, way.instead)
        spent = f"  {way.steps / number:9,.2f}  "
        lines.append(wrap(_line(f"{action} instead of {instead}", when, place), " " * (len(spent) + 2), first=spent))
    return "\n".join(lines + _rest(len(partings.ways))) + "\n"


def _line(action: str, when: str, place: str) -> str:
    """Return a rule on one line."""
    return action + (", else" if when == "else" else f" if {when}") + (f" ({place})" if place else "")


def _rest(lines: int) -> list[str]:
    return [f"  and {lines - MOST_LINES:,} more, all of them in the JSON"] if lines > MOST_LINES else []


def _partings_as_json(usage: Usage, other: Usage) -> dict[str, Any]:
    interface, partings = usage.program.task.interface, find_partings(usage, other)
    return {
        "agreed_steps": partings.agreed,
        "unseen_steps": partings.unseen,
        "ways": [
            {
                "rule": way.rule + 1,
                "instead": show_action(interface, way.instead),
                "steps": way.steps,
                "observations": way.observations,
            }
            for way in partings.ways
        ],
    }
