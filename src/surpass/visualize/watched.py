"""What `surpass.watch` returns: recordings that show themselves in a notebook, and are written to files."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surpass.bundles import write_atomically
from surpass.errors import SettingError
from surpass.extras import load
from surpass.pictures.layout import PAPER, RULE, Box, Caption, Shape, lay_out
from surpass.pictures.scene import Scene
from surpass.pictures.svg import write_svg
from surpass.printing import Printed, Progress
from surpass.reading import as_path
from surpass.visualize.recording import Move, Recording, saving
from surpass.visualize.terminal import play_recordings
from surpass.visualize.viewer import recording_data, viewer_page

KINDS = (".html", ".gif", ".svg")
"""The kinds of files that recordings are written to."""
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


@dataclass(frozen=True, repr=False)
class Watched(Printed):
    """One recording, or two in step."""

    recordings: tuple[Recording, ...]

    @property
    def title(self) -> str:
        """The agents' names, and the task."""
        return f"{' against '.join(one.agent for one in self.recordings)} on {self.recordings[0].task.name}"

    def __str__(self) -> str:
        told = [f"{recording!r}." for recording in self.recordings]
        if len(self.recordings) == 2 and (saved := saving(self.recordings)):
            told.append(f"{self.recordings[0].agent}: {saved}.")
        notices = [notice for recording in self.recordings for notice in recording.notices]
        return "\n".join(dict.fromkeys([" ".join(told), *notices])) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Return what the recordings show as plain data."""
        return {"films": [recording_data(recording) for recording in self.recordings]}

    def _repr_html_(self) -> str:
        # A frame of its own: the style, the script and the keys of the viewer do not meet those of the notebook.
        height = 900 if len(self.recordings) == 1 else 1000
        page = html.escape(self.to_html())
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts" srcdoc="{page}"'
            f' style="width: 100%; height: {height}px; border: 0"></iframe>'
        )

    def to_html(self) -> str:
        """Return one self-contained page with the viewer."""
        return viewer_page(self.recordings, self.title)

    def play(self, *, speed: float | None = None) -> None:
        """Play in the terminal."""
        self._check_size()
        play_recordings(self.recordings, speed=speed)

    def write(self, path: Path | str, *, speed: float = SPEED, progress: Progress | None = None) -> None:
        """Write a file of the kind that its name ends with.

        `.html` is the page with the viewer, `.gif` moves at `speed` moments a second, and `.svg` shows a few moments.
        """
        kind = check_kind(path)
        if kind == ".html":
            data = self.to_html().encode()
        else:
            self._check_size()
            is_gif = kind == ".gif"
            data = write_gif(self.recordings, speed, progress) if is_gif else write_strip(self.recordings, self.title)
        write_atomically(as_path(path), data)

    def _check_size(self) -> None:
        check_size(max(recording.plan.size for recording in self.recordings))


def check_kind(path: Path | str) -> str:
    """Return how the name of a file ends; raise `SettingError` unless recordings are written to such files."""
    kind = as_path(path).suffix.lower()
    if kind not in KINDS:
        raise SettingError(
            f"{path} is not a file for a recording: its name must end with {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        )
    return kind


def check_size(size: int) -> None:
    """Raise `SettingError` if a size is too large for a picture."""
    if size > MOST_DRAWN:
        raise SettingError(
            f"a picture of {size:,} values would show nothing: the most for GIF, SVG and terminal is {MOST_DRAWN}, and"
            " an HTML page shows more"
        )


# Pictures


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
        call=move.function if move and recording.calls else "",
    )
