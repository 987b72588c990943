"""A scene as lines of text, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from surpass.pictures.layout import fit
from surpass.pictures.scene import Bars, Scene

BLOCKS = " ▁▂▃▄▅▆▇█"
"""A cell that is filled from below by no eighth to eight of them."""


def draw_lines(scene: Scene, columns: int, height: int = 8) -> list[str]:
    """Return a scene as lines of at most some columns: bars, arrows below them, and everything else in words."""
    lines: list[str] = []
    most = max((len(row.heights) for row in scene.bars), default=0)
    wide = _width(scene, columns, most)
    step = 1 if wide else -(-most // columns)
    for number, row in enumerate(scene.bars):
        if len(scene.bars) > 1:
            lines.append(row.name)
        lines += _draw_bars(scene, row, height if len(scene.bars) == 1 else max(3, height // 2), wide or 1, step)
        for _, (name, at, _) in scene.arrows_below(number):
            x, room = at // step * (wide or 1), columns - len(name) - 2
            lines.append(f"{' ' * x}▲ {name}" if x <= room else f"{' ' * (x - len(name) - 1)}{name} ▲")
    for gauge in scene.gauges:
        filled = round(20 * gauge.level)
        lines.append(f"{gauge.name}: {'█' * filled}{'░' * (20 - filled)} {gauge.text}")
    words = [f"{name} = {text}" for name, text in scene.words]
    if scene.level:
        words.insert(0, f"{scene.level[0]} = {scene.level[2]}")
    if scene.bracket and scene.level:
        low, high = scene.bracket
        words.insert(1, f"{scene.level[0]} can be at {low} to {high}")
    lines.append("  ".join(words))
    return [line if len(line) <= columns else fit_line(line, columns) for line in lines]


def fit_line(line: str, columns: int) -> str:
    """Return a line that is no longer than some columns, its end left out if need be."""
    return fit(line, columns, 1 / 0.55)


def _width(scene: Scene, columns: int, most: int) -> int:
    """Return how many columns a bar takes: enough for its text, or 2, or 1; 0 if even so there are too many bars."""
    longest = max((len(text) for row in scene.bars for text in row.texts), default=1)
    return next((wide for wide in (longest + 1, 2, 1) if wide * most <= columns), 0)


def _draw_bars(scene: Scene, row: Bars, height: int, wide: int, step: int) -> Iterator[str]:
    """Yield the lines of a row of bars from the top down, and their texts where they fit."""
    heights = [max(row.heights[k : k + step]) for k in range(0, len(row.heights), step)]
    thick = max(1, wide - 1)
    for line in range(height - 1, -1, -1):
        cells = [BLOCKS[min(8, max(0, round(8 * (high * height - line))))] * thick for high in heights]
        yield "".join(cell.ljust(wide) for cell in cells).rstrip()
    if step == 1 and all(len(text) < wide for text in row.texts):
        yield "".join(text.rjust(wide - 1) + " " for text in row.texts).rstrip()
    if scene.lit and step == 1:
        yield "".join(("*" if k in scene.lit else "·").rjust(thick).ljust(wide) for k in range(len(row.texts))).rstrip()
