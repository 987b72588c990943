"""What `surpass.watch` returns: films that show themselves in a notebook, and are written to files."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surpass.bundles import write_atomically
from surpass.errors import SettingError
from surpass.printing import Printed
from surpass.reading import as_path
from surpass.visualize.film import Film
from surpass.visualize.pictures import SPEED, check_size, write_gif, write_strip
from surpass.visualize.terminal import play_films, summary
from surpass.visualize.viewer import film_data, viewer_page

KINDS = (".html", ".gif", ".svg")
"""The kinds of files that films are written to."""


@dataclass(frozen=True, repr=False)
class Watched(Printed):
    """One film, or two in step."""

    films: tuple[Film, ...]

    @property
    def title(self) -> str:
        """The agents' names."""
        return " against ".join(film.agent for film in self.films)

    def __str__(self) -> str:
        notices = [notice for film in self.films for notice in film.notices]
        return "\n".join(dict.fromkeys([summary(self.films), *notices])) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Return what the films show as plain data."""
        return {"films": [film_data(film) for film in self.films]}

    def _repr_html_(self) -> str:
        # A frame of its own: the style, the script and the keys of the viewer do not meet those of the notebook.
        height = 900 if len(self.films) == 1 else 1000
        page = html.escape(self.to_html())
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts" srcdoc="{page}"'
            f' style="width: 100%; height: {height}px; border: 0"></iframe>'
        )

    def to_html(self) -> str:
        """Return one self-contained page with the viewer."""
        return viewer_page(self.films, self.title)

    def to_gif(self, *, speed: float = SPEED, progress: Callable[[int, int], None] | None = None) -> bytes:
        """Return an animated GIF of `speed` moments a second."""
        self._check_size()
        return write_gif(self.films, speed=speed, progress=progress)

    def to_svg(self) -> str:
        """Return a few moments, from the first to the last, as SVG."""
        self._check_size()
        return write_strip(self.films, self.title)

    def play(self, *, speed: float | None = None) -> None:
        """Play in the terminal."""
        self._check_size()
        play_films(self.films, speed=speed)

    def write(
        self, path: Path | str, *, speed: float = SPEED, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Write a file of the kind that its name ends with: .html, .gif or .svg."""
        kind = check_kind(path)
        if kind == ".gif":
            data = self.to_gif(speed=speed, progress=progress)
        else:
            data = (self.to_html() if kind == ".html" else self.to_svg()).encode()
        write_atomically(as_path(path), data)

    def _check_size(self) -> None:
        check_size(max(film.plan.size for film in self.films))


def check_kind(path: Path | str) -> str:
    """Return how the name of a file ends; raise `SettingError` unless films are written to such files."""
    kind = as_path(path).suffix.lower()
    if kind not in KINDS:
        raise SettingError(
            f"{path} is no file for a film: its name must end with {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        )
    return kind
