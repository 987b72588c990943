"""States of an episode as text, drawn from the task's declaration alone: lists with the variables beneath."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from surpass.engine.batch import Batch
from surpass.engine.record import Episode, execute
from surpass.machine.state import DEPTH, FIRST, FUNCTION, SIZE
from surpass.machine.trace import Trace
from surpass.pictures.plan import lists_above
from surpass.printing import count, line_width, wrap
from surpass.tasks.task import ELEMENT, Task

COLUMNS = 24
"""How many positions stand side by side; longer lists continue below."""
MOST_DRAWN = 100
"""Larger lists are not drawn at each step: nobody would see the change."""

Markers = dict[str, dict[int, list[str]]]
"""The registers below each list, by their position."""


def draw_state(
    task: Task,
    batch: Batch,
    row: int,
    labels: Sequence[str] = (),
    width: int | None = None,
    idle: Collection[str] = (),
) -> Iterator[str]:
    """Yield the lines of one episode's state: its lists, the registers beneath their positions, and everything else.

    `labels` says how to write the values of a user's own list, whose items are their ranks. If a `width` is given, as
    many positions stand side by side as fit. Real numbers that are `idle` say nothing, and are left out.
    """
    registers = batch.registers[row].tolist()
    size = registers[SIZE]
    lists, values = _name_items(task, batch, row, size, labels)
    beneath: Markers = {}
    for name, value in zip(task.memory.names, registers[FIRST:], strict=True):
        if name.startswith("_"):
            continue
        above = [list(lists)[k] for k in lists_above(task, list(lists), name)] if lists else []
        at = [one for one in above if value in lists[one]]
        for one in at:
            beneath.setdefault(one, {}).setdefault(value, []).append(name)
        if not at:
            values[name] = str(value)
    yield from _draw_lists(lists, beneath, width)

    for name, real in zip(task.memory.reals, batch.reals[row].tolist(), strict=False):
        if name not in idle:
            values[name] = f"{real:.6g}"
    if values:
        yield "  ".join(f"{name} = {value}" for name, value in values.items())
    if task.memory.saved is not None:
        yield f"function {registers[FUNCTION] or None}, depth {registers[DEPTH]}"


def draw_trace(task: Task, trace: Trace, progress: Callable[[int], None] | None = None) -> Iterator[str]:
    """Yield the lines of a trace as pictures: the instance, and each action with its changes and the state after it."""
    start, labels = task.parse_instance(trace.instance)
    episode = Episode(task, start, trace.limit, labels)
    margin = " " * (len(str(len(trace.steps))) + 2)
    width, score = line_width(), task.memory.reals[0]
    # Most tasks count no score.
    is_counted = task.measure == "reward" or any(one.name == score for step in trace.steps for one in step.changes)
    idle = () if is_counted else (score,)

    def state() -> Iterator[str]:
        for line in draw_state(task, episode.batch, 0, labels, width - len(margin), idle):
            yield wrap(line, margin, width=width) if "=" in line else f"{margin}{line}".rstrip()

    yield wrap(f"{trace.agent} on {task.name}: {trace.instance}", "    ", first="")
    yield ""
    yield f"{margin}at the start"
    yield from state()
    for number, step in enumerate(trace.steps, 1):
        execute(episode, step.action)
        changed = ", ".join(map(str, step.changes))
        yield ""
        head = f"{str(number).rjust(len(margin) - 2)}  "
        yield wrap(f"{step.action}" + (f": {changed}" if changed else ""), margin + "  ", first=head, width=width)
        yield from state()
        if progress:
            progress(number)
    yield ""
    yield f"outcome: {trace.outcome} after {count(len(trace.steps), 'step')}"


def _name_items(
    task: Task, batch: Batch, row: int, size: int, labels: Sequence[str]
) -> tuple[dict[str, dict[int, str]], dict[str, str]]:
    """Return the items named like `A[3]` as lists by name and position, and the others by their names."""
    lists: dict[str, dict[int, str]] = {}
    others: dict[str, str] = {}
    for index, item in enumerate(batch.items[row, : task.memory.item_width(size)].tolist()):
        name = task.memory.item_name(index, size)
        if name is None:
            continue
        text = labels[item] if 0 <= item < len(labels) else str(item)
        place = ELEMENT.fullmatch(name)
        if place:
            lists.setdefault(place[1], {})[int(place[2])] = text
        else:
            others[name] = text
    return lists, others


def _draw_lists(lists: dict[str, dict[int, str]], beneath: Markers, room: int | None) -> Iterator[str]:
    """Yield the lines of the lists, position under position, in blocks; below each list stand its markers."""
    positions = sorted({position for items in lists.values() for position in items})
    margin = max((len(name) for name in lists), default=0)
    columns = COLUMNS
    if room is not None and positions:
        texts = [*map(str, positions), *(text for items in lists.values() for text in items.values())]
        markers = [name for below in beneath.values() for names in below.values() for name in names]
        columns = max(1, (room - margin) // (max(map(len, [*texts, *markers])) + 1))
    for first in range(0, len(positions), columns):
        block = positions[first : first + columns]
        rows = [("", {position: str(position) for position in block})]
        for name, items in lists.items():
            rows.append((name, items))
            below = {position: beneath.get(name, {}).get(position, []) for position in block}
            for k in range(max(map(len, below.values()))):
                rows.append(("", {position: names[k] for position, names in below.items() if k < len(names)}))
        width = max(len(cell) for _, cells in rows for cell in cells.values())
        for name, cells in rows:
            line = " ".join(cells.get(position, "").rjust(width) for position in block)
            yield f"{name.rjust(margin)} {line}".rstrip()
