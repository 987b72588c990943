"""Programs: at each place in the code, ordered rules; the first whose conditions all hold gives the action.

    Program                 an agent: a total function of its rules, and nothing else
    └── Function            the code of one function, or of several that do the same
        └── Place           where the code is after one of some actions
            └── Rule        conditions that must all hold, and the action

In an interface with a previous action, that action tells where in the code we are, and the function, if there is one,
tells in which function. After an action `a` in a function the code continues at the place of the same function whose
`after` holds `a` (for a call: once it has returned); where there is none, the action ends the function or the episode.
An interface without a previous action has one function with one place, to which every action returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.machine.features import CurrentFunction, PreviousAction
from surpass.machine.interface import Interface
from surpass.printing import Printed
from surpass.programs.evaluate import CompiledRules, answer, compile_rules, find_rules
from surpass.tasks.task import Task

START = 0
"""The value number of the previous action where there is none: on entering a function."""


@dataclass(frozen=True)
class Test:
    """A condition on one feature: its value is one of some."""

    feature: int
    """The feature's position in the interface."""
    values: frozenset[int]
    """The value numbers for which it holds."""

    def negated(self, interface: Interface) -> Test:
        """Return the test that holds for all other values of the feature."""
        return Test(self.feature, frozenset(range(interface.radices[self.feature])) - self.values)


@dataclass(frozen=True)
class Rule:
    """An action and the conditions under which it is taken; without conditions, always."""

    conditions: tuple[Test, ...]
    action: int


@dataclass(frozen=True)
class Place:
    """A place in the code of a function: the first rule that fits gives the action; if none does, there is none."""

    after: tuple[int, ...]
    """The values of the previous action that lead here: `START` for entering the function, else 1 + the action's
    number. Empty in an interface without a previous action."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Function:
    """The code of a function: its places."""

    ids: tuple[int, ...]
    """The value numbers of the function's feature that run this code; empty in an interface without that feature."""
    places: tuple[Place, ...]


class PlacedRule(NamedTuple):
    """A rule with where it stands."""

    function: Function
    place: Place
    rule: Rule


@dataclass(frozen=True, repr=False)
class Program(Printed):
    """An agent that is a page of rules; two are equal if they have the same task and the same rules."""

    name: str = field(compare=False)
    task: Task
    functions: tuple[Function, ...]

    @cached_property
    def placed(self) -> tuple[PlacedRule, ...]:
        """Every rule with where it stands, in order: a rule's number is its position here."""
        return tuple(PlacedRule(f, place, rule) for f in self.functions for place in f.places for rule in place.rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, in order."""
        return tuple(placed.rule for placed in self.placed)

    @property
    def places(self) -> tuple[Place, ...]:
        """Every place, in order."""
        return tuple(place for function in self.functions for place in function.places)

    @cached_property
    def compiled(self) -> CompiledRules:
        """The rules as the compiled evaluator reads them."""
        return compile_rules(self)

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION` where no rule fits."""
        found = np.empty(len(observations), np.int64)
        answer(self.compiled, np.ascontiguousarray(observations, np.int64), found)
        return found

    def rules_for(self, observations: Ints) -> Ints:
        """Return the number [m] of the rule that fires for each packed observation [m], or `NO_RULE`."""
        found = np.empty(len(observations), np.int64)
        find_rules(self.compiled, np.ascontiguousarray(observations, np.int64), found)
        return found

    def __str__(self) -> str:
        return self.listing()

    def listing(self, columns: Callable[[tuple[int, ...]], tuple[str, str]] | None = None) -> str:
        """Return the program as pseudo-code, each line with the numbers of its rules.

        `columns` may add a share of the steps and a number of observations for the rules of a line.
        """
        from surpass.programs.listing import write_listing

        return write_listing(self, columns)

    @property
    def text(self) -> str:
        """The program as the file that `write` writes."""
        from surpass.programs.text import write_text

        return write_text(self)

    def to_python(self) -> str:
        """Return a source file in Python that needs nothing of surpass."""
        from surpass.programs.export import export_program

        return export_program(self, "python")

    def to_c(self) -> str:
        """Return a source file in C that needs nothing of surpass."""
        from surpass.programs.export import export_program

        return export_program(self, "c")

    def as_json(self) -> dict[str, Any]:
        """Return the program as plain data: its task, how many rules and places it has, and its file's text."""
        counts = {"rules": len(self.rules), "places": len(self.places)}
        return {"agent": self.name, "task": self.task.name, **counts, "text": self.text}

    def write(self, path: Path | str) -> None:
        """Write the program to a file that a person reads and edits, and that `read_program` reads back."""
        from surpass.programs.text import write_program_file

        write_program_file(self, Path(path))


def place_features(interface: Interface) -> tuple[int | None, int | None]:
    """Return the positions of the features that tell where in the code we are: the function and the previous action."""
    previous = next((k for k, f in enumerate(interface.features) if isinstance(f, PreviousAction)), None)
    function = next((k for k, f in enumerate(interface.features) if isinstance(f, CurrentFunction)), None)
    return (None if previous is None else function), previous


def testable_features(interface: Interface) -> dict[int, int]:
    """Return the positions of the features that rules may test, each with how many values it has."""
    places = place_features(interface)
    return {k: radix for k, radix in enumerate(interface.radices) if k not in places and radix > 1}
