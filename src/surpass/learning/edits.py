"""Random edits of a program's rules, at the places where it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from surpass.arrays import Ints
from surpass.programs.program import START, Function, Place, Program, Rule, Test, place_features
from surpass.tasks.task import Task

T = TypeVar("T")

MOST_EDITS = 4
MOST_CONDITIONS = 4


def size_of(program: Program) -> tuple[int, int]:
    """Return how many rules and how many conditions a program has."""
    return len(program.rules), sum(len(rule.conditions) for rule in program.rules)


@dataclass
class _Draft:
    """A place that is being edited."""

    function: int
    after: list[int]
    rules: list[Rule]


@dataclass
class _Spot:
    """A place where the program goes, and something that it sees there."""

    program: Program
    drafts: list[_Draft]
    draft: _Draft
    digits: Ints

    @property
    def rules(self) -> list[Rule]:
        """The rules of the place."""
        return self.draft.rules

    @property
    def fires(self) -> int | None:
        """The number of the first rule there that fits what is seen."""
        rules = enumerate(self.draft.rules)
        return next((k for k, rule in rules if all(self.digits[t.feature] in t.values for t in rule.conditions)), None)

    @property
    def same_function(self) -> list[_Draft]:
        """All places of its function."""
        return [draft for draft in self.drafts if draft.function == self.draft.function]


class Editor:
    """Draws programs that differ from a given one by one to four edits."""

    def __init__(self, task: Task, random: np.random.Generator) -> None:
        self.task, self.random = task, random
        self.interface = task.interface
        self.function, self.previous = place_features(task.interface)
        self.features = [
            k for k, radix in enumerate(task.interface.radices) if k not in (self.function, self.previous) and radix > 1
        ]
        self._rows = task.interface.action_rows
        self._digits: Ints = np.zeros((0, len(task.interface.features)), np.int64)
        self._often = np.zeros(0)

    def look_at(self, observations: Ints, counts: Ints) -> None:
        """Take in what the program comes to and how often; edits are made there."""
        self._digits = self.interface.digits(observations)
        self._often = np.cumsum(counts) / max(1, counts.sum())

    def edit(self, program: Program) -> Program:
        """Return a program that differs by some random edits."""
        drafts = [
            _Draft(f, list(place.after), list(place.rules))
            for f, function in enumerate(program.functions)
            for place in function.places
        ]
        kinds: list[Callable[[_Spot], None]] = [
            self._insert, self._insert, self._insert, self._change_action, self._change_action, self._drop,
            self._add_condition, self._drop_condition, self._change_condition, self._swap, self._swap,
        ]  # fmt: skip
        if self.previous is not None:
            kinds += [self._detour, self._detour, self._join_place, self._split_place]
        for _ in range(min(MOST_EDITS, int(self.random.geometric(0.5)))):
            kind = self._one_of(kinds)
            spot = self._somewhere(program, drafts)
            if spot is not None:
                kind(spot)
        places = [(draft.function, Place(tuple(sorted(draft.after)), tuple(draft.rules))) for draft in drafts]
        functions = tuple(
            Function(function.ids, tuple(place for owner, place in places if owner == f))
            for f, function in enumerate(program.functions)
        )
        return tidy(replace(program, functions=functions))

    def _one_of(self, things: Sequence[T]) -> T:
        return things[int(self.random.integers(len(things)))]

    # Where to edit

    def _somewhere(self, program: Program, drafts: list[_Draft]) -> _Spot | None:
        """Return a place that the program comes to, and what it sees there often, or ever."""
        if self.random.random() < 0.5:
            at = int(np.searchsorted(self._often, self.random.random(), side="right"))
        else:
            at = int(self.random.integers(len(self._digits)))
        digits: Ints = self._digits[min(at, len(self._digits) - 1)]
        for draft in drafts:
            ids = program.functions[draft.function].ids
            if self.function is not None and ids and int(digits[self.function]) not in ids:
                continue
            if self.previous is None or int(digits[self.previous]) in draft.after:
                return _Spot(program, drafts, draft, digits)
        return None

    def _some_rule(self, spot: _Spot) -> int | None:
        """Return a rule of a place, if it has any: the one that fires, or any."""
        if not spot.rules:
            return None
        fires = spot.fires
        return int(self.random.integers(len(spot.rules))) if fires is None or self.random.random() < 0.3 else fires

    # The edits

    def _insert(self, spot: _Spot) -> None:
        fires = spot.fires
        fires = len(spot.rules) if fires is None else fires
        old = spot.rules[fires].action if fires < len(spot.rules) else -1
        rule = Rule(self._some_tests(spot.digits), self._other_action(spot.program, old))
        at = int(self.random.integers(fires + 1)) if self.random.random() < 0.5 else fires
        spot.rules.insert(at, rule)
        self._lead_on(spot, rule.action, old)

    def _drop(self, spot: _Spot) -> None:
        k = self._some_rule(spot)
        if k is not None and len(spot.rules) > 1:
            del spot.rules[k]

    def _change_action(self, spot: _Spot) -> None:
        k = self._some_rule(spot)
        if k is not None:
            old = spot.rules[k].action
            spot.rules[k] = replace(spot.rules[k], action=self._other_action(spot.program, old))
            self._lead_on(spot, spot.rules[k].action, old)

    def _add_condition(self, spot: _Spot) -> None:
        k = self._some_rule(spot)
        if k is not None:
            test = self._test_at(int(self.random.choice(self.features)), spot.digits)
            if self.random.random() < 0.5:
                test = test.negated(self.interface)
            kept = tuple(t for t in spot.rules[k].conditions if t.feature != test.feature)
            spot.rules[k] = replace(spot.rules[k], conditions=(*kept, test))

    def _drop_condition(self, spot: _Spot) -> None:
        k = self._some_rule(spot)
        if k is not None and spot.rules[k].conditions:
            conditions = list(spot.rules[k].conditions)
            del conditions[int(self.random.integers(len(conditions)))]
            spot.rules[k] = replace(spot.rules[k], conditions=tuple(conditions))

    def _change_condition(self, spot: _Spot) -> None:
        k = self._some_rule(spot)
        if k is not None and spot.rules[k].conditions:
            conditions = list(spot.rules[k].conditions)
            at = int(self.random.integers(len(conditions)))
            feature = conditions[at].feature
            if self.random.random() < 0.5:
                feature = int(self.random.choice(self.features))
            if all(t.feature != feature for j, t in enumerate(conditions) if j != at):
                conditions[at] = self._test_at(feature, spot.digits)
                spot.rules[k] = replace(spot.rules[k], conditions=tuple(conditions))

    def _swap(self, spot: _Spot) -> None:
        rules = spot.rules
        if len(rules) > 1:
            i, j = self.random.choice(len(rules), 2, replace=False).tolist()
            if rules[i].conditions and rules[j].conditions:
                rules[i], rules[j] = rules[j], rules[i]

    def _detour(self, spot: _Spot) -> None:
        """Do one or two things before an action, which then comes next."""
        fires = spot.fires
        if fires is None:
            return
        rule, goal = spot.rules[fires], spot.rules[fires].action
        way = [self._other_action(spot.program, goal) for _ in range(1 + int(self.random.integers(2)))]
        used = {value for other in spot.same_function for value in other.after}
        if len({*way, goal}) <= len(way) or any(action + 1 in used for action in way):
            return
        if self.random.random() < 0.5:
            spot.rules.insert(fires, Rule(self._some_tests(spot.digits), way[0]))
        else:
            spot.rules[fires] = replace(rule, action=way[0])
        for done, action in zip(way, [*way[1:], goal], strict=True):
            spot.drafts.append(_Draft(spot.draft.function, [done + 1], [Rule((), action)]))

    def _join_place(self, spot: _Spot) -> None:
        """Make one place of two: the rules of one of them serve both."""
        others = [draft for draft in spot.same_function if draft is not spot.draft]
        if others:
            other = self._one_of(others)
            keep, drop = (spot.draft, other) if self.random.random() < 0.5 else (other, spot.draft)
            keep.after += drop.after
            spot.drafts.remove(drop)

    def _split_place(self, spot: _Spot) -> None:
        """Give one of the actions that lead to a place a place of its own with the same rules."""
        if len(spot.draft.after) > 1:
            value = int(spot.digits[self.previous])
            spot.draft.after.remove(value)
            spot.drafts.append(_Draft(spot.draft.function, [value], list(spot.rules)))

    def _lead_on(self, spot: _Spot, action: int, instead: int) -> None:
        """Give a new action a place to lead to, if it has none: that of the action it replaces, or this one."""
        same = spot.same_function
        if self.previous is None or action < 0 or any(action + 1 in draft.after for draft in same):
            return
        goal = next((draft for draft in same if instead + 1 in draft.after), spot.draft)
        kind = self.random.random()
        if kind < 0.3:
            goal = self._one_of(same)
        if kind < 0.6 and instead >= 0:
            spot.drafts.append(_Draft(spot.draft.function, [action + 1], [Rule((), instead)]))
        else:
            goal.after.append(action + 1)

    # Parts

    def _some_tests(self, digits: Ints) -> tuple[Test, ...]:
        """Return tests of a few features that hold for what is seen."""
        count = 1 + int(self.random.integers(min(MOST_CONDITIONS, len(self.features))))
        chosen = self.random.choice(self.features, count, replace=False).tolist()
        return tuple(self._test_at(feature, digits) for feature in sorted(chosen))

    def _test_at(self, feature: int, digits: Ints) -> Test:
        """Return a test of a feature that holds for what is seen: for its value alone, or for a few more."""
        radix = self.interface.radices[feature]
        values = {int(digits[feature])}
        while len(values) < radix - 1 and self.random.random() < 0.3:
            values.add(int(self.random.integers(radix)))
        return Test(feature, frozenset(values))

    def _other_action(self, program: Program, old: int) -> int:
        """Return an action: the old one with another operand, one that the program takes, or any."""
        kind = self.random.random()
        if kind < 0.35 and old >= 0:
            row = self._rows[old].copy()
            operands = self.interface.instructions[row[0]].operands
            if operands:
                k = int(self.random.integers(len(operands)))
                row[1 + k] = self.random.integers(len(operands[k].values))
            return self._number(row)
        if kind < 0.65:
            return self._one_of(program.rules).action
        row = np.zeros(self._rows.shape[1], np.int64)
        row[0] = self.random.integers(len(self.interface.instructions))
        for k, operand in enumerate(self.interface.instructions[row[0]].operands):
            row[1 + k] = self.random.integers(len(operand.values))
        return self._number(row)

    def _number(self, row: Ints) -> int:
        return int(self.interface.offsets[row[0]] + self.interface.operand_weights[row[0]] @ row[1:])


def tidy(program: Program) -> Program:
    """Return the same program without rules that nothing gets to, and without places that no action leads to."""
    functions = []
    for function in program.functions:
        places = [_tidy_place(place) for place in function.places]
        if places and places[0].after:
            taken = {rule.action + 1 for place in places for rule in place.rules} | {START}
            places = [replace(p, after=tuple(v for v in p.after if v in taken)) for p in places]
            places = [p for p in places if p.after and p.rules]
        functions.append(replace(function, places=tuple(places)))
    return replace(program, functions=tuple(functions))


def _tidy_place(place: Place) -> Place:
    rules: list[Rule] = []
    for rule in place.rules:
        if any(rule.conditions == other.conditions for other in rules):
            continue
        rules.append(rule)
        if not rule.conditions:
            break
    while len(rules) > 1 and not rules[-1].conditions and rules[-2].action == rules[-1].action:
        del rules[-2]
    return replace(place, rules=tuple(rules))


def without(program: Program, numbers: Sequence[int]) -> Program:
    """Return a program without the rules of some numbers."""
    gone, number, functions = set(numbers), 0, []
    for function in program.functions:
        places = []
        for place in function.places:
            kept = tuple(rule for k, rule in enumerate(place.rules, number) if k not in gone)
            number += len(place.rules)
            places.append(replace(place, rules=kept))
        functions.append(replace(function, places=tuple(places)))
    return tidy(replace(program, functions=tuple(functions)))
