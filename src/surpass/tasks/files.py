"""A user's own lists: text files with one instance per line, and arrays."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surpass.errors import DataFileError, InstanceError, UnknownNameError
from surpass.reading import as_path, read_bytes
from surpass.tasks.task import Instances, Number, Task, parse_numbers, split_words
from surpass.tasks.user_code import user_errors

log = logging.getLogger("surpass")

MOST_BYTES = 1 << 30
"""How large a file of lists may be."""


@dataclass(frozen=True)
class Written:
    """An instance as somebody wrote it."""

    place: str
    """Where it stands, such as `line 3`."""
    words: Sequence[Sequence[str | Number]]
    """Its parts, as they were written."""
    parts: Sequence[Sequence[Number]]
    """The same as numbers."""


def read_instances(task: Task, path: Path, *, queries: str = "mixed", seed: int = 0) -> dict[int, Instances]:
    """Return the instances of a file by their size, in ascending order.

    A `.npy` file holds one list per row. Any other file is text with one instance per line, in the form of
    `Task.parse_instance`; blank lines are skipped. A list for a task with queries may come without: one is then drawn.
    """
    if task.inputs.read is None:
        raise DataFileError(f"task {task.name} does not read instances from files")
    if task.inputs.queries and queries not in task.inputs.queries:
        raise UnknownNameError("kind of query", queries, task.inputs.queries)
    random = np.random.default_rng(seed)
    found: dict[int, list[Instances]] = {}
    for written in read_written(path):
        parts = written.parts
        try:
            if task.inputs.complete is not None and len(parts) == 1:
                # Read as it stands first, so that a list out of order is refused before a query is added to it.
                task.read_parts([parts[0], parts[0][:1]])
                with user_errors(f"task {task.name!r}: inputs.complete"):
                    parts = task.inputs.complete(parts[0], queries, random)
            instance, _ = task.read_parts(parts)
        except InstanceError as error:
            raise DataFileError(f"{path}, {written.place}: {error}") from None
        found.setdefault(int(instance.sizes[0]), []).append(instance)
    if not found:
        raise DataFileError(f"{path} holds no lists")
    return {size: _join(found[size]) for size in sorted(found)}


def _join(instances: list[Instances]) -> Instances:
    return Instances(*(np.concatenate(column) for column in zip(*instances, strict=True)))


def read_written(path: Path) -> Iterator[Written]:
    """Yield the instances of a file as they stand there, one by one."""
    if not as_path(path).exists():
        raise DataFileError(f"{path} does not exist")
    content = read_bytes(path, DataFileError, MOST_BYTES)
    yield from (_read_array if path.suffix == ".npy" else _read_text)(path, content)


def _read_text(path: Path, content: bytes) -> Iterator[Written]:
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is not text with one list per line, nor a .npy file") from None
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if len(filled) > 1 and all(_is_single(line) for _, line in filled):
        log.warning(
            "%s has one number on each of its %s lines, so each is taken as a list of one value; if they are one list, "
            "write them on one line with commas between",
            path,
            f"{len(filled):,}",
        )
    for number, line in filled:
        parts = line.split(":")
        try:
            numbers = [parse_numbers(part) for part in parts]
        except InstanceError as error:
            is_heading = number == filled[0][0] and len(filled) > 1 and any(map(str.isalpha, line))
            heading = "; if it is a heading, remove it: every line is a list" if is_heading else ""
            raise DataFileError(f"{path}, line {number}: {error}{heading}") from None
        yield Written(f"line {number}", [split_words(part) for part in parts], numbers)


def _is_single(line: str) -> bool:
    """Tell whether a line is one number."""
    try:
        return ":" not in line and len(parse_numbers(line)) == 1
    except InstanceError:
        return False


def _read_array(path: Path, content: bytes) -> Iterator[Written]:
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception:  # the heading is read as Python, so that almost anything can go wrong with it
        raise DataFileError(f"{path} is not a .npy file of numbers, or it is cut off") from None
    if array.ndim != 2 or array.dtype.kind not in "iuf" or not array.shape[1]:
        raise DataFileError(f"{path} must hold a 2-D array of numbers, one list per row")
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array).any(axis=1))[0])
        raise DataFileError(f"{path}, row {row}: NaN cannot be ordered")
    for row, values in enumerate(array.tolist()):
        yield Written(f"row {row}", [values], [values])
