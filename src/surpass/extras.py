"""Packages that only some commands need: `pip install "surpass[EXTRA]"` adds them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from surpass.errors import MissingExtraError

EXTRAS = {
    "torch": ("PyTorch", "torch"),
    "gymnasium": ("Gymnasium", "gym"),
    "matplotlib": ("Matplotlib", "plot"),
    "PIL": ("Pillow", "plot"),
    "ray": ("Ray", "ray"),
    "stable_baselines3": ("Stable-Baselines3", "sb3"),
    "tensorboard": ("TensorBoard", "tensorboard"),
}
"""What each package is called, and the extra that brings it."""


def load(module: str) -> Any:
    """Return a module that needs an extra, by its full name; raise `MissingExtraError` if the extra is missing.

    Modules of surpass that import an extra are loaded in this way alone by those that work without it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        title, extra = EXTRAS[package]
        raise MissingExtraError(f'this needs {title}: pip install "surpass[{extra}]"', name=package) from error


def load_names(module: str, *names: str) -> tuple[Any, ...]:
    """Return some names of a module that needs an extra."""
    found = load(module)
    return tuple(getattr(found, name) for name in names)


def is_installed(package: str) -> bool:
    """Tell whether a package is installed, without loading it."""
    try:
        return find_spec(package) is not None
    except ValueError:  # it is barred from being imported
        return False
