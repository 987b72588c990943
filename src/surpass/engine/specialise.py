"""The compiled loops of a task: a copy of `kernels.py` with the task's own kernels inlined, cached on disk.

Numba's cache does not notice a change in a function that a cached one calls, and it does not cache closures. So the
copy lies in a folder named after a fingerprint of everything that goes into it, and Numba keeps its cache beside it.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.util
import inspect
import logging
import math
import os
import shutil
import sys
import tempfile
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import int64
from numba.core.errors import NumbaError

from surpass.engine import kernels
from surpass.engine.batch import Batch
from surpass.engine.experience import Plan, Pool, Record, Sums, Tree
from surpass.engine.refusals import check_kernels, gist
from surpass.engine.tree import group_features
from surpass.errors import DeclarationError
from surpass.machine.interface import Interface
from surpass.tasks.task import Task

__all__ = ["Kernels", "cache_folder", "specialise"]

_log = logging.getLogger(__name__)

_I1, _I2, _F2 = numba.int64[::1], numba.int64[:, ::1], numba.float64[:, ::1]
_BATCH = numba.types.NamedTuple([_I2, _I2, _F2, _I2, _I1, _I1, _I1], Batch)  # type: ignore[no-untyped-call]
_F1 = numba.float64[::1]
_SINGLES, _SINGLES2, _SINGLES3 = numba.float32[::1], numba.float32[:, ::1], numba.float32[:, :, ::1]
_TREE = numba.types.NamedTuple(  # type: ignore[no-untyped-call]
    [
        _I2,
        _I1,
        _I1,
        _I2,
        _I1,
        _I1,
        _I1,
        _I2,
        int64,
        _I1,
        int64,
        _I1,
        int64,
        _I1,
        _I1,
        _SINGLES,
        _I1,
        _I1,
        _I1,
        _I1,
        int64,
    ],
    Tree,
)
_PLAN = numba.types.NamedTuple(  # type: ignore[no-untyped-call]
    [_I1, _I1, _I1, _I1, _I1, _I1, _I1, _I2, _F2, _F2, _SINGLES3], Plan
)
_POOL = numba.types.NamedTuple([_I1, _I2, _F2, _I1], Pool)  # type: ignore[no-untyped-call]
_RECORD = numba.types.NamedTuple(  # type: ignore[no-untyped-call]
    [_I2, _I2, _F2, _I2, _I2, _I2, _I1, _I1, _I1, _I1, _I1, _I1], Record
)
_SUMS = numba.types.NamedTuple([_F2, _F1, _F1, _F1], Sums)  # type: ignore[no-untyped-call]
_SIGNATURES = {
    "reset": (_BATCH, _I1, _I2, _F2, _I1),
    "insert": (_I1, _I1, _I1, _I1),
    "run": (_BATCH, _I1, _I1, _I2, _I1, int64, int64),
    "tally": (_BATCH, _I1, _I1, _I2, _I1, _I1, int64, int64),
    "run_finding_loops": (_BATCH, _I1, _I1, _I2, _I1, int64, int64),
    "step": (_BATCH, _I1, _I2, _I1),
    "look": (_BATCH, _I2),
    "sample": (_BATCH, _TREE, _SINGLES2, _PLAN, _POOL, _I2, _I1, _RECORD, int64, int64),
    "tabulate": (_TREE, _SINGLES2),
    "absorb": (_PLAN, _PLAN, _I1),
    "follow": (_TREE, _SINGLES2, _PLAN, _I1, _I1, _I1),
    "amend": (_I1, _I1, _I1, _I1, _I1, int64, int64),
    "accumulate": (_TREE, _PLAN, _RECORD, _F1, _F2, _F1, _SUMS, int64, int64),
    "lose": (_TREE, _PLAN, _SUMS, _I1, _F1),
    "slope": (_TREE, _PLAN, _SUMS, _I1, _F1, _I1, _SINGLES2, _SINGLES3),
    "spread": (_TREE, _PLAN, _I1, _SINGLES2, _SINGLES2, _SINGLES2),
}


class Kernels:
    """The compiled loops of one task; each is compiled, or loaded from the cache, when it is first asked for."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._module = _load(task)
        self._has_told = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _SIGNATURES:
            raise AttributeError(name)
        try:
            compiled = self._compile(name)
        except NumbaError as error:
            raise DeclarationError(f"a kernel of task {self._task.name!r} does not compile: {gist(error)}") from error
        except Exception:
            # A damaged cache file makes Numba fail in many ways; compiling afresh is always right.
            shutil.rmtree(getattr(self._module, name).stats.cache_path, ignore_errors=True)
            self._module = _load(self._task)
            compiled = self._compile(name)
        setattr(self, name, compiled)
        return compiled

    def _compile(self, name: str) -> Callable[..., Any]:
        dispatcher = getattr(self._module, name)
        if not _interpreted():
            self._tell_of_compiling(name, Path(dispatcher.stats.cache_path))
            dispatcher.compile(_SIGNATURES[name])
        compiled: Callable[..., Any] = dispatcher
        return compiled

    def _tell_of_compiling(self, name: str, folder: Path) -> None:
        """Say, once, that a kernel is not in the cache."""
        if not self._has_told and not any(folder.glob(f"kernels.{name}-*.nbi")):
            self._has_told = True
            _log.info("compiling what %s needs; this is done once and can take a minute", self._task.name)


