"""Programs as C files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from surpass.machine.state import DEPTH, PREVIOUS
from surpass.programs.export.c_entries import Parts, write_file
from surpass.programs.export.cleanup import all_statements, changes, read_parts
from surpass.programs.export.code import (
    Apply,
    Back,
    Binary,
    Block,
    Break,
    Call,
    Cell,
    Comment,
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
)
from surpass.programs.export.header import comment_lines, for_c, plain_text
from surpass.programs.export.kinds import Kind, Kinds, Scope
from surpass.programs.export.plan import Plan
from surpass.programs.export.text import AND, ATOM, CHOICE, OR, SIGN, Notation, needs_of

__all__ = ["write_c"]

INDENT = "    "
ARGUMENTS = ("n", "items", "reals", "query")
Lines = Iterator[str]


def write_c(plan: Plan, kinds: Kinds) -> str:
    """Return a program as the text of a C file, given the kinds of its variables."""
    suffixes = {"i64": "int64_t"}
    if kinds.items == "item" and plan.entry.shape in ("sort", "search", "list"):
        suffixes["f64"] = "double"
    code = {}
    for suffix, item_type in suffixes.items():
        writer = _Writer(plan, kinds, suffix, item_type)
        functions = [line for function in plan.functions for line in (*writer.function(function), "")]
        code[suffix] = [*functions, *writer.run()]
    return write_file(plan, Parts(code, suffixes, _frame(plan)))


def _frame(plan: Plan) -> list[str]:
    """Return the declaration of what a call saves."""
    if plan.stack_limit is None:
        return []
    saved = [plan.names[Register(index)] for index in plan.saved]
    fields = [f"int64_t {', '.join(saved)};"] if saved else []
    fields += ["int site;"] if _has_sites(plan) else []
    return ["typedef struct {", *(INDENT + field for field in fields), "} Frame;"]


def _has_sites(plan: Plan) -> bool:
    """Tell whether a frame says where its call comes back to; C has no frames with nothing in them."""
    return len(plan.sites) > 1 or not plan.saved


class _C(Notation):
    """How C writes expressions, given the kinds of the variables in scope."""

    def __init__(self, names: dict[Expr, str], kinds: Kinds, item_type: str) -> None:
        super().__init__(names)
        self.kinds, self.item_type = kinds, item_type
        self.scope: Scope = {}

    def type_of(self, kind: Kind) -> str:
        """Return the type of a kind."""
        return {"int": "int64_t", "real": "double", "item": self.item_type}[kind]

    def constant(self, const: Const) -> str:
        """Return a constant as text."""
        if const.label:
            return const.label
        if isinstance(const.value, float):
            if math.isinf(const.value):
                return "-INFINITY" if const.value < 0 else "INFINITY"
            return repr(const.value)
        value = int(const.value)
        return str(value) if abs(value) < 2**31 else f"INT64_C({value})"

    def negation(self, expr: Not) -> tuple[str, int]:
        """Return `not` as text and how tightly it binds."""
        return f"!{self.text(expr.operand, ATOM)}", SIGN

    def choice(self, expr: Select) -> tuple[str, int]:
        """Return a choice as text and how tightly it binds."""
        test, then, otherwise = (self.text(part, CHOICE + 1) for part in (expr.test, expr.then, expr.otherwise))
        return f"{test} ? {then} : {otherwise}", CHOICE

    def logic(self, expr: Logic) -> tuple[str, int]:
        """Return `and` or `or` as text and how tightly it binds."""
        binds, sign = (AND, "&&") if expr.sign == "and" else (OR, "||")
        sides = []
        for side in (expr.left, expr.right):
            mixed = isinstance(side, Logic) and side.sign != expr.sign
            sides.append(self.text(side, ATOM if mixed else binds))
        return f" {sign} ".join(sides), binds

    def apply(self, expr: Apply) -> str:
        """Return a function of a number as text."""
        text = self.text(expr.argument)
        if expr.function in ("int", "float"):
            return f"({'int64_t' if expr.function == 'int' else 'double'})({text})"
        if expr.function == "abs":
            return f"{'llabs' if self.kinds.of(expr.argument, self.scope) == 'int' else 'fabs'}({text})"
        call = f"{expr.function}({text})"
        return f"(int64_t){call}" if expr.function in ("floor", "ceil") else call

    def arithmetic(self, expr: Binary) -> tuple[str, int]:
        """Return arithmetic as text and how tightly it binds."""
        if expr.sign not in ("min", "max", "//", "%", "/"):
            return self.infix(expr)
        left, right = self.text(expr.left), self.text(expr.right)
        if expr.sign == "/":
            return f"(double)({left}) / (double)({right})", SIGN
        name = {"min": "least", "max": "most", "//": "floor_div", "%": "floor_mod"}[expr.sign]
        suffix = "f64" if self.type_of(self.kinds.of(expr, self.scope)) == "double" else "i64"
        return f"{name}_{suffix}({left}, {right})", ATOM


@dataclass
class _Writer:
    """Writes the functions of a file for one type of items."""

    plan: Plan
    kinds: Kinds
    suffix: str
    item_type: str

    def __post_init__(self) -> None:
        names = dict(self.plan.names)
        if self.plan.reals is None:
            names = {place: name for place, name in names.items() if not isinstance(place, Cell)}
        self.names = names
        self.notation = _C(dict(names), self.kinds, self.item_type)
        self.is_function = False

    def text(self, expr: Expr) -> str:
        """Return an expression as text."""
        return self.notation.text(expr)

    def _type(self, place: Expr, scope: Scope) -> str:
        return self.notation.type_of(self.kinds.of(place, scope))

    # Functions

    def function(self, function: Function) -> list[str]:
        """Return a kernel as a function; what it changes comes by address."""
        scope = self.kinds.functions[function]
        needs = needs_of(function, real_array=self.plan.reals is None)
        given = []
        self.notation.names = dict(self.names)
        for place in needs.reads:
            star = "*" if place in needs.writes else ""
            given.append(f"{self._type(place, scope)} {star}{self.names[place]}")
            self.notation.names[place] = star + self.names[place]
        for array in needs.arrays:
            kind = self.item_type if array == "items" else "double"
            given.append(f"{'' if array in needs.changes else 'const '}{kind} *{array}")
        given += [f"{self.item_type} query"] if needs.has_query else []
        given += [f"{self._type(parameter, scope)} {parameter.name}" for parameter in function.parameters]
        returns = self.kinds.returns.get(function)
        kind = "void" if returns is None else self.notation.type_of(returns)
        self.notation.scope, self.is_function = scope, True
        self.declared: set[str] = set()
        lines = comment_lines(function.summary) if function.summary else []
        lines += [f"static {kind} {function.name}_{self.suffix}({', '.join(given) or 'void'})", "{"]
        lines += [INDENT + line for line in self._block(function.body)]
        self.notation.names, self.is_function = dict(self.names), False
        return [*lines, "}"]

    def _call(self, function: Function, arguments: Iterable[Expr]) -> str:
        needs = needs_of(function, real_array=self.plan.reals is None)
        given = []
        for place in needs.reads:
            text = self.text(place)
            if place in needs.writes:
                # Inside a function that changes the same place, its address is at hand.
                text = text[1:] if text.startswith("*") else f"&{text}"
            given.append(text)
        given += [*needs.arrays, *(["query"] if needs.has_query else []), *map(self.text, arguments)]
        return f"{function.name}_{self.suffix}({', '.join(given)})"

    # The run

    def run(self) -> list[str]:
        """Return the function that runs the program."""
        plan = self.plan
        body = self._places()
        text = "\n".join(body)
        changes = self._changes_items()
        given = ["int64_t n", f"{'' if changes else 'const '}{self.item_type} *items"]
        given += ["double *reals"] if plan.reals is None else []
        given += [f"{self.item_type} query"] if plan.entry.has_query else []
        given += ["int64_t limit", "int64_t *steps"]
        given += [f"{kind} *{name}_out" for name, kind, _ in self.outputs()]
        lines = ["/* Runs the program and returns the outcome; counts the steps. */"]
        lines += [
            f"static int64_t run_{self.suffix}({', '.join(given)})",
            "{",
            INDENT + "int64_t left = limit, outcome;",
        ]
        used = set(re.findall(r"\w+", text)) | {value for _, _, value in self.outputs()}
        registers = [plan.names[Register(index)] for index in plan.registers]
        registers = [f"{name} = 0" for name in registers if name in used]
        lines += [f"{INDENT}int64_t {', '.join(registers)};"] if registers else []
        for index in plan.reals or ():
            cell = Cell("reals", Const(index))
            lines.append(f"{INDENT}{self._type(cell, {})} {self.text(cell)} = 0;")
        if plan.stack_limit is not None:
            lines += [INDENT + "Frame *frames = NULL;", INDENT + "int64_t depth = 0, capacity = 0;"]
        elif any(Register(DEPTH) in read_parts(block) for block in plan.blocks):
            lines += [INDENT + "const int64_t depth = 0;"]
        if "goto back;" in text and any(site.receiver in plan.registers for site in plan.sites):
            lines += [INDENT + "int64_t result;"]
        # Some tasks leave a part of the memory alone; a compiler would warn of it.
        names = [parameter.split()[-1].lstrip("*") for parameter in given]
        lines += [
            f"{INDENT}(void){name};" for name in names if name in ARGUMENTS and not re.search(rf"\b{name}\b", text)
        ]
        return [*lines, "", *body, *self._tail(text), "}"]

    def outputs(self) -> list[tuple[str, str, str]]:
        """Return name, type and value of what comes back beside the steps."""
        names = [self.names[Register(index)] for index in self.plan.entry.outputs]
        found = [(name, "int64_t", name) for name in names]
        if self.plan.entry.shape == "list":
            cell = Cell("reals", Const(0))
            found.insert(0, ("score", "double", self.text(cell)))
        return found

    def _changes_items(self) -> bool:
        blocks = [*self.plan.blocks, *(function.body for function in self.plan.functions)]
        return any(
            isinstance(s, SetCell) and s.cell.array == "items" for block in blocks for s in all_statements(block)
        )

    def _places(self) -> list[str]:
        lines = []
        self.declared = set()
        self.notation.scope = self.kinds.blocks[0]
        lines += [INDENT + line for line in self._block(self.plan.start)]
        for (number, place), scope in zip(self.plan.places.items(), self.kinds.blocks[1:], strict=True):
            self.declared = set()
            self.notation.scope = scope
            inside = [INDENT + line for line in self._block(place.code)]
            lines += ["", f"place_{number}:", *(INDENT + line for line in comment_lines(place.title))]
            lines += [f"{INDENT}{{", *(INDENT + line for line in inside), f"{INDENT}}}"] if self.declared else inside
        if any(isinstance(s, Back) for block in self.plan.blocks for s in all_statements(block)):
            lines += ["", "back:", f"{INDENT}/* Back to the caller. */", *(INDENT + line for line in self._back())]
        return lines

    def _back(self) -> Lines:
        """Yield the code that goes back to the caller."""
        plan = self.plan
        if plan.stack_limit is None:
            yield "goto step_limit; /* Never: the program opens no call that could end. */"
            return
        yield "--depth;"
        for index in plan.saved:
            yield f"{plan.names[Register(index)]} = frames[depth].{plan.names[Register(index)]};"
        cases = []
        for site in plan.sites:
            code = []
            if site.receiver in plan.registers:
                assert site.receiver is not None
                code.append(f"{plan.names[Register(site.receiver)]} = result;")
            if PREVIOUS in plan.registers:
                code.append(f"{plan.names[Register(PREVIOUS)]} = {site.previous};")
            cases.append([*code, self._jump(site.place)])
        if len(cases) == 1:
            yield from cases[0]
            return
        yield "switch (frames[depth].site) {"
        for number, code in enumerate(cases):
            yield f"case {number}:" if number + 1 < len(cases) else "default:"
            yield from (INDENT + line for line in code)
        yield "}"

    def _tail(self, text: str) -> Lines:
        """Yield the ways in which a run can end."""
        for label, code in (
            ("no_place", ["if (left == 0) goto step_limit;", "++unmet;", "outcome = SURPASS_NO_RULE;", "goto end;"]),
            ("too_deep", ["if (left == 0) goto step_limit;", "outcome = SURPASS_STACK_LIMIT;", "goto end;"]),
            ("out_of_memory", ["outcome = SURPASS_OUT_OF_MEMORY;", "goto end;"]),
            ("step_limit", ["left = 0;", "outcome = SURPASS_STEP_LIMIT;"]),
        ):
            if f"goto {label};" in text or (label == "step_limit" and "goto" in text):
                yield from ("", f"{label}:", *(INDENT + line for line in code))
        yield from ("", "end:") if "goto end;" in text or "goto" in text else ()
        if self.plan.stack_limit is not None:
            yield INDENT + "free(frames);"
        yield INDENT + "*steps = limit - left;"
        for name, _, value in self.outputs():
            yield f"{INDENT}*{name}_out = {value};"
        yield INDENT + "return outcome;"

    def _jump(self, place: int | None) -> str:
        return "goto no_place;" if place is None else f"goto place_{place};"

    # Statements

    def _block(self, block: Block) -> Lines:
        for statement in block:
            yield from self._statement(statement)

    def _statement(self, statement: Statement) -> Lines:
        if isinstance(statement, If):
            yield from self._branch(statement)
        elif isinstance(statement, While):
            yield f"while ({self.text(statement.test)}) {{"
            yield from self._inside(statement.body)
            yield "}"
        elif isinstance(statement, For):
            name, end = statement.var.name, self.text(statement.end)
            self.declared.add(name)
            if any(changes(inner, statement.end) for inner in all_statements(statement.body)):
                # Where the loop ends is settled before its first turn.
                yield f"const int64_t {name}_end = {end};"
                end = f"{name}_end"
            sign, move = ("<", "+=") if statement.step > 0 else (">", "-=")
            yield (
                f"for (int64_t {name} = {self.text(statement.first)}; {name} {sign} {end}; {name} {move}"
                f" {abs(statement.step)}) {{"
            )
            yield from self._inside(statement.body)
            yield "}"
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
            call = self._call(statement.function, statement.arguments)
            if statement.target is not None:
                yield f"{self._declare(statement.target)} = {call};"
            else:
                yield f"{call};"
        elif isinstance(statement, Return):
            yield "return;" if statement.value is None else f"return {self.text(statement.value)};"
        elif isinstance(statement, Comment):
            yield f"/* {for_c(plain_text(statement.text))} */"
        elif isinstance(statement, Step):
            yield "if (left-- == 0) goto step_limit;"
        elif isinstance(statement, Look):
            yield f"unmet += !was_met({self._call(statement.function, ())});"
        elif isinstance(statement, Jump):
            yield self._jump(statement.place)
        elif isinstance(statement, NoRule):
            yield from ("++left;", "outcome = SURPASS_NO_RULE;", "goto end;")
        elif isinstance(statement, End):
            if statement.outcome != Var("outcome"):
                yield f"outcome = {self.text(statement.outcome)};"
            yield "goto end;"
        elif isinstance(statement, Push):
            saved = [f".{name} = {name}" for name in (self.names[Register(index)] for index in self.plan.saved)]
            saved += [f".site = {statement.site}"] if _has_sites(self.plan) else []
            assert self.plan.stack_limit is not None
            yield "if (depth == capacity && !grow(&frames, &capacity)) goto out_of_memory;"
            yield f"frames[depth++] = (Frame){{{', '.join(saved)}}};"
            yield f"if (depth > {self.text(self.plan.stack_limit)}) goto too_deep;"
        elif isinstance(statement, Back):
            if any(site.receiver in self.plan.registers for site in self.plan.sites):
                yield f"result = {self.text(statement.result)};"
            yield "goto back;"
        else:
            yield "break;" if isinstance(statement, Break) else "continue;"

    def _declare(self, var: Var) -> str:
        """Return a variable as it is written where it is set: with its type the first time."""
        if var.name in self.declared or (var == Var("outcome") and not self.is_function):
            return var.name
        self.declared.add(var.name)
        return f"{self.notation.type_of(self.notation.scope[var])} {var.name}"

    def _set(self, target: Var | Register | Cell, value: Expr) -> str:
        if isinstance(value, Binary) and value.left == target and value.sign in ("+", "-"):
            sign, more = value.sign, value.right
            if isinstance(more, Const) and more.value < 0 and sign == "+":
                sign, more = "-", Const(-more.value)
            return f"{self.text(target)} {sign}= {self.text(more)};"
        name = self._declare(target) if isinstance(target, Var) else self.text(target)
        return f"{name} = {self.text(value)};"

    def _inside(self, block: Block) -> Lines:
        """Yield the code of an inner block; what it declares is known in it alone."""
        outside = set(self.declared)
        lines = [INDENT + line for line in self._block(block)]
        self.declared = outside | ({"{"} if self.declared != outside else set())
        yield from lines

    def _branch(self, statement: If) -> Lines:
        head, all_end = f"if ({self.text(statement.test)}) {{", True
        while True:
            yield head
            yield from self._inside(statement.then)
            rest = statement.otherwise
            all_end = all_end and _ends(statement.then)
            if all_end and not _is_tree(rest):
                yield "}"
                yield from self._block(rest)
                return
            if len(rest) != 1 or not isinstance(rest[0], If):
                break
            statement = rest[0]
            head = f"}} else if ({self.text(statement.test)}) {{"
        if rest:
            yield "} else {"
            yield from self._inside(rest)
        yield "}"


def _ends(block: Block) -> bool:
    """Tell whether a block never goes on behind its end."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, If):
        return _ends(last.then) and _ends(last.otherwise)
    return isinstance(last, End | NoRule | Return | Jump | Back)


def _is_tree(block: Block) -> bool:
    return len(block) == 1 and isinstance(block[0], If)
