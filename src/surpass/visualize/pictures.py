"""Recordings as pictures for slides and papers: GIF and SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surpass.errors import SettingError
from surpass.extras import load
from surpass.pictures.layout import PAPER, RULE, Box, Caption, Shape, lay_out
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


def write_gif(recordings: Sequence[Recording], speed: float, progress: Progress | None = None) -> bytes:
    """Return recordings side by side, in step, as an animated GIF."""
    dither, raster = load("PIL.Image").Dither.NONE, load("surpass.pictures.raster")
    wide, high = CELL
    moments = _moments(recordings, MOST_FRAMES)
    rules = [Box(column * wide, 12, 1, high - 24, RULE) for column in range(1, len(recordings))]
    images: list[Any] = []
    for k, cells in enumerate(moments):
        shapes = [shape for column, cell in enumerate(cells) for shape in cell.lay_out(column, 0)]
        image = raster.draw_image([*shapes, *rules], wide * len(recordings), high)
        images.append(image.quantize(palette=raster.palette(), dither=dither))
        if progress:
            progress("drawing", k + 1, len(moments))
    each = max(20, round(1000 / speed))
    durations = [each] * (len(images) - 1) + [LAST]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False)
    return file.getvalue()


def write_strip(recordings: Sequence[Recording], title: str) -> bytes:
    """Return a few moments of recordings, from the first to the last, as SVG: a row for each pair of moments."""
    cells = [cell for moment in _moments(recordings, STRIP) for cell in moment]
    width, height = 2 * CELL[0], -(-len(cells) // 2) * CELL[1]
    shapes = [shape for k, cell in enumerate(cells) for shape in cell.lay_out(k % 2, k // 2)]
    return write_svg([Box(0, 0, width, height, PAPER), *shapes], width, height, title).encode()


class _Cell(NamedTuple):
    """The picture of a recording at one moment."""

    scene: Scene
    caption: Caption

    def lay_out(self, column: int, row: int) -> list[Shape]:
        """Return its shapes, at a place among other pictures."""
        wide, high = CELL
        return lay_out(self.scene, self.caption, wide, high, column * wide, row * high)


def _moments(recordings: Sequence[Recording], most: int) -> list[tuple[_Cell, ...]]:
    """Return the pictures of recordings at `most` moments from the first to the last; one that is over stands still."""
    last = max(len(recording.moves) for recording in recordings)
    moments = sorted({int(k) for k in np.linspace(0, last, min(most, last + 1)).round()})
    columns = []
    for recording in recordings:
        wanted = [min(moment, len(recording.moves)) for moment in moments]
        cells = {
            at: _Cell(scene, _caption(recording, at, move, recordings))
            for at, (scene, move) in enumerate(recording.scenes())
            if at in wanted
        }
        columns.append([cells[at] for at in wanted])
    return list(zip(*columns, strict=True))


def _caption(recording: Recording, at: int, move: Move | None, recordings: Sequence[Recording]) -> Caption:
    is_over = at == len(recording.moves)
    tells_saving = is_over and len(recordings) > 1 and recording is recordings[0]
    return Caption(
        title=recording.agent,
        progress=f"step {at:,} of {recording.steps:,}" + (f": {recording.ending}" if is_over else ""),
        action=(tells_saving and saving(recordings)) or ("start" if move is None else move.action),
        call="" if move is None or recording.task.memory.saved is None else move.function,
    )


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
