"""Learns algorithms that beat their teachers.

The names that it offers, and where they live, are listed in `__init__.pyi`. Each is loaded when it is first used, so
that `import surpass` stays quick.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_HOME_OF = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
"""The module of each name."""

__all__ = sorted(_HOME_OF)


def _register_envs() -> None:
    """Register the tasks with Gymnasium once the program has loaded it; others need not wait for it."""
    if sys.modules.get("gymnasium") and "surpass.environments" not in sys.modules:
        import_module("surpass.environments")


def __getattr__(name: str) -> Any:
    _register_envs()
    if name == "environments":  # a folder, which makes the tasks known to Gymnasium when it is loaded
        from surpass.extras import load

        return load("surpass.environments")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'surpass' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_register_envs()
