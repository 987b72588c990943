"""The smallest code that gives every row its action.

A row is what can be seen at one place of a program. Rows that were never met have no action: the code may do anything
with them, which is what keeps it short. Its size is one for each branch and one for each test.

`write_code` is exact on all rows. Where the code is short it is also the smallest: `_Search` finds the smallest code
for a few rows, the rows that this code gets wrong are added, and so on until none is left; code for fewer rows is never
larger, so the last one is smallest for all. Where the code is long, or the `SearchEffort` is spent, the rows are split
by the test that leaves the least code by a quick estimate, and each part is written in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.machine.interface import Interface
from surpass.programs.program import Test
from surpass.programs.tree import Branch, Leaf, Node, all_hold, leaves
from surpass.programs.words import vagueness

BRANCH = 2
"""The size of a branch with one test."""
SEARCH_STEPS = 1500
"""How many sets of rows one search for the smallest code may look at."""
SEARCH_LEAVES = 16
"""The search is tried where code that is quickly written has at most so many leaves."""
SEARCH_ROWS = 400
"""How many rows the search may look at together."""
BRANCH_ROWS = 300
"""About how many rows could be looked at in the time that a branch takes by itself."""
TRIED_SPLITS = 12
"""How many tests are compared by estimate where the smallest code is out of reach."""


MOST_SUBSETS = 6
"""A feature with more values is not tested for each of their sets."""


class SearchEffort:
    """How much may still be spent on making code short; what is spent does not depend on the machine's speed."""

    def __init__(
        self, steps: int = 15_000, rows: int = 20_000_000, progress: Callable[[str, int, int], None] | None = None
    ) -> None:
        self.steps = steps
        """Sets of rows that searches may look at."""
        self.rows = rows
        """Rows that estimates may look at, each counted once for every branch that it reaches."""
        self._all_steps, self._progress = steps, progress

    def report(self) -> None:
        """Tell how many of the steps have been used."""
        if self._progress:
            self._progress("writing short rules, effort used", self._all_steps - self.steps, self._all_steps)


def code_size(node: Node) -> int:
    """Return the size of code: one for each branch and one for each test."""
    if isinstance(node, Leaf):
        return 0
    return 1 + len(node.tests) + code_size(node.then) + code_size(node.otherwise)


def write_code(
    interface: Interface, digits: Ints, actions: Ints, features: Sequence[int], effort: SearchEffort | None = None
) -> Node:
    """Return short code over some features that gives every row of `digits` [m, F] its action [m].

    Rows that are equal in these features must have equal actions.
    """
    _, first = np.unique(digits[:, list(features)], axis=0, return_index=True)
    first = np.sort(first)
    rows = Rows(digits[first], actions[first], features, effort or SearchEffort())
    return tidy_code(interface, rows.digits, _write(rows, np.arange(len(first))))


