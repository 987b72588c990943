"""Programs: an agent's table as functions, places in them and a few rules at each place.

    Program                 an agent; also asks the agent it was taken from, if it has one, about what it never met
    └── Function            the code of one function, or of several that do the same
        └── Location        a place in the code: where we are after one of some actions
            └── Node        what to do there: a `Branch` on some conditions, or a `Leaf` with the action

In an interface with a previous action, that action tells where in the code we are, and the feature `function`, if there
is one, tells in which function. After an action `a` in a function the code goes on at the location of the same function
whose `after` holds `a` (for a call: once it has returned); where there is none, the action ends the function or the
episode. An interface without a previous action has one function with one location, to which every action comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surpass.machine.features import PreviousAction
from surpass.machine.interface import Interface
from surpass.table import NO_ACTION, Agent, Table
from surpass.tasks.task import Task

__all__ = [
    "Branch",
    "Evidence",
    "Function",
    "Leaf",
    "Location",
    "Node",
    "Program",
    "Round",
    "Rule",
    "Test",
    "all_hold",
    "follow_code",
    "leaves",
    "number_rules",
    "place_features",
]

Ints = npt.NDArray[np.int64]

NO_RULE = -1
"""The rule of an observation at a place that the program does not have."""
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
class Leaf:
    """One action."""

    action: int
    rule: int = NO_RULE
    """The number of the rule that ends here: its position in `Program.rules`."""


@dataclass(frozen=True)
class Branch:
    """Goes on with `then` if every test holds, else with `otherwise`."""

    tests: tuple[Test, ...]
    then: Node
    otherwise: Node


Node = Leaf | Branch


@dataclass(frozen=True)
class Location:
    """A place in the code of a function."""

    after: tuple[int, ...]
    """The values of the previous action that lead here: 0 for entering the function, else 1 + the action's number.
    Empty in an interface without a previous action."""
    code: Node


@dataclass(frozen=True)
class Function:
    """The code of a function: the locations in the order in which they are first reached."""

    ids: tuple[int, ...]
    """The value numbers of the feature `function` that run this code; empty in an interface without that feature."""
    locations: tuple[Location, ...]

    def location_after(self, previous: int) -> Location | None:
        """Return where the code goes on after a value of the previous action, if it does."""
        for location in self.locations:
            if previous in location.after or not location.after:
                return location
        return None


@dataclass(frozen=True)
class Rule:
    """One way through the code of a location: the action and when it is taken."""

    number: int
    function: int
    """The position of its function in the program."""
    location: int
    """The position of its location in the function."""
    path: tuple[tuple[tuple[Test, ...], bool], ...]
    """The tests of each branch on the way, and whether all of them hold."""
    action: int


class Round(NamedTuple):
    """What fresh instances showed after the rules were written."""

    instances: int
    new: int
    """How many observations they met that were not met before."""
    wrong: int
    """For how many of these the rules alone gave another action than the agent; if any, they were written again."""


class Evidence(NamedTuple):
    """What a program was taken from."""

    instances: int
    """On how many instances the agent was run."""
    rounds: tuple[Round, ...]
    """The rounds of fresh instances on which the rules were tried, the last ones last."""


@dataclass(frozen=True, eq=False)
class Program:
    """An agent that is a page of rules.

    On the observations of its table it does exactly what the agent it was taken from did. What it does on another
    observation is this: it asks `origin`, the agent it was taken from, while that is at hand; else it follows the
    rules as they are; and at a place that it does not have, it has no action. `unmet` keeps these observations.
    """

    name: str
    task: Task
    functions: tuple[Function, ...]
    table: Table
    origin: Agent | None = None
    evidence: Evidence | None = None
    """What it was taken from, if an agent was run for it."""
    unmet: set[int] = field(default_factory=set)
    """The observations asked about so far that are not in the table."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, by its number."""
        found = []
        for f, function in enumerate(self.functions):
            for place, location in enumerate(function.locations):
                for leaf, path in _paths(location.code, ()):
                    found.append(Rule(leaf.rule, f, place, path, leaf.action))
        return tuple(sorted(found, key=lambda rule: rule.number))

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        answers = self.follow(observations)
        new = ~self.table.holds(observations)
        if new.any():
            self.unmet.update(observations[new].tolist())
            if self.origin is not None:
                answers[new] = self.origin.actions(observations[new])
        return answers

    def follow(self, observations: Ints) -> Ints:
        """Return the action [m] that the rules alone give for each observation [m], or `NO_ACTION`."""
        return self._read_leaves(observations, NO_ACTION, lambda leaf: leaf.action)

    def rules_for(self, observations: Ints) -> Ints:
        """Return the number [m] of the rule for each observation [m], or `NO_RULE`."""
        return self._read_leaves(observations, NO_RULE, lambda leaf: leaf.rule)

    def _read_leaves(self, observations: Ints, nothing: int, read: Callable[[Leaf], int]) -> Ints:
        """Return what `read` finds in the leaf for each observation [m], or `nothing` at a place that is not there."""
        digits = self.task.interface.digits(observations)
        found = np.full(len(observations), nothing, np.int64)
        function_feature, previous_feature = place_features(self.task.interface)
        for function in self.functions:
            inside = np.arange(len(observations))
            if function_feature is not None:
                inside = inside[np.isin(digits[inside, function_feature], function.ids)]
            for location in function.locations:
                here = inside
                if previous_feature is not None:
                    here = inside[np.isin(digits[inside, previous_feature], location.after)]
                _follow(location.code, digits, here, found, read)
        return found


