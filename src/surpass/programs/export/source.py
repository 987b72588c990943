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
Loops = ast.For | ast.While


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
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [argument.arg for argument in self.tree.args.args]

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, without the docstring."""
        return self.tree.body[1:] if ast.get_docstring(self.tree) is not None else self.tree.body

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    @cached_property
    def returns_from_loop(self) -> bool:
        """Whether a return stands in a loop."""
        loops = [node for node in ast.walk(self.tree) if isinstance(node, Loops)]
        return any(isinstance(inner, ast.Return) for loop in loops for inner in ast.walk(loop))

    @cached_property
    def is_small(self) -> bool:
        """Whether it can be written out where it is called: it is short, and no loop returns."""
        count = sum(isinstance(node, ast.stmt) for node in ast.walk(self.tree)) - 1
        return count <= LARGE and not self.returns_from_loop

    @cached_property
    def is_expression(self) -> bool:
        """Whether it is one expression: it is short, has no loops and changes nothing."""
        nodes = list(ast.walk(self.tree))
        called = [thing for node in nodes if isinstance(node, ast.Call) and is_kernel(thing := self.called(node))]
        return (
            self.is_small
            and not any(isinstance(node, Loops) for node in nodes)
            and not any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in nodes)
            and all(
                thing not in (enter, leave) and thing is not self.function and read_source(thing).is_expression
                for thing in called
            )
        )

    @cached_property
    def assignments(self) -> Counter[str]:
        """How often each of its own names is set, parameters once for the call."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        return Counter([*self.parameters, *(node.id for node in nodes if isinstance(node.ctx, ast.Store))])

    def given(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return its parameters with what it is called with."""
        if len(self.parameters) != len(arguments):
            raise ExportError(
                f"kernel {self.name!r} cannot be exported: it is called with {len(arguments)} arguments instead of"
                f" {len(self.parameters)}"
            )
        return dict(zip(self.parameters, arguments, strict=True))

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


@cache
def opens_calls(kernel: Any) -> bool:
    """Tell whether a kernel, or one that it calls, opens or closes calls of the machine."""
    source = read_source(kernel)
    called = [source.called(node) for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return any(
        thing in (enter, leave) or (is_kernel(thing) and thing is not kernel and opens_calls(thing)) for thing in called
    )
