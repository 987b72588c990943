"""From an agent to its program: collect its table, split it by place, write the code of each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.engine.run import AnyAgent
from surpass.errors import SettingError, WrongAnswerError
from surpass.machine.interface import Interface
from surpass.printing import Progress
from surpass.programs.collect import Collector
from surpass.programs.program import START, Function, Place, Program, place_features
from surpass.programs.rules import SearchEffort, code_size, write_code
from surpass.programs.tree import Branch, Leaf, Node, as_rules, follow_code, leaves
from surpass.table import Agent, Table

QUIET_ROUNDS = 2
"""How many rounds of fresh instances in a row must show nothing that the rules get wrong."""
MOST_ROUNDS = 40
"""Most agents need two to ten; a long program that saw 36,000 observations was quiet after 24."""
MOST_EFFORT = 4
"""How many times as many instances as at first a round may have; they double with each that shows something wrong."""
LONG_PROGRAM = 100
"""A program of more rules than this is written again only once, after all rounds."""
TRIED_MERGERS = 200
"""How many pairs of places are written as one to see whether that is shorter."""


class FreshRound(NamedTuple):
    """What fresh instances showed after the rules were written."""

    instances: int
    new: int
    """How many observations occurred in them for the first time."""
    wrong: int
    """For how many of these the rules gave another action than the agent; if any, they were written again."""


class Evidence(NamedTuple):
    """What a program was taken from."""

    instances: int
    """On how many instances the agent was run."""
    rounds: tuple[FreshRound, ...]
    """The rounds of fresh instances on which the rules were tried, the last ones last."""


class Extraction(NamedTuple):
    """The program of an agent, and what it was taken from; an agent that is a program was taken from nothing."""

    program: Program
    table: Table | None = None
    """Every observation that occurred, with the agent's action."""
    evidence: Evidence | None = None


def extract(agent: AnyAgent, *, seed: int = 0, progress: Progress | None = None) -> Extraction:
    """Return the program of an agent: exactly what it does on every observation that occurred; a program is its own.

    The agent is run on every small instance and on a round of drawn ones, and the rules are written. Then come more
    rounds of fresh instances: where the agent and the rules differ on an observation that occurs for the first time,
    the rules are written again. It ends after `QUIET_ROUNDS` rounds without a difference, or when every observation
    that the task can show has occurred.
    """
    if isinstance(agent, Program):
        return Extraction(agent)
    if not isinstance(agent, Agent):
        raise SettingError(f"{agent.name} sees whole lists, so it has no table to make a program of")
    collector = Collector(agent, seed)
    collector.collect_small(progress)
    collector.collect(progress)
    program = write_program(agent.name, collector.table, progress)
    history: list[FreshRound] = []
    is_stale, effort = False, 1
    while (
        not collector.is_complete
        and len(history) < MOST_ROUNDS
        and (len(history) < QUIET_ROUNDS or any(r.wrong for r in history[-QUIET_ROUNDS:]))
    ):
        known, before = collector.table.observations, collector.instances
        collector.doing = f"round {len(history) + 1} of fresh instances, until {QUIET_ROUNDS} change no rule"
        collector.collect(progress, effort=effort)
        collector.collect_changed(progress)
        observations, actions = collector.table.entries()
        new = np.isin(observations, known, invert=True)
        wrong = int((program.actions(observations[new]) != actions[new]).sum())
        history.append(FreshRound(collector.instances - before, int(new.sum()), wrong))
        is_stale = is_stale or wrong > 0
        effort = min(MOST_EFFORT, 2 * effort) if wrong else effort
        if is_stale and len(program.rules) <= LONG_PROGRAM:
            program, is_stale = write_program(agent.name, collector.table, progress), False
    if is_stale:
        program = write_program(agent.name, collector.table, progress)
    check_program(program, collector.table)
    return Extraction(program, collector.table, Evidence(collector.instances, tuple(history)))


def check_program(program: Program, table: Table) -> None:
    """Raise `WrongAnswerError` unless the rules of a program give every observation of a table its action."""
    observations, actions = table.entries()
    wrong = np.flatnonzero(program.actions(observations) != actions)
    if wrong.size:
        seen, interface = int(observations[wrong[0]]), program.task.interface
        raise WrongAnswerError(
            f"{program.name} answers {wrong.size} of {len(actions)} observations otherwise than its table;"
            f" the first is {seen}: {interface.describe(seen)}"
        )


def write_program(name: str, table: Table, progress: Progress | None = None) -> Program:
    """Return the program of a table."""
    scopes = _ProgramWriter(table.task.interface, progress).write(table)
    program = Program(name, table.task, tuple(Function(scope.ids, _in_order(scope.places)) for scope in scopes))
    check_program(program, table)
    return program


@dataclass(frozen=True, eq=False)
class _WrittenPlace:
    """What can be seen at one place: rows [m, F] and their actions [m]; and the code for it."""

    after: tuple[int, ...]
    digits: Ints
    actions: Ints
    code: Node

    @property
    def size(self) -> int:
        """The size of the code."""
        return code_size(self.code)


@dataclass(frozen=True, eq=False)
class _WrittenFunction:
    """The places of a function, and all their rows."""

    ids: tuple[int, ...]
    digits: Ints
    actions: Ints
    places: list[_WrittenPlace]

    @property
    def size(self) -> int:
        """The size of the code, with one for each place."""
        return sum(1 + place.size for place in self.places)


