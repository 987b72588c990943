"""From places to structured code: straight runs, branches and loops where that is exact, jumps to labels where not.

The places of a function and the actions between them are a graph. Code that is reached in one way only stands where it
is reached; code that is reached in several ways stands behind the code that all of them come through; a way back to
such code is a loop. (N. Ramsey, "Beyond Relooper", 2022, puts this for general graphs.) What remains is a jump.
"""

from __future__ import annotations

from collections.abc import Sequence
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
            written += writer.write(writer.waiting.pop(0), None, ())
        return _keep_marks(_shorten(_keep_marks(tuple(written)), ()))


class _Graph:
    """The places of a function and the ways between them."""

    def __init__(self, function: Function, first: int) -> None:
        self.codes: list[Node] = []
        for place in function.places:
            self.codes.append(as_tree(place.rules, first))
            first += len(place.rules)
        self._is_single = not function.places or not function.places[0].after
        self._after = {value: k for k, place in enumerate(function.places) for value in place.after}
        self.ways = [
            [after for leaf in leaves(code) if (after := self.next_of(leaf)) is not None] for code in self.codes
        ]
        """For each place, where each of its leaves leads that leads on."""
        self.order: list[int] = []
        """Every place, each before those that it leads to but for ways back."""
        self.entries: list[int] = []
        """The first place, and those that have no single one before them: they stand on their own."""
        for k in range(len(self.codes)):
            if k not in self.order:
                self.order += self._visit(k)
                self.entries.append(k)
        self.rank = {place: number for number, place in enumerate(self.order)}
        self.dominators = self._find_dominators()
        self.entries += [k for k in self.order if len(self.dominators[k]) == 1 and k not in self.entries]
        self.loops = self._find_loops()
        forward = [after for place in self.order for after in self.ways[place] if self.rank[after] > self.rank[place]]
        self.joins = {place for place in self.order if forward.count(place) > 1}
        """The places that are reached in several ways, ways back left out."""

    def next_of(self, leaf: Leaf) -> int | None:
        """Return the place that a leaf leads to, if it leads to one."""
        if leaf.action == NO_ACTION:
            return None
        return 0 if self._is_single else self._after.get(leaf.action + 1)

    def _visit(self, entry: int) -> list[int]:
        """Return what is reached from a place and was not before, in reverse postorder."""
        seen, postorder = {entry, *self.order}, []
        stack = [(entry, iter(self.ways[entry][::-1]))]
        while stack:
            place, rest = stack[-1]
            after = next((k for k in rest if k not in seen), None)
            if after is None:
                postorder.append(place)
                stack.pop()
            else:
                seen.add(after)
                stack.append((after, iter(self.ways[after][::-1])))
        return postorder[::-1]

    def _find_dominators(self) -> dict[int, set[int]]:
        """Return for each place those that every way to it comes through, itself among them."""
        before: dict[int, list[int]] = {place: [] for place in self.order}
        for place in self.order:
            for after in self.ways[place]:
                before[after].append(place)
        found = {place: set(self.order) for place in self.order}
        for entry in self.entries:
            found[entry] = {entry}
        changed = True
        while changed:
            changed = False
            for place in self.order:
                if place in self.entries:
                    continue
                common = set.intersection(*(found[k] for k in before[place])) | {place}
                if common != found[place]:
                    found[place], changed = common, True
        return found

    def _find_loops(self) -> dict[int, set[int]]:
        """Return the places that begin a loop, each with the places that jump back to it."""
        loops: dict[int, set[int]] = {}
        for place in self.order:
            for after in self.ways[place]:
                if after in self.dominators[place]:
                    loops.setdefault(after, {after}).update(self._between(after, place))
        return loops

    def _between(self, first: int, last: int) -> set[int]:
        """Return the places from which `last` is reached without coming through `first`."""
        found, waiting = {first, last}, [last] if last != first else []
        while waiting:
            here = waiting.pop()
            before = [place for place in self.order if here in self.ways[place] and place not in found]
            found.update(before)
            waiting += before
        return found

    def follow_ups(self, place: int) -> list[int]:
        """Return the joins that stand behind a place: it is the last that all ways to them come through."""
        above = {join: self.dominators[join] - {join} for join in sorted(self.joins, key=self.rank.__getitem__)}
        return [join for join, others in above.items() if max(others, key=self.rank.__getitem__, default=None) == place]


@dataclass(frozen=True)
class _Around:
    """A loop around the code being written."""

    place: int
    behind: int | None
    """The place whose code stands behind it, if a jump there is to be written as leaving the loop."""


