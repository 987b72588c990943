"""Features: the named, small categorical values that an agent can see, each with the kernel that computes it.

Value             a number that a kernel reads off an episode, such as `A[v1]`
Feature           one of a few values, whose number a kernel returns
├── Comparison    how two values compare; with an edge, where there is nothing to compare
PreviousAction    the last executed action of the current function
CurrentFunction   the function whose code is running
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

from surpass.errors import DeclarationError
from surpass.machine.fields import as_tuple, check_kernel_given, check_kind, check_kinds, check_text, check_whole

SIGNS = ("<", "=", ">")
VALUE = "a value, as surpass.value(...) makes it"


@dataclass(frozen=True)
class Value:
    """A number under a name: what `kernel(state, *arguments)` returns."""

    name: str
    kernel: Callable[..., Any]
    arguments: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_text("a value's name", self.name, blank=False)
        check_kernel_given(f"the kernel of value {self.name!r}", self.kernel, "kernel(state, *arguments)")
        _check_arguments(self, f"value {self.name!r}")


def _check_arguments(declared: Value | Feature, whose: str) -> None:
    """Make a kernel's arguments whole numbers in place; raise `DeclarationError` if they are none."""
    what = f"the arguments of {whose}"
    arguments = as_tuple(what, declared.arguments, "whole numbers, such as registers")
    for argument in arguments:
        check_whole(f"an argument of {whose}", argument)
    object.__setattr__(declared, "arguments", tuple(map(int, arguments)))


@dataclass(frozen=True)
class Feature:
    """A named value that an agent sees, one of `values`.

    A `?` in the name stands for the value: the feature `v1 ? v2` with the values `<`, `=` and `>` is
    read as the conditions `v1 < v2`, `v1 = v2` and `v1 > v2`.
    """

    name: str
    values: tuple[Hashable, ...]
    kernel: Callable[..., Any] | None = None
    """Called as `kernel(state, *arguments)`; returns the number of the value, from 0."""
    arguments: tuple[int, ...] = ()
    encoding: Literal["one-hot", "number"] = field(default="one-hot", kw_only=True)
    """How a network sees it: one input per value, or one input that holds the value itself."""
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    """The condition that each value stands for, where the name does not already say it."""

    def __post_init__(self) -> None:
        check_text("a feature's name", self.name)
        if not self.name.strip():
            raise DeclarationError("a feature needs a name")
        object.__setattr__(self, "values", as_tuple(f"the values of feature {self.name!r}", self.values, "values"))
        check_kinds(f"values of feature {self.name!r}", self.values, Hashable, "a value that can be compared")
        if self.kernel is not None:
            check_kernel_given(f"the kernel of feature {self.name!r}", self.kernel, "kernel(state, *arguments)")
        _check_arguments(self, f"feature {self.name!r}")
        object.__setattr__(self, "labels", as_tuple(f"the labels of feature {self.name!r}", self.labels, "texts"))
        check_kinds(f"labels of feature {self.name!r}", self.labels, str, "a text")
        if len(self.values) < 1:
            raise DeclarationError(f"feature {self.name!r} has no values")
        if len(set(self.values)) < len(self.values):
            raise DeclarationError(f"feature {self.name!r} lists a value twice: {self.values}")
        if self.labels and len(self.labels) != len(self.values):
            raise DeclarationError(f"feature {self.name!r} has {len(self.labels)} labels for {len(self.values)} values")
        if self.encoding not in ("one-hot", "number"):
            raise DeclarationError(f"feature {self.name!r} has encoding {self.encoding!r}; allowed: one-hot, number")
        if self.encoding == "number" and not all(isinstance(v, int | float) for v in self.values):
            raise DeclarationError(f"feature {self.name!r} is encoded as a number but has values {self.values}")

    def condition(self, value: Hashable) -> str:
        """Return the text that says that this feature has `value`."""
        if self.labels:
            return self.labels[self.values.index(value)]
        if "?" in self.name:
            return self.name.replace("?", str(value))
        if self.values == (False, True):
            return self.name if value else f"not {self.name}"
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class Comparison(Feature):
    """A feature that tells how two values compare; where `edge` holds, there is nothing to compare."""

    left: Value = field(kw_only=True)
    right: Value = field(kw_only=True)
    edge: Value | None = field(default=None, kw_only=True)
    """A yes-or-no value; its place among `values` is the one that is not a sign."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for side, given in (("left", self.left), ("right", self.right)):
            check_kind(
                f"the {side} of comparison {self.name!r}", given, Value, "a value, as surpass.value(...) makes it"
            )
        if self.edge is not None:
            check_kind(
                f"the edge of comparison {self.name!r}", self.edge, Value, "a value, as surpass.value(...) makes it"
            )
        others = [value for value in self.values if value not in SIGNS]
        if len(self.values) - len(others) != len(SIGNS) or len(others) != (self.edge is not None):
            raise DeclarationError(
                f"comparison {self.name!r} has the values {self.values}; it needs <, =, > and one more for an edge"
            )

    def number(self, sign: str) -> int:
        """Return the number of the value that is a sign."""
        return self.values.index(sign)

    @property
    def edge_number(self) -> int | None:
        """The number of the value for the edge."""
        return next((k for k, value in enumerate(self.values) if value not in SIGNS), None)


@dataclass(frozen=True)
class PreviousAction:
    """A feature whose values are None and every action of the interface it stands in."""

    name: str = "previous"

    def __post_init__(self) -> None:
        check_text("the name of the previous action", self.name, blank=False)

    def condition(self, value: Hashable) -> str:
        """Return the text that says that the previous action was `value`."""
        return f"{self.name} = {value}"


PREVIOUS_ACTION = PreviousAction()
"""The last executed action of the current function; None at the start and on entering a function."""


@dataclass(frozen=True)
class CurrentFunction(Feature):
    """The function whose code is running: None for the outermost scope, else its number."""

    name: str = "function"
    values: tuple[Hashable, ...] = (None, 1)


def value(name: str, kernel: Callable[..., Any], *arguments: int) -> Value:
    """Return the number that `kernel(state, *arguments)` reads off an episode, under a name."""
    return Value(name, kernel, arguments)


def comparison(left: Value, right: Value, *, values: tuple[str, ...] = SIGNS, edge: Value | None = None) -> Comparison:
    """Return the feature that tells how `left` compares with `right`: `<`, `=` or `>`.

    Where `edge` holds, say at the end of a list, its own value is seen instead, and neither side is read.
    """
    for side, given in (("left", left), ("right", right), ("edge", edge)):
        if given is not None or side != "edge":
            check_kind(f"the {side} of a comparison", given, Value, VALUE)
    values = as_tuple("the values of a comparison", values, "signs")
    check_kinds("values of a comparison", values, str, "a text")
    name = f"{left.name} ? {right.name}"
    labels = [name.replace("?", v) if v in SIGNS or edge is None else edge.name for v in values]
    return Comparison(name, values, labels=tuple(labels) if edge else (), left=left, right=right, edge=edge)


def flag(name: str, kernel: Callable[..., Any] | None = None, *arguments: int) -> Feature:
    """Return a yes-or-no feature that networks see as one number."""
    return Feature(name, (False, True), kernel, arguments, encoding="number")
