"""A program with the kernels of its task as code: the start, and the code of each place.

A place of the program is a place in the code, so function and previous action need no variables: after an action the
code continues at the place that the two lead to.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from surpass.engine.batch import allocate
from surpass.engine.specialise import specialise
from surpass.errors import ExportError
from surpass.machine.calls import stack_limit
from surpass.machine.state import DEPTH, FIRST, FUNCTION, LOCALS, PREVIOUS, SCORE, SIZE, Outcome
from surpass.programs.export import syntax
from surpass.programs.export.conditions import write_condition
from surpass.programs.export.kernels import HAD_FRAME, OUTCOMES, Translator
from surpass.programs.export.shorten import drop_needless_limits, drop_unneeded, shorten
from surpass.programs.program import START, Program
from surpass.programs.tree import Leaf, Node, as_tree
from surpass.programs.words import show_action, show_place
from surpass.tasks.enumeration import reads_lists
from surpass.tasks.signature import Signature
from surpass.tasks.task import Task

_C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register"
    " restrict return short signed sizeof static struct switch typedef union unsigned void volatile while int64_t"
    " size_t main free calloc realloc abs ceil exp fabs floor llabs log sqrt"
)
_OWN_WORDS = (
    "n items reals limit left steps score stack stack_limit frames depth capacity site place result function previous"
    " back end no_place too_deep out_of_memory step_limit grow limit_of in_range math namedtuple len range min max int"
    " float count size value outcome number k taken RUNNING SOLVED WRONG_ANSWER"
)
RESERVED = frozenset([*keyword.kwlist, *keyword.softkwlist, *_C_WORDS.split(), *_OWN_WORDS.split()])
"""Words that the languages and the exported files use themselves."""
START_BLOCK = -1
"""The number of the start among the blocks of code; places have theirs from 0 on."""


@dataclass(frozen=True)
class CodePlace:
    """A place in the code."""

    title: str
    """How the program comes here."""
    code: syntax.Block


@dataclass(frozen=True)
class Site:
    """Where a call returns to."""

    place: int | None
    receiver: str
    """The register that receives the result, if one does."""
    previous: int
    """The value of the previous action that a return restores."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A program as code."""

    program: Program
    signature: Signature
    start: syntax.Block
    places: dict[int, CodePlace]
    """By their numbers, in order."""
    sites: tuple[Site, ...]
    subroutines: dict[str, syntax.Subroutine]
    """By name, each after those that it calls."""
    changes: dict[str, set[str]]
    """For each subroutine, the registers, reals and arrays that it changes."""
    registers: tuple[str, ...]
    """The registers that are variables."""
    saved: tuple[str, ...]
    """Those that a call saves."""
    stack_limit: ast.expr | None
    """How many calls may be open, if the program opens any."""
    reals: tuple[str, ...] | None
    """The reals that are variables; None if they are an array."""
    outputs: tuple[str, ...]
    """The registers that are returned."""
    score: str
    """The name of the score, if it is returned and is a variable."""

    @property
    def blocks(self) -> list[syntax.Block]:
        """All code, subroutines left out."""
        return [self.start, *(found.code for found in self.places.values())]

    @property
    def inputs(self) -> list[str]:
        """What the run of the program is given, but for the limit."""
        names = ["n", "items", *(["reals"] if self.reals is None else []), self.signature.query]
        return [name for name in names if name]

    @property
    def results(self) -> list[str]:
        """What the run gives back, but for the outcome and the steps."""
        return [*([self.score] if self.score else []), *self.outputs]

    @property
    def uses_up(self) -> bool:
        """Whether a run that takes all its steps has a result."""
        return bool(self.signature.budget) or self.program.task.measure == "reward"

    @property
    def closes_calls(self) -> bool:
        """Whether the program ever goes back to a caller."""
        return any(isinstance(line, syntax.CloseCall) for block in self.blocks for line in syntax.statements(block))

    @property
    def has_receivers(self) -> bool:
        """Whether some call keeps what its function gives back."""
        return any(site.receiver in self.registers for site in self.sites)

    @property
    def memory(self) -> tuple[str, ...]:
        """What subroutines may use: the size, registers and reals, in order."""
        return ("n", *self.registers, *(self.reals or ()))

    def needs(self, subroutine: syntax.Subroutine) -> list[str]:
        """Return what a subroutine, or one that it calls, uses of registers, reals, arrays and the query, in order."""
        found = syntax.names_in(*subroutine.body)
        for inner in found & self.subroutines.keys():
            found |= set(self.needs(self.subroutines[inner]))
        return [used for used in (*self.memory, "items", "reals", self.signature.query) if used in found]


def memory_signature(task: Task) -> Signature:
    """Return the way of calling that does for every task: with the memory of an episode."""
    word = as_word(task.name)
    return Signature(
        name=f"{word}_" if word in RESERVED else word, summary=task.summary, items="memory", everything=True
    )