class Rows:
    """Distinct rows with their actions, and every test that tells some of them apart."""

    def __init__(self, digits: Ints, actions: Ints, features: Sequence[int], effort: SearchEffort) -> None:
        self.digits, self.actions, self.effort = digits, actions, effort
        self.kinds, self._kind_of = np.unique(actions, return_inverse=True)
        tested = [k for k in features if len(np.unique(digits[:, k])) > 1]
        widths = [int(digits[:, k].max()) + 1 for k in tested]
        starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
        self._cells: Ints = digits[:, tested] + starts[:-1]
        """[m, features]: for each feature the number of its value, counted through all features."""
        self.tests: list[Test] = []
        self._columns: list[int] = []
        for column, k in enumerate(tested):
            for values in _subsets(np.unique(digits[:, k]).tolist()):
                self.tests.append(Test(k, frozenset(values)))
                self._columns.append(column)
        self._accepts: Flags = np.zeros((len(self.tests), int(starts[-1])), np.bool_)
        """[tests, cells]"""
        for number, (test, column) in enumerate(zip(self.tests, self._columns, strict=True)):
            self._accepts[number, starts[column] + np.array(sorted(test.values))] = True
        self._weights = self._accepts.astype(np.float64)
        counts = np.arange(len(digits) + 1)
        self._information = counts * np.log2(np.maximum(counts, 1))
        """[m + 1]: n log n for each number of rows."""

    def holds(self, test: int, chosen: Ints) -> Flags:
        """Tell for which of some rows a test holds."""
        accepted: Flags = self._accepts[test, self._cells[chosen, self._columns[test]]]
        return accepted

    def order(self, chosen: Ints) -> Ints:
        """Return the tests that split some rows, those that tell most about the action first."""
        disorder = self._measure(chosen)
        ordered: Ints = np.argsort(disorder, kind="stable")[: np.isfinite(disorder).sum()]
        return ordered

    def best(self, chosen: Ints) -> int:
        """Return the test that tells most about the action of some rows."""
        return int(np.argmin(self._measure(chosen)))

    def _measure(self, chosen: Ints) -> Reals:
        """Return for each test how many bits are still needed to tell the actions; infinite if it does not split."""
        kinds, kind_of = len(self.kinds), self._kind_of[chosen]
        pairs = self._cells[chosen] * kinds + kind_of[:, None]
        counts = np.bincount(pairs.ravel(), minlength=self._accepts.shape[1] * kinds).reshape(-1, kinds)
        inside = (self._weights @ counts).astype(np.int64)
        outside = np.bincount(kind_of, minlength=kinds) - inside
        held = inside.sum(axis=1)
        information = self._information
        disorder: Reals = information[held] + information[len(chosen) - held]
        disorder -= information[inside].sum(axis=1) + information[outside].sum(axis=1)
        disorder[(held == 0) | (held == len(chosen))] = np.inf
        return disorder.round(9)


