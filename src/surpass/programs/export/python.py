"""Programs as Python files."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Sequence

from surpass.programs.export import syntax
from surpass.programs.export.heading import (
    INDENT,
    WIDTH,
    Lines,
    describe,
    describe_memory,
    indent,
    plain_text,
    scaled,
    show_widths,
)
from surpass.programs.export.plan import Plan
from surpass.tasks.task import MOST_STEPS, Limit

_COMMON = '''
RUNNING, SOLVED, WRONG_ANSWER, STEP_LIMIT, STACK_LIMIT, NO_RULE = range(6)
_WORDS = ("running", "solved", "wrong answer", "step limit", "stack limit", "no rule")


class Unsolved(RuntimeError):
    """A run that ended without an answer."""


def _need(outcome, steps, *allowed):
    """Raise `Unsolved` unless an outcome is allowed."""
    if outcome not in allowed:
        raise Unsolved(f"the program stopped after {{steps}} steps: {{_WORDS[outcome]}}")


def _limit(n, limit):
    """Return the number of steps that a run may take: a whole one, below a limit that is not whole."""
    limit = {limit} if limit is None else limit
    if not limit >= 1:
        raise ValueError(f"a run needs at least 1 step, not {{limit}}")
    return int(min(limit, {most:_}))
'''
_ORDERED = '''

def _refuse_unordered(items):
    """Raise `ValueError` if an item is not equal to itself, as NaN is not."""
    for k, item in enumerate(items):
        if item != item:
            raise ValueError(f"item {k} is {item!r}, which cannot be ordered")
'''


def write_python(plan: Plan) -> str:
    """Return a program as the text of a Python file."""
    writer = _PythonWriter(plan)
    code = [line for found in plan.subroutines.values() for line in ("", "", *writer.subroutine(found))]
    code += ["", "", *writer.run()]
    entry = list(_entry(plan))
    limit = Limit.parse(plan.task.limit)
    heading = describe(plan, [_describe_call(plan, limit)], "it raises Unsolved")
    # As numbers that are reals or whole, the limit comes out as the engine has it.
    common = _COMMON.format(limit=f"max(1, int({limit.factor!r} * n**{limit.power}))", most=MOST_STEPS)
    common += _ORDERED if "list" in plan.signature.items else ""
    imports = ["import math"] if any("math." in line for line in (*code, *entry)) else []
    imports += ["from collections import namedtuple"] if plan.signature.everything else []
    lines = ['"""' + _quoted(heading[0]), *map(_quoted, heading[1:]), '"""', *([""] if imports else []), *imports]
    lines += [*common.rstrip().split("\n"), "", "", *entry, *code]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _quoted(line: str) -> str:
    """Return a line that can stand inside a docstring."""
    return line.replace("\\", "\\\\").replace('"', "'")


# The function that the caller sees


def _parameters(plan: Plan) -> list[str]:
    signature = plan.signature
    memory = ["size", "items", *(["reals"] if plan.has_real_array else [])]
    found = {"own": [], "memory": memory}.get(signature.items, ["items"])
    found = [*found, *([signature.query] if signature.query else [])]
    found += [given.name for given in signature.reals if not given.share_of]
    found += [f"{signature.budget or 'limit'}=None"]
    return found + [f"{given.name}=None" for given in signature.reals if given.share_of]


def _describe_call(plan: Plan, limit: Limit) -> str:
    signature = plan.signature
    steps = f"At most {limit} steps are taken unless `{signature.budget or 'limit'}` says otherwise"
    halves = [f"`{given.name}` is half of the sum of `{given.share_of}`" for given in signature.reals if given.share_of]
    usual = f"{steps}; {' and '.join(halves)} unless it is given." if halves else f"{steps}."
    what = f"{signature.name}({', '.join(_parameters(plan))}): {signature.summary}.{describe_memory(plan)}"
    return f"{what} It returns {_describe_result(plan)}. {usual}"


def _describe_result(plan: Plan) -> str:
    signature = plan.signature
    if signature.everything:
        return f"a Result: the outcome, the steps, {_listing(['the score', *plan.outputs])}"
    parts = [f"{own}, or None" for own in plan.outputs]
    parts += [f"the {signature.chosen} positions"] if signature.chosen else []
    parts += [f"their {signature.score}"] if signature.score else []
    return _listing([*parts, "the number of steps"])


def _listing(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]


def _entry(plan: Plan) -> Lines:
    """Yield the function that the caller sees."""
    signature = plan.signature
    if signature.everything:
        fields = ", ".join(f'"{own}"' for own in ("outcome", "steps", "score", *plan.outputs))
        yield from (f'Result = namedtuple("Result", ({fields}))', "", "")
    yield f"def {signature.name}({', '.join(_parameters(plan))}):"
    summary = plain_text(signature.summary)
    yield from indent([f'"""{_quoted(summary[:1].upper() + summary[1:])}; return {_describe_result(plan)}."""'])
    yield from indent([*_take_input(plan), *_give_result(plan)])


def _take_input(plan: Plan) -> Lines:
    """Yield the lines that check the input and lay out the memory."""
    signature, arrays = plan.signature, [given for given in plan.signature.reals if given.each]
    if signature.items == "list":
        yield "_refuse_unordered(items)"
    if signature.query:
        yield f"_refuse_unordered([{signature.query}])"
    if signature.items == "memory":
        yield "n = size"
        laid_out = ("items", "reals") if plan.has_real_array else ("items",)
        for name, wanted in zip(laid_out, show_widths(plan.task, "n"), strict=False):
            yield f"if len({name}) != {wanted}:"
            yield f'{INDENT}raise ValueError(f"there are {{len({name})}} {name}; size {{n}} needs {{{wanted}}}")'
    elif "list" in signature.items:
        yield "n = len(items)"
    elif arrays:
        yield f"n = len({arrays[0].name})"
    for other in arrays[1:]:
        yield f"if len({other.name}) != n:"
        yield f'{INDENT}raise ValueError(f"there are {{n}} {arrays[0].name} but {{len({other.name})}} {other.name}")'
    for given in signature.reals:
        if given.share_of:
            yield f"if {given.name} is None:"
            yield f"{INDENT}{given.name} = math.fsum({given.share_of}) / 2"
    if signature.reals:
        numbers = [f"{'*' if given.each else ''}{given.name}" for given in signature.reals]
        yield f"for number in ({', '.join(numbers)},):"
        yield f"{INDENT}if not 0 <= number <= {signature.largest!r}:"
        yield f'{INDENT}{INDENT}raise ValueError(f"{{number!r}} is not a number from 0 to {signature.largest:g}")'
    item_width, real_width = show_widths(plan.task, "n")
    if signature.items == "own":
        yield "# The memory that the program works with: whole numbers, and the real numbers that it is given."
        yield f"items = [0] * ({item_width})"
    if signature.reals:
        yield f"reals = [0.0] * ({real_width})"
    for given in signature.reals:
        first = str(given.place) + (f" + {scaled(given.sizes, 'n')}" if given.sizes else "")
        if given.each:
            yield f"reals[{first} : {first} + n] = map(float, {given.name})"
        else:
            yield f"reals[{first}] = float({given.name})"


def _give_result(plan: Plan) -> Lines:
    """Yield the lines that run the program and return what comes of it."""
    signature = plan.signature
    limit = f"_limit(n, {signature.budget or 'limit'})"
    yield f"{', '.join(['outcome', 'steps', *plan.results])} = _run({', '.join([*plan.inputs, limit])})"
    if signature.everything:
        score = plan.score or "reals[0]"
        outcome = "SOLVED if outcome == STEP_LIMIT else outcome" if plan.uses_up else "outcome"
        yield f"return Result({', '.join([f'_WORDS[{outcome}]', 'steps', score, *plan.outputs])})"
        return
    yield f"_need(outcome, steps, SOLVED{', STEP_LIMIT' if plan.uses_up else ''})"
    results = [f"(None if {own} < 0 else {own})" for own in plan.outputs]
    results += ["[k for k in range(n) if items[n + k]]"] if signature.chosen else []
    results += ["reals[0]"] if signature.score else []
    yield f"return {', '.join([*results, 'steps'])}"


class _PythonWriter:
    """Writes the functions of a file."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.numbers = {place: number for number, place in enumerate(plan.places)}
        """Places are numbered afresh, since some are written where one comes from."""
        self.back = len(plan.places)
        self.has_back = plan.closes_calls
        self.returned: list[str] = []
        self.inside: int | None = None

    def text(self, expr: ast.expr, *, is_number: bool = False) -> str:
        """Return an expression as text; a truth value that is to be a number is 0 or 1."""
        expr = syntax.rebuild(expr, self._in_python)
        return ast.unparse(_as_number(expr) if is_number else expr)

    def _in_python(self, part: ast.expr) -> ast.expr:
        if isinstance(part, ast.BinOp):
            return ast.BinOp(_as_number(part.left), part.op, _as_number(part.right))
        if isinstance(part, ast.Name) and part.id == "depth":
            return syntax.call("len", syntax.name("stack"))
        if isinstance(part, ast.Constant) and isinstance(part.value, float) and not math.isfinite(part.value):
            return syntax.name("math.inf" if part.value > 0 else "-math.inf")
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            title = part.func.id
            if title in self.plan.subroutines:
                given = map(syntax.name, self.plan.needs(self.plan.subroutines[title]))
                return syntax.call(f"_{title}", *given, *part.args)
            if title in ("sqrt", "floor", "ceil", "exp", "log"):
                return syntax.call(f"math.{title}", *part.args)
        return part

    # Subroutines

    def _changed(self, title: str) -> list[str]:
        """Return the registers and reals that a subroutine changes, which it returns behind its own value."""
        return [own for own in self.plan.memory if own in self.plan.changes[title]]

    def subroutine(self, found: syntax.Subroutine) -> Lines:
        """Yield a kernel as a function; it returns its own value, then the new values of what it changes."""
        yield f"def _{found.name}({', '.join([*self.plan.needs(found), *found.parameters])}):"
        if found.summary:
            yield f"{INDENT}# {plain_text(found.summary)}"
        self.returned = self._changed(found.name)
        yield from indent(self._block(found.body))
        if self.returned and not any(isinstance(line, ast.Return) for line in found.body[-1:]):
            yield f"{INDENT}return {', '.join(self.returned)}"

    def _call(self, target: str | None, value: ast.expr) -> str | None:
        """Return the statement of a call that changes registers or reals."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return None
        title = value.func.id
        changed = self._changed(title) if title in self.plan.subroutines else []
        if not changed:
            return None
        found = self.plan.subroutines[title]
        has_value = any(
            isinstance(line, ast.Return) and line.value is not None for line in syntax.statements(found.body)
        )
        return f"{', '.join([*([target or '_'] if has_value else []), *changed])} = {self.text(value)}"

    # The run

    def run(self) -> Lines:
        """Yield the function that runs the program."""
        plan = self.plan
        yield f"def _run({', '.join([*plan.inputs, 'limit'])}):"
        self.returned = []
        body = [f'"""Run the program; return {_listing(["the outcome", "the steps", *plan.results])}."""', "steps = 0"]
        variables = [*plan.registers, *plan.reals]
        body += [" = ".join([*variables, "0"])] if variables else []
        uses_stack = plan.stack_limit is not None or "depth" in syntax.names_in(*plan.lines)
        body += ["stack = []"] if uses_stack else []
        body += [f"stack_limit = {self.text(plan.stack_limit)}"] if plan.stack_limit is not None else []
        yield from indent([*body, *self._block(plan.start)])
        if plan.places:
            yield f"{INDENT}while True:"
            numbers = [*self.numbers.values(), *([self.back] if self.has_back else [])]
            yield from indent(indent(self._choose(numbers)))

    def _choose(self, numbers: list[int]) -> Lines:
        """Yield the code that goes to the present place by halves."""
        if len(numbers) == 1:
            yield from self._place(numbers[0])
            return
        half = len(numbers) // 2
        for test, part in ((f"if place < {numbers[half]}:", numbers[:half]), ("else:", numbers[half:])):
            yield test
            yield from indent(self._choose(part))

    def _place(self, number: int) -> Lines:
        if number == self.back:
            yield from self._back()
            return
        k, code = list(self.plan.places.items())[number]
        yield from (f"# {line}" for line in textwrap.wrap(f"{number}: {plain_text(self.plan.title(k))}", WIDTH - 30))
        targets = [s.place for s in syntax.statements(code) if isinstance(s, syntax.GoTo) and s.place is not None]
        repeats = number in (self.numbers[target] for target in targets)
        if not repeats or len(self.numbers) + self.has_back == 1:
            yield from self._block(code)
            return
        # A place that leads back to itself stays there without being looked for again.
        self.inside = number
        yield "while True:"
        yield from indent(self._block(code))
        self.inside = None

    def _back(self) -> Lines:
        """Yield the code that goes back to the caller."""
        plan, many = self.plan, len(self.plan.sites) > 1
        yield f"# {self.back}: back to the caller"
        targets = [*(["site"] if many else []), *plan.saved]
        yield f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = stack.pop()" if targets else "stack.pop()"
        for number, site in enumerate(plan.sites):
            code = [f"{site.receiver} = result"] if site.receiver in plan.registers else []
            code += self._jump(site.place)
            if many:
                word = "if" if number == 0 else "elif"
                yield f"{word} site == {number}:" if number + 1 < len(plan.sites) else "else:"
            yield from indent(code) if many else code

    def _jump(self, place: int | None) -> Lines:
        if place is None:
            yield self._end("STEP_LIMIT if steps == limit else NO_RULE")
        elif len(self.numbers) + self.has_back > 1 and self.numbers[place] != self.inside:
            yield f"place = {self.numbers[place]}"
            if self.inside is not None:
                yield "break"

    def _end(self, outcome: str) -> str:
        return f"return {', '.join([outcome, 'steps', *self.plan.results])}"

    # Statements

    def _block(self, block: Sequence[ast.stmt]) -> Lines:
        lines = [line for statement in block for line in self._statement(statement)]
        yield from lines
        if all(line.startswith("#") for line in lines):
            yield "pass"

    def _statement(self, line: ast.stmt) -> Lines:
        match line:
            case ast.If():
                yield from self._branch(line)
            case ast.While():
                yield f"while {self.text(line.test)}:"
                yield from indent(self._block(line.body))
            case ast.For(iter=ast.Call(args=bounds)):
                shown = bounds[:2] if syntax.number(bounds[2]) == 1 else bounds
                shown = shown[1:] if len(shown) == 2 and syntax.number(shown[0]) == 0 else shown
                yield f"for {self.text(line.target)} in range({', '.join(map(self.text, shown))}):"
                yield from indent(self._block(line.body))
            case ast.Assign(targets=[target]):
                yield self._call(self.text(target), line.value) or self._set(target, line.value)
            case ast.Expr():
                yield self._call(None, line.value) or self.text(line.value)
            case ast.Return():
                values = [self.text(line.value)] if line.value is not None else []
                yield f"return {', '.join([*values, *self.returned])}".rstrip()
            case syntax.Remark():
                yield f"# {plain_text(line.text)}"
            case syntax.CountStep():
                yield from ("if steps == limit:", INDENT + self._end("STEP_LIMIT"), "steps += 1")
            case syntax.GoTo():
                yield from self._jump(line.place)
            case syntax.Finish(outcome=None):
                yield from ("steps -= 1", self._end("NO_RULE"))
            case syntax.Finish(outcome=ast.expr() as outcome):
                yield self._end(self.text(outcome))
            case syntax.OpenCall():
                sites = self.plan.sites
                saved = [*([str(sites.index(line.site))] if len(sites) > 1 else []), *self.plan.saved]
                yield f"stack.append(({', '.join(saved)}{',' if len(saved) == 1 else ''}))"
                yield "if len(stack) > stack_limit:"
                yield INDENT + self._end("STEP_LIMIT if steps == limit else STACK_LIMIT")
            case syntax.CloseCall():
                if self.plan.has_receivers:
                    yield f"result = {self.text(line.result)}"
                yield f"place = {self.back}"
                if self.inside is not None:
                    yield "break"
            case ast.Break() | ast.Continue():
                yield type(line).__name__.lower()

    def _set(self, target: ast.expr, value: ast.expr) -> str:
        is_own = isinstance(target, ast.Name) and target.id not in self.plan.memory
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub) and syntax.same(target, value.left):
            sign = "+" if isinstance(value.op, ast.Add) else "-"
            return f"{self.text(target)} {sign}= {self.text(value.right, is_number=True)}"
        return f"{self.text(target)} = {self.text(value, is_number=not is_own)}"

    def _branch(self, line: ast.If) -> Lines:
        word, all_end = "if", True
        while True:
            then, test, rest = list(self._block(line.body)), line.test, line.orelse
            if then == ["pass"] and rest:
                test, then, rest = syntax.negate(test), list(self._block(rest)), []
            yield f"{word} {self.text(test)}:"
            yield from indent(then)
            all_end = all_end and _ends(line.body)
            if all_end:
                yield from (text for inner in rest for text in self._statement(inner))
                return
            if len(rest) != 1 or not isinstance(rest[0], ast.If):
                break
            word, line = "elif", rest[0]
        if rest:
            yield "else:"
            yield from indent(self._block(rest))


def _as_number(expr: ast.expr) -> ast.expr:
    """Return a truth value as 0 or 1: the comparisons of some types, such as NumPy's, cannot be reckoned with."""
    return ast.IfExp(expr, syntax.constant(1), syntax.constant(0)) if syntax.is_truth(expr) else expr


def _ends(block: syntax.Block | Sequence[ast.stmt]) -> bool:
    """Tell whether a block always ends in a return."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, syntax.Finish | ast.Return) or (isinstance(last, syntax.GoTo) and last.place is None)