def _interpreted() -> bool:
    return bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


@cache
def specialise(task: Task) -> Kernels:
    """Return the compiled loops of a task."""
    return Kernels(task)


def _load(task: Task) -> types.ModuleType:
    """Return a copy of the kernels module that works on `task`."""
    template = Path(kernels.__file__).read_text()
    unrolled = _write_unrolled(task.interface)
    folder = cache_folder() / f"{task.name}-{_fingerprint_of(task, unrolled)}"
    path = folder / "kernels.py"
    if not path.exists() or path.read_text() != template:
        if not _interpreted():
            check_kernels(task)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(template)
        fresh.replace(path)
    name = f"surpass.engine.kernels_{task.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(_declare(task, unrolled))
    # Numba finds the globals of a cached function through its module's name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _declare(task: Task, written: str) -> dict[str, Any]:
    """Return the names that the copy needs: the task's kernels, its packing and its numbers."""
    declared: dict[str, Any] = {"start": task.start, "act": task.act, "FRAME_SIZE": task.frame_size}
    if task.observe is not None:
        declared["observe"] = task.observe
    names: dict[str, Any] = {}
    exec(written, names)  # the text below, made of the interface's numbers only
    for name in ("operands_of", "pack", "unpack", "in_range"):
        if name in names:
            declared[name] = numba.njit(forceinline=True)(names[name])
    return declared


def _write_unrolled(interface: Interface) -> str:
    """Return the source of what depends on the interface's numbers only.

    Operands go by tuple: a view into an array would be reference-counted at every step. Packing is unrolled, since
    a loop over a tuple goes through memory.
    """
    operands = [f"rows[k, {1 + at}]" for at in range(max(1, interface.most_operands))]
    source = f"def operands_of(rows, k):\n    return ({', '.join(operands)},)\n\n"
    if interface.is_full_view:
        return source
    terms = [f"seen[{k}] * {stride}" for k, stride in enumerate(interface.strides)]
    strides, radices = interface.strides, interface.radices
    groups = [
        f"observation // {min(strides[k] for k in group)} % {math.prod(radices[k] for k in group)}"
        for group in group_features(interface)
    ]
    count = len(interface.radices)
    tests = [f"(0 <= seen[{k}]) & (seen[{k}] < {radix})" for k, radix in enumerate(interface.radices)]
    return (
        f"{source}def pack(seen):\n    return {' + '.join(terms)}\n\n"
        f"def unpack(observation):\n    return ({', '.join(groups)},)\n\n"
        f"def in_range(seen):\n    return (len(seen) == {count}) and {' & '.join(tests)}\n"
    )


def _fingerprint_of(task: Task, unrolled: str) -> str:
    """Return a short text that changes with everything that goes into a task's compiled loops."""
    key = hashlib.sha256()
    package = Path(kernels.__file__).parent.parent
    sources = [
        *sorted((package / "machine").glob("*.py")),
        package / "engine" / "kernels.py",
        package / "engine" / "batch.py",
        package / "engine" / "experience.py",
        package / "engine" / "forward.py",
        package / "engine" / "backward.py",
        package / "engine" / "tree.py",
    ]
    for part in (unrolled, str(task.frame_size), numba.__version__, llvmlite.__version__, sys.version):
        key.update(part.encode() + b"\0")
    for source in sources:
        key.update(source.read_bytes() + b"\0")
    for function in (task.start, task.observe, task.act):
        _feed(function, key, set())
    return key.hexdigest()[:16]


def _feed(thing: Any, key: hashlib._Hash, seen: set[int]) -> None:
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
                _feed(vars(value)[attribute], key, seen)
        else:
            _feed(value, key, seen)


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


@cache
def cache_folder() -> Path:
    """Return the folder for compiled code: SURPASS_CACHE_DIR, the user's cache folder, or a temporary one."""
    named = os.environ.get("SURPASS_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    flavour = "checked" if numba.config.BOUNDSCHECK else "compiled"  # type: ignore[attr-defined]
    for folder in (Path(named),) if named else (user / "surpass",):
        try:
            (folder / flavour).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder / flavour, os.W_OK):
            return folder / flavour
    return Path(tempfile.mkdtemp(prefix="surpass-"))