def list_signature(task: Task) -> Signature | None:
    """Return the way of calling for a task whose instances are lists and nothing else."""
    sizes, memory = (0, 1, 2, 3, 10, 100, 1000), task.memory
    if not reads_lists(task) or any((memory.item_width(n), memory.real_width(n)) != (n, 1) for n in sizes):
        return None
    return replace(memory_signature(task), items="list")


def as_word(text: str) -> str:
    """Return a name as a word of letters, digits and underscores."""
    word = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() else f"x{word}"


def plan_program(program: Program, signature: Signature) -> Plan:
    """Return a program as code that is called in a way."""
    return _Planner(program, signature).plan()


class _Planner:
    """Writes the code of a program."""

    def __init__(self, program: Program, signature: Signature) -> None:
        self.program, self.task, self.signature = program, program.task, signature
        self.interface, memory = program.task.interface, program.task.memory
        self.registers = {SIZE: "n", PREVIOUS: "previous", FUNCTION: "function", DEPTH: "depth"}
        self.real_names: list[str] = []
        self.reals: dict[int, str] = {}
        """The names of the single reals that are in use."""
        taken = {*RESERVED, signature.query}
        for k, given in enumerate((*memory.names, *memory.reals)):
            word = as_word(given)
            while word in taken or word.endswith("_out"):
                word += "_"
            taken.add(word)
            if k < len(memory.names):
                self.registers[FIRST + k] = word
            else:
                self.real_names.append(word)
        # If the score is the only real, it is a variable: the caller has no array to bring.
        has_other_reals = signature.items == "memory" and any(memory.real_width(n) > 1 for n in (0, 1))
        self.has_real_array = has_other_reals or bool(signature.reals)
        self.translator = Translator(
            self.registers,
            assumed={LOCALS: memory.saved or 0, **signature.assumed},
            query=signature.query,
            reals=None if self.has_real_array else self.real_names,
            reserved=taken - {"outcome", "k"},
        )
        self.sites: list[Site] = []
        self.placed = [(f, place) for f, function in enumerate(program.functions) for place in function.places]
        self.trees = [as_tree(place.rules) for _, place in self.placed]

    def plan(self) -> Plan:
        """Return the whole."""
        program, memory, signature = self.program, self.task.memory, self.signature
        start = self._name_reals(
            self._end_with_outcomes(self.translator.action(self.task.start, is_start=True), None, 0, 0)
        )
        codes = [
            self._name_reals((syntax.CountStep(), *self._tree(f, tree)))
            for (f, _), tree in zip(self.placed, self.trees, strict=True)
        ]
        subroutines = {
            title: replace(found, body=self._name_reals(found.body))
            for title, found in self.translator.subroutines.items()
        }
        outputs = [] if signature.answer is None else [self.registers[signature.answer]]
        if signature.everything:
            outputs = [self.registers[FIRST + k] for k, own in enumerate(memory.names) if not own.startswith("_")]
        score = self._real_name(SCORE) if signature.everything and not self.has_real_array else ""
        kept = {*outputs, *([score] if score else [])}
        receivers = {site.receiver for site in self.sites if site.receiver}
        blocks, subroutines = drop_unneeded([start, *codes], subroutines, kept, receivers)
        if _ends_empty(self.task):
            own = {self.registers[FIRST + k] for k in range(len(memory.names))}
            blocks = drop_needless_limits(blocks, subroutines, own, receivers)
        variables = {*self.registers.values(), *self.reals.values()}
        changes: dict[str, set[str]] = {}
        for title, found in subroutines.items():
            called = syntax.names_in(*found.body) & changes.keys()
            own = set(syntax.assigned(found.body)) & {*variables, "items", "reals"}
            changes[title] = own.union(*(changes[inner] for inner in called))
        blocks = [shorten(block, variables, changes) for block in blocks]
        subroutines = {
            title: replace(found, body=shorten(found.body, variables, changes)) for title, found in subroutines.items()
        }
        places = {
            k: CodePlace(show_place(self.interface, program.functions[f], place) or "after every action", code)
            for k, ((f, place), code) in enumerate(zip(self.placed, blocks[1:], strict=True))
        }
        start, places = self._join_straight(blocks[0], places)
        blocks = [start, *(found.code for found in places.values())]
        used = syntax.names_in(*(line for block in blocks for line in block))
        for title, found in reversed(subroutines.items()):
            used |= syntax.names_in(*found.body) if title in used else set()
        used |= {name for block in blocks for name in syntax.assigned(block)} | kept
        has_calls = any(isinstance(line, syntax.OpenCall) for block in blocks for line in syntax.statements(block))
        registers = [word for index, word in self.registers.items() if word in used and index not in (SIZE, DEPTH)]
        saved = [self.registers[k] for k in (FUNCTION, *range(FIRST, FIRST + (memory.saved or 0)))]
        limit = self.translator.expression(stack_limit, syntax.whole("n"), state=None) if has_calls else None
        reals = tuple(word for _, word in sorted(self.reals.items()) if word in used)
        return Plan(
            self.program,
            signature,
            start,
            places,
            tuple(self.sites),
            {title: found for title, found in subroutines.items() if title in used},
            changes,
            tuple(registers),
            tuple(word for word in saved if word in registers),
            limit,
            None if self.has_real_array else reals,
            tuple(outputs),
            score,
        )

    # Reals

    def _real_name(self, index: int) -> str:
        self.reals[index] = self.real_names[index] if index < len(self.real_names) else f"real{index}"
        return self.reals[index]

    def _name_reals(self, block: syntax.Block) -> syntax.Block:
        """Return code in which single reals are variables."""
        if self.has_real_array:
            return block

        def change(part: ast.expr) -> ast.expr:
            if isinstance(part, ast.Subscript) and syntax.same(part.value, syntax.name("reals")):
                index = syntax.number(part.slice)
                assert isinstance(index, int)
                return syntax.name(self._real_name(index))
            return part

        return tuple(syntax.rebuild(line, change) for line in block)

    # Code

    def _tree(self, function: int, node: Node) -> syntax.Block:
        if isinstance(node, Leaf):
            return self._leaf(function, node.action)
        features = [self.interface.features[part.feature] for part in node.tests]
        sets = [part.values for part in node.tests]
        test = syntax.all_of(*(write_condition(f, v, self.translator) for f, v in zip(features, sets, strict=True)))
        known = syntax.is_true(test)
        if known is not None:
            return self._tree(function, node.then if known else node.otherwise)
        return (ast.If(test, list(self._tree(function, node.then)), list(self._tree(function, node.otherwise))),)

    def _leaf(self, function: int, action: int) -> syntax.Block:
        if action < 0:
            return (syntax.Finish(None),)
        kind, *choices = self.interface.action_rows[action].tolist()
        instruction = self.interface.instructions[kind]
        codes = [operand.codes[choice] for operand, choice in zip(instruction.operands, choices, strict=False)]
        code = self.translator.action(instruction.does, codes)
        previous = syntax.assign(syntax.name("previous"), syntax.constant(action + 1))
        remark = syntax.Remark(show_action(self.interface, action))
        return (remark, previous, *self._end_with_outcomes(code, action, function, action + 1))

    def _end_with_outcomes(
        self, code: syntax.Block, action: int | None, function: int | None, previous: int | None
    ) -> syntax.Block:
        """Return the code of an action that continues, or ends the run, where its kernel returns an outcome.

        It continues in a function after a previous action; where that is None, it returns to a caller.
        """
        found: list[ast.stmt] = []
        for at, line in enumerate(code):
            rest = code[at + 1 :]
            if isinstance(line, ast.Return):
                return (*found, *self._outcome(line.value, function, previous))
            if isinstance(line, syntax.OpenCall):
                opened = syntax.OpenCall(line.function, line.receiver, self._site(function, action, line.receiver))
                function, previous = self._function_of(line.function), START
                found += [
                    opened,
                    syntax.assign(syntax.name("function"), syntax.constant(line.function)),
                    syntax.assign(syntax.name("previous"), syntax.constant(0)),
                ]
            elif isinstance(line, syntax.CloseCall):
                after, stays = (syntax.put(rest, {HAD_FRAME: syntax.constant(known)}) for known in (True, False))
                if self._end_with_outcomes(after, action, None, None):
                    raise ExportError(
                        f"task {self.task.name!r} cannot be exported: to leave a function must be the last thing that"
                        " an instruction does"
                    )
                going_on = self._end_with_outcomes(stays, action, function, previous)
                return (
                    *found,
                    ast.If(syntax.compare("==", syntax.whole("depth"), syntax.constant(0)), list(going_on), [line]),
                )
            elif isinstance(line, ast.If) and _decides(line):
                known = syntax.is_true(line.test)
                ways = [
                    self._end_with_outcomes((*way, *rest), action, function, previous)
                    for number, way in enumerate((line.body, line.orelse))
                    if known is not (number == 1)
                ]
                return (*found, *ways[0]) if len(ways) == 1 else (*found, ast.If(line.test, *map(list, ways)))
            elif isinstance(line, ast.For | ast.While) and _decides(line):
                raise ExportError(f"task {self.task.name!r} cannot be exported: a loop of an instruction returns")
            elif not isinstance(line, ast.Pass):
                found.append(line)
        raise ExportError(f"a kernel of task {self.task.name!r} cannot be exported: it returns no outcome")

    def _outcome(self, value: ast.expr | None, function: int | None, previous: int | None) -> syntax.Block:
        """Return what follows an outcome: the next place, or the end."""
        if isinstance(value, ast.IfExp):
            ways = [list(self._outcome(way, function, previous)) for way in (value.body, value.orelse)]
            return (ast.If(value.test, *ways),)
        known = syntax.number(value) if value is not None else None
        if isinstance(known, int) and 0 <= known < len(OUTCOMES):
            value = syntax.whole(OUTCOMES[known])
        if value is None or (known is not None and not isinstance(value, ast.Name)):
            raise ExportError(f"a kernel of task {self.task.name!r} cannot be exported: it returns no outcome")
        going_on = () if previous is None else (syntax.GoTo(self._number(function, previous)),)
        running = syntax.whole(OUTCOMES[0])
        if isinstance(value, ast.Name) and value.id in OUTCOMES:
            return going_on if syntax.same(value, running) else (syntax.Finish(value),)
        before: syntax.Block = ()
        if not isinstance(value, ast.Name):
            before, value = (syntax.assign(syntax.name("outcome"), value),), syntax.name("outcome")
        return (*before, ast.If(ast.Compare(value, [ast.NotEq()], [running]), [syntax.Finish(value)], []), *going_on)

    def _function_of(self, value: int) -> int | None:
        for f, function in enumerate(self.program.functions):
            if value in function.ids or not function.ids:
                return f
        return None

    def _number(self, function: int | None, previous: int) -> int | None:
        """Return the number of the place after an action in a function."""
        for number, (f, place) in enumerate(self.placed):
            if f == function and (previous in place.after or not place.after):
                return number
        return None

    def _site(self, function: int | None, action: int | None, receiver: int) -> int:
        if action is None:
            raise ExportError(f"task {self.task.name!r} cannot be exported: its start opens a call")
        site = Site(self._number(function, action + 1), self.registers.get(receiver, ""), action + 1)
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    # Straight code

    def _join_straight(
        self, start: syntax.Block, places: dict[int, CodePlace]
    ) -> tuple[syntax.Block, dict[int, CodePlace]]:
        """Return the code with places of one action, to which one way leads, written where that way comes from."""
        codes = {START_BLOCK: start, **{k: place.code for k, place in places.items()}}
        at_site = {site.place for site in self.sites}
        for k in [k for k, tree in enumerate(self.trees) if isinstance(tree, Leaf)]:
            before = [at for at, block in codes.items() for target in _targets(block) if target == k]
            own = set(syntax.assigned(codes[k])) - {*self.registers.values()}
            if len(before) != 1 or before == [k] or k in at_site or own & set(syntax.assigned(codes[before[0]])):
                continue
            codes[before[0]] = _replace_jump(codes[before[0]], k, codes.pop(k))
        reached = self._reached(codes)
        return codes[START_BLOCK], {k: replace(places[k], code=codes[k]) for k in codes if k in reached}

    def _reached(self, codes: dict[int, syntax.Block]) -> set[int]:
        """Return the places that are reached from the start."""
        found: set[int] = set()
        waiting = list(_targets(codes[START_BLOCK]))
        while waiting:
            k = waiting.pop()
            if k not in found:
                found.add(k)
                calls = [line for line in syntax.statements(codes[k]) if isinstance(line, syntax.OpenCall)]
                opened = [self.sites[line.site].place for line in calls]
                waiting += [*_targets(codes[k]), *(place for place in opened if place is not None)]
        return found


def _ends_empty(task: Task) -> bool:
    """Tell whether an empty instance of a task ends at once."""
    batch, instances = allocate(task, 1, 0), task.allocate(1, 0)
    specialise(task).reset(batch, *instances, np.arange(1))
    return bool(batch.outcomes[0] > Outcome.RUNNING)


def _decides(line: ast.stmt) -> bool:
    """Tell whether a statement returns, or opens or closes a call, on some way."""
    return any(
        isinstance(inner, ast.Return | syntax.OpenCall | syntax.CloseCall) for inner in syntax.statements([line])
    )


def _targets(block: syntax.Block) -> Iterator[int]:
    """Yield the places at which a block continues."""
    for line in syntax.statements(block):
        if isinstance(line, syntax.GoTo) and line.place is not None:
            yield line.place


def _replace_jump(block: syntax.Block, place: int, code: syntax.Block) -> syntax.Block:
    found: list[ast.stmt] = []
    for line in block:
        if isinstance(line, syntax.GoTo) and line.place == place:
            found += code
        elif isinstance(line, ast.If):
            found.append(
                ast.If(line.test, *(list(_replace_jump(tuple(w), place, code)) for w in (line.body, line.orelse)))
            )
        else:
            found.append(line)
    return tuple(found)
