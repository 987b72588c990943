"""Which parts of a task's memory are shown, and where: taken from its declaration, once for each size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from surpass.arrays import Ints, Reals
from surpass.machine.state import FIRST
from surpass.tasks.drawing import Gauge, split_position
from surpass.tasks.task import ELEMENT, Task

_INDEXED = re.compile(r"(\w+)\[(\w+)[^\[\]]*\]")


class Column(NamedTuple):
    """A list of a task's memory."""

    name: str
    places: tuple[int, ...]
    """Where each of its values stands among the items of an episode."""
    is_flags: bool
    """Whether it holds zeros and ones that highlight positions, and is not a row of bars itself."""


@dataclass(frozen=True)
class PicturePlan:
    """What is shown of an episode of a size.

    Everything that can change has a slot: first the values of the lists, one list behind the other, then registers,
    single items and real numbers. What stands in a slot is a text.
    """

    task: Task
    size: int
    lists: tuple[Column, ...]
    names: tuple[str, ...]
    """The name of each slot, as traces call it."""
    positions: tuple[int, ...]
    """The slots of the registers that stand at a position of a list."""
    rows: tuple[tuple[int, ...], ...]
    """For each of them, the rows of bars that it stands below."""
    values: tuple[int, ...]
    """The slots that are written as they are."""
    level: int | None
    """The slot of the item that is drawn as a line across the bars."""
    bracket: bool
    gauges: tuple[tuple[Gauge, int, int], ...]
    """Each gauge with the slots of its level and its mark."""
    registers: tuple[int, ...]
    """The number of the register in each slot behind the lists, then come single items, then real numbers."""
    items: tuple[int, ...]
    reals: tuple[int, ...]

    def read(self, registers: Ints, items: Ints, reals: Reals, labels: Sequence[str]) -> list[str]:
        """Return what stands in each slot; `labels` says how to write the values of a list that holds their ranks."""

        def write(item: int) -> str:
            return labels[item] if 0 <= item < len(labels) else str(item)

        values = items.tolist()
        texts = [write(values[place]) for column in self.lists for place in column.places]
        texts += [str(registers[number]) for number in self.registers]
        texts += [write(values[place]) for place in self.items]
        return texts + [f"{reals[place]:.6g}" for place in self.reals]


@lru_cache(maxsize=64)
def plan_of(task: Task, size: int) -> PicturePlan:
    """Return how a task's episodes of a size are shown."""
    memory, drawing = task.memory, task.drawing
    named = {place: name for place in range(memory.item_width(size)) if (name := memory.item_name(place, size))}
    singles = {name: place for place, name in named.items() if not ELEMENT.fullmatch(name)}
    lists = tuple(Column(name, tuple(at), name in drawing.flags) for name, at in memory.arrays(size).items())

    shown = [k for k, name in enumerate(memory.names) if not name.startswith("_")]
    at = [memory.names[k] for k in shown]
    declared = [split_position(position) for position in drawing.positions or ()]
    arrows = set(at) if drawing.positions is None else {name for _, name in declared}
    if drawing.positions is None and named_registers(task):
        arrows = {memory.names[k - FIRST] for k in named_registers(task)}
    bars = [*(bar.name for bar in drawing.bars), *(column.name for column in lists if not column.is_flags)]
    written = set(at) - arrows if drawing.values is None else set(drawing.values)
    rest = [*at, *singles, *memory.reals]
    slots = {name: sum(len(column.places) for column in lists) + k for k, name in enumerate(rest)}
    gauges = tuple((gauge, slots[gauge.level], slots[gauge.mark]) for gauge in drawing.gauges)
    in_gauges = {slot for _, *both in gauges for slot in both}
    level = slots.get(drawing.level)
    return PicturePlan(
        task=task,
        size=size,
        lists=lists,
        names=tuple([memory.item_name(p, size) or "" for c in lists for p in c.places] + rest),
        positions=tuple(slots[name] for name in at if name in arrows),
        rows=tuple(lists_above(task, bars, name) for name in at if name in arrows),
        values=tuple(
            slots[name]
            for name in rest
            if slots[name] not in in_gauges and slots[name] != level and (name in written or name not in at)
        ),
        level=level,
        bracket=drawing.bracket,
        gauges=gauges,
        registers=tuple(FIRST + k for k in shown),
        items=tuple(singles.values()),
        reals=tuple(range(len(memory.reals))),
    )


def lists_above(task: Task, lists: Sequence[str], register: str) -> tuple[int, ...]:
    """Return below which of some lists a register stands, by the drawing or the names of features; else the last."""
    declared = [split_position(position) for position in task.drawing.positions or ()]
    seen = [pair for feature in task.interface.features for pair in _INDEXED.findall(feature.name)]
    for pairs in (declared, seen):
        if found := tuple(k for k, name in enumerate(lists) if (name, register) in pairs):
            return found
    return (len(lists) - 1,)


def named_registers(task: Task) -> set[int]:
    """Return the registers that some operand names."""
    inside = range(FIRST, task.register_count)
    return {
        code
        for instruction in task.interface.instructions
        for operand in instruction.operands
        # As `surpass.variable` makes them: counted from 1, and given to the kernel as the register.
        if operand.values == tuple(range(1, len(operand.values) + 1)) and operand.values != operand.codes
        for code in operand.codes
        if code in inside
    }
