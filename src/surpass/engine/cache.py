"""Where compiled code and the results of checks are kept, and the hashes that they are found by."""

from __future__ import annotations

import atexit
import enum
import hashlib
import inspect
import os
import shutil
import tempfile
import types
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from platformdirs import user_cache_path


@cache
def cache_folder() -> Path:
    """Return the folder for compiled code: SURPASS_CACHE_DIR, the user's cache folder, or one for this process."""
    named = os.environ.get("SURPASS_CACHE_DIR")
    flavour = "checked" if numba.config.BOUNDSCHECK else "compiled"  # type: ignore[attr-defined]
    folder = (Path(named) if named else user_cache_path("surpass", appauthor=False)) / flavour
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        folder = Path(tempfile.mkdtemp(prefix="surpass-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def source_version() -> str:
    """Return a short text that changes with the sources of surpass."""
    key, package = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        key.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return key.hexdigest()[:16]


def update_hash(thing: Any, key: hashlib._Hash, seen: set[int]) -> None:
    """Feed a function, the functions it calls and the constants it reads into a hash."""
    function = getattr(thing, "py_func", thing)
    if not inspect.isfunction(function):
        _feed_constant(thing, key)
        return
    if id(function) in seen:
        return
    seen.add(id(function))
    try:
        key.update(inspect.getsource(function).encode())
    except (OSError, TypeError):
        _feed_code(function.__code__, key)
    cells = inspect.getclosurevars(function)
    for name, value in sorted({**cells.globals, **cells.nonlocals}.items()):
        key.update(name.encode() + b"=")
        if inspect.ismodule(value):
            for attribute in sorted(set(function.__code__.co_names) & set(vars(value))):
                update_hash(vars(value)[attribute], key, seen)
        else:
            update_hash(value, key, seen)


def _feed_constant(value: Any, key: hashlib._Hash) -> None:
    """Feed the value of a constant into a hash; things that a kernel cannot read are left out."""
    if isinstance(value, np.ndarray):
        key.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        key.update(repr({name: member.value for name, member in value.__members__.items()}).encode())
    elif isinstance(value, int | float | complex | str | bytes | tuple | np.generic):
        key.update(repr(value).encode())


def _feed_code(code: types.CodeType, key: hashlib._Hash) -> None:
    """Feed the code of a function without a source, and of those defined in it, into a hash."""
    key.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _feed_code(constant, key)
        else:
            key.update(repr(constant).encode())
