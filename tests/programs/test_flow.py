"""Structured code does what the places say: both are run side by side on random programs."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.programs.flow import Condition, Do, If, Jump, Loop, Mark, structure
from surpass.programs.program import Branch, Function, Leaf, Location, leaves
from surpass.programs.program import Test as OneTest

FEATURES, ACTIONS = 4, 7


class Code:
    """Statements as a flat list of operations, with jumps by position."""

    def __init__(self, statements):
        self.operations, self.marks, self.loops = [], {}, []
        self.flatten(statements)

    def flatten(self, statements):
        for s in statements:
            if isinstance(s, Do):
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


def walk(function: Function, rows):
    """Yield the leaf at each step, by the places alone."""
    place = function.location_after(0)
    while place is not None:
        node, row = place.code, next(rows)
        while isinstance(node, Branch):
            node = node.then if all(row[t.feature] in t.values for t in node.tests) else node.otherwise
        yield node
        place = function.location_after(node.action + 1)


def draw_function(random, ends: float) -> Function:
    """Return a function with random places, some of whose actions end it."""
    number = iter(range(1000))

    def draw(depth):
        if depth == 0 or random.random() < 0.35:
            return Leaf(int(random.integers(ACTIONS)), next(number))
        tests = tuple(
            OneTest(int(k), frozenset([1])) for k in random.choice(FEATURES, random.integers(1, 3), replace=False)
        )
        return Branch(tests, draw(depth - 1), draw(depth - 1))

    values = [0, *(a + 1 for a in range(ACTIONS) if random.random() > ends)]
    groups = random.integers(0, random.integers(1, len(values) + 1), len(values))
    locations = [
        Location(tuple(v for v, g in zip(values, groups, strict=True) if g == group), draw(3))
        for group in dict.fromkeys(groups.tolist())
    ]
    return Function((), tuple(locations))


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
        assert written == sorted(leaf.rule for p in function.locations for leaf in leaves(p.code))
        for _ in range(10):
            rows = random.integers(0, 2, (40, FEATURES)).tolist()
            expected = walk(function, iter(rows))
            actual = code.run(iter(rows))
            for _ in range(len(rows) - 1):
                leaf, done = next(expected, None), next(actual, None)
                if leaf is None:
                    assert done is None
                    break
                assert done.action == leaf.action
                assert leaf.rule in done.rules
                assert done.ends == (function.location_after(leaf.action + 1) is None)
    assert jumps, "none of these needed a jump"


def test_an_interface_without_previous_action_is_one_loop():
    function = Function((), (Location((), Branch((OneTest(0, frozenset([1])),), Leaf(1, 0), Leaf(2, 1))),))
    (loop,) = structure(function)
    assert isinstance(loop, Loop)
    assert loop.condition is None
    (branch,) = loop.body
    assert [way[0].rules for way in (branch.then, branch.otherwise)] == [[0], [1]]


def test_straight_code_is_straight():
    places = [Location((0,), Leaf(0, 0)), Location((1,), Leaf(1, 1)), Location((2,), Leaf(2, 2))]
    assert [(s.action, s.ends) for s in structure(Function((), tuple(places)))] == [(0, False), (1, False), (2, True)]


def test_a_place_that_is_left_by_one_branch_is_a_while_loop():
    code = Branch((OneTest(0, frozenset([1])),), Leaf(0, 0), Leaf(1, 1))
    loop, last = structure(Function((), (Location((0, 1), code),)))
    assert loop.condition == Condition(code.tests, True)
    assert (loop.body[0].action, last.action, last.ends) == (0, 1, True)


def test_what_two_ways_end_with_is_written_once_behind_them():
    code = Branch((OneTest(0, frozenset([1])),), Leaf(0, 0), Leaf(1, 1))
    places = [Location((0,), code), Location((1,), Leaf(1, 2)), Location((2,), Leaf(3, 3))]
    branch, common, last = structure(Function((), tuple(places)))
    assert (len(branch.then), branch.otherwise) == (1, ())
    assert (common.action, sorted(common.rules), last.action) == (1, [1, 2], 3)


def test_deeply_nested_loops_are_written_once():
    """Place k goes on to place k + 1 or back to any place before it."""
    depth, number = 40, iter(range(10_000))

    def choose(k):
        code = Leaf(k + 1, next(number))
        for back in range(k, -1, -1):
            code = Branch((OneTest(back % FEATURES, frozenset([1])),), Leaf(back, next(number)), code)
        return code

    places = [Location((k + 1,) if k else (0, 1), choose(k)) for k in range(depth)]
    code = Code(structure(Function((), tuple(places))))
    assert len({rule for op in code.operations if op[0] == "do" for rule in op[1].rules}) == next(number)
