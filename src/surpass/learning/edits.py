"""Random edits of a program's rules, at the places where it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surpass.arrays import Ints
from surpass.programs.program import START, Function, Place, Program, Rule, Test, place_features
from surpass.tasks.task import Task

__all__ = ["Editor", "size_of", "tidy"]


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
        kinds: list[Callable[[Program, list[_Draft]], None]] = [
            self._insert, self._insert, self._insert, self._change_action, self._change_action, self._drop,
            self._add_condition, self._drop_condition, self._change_condition, self._swap, self._swap,
        ]  # fmt: skip
        if self.previous is not None:
            kinds += [self._detour, self._detour, self._join_place, self._split_place]
        for _ in range(min(MOST_EDITS, int(self.random.geometric(0.5)))):
            kinds[int(self.random.integers(len(kinds)))](program, drafts)
        places = [(draft.function, Place(tuple(sorted(draft.after)), tuple(draft.rules))) for draft in drafts]
        functions = tuple(
            Function(function.ids, tuple(place for owner, place in places if owner == f))
            for f, function in enumerate(program.functions)
        )
        return tidy(replace(program, functions=functions))

    # Where to edit

    def _observation(self) -> Ints:
        """Return the value numbers of something that the program comes to: often, or ever."""
        if self.random.random() < 0.5:
            at = int(np.searchsorted(self._often, self.random.random(), side="right"))
        else:
            at = int(self.random.integers(len(self._digits)))
        digits: Ints = self._digits[min(at, len(self._digits) - 1)]
        return digits

    def _place_of(self, program: Program, drafts: list[_Draft], digits: Ints) -> _Draft | None:
        for draft in drafts:
            ids = program.functions[draft.function].ids
            if self.function is not None and ids and int(digits[self.function]) not in ids:
                continue
            if self.previous is None or int(digits[self.previous]) in draft.after:
                return draft
        return None

    def _somewhere(self, program: Program, drafts: list[_Draft]) -> tuple[_Draft, Ints] | None:
        """Return a place where the program goes, and something that it sees there."""
        digits = self._observation()
        draft = self._place_of(program, drafts, digits)
        return None if draft is None else (draft, digits)

    def _some_rule(self, program: Program, drafts: list[_Draft]) -> tuple[_Draft, int, Ints] | None:
        """Return a rule: the one that fires at something that the program sees, or any at that place."""
        found = self._somewhere(program, drafts)
        if found is None or not found[0].rules:
            return None
        draft, digits = found
        fires = next((k for k, rule in enumerate(draft.rules) if _fits(rule, digits)), None)
        if fires is None or self.random.random() < 0.3:
            fires = int(self.random.integers(len(draft.rules)))
        return draft, fires, digits

    # The edits

    def _insert(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._somewhere(program, drafts)
        if found is None:
            return
        draft, digits = found
        fires = next((k for k, rule in enumerate(draft.rules) if _fits(rule, digits)), len(draft.rules))
        old = draft.rules[fires].action if fires < len(draft.rules) else -1
        count = 1 + int(self.random.integers(min(MOST_CONDITIONS, len(self.features))))
        chosen = self.random.choice(self.features, count, replace=False).tolist()
        tests = tuple(self._test_at(feature, int(digits[feature])) for feature in sorted(chosen))
        rule = Rule(tests, self._other_action(program, old))
        at = int(self.random.integers(fires + 1)) if self.random.random() < 0.5 else fires
        draft.rules.insert(at, rule)
        self._lead_on(drafts, draft, rule.action, old)

    def _drop(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._some_rule(program, drafts)
        if found is not None and len(found[0].rules) > 1:
            del found[0].rules[found[1]]

    def _change_action(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._some_rule(program, drafts)
        if found is not None:
            draft, k, _ = found
            old = draft.rules[k].action
            draft.rules[k] = replace(draft.rules[k], action=self._other_action(program, old))
            self._lead_on(drafts, draft, draft.rules[k].action, old)

    def _add_condition(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._some_rule(program, drafts)
        if found is not None:
            draft, k, digits = found
            feature = int(self.random.choice(self.features))
            test = self._test_at(feature, int(digits[feature]))
            if self.random.random() < 0.5:
                test = test.negated(self.interface)
            rule = draft.rules[k]
            kept = tuple(t for t in rule.conditions if t.feature != feature)
            draft.rules[k] = replace(rule, conditions=(*kept, test))

    def _drop_condition(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._some_rule(program, drafts)
        if found is not None and found[0].rules[found[1]].conditions:
            draft, k, _ = found
            conditions = list(draft.rules[k].conditions)
            del conditions[int(self.random.integers(len(conditions)))]
            draft.rules[k] = replace(draft.rules[k], conditions=tuple(conditions))

    def _change_condition(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._some_rule(program, drafts)
        if found is not None and found[0].rules[found[1]].conditions:
            draft, k, digits = found
            conditions = list(draft.rules[k].conditions)
            at = int(self.random.integers(len(conditions)))
            feature = conditions[at].feature
            if self.random.random() < 0.5:
                feature = int(self.random.choice(self.features))
            if all(t.feature != feature for j, t in enumerate(conditions) if j != at):
                conditions[at] = self._test_at(feature, int(digits[feature]))
                draft.rules[k] = replace(draft.rules[k], conditions=tuple(conditions))

    def _swap(self, program: Program, drafts: list[_Draft]) -> None:
        found = self._somewhere(program, drafts)
        if found is not None and len(found[0].rules) > 1:
            rules = found[0].rules
            i, j = self.random.choice(len(rules), 2, replace=False).tolist()
            if rules[i].conditions and rules[j].conditions:
                rules[i], rules[j] = rules[j], rules[i]

    def _detour(self, program: Program, drafts: list[_Draft]) -> None:
        """Do one or two things before an action, which then comes next."""
        found = self._somewhere(program, drafts)
        if found is None:
            return
        draft, digits = found
        fires = next((k for k, rule in enumerate(draft.rules) if _fits(rule, digits)), None)
        if fires is None:
            return
        rule, goal = draft.rules[fires], draft.rules[fires].action
        way = [self._other_action(program, goal) for _ in range(1 + int(self.random.integers(2)))]
        used = {value for other in drafts if other.function == draft.function for value in other.after}
        if len({*way, goal}) <= len(way) or any(action + 1 in used for action in way):
            return
        conditions = rule.conditions
        if self.random.random() < 0.5:
            count = 1 + int(self.random.integers(min(MOST_CONDITIONS, len(self.features))))
            chosen = self.random.choice(self.features, count, replace=False).tolist()
            conditions = tuple(self._test_at(feature, int(digits[feature])) for feature in sorted(chosen))
            draft.rules.insert(fires, Rule(conditions, way[0]))
        else:
            draft.rules[fires] = replace(rule, action=way[0])
        for done, action in zip(way, [*way[1:], goal], strict=True):
            drafts.append(_Draft(draft.function, [done + 1], [Rule((), action)]))

    def _join_place(self, program: Program, drafts: list[_Draft]) -> None:
        """Make one place of two: the rules of one of them serve both."""
        found = self._somewhere(program, drafts)
        others = [d for d in drafts if found is not None and d.function == found[0].function and d is not found[0]]
        if found is None or not others:
            return
        other = others[int(self.random.integers(len(others)))]
        keep, drop = (found[0], other) if self.random.random() < 0.5 else (other, found[0])
        keep.after += drop.after
        drafts.remove(drop)

    def _split_place(self, program: Program, drafts: list[_Draft]) -> None:
        """Give one of the actions that lead to a place a place of its own with the same rules."""
        found = self._somewhere(program, drafts)
        if found is not None and len(found[0].after) > 1:
            draft, digits = found
            value = int(digits[self.previous])
            draft.after.remove(value)
            drafts.append(_Draft(draft.function, [value], list(draft.rules)))

    def _lead_on(self, drafts: list[_Draft], draft: _Draft, action: int, instead: int) -> None:
        """Give a new action a place to lead to, if it has none: that of the action it replaces, or this one."""
        if self.previous is None or action < 0:
            return
        same = [d for d in drafts if d.function == draft.function]
        if any(action + 1 in d.after for d in same):
            return
        goal = next((d for d in same if instead + 1 in d.after), draft)
        kind = self.random.random()
        if kind < 0.3:
            goal = same[int(self.random.integers(len(same)))]
        if kind < 0.6 and instead >= 0:
            drafts.append(_Draft(draft.function, [action + 1], [Rule((), instead)]))
        else:
            goal.after.append(action + 1)

    # Parts

    def _test_at(self, feature: int, value: int) -> Test:
        """Return a test that holds for a value: for it alone, or for a few more."""
        radix = self.interface.radices[feature]
        values = {value}
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
            rules = program.rules
            return rules[int(self.random.integers(len(rules)))].action
        row = np.zeros(self._rows.shape[1], np.int64)
        row[0] = self.random.integers(len(self.interface.instructions))
        for k, operand in enumerate(self.interface.instructions[row[0]].operands):
            row[1 + k] = self.random.integers(len(operand.values))
        return self._number(row)

    def _number(self, row: Ints) -> int:
        return int(self.interface.offsets[row[0]] + self.interface.operand_weights[row[0]] @ row[1:])


def _fits(rule: Rule, digits: Ints) -> bool:
    return all(int(digits[test.feature]) in test.values for test in rule.conditions)


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