class _ProgramWriter:
    """Writes the code of every place, and makes one of those whose common code is shorter."""

    def __init__(self, interface: Interface, progress: Progress | None = None) -> None:
        self.interface = interface
        self.function, self.previous = place_features(interface)
        self.features = [k for k in range(len(interface.features)) if k not in (self.function, self.previous)]
        self.effort = SearchEffort(progress=progress)
        self.mergers = TRIED_MERGERS
        self._tried: dict[tuple[_WrittenPlace, _WrittenPlace], _WrittenPlace | None] = {}

    def write(self, table: Table) -> list[_WrittenFunction]:
        """Return the functions of a table."""
        observations, actions = table.entries()
        digits = self.interface.digits(observations)
        scopes = [self._write_scope(ids, digits[rows], actions[rows]) for ids, rows in _split(digits, self.function)]
        return sorted(self._merge_scopes(scopes), key=lambda scope: scope.ids)

    def _write_scope(self, ids: tuple[int, ...], digits: Ints, actions: Ints) -> _WrittenFunction:
        places = [
            self._write_place(after, digits[rows], actions[rows]) for after, rows in _split(digits, self.previous)
        ]
        return _WrittenFunction(ids, digits, actions, self._merge_places(places))

    def _write_place(self, after: tuple[int, ...], digits: Ints, actions: Ints) -> _WrittenPlace:
        return _WrittenPlace(
            after, digits, actions, write_code(self.interface, digits, actions, self.features, self.effort)
        )

    def _merge_scopes(self, scopes: list[_WrittenFunction]) -> list[_WrittenFunction]:
        """Return functions; those whose common code is shorter are merged."""
        for a, b in combinations(scopes, 2):
            digits, actions = np.concatenate([a.digits, b.digits]), np.concatenate([a.actions, b.actions])
            parts = [rows for _, rows in _split(digits, self.previous)]
            if all(self._agree(digits[rows], actions[rows]) for rows in parts):
                both = self._write_scope((*a.ids, *b.ids), digits, actions)
                if both.size < a.size + b.size:
                    return self._merge_scopes([both, *(scope for scope in scopes if scope not in (a, b))])
        return scopes

    def _merge_places(self, places: list[_WrittenPlace]) -> list[_WrittenPlace]:
        """Return places; those whose common code is shorter are merged.

        A place with one action for all only joins its like, so that straight code stays straight.
        """
        straight: dict[int, list[_WrittenPlace]] = {}
        for place in places:
            if isinstance(place.code, Leaf):
                straight.setdefault(place.code.action, []).append(place)
        merged = [_join(alike, alike[0].code) for alike in straight.values()]
        branching = [place for place in places if isinstance(place.code, Branch)]
        while True:
            pairs = sorted(combinations(branching, 2), key=lambda pair: -min(place.size for place in pair))
            best: tuple[int, tuple[_WrittenPlace, _WrittenPlace], _WrittenPlace] | None = None
            for a, b in pairs:
                # Common code is no smaller than either part's, so the smaller part is the most that can be saved.
                if best is not None and min(a.size, b.size) <= best[0]:
                    break
                both = self._merge(a, b)
                saved = 0 if both is None else a.size + b.size - both.size
                if both is not None and saved > (best[0] if best else 0):
                    best = saved, (a, b), both
            if best is None:
                return [*merged, *branching]
            branching = [*(place for place in branching if place not in best[1]), best[2]]

    def _merge(self, a: _WrittenPlace, b: _WrittenPlace) -> _WrittenPlace | None:
        """Return two places as one, unless they differ or too much has been tried."""
        both = _join((a, b), a.code)
        if not self._agree(both.digits, both.actions):
            return None
        for first, second in ((a, b), (b, a)):
            if (follow_code(first.code, second.digits) == second.actions).all():
                return replace(both, code=first.code)
        if (a, b) not in self._tried:
            self.mergers -= 1
            self._tried[a, b] = self._write_place(both.after, both.digits, both.actions) if self.mergers >= 0 else None
        return self._tried[a, b]

    def _agree(self, digits: Ints, actions: Ints) -> bool:
        """Tell whether rows that show the same, but for the function and the previous action, have the same action."""
        seen = digits[:, self.features]
        return len(np.unique(seen, axis=0)) == len(np.unique(np.column_stack([seen, actions]), axis=0))


def _split(digits: Ints, feature: int | None) -> list[tuple[tuple[int, ...], Ints]]:
    """Return the values of a feature that occur, each with its rows; all rows where there is no such feature."""
    if feature is None:
        return [((), np.arange(len(digits)))] if len(digits) else []
    column = digits[:, feature]
    return [((int(value),), np.flatnonzero(column == value)) for value in np.unique(column)]


def _join(places: Sequence[_WrittenPlace], code: Node) -> _WrittenPlace:
    return _WrittenPlace(
        tuple(sorted(value for place in places for value in place.after)),
        np.concatenate([place.digits for place in places]),
        np.concatenate([place.actions for place in places]),
        code,
    )


def _in_order(written: Sequence[_WrittenPlace]) -> tuple[Place, ...]:
    """Return the places in the order in which the code reaches them from its start."""
    waiting, reached = list(written), [START]
    ordered: list[Place] = []
    while waiting:
        found = next((p for value in reached for p in waiting if value in p.after), waiting[0])
        waiting.remove(found)
        ordered.append(Place(tuple(sorted(found.after)), as_rules(found.code)))
        reached += [leaf.action + 1 for leaf in leaves(found.code)]
    return tuple(ordered)
