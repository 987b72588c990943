"""From places to structured code: straight runs, branches and loops where that is exact, jumps to labels where not.

The places of a function and the actions between them are a graph. Code that is reached in one way only stands where it
is reached; code that is reached in several ways stands behind the code that all of them come through; a way back to
such code is a loop. (N. Ramsey, "Beyond Relooper", 2022, puts this for general graphs.) What remains is a jump.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from surpass.machine.interface import NO_ACTION
from surpass.programs.evaluate import NO_RULE
from surpass.programs.program import Function, Test
from surpass.programs.tree import Branch, Leaf, Node, as_tree, deep_recursion, leaves

DEEPEST = 60
"""How many branches deep code may stand where it is reached; deeper, it stands on its own."""


@dataclass(frozen=True)
class Condition:
    """All tests hold, or not all of them."""

    tests: tuple[Test, ...]
    holds: bool = True

    def negated(self) -> Condition:
        """Return the opposite."""
        return replace(self, holds=not self.holds)


@dataclass
class Act:
    """Take an action; two that do the same are equal."""

    action: int
    rules: list[int] = field(compare=False)
    """The rules that take it here."""
    ends: bool
    """Whether nothing comes after it: it ends the function or the episode."""


@dataclass(frozen=True)
class If:
    """Do one thing or another, or nothing."""

    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop:
    """Do the same again and again, as long as the condition holds where there is one."""

    place: int
    """The place that begins it."""
    body: tuple[Statement, ...]
    condition: Condition | None = None


@dataclass(frozen=True)
class Jump:
    """Go on at the beginning of the loop around (`again`), behind it (`leave`), or at a mark (`go to`)."""

    kind: str
    place: int


@dataclass(frozen=True)
class Mark:
    """Where a jump goes to: the place that begins here."""

    place: int


Statement = Act | If | Loop | Jump | Mark


def structure(function: Function, first: int = 0) -> tuple[Statement, ...]:
    """Return the code of a function as statements; its first rule has the number `first`."""
    with deep_recursion():
        writer = _FlowWriter(_Graph(function, first))
        written: list[Statement] = []
        while writer.waiting:
            written += writer.write(writer.waiting.pop(0), None, _Around())
        return _keep_marks(_shorten(_keep_marks(tuple(written)), ()))


class _Graph:
    """The places of a function and the ways between them."""

    def __init__(self, function: Function, first: int) -> None:
        self.codes: list[Node] = []
        for one in function.places:
            self.codes.append(as_tree(one.rules, first))
            first += len(one.rules)
        self._is_single = not function.places or not function.places[0].after
        self._after = {value: k for k, place in enumerate(function.places) for value in place.after}
        self.ways = [
            [after for leaf in leaves(code) if (after := self.next_of(leaf)) is not None] for code in self.codes
        ]
        """For each place, where each of its leaves leads that leads on."""
        self.before = [[k for k, ways in enumerate(self.ways) if at in ways] for at in range(len(self.codes))]
        """For each place, those that lead to it."""
        self.order: list[int] = []
        """Every place, each before those that it leads to but for ways back."""
        self.entries: list[int] = []
        """The first place, and those that have no single one before them: they stand on their own."""
        for k in range(len(self.codes)):
            if k not in self.order:
                self.order += self._visit(k, {*self.order})[::-1]
                self.entries.append(k)
        self.rank = {place: number for number, place in enumerate(self.order)}
        self.dominators = self._find_dominators()
        """For each place, those that every way to it comes through, itself among them."""
        self.entries += [k for k in self.order if len(self.dominators[k]) == 1 and k not in self.entries]
        self.loops: dict[int, set[int]] = {}
        """The places that begin a loop, each with the places from which the loop comes back to it."""
        for place in self.order:
            for after in self.dominators[place].intersection(self.ways[place]):
                self.loops[after] = self.loops.get(after, {after}) | self._between(after, place)
        forward = [after for place in self.order for after in self.ways[place] if self.rank[after] > self.rank[place]]
        self.joins = [place for place in self.order if forward.count(place) > 1]
        """The places that are reached in several ways, ways back left out."""

    def next_of(self, leaf: Leaf) -> int | None:
        """Return the place that a leaf leads to, if it leads to one."""
        if leaf.action == NO_ACTION:
            return None
        return 0 if self._is_single else self._after.get(leaf.action + 1)

    def _visit(self, place: int, seen: set[int]) -> list[int]:
        """Return what is reached from a place and was not seen, in postorder."""
        seen.add(place)
        found = [k for after in self.ways[place][::-1] if after not in seen for k in self._visit(after, seen)]
        return [*found, place]

    def _find_dominators(self) -> dict[int, set[int]]:
        found = {place: {place} if place in self.entries else {*self.order} for place in self.order}
        before: dict[int, set[int]] = {}
        while before != found:
            before = dict(found)
            for place in self.order:
                if place not in self.entries:
                    found[place] = set.intersection(*(found[k] for k in self.before[place])) | {place}
        return found

    def _between(self, first: int, last: int) -> set[int]:
        """Return the places from which `last` is reached without coming through `first`."""
        found, waiting = {first}, [last]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += self.before[here]
        return found

    def follow_ups(self, place: int) -> list[int]:
        """Return the joins that stand behind a place: it is the last that all ways to them come through."""
        above = {join: self.dominators[join] - {join} for join in self.joins}
        return [join for join, others in above.items() if max(others, key=self.rank.__getitem__, default=None) == place]


@dataclass(frozen=True)
class _Around:
    """The loop around the code being written; none at first."""

    place: int | None = None
    behind: int | None = None
    """The place whose code stands behind it, if a jump there is to be written as leaving the loop."""


class _FlowWriter:
    """Writes each place once."""

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph
        self.waiting = list(graph.entries)
        """The places whose code stands on its own and is not yet written."""
        self._depth = 0

    def write(self, place: int, after: int | None, around: _Around) -> list[Statement]:
        """Return the code that begins at a place; `after` is the one whose code stands behind it."""
        follow_ups, code = self.graph.follow_ups(place), self.graph.codes[place]
        if place not in self.graph.loops:
            return [Mark(place), *self._write_row(code, place, follow_ups, after, around)]
        inside = [k for k in follow_ups if k in self.graph.loops[place]]
        outside = [k for k in follow_ups if k not in self.graph.loops[place]]
        behind = outside[0] if outside else after
        found = self._write_while(place, inside, outside, behind, around)
        if found is None:
            found = [Loop(place, tuple(self._write_row(code, place, inside, place, _Around(place, behind))))]
        return [Mark(place), *found, *self._write_each(outside, after, around)]

    def _write_row(
        self, code: Node, place: int, follow_ups: Sequence[int], after: int | None, around: _Around
    ) -> list[Statement]:
        """Return the code of a place, or a part of it, and then that of its follow-ups."""
        first = self._write_node(code, place, follow_ups[0] if follow_ups else after, around)
        return first + self._write_each(follow_ups, after, around)

    def _write_each(self, places: Sequence[int], after: int | None, around: _Around) -> list[Statement]:
        """Return the code of some places, one behind the other."""
        behind = [*places[1:], after][: len(places)]
        return [s for place, then in zip(places, behind, strict=True) for s in self.write(place, then, around)]

    def _write_while(
        self, place: int, inside: Sequence[int], outside: Sequence[int], behind: int | None, around: _Around
    ) -> list[Statement] | None:
        """Return a loop with its condition, if just one side of its first branch leaves it, and nothing else does."""
        code, loop = self.graph.codes[place], self.graph.loops[place]
        if isinstance(code, Leaf):
            return None
        stays = [any(self.graph.next_of(leaf) in loop for leaf in leaves(side)) for side in (code.then, code.otherwise)]
        if stays[0] == stays[1]:
            return None
        staying, leaving = (code.then, code.otherwise) if stays[0] else (code.otherwise, code.then)
        if behind is not None and self._reaches(staying, place, behind, outside):
            return None
        body = self._write_row(staying, place, inside, place, _Around(place))
        condition = Condition(code.tests, stays[0])
        return [Loop(place, tuple(body), condition), *self._write_node(leaving, place, behind, around)]

    def _reaches(self, node: Node, place: int, target: int, outside: Sequence[int]) -> bool:
        """Tell whether code in the loop that begins at a place leads to a target behind it."""
        seen, waiting = {place}, [self.graph.next_of(leaf) for leaf in leaves(node)]
        while waiting:
            here = waiting.pop()
            if here == target:
                return True
            if here is not None and here not in seen and here not in outside and place in self.graph.dominators[here]:
                seen.add(here)
                waiting += self.graph.ways[here]
        return False

    def _write_node(self, node: Node, place: int, after: int | None, around: _Around) -> list[Statement]:
        if isinstance(node, Branch):
            self._depth += 1
            then, otherwise = (self._write_node(way, place, after, around) for way in (node.then, node.otherwise))
            self._depth -= 1
            return [If(Condition(node.tests), tuple(then), tuple(otherwise))]
        target, graph = self.graph.next_of(node), self.graph
        do = Act(node.action, [] if node.rule == NO_RULE else [node.rule], target is None)
        if target is None:
            return [do]
        if graph.rank[target] <= graph.rank[place] or target in graph.joins or target in graph.entries:
            kind = {around.behind: "leave", around.place: "again"}.get(target, "go to")
            return [do] if target == after else [do, Jump(kind, target)]
        if self._depth > DEEPEST:
            self.waiting.append(target)
            return [do, Jump("go to", target)]
        return [do, *self.write(target, after, around)]


# Shortening: what two ways have in common at their ends is written once, behind them.


def _shorten(statements: tuple[Statement, ...], rest: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements that do the same; `rest` is what is done after them up to the next jump."""
    written: tuple[Statement, ...] = ()
    for statement in reversed(statements):
        if isinstance(statement, Loop):
            again = Jump("again", statement.place)
            written = (replace(statement, body=_shorten(statement.body, (again,))), *written)
        elif isinstance(statement, If):
            written = _shorten_if(statement, written, rest)
        else:
            written = (statement, *written)
    return written


