"""How the programs of a task are called once they are exported: what goes in and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from surpass.errors import DeclarationError
from surpass.reading import Name, Natural, Range, check_fields


@dataclass(frozen=True)
class RealInput:
    """Real numbers that the caller gives: one, or one for each of the n items."""

    name: Name
    place: Natural
    """Where they stand among the reals of an instance..."""
    sizes: Natural = 0
    """...and how many times n further on."""
    each: bool = False
    """Whether there is one for each item."""
    share_of: str = ""
    """For a single number: the numbers of which half the sum stands in for it where the caller's language allows."""

    def __post_init__(self) -> None:
        check_fields(self, f"real input {self.name!r}", DeclarationError)


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
    largest: Annotated[float, Range(0, 1e300)] = 1e300
    """The largest of them that is allowed; the least is 0."""
    budget: str = ""
    """The name of the number of steps, where the caller chooses it; a run that uses it up has a result."""
    answer: Natural | None = None
    """The register that is returned; below 0 there is no answer."""
    chosen: str = ""
    """The name of the positions that come back: those that hold 1 from item n on."""
    score: str = ""
    """The name under which the score comes back."""
    everything: bool = False
    """Whether the steps, the score and every register that is not hidden come back."""
    assumed: Mapping[Natural, int] = field(default_factory=dict)
    """Registers that are taken to hold a number, since what they say is not known to the caller."""

    def __post_init__(self) -> None:
        check_fields(self, "a signature", DeclarationError)
        if not self.name.isidentifier():
            raise DeclarationError(f"the signature's name {self.name!r} is not a plain word")
        if self.query and "list" not in self.items:
            raise DeclarationError(f"signature {self.name!r} has a query but no list that it stands behind")