def place_features(interface: Interface) -> tuple[int | None, int | None]:
    """Return the positions of the features that tell where in the code we are: the function and the previous action."""
    previous = next((k for k, f in enumerate(interface.features) if isinstance(f, PreviousAction)), None)
    return (None if previous is None else interface.feature_index.get("function")), previous


def number_rules(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Return functions whose leaves carry the numbers of their rules, in the order of the code."""
    numbers = count()

    def walk(node: Node) -> Node:
        if isinstance(node, Branch):
            return Branch(node.tests, walk(node.then), walk(node.otherwise))
        return Leaf(node.action, next(numbers))

    return tuple(
        Function(function.ids, tuple(Location(place.after, walk(place.code)) for place in function.locations))
        for function in functions
    )


def follow_code(node: Node, digits: Ints) -> Ints:
    """Return the action [m] that code gives for each observation, given as value numbers [m, F]."""
    actions = np.empty(len(digits), np.int64)
    _follow(node, digits, np.arange(len(digits)), actions, lambda leaf: leaf.action)
    return actions


def all_hold(tests: tuple[Test, ...], digits: Ints) -> npt.NDArray[np.bool_]:
    """Tell for each observation, given as value numbers [m, F], whether every test holds."""
    holds = np.ones(len(digits), np.bool_)
    for test in tests:
        holds &= np.isin(digits[:, test.feature], list(test.values))
    return holds


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves of code, first the `then` part of each branch."""
    for leaf, _ in _paths(node, ()):
        yield leaf


def _paths(
    node: Node, path: tuple[tuple[tuple[Test, ...], bool], ...]
) -> Iterator[tuple[Leaf, tuple[tuple[tuple[Test, ...], bool], ...]]]:
    """Yield each leaf below a node with the way to it."""
    if isinstance(node, Leaf):
        yield node, path
    else:
        yield from _paths(node.then, (*path, (node.tests, True)))
        yield from _paths(node.otherwise, (*path, (node.tests, False)))


def _follow(node: Node, digits: Ints, rows: Ints, found: Ints, read: Callable[[Leaf], int]) -> None:
    """Write what `read` finds in the leaf of each of the observations `rows` into `found` in place."""
    # Chains of branches are long and their `then` parts short: the loop goes down the chain.
    while isinstance(node, Branch):
        if not len(rows):
            return
        holds = all_hold(node.tests, digits[rows])
        _follow(node.then, digits, rows[holds], found, read)
        node, rows = node.otherwise, rows[~holds]
    found[rows] = read(node)
