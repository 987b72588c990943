"""Instructions: the named operations with typed operands, and the actions made of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from surpass.errors import DeclarationError
from surpass.reading import Name, check_fields


@dataclass(frozen=True)
class Operand:
    """A choice that an instruction needs: binary, integer, or a pointer to any position of the list."""

    name: Name
    kind: Literal["binary", "integer", "pointer"]
    values: tuple[Hashable, ...] = ()
    codes: tuple[int, ...] = ()
    """The whole number that the instruction's kernel is given for each value; if left out, the value itself, or its
    position where values are not whole numbers."""

    def __post_init__(self) -> None:
        check_fields(self, f"operand {self.name!r}", DeclarationError)
        if not self.codes:
            whole = all(isinstance(value, int) for value in self.values)
            numbers = self.values if whole else range(len(self.values))
            object.__setattr__(self, "codes", tuple(map(int, numbers)))  # type: ignore[arg-type]
        if len(self.codes) != len(self.values):
            raise DeclarationError(f"operand {self.name!r} has {len(self.codes)} codes for {len(self.values)} values")
        if self.kind == "pointer":
            if self.values:
                raise DeclarationError(f"pointer operand {self.name!r} takes no values but a list's positions")
        elif not self.values:
            raise DeclarationError(f"operand {self.name!r} has no values")
        elif len(set(self.values)) < len(self.values):
            raise DeclarationError(f"operand {self.name!r} lists a value twice: {self.values}")
        elif self.kind == "binary" and len(self.values) != 2:
            raise DeclarationError(f"binary operand {self.name!r} has {len(self.values)} values instead of 2")

    @property
    def input_size(self) -> int:
        """How many network inputs encode this operand: one for a binary, one per value for an integer."""
        return 1 if self.kind == "binary" else len(self.values)

    @property
    def listing(self) -> str:
        """What it may be, in words, such as `1, 2 or 3`."""
        *others, last = map(show_operand, self.values) if self.values else ["any position"]
        return f"{', '.join(others)} or {last}" if others else last


def binary(name: str, values: tuple[Hashable, Hashable]) -> Operand:
    """Return an operand with two values, encoded as one bit (1 for the second)."""
    return Operand(name, "binary", values)


def integer(name: str, values: tuple[Hashable, ...]) -> Operand:
    """Return an operand with a few values, encoded one-hot."""
    return Operand(name, "integer", values)


def variable(name: str, *registers: int) -> Operand:
    """Return an operand that names one of some registers, counted from 1; a kernel is given the register."""
    return Operand(name, "integer", tuple(range(1, len(registers) + 1)), registers)


def pointer(name: str) -> Operand:
    """Return an operand that names any position of the list, so that its number of values is the list's size."""
    return Operand(name, "pointer")


@dataclass(frozen=True)
class Instruction:
    """A named operation, its operands, and the kernel that executes it."""

    name: str
    operands: tuple[Operand, ...] = ()
    does: Callable[..., Any] | None = None
    """Called as `does(state, *operands)`, each operand given as its code; returns an outcome."""

    def __init__(self, name: str, *operands: Operand, does: Callable[..., Any] | None = None) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "operands", operands)
        object.__setattr__(self, "does", does)
        check_fields(self, f"instruction {name}", DeclarationError)
        if not name.isidentifier():
            raise DeclarationError(f"instruction name {name!r} is not a plain word")
        refuse_repeated(f"operands of instruction {name}", operands)


def refuse_repeated(what: str, parts: Iterable[Any]) -> None:
    """Raise `DeclarationError` if two parts of a declaration have the same name."""
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(f"two {what} are named {name!r}")


class Action(NamedTuple):
    """An instruction with the values of its operands, such as `MoveVar(1, +1)`."""

    instruction: str
    operands: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        return f"{self.instruction}({', '.join(map(show_operand, self.operands))})"


def show_operand(value: Hashable) -> str:
    """Return the value of an operand as it is written in an action."""
    # A step of +1 reads better with its sign; variables and functions count from 1 and carry none.
    return str(value) if not isinstance(value, Step) else f"{int(value):+d}"


class Step(int):
    """A move by +1 or -1; equal to the plain number, printed with its sign."""

    def __repr__(self) -> str:
        return f"{int(self):+d}"


STEPS = (Step(-1), Step(+1))
