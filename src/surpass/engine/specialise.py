"""The compiled loops of a task: a copy of a template with the task's own kernels inlined, cached on disk.

The engine's template is `kernels.py`; whoever needs other loops brings a template of their own. Numba's cache does not
notice a change in a function that a cached one calls, and it does not cache closures. So the copy lies in a folder
named after a fingerprint of everything that goes into it, and Numba keeps its cache beside it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import logging
import math
import shutil
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.errors import NumbaError

from surpass.arrays import Ints
from surpass.bundles import write_atomically
from surpass.engine import kernels
from surpass.engine.batch import Batch
from surpass.engine.cache import cache_folder, update_hash
from surpass.engine.check_task import check_once
from surpass.engine.groups import group_features
from surpass.engine.kernel_types import check_kernels, gist
from surpass.engine.types import types_of
from surpass.errors import DeclarationError
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import State
from surpass.table import Table
from surpass.tasks.task import Task

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Template:
    """A module of loops that are written once and compiled for each task."""

    module: types.ModuleType
    signatures: Mapping[str, tuple[Any, ...]]
    """The types of the arguments of each loop that can be asked for."""
    parts: tuple[types.ModuleType | type, ...] = ()
    """Modules, or classes in them, whose code or constants the loops use."""
    general: frozenset[str] = frozenset()
    """Loops that use nothing of a task: they are compiled once for all tasks."""


_ENGINE = Template(
    kernels,
    {
        "reset": types_of("batch i1 i2 f2 i1"),
        "advance": types_of("batch i1 i1 i2 i1 i1 b i i i1"),
        "step": types_of("batch i1 i2 i1"),
        "look": types_of("batch i2"),
        "judge_spent": types_of("batch"),
    },
    (Batch, Table),
)
SHARED = ("check_stack", "judge", "perform", "start_one")
"""The kernels of a task's engine that the loops of other templates call."""


class Kernels:
    """A template's loops for one task; each is compiled, or loaded from the cache, when it is first asked for."""

    def __init__(self, task: Task, template: Template) -> None:
        self._task, self._template = task, template
        self._module = _load(task, template)
        self._has_told = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self._template.signatures:
            raise AttributeError(name)
        try:
            compiled = self._compile(name)
        except NumbaError as error:
            raise DeclarationError(f"a kernel of task {self._task.name!r} does not compile: {gist(error)}") from error
        except Exception:
            # A damaged cache file makes Numba fail in many ways; compiling afresh is always right.
            for used in (name, *self._template.general):
                shutil.rmtree(getattr(self._module, used).stats.cache_path, ignore_errors=True)
            _load_general.cache_clear()
            self._module = _load(self._task, self._template)
            compiled = self._compile(name)
        setattr(self, name, compiled)
        return compiled

    def _compile(self, name: str) -> Callable[..., Any]:
        dispatcher = getattr(self._module, name)
        if _interpreted():
            pass
        elif any(Path(dispatcher.stats.cache_path).glob(f"*.{name}-*.nbi")):
            dispatcher.compile(self._template.signatures[name])
        else:
            if not self._has_told:
                self._has_told = True
                _log.info("compiling what %s needs; this is done once and can take a minute", self._task.name)
            code = dispatcher.py_func.__code__
            for called in self._template.general.intersection(code.co_names):
                self._compile(called)
            with _one_at_a_time(Path(code.co_filename).with_name(f"{name}.lock")):
                try:
                    dispatcher.compile(self._template.signatures[name])
                except OSError as error:
                    if not dispatcher.overloads:
                        raise
                    _log.warning("compiled code cannot be kept in %s: %s", cache_folder(), error.strerror)
        compiled: Callable[..., Any] = dispatcher
        return compiled


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Keep other processes out of a block while this one is in it; they then find its results in the cache."""
    from filelock import FileLock  # it takes a while to import, and a warm cache never needs it

    lock = FileLock(path)
    with suppress(OSError, NotImplementedError):  # where no file can be locked, each process compiles for itself
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _interpreted() -> bool:
    return bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


@cache
def specialise(task: Task, template: Template = _ENGINE) -> Kernels:
    """Return the compiled loops of a task: the engine's, or those of another template.

    A task that a file registers is checked first.
    """
    check_once(task)
    return Kernels(task, template)


def _load(task: Task, template: Template) -> types.ModuleType:
    """Return a copy of a template's module that works on `task`."""
    unrolled = _write_unrolled(task.interface)
    path = cache_folder() / f"{task.name}-{_fingerprint_of(task, template, unrolled)}" / "kernels.py"
    if not _is_copy(path, template):
        check_kernels(task)
    declared = _declare(task, unrolled)
    if template is not _ENGINE:
        engine = specialise(task)._module
        declared.update({shared: getattr(engine, shared) for shared in SHARED})
    module = _copy(template, path, task.name.replace("-", "_"), declared)
    if template.general:
        general = _load_general(template)
        module.__dict__.update({name: getattr(general, name) for name in template.general})
    return module


@cache
def _load_general(template: Template) -> types.ModuleType:
    """Return a copy of a template's module of which only the loops that use nothing of a task are called."""
    *_, name = template.module.__name__.split(".")
    path = cache_folder() / f"{name}-{_fingerprint_of(None, template)}" / "general.py"
    return _copy(template, path, "", {})


def _is_copy(path: Path, template: Template) -> bool:
    """Tell whether a file is a copy of a template's module."""
    return path.is_file() and path.read_bytes() == Path(inspect.getfile(template.module)).read_bytes()


def _copy(template: Template, path: Path, suffix: str, declared: dict[str, Any]) -> types.ModuleType:
    """Return a template's module, run from a copy of its file in which some names are declared before."""
    if _interpreted():
        path = Path(inspect.getfile(template.module))  # nothing is compiled that a copy could be kept with
    elif not _is_copy(path, template):
        with suppress(OSError):  # of which the next line says why
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, Path(inspect.getfile(template.module)).read_bytes())
    name = f"{template.module.__name__}_{suffix}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(declared)
    # Numba finds the globals of a cached function through its module's name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@kernel
def always_right(state: State, before: Ints) -> bool:
    """Take every answer as right, for a task that does not judge in compiled code."""
    return True


def _declare(task: Task, written: str) -> dict[str, Any]:
    """Return the names that the copy needs: the task's kernels, its packing and its numbers."""
    names: dict[str, Any] = {}
    exec(written, names)  # the text below, made of the interface's numbers only
    unrolled = {name: kernel(made) for name, made in names.items() if inspect.isfunction(made)}
    seen = {"observe": task.observe} if task.observe is not None else {}
    own = {"start": task.start, "act": task.act, "hints": task.hint, "is_right": task.is_right or always_right}
    return {**own, "FRAME_SIZE": task.frame_size, **seen, **unrolled}


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


def _fingerprint_of(task: Task | None, template: Template, unrolled: str = "") -> str:
    """Return a short text that changes with everything that goes into a task's compiled loops, or those of all."""
    key = hashlib.sha256()
    used = [Interface, *_ENGINE.parts, kernels, *template.parts, template.module]
    files = [Path(inspect.getfile(part)) for part in used]
    sources = sorted({*files[0].parent.glob("*.py"), *files})
    for part in (unrolled, numba.__version__, llvmlite.__version__, sys.version):
        key.update(part.encode() + b"\0")
    for source in sources:
        key.update(source.read_bytes() + b"\0")
    if task is not None:
        key.update(str(task.frame_size).encode() + b"\0")
        for function in (task.start, task.observe, task.act, task.hint, task.is_right):
            update_hash(function, key, set())
    return key.hexdigest()[:16]
