"""An episode as text or as pixels, drawn from its task's declaration alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from surpass.arrays import Array
from surpass.environments.episodes import Episodes
from surpass.machine.state import DEPTH, FIRST, FUNCTION, SIZE, Outcome
from surpass.pictures.layout import Caption, lay_out
from surpass.pictures.plan import plan_of
from surpass.pictures.scene import Stage

COLUMNS = 24
"""How many positions stand side by side; longer lists go on below."""
PICTURE = (640, 360)
"""The width and height of an episode in pixels; even, as coders of films need it."""
_PLACE = re.compile(r"(.+)\[(\d+)\]")


def draw_episode(episodes: Episodes, row: int, labels: tuple[str, ...] = ()) -> str:
    """Return one episode as text: its lists with the registers beneath the positions they hold, and everything else.

    `labels` says how to write the values of a user's own list, whose items are their ranks.
    """
    batch, task = episodes.batch, episodes.settings.task
    registers = batch.registers[row].tolist()
    size = registers[SIZE]
    outcome = Outcome(int(batch.outcomes[row])).reason
    lines = [f"{task.name}, size {size}, step {batch.steps[row]}: {outcome}"]

    lists, values = _name_items(episodes, row, size, labels)
    beneath: dict[int, list[str]] = {}
    for name, value in zip(task.memory.names, registers[FIRST:], strict=True):
        if name.startswith("_"):
            continue
        if lists and 0 <= value < size:
            beneath.setdefault(value, []).append(name)
        else:
            values[name] = str(value)
    lines.extend(_draw_lists(lists, beneath))

    for name, real in zip(task.memory.reals, batch.reals[row].tolist(), strict=False):
        values[name] = f"{real:.6g}"
    if values:
        lines.append("  ".join(f"{name} = {value}" for name, value in values.items()))
    if task.memory.saved is not None:
        lines.append(f"function {registers[FUNCTION] or None}, depth {registers[DEPTH]}")
    lines.append(f"previous action {episodes.previous_action(row)}")
    return "\n".join(lines)


def paint_episode(episodes: Episodes, row: int, labels: tuple[str, ...] = ()) -> Array:
    """Return one episode as a new array of pixels [height, width, 3]: its bars, arrows, gauges and words."""
    from surpass.pictures.raster import draw_pixels

    batch, task = episodes.batch, episodes.settings.task
    registers, items, reals = batch.registers[row], batch.items[row], batch.reals[row]
    plan = plan_of(task, int(registers[SIZE]))
    scene = Stage(plan, reals, labels).scene(plan.read(registers, items, reals, labels))
    steps, outcome = int(batch.steps[row]), Outcome(int(batch.outcomes[row]))
    caption = Caption(
        title=task.name,
        progress=f"step {steps}" + ("" if outcome is Outcome.RUNNING else f": {outcome.reason}"),
        action=episodes.previous_action(row) if steps else "",
        call="" if task.memory.saved is None else f"function {registers[FUNCTION] or None}, depth {registers[DEPTH]}",
    )
    width, height = PICTURE
    return draw_pixels(lay_out(scene, caption, width, height), width, height)


def _name_items(
    episodes: Episodes, row: int, size: int, labels: tuple[str, ...]
) -> tuple[dict[str, dict[int, str]], dict[str, str]]:
    """Return the items named like `A[3]` as lists by name and position, and the others by their names."""
    task = episodes.settings.task
    lists: dict[str, dict[int, str]] = {}
    others: dict[str, str] = {}
    for index, item in enumerate(episodes.batch.items[row, : task.memory.item_width(size)].tolist()):
        name = task.memory.item_name(index, size)
        if name is None:
            continue
        text = labels[item] if 0 <= item < len(labels) else str(item)
        place = _PLACE.fullmatch(name)
        if place:
            lists.setdefault(place[1], {})[int(place[2])] = text
        else:
            others[name] = text
    return lists, others


def _draw_lists(lists: dict[str, dict[int, str]], beneath: dict[int, list[str]]) -> Iterator[str]:
    """Yield the lines of the lists, position under position, each block with its markers."""
    positions = sorted({position for items in lists.values() for position in items})
    for first in range(0, len(positions), COLUMNS):
        block = positions[first : first + COLUMNS]
        rows = [("", {position: str(position) for position in block}), *lists.items()]
        for k in range(max((len(beneath.get(position, ())) for position in block), default=0)):
            rows.append(("", {p: beneath[p][k] for p in block if k < len(beneath.get(p, ()))}))
        margin = max(len(name) for name in lists)
        width = max(len(cell) for _, cells in rows for cell in cells.values())
        for name, cells in rows:
            line = " ".join(cells.get(position, "").rjust(width) for position in block)
            yield f"{name.rjust(margin)} {line}".rstrip()
