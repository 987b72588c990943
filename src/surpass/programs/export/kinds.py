"""The kinds of the variables of exported code, for languages that declare them.

An `item` is a value of the caller's list. Where items are only moved and compared with one another, the code works for
values of any type that can be ordered; else they are whole numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal

from surpass.programs.export import syntax
from surpass.programs.export.plan import Plan

Kind = Literal["int", "real", "item"]
VariableKinds = dict[str, Kind]


class Kinds:
    """The kinds of everything in a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.items: Kind = "item"
        """`item`, or `int` if the code works on whole numbers only."""
        self._infer()
        if not self._is_opaque:
            self.items = "int"
            self._infer()

    def _infer(self) -> None:
        plan = self.plan
        self.blocks: list[VariableKinds] = [{} for _ in (plan.start, *plan.places)]
        self.subroutines: dict[str, VariableKinds] = {title: {} for title in plan.subroutines}
        self.returns: VariableKinds = {}
        # A real that starts at 0 and only ever gets whole numbers is kept as a whole number.
        self.memory: VariableKinds = dict.fromkeys(plan.memory, "int")
        self.memory[plan.signature.query] = self.items
        before: object = None
        while before != (now := repr((self.blocks, self.subroutines, self.returns, self.memory))):
            before, self._is_opaque = now, True
            for block, scope in zip((plan.start, *plan.places.values()), self.blocks, strict=True):
                self._look_through(block, scope, "")
            for title, found in plan.subroutines.items():
                self._look_through(found.body, self.subroutines[title], title)

    def _look_through(self, block: syntax.Block, scope: VariableKinds, title: str) -> None:
        for line in syntax.statements(block):
            match line:
                case ast.Assign(targets=[ast.Name(id=own)]):
                    self._join(self.memory if own in self.memory else scope, own, self.of(line.value, scope))
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=array)) as target]):
                    self.of(target, scope)
                    self._is_opaque &= (array == "items") == (self.of(line.value, scope) == "item")
                case ast.For(target=ast.Name(id=own)):
                    scope[own] = "int"
                    self.of(line.iter, scope)
                case ast.If() | ast.While():
                    self.of(line.test, scope)
                case ast.Expr():
                    self.of(line.value, scope)
                case ast.Return(value=ast.expr() as value):
                    self._join(self.returns, title, self.of(value, scope))

    def _join(self, scope: VariableKinds, own: str, kind: Kind) -> None:
        scope[own] = self._common([scope.get(own, kind), kind])

    def _common(self, kinds: Sequence[Kind]) -> Kind:
        """Return the kind of what may be of several kinds; items and numbers do not go together."""
        self._is_opaque &= len({kind == "item" for kind in kinds}) == 1
        return kinds[0] if len(set(kinds)) == 1 else "real" if "real" in kinds else "int"

    def of(self, expr: ast.expr, scope: VariableKinds) -> Kind:
        """Return the kind of an expression; truth values are whole numbers."""
        match expr:
            case ast.Constant():
                return "real" if isinstance(expr.value, float) else "int"
            case ast.Name(id=own):
                return self.memory.get(own) or scope.get(own, "int")
            case ast.Subscript(value=ast.Name(id=array)):
                self._is_opaque &= self.of(expr.slice, scope) != "item"
                return self.items if array == "items" else "real"
            case ast.BoolOp():
                self._reckon(expr.values, scope)
            case ast.Compare():
                self._common([self.of(side, scope) for side in (expr.left, *expr.comparators)])
            case ast.IfExp():
                self.of(expr.test, scope)
                return self._common([self.of(expr.body, scope), self.of(expr.orelse, scope)])
            case ast.BinOp():
                kind = self._reckon([expr.left, expr.right], scope)
                return "real" if isinstance(expr.op, ast.Div) else kind
            case ast.UnaryOp():
                return self._reckon([expr.operand], scope)
            case ast.Call(func=ast.Name(id="min" | "max")):
                return self._common([self.of(argument, scope) for argument in expr.args])
            case ast.Call(func=ast.Name(id=title)) if title in self.plan.subroutines:
                inner = self.subroutines[title]
                for parameter, argument in zip(self.plan.subroutines[title].parameters, expr.args, strict=True):
                    self._join(inner, parameter, self.of(argument, scope))
                return self.returns.get(title, "int")
            case ast.Call(func=ast.Name(id=function)):
                kind = self._reckon(expr.args, scope)
                return kind if function == "abs" else "int" if function in ("int", "floor", "ceil", "range") else "real"
        return "int"

    def _reckon(self, sides: Sequence[ast.expr], scope: VariableKinds) -> Kind:
        """Return the kind of what is reckoned from some numbers, none of which may be an item."""
        kinds = [self.of(side, scope) for side in sides]
        self._is_opaque &= "item" not in kinds
        return self._common(kinds)
