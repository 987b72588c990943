"""Programs as C files."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Sequence

from surpass.programs.export import syntax
from surpass.programs.export.c_entry import TYPES, as_comment, write_file
from surpass.programs.export.heading import INDENT, WIDTH, Lines, indent, plain_text
from surpass.programs.export.kinds import Kind, Kinds, VariableKinds
from surpass.programs.export.plan import Plan

CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, ATOM = 1, 2, 3, 5, 9, 10, 11, 20
"""How tightly operators bind."""
_INFIX: dict[type[ast.AST], tuple[str, int]] = {
    ast.BitOr: ("|", 6),
    ast.BitXor: ("^", 7),
    ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 8),
    ast.RShift: (">>", 8),
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
}
_NAMED = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod", "min": "least", "max": "most"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">="}


def write_c(plan: Plan, kinds: Kinds) -> str:
    """Return a program as the text of a C file, given the kinds of its variables."""
    code = {}
    for suffix in ("i64", "f64") if kinds.items == "item" and "list" in plan.signature.items else ("i64",):
        writer = _CWriter(plan, kinds, suffix)
        subroutines = [line for found in plan.subroutines.values() for line in (*writer.subroutine(found), "")]
        code[suffix] = [*subroutines, *writer.run()]
    return write_file(plan, code)


def comment_lines(text: str) -> list[str]:
    """Return a text as a comment of C."""
    return as_comment(textwrap.wrap(plain_text(text), WIDTH - 10))


class _CWriter:
    """Writes the functions of a file for one type of items."""

    def __init__(self, plan: Plan, kinds: Kinds, suffix: str) -> None:
        self.plan, self.kinds, self.suffix, self.item_type = plan, kinds, suffix, TYPES[suffix]
        self.scope: VariableKinds = {}
        self.pointers: set[str] = set()
        """The registers and reals that are given by address in the subroutine that is written."""
        self.returned: Kind = "int"
        """What the subroutine returns that is written."""
        self.declared: set[str] = set()

    def type_of(self, kind: Kind) -> str:
        """Return the type of a kind."""
        return {"int": "int64_t", "real": "double", "item": self.item_type}[kind]

    # Expressions

    def text(self, expr: ast.expr, least: int = 0, kind: Kind = "int") -> str:
        """Return an expression as text, in brackets if it binds less tightly than `least`.

        A whole number that goes in where the kind is real is made one, as C would do without a word.
        """
        text, binds = self._write(expr)
        is_cast = kind == "real" and not isinstance(expr, ast.Constant) and self.kinds.of(expr, self.scope) == "int"
        if is_cast:
            text, binds = f"(double){text if binds >= SIGN else f'({text})'}", SIGN
        return text if binds >= least else f"({text})"

    def _write(self, expr: ast.expr) -> tuple[str, int]:
        """Return an expression as text and how tightly it binds."""
        match expr:
            case ast.Constant():
                return _constant(expr)
            case ast.Name(id=own):
                return (f"*{own}", SIGN) if own in self.pointers else (own, ATOM)
            case ast.Subscript(value=ast.Name(id=array)):
                return f"{array}[{self.text(expr.slice)}]", ATOM
            case ast.UnaryOp():
                return f"!{self.text(expr.operand, ATOM)}", SIGN
            case ast.IfExp():
                kind = self.kinds.of(expr, self.scope)
                ways = (self.text(way, CHOICE + 1, kind) for way in (expr.body, expr.orelse))
                return "{} ? {} : {}".format(self.text(expr.test, CHOICE + 1), *ways), CHOICE
            case ast.BoolOp():
                sign, binds = ("&&", AND) if isinstance(expr.op, ast.And) else ("||", OR)
                sides = [self.text(side, ATOM if isinstance(side, ast.BoolOp) else binds) for side in expr.values]
                return f" {sign} ".join(sides), binds
            case ast.Compare():
                both = (expr.left, expr.comparators[0])
                kind = "real" if "real" in [self.kinds.of(side, self.scope) for side in both] else "int"
                left, right = (self.text(side, COMPARISON + 1, kind) for side in both)
                return f"{left} {_COMPARISONS[type(expr.ops[0])]} {right}", COMPARISON
            case ast.BinOp(op=ast.Div()):
                return f"(double)({self.text(expr.left)}) / (double)({self.text(expr.right)})", PRODUCT
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                return self._named(_NAMED[type(expr.op)], expr, (expr.left, expr.right))
            case ast.BinOp():
                sign, binds = _INFIX[type(expr.op)]
                # Brackets beside signs that few know the order of.
                least, kind = binds if sign in "+-*" else SIGN, self.kinds.of(expr, self.scope)
                left, right = self.text(expr.left, least, kind), self.text(expr.right, max(binds + 1, least), kind)
                return f"{left} {sign} {right}", binds
            case ast.Call(func=ast.Name(id=function)):
                return self._write_call(function, expr)
        raise AssertionError(ast.dump(expr))

    def _named(self, function: str, expr: ast.expr, arguments: Sequence[ast.expr]) -> tuple[str, int]:
        kind = self.kinds.of(expr, self.scope)
        suffix = "f64" if self.type_of(kind) == "double" else "i64"
        return f"{function}_{suffix}({', '.join(self.text(one, 0, kind) for one in arguments)})", ATOM

    def _write_call(self, function: str, expr: ast.Call) -> tuple[str, int]:
        if function in self.plan.subroutines:
            given = []
            for used in self.plan.needs(self.plan.subroutines[function]):
                by_address = used in self.plan.changes[function] and used in self.plan.memory
                # Inside a subroutine that changes the same register, its address is at hand.
                address = used if used in self.pointers else f"&{used}"
                given.append(address if by_address else self.text(ast.Name(used, ast.Load())))
            inner, parameters = self.kinds.subroutines[function], self.plan.subroutines[function].parameters
            given += [self.text(one, 0, inner.get(own, "int")) for own, one in zip(parameters, expr.args, strict=True)]
            return f"{function}_{self.suffix}({', '.join(given)})", ATOM
        if function in ("min", "max"):
            return self._named(_NAMED[function], expr, expr.args)
        text = self.text(expr.args[0], 0, "int" if function in ("int", "float", "abs") else "real")
        if function in ("int", "float"):
            return f"({'int64_t' if function == 'int' else 'double'})({text})", SIGN
        if function == "abs":
            return f"{'llabs' if self.kinds.of(expr.args[0], self.scope) == 'int' else 'fabs'}({text})", ATOM
        return (
            (f"(int64_t){function}({text})", SIGN) if function in ("floor", "ceil") else (f"{function}({text})", ATOM)
        )

    # Subroutines

    def subroutine(self, found: syntax.Subroutine) -> Lines:
        """Yield a kernel as a function; it takes what it changes by address."""
        plan, changes = self.plan, self.plan.changes[found.name]
        self.scope, needs = self.kinds.subroutines[found.name], plan.needs(found)
        self.pointers = {used for used in needs if used in changes and used in plan.memory}
        given = []
        for used in needs:
            if used in ("items", "reals"):
                array = self.item_type if used == "items" else "double"
                given.append(f"{'' if used in changes else 'const '}{array} *{used}")
            else:
                given.append(f"{self.type_of(self.kinds.memory[used])} {'*' if used in self.pointers else ''}{used}")
        given += [f"{self.type_of(self.scope.get(own, 'int'))} {own}" for own in found.parameters]
        returns = self.kinds.returns.get(found.name)
        if found.summary:
            yield from comment_lines(found.summary)
        self.returned = returns or "int"
        kind = "void" if returns is None else self.type_of(returns)
        yield f"static {kind} {found.name}_{self.suffix}({', '.join(given) or 'void'})"
        yield "{"
        self.declared = set(found.parameters)
        yield from indent(self._block(found.body))
        yield "}"
        self.pointers = set()

    # The run

    def run(self) -> Lines:
        """Yield the function that runs the program."""
        plan, query = self.plan, self.plan.signature.query
        body = list(self._places())
        text = "\n".join(body)
        given = {"n": "int64_t n", "items": f"{'' if plan.changes_items else 'const '}{self.item_type} *items"}
        given |= {"reals": "double *reals"} if plan.has_real_array else {}
        given |= {query: f"{self.item_type} {query}"} if query else {}
        outputs = [("double", plan.score)] if plan.score else []
        outputs += [("int64_t", own) for own in plan.outputs]
        parameters = [*given.values(), "int64_t limit", "int64_t *steps", *(f"{kind} *{o}_out" for kind, o in outputs)]
        yield "/* Runs the program and returns the outcome; counts the steps. */"
        yield f"static int64_t run_{self.suffix}({', '.join(parameters)})"
        yield "{"
        yield f"{INDENT}int64_t left = limit, outcome;"
        if plan.registers:
            yield f"{INDENT}int64_t {', '.join(f'{own} = 0' for own in plan.registers)};"
        for own in plan.reals:
            yield f"{INDENT}{self.type_of(self.kinds.memory[own])} {own} = 0;"
        if plan.stack_limit is not None:
            yield f"{INDENT}Frame *frames = NULL;"
            yield f"{INDENT}int64_t depth = 0, capacity = 0;"
        elif re.search(r"\bdepth\b", text):
            yield f"{INDENT}const int64_t depth = 0;"
        if re.search(r"\bresult = ", text):
            yield f"{INDENT}int64_t result;"
        # Some tasks leave a part of the memory alone; a compiler would warn of it.
        yield from (f"{INDENT}(void){own};" for own in given if not re.search(rf"\b{own}\b", text))
        yield from ("", *body, *self._tail(text))
        if plan.stack_limit is not None:
            yield f"{INDENT}free(frames);"
        yield f"{INDENT}*steps = limit - left;"
        for kind, own in outputs:
            yield f"{INDENT}*{own}_out = {self.text(syntax.name(own), 0, 'real' if kind == 'double' else 'int')};"
        yield f"{INDENT}return outcome;"
        yield "}"

    def _places(self) -> Lines:
        self.scope, self.declared = self.kinds.blocks[0], {"outcome"}
        yield from indent(self._block(self.plan.start))
        for (number, code), scope in zip(self.plan.places.items(), self.kinds.blocks[1:], strict=True):
            self.scope, self.declared = scope, {"outcome"}
            inside = list(indent(self._block(code)))
            yield from ("", f"place_{number}:", *indent(comment_lines(self.plan.title(number))))
            if self.declared != {"outcome"}:
                inside = [f"{INDENT}{{", *indent(inside), f"{INDENT}}}"]
            yield from inside
        if self.plan.closes_calls:
            yield from ("", "back:", f"{INDENT}/* Back to the caller. */", *indent(self._back()))

    def _back(self) -> Lines:
        """Yield the code that goes back to the caller."""
        plan = self.plan
        if plan.stack_limit is None:
            yield "goto step_limit; /* Never: the program opens no call that could end. */"
            return
        yield "--depth;"
        yield from (f"{own} = frames[depth].{own};" for own in plan.saved)
        many = len(plan.sites) > 1
        if many:
            yield "switch (frames[depth].site) {"
        for number, site in enumerate(plan.sites):
            code = [f"{site.receiver} = result;"] if site.receiver in plan.registers else []
            code += [_jump(site.place)]
            if many:
                yield f"case {number}:" if number + 1 < len(plan.sites) else "default:"
            yield from indent(code) if many else code
        if many:
            yield "}"

    def _tail(self, text: str) -> Lines:
        """Yield the ways in which a run can end."""
        for label, code in (
            ("no_place", ["if (left == 0) goto step_limit;", "outcome = SURPASS_NO_RULE;", "goto end;"]),
            ("too_deep", ["if (left == 0) goto step_limit;", "outcome = SURPASS_STACK_LIMIT;", "goto end;"]),
            ("out_of_memory", ["outcome = SURPASS_OUT_OF_MEMORY;", "goto end;"]),
            ("step_limit", ["left = 0;", "outcome = SURPASS_STEP_LIMIT;"]),
        ):
            if f"goto {label};" in text or (label == "step_limit" and ("goto no_p" in text or "goto too_d" in text)):
                yield from ("", f"{label}:", *indent(code))
        yield from ("", "end:") if "goto end;" in text or "goto no_p" in text or "goto too_d" in text else ()

    # Statements

    def _block(self, block: Sequence[ast.stmt]) -> Lines:
        for at, line in enumerate(block):
            yield from self._declare_before(line, block[at + 1 :])
            yield from self._statement(line)

    def _declare_before(self, line: ast.stmt, rest: Sequence[ast.stmt]) -> Lines:
        """Yield the declarations of variables that are first set inside a statement and read behind it."""
        counters = {syntax.names_in(s.target).pop() for s in syntax.statements([line]) if isinstance(s, ast.For)}
        inner = set(syntax.assigned([line])) - counters if hasattr(line, "body") else set()
        for own in sorted((inner & self.scope.keys() & syntax.names_in(*rest)) - self.declared):
            self.declared.add(own)
            yield f"{self.type_of(self.scope[own])} {own} = 0;"

    def _inside(self, block: Sequence[ast.stmt]) -> Lines:
        """Yield the code of an inner block; what it declares is known in it alone."""
        outside = set(self.declared)
        lines = list(indent(self._block(block)))
        self.declared = outside | ({"{"} if self.declared != outside else set())
        yield from lines

    def _statement(self, line: ast.stmt) -> Lines:
        match line:
            case ast.If():
                yield from self._branch(line)
            case ast.While():
                yield f"while ({self.text(line.test)}) {{"
                yield from (*self._inside(line.body), "}")
            case ast.For(target=ast.Name(id=own), iter=ast.Call(args=bounds)):
                first, end, step = map(self.text, bounds)
                down = step.startswith("-")
                change = f"{own} {'-' if down else '+'}= {step.lstrip('-')}"
                self.declared.add(own)
                yield f"for (int64_t {own} = {first}; {own} {'>' if down else '<'} {end}; {change}) {{"
                yield from (*self._inside(line.body), "}")
            case ast.Assign(targets=[target]):
                yield self._set(target, line.value)
            case ast.Expr():
                yield f"{self.text(line.value)};"
            case ast.Return():
                yield "return;" if line.value is None else f"return {self.text(line.value, 0, self.returned)};"
            case syntax.Remark():
                yield from comment_lines(line.text)
            case syntax.CountStep():
                yield "if (left-- == 0) goto step_limit;"
            case syntax.GoTo():
                yield _jump(line.place)
            case syntax.Finish(outcome=None):
                yield from ("++left;", "outcome = SURPASS_NO_RULE;", "goto end;")
            case syntax.Finish(outcome=ast.expr() as outcome):
                if not syntax.same(outcome, ast.Name("outcome", ast.Load())):
                    yield f"outcome = {self.text(outcome)};"
                yield "goto end;"
            case syntax.OpenCall():
                assert self.plan.stack_limit is not None
                yield "if (depth == capacity && !grow(&frames, &capacity)) goto out_of_memory;"
                kept = [(own, own) for own in self.plan.saved]
                kept += [("site", str(self.plan.sites.index(line.site)))] if self.plan.keeps_sites else []
                yield from (f"frames[depth].{own} = {value};" for own, value in kept)
                yield "++depth;"
                yield f"if (depth > {self.text(self.plan.stack_limit)}) goto too_deep;"
            case syntax.CloseCall():
                if self.plan.has_receivers:
                    yield f"result = {self.text(line.result)};"
                yield "goto back;"
            case ast.Break() | ast.Continue():
                yield f"{type(line).__name__.lower()};"

    def _set(self, target: ast.expr, value: ast.expr) -> str:
        name, kind = self.text(target), self.kinds.of(target, self.scope)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub) and syntax.same(target, value.left):
            return f"{name} {_INFIX[type(value.op)][0]}= {self.text(value.right, 0, kind)};"
        if isinstance(target, ast.Name) and target.id in self.scope and target.id not in self.declared:
            self.declared.add(target.id)
            name = f"{self.type_of(self.scope[target.id])} {name}"
        return f"{name} = {self.text(value, 0, kind)};"

    def _branch(self, line: ast.If) -> Lines:
        head, all_end = f"if ({self.text(line.test)}) {{", True
        while True:
            yield from (head, *self._inside(line.body))
            rest, all_end = line.orelse, all_end and _ends(line.body)
            is_tree = len(rest) == 1 and isinstance(rest[0], ast.If)
            if all_end and not is_tree:
                yield from ("}", *self._block(rest))
                return
            if not is_tree:
                break
            assert isinstance(rest[0], ast.If)
            line = rest[0]
            head = f"}} else if ({self.text(line.test)}) {{"
        if rest:
            yield from ("} else {", *self._inside(rest))
        yield "}"


def _constant(expr: ast.Constant) -> tuple[str, int]:
    value = syntax.number(expr)
    assert value is not None
    if isinstance(value, float):
        text = repr(value) if math.isfinite(value) else "INFINITY" if value > 0 else "-INFINITY"
    else:
        text = str(int(value)) if abs(value) < 2**31 else f"INT64_C({value})"
    return text, SIGN if text.startswith("-") else ATOM


def _jump(place: int | None) -> str:
    return "goto no_place;" if place is None else f"goto place_{place};"


def _ends(block: Sequence[ast.stmt]) -> bool:
    """Tell whether a block never continues behind its end."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, syntax.Finish | syntax.GoTo | syntax.CloseCall | ast.Return)
