"""Where the instances come from that one learns on: named distributions, and a user's own files.

A text names them, separated by commas, each with a weight behind `*` if it shall count more or less than 1:
`my-lists.csv`, or `my-lists.csv*3,uniform`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surpass.arrays import Ints
from surpass.bundles import digest as digest_of
from surpass.engine.run import AnyAgent, run
from surpass.errors import DataFileError, SettingError
from surpass.reading import read_bytes, show
from surpass.tasks.files import MOST_BYTES, read_instances
from surpass.tasks.task import Instances, Request, Task, join_instances

LONGEST = 5000
"""The longest lists that one learns on: every program that is tried runs on some of them."""
HELD_OUT = 5
"""One in so many lists of a file is held out."""
COMPARED = 200
"""How many lists of each length of the task's first distribution the held-out ones are compared with."""
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

    def __init__(
        self, task: Task, text: str, queries: str, seed: int, *, sizes: tuple[int, ...] = (), digest: str = ""
    ) -> None:
        """Find them; `digest` is that of the files which a resumed run began with."""
        self.task, self.queries = task, queries
        self.all = [_find(task, word, queries, seed) for word in (text or task.inputs.usual_data).split(",")]
        files = [source for source in self.all if source.learned is not None]
        lengths = [source.learned.sizes for source in files if source.learned is not None]
        self.sizes = sizes if not files else _groups(np.concatenate(lengths))
        """The sizes that count; a list of a file counts for the largest of them that is not longer."""
        self.digest = ",".join(source.digest for source in files)
        if digest and digest != self.digest:
            raise SettingError(f"data {text} is not what the run was made with: its checksum differs")
        self.held_out = [source.held_out for source in files if source.held_out is not None]
        self.has_files = bool(files)
        self.lengths = (int(min(map(np.min, lengths))), int(max(map(np.max, lengths)))) if files else (0, 0)
        """The lengths of the shortest and of the longest list of files."""

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

    def draw_between(self, sizes: tuple[int, int], count: int, seed: int, widest: int = 0) -> Instances:
        """Return instances of sizes from the first to the last, from each source by its weight, in any order.

        Where no source has any of these sizes, they come from the task's first distribution.
        """
        random = np.random.default_rng([seed, 8])
        low, high = sizes
        fitting = self._fitting(low, high) or [(Source(self.task.inputs.usual_data, 1.0), None)]
        weights = np.array([source.weight for source, _ in fitting])
        parts = []
        for k, own in enumerate(random.multinomial(count, weights / weights.sum()).tolist()):
            source, rows = fitting[k]
            if source.learned is not None and rows is not None:
                parts.append(source.learned.rows(random.choice(rows, own)))
            else:
                parts.append(self._draw_each(source.name, random.integers(low, high + 1, own), high, seed))
        drawn = join_instances(self.task, parts, widest)
        return drawn.rows(random.permutation(count))

    def _draw_each(self, name: str, sizes: Ints, widest: int, seed: int) -> Instances:
        """Return an instance of each of some sizes, of a distribution."""

        def ask(size: int, count: int) -> Request:
            return Request(size=size, count=count, seed=seed, data=name, queries=self.queries)

        return self.task.draw_each(sizes, widest, ask)

    def _fitting(self, low: int, high: int) -> list[tuple[Source, Ints | None]]:
        """Return the sources that have instances of some sizes; of a file also which these are."""
        found: list[tuple[Source, Ints | None]] = []
        for source in self.all:
            rows = None
            if source.learned is not None:
                rows = np.flatnonzero((low <= source.learned.sizes) & (source.learned.sizes <= high))
            if rows is None or len(rows):
                found.append((source, rows))
        return found

    def check_sizes(self, low: int, high: int) -> None:
        """Raise `SettingError` unless some source has instances of sizes from the first to the last."""
        if not self._fitting(low, high):
            between = f"{self.lengths[0]:,} to {self.lengths[1]:,}"
            raise SettingError(f"the sizes to learn on are {low:,} to {high:,}, the lists of the data are {between}")

    def describe_held_out(self, before: AnyAgent | None, after: AnyAgent, fresh: Sequence[Instances] = ()) -> list[str]:
        """Return what an agent saves on the lists of files that were held out, beside usual ones, in lines.

        Without an agent to compare with, how it fares; without `fresh` instances some are drawn.
        """
        if not self.has_files:
            return []
        if not self.held_out:
            return ["No list was held out: the data hold one list only."]
        usual = self.task.inputs.usual_data
        fresh = fresh or [self._draw_each(usual, np.full(COMPARED, n), n, COMPARED) for n in self.sizes]
        lines = []
        for what, parts in (("held-out lists", self.held_out), (f"{usual} lists", fresh)):
            instances = join_instances(self.task, parts)
            lines.append(f"On {instances.count:,} {what}: {_compare(self.task, before, after, instances)}.")
        return lines

    def _rows(self, source: Source, size: int) -> Ints | None:
        """Return which lists of a file belong to a group; None for a distribution."""
        return None if source.learned is None else np.flatnonzero(self.group(source.learned.sizes) == size)


def _compare(task: Task, before: AnyAgent | None, after: AnyAgent, instances: Instances) -> str:
    """Return what an agent saves, or gains, against another on the same instances, in words."""
    results = run(after, instances)
    by_steps = task.measure == "steps"
    own = results.steps if by_steps else results.rewards
    if before is None:
        return f"{own.mean():,.2f} {task.measure}, {results.solved.mean():.1%} solved"
    other = run(before, instances)
    first = other.steps if by_steps else other.rewards
    saved = first - own if by_steps else own - first
    error = float(saved.std() / np.sqrt(len(saved)))
    return (
        f"{saved.mean():,.2f} ± {1.96 * error:.2f} of {first.mean():,.2f} {task.measure} "
        f"{'saved' if by_steps else 'gained'}, {results.solved.mean():.1%} solved"
    )


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
        raise DataFileError(f"every list of {path} is {why}; one learns on lists of 2 to {LONGEST:,}")
    joined = join_instances(task, list(short.values()))
    order = np.random.default_rng([seed, 6]).permutation(joined.count)
    kept = order[: joined.count // HELD_OUT or int(joined.count > 1)]
    learned = joined.rows(np.sort(order[len(kept) :]))
    held_out = joined.rows(np.sort(kept)) if len(kept) else None
    return Source(name, weight, learned, held_out, digest_of(read_bytes(path, DataFileError, MOST_BYTES)))


def _groups(lengths: Ints) -> tuple[int, ...]:
    """Return the shortest lengths of some groups of lists, each with about as many."""
    distinct = np.unique(lengths)
    if len(distinct) <= MOST_GROUPS:
        return tuple(distinct.tolist())
    firsts = np.quantile(lengths, np.arange(MOST_GROUPS) / MOST_GROUPS, method="lower")
    return tuple(np.unique(firsts).tolist())
