"""Features: the named, small categorical values that an agent can see."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from surpass.errors import DeclarationError

__all__ = ["PREVIOUS_ACTION", "Feature", "PreviousAction", "comparison", "flag"]

Value = Hashable


@dataclass(frozen=True)
class Feature:
    """A named value that an agent sees, one of `values`.

    A `?` in the name stands for the value: the feature `v1 ? v2` with the values `<`, `=` and `>` is
    read as the conditions `v1 < v2`, `v1 = v2` and `v1 > v2`.
    """

    name: str
    values: tuple[Value, ...]
    encoding: Literal["one-hot", "number"] = "one-hot"
    """How a network sees it: one input per value, or one input that holds the value itself."""
    labels: tuple[str, ...] = ()
    """The condition that each value stands for, where the name does not already say it."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise DeclarationError("a feature needs a name")
        object.__setattr__(self, "values", tuple(self.values))
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

    def condition(self, value: Value) -> str:
        """Return the text that says that this feature has `value`."""
        if self.labels:
            return self.labels[self.values.index(value)]
        if "?" in self.name:
            return self.name.replace("?", str(value))
        if self.values == (False, True):
            return self.name if value else f"not {self.name}"
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class PreviousAction:
    """A feature whose values are None and every action of the interface it stands in."""

    name: str = "previous"

    def condition(self, value: Value) -> str:
        """Return the text that says that the previous action was `value`."""
        return f"{self.name} = {value}"


PREVIOUS_ACTION = PreviousAction()
"""The last executed action of the current function; None at the start and on entering a function."""


def comparison(left: str, right: str) -> Feature:
    """Return the feature that tells how `left` compares with `right`: `<`, `=` or `>`."""
    return Feature(f"{left} ? {right}", ("<", "=", ">"))


def flag(name: str) -> Feature:
    """Return a yes-or-no feature that networks see as one number."""
    return Feature(name, (False, True), encoding="number")
