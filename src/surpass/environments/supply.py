"""Instances for episodes to start on: drawn in advance, none of them solved already, or a user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surpass.engine.batch import allocate
from surpass.engine.specialise import specialise
from surpass.environments.settings import Settings
from surpass.errors import InstanceError, SettingError
from surpass.machine.state import Outcome
from surpass.tasks.task import Instances, Request

ATTEMPTS = 200
"""How often an instance is drawn anew before every one of its kind is taken to start solved."""
ATTEMPTS_PER_SIZE = 10
"""How many of these attempts keep the size that was drawn."""
MEMORY_WORDS = 1 << 21
"""About how many 8-byte words the instances drawn in advance may take: 16 MB."""


class Supply:
    """Instances drawn in advance, in the order in which they are handed out.

    Each round of drawing is one call per size for many instances, so that handing out a few costs a slice.
    """

    def __init__(self, settings: Settings, round_size: int) -> None:
        self.settings = settings
        task, widest = settings.task, settings.sizes[1]
        words = task.memory.item_width(widest) + task.memory.real_width(widest)
        self._round_size = min(round_size, max(1, MEMORY_WORDS // words))
        self.forget()

    def forget(self) -> None:
        """Drop the instances drawn in advance, after a new seed."""
        self._stock = self.settings.task.allocate(0, self.settings.sizes[1])
        self._taken = 0

    def take(self, count: int, stream: np.random.Generator) -> Instances:
        """Return the next `count` instances, each of its own size."""
        if self._stock.count - self._taken < count:
            rest = self._stock.part(self._taken, self._stock.count)
            fresh = self._draw(max(count, self._round_size), stream)
            self._stock = Instances(*(np.concatenate(pair) for pair in zip(rest, fresh, strict=True)))
            self._taken = 0
        first, self._taken = self._taken, self._taken + count
        return self._stock.part(first, self._taken)

    def _draw(self, count: int, stream: np.random.Generator) -> Instances:
        """Return `count` instances that do not start solved; sizes are uniform among those that have any."""
        low, high = self.settings.sizes
        settings, task = self.settings, self.settings.task

        def ask(size: int, wanted: int) -> Request:
            seed = int(stream.integers(1 << 62))
            return Request(size=size, count=wanted, seed=seed, data=settings.data, queries=settings.queries)

        drawn, missing = task.allocate(count, high), np.arange(count)
        for attempt in range(ATTEMPTS):
            if attempt % ATTEMPTS_PER_SIZE == 0:
                drawn.sizes[missing] = stream.integers(low, high, len(missing), endpoint=True)
            fresh = task.draw_each(drawn.sizes[missing], high, ask)
            drawn.items[missing], drawn.reals[missing] = fresh.items, fresh.reals
            started = allocate(task, fresh.count, high)
            specialise(task).reset(started, *fresh, np.arange(fresh.count))
            missing = missing[started.outcomes != Outcome.RUNNING]
            if not missing.size:
                return drawn
        of_size = f"size {low}" if low == high else f"the sizes {low} to {high}"
        raise SettingError(
            f"data {settings.data!r} gives {task.name} instances of {of_size} that start solved, "
            f"{ATTEMPTS} times in a row; choose other data or a larger size"
        )


def read_instance(settings: Settings, written: Any) -> tuple[Instances, tuple[str, ...]]:
    """Return a user's own instance, written as text or as lists of numbers, and the labels of its items."""
    task, text = settings.task, written
    if not isinstance(written, str):
        parts = written.tolist() if isinstance(written, np.ndarray) else written
        if not isinstance(parts, Sequence):
            raise InstanceError(f"{written!r} is not an instance of {task.name}: write {task.inputs.written}")
        if not any(isinstance(part, list | tuple | np.ndarray) for part in parts):
            parts = [parts]
        text = ":".join(",".join(map(str, part)) if isinstance(part, Iterable) else str(part) for part in parts)
    instances, labels = task.parse_instance(text)
    size = int(instances.sizes[0])
    if settings.is_full_view and size != settings.fixed_size:
        raise InstanceError(f"{written!r} has size {size}, but this environment is for size {settings.fixed_size}")
    return instances, labels
