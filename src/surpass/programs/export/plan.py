"""A program with the kernels of its task as code: the start, and the code of each place.

A place of the program is a place in the code, so function and previous action need no variables: after an action the
code continues at the place that the two lead to.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from surpass.engine.batch import allocate
from surpass.engine.specialise import specialise
from surpass.errors import ExportError
from surpass.machine.calls import stack_limit
from surpass.machine.state import DEPTH, FIRST, FUNCTION, LOCALS, SCORE, SIZE, Outcome
from surpass.programs.export import syntax
from surpass.programs.export.conditions import write_condition
from surpass.programs.export.kernels import HAD_FRAME, OUTCOMES, Translator
from surpass.programs.export.shorten import Bodies, drop_needless_limits, drop_unneeded, shorten
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


def signature_of(task: Task) -> Signature:
    """Return how the programs of a task are called: as it declares, else with a list, else with an episode's memory."""
    sizes, memory = (0, 1, 2, 3, 10, 100, 1000), task.memory
    takes_lists = reads_lists(task) and all((memory.item_width(n), memory.real_width(n)) == (n, 1) for n in sizes)
    return task.signature or replace(memory_signature(task), items="list" if takes_lists else "memory")


def memory_signature(task: Task) -> Signature:
    """Return the way of calling that does for every task: with the memory of an episode."""
    word = as_word(task.name)
    return Signature(
        name=f"{word}_" if word in RESERVED else word, summary=task.summary, items="memory", everything=True
    )


def as_word(text: str) -> str:
    """Return a name as a word of letters, digits and underscores."""
    word = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() else f"x{word}"


