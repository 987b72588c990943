"""Views: some of the features of a task, named in a setting. What looks alike in a view is learned together."""

from __future__ import annotations

from fnmatch import fnmatchcase

from surpass.errors import SettingError
from surpass.machine.interface import Interface
from surpass.reading import show


def read_views(text: str, interface: Interface) -> list[list[int]]:
    """Return the features that each view shows, as indices."""
    names, found = [feature.name for feature in interface.features], []
    for view in text.split("|") if text.strip() else []:
        patterns = [pattern.strip() for pattern in view.split(",")]
        for pattern in patterns:
            if not any(_is_like(name, pattern) for name in names):
                raise SettingError(f"views has {show(pattern)}, which no feature is named like: {', '.join(names)}")
        found.append([k for k, name in enumerate(names) if any(_is_like(name, pattern) for pattern in patterns)])
    return found


def _is_like(name: str, pattern: str) -> bool:
    """Tell whether a feature is the one named or fits a pattern; brackets in its name are not those of a pattern."""
    return name == pattern or fnmatchcase(name, pattern)
