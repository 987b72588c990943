"""Recordings as pictures for slides and papers: GIF and SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from surpass.errors import SettingError
from surpass.extras import load
from surpass.pictures.layout import PAPER, RULE, Box, Caption, Line, Polygon, Shape, Text, lay_out
from surpass.pictures.scene import Scene
from surpass.pictures.svg import write_svg
from surpass.printing import Progress
from surpass.visualize.recording import Move, Recording

MOST_DRAWN = 500
"""The largest size that a picture without a screen of its own shows."""
MOST_FRAMES = 300
"""How many moments of a run a GIF shows at most, evenly spread; the last is always among them."""
SPEED = 8.0
"""Moments a second."""
LAST = 2500
"""For how many milliseconds the end is shown."""
CELL = (480, 300)
"""The width and height of a picture of one recording."""
STRIP = 6
"""How many moments an SVG shows."""


def check_size(size: int) -> None:
    """Raise `SettingError` if a size is too large for a picture."""
    if size > MOST_DRAWN:
        raise SettingError(
            f"a picture of {size:,} values would show nothing: the most for GIF, SVG and terminal is {MOST_DRAWN}, and"
            " an HTML page shows more"
        )


def write_gif(recordings: Sequence[Recording], *, speed: float = SPEED, progress: Progress | None = None) -> bytes:
    """Return recordings side by side, in step, as an animated GIF."""
    dither, raster = load("PIL.Image").Dither.NONE, load("surpass.pictures.raster")
    frames = _pick(max(len(recording.moves) for recording in recordings), MOST_FRAMES)
    wide, high = CELL
    cells: list[list[list[Shape]]] = [_cells(recording, frames, recordings) for recording in recordings]
    images: list[Any] = []
    for k in range(len(frames)):
        shapes = [shape for number, column in enumerate(cells) for shape in _moved(column[k], number * wide)]
        shapes += [Box(number * wide, 12, 1, high - 24, RULE) for number in range(1, len(recordings))]
        image = raster.draw_image(shapes, wide * len(recordings), high)
        images.append(image.quantize(palette=raster.palette(), dither=dither))
        if progress:
            progress("drawing", k + 1, len(frames))
    each = max(20, round(1000 / speed))
    file = io.BytesIO()
    images[0].save(
        file,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=[each] * (len(images) - 1) + [LAST],
        loop=0,
        optimize=False,
    )
    return file.getvalue()


def write_strip(recordings: Sequence[Recording], title: str) -> str:
    """Return a few moments of recordings, from the first to the last, as SVG: a row for each pair of moments."""
    wide, high = CELL
    shapes: list[Shape] = []
    columns = 2 if len(recordings) == 1 else len(recordings)
    frames = _pick(max(len(recording.moves) for recording in recordings), STRIP)
    cells = [
        cell
        for pair in zip(*(_cells(recording, frames, recordings) for recording in recordings), strict=True)
        for cell in pair
    ]
    for k, cell in enumerate(cells):
        shapes += _moved(cell, k % columns * wide, k // columns * high)
    rows = -(-len(cells) // columns)
    return write_svg([Box(0, 0, wide * columns, high * rows, PAPER), *shapes], wide * columns, high * rows, title)


def _pick(last: int, most: int) -> list[int]:
    """Return at most `most` moments from 0 to `last`, both among them."""
    return sorted({int(k) for k in np.linspace(0, last, min(most, last + 1)).round()})


def _cells(recording: Recording, frames: Sequence[int], recordings: Sequence[Recording]) -> list[list[Shape]]:
    """Return the picture of a recording at each of some moments; one that is over stands still."""
    wanted = {min(frame, len(recording.moves)) for frame in frames}
    found = {}
    for at, (scene, move) in enumerate(recording.scenes()):
        if at in wanted:
            found[at] = _cell(recording, at, scene, move, recordings)
    return [found[min(frame, len(recording.moves))] for frame in frames]


def _cell(
    recording: Recording, at: int, scene: Scene, move: Move | None, recordings: Sequence[Recording]
) -> list[Shape]:
    is_over = at == len(recording.moves)
    ending = recording.ending if recording.is_whole else "cut"
    calls = "" if move is None or recording.task.memory.saved is None else move.function
    caption = Caption(
        title=recording.agent,
        progress=f"step {at:,} of {recording.steps:,}" + (f": {ending}" if is_over else ""),
        action=(saving(recordings) if is_over and recording is recordings[0] and len(recordings) > 1 else "")
        or ("start" if move is None else move.action),
        call=calls,
    )
    return lay_out(scene, caption, *CELL)


def saving(recordings: Sequence[Recording]) -> str:
    """Return what the first of two recordings saves against the second, in words; empty unless both are solved."""
    first, second = recordings
    if first.outcome != "solved" or second.outcome != "solved":
        return ""
    if first.task.measure == "reward":
        gain = first.score - second.score
        return f"{abs(gain):.3g} {'more' if gain > 0 else 'less'} value" if gain else "no difference"
    saved = second.steps - first.steps
    share = f" ({abs(saved) / second.steps:.0%})" if second.steps else ""
    return f"{abs(saved):,} steps{share} {'saved' if saved > 0 else 'more'}" if saved else "no difference"


def _moved(shapes: Sequence[Shape], x: float, y: float = 0) -> list[Shape]:
    """Return shapes moved to the right and down."""
    moved: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Box | Text):
            moved.append(shape._replace(x=shape.x + x, y=shape.y + y))
        elif isinstance(shape, Line):
            (x1, y1), (x2, y2) = shape.start, shape.end
            moved.append(shape._replace(start=(x1 + x, y1 + y), end=(x2 + x, y2 + y)))
        elif isinstance(shape, Polygon):
            moved.append(shape._replace(points=tuple((px + x, py + y) for px, py in shape.points)))
    return moved
