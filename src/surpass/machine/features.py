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
from surpass.reading import Name, check_fields, validate

SIGNS = ("<", "=", ">")


@dataclass(frozen=True)
class Value:
    """A number under a name: what `kernel(state, *arguments)` returns."""

    name: Name
    kernel: Callable[..., Any]
    arguments: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, f"value {self.name!r}", DeclarationError)


@dataclass(frozen=True)
class Feature:
    """A named value that an agent sees, one of `values`.

    A `?` in the name stands for the value: the feature `v1 ? v2` with the values `<`, `=` and `>` is
    read as the conditions `v1 < v2`, `v1 = v2` and `v1 > v2`.
    """

    name: Name
    values: tuple[Hashable, ...]
    kernel: Callable[..., Any] | None = None
    """Called as `kernel(state, *arguments)`; returns the number of the value, from 0."""
    arguments: tuple[int, ...] = ()
    encoding: Literal["one-hot", "number"] = field(default="one-hot", kw_only=True)
    """How a network sees it: one input per value, or one input that holds the value itself."""
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    """The condition that each value stands for, where the name does not already say it."""

    def __post_init__(self) -> None:
        check_fields(self, f"feature {self.name!r}", DeclarationError)
        if len(self.values) < 1:
            raise DeclarationError(f"feature {self.name!r} has no values")
        if len(set(self.values)) < len(self.values):
            raise DeclarationError(f"feature {self.name!r} lists a value twice: {self.values}")
        if self.labels and len(self.labels) != len(self.values):
            raise DeclarationError(f"feature {self.name!r} has {len(self.labels)} labels for {len(self.values)} values")
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

    name: Name = "previous"

    def __post_init__(self) -> None:
        check_fields(self, "the previous action", DeclarationError)

    def condition(self, value: Hashable) -> str:
        """Return the text that says that the previous action was `value`."""
        return f"{self.name} = {value}"


PREVIOUS_ACTION = PreviousAction()
"""The last executed action of the current function; None at the start and on entering a function."""


@dataclass(frozen=True)
class CurrentFunction(Feature):
    """The function whose code is running: None for the outermost scope, else its number."""

    name: Name = "function"
    values: tuple[Hashable, ...] = (None, 1)


def value(name: str, kernel: Callable[..., Any], *arguments: int) -> Value:
    """Return the number that `kernel(state, *arguments)` reads off an episode, under a name."""
    return Value(name, kernel, arguments)


def comparison(left: Value, right: Value, *, values: tuple[str, ...] = SIGNS, edge: Value | None = None) -> Comparison:
    """Return the feature that tells how `left` compares with `right`: `<`, `=` or `>`.

    Where `edge` holds, say at the end of a list, its own value is seen instead, and neither side is read.
    """
    for side, given, kind in (("left", left, Value), ("right", right, Value), ("edge", edge, Value | None)):
        validate(kind, given, f"{side} of a comparison", DeclarationError)
    values = validate(tuple[str, ...], values, "the values of a comparison", DeclarationError)
    name = f"{left.name} ? {right.name}"
    labels = [name.replace("?", v) if v in SIGNS or edge is None else edge.name for v in values]
    return Comparison(name, values, labels=tuple(labels) if edge else (), left=left, right=right, edge=edge)


def flag(name: str, kernel: Callable[..., Any] | None = None, *arguments: int) -> Feature:
    """Return a yes-or-no feature that networks see as one number."""
    return Feature(name, (False, True), kernel, arguments, encoding="number")
