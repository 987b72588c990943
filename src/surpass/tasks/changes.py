"""Small random changes to written instances: what a search for unusual ones is made of.

They work on the written form, so every task that reads and writes its instances has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from surpass.errors import InstanceError
from surpass.tasks.task import Instances, Number, Task, parse_numbers

Parts = list[list[Number]]
"""A written instance: its lists and single numbers, which colons separate in text."""

LONGEST_RUN = 16
"""At most how many neighbours are cut, repeated or moved at once."""
MOST_CHANGES = 4


def written_parts(task: Task, instance: Instances) -> Parts:
    """Return one instance as its parts."""
    return [parse_numbers(part) for part in task.write_instance(instance).split(":")]


def read_parts(task: Task, parts: Parts) -> Instances | None:
    """Return the instance that parts describe, or None if the task does not take them."""
    assert task.inputs.read is not None
    try:
        return task.inputs.read(parts)[0]
    except (InstanceError, ArithmeticError, TypeError, ValueError):
        return None


class Changer:
    """Changes instances of a task at random: a few small changes each time."""

    def __init__(self, task: Task, seed: int, largest: int) -> None:
        self.task, self.largest = task, largest
        self._random = Random(seed)
        self._must_be_ordered = False

    def change(self, parts: Parts, other: Parts, *, keep_size: bool = False) -> tuple[Parts, Instances] | None:
        """Return a changed copy of an instance, into which some of `other` may go; None if the task does not take it.

        Lists of the same length are one table: they grow and shrink together. A task whose lists must be in order gets
        them in order.
        """
        changed = [list(part) for part in parts]
        kinds = SAME_SIZE if keep_size else ANY_SIZE
        for _ in range(self._random.randint(1, MOST_CHANGES)):
            self._random.choice(kinds)(self._random, changed, other)
        if len(changed[0]) > self.largest and not keep_size:
            first = self._random.randrange(len(changed[0]) - self.largest + 1)
            changed = [part[first : first + self.largest] if _is_list(part, changed) else part for part in changed]
        if self._must_be_ordered:
            changed[0].sort()
        instance = read_parts(self.task, changed)
        if instance is None and not self._must_be_ordered:
            changed[0].sort()
            instance = read_parts(self.task, changed)
            # If one in order is taken, the task may only take such: from now on they are put in order at once.
            self._must_be_ordered = instance is not None and read_parts(self.task, _reversed(changed)) is None
        return None if instance is None else (changed, instance)


def _reversed(parts: Parts) -> Parts:
    return [parts[0][::-1], *parts[1:]]


def _is_list(part: Sequence[Number], parts: Parts) -> bool:
    """Tell whether a part has a number for each item, as the first one does."""
    return len(part) == len(parts[0])


def _lists(parts: Parts) -> list[list[Number]]:
    return [part for part in parts if _is_list(part, parts)]


def _run(random: Random, size: int) -> tuple[int, int]:
    """Return the first position of a run of neighbours and the one after its last, most often of few."""
    length = min(size, random.choice((1, 1, 2, 3, 4, random.randint(1, LONGEST_RUN))))
    first = random.randint(0, size - length)
    return first, first + length


def _some_part(random: Random, parts: Parts) -> list[Number]:
    """Return a part that has numbers, or one of no instance if none has."""
    filled = [part for part in parts if part]
    return random.choice(filled) if filled else [0]


def _change_number(random: Random, parts: Parts, other: Parts) -> None:
    """Set a number to another one of the instance, or next to it: ties are made and broken, queries shifted."""
    part, near = _some_part(random, parts), _some_part(random, parts)
    part[random.randrange(len(part))] = random.choice(near) + random.choice((-1, 0, 0, 0, 1))


def _nudge(random: Random, parts: Parts, other: Parts) -> None:
    """Make a number a little larger or smaller."""
    part = _some_part(random, parts)
    at = random.randrange(len(part))
    if isinstance(part[at], int):
        part[at] += random.choice((-2, -1, 1, 2))
    else:
        part[at] *= random.choice((0.5, 0.9, 1.1, 2.0))


def _widen(random: Random, parts: Parts, other: Parts) -> None:
    """Double every whole number, so that others fit in between; very large ones are halved instead."""
    most = max((abs(x) for part in parts for x in part), default=0)
    if most > 1000:
        parts[:] = [[x // 2 if isinstance(x, int) else x / 2 for x in part] for part in parts]
    elif all(isinstance(x, int) for part in parts for x in part):
        parts[:] = [[2 * x for x in part] for part in parts]


def _swap(random: Random, parts: Parts, other: Parts) -> None:
    """Swap two items."""
    if parts[0]:
        i, j = (random.randrange(len(parts[0])) for _ in range(2))
        for part in _lists(parts):
            part[i], part[j] = part[j], part[i]


def _reverse(random: Random, parts: Parts, other: Parts) -> None:
    """Reverse a run of items, or put it in order."""
    if parts[0]:
        first, end = sorted((random.randrange(len(parts[0])), random.randrange(len(parts[0]))))
        is_sorting = random.random() < 0.3
        for part in _lists(parts):
            part[first : end + 1] = sorted(part[first : end + 1]) if is_sorting else part[first : end + 1][::-1]


def _level(random: Random, parts: Parts, other: Parts) -> None:
    """Make all numbers of a run alike."""
    if parts[0]:
        part = random.choice(_lists(parts))
        first, end = _run(random, len(part))
        part[first:end] = [part[first]] * (end - first)


def _move_run(random: Random, parts: Parts, other: Parts) -> None:
    """Move a run of items elsewhere."""
    if parts[0]:
        first, end = _run(random, len(parts[0]))
        to = random.randint(0, len(parts[0]) - (end - first))
        for part in _lists(parts):
            run = part[first:end]
            del part[first:end]
            part[to:to] = run


def _cut(random: Random, parts: Parts, other: Parts) -> None:
    """Cut out a run of items."""
    if parts[0]:
        first, end = _run(random, len(parts[0]))
        for part in _lists(parts):
            del part[first:end]


def _repeat(random: Random, parts: Parts, other: Parts) -> None:
    """Insert one item several times beside itself."""
    if parts[0]:
        at = random.randrange(len(parts[0]))
        count = random.choice((1, 1, 2, 3, random.randint(1, LONGEST_RUN)))
        for part in _lists(parts):
            part[at:at] = [part[at]] * count


def _copy_run(random: Random, parts: Parts, other: Parts) -> None:
    """Insert a copy of a run of items elsewhere, all of its numbers a little larger or smaller or as they are."""
    if parts[0]:
        first, end = _run(random, len(parts[0]))
        to, more = random.randint(0, len(parts[0])), random.choice((-1, 0, 1))
        for part in _lists(parts):
            part[to:to] = [x + more for x in part[first:end]]


def _join(random: Random, parts: Parts, other: Parts) -> None:
    """Append the items of another instance, above or among its own."""
    more, lists = _lists(other), _lists(parts)
    if len(more) == len(lists):
        above = random.choice((0, max(parts[0], default=0)))
        for part, added in zip(lists, more, strict=True):
            part += [x + above for x in added]


SAME_SIZE: Sequence[Callable[[Random, Parts, Parts], None]] = (
    *(_change_number, _change_number, _nudge, _widen),
    *(_swap, _reverse, _level, _move_run),
)
ANY_SIZE = (*SAME_SIZE, _cut, _repeat, _copy_run, _join)
