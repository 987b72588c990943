"""Shorter code that does the same: without what nobody reads, and without limits that are never reached."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from surpass.programs.export import syntax

Bodies = dict[int | str, syntax.Block]
"""Code by the number of its place, or by the name of its subroutine."""
Changes = Mapping[str, Set[str]]
"""For each subroutine, the registers, reals and arrays that it changes."""


# Variables that are read once, or that stand for another


def shorten(block: syntax.Block, memory: Set[str], changes: Changes) -> syntax.Block:
    """Return code with variables of its own put where they are read, if they are read once or only copy another."""
    reads = Counter(
        part.id
        for line in syntax.statements(block)
        for expr in syntax.expressions(line)
        for part in ast.walk(expr)
        if isinstance(part, ast.Name)
    )
    writes = Counter(syntax.assigned(block))
    once = {own for own, count in writes.items() if count == 1 and own not in memory}
    return _shorten(block, once, reads, changes)


def _shorten(block: Sequence[ast.stmt], once: set[str], reads: Counter[str], changes: Changes) -> syntax.Block:
    found: list[ast.stmt] = []
    for line in reversed(block):
        line = syntax.change_blocks(line, lambda inner: _shorten(inner, once, reads, changes))
        if isinstance(line, ast.If) and _alike(line.body, line.orelse):
            found = [*line.body, *found]
            continue
        if isinstance(line, ast.If) and not line.body:
            line = ast.If(syntax.negate(line.test), line.orelse, [])
        moved = None
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and line.targets[0].id in once:
            own, value = line.targets[0].id, line.value
            if isinstance(value, ast.Name) and not _change(found, changes) & {value.id}:
                moved = [*syntax.put(found, {own: value})]
            elif reads[own] == 1 and not _called(value, changes):
                moved = _move(own, value, found, changes)
        found = [line, *found] if moved is None else moved
    return tuple(found)


def _move(own: str, value: ast.expr, rest: list[ast.stmt], changes: Changes) -> list[ast.stmt] | None:
    """Return the rest with a value in the place where its variable is read, if nothing changes it before."""
    for at, line in enumerate(rest):
        if any(own in syntax.names_in(expr) for expr in syntax.expressions(line)):
            if isinstance(line, ast.While) or (isinstance(line, ast.Assign) and _called(line.value, changes)):
                return None
            return [*rest[:at], *syntax.put([line], {own: value}), *rest[at + 1 :]]
        if getattr(line, "body", ()) or _change([line], changes) & syntax.names_in(value):
            return None
    return None


def _alike(one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> bool:
    # Long code is mostly unlike at first sight.
    return [*map(type, one)] == [*map(type, other)] and [*map(ast.dump, one)] == [*map(ast.dump, other)]


def _called(expr: ast.expr, changes: Changes) -> set[str]:
    """Return the subroutines with effects that an expression calls."""
    return {found for found in syntax.names_in(expr) & changes.keys() if changes[found]}


def _change(block: Sequence[ast.stmt], changes: Changes) -> set[str]:
    """Return what a block changes."""
    called = {own for line in block for own in syntax.names_in(line) & changes.keys()}
    return set(syntax.assigned(block)).union(*(changes[own] for own in called))


# What nobody reads


def drop_unneeded(bodies: Bodies, kept: Iterable[str], receivers: Set[str]) -> Bodies:
    """Return code without statements that no effect depends on; `kept` names count as read at the end."""
    needed, count = set(kept), -1
    lines = [line for body in bodies.values() for line in syntax.statements(body)]
    while len(needed) != count:
        count = len(needed)
        for line in lines:
            if _has_effect(line, needed, bodies) and (receivers & needed or not isinstance(line, syntax.CloseCall)):
                needed |= syntax.names_in(*syntax.expressions(line))

    def sweep(block: Iterable[ast.stmt]) -> syntax.Block:
        kept = [line for line in block if isinstance(line, syntax.Remark) or _has_effect(line, needed, bodies)]
        return tuple(
            syntax.CloseCall(syntax.constant(0))
            if isinstance(line, syntax.CloseCall) and not receivers & needed
            else syntax.change_blocks(line, sweep)
            for line in kept
        )

    return {key: sweep(body) for key, body in bodies.items()}


def _has_effect(line: ast.stmt, needed: Set[str], bodies: Bodies) -> bool:
    """Tell whether a statement does more than set what nobody needs; kernels end, so a loop alone has no effect."""
    if isinstance(line, ast.Assign):
        is_kept = not isinstance(line.targets[0], ast.Name) or line.targets[0].id in needed
        return is_kept or bool(syntax.names_in(line.value) & bodies.keys())
    if isinstance(line, ast.If | ast.While | ast.For):
        return any(_has_effect(inner, needed, bodies) for inner in (*line.body, *line.orelse))
    return not isinstance(line, ast.Pass | syntax.Remark)


# Limits that are never reached: a register is a position, 0 to n - 1, throughout if its first value is one and all that
# is ever written to it is one, provided that the others are. That holds where n is 1 or more.

Bounds = tuple[float, float]
"""What is known of a number: at least the first, and at most n - 1 + the second."""


def drop_needless_limits(bodies: Bodies, registers: Set[str], receivers: Set[str]) -> Bodies:
    """Return code in which places are without the `min` and `max` that keep positions where they are anyway."""
    blocks = [body for key, body in bodies.items() if isinstance(key, int)]
    set_inside = {own for key, body in bodies.items() if isinstance(key, str) for own in syntax.assigned(body)}
    positions = set(registers) - set_inside
    lines = [line for block in blocks for line in syntax.statements(block)]
    settings: list[tuple[str, ast.expr]] = []
    for line in lines:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            settings.append((line.targets[0].id, line.value))
        elif isinstance(line, syntax.CloseCall):
            settings += [(own, line.result) for own in receivers]
    writes = Counter(own for block in blocks for own in syntax.assigned(block))
    values = {own: value for own, value in settings if writes[own] == 1 and own not in registers}
    while True:
        wrong = {own for own, value in settings if own in positions and not _is_position(value, positions, values)}
        if not wrong:
            break
        positions -= wrong
    last = ast.BinOp(syntax.name("n"), ast.Sub(), syntax.constant(1))

    def drop(part: ast.expr) -> ast.expr:
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("min", "max"):
            left, right = part.args
            low, high = _range(left, positions, values)
            limit = syntax.number(right)
            if part.func.id == "max" and limit is not None and low >= limit:
                return left
            if part.func.id == "min" and syntax.same(right, last) and high <= 0:
                return left
        return part

    return {
        key: tuple(syntax.rebuild(line, drop) for line in body) if isinstance(key, int) else body
        for key, body in bodies.items()
    }


def _is_position(expr: ast.expr, positions: Set[str], values: Mapping[str, ast.expr]) -> bool:
    low, high = _range(expr, positions, values)
    return low >= 0 and high <= 0


def _range(expr: ast.expr, positions: Set[str], values: Mapping[str, ast.expr]) -> Bounds:
    def of(*parts: ast.expr) -> Iterator[tuple[float, ...]]:
        return zip(*(_range(part, positions, values) for part in parts), strict=True)

    match expr:
        case ast.Constant(value=int() as value):
            return value, value
        case ast.Name(id="n"):
            return 1, 1
        case ast.Name(id=own) if own in positions:
            return 0, 0
        case ast.Name(id=own) if own in values:
            return _range(values[own], positions, values)
        case ast.IfExp():
            lows, highs = of(expr.body, expr.orelse)
            return min(lows), max(highs)
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=int() as more)):
            by = more if isinstance(expr.op, ast.Add) else -more
            low, high = _range(expr.left, positions, values)
            return low + by, high + by
        case ast.BinOp(op=ast.FloorDiv(), left=ast.BinOp(op=ast.Add()) as total, right=ast.Constant(value=2)):
            if all(_is_position(side, positions, values) for side in (total.left, total.right)):
                return 0, 0
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            choose = min if name == "min" else max
            lows, highs = of(*expr.args)
            return choose(lows), choose(highs)
    return -math.inf, math.inf
