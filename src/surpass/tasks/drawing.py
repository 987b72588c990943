"""How a task is drawn: which parts of its memory are bars, arrows, lines and levels. Every field has a default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from surpass.errors import DeclarationError
from surpass.reading import Name, check_fields
from surpass.tasks.signature import RealInput


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """A real number drawn as a level in a frame, with a mark, such as a load against a capacity."""

    name: Name
    """What is written beside it."""
    level: Name
    """The name of the real number that fills the frame."""
    mark: Name
    """The name of the real number that the mark stands at."""
    bars: Name
    """The bars whose sum is the length of the frame."""

    def __post_init__(self) -> None:
        check_fields(self, "a gauge", DeclarationError)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What a viewer makes of the memory of a task.

    Lists (items with names such as `A[3]`) are bars, side by side; everything else is written below them.
    """

    positions: tuple[str, ...] | None = None
    """The registers that are drawn as arrows at a position of a list. If not given, those that operands name; if
    operands name none, all of them. `B[j]` says that j stands in the list B. A plain `j` stands in the lists that names
    of features such as `A[i] ? B[j]` index with it, and in the last one if there are none."""
    values: tuple[str, ...] | None = None
    """The registers that are written as numbers. If not given, all others that are not hidden."""
    level: str = ""
    """The name of an item that is drawn as a line across the bars, such as a query."""
    bracket: bool = False
    """Whether the list is in order, so that one sees between which positions the level can be."""
    flags: tuple[str, ...] = ()
    """The lists of zeros and ones that are not drawn as bars: a one highlights the bars at its position."""
    bars: tuple[RealInput, ...] = ()
    """Real numbers of the instance, one for each item, that are drawn as bars; no instruction changes them."""
    gauges: tuple[Gauge, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "a drawing", DeclarationError)

    def check(self, task: str, registers: Iterable[str], reals: Iterable[str], items: Iterable[str | None]) -> None:
        """Raise `DeclarationError` unless all names are those of parts of the task's memory."""
        registers, reals = set(registers), set(reals)
        whole = {name for name in items if name}
        lists = {name.partition("[")[0] for name in whole}
        bars = {bar.name for bar in self.bars} | lists
        places = [split_position(position) for position in self.positions or ()]
        uses = [(name, registers, "registers") for name in (*(name for _, name in places), *(self.values or ()))]
        uses += [(name, bars, "lists") for name, _ in places if name]
        uses += [(name, lists, "lists") for name in self.flags]
        uses += [(self.level, whole, "items")] if self.level else []
        uses += [(name, reals, "real numbers") for gauge in self.gauges for name in (gauge.level, gauge.mark)]
        uses += [(gauge.bars, bars, "bars") for gauge in self.gauges]
        for name, known, what in uses:
            if name not in known:
                raise DeclarationError(f"task {task!r} draws {name!r}, which is none of its {what}")


def split_position(position: str) -> tuple[str, str]:
    """Return the list and the register of a position: B and j of `B[j]`, an empty text and j of `j`."""
    name, _, register = position.rpartition("[")
    return name, register.removesuffix("]")
