"""Make a failing instance smaller while it still fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from surpass.arrays import Flags
from surpass.engine.explore import can_explore
from surpass.tasks.changes import Parts, read_parts, written_parts
from surpass.tasks.task import Instances, Number, Task, join_instances

Fails = Callable[[Instances], Flags | None]
"""Returns which of some instances fail, or None when enough have been tried."""

FEWEST, MOST = 4, 256
"""How many candidates to try together: few at first, twice as many each time."""


def shrink(task: Task, instance: Instances, fails: Fails) -> Instances:
    """Return a failing instance that is as small as deleting elements and lowering numbers make it.

    Works on the written form, so any task that reads and writes its instances can have it. Of the candidates of one
    kind the first that still fails is taken, until none does.
    """
    if not can_explore(task):
        return instance
    parts = written_parts(task, instance)
    size = int(instance.sizes[0])
    kinds: list[Callable[[Parts, int], Iterator[Parts]]] = [_delete, _merge, _lower, _reorder]
    chosen = instance
    at = 0
    while at < len(kinds):
        found = _first_failing(task, kinds[at](parts, size), fails)
        if found is None:
            at += 1
            continue
        parts, chosen = found
        size = int(chosen.sizes[0])
        at = 0
    return chosen


def _first_failing(task: Task, candidates: Iterator[Parts], fails: Fails) -> tuple[Parts, Instances] | None:
    """Return the first candidate that fails, as its parts and as an instance."""
    at_once = FEWEST
    while True:
        some: list[tuple[Parts, Instances]] = []
        for candidate in candidates:
            instance = read_parts(task, candidate)
            if instance is not None:
                some.append((candidate, instance))
            if len(some) == at_once:
                break
        if not some:
            return None
        failed = fails(join_instances(task, [instance for _, instance in some]))
        if failed is None:
            return None
        if failed.any():
            return some[int(failed.argmax())]
        at_once = min(2 * at_once, MOST)


def _delete(parts: Parts, size: int) -> Iterator[Parts]:
    """Yield the instance without a half, a quarter and so on of its elements, from every part that has one for each."""
    length = max(1, size // 2) if size else 0
    while length:
        for first in range(0, size, length):
            yield [p[:first] + p[first + length :] if len(p) == size else p for p in parts]
        length //= 2


def _merge(parts: Parts, size: int) -> Iterator[Parts]:
    """Yield the instance with simpler numbers in a part: only two, their ranks, or two neighbours merged."""
    for k, part in enumerate(parts):
        distinct = sorted(set(part))
        ranks: dict[Number, Number] = {value: rank for rank, value in enumerate(distinct)}
        if len(distinct) > 2:
            for most in distinct[:-1]:
                yield _with(parts, k, [int(value > most) for value in part])
        if list(ranks) != list(ranks.values()):
            yield _with(parts, k, [ranks[value] for value in part])
        if any(value != int(value) for value in part if abs(value) < math.inf):
            yield _with(parts, k, [ranks[value] + 1 for value in part])
        for low, high in pairwise(distinct):
            yield _with(parts, k, [low if value == high else value for value in part])


def _lower(parts: Parts, size: int) -> Iterator[Parts]:
    """Yield the instance with one number of a part lowered to the next smaller one there."""
    for k, part in enumerate(parts):
        below = {high: low for low, high in pairwise(sorted(set(part)))}
        for at, value in enumerate(part):
            if value in below:
                yield _with(parts, k, [*part[:at], below[value], *part[at + 1 :]])


def _reorder(parts: Parts, size: int) -> Iterator[Parts]:
    """Yield the instance with two neighbours of a part put in order."""
    for k, part in enumerate(parts):
        for at, (a, b) in enumerate(pairwise(part)):
            if a > b:
                yield _with(parts, k, [*part[:at], b, a, *part[at + 2 :]])


def _with(parts: Parts, k: int, part: list[Number]) -> Parts:
    return [*parts[:k], part, *parts[k + 1 :]]
