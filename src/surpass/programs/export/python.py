"""Programs as Python files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator

from surpass.machine.state import DEPTH, PREVIOUS
from surpass.programs.export.cleanup import read_parts
from surpass.programs.export.code import (
    Apply,
    Back,
    Binary,
    Block,
    Break,
    Call,
    Cell,
    Comment,
    Compare,
    Const,
    End,
    Expr,
    For,
    Function,
    If,
    Jump,
    Logic,
    Look,
    NoRule,
    Not,
    Push,
    Register,
    Return,
    Select,
    SetCell,
    SetRegister,
    SetVar,
    Statement,
    Step,
    Var,
    While,
    inner_blocks,
)
from surpass.programs.export.header import WIDTH, plain_text
from surpass.programs.export.plan import Plan
from surpass.programs.export.python_entries import write_entry
from surpass.programs.export.text import AND, ATOM, CHOICE, NOT, OR, Notation, needs_of

__all__ = ["write_python"]

INDENT = "    "
Lines = Iterator[str]


def write_python(plan: Plan) -> str:
    """Return a program as the text of a Python file."""
    writer = _Writer(plan)
    code = [line for function in plan.functions for line in ("", "", *writer.function(function))]
    code += ["", "", *writer.run()]
    lines = [*write_entry(plan, needs_math=any("math." in line for line in code)), *code]
    return "\n".join(line.rstrip() for line in lines) + "\n"


class _Python(Notation):
    """How Python writes expressions."""

    def constant(self, const: Const) -> str:
        """Return a constant as text."""
        if const.label:
            return const.label
        if isinstance(const.value, float) and not math.isfinite(const.value):
            return f'float("{const.value}")'
        return repr(const.value)

    def negation(self, expr: Not) -> tuple[str, int]:
        """Return `not` as text and how tightly it binds."""
        return f"not {self.text(expr.operand, NOT)}", NOT

    def choice(self, expr: Select) -> tuple[str, int]:
        """Return a choice as text and how tightly it binds."""
        then, test = self.text(expr.then, CHOICE + 1), self.text(expr.test, CHOICE + 1)
        return f"{then} if {test} else {self.text(expr.otherwise, CHOICE)}", CHOICE

    def logic(self, expr: Logic) -> tuple[str, int]:
        """Return `and` or `or` as text and how tightly it binds."""
        binds = AND if expr.sign == "and" else OR
        return f"{self.text(expr.left, binds)} {expr.sign} {self.text(expr.right, binds)}", binds

    def apply(self, expr: Apply) -> str:
        """Return a function of a number as text."""
        module = "" if expr.function in ("abs", "int", "float") else "math."
        return f"{module}{expr.function}({self.text(expr.argument)})"

    def arithmetic(self, expr: Binary) -> tuple[str, int]:
        """Return arithmetic as text and how tightly it binds."""
        if expr.sign in ("min", "max"):
            return f"{expr.sign}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        return self.infix(Binary(expr.sign, _as_number(expr.left), _as_number(expr.right)))


class _Writer:
    """Writes the functions of a file."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        names = dict(plan.names)
        names[Register(DEPTH)] = "len(stack)"
        if plan.reals is None:
            names = {place: name for place, name in names.items() if not isinstance(place, Cell)}
        self.notation = _Python(names)
        self.numbers = {place: number for number, place in enumerate(plan.places)}
        """Places are numbered afresh, since some are written where one comes from."""
        self.back = len(plan.places)
        self.has_back = any(isinstance(s, Back) for block in plan.blocks for s in _all(block))
        self.outputs = [self.notation.text(Register(index)) for index in plan.entry.outputs]
        if plan.entry.shape == "list":
            self.outputs.insert(0, self.notation.text(Cell("reals", Const(0))))

    def text(self, expr: Expr) -> str:
        """Return an expression as text."""
        return self.notation.text(expr)

    # Functions

    def function(self, function: Function) -> list[str]:
        """Return a kernel as a function; it returns its own value, then the new values of what it changes."""
        needs = needs_of(function, real_array=self.plan.reals is None)
        given = [*map(self.text, needs.reads), *needs.arrays, *(["query"] if needs.has_query else [])]
        given += [parameter.name for parameter in function.parameters]
        lines = [f"def _{function.name}({', '.join(given)}):"]
        if function.summary:
            lines.append(f"{INDENT}# {plain_text(function.summary)}")
        self.returned = [self.text(written) for written in needs.writes]
        return lines + [INDENT + line for line in self._block(function.body)]

    def _call(self, statement: Call) -> str:
        needs = needs_of(statement.function, real_array=self.plan.reals is None)
        given = [*map(self.text, needs.reads), *needs.arrays, *(["query"] if needs.has_query else [])]
        call = f"_{statement.function.name}({', '.join([*given, *map(self.text, statement.arguments)])})"
        targets = [] if statement.target is None else [statement.target.name]
        if not targets and _returns_value(statement.function.body) and needs.writes:
            targets = ["_"]
        targets += [self.text(written) for written in needs.writes]
        return f"{', '.join(targets)} = {call}" if targets else call

    # The run

    def run(self) -> list[str]:
        """Return the function that runs the program."""
        plan = self.plan
        given = ["n", "items", *(["reals"] if plan.reals is None else []), *(["query"] if plan.entry.has_query else [])]
        lines = [f"def _run({', '.join([*given, 'limit'])}):"]
        body = [f'"""Run the program; return the outcome, the steps{_listing(self.outputs)}."""', "steps = 0"]
        registers = [self.text(Register(index)) for index in plan.registers]
        reals = [self.text(Cell("reals", Const(index))) for index in plan.reals or ()]
        if registers + reals:
            body.append(" = ".join([*registers, *reals]) + " = 0")
        if plan.stack_limit is not None:
            body += ["stack = []", f"stack_limit = {self.text(plan.stack_limit)}"]
        elif any(Register(DEPTH) in read_parts(block) for block in plan.blocks):
            body += ["stack = []"]
        self.returned = []
        self.inside: int | None = None
        body += self._block(plan.start)
        body += self._loop()
        return lines + [INDENT + line for line in body]

    def _loop(self) -> Lines:
        """Yield the loop over the places."""
        if not self.plan.places:
            return
        yield "while True:"
        numbers = [*self.numbers.values(), *([self.back] if self.has_back else [])]
        yield from _indent(self._choose(numbers))

    def _choose(self, numbers: list[int]) -> Lines:
        """Yield the code that goes to the present place by halves."""
        if len(numbers) == 1:
            yield from self._place(numbers[0])
            return
        half = len(numbers) // 2
        for test, part in ((f"if place < {numbers[half]}:", numbers[:half]), ("else:", numbers[half:])):
            yield test
            yield from _indent(self._choose(part))

    def _place(self, number: int) -> Lines:
        if number == self.back:
            yield from self._back()
            return
        place = list(self.plan.places.values())[number]
        yield from (f"# {line}" for line in textwrap.wrap(f"{number}: {plain_text(place.title)}", WIDTH - 30))
        repeats = any(
            isinstance(s, Jump) and s.place is not None and self.numbers[s.place] == number for s in _all(place.code)
        )
        if not repeats or len(self.numbers) + self.has_back == 1:
            yield from self._block(place.code)
            return
        # A place that leads back to itself stays there without being looked for again.
        self.inside = number
        yield "while True:"
        yield from _indent(self._block(place.code))
        self.inside = None

    def _back(self) -> Lines:
        """Yield the code that goes back to the caller."""
        plan = self.plan
        saved = [self.text(Register(index)) for index in plan.saved]
        yield f"# {self.back}: back to the caller"
        many = len(plan.sites) > 1
        targets = (["site"] if many else []) + saved
        comma = "," if len(targets) == 1 else ""
        yield f"{', '.join(targets)}{comma} = stack.pop()" if targets else "stack.pop()"
        for number, site in enumerate(plan.sites):
            code = []
            if site.receiver in plan.registers:
                assert site.receiver is not None
                code.append(f"{self.text(Register(site.receiver))} = result")
            if PREVIOUS in plan.registers:
                code.append(f"{self.text(Register(PREVIOUS))} = {site.previous}")
            code += self._jump(site.place)
            if not many:
                yield from code
                continue
            yield ("if" if number == 0 else "elif") + f" site == {number}:" if number + 1 < len(plan.sites) else "else:"
            yield from _indent(code)

    def _jump(self, place: int | None) -> Lines:
        if place is None:
            yield self._end("_no_place(steps, limit)")
        elif len(self.numbers) + self.has_back > 1 and self.numbers[place] != self.inside:
            yield f"place = {self.numbers[place]}"
            if self.inside is not None:
                yield "break"

    def _end(self, outcome: str) -> str:
        return f"return {', '.join([outcome, 'steps', *self.outputs])}"

    # Statements

    def _block(self, block: Block) -> Lines:
        lines = [line for statement in block for line in self._statement(statement)]
        yield from lines or ["pass"]

    def _statement(self, statement: Statement) -> Lines:
        if isinstance(statement, If):
            yield from self._branch(statement)
        elif isinstance(statement, While):
            yield f"while {self.text(statement.test)}:"
            yield from _indent(self._block(statement.body))
        elif isinstance(statement, For):
            step = "" if statement.step == 1 else f", {statement.step}"
            bounds = f"{self.text(statement.first)}, {self.text(statement.end)}{step}"
            if statement.first == Const(0) and not step:
                bounds = self.text(statement.end)
            yield f"for {statement.var.name} in range({bounds}):"
            yield from _indent(self._block(statement.body))
        elif isinstance(statement, SetVar):
            yield self._set(statement.var, statement.value)
        elif isinstance(statement, SetRegister):
            yield self._set(Register(statement.index), statement.value)
        elif isinstance(statement, SetCell):
            yield self._set(statement.cell, statement.value)
        else:
            yield from self._plain(statement)

    def _plain(self, statement: Statement) -> Lines:
        """Yield the code of statements without blocks in them."""
        if isinstance(statement, Call):
            yield self._call(statement)
        elif isinstance(statement, Return):
            values = ([self.text(statement.value)] if statement.value is not None else []) + self.returned
            yield f"return {', '.join(values)}".rstrip()
        elif isinstance(statement, Comment):
            yield f"# {plain_text(statement.text)}"
        elif isinstance(statement, Step):
            yield "if steps == limit:"
            yield INDENT + self._end("STEP_LIMIT")
            yield "steps += 1"
        elif isinstance(statement, Look):
            observed = self._call(Call(None, statement.function, ()))
            yield f"_UNMET[0] += {observed} not in _MET"
        elif isinstance(statement, Jump):
            yield from self._jump(statement.place)
        elif isinstance(statement, NoRule):
            yield "steps -= 1"
            yield self._end("NO_RULE")
        elif isinstance(statement, End):
            yield self._end(self.text(statement.outcome))
        elif isinstance(statement, Push):
            saved = [str(statement.site)] if len(self.plan.sites) > 1 else []
            saved += [self.text(Register(index)) for index in self.plan.saved]
            yield f"stack.append(({', '.join(saved)}{',' if len(saved) == 1 else ''}))"
            yield "if len(stack) > stack_limit:"
            yield INDENT + self._end("STEP_LIMIT if steps == limit else STACK_LIMIT")
        elif isinstance(statement, Back):
            if any(site.receiver in self.plan.registers for site in self.plan.sites):
                yield f"result = {self.text(statement.result)}"
            yield f"place = {self.back}"
            if self.inside is not None:
                yield "break"
        else:
            yield "break" if isinstance(statement, Break) else "continue"

    def _set(self, target: Var | Register | Cell, value: Expr) -> str:
        name = self.text(target)
        if isinstance(value, Binary) and value.left == target and value.sign in ("+", "-"):
            sign, more = value.sign, value.right
            if isinstance(more, Const) and more.value < 0 and sign == "+":
                sign, more = "-", Const(-more.value)
            return f"{name} {sign}= {self.text(_as_number(more))}"
        return f"{name} = {self.text(value if isinstance(target, Var) else _as_number(value))}"

    def _branch(self, statement: If) -> Lines:
        word, all_end = "if", True
        while True:
            yield f"{word} {self.text(statement.test)}:"
            yield from _indent(self._block(statement.then))
            rest = statement.otherwise
            all_end = all_end and _ends(statement.then)
            if all_end:
                yield from (line for inner in rest for line in self._statement(inner))
                return
            if len(rest) != 1 or not isinstance(rest[0], If):
                break
            word, statement = "elif", rest[0]
        if rest:
            yield "else:"
            yield from _indent(self._block(rest))


def _as_number(expr: Expr) -> Expr:
    """Return a truth value as 0 or 1: the comparisons of some types, such as NumPy's, cannot be reckoned with."""
    return Select(expr, Const(1), Const(0)) if isinstance(expr, Compare | Logic | Not) else expr


def _ends(block: Block) -> bool:
    """Tell whether a block always ends in a return."""
    if not block:
        return False
    last = block[-1]
    return (
        _ends(last.then) and _ends(last.otherwise) if isinstance(last, If) else isinstance(last, End | NoRule | Return)
    )


def _returns_value(block: Block) -> bool:
    return any(isinstance(s, Return) and s.value is not None for s in _all(block))


def _all(block: Block) -> Iterator[Statement]:
    for statement in block:
        yield statement
        for inner in inner_blocks(statement):
            yield from _all(inner)


def _indent(lines: Iterable[str]) -> Lines:
    return (INDENT + line for line in lines)


def _listing(names: list[str]) -> str:
    return "".join(f", {name}" for name in names)
