"""Lays a scene out as plain shapes, which `raster` turns into pixels and `svg` into SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from surpass.pictures.scene import Bars, Scene

# The palette of Okabe and Ito, whose colours also colour-blind people tell apart; dark enough on white.
ARROWS = ("#d55e00", "#0072b2", "#009e73", "#a3458a", "#8c6d00", "#3a3a3a")
"""The colours of arrows, in the order of their registers."""
PAPER, INK, FAINT, RULE = "#ffffff", "#1f2933", "#64748b", "#cbd5e1"
BAR, CHANGED, LIT, LEVEL, BRACKET = "#a9bed3", "#3d7fb3", "#e69f00", "#d55e00", "#fdf0d5"
COLOURS = (PAPER, INK, FAINT, RULE, BAR, CHANGED, LIT, LEVEL, BRACKET, *ARROWS)

LETTER = 0.55
"""The width of a letter as a share of its height, about."""
SMALLEST_COLUMN = 14
"""How wide a column of bars must be for texts on it."""
MOST_BELOW = 6
"""For how many names below one another there is room."""


class Box(NamedTuple):
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


class Polygon(NamedTuple):
    """A filled shape."""

    points: tuple[tuple[float, float], ...]
    colour: str


class Line(NamedTuple):
    """A straight line."""

    start: tuple[float, float]
    end: tuple[float, float]
    colour: str
    width: float = 1.0


class Text(NamedTuple):
    """A line of text; `x` is its left end, its middle or its right end, and `y` its middle."""

    x: float
    y: float
    text: str
    size: float = 12
    colour: str = INK
    align: str = "left"


Shape = Box | Polygon | Line | Text


class Caption(NamedTuple):
    """What is written around a scene."""

    title: str
    progress: str
    """Written at the upper right: how many steps have been taken."""
    action: str = ""
    """What was done last."""
    call: str = ""
    """The function and how many calls are open."""


def lay_out(scene: Scene, caption: Caption, width: float, height: float, x: float = 0, y: float = 0) -> list[Shape]:
    """Return a scene with its caption as shapes in an area whose upper left corner is (`x`, `y`)."""
    margin = 16.0
    inner, left, right = width - 2 * margin, x + margin, x + width - margin
    room = inner - LETTER * 14 * len(caption.progress) - 12
    shapes: list[Shape] = [
        Text(right, y + 20, caption.progress, 14, INK, "right"),
        Text(left, y + 20, fit(caption.title, room, 14), 14),
        Text(left, y + 42, fit(caption.action, inner * 0.7, 13), 13, ARROWS[1]),
        Text(right, y + 42, caption.call, 12, FAINT, "right"),
    ]
    bottom = y + height - 12.0
    words = "   ".join(f"{name} = {text}" for name, text in scene.words)
    if words:
        shapes.append(Text(left, bottom - 4, fit(words, inner, 12), 12, FAINT))
        bottom -= 22
    for gauge in reversed(scene.gauges):
        shapes += _gauge(gauge.name, gauge.text, gauge.level, gauge.mark, left, bottom - 14, inner)
        bottom -= 22
    most, count = max((len(row.heights) for row in scene.bars), default=0), len(scene.bars)
    # There is room for all arrows at one position, so that the bars stand still while arrows meet and part.
    names = [min(len(scene.arrows_below(number)), MOST_BELOW) for number in range(count)]
    below = [14.0 + 14.0 * some if some else 6.0 for some in names]
    base = y + 60.0
    each = (bottom - base - sum(below)) / max(1, count)
    if most:
        wide = inner / (most + (1 if any(arrow.at == most for arrow in scene.arrows) else 0))
        for number, room in enumerate(below):
            base += each
            shapes += _row(scene, number, left, base, wide, each - (20 if count == 1 else 34))
            shapes += _arrows(scene, number, left, base, wide)
            base += room
    return shapes


def _row(scene: Scene, number: int, left: float, base: float, wide: float, tall: float) -> Iterator[Shape]:
    """Yield a row of bars that stands on `base`."""
    row, is_last = scene.bars[number], number == len(scene.bars) - 1
    gap = min(4.0, wide * 0.15) if wide >= 3 else 0.0
    if is_last and scene.bracket:
        low, high = scene.bracket
        yield Box(left + low * wide, base - tall - 8, (high - low + 1) * wide, tall + 8, BRACKET)
    colours = {arrow.at: ARROWS[k % len(ARROWS)] for k, arrow in reversed(scene.arrows_below(number))}
    for at, share, _ in _columns(row, wide):
        x = left + at * wide
        colour = LIT if at in scene.lit else CHANGED if at in scene.changed else BAR
        yield Box(x + gap / 2, base - share * tall, max(wide - gap, 0.8), share * tall, colour)
        if at in colours and wide >= 4:
            yield Box(x + gap / 2, base - 3, wide - gap, 3, colours[at])
    yield Line((left, base), (left + wide * len(row.heights), base), RULE)
    level = base - scene.level[1] * tall if is_last and scene.level else None
    if level is not None:
        yield Line((left, level), (left + wide * len(row.heights), level), LEVEL, 2)
    for at, share, text in _columns(row, wide):
        if wide >= SMALLEST_COLUMN and len(text) * LETTER * 11 <= wide:
            middle, y = left + (at + 0.5) * wide, base - share * tall - 8
            if level is not None and abs(level - y) < 8:  # the line does not go through what is written
                half = 0.5 * LETTER * 11 * len(text) + 2
                inside = scene.bracket is not None and scene.bracket[0] <= at <= scene.bracket[1]
                yield Box(middle - half, y - 7, 2 * half, 14, BRACKET if inside else PAPER)
            yield Text(middle, y, text, 11, INK, "middle")
    if len(scene.bars) > 1:
        yield Text(left, base - tall - 26, row.name, 12, FAINT)
    if level is not None and scene.level:
        yield Text(left, level - 9, f"{scene.level[0]} = {scene.level[2]}", 12, LEVEL)


def _columns(row: Bars, wide: float) -> Iterator[tuple[int, float, str]]:
    """Yield the position, height and text of the bars; where they are thinner than a pixel, the highest of each."""
    step = max(1, int(1 / wide)) if wide < 1 else 1
    for at in range(0, len(row.heights), step):
        yield at, max(row.heights[at : at + step]), row.texts[at]


def _arrows(scene: Scene, below: int, left: float, base: float, wide: float) -> Iterator[Shape]:
    """Yield an arrow below the bar at which each register stands, with its name; those at one bar share it."""
    met: dict[int, int] = {}
    for number, (name, at, _) in scene.arrows_below(below):
        colour = ARROWS[number % len(ARROWS)]
        x, row = left + (at + 0.5) * wide, met.get(at, 0)
        met[at] = row + 1
        if row == 0:
            yield Polygon(((x, base + 2), (x - 5, base + 10), (x + 5, base + 10)), colour)
        yield Text(x, base + 18 + 14 * row, name, 12, colour, "middle")


def _gauge(name: str, text: str, level: float, mark: float, x: float, y: float, width: float) -> Iterator[Shape]:
    """Yield a frame that is filled up to a level, with a mark, its name and the two numbers."""
    start, length = x + 150, width - 250
    yield Text(x, y + 7, name, 12, FAINT)
    yield Box(start, y, length, 14, RULE)
    yield Box(start, y, length * level, 14, LEVEL if level > mark else ARROWS[2])
    yield Box(start + length * mark - 1, y - 3, 3, 20, INK)
    yield Text(x + width, y + 7, text, 12, INK, "right")


def fit(text: str, width: float, size: float) -> str:
    """Return a text cut to at most `width`."""
    most = max(1, int(width / (LETTER * size)))
    return text if len(text) <= most else f"{text[: most - 1]}…"
