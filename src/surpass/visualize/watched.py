"""What `surpass.watch` returns: recordings that show themselves in a notebook, and are written to files."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surpass.bundles import write_atomically
from surpass.errors import SettingError
from surpass.printing import Printed, Progress
from surpass.reading import as_path
from surpass.visualize.pictures import SPEED, check_size, write_gif, write_strip
from surpass.visualize.recording import Recording
from surpass.visualize.terminal import play_recordings, summary
from surpass.visualize.viewer import recording_data, viewer_page

KINDS = (".html", ".gif", ".svg")
"""The kinds of files that recordings are written to."""


@dataclass(frozen=True, repr=False)
class Watched(Printed):
    """One recording, or two in step."""

    recordings: tuple[Recording, ...]

    @property
    def title(self) -> str:
        """The agents' names."""
        return " against ".join(recording.agent for recording in self.recordings)

    def __str__(self) -> str:
        notices = [notice for recording in self.recordings for notice in recording.notices]
        return "\n".join(dict.fromkeys([summary(self.recordings), *notices])) + "\n"

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
