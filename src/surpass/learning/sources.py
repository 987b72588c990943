"""Where the instances come from that a program is made shorter on: named distributions, and a user's own files.

A text names them, separated by commas, each with a weight behind `*` if it shall count more or less than 1:
`my-lists.csv`, or `my-lists.csv*3,uniform`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surpass.arrays import Ints
from surpass.bundles import digest
from surpass.errors import DataFileError, SettingError
from surpass.reading import read_bytes, show
from surpass.tasks.files import MOST_BYTES, read_instances
from surpass.tasks.task import Instances, Request, Task, join_instances

LONGEST = 5000
"""The longest lists that a program is made shorter on: each candidate runs on some of them."""
HELD_OUT = 5
"""One in so many lists of a file is held out."""
MOST_GROUPS = 6
"""Into how many groups of about the same length the lists of files are put at most."""


@dataclass(frozen=True, eq=False)
class Source:
    """A distribution, or the lists of a file, with what it counts for."""

    name: str
    weight: float
    learned: Instances | None = None
    """The lists of a file to learn on; None for a distribution."""
    held_out: Instances | None = None
    """Those that are kept for the end, if there are two or more."""
    digest: str = ""


class Sources:
    """Everything that instances are drawn from."""

    def __init__(self, task: Task, text: str, queries: str, sizes: tuple[int, ...], seed: int) -> None:
        self.task, self.queries = task, queries
        self.all = [_find(task, word, queries, seed) for word in (text or task.inputs.usual_data).split(",")]
        files = [source for source in self.all if source.learned is not None]
        lengths = [source.learned.sizes for source in files if source.learned is not None]
        self.sizes = sizes if not files else _groups(np.concatenate(lengths))
        """The sizes that the program is made shorter on; lists of files count for the largest that is not longer."""
        self.digest = ",".join(source.digest for source in files)
        self.held_out = [source.held_out for source in files if source.held_out is not None]
        self.has_files = bool(files)

    @property
    def names(self) -> set[str]:
        """The names of the distributions among them."""
        return {source.name for source in self.all if source.learned is None}

    def group(self, sizes: Ints) -> Ints:
        """Return for each size [m] the one of `self.sizes` that it counts for, or 0."""
        if not self.has_files:
            return np.where(np.isin(sizes, self.sizes), sizes, 0)
        groups = np.array([0, *self.sizes])
        return groups[np.searchsorted(groups, sizes, side="right") - 1]

    def draw(self, size: int, count: int, seed: int) -> list[Instances]:
        """Return about `count` instances of a group, from each source by its weight."""
        fitting = [(source, self._rows(source, size)) for source in self.all]
        fitting = [(source, rows) for source, rows in fitting if rows is None or len(rows)]
        total = sum(source.weight for source, _ in fitting)
        parts = []
        for k, (source, rows) in enumerate(fitting):
            own = max(1, round(count * source.weight / total))
            if rows is None:
                request = Request(size=size, count=own, seed=seed, data=source.name, queries=self.queries)
                parts.append(self.task.draw(request))
            else:
                assert source.learned is not None
                random = np.random.default_rng([seed, k])
                parts.append(source.learned.rows(rows[random.integers(len(rows), size=own)]))
        return parts

    def _rows(self, source: Source, size: int) -> Ints | None:
        """Return which lists of a file belong to a group; None for a distribution."""
        return None if source.learned is None else np.flatnonzero(self.group(source.learned.sizes) == size)


def _find(task: Task, word: str, queries: str, seed: int) -> Source:
    match = re.fullmatch(r"\s*(.+?)\s*(?:\*\s*(\d+(?:\.\d+)?))?\s*", word)
    if match is None or (match[2] is not None and not 0 < float(match[2]) <= 1e6):
        raise SettingError(f"data is {show(word)}; it must be a distribution or a file, and a weight as in NAME*3")
    name, weight = match[1], float(match[2] or 1)
    if name in task.inputs.draw:
        return Source(name, weight)
    if "/" not in name and "." not in name:
        raise SettingError(f"data is {name!r}; allowed: {', '.join(task.inputs.draw)}, or a file such as my-lists.csv")
    return _read(task, name, weight, queries, seed)


def _read(task: Task, name: str, weight: float, queries: str, seed: int) -> Source:
    path = Path(name)
    found = read_instances(task, path, queries=queries, seed=seed)
    short = {size: instances for size, instances in found.items() if 1 < size <= LONGEST}
    if not short:
        why = f"longer than {LONGEST:,} items" if max(found) > LONGEST else "of a single item"
        raise DataFileError(f"every list of {path} is {why}; a program is made shorter on lists of 2 to {LONGEST:,}")
    joined = join_instances(task, list(short.values()))
    order = np.random.default_rng([seed, 6]).permutation(joined.count)
    kept = order[: joined.count // HELD_OUT or int(joined.count > 1)]
    learned = joined.rows(np.sort(order[len(kept) :]))
    held_out = joined.rows(np.sort(kept)) if len(kept) else None
    return Source(name, weight, learned, held_out, digest(read_bytes(path, DataFileError, MOST_BYTES)))


def _groups(lengths: Ints) -> tuple[int, ...]:
    """Return the shortest lengths of some groups of lists, each with about as many."""
    distinct = np.unique(lengths)
    if len(distinct) <= MOST_GROUPS:
        return tuple(distinct.tolist())
    firsts = np.quantile(lengths, np.arange(MOST_GROUPS) / MOST_GROUPS, method="lower")
    return tuple(np.unique(firsts).tolist())