def _shorten_if(statement: If, behind: tuple[Statement, ...], rest: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return a branch and what stands behind it, with what they have in common written once."""
    following: tuple[Statement, ...] = tuple(s for s in behind if not isinstance(s, Mark))
    if all(isinstance(s, Act) and not s.ends for s in following):
        following += rest
    then, otherwise = _shorten(statement.then, following), _shorten(statement.otherwise, following)
    if following and isinstance(following[-1], Jump):
        then, otherwise = _fall_through(then, following), _fall_through(otherwise, following)
    common: tuple[Statement, ...] = ()
    while then and otherwise and _join(then[-1], otherwise[-1]):
        then, otherwise, common = then[:-1], otherwise[:-1], (then[-1], *common)
    if then:
        return (If(statement.condition, then, otherwise), *common, *behind)
    if otherwise:
        return (If(statement.condition.negated(), otherwise, then), *common, *behind)
    return (*common, *behind)


def _fall_through(way: tuple[Statement, ...], following: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return a way without its end if that is just what follows up to a jump, whose rules it then shares."""
    kept, tail = way[: -len(following)], way[-len(following) :]
    if following != tail or not all(isinstance(statement, Act | Jump) for statement in tail):
        return way
    for statement, same in zip(following, tail, strict=True):
        _join(statement, same)
    return kept


def _join(a: Statement, b: Statement) -> bool:
    """Tell whether two statements are the same act or jump; the first then gets the rules of the second, in place."""
    if isinstance(a, Act) and isinstance(b, Act) and a == b:
        a.rules += b.rules
    return isinstance(a, Act | Jump) and a == b


def _keep_marks(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements with marks only where a jump goes to."""
    wanted = {s.place for s in _all(statements) if isinstance(s, Jump) and s.kind == "go to"}

    def keep(part: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(rewrite(s) for s in part if not isinstance(s, Mark) or s.place in wanted)

    def rewrite(statement: Statement) -> Statement:
        if isinstance(statement, If):
            return replace(statement, then=keep(statement.then), otherwise=keep(statement.otherwise))
        return replace(statement, body=keep(statement.body)) if isinstance(statement, Loop) else statement

    return keep(statements)


def _all(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield statements and those inside them."""
    for statement in statements:
        yield statement
        if isinstance(statement, If):
            yield from _all(statement.then + statement.otherwise)
        elif isinstance(statement, Loop):
            yield from _all(statement.body)