def _subsets(values: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of values to test for: single ones, all but one, and all others or, of many, the first few."""
    yield from ((value,) for value in values)
    if len(values) > 2:
        yield from combinations(values, len(values) - 1)
    for count in range(2, len(values) - 1):
        yield from combinations(values, count) if len(values) <= MOST_SUBSETS else (tuple(values[:count]),)


def _write(rows: Rows, chosen: Ints) -> Node:
    """Return short code for the chosen rows."""
    rows.effort.report()
    quick = _write_quickly(rows, chosen)
    if isinstance(quick, Leaf):
        return quick
    if len(list(leaves(quick))) <= SEARCH_LEAVES:
        code = _write_smallest(rows, chosen)
        if code is not None:
            return code
    tried = rows.order(chosen)[:TRIED_SPLITS].tolist()
    best = code_size(quick) - BRANCH, tried[0]
    for test in tried[1:]:
        if rows.effort.rows <= 0:
            break
        holds = rows.holds(test, chosen)
        size = sum(code_size(_write_quickly(rows, part)) for part in (chosen[holds], chosen[~holds]))
        best = min(best, (size, test), key=lambda split: split[0])
    return _split(rows, chosen, best[1], _write)


def _split(rows: Rows, chosen: Ints, test: int, write: Callable[[Rows, Ints], Node]) -> Branch:
    holds = rows.holds(test, chosen)
    return Branch((rows.tests[test],), write(rows, chosen[holds]), write(rows, chosen[~holds]))


def _write_quickly(rows: Rows, chosen: Ints) -> Node:
    """Return code for the chosen rows that asks first what tells most."""
    actions = rows.actions[chosen]
    if (actions == actions[0]).all():
        return Leaf(int(actions[0]))
    rows.effort.rows -= len(chosen) + BRANCH_ROWS
    return _split(rows, chosen, rows.best(chosen), _write_quickly)


def _write_smallest(rows: Rows, chosen: Ints) -> Node | None:
    """Return the smallest code for the chosen rows, or None if that takes too long."""
    _, first = np.unique(rows.actions[chosen], return_index=True)
    order = rows.order(chosen)
    sample = chosen[np.sort(first)].tolist()
    steps = min(SEARCH_STEPS, rows.effort.steps)
    smallest = 0
    while len(sample) <= SEARCH_ROWS:
        search = _Search(rows, order, np.array(sample), steps)
        code = search.find(smallest)
        rows.effort.steps -= steps - max(0, search.steps)
        rows.effort.report()
        if code is None:
            return None
        steps, smallest = search.steps, code_size(code)
        wrong = _find_wrong(rows, chosen, code)
        if not wrong:
            return code
        sample += wrong
    return None


def _find_wrong(rows: Rows, chosen: Ints, code: Node) -> list[int]:
    """Return a row of each action that each leaf gets wrong."""
    if isinstance(code, Leaf):
        kinds, first = np.unique(rows.actions[chosen], return_index=True)
        return [int(row) for kind, row in zip(kinds, chosen[first], strict=True) if kind != code.action]
    holds = all_hold(code.tests, rows.digits[chosen])
    return _find_wrong(rows, chosen[holds], code.then) + _find_wrong(rows, chosen[~holds], code.otherwise)


class _Exhausted(Exception):  # noqa: N818
    """The search has looked at as many sets of rows as it may."""


class _Search:
    """Finds the smallest code for a few rows, whose sets are the bits of whole numbers.

    No code is smaller than one branch for each action but one. What a branch costs beyond that bound is known before
    its parts are looked at: a test that has an action on both sides needs one more leaf. So sizes are tried from the
    bound upwards, and only branches that can still fit are followed.
    """

    def __init__(self, rows: Rows, order: Ints, sample: Ints, steps: int) -> None:
        self.steps = steps
        self.all = (1 << len(sample)) - 1
        actions = rows.actions[sample]
        self.actions = {int(kind): _as_bits(actions == kind) for kind in np.unique(actions)}
        self.tests: dict[int, Test] = {}
        for k in order.tolist():
            self.tests.setdefault(_as_bits(rows.holds(k, sample)), rows.tests[k])
        self.found: dict[int, Node] = {}
        """The smallest code of sets for which it is known."""
        self.at_least: dict[int, int] = {}
        """For other sets, a size below which there is no code."""

    def find(self, at_least: int) -> Node | None:
        """Return the smallest code for all rows, known to have at least some size; None if it is too far to seek."""
        self.at_least[self.all] = at_least
        try:
            return self._best(self.all, 1 << 30)
        except _Exhausted:
            return None

    def _best(self, rows: int, most: int) -> Node | None:
        """Return the smallest code for some rows if its size is at most `most`."""
        kinds = [(kind, bits & rows) for kind, bits in self.actions.items() if bits & rows]
        if len(kinds) == 1:
            return Leaf(kinds[0][0])
        bound = BRANCH * (len(kinds) - 1)
        if bound > most:
            return None
        if rows in self.found:
            return self.found[rows] if code_size(self.found[rows]) <= most else None
        for size in range(max(bound, self.at_least.get(rows, 0)), most + 1):
            code = self._of_size(rows, kinds, size, size - bound)
            if code is not None:
                self.found[rows] = code
                return code
            self.at_least[rows] = size + 1
        return None

    def _of_size(self, rows: int, kinds: list[tuple[int, int]], size: int, spare: int) -> Node | None:
        """Return code of a size if there is some; `spare` is what the size has beyond the bound."""
        self.steps -= 1
        if self.steps < 0:
            raise _Exhausted
        splits = {}
        for bits, test in self.tests.items():
            inside = bits & rows
            if inside and inside != rows and inside not in splits:
                splits[inside] = test
        fitting = []
        for inside, test in splits.items():
            straddling = 0
            for _, of_kind in kinds:
                common = of_kind & inside
                if common and common != of_kind:
                    straddling += 1
            if BRANCH * straddling <= spare:
                fitting.append((straddling, inside, test))
        fitting.sort(key=lambda split: split[0])
        for straddling, inside, test in fitting:
            if not straddling and any(of_kind == inside for _, of_kind in kinds):
                # One test sets an action apart: some branch must do that, and none can do it for less.
                return self._branch(rows, inside, (test,), size)
        # Where a complement is tried as well, it gives the same parts.
        single = ((i, (test,)) for _, i, test in fitting if not (rows ^ i in splits and i & 1))
        for inside, tests in chain(single, self._conjunctions(rows, kinds, splits, spare)):
            code = self._branch(rows, inside, tests, size)
            if code is not None:
                return code
        return None

    def _branch(self, rows: int, inside: int, tests: tuple[Test, ...], size: int) -> Node | None:
        """Return code of a size that branches to two sets of rows first, if there is some."""
        left = size - 1 - len(tests)
        first, second = inside, rows ^ inside
        then = self._best(first, left - self._bound(second))
        if then is None:
            return None
        otherwise = self._best(second, left - code_size(then))
        return None if otherwise is None else Branch(tests, then, otherwise)

    def _bound(self, rows: int) -> int:
        return BRANCH * (sum(1 for bits in self.actions.values() if bits & rows) - 1)

    def _conjunctions(
        self, rows: int, kinds: list[tuple[int, int]], splits: dict[int, Test], spare: int
    ) -> Iterator[tuple[int, tuple[Test, ...]]]:
        """Yield the sets of one action that several tests together pick out, with the tests."""
        if spare < 1:
            return
        for _, of_kind in kinds:
            around = [(inside, test) for inside, test in splits.items() if inside & of_kind == of_kind]
            for count in range(2, min(3, spare + 1) + 1):
                yield from _exact_meets(of_kind, around, count)
        if spare >= BRANCH + 1:
            seen: set[int] = set()
            for (a, first), (b, second) in combinations(splits.items(), 2):
                inside = a & b
                if not inside or inside in (a, b) or inside in seen:
                    continue
                seen.add(inside)
                if any(inside & of_kind == inside and inside != of_kind for _, of_kind in kinds):
                    yield inside, (first, second)


def _exact_meets(wanted: int, around: list[tuple[int, Test]], count: int) -> Iterator[tuple[int, tuple[Test, ...]]]:
    """Yield the first `count` tests that hold together for exactly the wanted rows."""
    for chosen in combinations(around, count):
        inside = chosen[0][0]
        for bits, _ in chosen[1:]:
            inside &= bits
        if inside == wanted:
            yield wanted, tuple(test for _, test in chosen)
            return


def _as_bits(holds: Flags) -> int:
    return int.from_bytes(np.packbits(holds, bitorder="little").tobytes(), "little")


# Words: of the tests that do the same on the rows that come to a branch, the plainest; the shorter part first.


def tidy_code(interface: Interface, digits: Ints, code: Node) -> Node:
    """Return code that does the same on the rows [m, F], in plainer words."""
    if isinstance(code, Leaf):
        return code
    holds = all_hold(code.tests, digits)
    then, otherwise = (
        tidy_code(interface, digits[holds], code.then),
        tidy_code(interface, digits[~holds], code.otherwise),
    )
    if len(code.tests) > 1:
        return Branch(_tidy_each(interface, digits, code.tests), then, otherwise)
    column = digits[:, code.tests[0].feature]
    test = _plainest(interface, code.tests[0].feature, column[holds], column[~holds])
    negation = _plainest(interface, code.tests[0].feature, column[~holds], column[holds])
    sizes = len(list(leaves(then))), len(list(leaves(otherwise)))
    if (sizes[0], vagueness(interface, test)) <= (sizes[1], vagueness(interface, negation)):
        return Branch((test,), then, otherwise)
    return Branch((negation,), otherwise, then)


def _tidy_each(interface: Interface, digits: Ints, tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """Return tests that hold together on the same rows, each in the plainest words beside the others."""
    tests = tuple(sorted(tests, key=lambda test: test.feature))
    for k, test in enumerate(tests):
        column = digits[all_hold(tests[:k] + tests[k + 1 :], digits), test.feature]
        inside = np.isin(column, list(test.values))
        plainest = _plainest(interface, test.feature, column[inside], column[~inside])
        tests = (*tests[:k], plainest, *tests[k + 1 :])
    return tests


def _plainest(interface: Interface, feature: int, inside: Ints, outside: Ints) -> Test:
    """Return the plainest test that holds for the values `inside` and not for those `outside`."""
    least = Test(feature, frozenset(np.unique(inside).tolist()))
    most = Test(feature, frozenset(range(interface.radices[feature])) - frozenset(np.unique(outside).tolist()))
    return min(least, most, key=lambda test: vagueness(interface, test))
