"""Shorter code that does the same: variables that are read once and values that nobody reads are removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from surpass.programs.export.code import (
    Back,
    Block,
    Break,
    Call,
    Cell,
    Comment,
    Continue,
    End,
    Expr,
    For,
    Function,
    If,
    Look,
    Register,
    Return,
    SetCell,
    SetRegister,
    SetVar,
    Statement,
    Var,
    While,
    expressions,
    inner_blocks,
    rebuild,
    walk,
)

__all__ = [
    "all_statements",
    "change_expressions",
    "changes",
    "drop_unneeded",
    "functions_in",
    "read_parts",
    "rename",
    "set_names",
    "tidy",
    "with_blocks",
]


def tidy(block: Block) -> Block:
    """Return code without choices between equal ways, and with variables that are read once put where they are read."""
    uses = Counter(part for part in read_parts(block) if isinstance(part, Var))
    writes = Counter(statement.var for statement in all_statements(block) if isinstance(statement, SetVar))
    once = {var for var, count in uses.items() if count == 1 and writes[var] == 1}
    return _tidy(block, once)


def _tidy(block: Block, once: set[Var]) -> Block:
    found: list[Statement] = []
    for statement in reversed(block):
        statement = with_blocks(statement, lambda inner: _tidy(inner, once))
        if isinstance(statement, If) and statement.then == statement.otherwise:
            found = [*statement.then, *found]
            continue
        if isinstance(statement, SetVar) and statement.var in once:
            moved = _move(statement, found)
            if moved is not None:
                found = moved
                continue
        found.insert(0, statement)
    return tuple(found)


def _move(setting: SetVar, rest: list[Statement]) -> list[Statement] | None:
    """Return the rest with the value in the place where the variable is read, if nothing changes it before."""
    for at, statement in enumerate(rest):
        if any(part == setting.var for expr in expressions(statement) for part in walk(expr)):
            if isinstance(statement, While):
                return None
            return [*rest[:at], substitute(statement, setting.var, setting.value), *rest[at + 1 :]]
        if inner_blocks(statement) or changes(statement, setting.value):
            return None
    return None


def changes(statement: Statement, value: Expr) -> bool:
    """Tell whether a statement may change what an expression comes to."""
    if isinstance(statement, SetVar):
        return any(part == statement.var for part in walk(value))
    if isinstance(statement, SetRegister):
        return any(part == Register(statement.index) for part in walk(value))
    if isinstance(statement, SetCell):
        return any(isinstance(part, Cell) and part.array == statement.cell.array for part in walk(value))
    return isinstance(statement, Call | Back)


def substitute(statement: Statement, var: Var, value: Expr) -> Statement:
    """Return a statement that reads a value instead of a variable."""

    def put(expr: Expr) -> Expr:
        return rebuild(expr, lambda part: value if part == var else None)

    return change_expressions(statement, put)


def change_expressions(statement: Statement, put: Callable[[Expr], Expr]) -> Statement:
    """Return a statement with the expressions that it itself reads changed."""
    if isinstance(statement, SetVar | SetRegister):
        return replace(statement, value=put(statement.value))
    if isinstance(statement, SetCell):
        return SetCell(Cell(statement.cell.array, put(statement.cell.index)), put(statement.value))
    if isinstance(statement, If | While):
        return replace(statement, test=put(statement.test))
    if isinstance(statement, For):
        return replace(statement, first=put(statement.first), end=put(statement.end))
    if isinstance(statement, Call):
        return replace(statement, arguments=tuple(map(put, statement.arguments)))
    if isinstance(statement, Return):
        return statement if statement.value is None else Return(put(statement.value))
    if isinstance(statement, Back):
        return Back(put(statement.result))
    if isinstance(statement, End):
        return End(put(statement.outcome))
    return statement


def rename(block: Block, taken: set[str]) -> Block:
    """Return code whose own variables have none of the taken names."""
    names: dict[Var, Var] = {}
    own = [_set_var(statement) for statement in all_statements(block)]
    for var in dict.fromkeys(var for var in own if var is not None):
        name, number = var.name, 1
        while name in taken:
            number += 1
            name = f"{var.name}{number}"
        names[var] = Var(name)

    def put(expr: Expr) -> Expr:
        return rebuild(expr, lambda part: names.get(part) if isinstance(part, Var) else None)

    def change(inner: Block) -> Block:
        found = []
        for statement in inner:
            statement = change_expressions(with_blocks(statement, change), put)
            if isinstance(statement, SetVar | For):
                statement = replace(statement, var=names[statement.var])
            if isinstance(statement, Call) and statement.target is not None:
                statement = replace(statement, target=names[statement.target])
            found.append(statement)
        return tuple(found)

    return change(block)


def _set_var(statement: Statement) -> Var | None:
    if isinstance(statement, SetVar | For):
        return statement.var
    return statement.target if isinstance(statement, Call) else None


def set_names(block: Block) -> set[str]:
    """Return the names of the variables that a block sets."""
    return {var.name for statement in all_statements(block) if (var := _set_var(statement)) is not None}


def with_blocks(statement: Statement, change: Callable[[Block], Block]) -> Statement:
    """Return a statement with its inner blocks changed."""
    if isinstance(statement, If):
        return If(statement.test, change(statement.then), change(statement.otherwise))
    if isinstance(statement, While | For):
        return replace(statement, body=change(statement.body))
    return statement


def all_statements(block: Iterable[Statement]) -> Iterable[Statement]:
    """Yield the statements of a block and of the blocks in it."""
    for statement in block:
        yield statement
        for inner in inner_blocks(statement):
            yield from all_statements(inner)


def read_parts(block: Iterable[Statement]) -> Iterable[Expr]:
    """Yield every part of every expression that a block reads."""
    for statement in all_statements(block):
        for expr in expressions(statement):
            yield from walk(expr)


def functions_in(block: Iterable[Statement]) -> list[Function]:
    """Return the functions that a block calls, and those that they call, each after those that it calls."""
    found: list[Function] = []
    for statement in all_statements(block):
        if isinstance(statement, Call | Look):
            found += [*functions_in(statement.function.body), statement.function]
    return list(dict.fromkeys(found))


class _Needed:
    """What is read on the way to an effect: the memory, which all blocks share, and the variables of one block."""

    def __init__(self, shared: set[Expr]) -> None:
        self.shared = shared
        self.own: set[Var] = set()

    def __contains__(self, expr: Expr) -> bool:
        return expr in self.own if isinstance(expr, Var) else expr in self.shared

    def __len__(self) -> int:
        return len(self.shared) + len(self.own)

    def add(self, expr: Expr) -> None:
        """Add everything that an expression is made of, in place."""
        for part in walk(expr):
            if isinstance(part, Var):
                self.own.add(part)
            else:
                self.shared.add(part)


def drop_unneeded(blocks: Sequence[Block], kept: Iterable[Expr]) -> list[Block]:
    """Return code without what has no bearing on its effects; what is `kept` counts as read at the end."""
    shared: set[Expr] = set(kept)
    for block in blocks:
        for function in functions_in(block):
            shared.update(part for part in read_parts(function.body) if not isinstance(part, Var))
    needed = [_Needed(shared) for _ in blocks]
    while True:
        before = sum(map(len, needed))
        for block, of_block in zip(blocks, needed, strict=True):
            _mark(block, of_block)
        if sum(map(len, needed)) == before:
            return [_sweep(block, of_block) for block, of_block in zip(blocks, needed, strict=True)]


def _is_needed(statement: Statement, needed: _Needed) -> bool:
    """Tell whether a statement has an effect, or sets what is needed; kernels end, so a loop alone has none."""
    if isinstance(statement, SetVar):
        return statement.var in needed
    if isinstance(statement, SetRegister):
        return Register(statement.index) in needed
    if isinstance(statement, If | While | For):
        return any(_is_needed(inner, needed) for block in inner_blocks(statement) for inner in block)
    return not isinstance(statement, Break | Continue | Comment)


def _mark(block: Block, needed: _Needed) -> None:
    """Add what the needed statements of a block read to `needed` in place."""
    for statement in block:
        if not _is_needed(statement, needed):
            continue
        for expr in expressions(statement):
            needed.add(expr)
        for inner in inner_blocks(statement):
            _mark(inner, needed)
        if isinstance(statement, While | For):
            # Whether a loop goes on depends on what decides about leaving it.
            for inner_statement in all_statements(statement.body):
                if isinstance(inner_statement, If) and _leaves_loop(inner_statement):
                    needed.add(inner_statement.test)


def _leaves_loop(statement: If) -> bool:
    return any(isinstance(inner, Break | Continue) for inner in all_statements([statement]))


def _sweep(block: Block, needed: _Needed, in_needed_loop: bool = False) -> Block:
    found: list[Statement] = []
    for statement in block:
        is_needed = _is_needed(statement, needed) or isinstance(statement, Comment)
        if in_needed_loop and (isinstance(statement, Break | Continue) or _is_exit(statement)):
            is_needed = True
        if not is_needed:
            continue
        inside = in_needed_loop or isinstance(statement, While | For)
        statement = with_blocks(statement, partial(_sweep, needed=needed, in_needed_loop=inside))
        if isinstance(statement, Call) and statement.target is not None and statement.target not in needed:
            statement = replace(statement, target=None)
        found.append(statement)
    return tuple(found)


def _is_exit(statement: Statement) -> bool:
    return isinstance(statement, If) and _leaves_loop(statement)
