"""How the programs of a task are called once they are exported: what goes in and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from surpass.errors import DeclarationError
from surpass.machine.fields import (
    as_tuple,
    check_kind,
    check_kinds,
    check_real,
    check_text,
    check_truth,
    check_whole,
    refuse_field,
)


@dataclass(frozen=True)
class RealInput:
    """Real numbers that the caller gives: one, or one for each of the n items."""

    name: str
    place: int
    """Where they stand among the reals of an instance..."""
    sizes: int = 0
    """...and how many times n further on."""
    each: bool = False
    """Whether there is one for each item."""
    share_of: str = ""
    """For a single number: the numbers of which half the sum stands in for it where the caller's language allows."""

    def __post_init__(self) -> None:
        check_text("the name of a real input", self.name, blank=False)
        whose = f"of real input {self.name!r}"
        check_whole(f"place {whose}", self.place, 0)
        check_whole(f"sizes {whose}", self.sizes, 0)
        check_truth(f"each {whose}", self.each)
        check_text(f"share_of {whose}", self.share_of)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What the caller of an exported program gives and gets."""

    name: str
    """The name of the function: one word."""
    summary: str
    """What it does, in one sentence that begins with a verb, such as `sort a list in place`."""
    note: str = ""
    """What else the caller should know."""
    items: Literal["list", "ordered list", "own", "memory"] = "list"
    """What the integers of an instance are: the caller's list, to be read or changed; a list that must be in order,
    which is not looked at; the program's own, which start at 0; or, with the reals, the memory of an episode."""
    query: str = ""
    """The name of the item that stands behind the list, at position n."""
    reals: tuple[RealInput, ...] = ()
    """The real numbers that go in."""
    largest: float = 1e300
    """The largest of them that is allowed; the least is 0."""
    budget: str = ""
    """The name of the number of steps, where the caller chooses it; a run that uses it up has a result."""
    answer: int | None = None
    """The register that is returned; below 0 there is no answer."""
    chosen: str = ""
    """The name of the positions that come back: those that hold 1 from item n on."""
    score: str = ""
    """The name under which the score comes back."""
    everything: bool = False
    """Whether the steps, the score and every register that is not hidden come back."""
    assumed: Mapping[int, int] = field(default_factory=dict)
    """Registers that are taken to hold a number, since what they say is not known to the caller."""

    def __post_init__(self) -> None:
        for field_name in ("name", "summary", "note", "query", "budget", "chosen", "score"):
            check_text(f"{field_name} of a signature", getattr(self, field_name))
        kinds = ("list", "ordered list", "own", "memory")
        if self.items not in kinds:
            raise refuse_field("items of a signature", self.items, f"one of {', '.join(kinds)}")
        object.__setattr__(self, "reals", as_tuple("reals of a signature", self.reals, "real inputs"))
        check_kinds("reals of a signature", self.reals, RealInput, "a RealInput")
        check_real("largest of a signature", self.largest, 0)
        if self.answer is not None:
            check_whole("answer of a signature", self.answer, 0)
        check_truth("everything of a signature", self.everything)
        check_kind("assumed of a signature", self.assumed, Mapping, "a dictionary of registers and numbers")
        for register, number in self.assumed.items():
            check_whole("a register in assumed of a signature", register, 0)
            check_whole(f"assumed[{register}] of a signature", number)
        if not self.name.isidentifier():
            raise DeclarationError(f"the signature's name {self.name!r} is not a plain word")
        if self.query and "list" not in self.items:
            raise DeclarationError(f"signature {self.name!r} has a query but no list that it stands behind")
