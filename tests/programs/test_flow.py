"""Structured code does what the places say: both are run side by side on random programs."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.machine.interface import NO_ACTION
from surpass.programs.flow import Act, Condition, If, Jump, Loop, Mark, structure
from surpass.programs.program import Function, Place, Rule
from surpass.programs.program import Test as OneTest
from surpass.programs.tree import Branch, Leaf, as_rules

FEATURES, ACTIONS = 4, 7


class Code:
    """Statements as a flat list of operations, with jumps by position."""

    def __init__(self, statements):
        self.operations, self.marks, self.loops = [], {}, []
        self.flatten(statements)

    def flatten(self, statements):
        for s in statements:
            if isinstance(s, Act):
                self.operations.append(("do", s))
            elif isinstance(s, Mark):
                assert s.place not in self.marks, "a place is marked twice"
                self.marks[s.place] = len(self.operations)
            elif isinstance(s, Jump):
                inner = self.loops[-1] if self.loops else None
                assert s.kind == "go to" or (s.kind == "leave" and inner) or inner["place"] == s.place
                self.operations.append(("jump", s, inner))
            elif isinstance(s, Loop):
                loop = {"place": s.place, "begin": len(self.operations)}
                if s.condition:
                    self.operations.append(("while", s.condition, loop))
                self.loops.append(loop)
                self.flatten(s.body)
                self.loops.pop()
                self.operations.append(("back", loop))
                loop["end"] = len(self.operations)
            else:
                assert isinstance(s, If)
                assert s.then, "an empty way stands first"
                branch = {}
                self.operations.append(("if", s.condition, branch))
                self.flatten(s.then)
                self.operations.append(("skip", branch))
                branch["else"] = len(self.operations)
                self.flatten(s.otherwise)
                branch["end"] = len(self.operations)

    def run(self, rows):
        """Yield each statement that acts; `rows` gives what is seen before each action."""
        at, row = 0, next(rows)
        while True:
            operation = self.operations[at]
            at += 1
            if operation[0] == "do":
                yield operation[1]
                if operation[1].ends:
                    return
                row = next(rows)
            elif operation[0] == "if":
                at = at if holds(operation[1], row) else operation[2]["else"]
            elif operation[0] == "skip":
                at = operation[1]["end"]
            elif operation[0] == "while":
                at = at if holds(operation[1], row) else operation[2]["end"]
            elif operation[0] == "back":
                at = operation[1]["begin"]
            else:
                jump, loop = operation[1:]
                if jump.kind == "go to":
                    at = self.marks[jump.place]
                else:
                    at = loop["begin" if jump.kind == "again" else "end"]


def holds(condition: Condition, row) -> bool:
    return all(row[test.feature] in test.values for test in condition.tests) == condition.holds


def place_after(function: Function, previous: int) -> Place | None:
    """Return where the code continues after a value of the previous action, if it does."""
    return next((place for place in function.places if previous in place.after), None)


def walk(function: Function, rows):
    """Yield the number and the action of the rule at each step, by the rules alone."""
    first = {}
    for place in function.places:
        first[place.after] = sum(len(p.rules) for p in function.places if p.after in first)
    place = place_after(function, 0)
    while place is not None:
        row = next(rows)
        fitting = (k for k, rule in enumerate(place.rules) if all(row[t.feature] in t.values for t in rule.conditions))
        k = next(fitting, None)
        if k is None:
            yield None, NO_ACTION
            return
        yield first[place.after] + k, place.rules[k].action
        place = place_after(function, place.rules[k].action + 1)


def draw_function(random, ends: float) -> Function:
    """Return a function with random places, some of whose actions end it; some places have no `else`."""

    def draw(depth):
        if depth == 0 or random.random() < 0.35:
            return Leaf(int(random.integers(ACTIONS)))
        tests = tuple(
            OneTest(int(k), frozenset([1])) for k in random.choice(FEATURES, random.integers(1, 3), replace=False)
        )
        return Branch(tests, draw(depth - 1), draw(depth - 1))

    def draw_rules():
        rules = as_rules(draw(3))
        return rules[:-1] if len(rules) > 1 and random.random() < 0.1 else rules

    values = [0, *(a + 1 for a in range(ACTIONS) if random.random() > ends)]
    groups = random.integers(0, random.integers(1, len(values) + 1), len(values))
    places = [
        Place(tuple(v for v, g in zip(values, groups, strict=True) if g == group), draw_rules())
        for group in dict.fromkeys(groups.tolist())
    ]
    return Function((), tuple(places))


def choose(*rules):
    """Return rules given as the feature that must be 1 (or None) and the action."""
    return tuple(Rule(() if k is None else (OneTest(k, frozenset([1])),), action) for k, action in rules)


@pytest.mark.parametrize(("ends", "deepest"), [(0.0, 60), (0.2, 60), (0.5, 60), (0.2, 3)])
def test_structured_code_takes_the_same_actions_as_the_places(ends, deepest, monkeypatch):
    monkeypatch.setattr("surpass.programs.flow.DEEPEST", deepest)
    random = np.random.default_rng([9, int(10 * ends)])
    jumps = 0
    for _ in range(250):
        function = draw_function(random, ends)
        statements = structure(function)
        code = Code(statements)
        jumps += any(op[0] == "jump" and op[1].kind == "go to" for op in code.operations)
        written = sorted(rule for op in code.operations if op[0] == "do" for rule in op[1].rules)
        assert written == list(range(sum(len(place.rules) for place in function.places)))
        for _ in range(10):
            rows = random.integers(0, 2, (40, FEATURES)).tolist()
            expected = walk(function, iter(rows))
            actual = code.run(iter(rows))
            for _ in range(len(rows) - 1):
                step, done = next(expected, None), next(actual, None)
                if step is None:
                    assert done is None
                    break
                rule, action = step
                assert done.action == action
                assert rule is None or rule in done.rules
                assert done.ends == (rule is None or place_after(function, action + 1) is None)
    assert jumps, "none of these needed a jump"


def test_an_interface_without_previous_action_is_one_loop():
    (loop,) = structure(Function((), (Place((), choose((0, 1), (None, 2))),)))
    assert isinstance(loop, Loop)
    assert loop.condition is None
    (branch,) = loop.body
    assert [way[0].rules for way in (branch.then, branch.otherwise)] == [[0], [1]]


def test_straight_code_is_straight():
    places = [Place((k,), choose((None, k))) for k in range(3)]
    assert [(s.action, s.ends) for s in structure(Function((), tuple(places)))] == [(0, False), (1, False), (2, True)]


def test_a_place_that_is_left_by_one_branch_is_a_while_loop():
    rules = choose((0, 0), (None, 1))
    loop, last = structure(Function((), (Place((0, 1), rules),)))
    assert loop.condition == Condition(rules[0].conditions, True)
    assert (loop.body[0].action, last.action, last.ends) == (0, 1, True)


def test_what_two_ways_end_with_is_written_once_behind_them():
    places = [Place((0,), choose((0, 0), (None, 1))), Place((1,), choose((None, 1))), Place((2,), choose((None, 3)))]
    branch, common, last = structure(Function((), tuple(places)))
    assert (len(branch.then), branch.otherwise) == (1, ())
    assert (common.action, sorted(common.rules), last.action) == (1, [1, 2], 3)


def test_rules_with_common_conditions_are_nested_and_a_missing_else_is_no_action():
    first, second = (OneTest(k, frozenset([1])) for k in (0, 1))
    rules = (Rule((first, second), 0), Rule((first,), 1), Rule((second,), 2))
    (loop,) = structure(Function((), (Place((), rules),)))
    (outer,) = loop.body
    assert outer.condition.tests == (first,)
    assert outer.then[0].condition.tests == (second,)
    (rest,) = outer.otherwise
    assert rest.condition.tests == (second,)
    assert (rest.otherwise[0].action, rest.otherwise[0].rules, rest.otherwise[0].ends) == (NO_ACTION, [], True)


def test_deeply_nested_loops_are_written_once():
    """Place k goes on to place k + 1 or back to any place before it."""
    depth = 40
    places = [
        Place((k + 1,) if k else (0, 1), choose(*((back % FEATURES, back) for back in range(k, -1, -1)), (None, k + 1)))
        for k in range(depth)
    ]
    code = Code(structure(Function((), tuple(places))))
    count = sum(len(place.rules) for place in places)
    assert {rule for op in code.operations if op[0] == "do" for rule in op[1].rules} == set(range(count))
