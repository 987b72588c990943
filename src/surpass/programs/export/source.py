"""The source of kernels: their syntax trees, and what the names in them stand for."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from surpass.errors import ExportError
from surpass.machine.calls import enter, leave
from surpass.tasks.user_code import show_place

LARGE = 8
"""A kernel with more statements is not written out where it is called."""


@dataclass(frozen=True, eq=False)
class KernelSource:
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
    def body(self) -> list[ast.stmt]:
        """Its statements, without the docstring."""
        return self.tree.body[1:] if ast.get_docstring(self.tree) is not None else self.tree.body

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every piece of its code."""
        return list(ast.walk(self.tree))

    @cached_property
    def kernels(self) -> list[Any]:
        """The kernels that it calls."""
        return [self.called(node) for node in self.nodes if isinstance(node, ast.Call) and is_kernel(self.called(node))]

    @cached_property
    def calls_itself(self) -> bool:
        """Whether it calls itself, which kernels that are exported may not."""
        return any(getattr(thing, "py_func", thing) is self.function for thing in self.kernels)

    @cached_property
    def opens_calls(self) -> bool:
        """Whether it, or a kernel that it calls, opens or closes calls of the machine."""
        return not self.calls_itself and any(
            thing in (enter, leave) or read_source(thing).opens_calls for thing in self.kernels
        )

    @cached_property
    def returns_from_loop(self) -> bool:
        """Whether a return stands in a loop."""
        loops = [node for node in self.nodes if isinstance(node, ast.For | ast.While)]
        return any(isinstance(inner, ast.Return) for loop in loops for inner in ast.walk(loop))

    @cached_property
    def is_small(self) -> bool:
        """Whether it can be written out where it is called: it is short, no loop returns, and it calls others only."""
        count = sum(isinstance(node, ast.stmt) for node in self.nodes) - 1
        return count <= LARGE and not self.returns_from_loop and not self.calls_itself

    @cached_property
    def is_expression(self) -> bool:
        """Whether it is one expression: it is short, has no loops and changes nothing."""
        has_effects = any(
            isinstance(node, ast.For | ast.While)
            or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            for node in self.nodes
        )
        return (
            self.is_small
            and not has_effects
            and all(thing not in (enter, leave) and read_source(thing).is_expression for thing in self.kernels)
        )

    @cached_property
    def assignments(self) -> Counter[str]:
        """How often each of its own names is set, parameters once for the call."""
        stored = [node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        return Counter([*(argument.arg for argument in self.tree.args.args), *stored])

    def given(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return its parameters with what it is called with."""
        parameters = [argument.arg for argument in self.tree.args.args]
        if len(parameters) != len(arguments):
            raise ExportError(
                f"kernel {self.name!r} cannot be exported: it is called with {len(arguments)} arguments instead of"
                f" {len(parameters)}"
            )
        return dict(zip(parameters, arguments, strict=True))

    def called(self, node: ast.Call) -> Any:
        """Return what a call calls, if it is called by its name or by that of its module."""
        if isinstance(node.func, ast.Name):
            return self.names.get(node.func.id)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            return getattr(self.names.get(node.func.value.id), node.func.attr, None)
        return None

    def refuse(self, node: ast.AST, why: str) -> ExportError:
        """Return the error that says which part of the kernel cannot be exported."""
        line = self.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        place = show_place(self.function.__code__, line)
        return ExportError(f"kernel {self.name!r} cannot be exported: {ast.unparse(node)!r} {why}{place}")


def is_kernel(thing: Any) -> bool:
    """Tell whether something is a kernel, compiled or (with the compiler off) plain."""
    return inspect.isfunction(getattr(thing, "py_func", thing))


@cache
def read_source(kernel: Any) -> KernelSource:
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
    return KernelSource(function, tree, {**vars(builtins), **function.__globals__, **cells.nonlocals})
