"""The source of kernels: their syntax trees, and what the names in them stand for."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from surpass.errors import ExportError

__all__ = ["Source", "assigned_names", "has_return", "is_kernel", "read_source"]


@dataclass(frozen=True, eq=False)
class Source:
    """A kernel as it is written."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    names: dict[str, Any]
    """What the names that are not its own stand for."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.tree.name

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [argument.arg for argument in self.tree.args.args]

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, without the docstring."""
        body = self.tree.body
        return body[1:] if _is_text(body[0]) else body

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    def called(self, node: ast.Call) -> Any:
        """Return what a call calls, if it is called by its name or by that of its module."""
        if isinstance(node.func, ast.Name):
            return self.names.get(node.func.id)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            return getattr(self.names.get(node.func.value.id), node.func.attr, None)
        return None

    def refuse(self, node: ast.AST, why: str) -> ExportError:
        """Return the error that says which part of the kernel cannot be exported."""
        return ExportError(f"kernel {self.name!r} cannot be exported: {ast.unparse(node)!r} {why}")


def is_kernel(thing: Any) -> bool:
    """Tell whether something is a kernel, compiled or (with the compiler off) plain."""
    return inspect.isfunction(getattr(thing, "py_func", thing))


@cache
def read_source(kernel: Any) -> Source:
    """Return the source of a kernel."""
    function = getattr(kernel, "py_func", kernel)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        raise ExportError(
            f"kernel {getattr(function, '__name__', function)!r} cannot be exported: its source is not at hand"
        ) from None
    if not isinstance(tree, ast.FunctionDef) or tree.args.vararg or tree.args.kwonlyargs or tree.args.kwarg:
        raise ExportError(
            f"kernel {function.__name__!r} cannot be exported: it must be a function with plain parameters"
        )
    cells = inspect.getclosurevars(function)
    names = {**vars(builtins), **function.__globals__, **cells.nonlocals}
    return Source(function, tree, names)


def has_return(statements: list[ast.stmt]) -> bool:
    """Tell whether a return stands in some statements."""
    return any(isinstance(node, ast.Return) for statement in statements for node in ast.walk(statement))


def assigned_names(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that some statements assign to."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
