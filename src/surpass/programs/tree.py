"""Ordered rules as nested branches, and back: the form in which short code is sought, and in which code is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.machine.interface import NO_ACTION
from surpass.programs.evaluate import NO_RULE
from surpass.programs.program import Rule, Test

MOST_DEPTH = 50_000


@dataclass(frozen=True)
class Leaf:
    """One action."""

    action: int
    rule: int = NO_RULE
    """The number of the rule that takes it, if there is one."""


@dataclass(frozen=True)
class Branch:
    """Goes on with `then` if every test holds, else with `otherwise`."""

    tests: tuple[Test, ...]
    then: Node
    otherwise: Node


Node = Leaf | Branch


def as_rules(code: Node) -> tuple[Rule, ...]:
    """Return code as ordered rules: a `then` part carries the conditions on its way, the `otherwise` part follows."""
    return tuple(_flatten(code, ()))


def _flatten(code: Node, conditions: tuple[Test, ...]) -> Iterator[Rule]:
    while isinstance(code, Branch):
        yield from _flatten(code.then, conditions + code.tests)
        code = code.otherwise
    yield Rule(conditions, code.action)


def as_tree(rules: Sequence[Rule], first: int = 0) -> Node:
    """Return ordered rules as code, whose leaves have the numbers of the rules from `first` on.

    Consecutive rules that begin with the same conditions, the last of which has no others, become a branch on these.
    """
    branches: list[tuple[tuple[Test, ...], Node]] = []
    at = 0
    while at < len(rules) and rules[at].conditions:
        conditions, last = rules[at].conditions, at
        for count in range(1, len(conditions)):
            common = conditions[:count]
            end = _find_end(rules, at, common)
            if end is not None:
                conditions, last = common, end
                break
        inside = [Rule(rule.conditions[len(conditions) :], rule.action) for rule in rules[at : last + 1]]
        branches.append((conditions, as_tree(inside, first + at)))
        at = last + 1
    code: Node = Leaf(rules[at].action, first + at) if at < len(rules) else Leaf(NO_ACTION)
    for conditions, then in reversed(branches):
        code = Branch(conditions, then, code)
    return code


def _find_end(rules: Sequence[Rule], at: int, common: tuple[Test, ...]) -> int | None:
    """Return the first rule from `at` on with just these conditions, if all before it begin with them."""
    for k in range(at, len(rules)):
        if rules[k].conditions[: len(common)] != common:
            return None
        if len(rules[k].conditions) == len(common):
            return k
    return None


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves of code, first the `then` part of each branch."""
    while isinstance(node, Branch):
        yield from leaves(node.then)
        node = node.otherwise
    yield node


def follow_code(node: Node, digits: Ints) -> Ints:
    """Return the action [m] that code gives for each observation, given as value numbers [m, F]."""
    actions, rows = np.empty(len(digits), np.int64), np.arange(len(digits))
    while isinstance(node, Branch):
        holds = all_hold(node.tests, digits[rows])
        actions[rows[holds]] = follow_code(node.then, digits[rows[holds]])
        node, rows = node.otherwise, rows[~holds]
    actions[rows] = node.action
    return actions


def all_hold(tests: tuple[Test, ...], digits: Ints) -> Flags:
    """Tell for each observation, given as value numbers [m, F], whether every test holds."""
    holds = np.ones(len(digits), np.bool_)
    for test in tests:
        holds &= np.isin(digits[:, test.feature], list(test.values))
    return holds


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow deep recursion for the length of a block: a program may be a chain of a thousand rules."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, MOST_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