class Plan:
    """A program as code that is called in a way."""

    def __init__(self, program: Program, signature: Signature) -> None:
        self.program, self.task, self.signature = program, program.task, signature
        self.interface, memory = program.task.interface, program.task.memory
        self._registers = {SIZE: "n", FUNCTION: "function", DEPTH: "depth"}
        """The names of all registers."""
        self._real_names: list[str] = []
        self._reals: dict[int, str] = {}
        """The names of the single reals that are in use."""
        taken = {*RESERVED, signature.query}
        for k, given in enumerate((*memory.names, *memory.reals)):
            word = as_word(given)
            while word in taken or word.endswith("_out"):
                word += "_"
            taken.add(word)
            if k < len(memory.names):
                self._registers[FIRST + k] = word
            else:
                self._real_names.append(word)
        # If the score is the only real, it is a variable: the caller has no array to bring.
        has_other_reals = signature.items == "memory" and any(memory.real_width(n) > 1 for n in (0, 1))
        self.has_real_array = has_other_reals or bool(signature.reals)
        self._translator = Translator(
            self._registers,
            assumed={LOCALS: memory.saved or 0, **signature.assumed},
            query=signature.query,
            reals=None if self.has_real_array else self._real_names,
            reserved=taken - {"outcome", "k"},
        )
        self.sites: list[syntax.Site] = []
        """Where calls return to."""
        self._placed = [(f, place) for f, function in enumerate(program.functions) for place in function.places]
        self._trees = [as_tree(place.rules) for _, place in self._placed]
        self._write()

    def _write(self) -> None:
        """Write everything, and find out what of the memory is needed."""
        memory, signature, kernels = self.task.memory, self.signature, self._translator.subroutines
        start = self._translator.action(self.task.start, is_start=True)
        bodies: Bodies = {START_BLOCK: self._end_with_outcomes(start, None, self._function_of(0), 0)}
        for k, ((f, _), tree) in enumerate(zip(self._placed, self._trees, strict=True)):
            bodies[k] = (syntax.CountStep(), *self._tree(f, tree))
        bodies |= {title: found.body for title, found in kernels.items()}
        bodies = {key: self._name_reals(body) for key, body in bodies.items()}
        named = [self._registers[FIRST + k] for k in range(len(memory.names))]
        self.outputs = [] if signature.answer is None else [self._registers[signature.answer]]
        """The registers that are returned."""
        if signature.everything:
            self.outputs = [word for word, own in zip(named, memory.names, strict=True) if not own.startswith("_")]
        self.score = self._real_name(SCORE) if signature.everything and not self.has_real_array else ""
        """The name of the score, if it is returned and is a variable."""
        receivers = {site.receiver for site in self.sites if site.receiver}
        bodies = drop_unneeded(bodies, self.results, receivers)
        if _ends_empty(self.task):
            bodies = drop_needless_limits(bodies, {*named}, receivers)
        variables = {*self._registers.values(), *self._reals.values()}
        self.changes: dict[str, set[str]] = {}
        """For each subroutine, the registers, reals and arrays that it changes."""
        for title in kernels:
            called = syntax.names_in(*bodies[title]) & self.changes.keys()
            own = set(syntax.assigned(bodies[title])) & {*variables, "items", "reals"}
            self.changes[title] = own.union(*(self.changes[inner] for inner in called))
        bodies = {key: shorten(body, variables, self.changes) for key, body in bodies.items()}
        self._join_straight(bodies)
        self.start = bodies[START_BLOCK]
        self.places = {k: bodies[k] for k in range(len(self._placed)) if k in bodies}
        """The code of the places, by their numbers, in order."""
        used = {*syntax.names_in(*self.lines), *self.results}
        for title in reversed(kernels):
            used |= syntax.names_in(*bodies[title]) if title in used else set()
        self.subroutines = {t: replace(found, body=bodies[t]) for t, found in kernels.items() if t in used}
        """By name, each after those that it calls."""
        self.registers = [word for k, word in self._registers.items() if word in used and k not in (SIZE, DEPTH)]
        """The registers that are variables."""
        saved = [self._registers[k] for k in (FUNCTION, *range(FIRST, FIRST + (memory.saved or 0)))]
        self.saved = [word for word in saved if word in self.registers]
        """The registers that a call saves."""
        has_calls = any(isinstance(line, syntax.OpenCall) for line in syntax.statements(self.lines))
        self.stack_limit = (
            self._translator.expression(stack_limit, syntax.whole("n"), state=None) if has_calls else None
        )
        """How many calls may be open, if the program opens any."""
        self.reals = [word for _, word in sorted(self._reals.items()) if word in used]
        """The reals that are variables, unless they are an array."""

    @property
    def lines(self) -> list[ast.stmt]:
        """All code, subroutines left out."""
        return [*self.start, *(line for code in self.places.values() for line in code)]

    @property
    def inputs(self) -> list[str]:
        """What the run of the program is given, but for the limit."""
        names = ["n", "items", "reals" if self.has_real_array else "", self.signature.query]
        return [name for name in names if name]

    @property
    def results(self) -> list[str]:
        """What the run gives back, but for the outcome and the steps."""
        return [*([self.score] if self.score else []), *self.outputs]

    @property
    def uses_up(self) -> bool:
        """Whether a run that takes all its steps has a result."""
        return self.task.limit_is_budget

    @property
    def closes_calls(self) -> bool:
        """Whether the program ever goes back to a caller."""
        return any(isinstance(line, syntax.CloseCall) for line in syntax.statements(self.lines))

    @property
    def has_receivers(self) -> bool:
        """Whether some call keeps what its function gives back."""
        return any(site.receiver in self.registers for site in self.sites)

    @property
    def changes_items(self) -> bool:
        """Whether the items are changed, here or in a subroutine."""
        return "items" in {*syntax.assigned(self.lines)}.union(*self.changes.values())

    @property
    def keeps_sites(self) -> bool:
        """Whether an open call holds its return place in C, which has no empty structures."""
        return len(self.sites) > 1 or not self.saved

    @property
    def memory(self) -> list[str]:
        """What subroutines may use: the size, registers and reals, in order."""
        return ["n", *self.registers, *self.reals]

    def needs(self, subroutine: syntax.Subroutine) -> list[str]:
        """Return what a subroutine, or one that it calls, uses of registers, reals, arrays and the query, in order."""
        found = syntax.names_in(*subroutine.body)
        for inner in found & self.subroutines.keys():
            found |= set(self.needs(self.subroutines[inner]))
        return [used for used in (*self.memory, "items", "reals", self.signature.query) if used in found]

    def title(self, k: int) -> str:
        """Return how the program comes to a place."""
        f, place = self._placed[k]
        return show_place(self.interface, self.program.functions[f], place) or "after every action"

    # Reals

    def _real_name(self, index: int) -> str:
        self._reals[index] = self._real_names[index] if index < len(self._real_names) else f"real{index}"
        return self._reals[index]

    def _name_reals(self, block: syntax.Block) -> syntax.Block:
        """Return code in which single reals are variables."""

        def change(part: ast.expr) -> ast.expr:
            if isinstance(part, ast.Subscript) and syntax.same(part.value, syntax.name("reals")):
                index = syntax.number(part.slice)
                assert isinstance(index, int)
                return syntax.name(self._real_name(index))
            return part

        return block if self.has_real_array else tuple(syntax.rebuild(line, change) for line in block)

    # Code

    def _tree(self, function: int, node: Node) -> syntax.Block:
        if isinstance(node, Leaf):
            return self._leaf(function, node.action)
        features = [self.interface.features[part.feature] for part in node.tests]
        sets = [part.values for part in node.tests]
        test = syntax.all_of(*(write_condition(f, v, self._translator) for f, v in zip(features, sets, strict=True)))
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
        code = self._translator.action(instruction.does, codes)
        remark = syntax.Remark(show_action(self.interface, action))
        return (remark, *self._end_with_outcomes(code, action, function, action + 1))

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
                found += [opened, syntax.assign(syntax.name("function"), syntax.constant(line.function))]
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
        for number, (f, place) in enumerate(self._placed):
            if f == function and (previous in place.after or not place.after):
                return number
        return None

    def _site(self, function: int | None, action: int | None, receiver: int) -> syntax.Site:
        if action is None:
            raise ExportError(f"task {self.task.name!r} cannot be exported: its start opens a call")
        site = syntax.Site(self._number(function, action + 1), self._registers.get(receiver, ""))
        if site not in self.sites:
            self.sites.append(site)
        return site

    # Straight code

    def _join_straight(self, bodies: Bodies) -> None:
        """Write places of one action, to which one way leads, where that way comes from; drop what nothing leads to."""
        at_site = {site.place for site in self.sites if site.place is not None}
        numbers = range(START_BLOCK, len(self._trees))
        for k in [k for k, tree in enumerate(self._trees) if isinstance(tree, Leaf)]:
            before = [at for at in numbers if at in bodies for target in _targets(bodies[at]) if target == k]
            own = set(syntax.assigned(bodies[k])) - {*self._registers.values()}
            if len(before) != 1 or before == [k] or k in at_site or own & set(syntax.assigned(bodies[before[0]])):
                continue
            bodies[before[0]] = _replace_jump(bodies[before[0]], k, bodies.pop(k))
        reached: set[int] = set()
        leads_to = {START_BLOCK}
        while leads_to - reached:
            reached |= leads_to
            lines = [line for k in reached for line in syntax.statements(bodies[k])]
            opened = {line.site for line in lines if isinstance(line, syntax.OpenCall)}
            returns = any(isinstance(line, syntax.CloseCall) for line in lines)
            places = [*(line.place for line in lines if isinstance(line, syntax.GoTo))]
            places += [site.place for site in opened] if returns else []
            leads_to = {k for k in places if k is not None}
        self.sites = [site for site in self.sites if site in opened]
        for k in {*numbers} - reached:
            bodies.pop(k, None)


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


def _replace_jump(block: Iterable[ast.stmt], place: int, code: syntax.Block) -> syntax.Block:
    found: list[ast.stmt] = []
    for line in block:
        is_jump = isinstance(line, syntax.GoTo) and line.place == place
        found += code if is_jump else [syntax.change_blocks(line, lambda inner: _replace_jump(inner, place, code))]
    return tuple(found)
