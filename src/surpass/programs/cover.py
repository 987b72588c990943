"""Few ordered rules that give every row its action, sought at random: each rule may rely on those before it.

Where `write_code` looks for the smallest code, whose branches lie within each other, this looks for the shortest list.
A list is written rule by rule. For some rows that no rule fits yet, tests are added one after another that hold for the
row and for many of its action, until they hold for nothing else that is left; the rule that fits the most comes next.
Many lists are written so, with chance in every choice, and the shortest is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surpass.arrays import Flags, Floats, Ints
from surpass.machine.interface import Interface
from surpass.programs.program import Rule
from surpass.programs.rules import Rows, SearchEffort, tidy_code
from surpass.programs.tree import Branch, Leaf, Node, as_rules, deep_recursion

MOST_TESTS = 6
"""How many conditions a rule may have."""
BEGUN_ROWS = 6
"""From how many rows a rule is sought before the best is taken."""
CHANCE = 0.5
"""How much chance there is in which test comes next, in bits."""
TEST_PRICE = 0.3
"""What a condition counts for beside a rule."""


def cover_rows(
    interface: Interface,
    digits: Ints,
    actions: Ints,
    features: Sequence[int],
    *,
    tries: int,
    random: np.random.Generator,
) -> tuple[Rule, ...] | None:
    """Return short ordered rules over some features that give every row of `digits` [m, F] its action [m].

    Rows that are equal in these features must have equal actions. None if no list of rules was found.
    """
    _, first = np.unique(digits[:, list(features)], axis=0, return_index=True)
    rows = Rows(digits[first], actions[first], features, SearchEffort())
    cover = _Cover(rows, random)
    best: tuple[float, Node] | None = None
    for _ in range(tries):
        found = cover.write(best[0] if best else np.inf)
        if found is not None:
            best = found
    if best is None:
        return None
    with deep_recursion():
        return as_rules(tidy_code(interface, rows.digits, best[1]))


class _Cover:
    """Rows to cover, and for which of them each test holds."""

    def __init__(self, rows: Rows, random: np.random.Generator) -> None:
        self.rows, self.random = rows, random
        every = np.arange(len(rows.digits))
        holds = [rows.holds(k, every) for k in range(len(rows.tests))]
        self.holds: Flags = np.array(holds, np.bool_).reshape(len(rows.tests), len(every))
        self.weights = self.holds.astype(np.float32)

    def write(self, most: float) -> tuple[float, Node] | None:
        """Return the cost of a list of rules and its code, if it costs less than `most`."""
        left, cost = np.ones(len(self.rows.digits), np.bool_), 1.0
        written: list[tuple[list[int], int]] = []
        while len(np.unique(self.rows.actions[left])) > 1:
            found = self._next_rule(left)
            if found is None:
                return None
            written.append(found)
            cost += 1 + TEST_PRICE * len(found[0])
            left &= ~self.holds[found[0]].all(axis=0)
            if cost >= most:
                return None
        if not left.any():
            written, last = written[:-1], written[-1][1]
            cost -= 1
        else:
            last = int(self.rows.actions[left][0])
        code: Node = Leaf(last)
        for tests, action in reversed(written):
            code = Branch(tuple(self.rows.tests[k] for k in tests), Leaf(action), code)
        return (cost, code) if cost < most else None

    def _next_rule(self, left: Flags) -> tuple[list[int], int] | None:
        """Return the tests and the action of a rule that is right for all it fits of the rows that are left."""
        waiting = np.flatnonzero(left)
        best: tuple[float, list[int], int] | None = None
        for row in self.random.choice(waiting, min(BEGUN_ROWS, len(waiting)), replace=False).tolist():
            action = int(self.rows.actions[row])
            good = left & (self.rows.actions == action)
            tests = self._tests_for(row, good, left & ~good)
            if tests is not None:
                fits = float((self.holds[tests].all(axis=0) & good).sum()) / (1 + TEST_PRICE * len(tests))
                if best is None or fits > best[0]:
                    best = fits, tests, action
        return None if best is None else best[1:]

    def _tests_for(self, row: int, good: Flags, bad: Flags) -> list[int] | None:
        """Return tests that hold together for a row and many other `good` ones, and for no `bad` one."""
        own = np.flatnonzero(self.holds[:, row])
        all_bad = bad
        chosen: list[int] = []
        while bad.any():
            if len(chosen) == MOST_TESTS:
                return None
            kept: Floats = self.weights[own] @ np.stack([good, bad], axis=1).astype(np.float32)
            kept_good, kept_bad = kept[:, 0], kept[:, 1]
            merits = np.log2(kept_good / (kept_good + kept_bad + 0.5)) + 0.5 * np.log2(kept_good)
            merits += CHANCE * self.random.random(len(own))
            merits[kept_bad == bad.sum()] = -np.inf
            best = int(np.argmax(merits))
            if not np.isfinite(merits[best]):
                return None
            chosen.append(int(own[best]))
            good, bad = good & self.holds[own[best]], bad & self.holds[own[best]]
        for test in list(chosen):
            others = [k for k in chosen if k != test]
            if others and not (self.holds[others].all(axis=0) & all_bad).any():
                chosen = others
        return chosen