class _FlowWriter:
    """Writes each place once."""

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph
        self.waiting = list(graph.entries)
        """The places whose code stands on its own and is not yet written."""
        self._depth = 0

    def write(self, place: int, after: int | None, around: tuple[_Around, ...]) -> list[Statement]:
        """Return the code that begins at a place; `after` is the one whose code stands behind it."""
        follow_ups, code = self.graph.follow_ups(place), self.graph.codes[place]
        if place not in self.graph.loops:
            return [Mark(place), *self._write_row(code, place, follow_ups, after, around)]
        inside = [k for k in follow_ups if k in self.graph.loops[place]]
        outside = [k for k in follow_ups if k not in self.graph.loops[place]]
        behind = outside[0] if outside else after
        found = self._write_while(place, inside, outside, behind, around)
        if found is None:
            body = self._write_row(code, place, inside, place, (*around, _Around(place, behind)))
            found = [Loop(place, tuple(body))]
        return [Mark(place), *found, *self._write_each(outside, after, around)]

    def _write_row(
        self, code: Node, place: int, follow_ups: Sequence[int], after: int | None, around: tuple[_Around, ...]
    ) -> list[Statement]:
        """Return the code of a place, or a part of it, and then that of its follow-ups."""
        first = self._write_node(code, place, follow_ups[0] if follow_ups else after, around)
        return first + self._write_each(follow_ups, after, around)

    def _write_each(self, places: Sequence[int], after: int | None, around: tuple[_Around, ...]) -> list[Statement]:
        """Return the code of some places, one behind the other."""
        behind = [*places[1:], after][: len(places)]
        return [s for place, then in zip(places, behind, strict=True) for s in self.write(place, then, around)]

    def _write_while(
        self,
        place: int,
        inside: Sequence[int],
        outside: Sequence[int],
        behind: int | None,
        around: tuple[_Around, ...],
    ) -> list[Statement] | None:
        """Return a loop with its condition, if just one side of its first branch leaves it, and nothing else does."""
        code = self.graph.codes[place]
        if isinstance(code, Leaf):
            return None
        stays = [self._comes_back(side, place) for side in (code.then, code.otherwise)]
        if stays[0] == stays[1]:
            return None
        staying, leaving = (code.then, code.otherwise) if stays[0] else (code.otherwise, code.then)
        if behind is not None and self._reaches(staying, place, behind, outside):
            return None
        body = self._write_row(staying, place, inside, place, (*around, _Around(place, None)))
        loop = Loop(place, tuple(body), Condition(code.tests, stays[0]))
        return [loop, *self._write_node(leaving, place, behind, around)]

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

    def _comes_back(self, node: Node, place: int) -> bool:
        """Tell whether some leaf leads into the loop that begins at a place."""
        return any(self.graph.next_of(leaf) in self.graph.loops[place] for leaf in leaves(node))

    def _write_node(self, node: Node, place: int, after: int | None, around: tuple[_Around, ...]) -> list[Statement]:
        if isinstance(node, Branch):
            self._depth += 1
            then = self._write_node(node.then, place, after, around)
            otherwise = self._write_node(node.otherwise, place, after, around)
            self._depth -= 1
            return [If(Condition(node.tests), tuple(then), tuple(otherwise))]
        target = self.graph.next_of(node)
        do = Act(node.action, [] if node.rule == NO_RULE else [node.rule], target is None)
        if target is None:
            return [do]
        is_ahead = self.graph.rank[target] > self.graph.rank[place]
        if not is_ahead or target in self.graph.joins or target in self.graph.entries:
            return [do, *_go_to(target, after, around)]
        if self._depth > DEEPEST:
            self.waiting.append(target)
            return [do, Jump("go to", target)]
        return [do, *self.write(target, after, around)]


def _go_to(target: int, after: int | None, around: tuple[_Around, ...]) -> list[Statement]:
    """Return the jump to a place, or nothing where its code comes next anyway."""
    if target == after:
        return []
    if around and around[-1].place == target:
        return [Jump("again", target)]
    if around and around[-1].behind == target:
        return [Jump("leave", target)]
    return [Jump("go to", target)]


def _all(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements and those inside them."""
    found: list[Statement] = []
    for statement in statements:
        found.append(statement)
        if isinstance(statement, If):
            found += _all((*statement.then, *statement.otherwise))
        elif isinstance(statement, Loop):
            found += _all(statement.body)
    return found


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

    def walk(part: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(rewrite(s) for s in part if not isinstance(s, Mark) or s.place in wanted)

    def rewrite(statement: Statement) -> Statement:
        if isinstance(statement, If):
            return replace(statement, then=walk(statement.then), otherwise=walk(statement.otherwise))
        if isinstance(statement, Loop):
            return replace(statement, body=walk(statement.body))
        return statement

    return walk(statements)
