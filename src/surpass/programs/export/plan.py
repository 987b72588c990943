"""A program and the kernels of its task as code: the start, and what is done at each place.

A place of the program is a place in the code, so function and previous action need no variables: after an action the
code goes on at the place that the two lead to. Where they cannot be told from the code, or `observe` is more than
an expression, the code looks at the whole observation before each step and finds its place by that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from surpass.engine.batch import allocate
from surpass.engine.specialise import specialise
from surpass.errors import ExportError
from surpass.machine.calls import stack_limit
from surpass.machine.interface import Interface
from surpass.machine.state import DEPTH, FIRST, FUNCTION, PREVIOUS, SCORE, SIZE, Outcome
from surpass.programs.export.bounds import drop_needless_limits
from surpass.programs.export.cleanup import (
    all_statements,
    drop_unneeded,
    functions_in,
    read_parts,
    rename,
    set_names,
    tidy,
)
from surpass.programs.export.code import (
    Block,
    Call,
    Cell,
    Comment,
    Compare,
    Const,
    End,
    Expr,
    Function,
    If,
    Jump,
    Look,
    NoRule,
    Push,
    Register,
    Return,
    SetCell,
    SetRegister,
    Site,
    Statement,
    Step,
    arithmetic,
    compare,
    logic,
)
from surpass.programs.export.conditions import is_one_of
from surpass.programs.export.entries import Entry
from surpass.programs.export.names import RESERVED, SEEN, name_memory
from surpass.programs.export.translate import OPEN, Finish, NeedsFunctionError, Translator, written_registers
from surpass.programs.export.values import Memory, Path, Value
from surpass.programs.program import START, Leaf, Location, Node, Program, Test, place_features
from surpass.programs.words import show_action
from surpass.tasks.task import Task

__all__ = ["Place", "Plan", "plan_program"]

RUNNING = Const(int(Outcome.RUNNING), Outcome.RUNNING.name)


@dataclass(frozen=True)
class Place:
    """A place in the code."""

    title: str
    """How the program comes here."""
    code: Block


@dataclass(frozen=True, eq=False)
class Plan:
    """A program as code."""

    program: Program
    entry: Entry
    names: dict[Expr, str]
    """What registers and reals are called."""
    start: Block
    places: dict[int, Place]
    """By their numbers, in order."""
    sites: tuple[Site, ...]
    functions: tuple[Function, ...]
    registers: tuple[int, ...]
    """The registers that are variables."""
    saved: tuple[int, ...]
    """Those that a call saves."""
    stack_limit: Expr | None
    """How many calls may be open, if the program opens any."""
    reals: tuple[int, ...] | None
    """The reals that are variables; None if they are an array, since the place of some depends on the run."""
    counts_unmet: bool
    """Whether the code looks up every observation among those that the program has met."""

    @property
    def blocks(self) -> list[Block]:
        """All code, functions left out."""
        return [self.start, *(place.code for place in self.places.values())]


def plan_program(program: Program, entry: Entry, *, count_unmet: bool = False) -> Plan:
    """Return a program as code; `count_unmet` if it looks up every observation among those that it has met."""
    try:
        return _Planner(program, entry, by_place=True, count_unmet=count_unmet).plan()
    except _PlaceUnknownError:
        return _Planner(program, entry, by_place=False, count_unmet=count_unmet).plan()


class _PlaceUnknownError(Exception):
    """The place after an action cannot be told from the code."""


class _Planner:
    """Writes the code of a program; `by_place` if it goes from place to place without looking where it is."""

    def __init__(self, program: Program, entry: Entry, *, by_place: bool, count_unmet: bool) -> None:
        self.program, self.task, self.entry = program, program.task, entry
        self.by_place, self.count_unmet = by_place, count_unmet
        self.interface: Interface = program.task.interface
        self.function_feature, self.previous_feature = place_features(self.interface)
        self.names = name_memory(self.task)
        self.translator = Translator(
            dict(self.entry.fixed),
            has_query=self.entry.has_query,
            local_count=self.task.local_count,
            reserved=RESERVED | set(self.names.values()),
        )
        self.sites: list[Site] = []
        self.locations = [(f, place) for f, function in enumerate(program.functions) for place in function.locations]
        self.observation = self._look()

    def plan(self) -> Plan:
        """Return the whole."""
        dispatch = len(self.locations)
        blocks = [self._start(), *(self._place(f, place) for f, place in self.locations)]
        if not self.by_place:
            blocks.append(self._dispatch())
        kept: list[Expr] = [Register(index) for index in self.entry.outputs]
        kept += [SEEN] if not self.by_place else []
        blocks = drop_unneeded([tidy(block) for block in blocks], kept)
        if _ends_empty(self.task):
            blocks = drop_needless_limits(blocks, range(FIRST, self.task.register_count), self.sites)
        start, *codes = map(tidy, blocks)
        titles = [self._title(f, place) for f, place in self.locations] + ["at the start and after every action"]
        places = {k: Place(titles[k], code) for k, code in enumerate(codes)}
        if self.by_place:
            start, places = self._join_straight(start, places)
        elif dispatch in places:
            places = {dispatch: places.pop(dispatch), **places}
        blocks = [start, *(place.code for place in places.values())]
        functions = tuple(functions_in(block) for block in blocks)
        all_functions = tuple(dict.fromkeys(function for found in functions for function in found))
        code = [*blocks, *(function.body for function in all_functions)]
        registers = self._registers(code, kept)
        pushes = any(isinstance(s, Push) for block in blocks for s in all_statements(block))
        saved = [FUNCTION, *range(FIRST, FIRST + self.task.local_count)]
        return Plan(
            self.program,
            self.entry,
            self.names,
            start,
            places,
            tuple(self.sites),
            all_functions,
            registers,
            tuple(index for index in saved if index in registers),
            self._stack_limit() if pushes else None,
            self._reals(code),
            self.count_unmet,
        )

    def _registers(self, code: list[Block], kept: list[Expr]) -> tuple[int, ...]:
        found = {part.index for block in code for part in read_parts(block) if isinstance(part, Register)}
        found |= {register.index for register in kept if isinstance(register, Register)}
        found |= {index for block in code for index in written_registers(block)}
        return tuple(sorted(found - {SIZE, DEPTH}))

    def _reals(self, code: list[Block]) -> tuple[int, ...] | None:
        found = {SCORE} if self.entry.shape in ("list", "memory") else set()
        cells = [part for block in code for part in read_parts(block) if isinstance(part, Cell)]
        cells += [s.cell for block in code for s in all_statements(block) if isinstance(s, SetCell)]
        for cell in cells:
            if cell.array == "reals":
                if not isinstance(cell.index, Const):
                    return None
                found.add(int(cell.index.value))
        return tuple(sorted(found)) if self.entry.starts_at_zero else None

    # Code

    def _start(self) -> Block:
        self.translator.begin_scope()
        zero = {index: Const(0) for index in range(self.task.register_count) if index != SIZE}
        return tuple(self.translator.translate(self.task.start, [Memory()], Path(zero), self._finish(None)))

    def _place(self, function: int, location: Location) -> Block:
        self.translator.begin_scope()
        looks = (Look(self._observer()),) if self.count_unmet else ()
        return (Step(), *looks, *self._tree(function, location.code))

    def _tree(self, function: int, node: Node) -> Block:
        if isinstance(node, Leaf):
            return self._leaf(function, node.action)
        test: Expr = Const(True)
        for part in reversed(node.tests):
            test = logic("and", self._condition(part), test)
        if isinstance(test, Const):
            return self._tree(function, node.then if test.value else node.otherwise)
        return (If(test, self._tree(function, node.then), self._tree(function, node.otherwise)),)

    def _condition(self, test: Test) -> Expr:
        radix = self.interface.radices[test.feature]
        return is_one_of(self._feature(test.feature), test.values, frozenset(range(radix)))

    def _leaf(self, function: int, action: int) -> Block:
        if action < 0:
            return (NoRule(),)
        instruction, *choices = self.interface.action_rows[action].tolist()
        arguments: list[Value] = [Memory(), Const(instruction), tuple(Const(choice) for choice in choices)]
        path = Path({PREVIOUS: Const(action + 1)})
        ids = self.program.functions[function].ids
        if self.by_place and len(ids) == 1:
            path.registers[FUNCTION] = Const(ids[0])
        code = self.translator.translate(
            self.task.act,
            arguments,
            path,
            self._finish(function),
            lambda receiver: self._site(function, action, receiver),
        )
        moves = [s for s in all_statements(code) if isinstance(s, SetRegister) and s.index in (FUNCTION, PREVIOUS)]
        if self.by_place and not all(isinstance(move.value, Const) for move in moves):
            raise _PlaceUnknownError
        return (Comment(show_action(self.interface, action)), SetRegister(PREVIOUS, Const(action + 1)), *code)

    def _finish(self, function: int | None) -> Finish:
        """Return what follows an action: the next place, or the end."""

        def finish(outcome: Value, path: Path) -> list[Statement]:
            if not isinstance(outcome, Expr):
                raise ExportError(f"a kernel of task {self.task.name!r} returns {outcome!r} instead of an outcome")
            if isinstance(outcome, Const) and outcome.value != RUNNING.value:
                return [End(outcome)]
            if path.in_loop:
                raise NeedsFunctionError
            going_on = self._go_on(function, path)
            if isinstance(outcome, Const):
                return going_on
            return [If(Compare("!=", outcome, RUNNING), (End(outcome),), tuple(going_on))]

        return finish

    def _go_on(self, function: int | None, path: Path) -> list[Statement]:
        if path.registers.get(PREVIOUS) is OPEN:
            return []
        if not self.by_place:
            return [Jump(len(self.locations))]
        known = path.registers.get(FUNCTION)
        if self.function_feature is not None and known is not None:
            function = self._function_of(int(known.value))
        elif function is None:
            function = 0
        previous = path.registers.get(PREVIOUS)
        if previous is None:
            raise _PlaceUnknownError
        return [Jump(self._number(function, int(previous.value)))]

    def _function_of(self, value: int) -> int | None:
        for f, function in enumerate(self.program.functions):
            if value in function.ids or not function.ids:
                return f
        return None

    def _number(self, function: int | None, previous: int) -> int | None:
        """Return the number of the place after an action in a function."""
        if function is None or function >= len(self.program.functions):
            return None
        location = self.program.functions[function].location_after(previous)
        for number, (f, place) in enumerate(self.locations):
            if f == function and place is location:
                return number
        return None

    def _site(self, function: int, action: int, receiver: int) -> int:
        place = self._number(function, action + 1) if self.by_place else len(self.locations)
        site = Site(place, receiver if receiver >= 0 else None, action + 1)
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    # Looking

    def _look(self) -> Expr | Function:
        """Return the packed observation as an expression, or else as a function."""
        observe = self.task.observe
        assert observe is not None
        strides = self.interface.strides

        def pack(seen: Value) -> Expr:
            if not isinstance(seen, tuple) or len(seen) != len(strides):
                raise ExportError(f"observe of task {self.task.name!r} does not return one value for each feature")
            packed: Expr = Const(0)
            for digit, stride in zip(seen, strides, strict=True):
                if not isinstance(digit, Expr):
                    raise ExportError(f"observe of task {self.task.name!r} returns something that is no number")
                packed = arithmetic("+", packed, arithmetic("*", digit, Const(stride)))
            return packed

        try:
            seen = self.translator.follow_kernel(observe, [Memory()], Path())
        except ExportError:
            if self.by_place:
                raise _PlaceUnknownError from None
            return self.translator.keep_as_function(observe, [Memory()], pack)
        packed = pack(seen)
        assert isinstance(seen, tuple)
        self.seen = seen
        expected = {self.function_feature: Register(FUNCTION), self.previous_feature: Register(PREVIOUS)}
        if self.by_place and any(k is not None and seen[k] != register for k, register in expected.items()):
            raise _PlaceUnknownError
        return packed

    def _observer(self) -> Function:
        """Return the function that gives the packed observation."""
        if not isinstance(self.observation, Function):
            self.observation = Function("observe", "Return the packed observation.", (), (Return(self.observation),))
        return self.observation

    def _feature(self, k: int) -> Expr:
        if self.by_place:
            value = self.seen[k]
            assert isinstance(value, Expr)
            return value
        quotient = arithmetic("//", SEEN, Const(self.interface.strides[k]))
        return arithmetic("%", quotient, Const(self.interface.radices[k]))

    def _dispatch(self) -> Block:
        """Return the code that looks at the whole observation and goes to its place."""
        self.translator.begin_scope()
        code: list[Statement]
        if isinstance(self.observation, Function):
            var = self.translator.fresh("observation")
            code = [Call(var, self.observation, ()), SetRegister(SEEN.index, var)]
        else:
            code = [SetRegister(SEEN.index, self.observation)]
        rest: Block = (Jump(None),)
        for number, (f, location) in reversed(list(enumerate(self.locations))):
            test: Expr = Const(True)
            if self.previous_feature is not None:
                test = self._is_any(self.previous_feature, location.after)
            if self.function_feature is not None:
                test = logic("and", self._is_any(self.function_feature, self.program.functions[f].ids), test)
            rest = (Jump(number),) if isinstance(test, Const) else (If(test, (Jump(number),), rest),)
        return (*code, *rest)

    def _is_any(self, feature: int, values: tuple[int, ...]) -> Expr:
        found: Expr = Const(False)
        for value in values:
            found = logic("or", found, compare("==", self._feature(feature), Const(value)))
        return found

    def _stack_limit(self) -> Expr:
        found = self.translator.follow_kernel(stack_limit, [Register(SIZE)], Path())
        assert isinstance(found, Expr)
        return found

    # Words

    def _title(self, function: int, location: Location) -> str:
        if not location.after:
            return "after every action"
        words = [
            "at the start" if value == START else f"after {show_action(self.interface, value - 1)}"
            for value in location.after
        ]
        if self.function_feature is None:
            return " or ".join(words)
        values = self.interface.feature_values(self.function_feature)
        names = [
            "the outermost function" if values[k] is None else f"function {values[k]}"
            for k in self.program.functions[function].ids
        ]
        return f"{' or '.join(words)}, in {' and '.join(names)}"

    # Straight code

    def _join_straight(self, start: Block, places: dict[int, Place]) -> tuple[Block, dict[int, Place]]:
        """Return the code with places of one action, to which one way leads, written where that way comes from."""
        straight = {k for k, (_, location) in enumerate(self.locations) if isinstance(location.code, Leaf)}
        while True:
            blocks = [start, *(place.code for place in places.values())]
            ways = Counter(jump for block in blocks for jump in _targets(block))
            ways.update(site.place for site in self.sites if site.place is not None)
            at_site = {site.place for site in self.sites}
            joined = None
            for k in sorted(straight & places.keys()):
                if ways[k] == 1 and k not in at_site and k not in _targets(places[k].code):
                    joined = k
                    break
            if joined is None:
                break
            code = places.pop(joined).code
            start = _write_in(start, joined, code)
            places = {k: replace(place, code=_write_in(place.code, joined, code)) for k, place in places.items()}
        reached = self._reached(start, places)
        return start, {k: place for k, place in places.items() if k in reached}

    def _reached(self, start: Block, places: dict[int, Place]) -> set[int]:
        found: set[int] = set()
        waiting = list(_targets(start))
        while waiting:
            k = waiting.pop()
            if k not in found:
                found.add(k)
                waiting += _targets(places[k].code)
                opened = [self.sites[s.site].place for s in all_statements(places[k].code) if isinstance(s, Push)]
                waiting += [place for place in opened if place is not None]
        return found


def _ends_empty(task: Task) -> bool:
    """Tell whether an empty instance of a task ends at once."""
    batch, instances = allocate(task, 1, 0), task.allocate(1, 0)
    specialise(task).reset(batch, *instances, np.arange(1))
    return bool(batch.outcomes[0] > Outcome.RUNNING)


def _targets(block: Block) -> Iterator[int]:
    """Yield the places to which a block goes on."""
    for statement in all_statements(block):
        if isinstance(statement, Jump) and statement.place is not None:
            yield statement.place


def _write_in(block: Block, place: int, code: Block) -> Block:
    """Return a block with the code of a place where it would go to that place."""
    if place not in set(_targets(block)):
        return block
    return _replace_jump(block, place, rename(code, set_names(block)))


def _replace_jump(block: Block, place: int, code: Block) -> Block:
    found: list[Statement] = []
    for statement in block:
        if isinstance(statement, Jump) and statement.place == place:
            found += code
        elif isinstance(statement, If):
            ways = (_replace_jump(way, place, code) for way in (statement.then, statement.otherwise))
            found.append(If(statement.test, *ways))
        else:
            found.append(statement)
    return tuple(found)
