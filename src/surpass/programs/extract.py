"""From an agent to its program: collect its table, split it by place, write the code of each place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count

import numpy as np
import numpy.typing as npt

from surpass.agents.agent import Agent, FullViewAgent
from surpass.errors import WrongAnswerError
from surpass.machine.interface import Interface
from surpass.programs.program import (
    START,
    Branch,
    Function,
    Leaf,
    Location,
    Node,
    Program,
    follow_code,
    leaves,
    place_features,
)
from surpass.programs.rules import code_size, write_code
from surpass.programs.table import Collector, Progress, Table, need_table

__all__ = ["check_program", "extract", "write_program"]

Ints = npt.NDArray[np.int64]

TRIED_MERGERS = 200
"""How many pairs of places are written as one to see whether that is shorter."""


def extract(agent: Agent | FullViewAgent, *, seed: int = 0, progress: Progress | None = None) -> Program:
    """Return the program of an agent: exactly what it does on every observation that it was seen to meet."""
    agent = need_table(agent)
    collector = Collector(agent, seed)
    collector.collect(progress)
    return write_program(agent.name, collector.table, agent)


def check_program(program: Program, table: Table) -> None:
    """Raise `WrongAnswerError` unless the rules of a program give every observation of a table its action."""
    given = program.follow(table.observations)
    wrong = np.flatnonzero(given != table.actions)
    if wrong.size:
        seen, interface = int(table.observations[wrong[0]]), program.task.interface
        raise WrongAnswerError(
            f"{program.name} answers {wrong.size} of {len(given)} observations otherwise than its table;"
            f" the first is {seen}: {interface.describe(seen)}"
        )


def write_program(name: str, table: Table, origin: Agent | None = None) -> Program:
    """Return the program of a table."""
    interface = table.task.interface
    digits = interface.digits(table.observations)
    function_feature, previous_feature = place_features(interface)
    scopes = [
        _write_scope(interface, ids, digits[rows], table.actions[rows], previous_feature)
        for ids, rows in _split(digits, function_feature)
    ]
    scopes = _merge_scopes(interface, scopes, previous_feature)
    numbers = count()
    functions = tuple(_number(Function(scope.ids, _in_order(scope.places)), lambda: next(numbers)) for scope in scopes)
    program = Program(name, table.task, functions, table, origin)
    check_program(program, table)
    return program


@dataclass(frozen=True, eq=False)
class _Place:
    """Rows that may be met at one place, and their code."""

    after: tuple[int, ...]
    digits: Ints
    actions: Ints
    code: Node

    @property
    def is_straight(self) -> bool:
        """Whether one action is always taken."""
        return isinstance(self.code, Leaf)


@dataclass(frozen=True, eq=False)
class _Scope:
    """The places of a function."""

    ids: tuple[int, ...]
    digits: Ints
    actions: Ints
    places: list[_Place]

    @property
    def size(self) -> int:
        """The size of the code, with one for each place."""
        return sum(1 + code_size(place.code) for place in self.places)


def _split(digits: Ints, feature: int | None) -> list[tuple[tuple[int, ...], Ints]]:
    """Return the values of a feature that occur, each with its rows; all rows where there is no such feature."""
    if feature is None:
        return [((), np.arange(len(digits)))] if len(digits) else []
    column = digits[:, feature]
    return [((int(value),), np.flatnonzero(column == value)) for value in np.unique(column)]


def _write_scope(
    interface: Interface, ids: tuple[int, ...], digits: Ints, actions: Ints, previous_feature: int | None
) -> _Scope:
    """Return a function with places that do the same made one."""
    places = [
        _write_place(interface, after, digits[rows], actions[rows]) for after, rows in _split(digits, previous_feature)
    ]
    return _Scope(ids, digits, actions, _merge_places(interface, places))


def _write_place(interface: Interface, after: tuple[int, ...], digits: Ints, actions: Ints) -> _Place:
    features = [k for k in range(len(interface.features)) if k not in place_features(interface)]
    return _Place(after, digits, actions, write_code(interface, digits, actions, features))


def _merge_places(interface: Interface, places: list[_Place]) -> list[_Place]:
    """Return places with those made one whose common code is shorter.

    A place with one action for all stays as it is, so that straight code stays straight, and only joins its like.
    """
    straight: dict[int, list[_Place]] = {}
    for place in places:
        if isinstance(place.code, Leaf):
            straight.setdefault(place.code.action, []).append(place)
    merged = [_join(alike, alike[0].code) for alike in straight.values()]
    branching = [place for place in places if not place.is_straight]
    tried: set[tuple[int, int]] = set()
    while True:
        best: tuple[int, _Place, _Place, _Place] | None = None
        for a, b in combinations(branching, 2):
            if best is not None and min(code_size(a.code), code_size(b.code)) <= best[0]:
                continue
            if (id(a), id(b)) in tried or not _agree(interface, [a, b]):
                continue
            fitting = _fit_one(a, b)
            if fitting is None and len(tried) < TRIED_MERGERS:
                fitting = _write_place(
                    interface,
                    (*a.after, *b.after),
                    np.concatenate([a.digits, b.digits]),
                    np.concatenate([a.actions, b.actions]),
                )
            saved = 0 if fitting is None else code_size(a.code) + code_size(b.code) - code_size(fitting.code)
            if fitting is None or saved <= 0:
                tried.add((id(a), id(b)))
            elif best is None or saved > best[0]:
                best = saved, a, b, fitting
        if best is None:
            return [*merged, *branching]
        _, a, b, joined = best
        branching = [place for place in branching if place is not a and place is not b] + [joined]


def _join(places: Sequence[_Place], code: Node) -> _Place:
    return _Place(
        tuple(sorted(value for place in places for value in place.after)),
        np.concatenate([place.digits for place in places]),
        np.concatenate([place.actions for place in places]),
        code,
    )


def _fit_one(a: _Place, b: _Place) -> _Place | None:
    """Return two places as one if the code of either does for both."""
    for first, second in ((a, b), (b, a)):
        if (follow_code(first.code, second.digits) == second.actions).all():
            return _join((a, b), first.code)
    return None


def _agree(interface: Interface, places: Sequence[_Place]) -> bool:
    """Tell whether places take the same action wherever the same is seen, but for the function and previous action."""
    digits = np.concatenate([place.digits for place in places]).copy()
    for k in place_features(interface):
        if k is not None:
            digits[:, k] = 0
    seen = interface.pack_digits(digits)
    actions = np.concatenate([place.actions for place in places])
    pairs = np.unique(np.stack([seen, actions]), axis=1)
    return bool(len(np.unique(pairs[0])) == pairs.shape[1])


def _merge_scopes(interface: Interface, scopes: list[_Scope], previous_feature: int | None) -> list[_Scope]:
    """Return functions with those made one whose common code is shorter."""
    for a, b in combinations(scopes, 2):
        digits, actions = np.concatenate([a.digits, b.digits]), np.concatenate([a.actions, b.actions])
        parts = [
            _Place(after, digits[rows], actions[rows], Leaf(0)) for after, rows in _split(digits, previous_feature)
        ]
        if not all(_agree(interface, [part]) for part in parts):
            continue
        both = _write_scope(interface, (*a.ids, *b.ids), digits, actions, previous_feature)
        if both.size < a.size + b.size:
            rest = [scope for scope in scopes if scope is not a and scope is not b]
            return _merge_scopes(interface, [both, *rest], previous_feature)
    return sorted(scopes, key=lambda scope: scope.ids)


def _in_order(places: Sequence[_Place]) -> tuple[Location, ...]:
    """Return the locations in the order in which the code reaches them from its start."""
    waiting = [Location(tuple(sorted(place.after)), place.code) for place in places]
    ordered: list[Location] = []
    reached = [START]
    while waiting:
        found = next((p for value in reached for p in waiting if value in p.after), waiting[0])
        waiting.remove(found)
        ordered.append(found)
        reached += [leaf.action + 1 for leaf in leaves(found.code)]
    return tuple(ordered)


def _number(function: Function, next_number: Callable[[], int]) -> Function:
    """Return a function whose leaves carry the numbers of their rules."""

    def walk(node: Node) -> Node:
        if isinstance(node, Branch):
            return Branch(node.tests, walk(node.then), walk(node.otherwise))
        return Leaf(node.action, next_number())

    return replace(function, locations=tuple(Location(p.after, walk(p.code)) for p in function.locations))
