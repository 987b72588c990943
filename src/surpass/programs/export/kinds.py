"""The kinds of the variables of exported code, for languages that declare them.

An `item` is a value of the caller's list. Where items are only moved and compared with one another, the code works for
values of any type that can be ordered; else they are whole numbers.
"""

from __future__ import annotations

from typing import Literal

from surpass.programs.export.cleanup import all_statements
from surpass.programs.export.code import (
    Apply,
    Binary,
    Block,
    Call,
    Cell,
    Compare,
    Const,
    Expr,
    For,
    Function,
    Return,
    Select,
    SetCell,
    SetRegister,
    SetVar,
    Statement,
    Var,
    expressions,
    walk,
)
from surpass.programs.export.plan import Plan
from surpass.programs.export.values import QUERY

__all__ = ["Kind", "Kinds", "Scope"]

Kind = Literal["int", "real", "item"]
Scope = dict[Var, Kind]
"""The kinds of the variables of a block or function."""


class Kinds:
    """The kinds of everything in a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.items: Kind = "item"
        """`item`, or `int` if the code works on whole numbers only."""
        self._infer()
        if not self._items_are_opaque():
            self.items = "int"
            self._infer()

    def _infer(self) -> None:
        plan = self.plan
        self.blocks: list[Scope] = [{} for _ in plan.blocks]
        self.functions: dict[Function, Scope] = {function: {} for function in plan.functions}
        self.returns: dict[Function, Kind] = {}
        # A real that starts at 0 and only ever gets whole numbers is kept as a whole number.
        self.reals: dict[int, Kind] = dict.fromkeys(plan.reals or (), "int")
        while True:
            before = self._snapshot()
            for block, scope in zip(plan.blocks, self.blocks, strict=True):
                self._look_through(block, scope, None)
            for function, scope in self.functions.items():
                self._look_through(function.body, scope, function)
            if self._snapshot() == before:
                return

    def _snapshot(self) -> object:
        functions = [dict(scope) for scope in self.functions.values()]
        return [dict(scope) for scope in self.blocks], functions, dict(self.returns), dict(self.reals)

    def _look_through(self, block: Block, scope: Scope, function: Function | None) -> None:
        for statement in all_statements(block):
            if isinstance(statement, SetVar):
                self._join(scope, statement.var, self.of(statement.value, scope))
            elif isinstance(statement, For):
                self._join(scope, statement.var, "int")
            elif isinstance(statement, SetCell) and statement.cell.array == "reals" and self.plan.reals is not None:
                assert isinstance(statement.cell.index, Const)
                place, kind = int(statement.cell.index.value), self.of(statement.value, scope)
                if kind != "int":
                    self.reals[place] = "real"
            elif isinstance(statement, Call):
                inner = self.functions[statement.function]
                for parameter, argument in zip(statement.function.parameters, statement.arguments, strict=True):
                    self._join(inner, parameter, self.of(argument, scope))
                if statement.target is not None:
                    self._join(scope, statement.target, self.returns.get(statement.function, "int"))
            elif isinstance(statement, Return) and function is not None and statement.value is not None:
                kind = self.of(statement.value, scope)
                self.returns[function] = self._common(self.returns.get(function, kind), kind)

    def _join(self, scope: Scope, var: Var, kind: Kind) -> None:
        scope[var] = self._common(scope.get(var, kind), kind)

    def _common(self, a: Kind, b: Kind) -> Kind:
        if a == b:
            return a
        return "real" if "real" in (a, b) else "int"

    def of(self, expr: Expr, scope: Scope) -> Kind:
        """Return the kind of an expression; truth values are whole numbers."""
        if isinstance(expr, Const):
            return "real" if isinstance(expr.value, float) else "int"
        if isinstance(expr, Var):
            return self.items if expr == QUERY else scope.get(expr, "int")
        if isinstance(expr, Cell):
            if expr.array == "items":
                return self.items
            if self.plan.reals is not None and isinstance(expr.index, Const):
                return self.reals[int(expr.index.value)]
            return "real"
        if isinstance(expr, Select):
            return self._common(self.of(expr.then, scope), self.of(expr.otherwise, scope))
        if isinstance(expr, Binary):
            if expr.sign == "/":
                return "real"
            return self._common(self.of(expr.left, scope), self.of(expr.right, scope))
        if isinstance(expr, Apply):
            if expr.function == "abs":
                return self.of(expr.argument, scope)
            return "int" if expr.function in ("int", "floor", "ceil") else "real"
        return "int"

    def _items_are_opaque(self) -> bool:
        """Tell whether items are only moved, and compared with one another."""
        scopes = [*zip(self.plan.blocks, self.blocks, strict=True)]
        scopes += [(function.body, scope) for function, scope in self.functions.items()]
        return all(self._is_opaque(s, scope) for block, scope in scopes for s in all_statements(block))

    def _is_opaque(self, statement: Statement, scope: Scope) -> bool:
        if isinstance(statement, SetCell):
            if (statement.cell.array == "items") != self._is_item(statement.value, scope):
                return False
        elif isinstance(statement, SetVar):
            if (scope[statement.var] == "item") != self._is_item(statement.value, scope):
                return False
        elif isinstance(statement, SetRegister) and self._is_item(statement.value, scope):
            return False
        return all(self._uses_well(part, scope) for expr in expressions(statement) for part in walk(expr))

    def _uses_well(self, expr: Expr, scope: Scope) -> bool:
        """Tell whether an expression compares items with items only, and does not reckon with them."""
        if isinstance(expr, Compare):
            return self._is_item(expr.left, scope) == self._is_item(expr.right, scope)
        if isinstance(expr, Select):
            return self._is_item(expr.then, scope) == self._is_item(expr.otherwise, scope)
        if isinstance(expr, Binary):
            sides = [self._is_item(side, scope) for side in (expr.left, expr.right)]
            return all(sides) if expr.sign in ("min", "max") and any(sides) else not any(sides)
        if isinstance(expr, Apply):
            return not self._is_item(expr.argument, scope)
        return not (isinstance(expr, Cell) and self._is_item(expr.index, scope))

    def _is_item(self, expr: Expr, scope: Scope) -> bool:
        return self.of(expr, scope) == "item"
