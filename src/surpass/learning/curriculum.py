"""A curriculum of sizes: learn on small instances first, and on larger ones once those are solved.

For policy gradient the setting `sizes` is text such as `3-5 5-10 10-20`: ranges of sizes, one after the other. The
table learner reads the same text and uses the last range only.
"""

from __future__ import annotations

from surpass.errors import SettingError
from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Task

FIRST_LARGEST = 4
"""The largest size of the first range, unless sizes are given; each further one doubles it."""
SOLVED = 0.98
"""The share of a round's episodes that must be solved before the next range begins."""


def read_ranges(sizes: str, usual: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the smallest and the largest size of each range; `usual` is the only one if `sizes` is empty."""
    ranges = []
    for word in sizes.split():
        low, dash, high = word.partition("-")
        if not (low.isdecimal() and high.isdecimal() and dash and len(word) < 20 and 1 <= int(low) <= int(high)):
            raise SettingError(f"sizes has {word!r}; it must be ranges of sizes, such as 3-6 5-10 10-20")
        ranges.append((int(low), int(high)))
    return ranges or [usual]


def usual_sizes(task: Task) -> str:
    """Return ranges of sizes to learn a task on, as text: they begin with the smallest sizes and double."""
    smallest, largest = smallest_size(task), task.training_sizes[1]
    tops = [min(max(FIRST_LARGEST, smallest), largest)]
    while 2.5 * tops[-1] < largest:
        tops.append(2 * tops[-1])
    return " ".join(dict.fromkeys((*(f"{smallest}-{top}" for top in tops), f"{smallest}-{largest}")))


def smallest_size(task: Task) -> int:
    """Return the smallest size from 2 on that the task can draw, at most the smallest that it is learned on."""
    named = task.training_sizes[0]
    return min(drawable_sizes(task, range(2, named)), default=named)


class Curriculum:
    """Ranges of sizes, and which of them a learner has reached."""

    def __init__(self, sizes: str, usual: tuple[int, int]) -> None:
        self.ranges = read_ranges(sizes, usual)
        self.stage = 0
        """The number of the current range; a checkpoint holds it."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest size to learn on now."""
        return self.ranges[min(self.stage, len(self.ranges) - 1)]

    @property
    def largest(self) -> int:
        """The largest size of any range."""
        return max(high for _, high in self.ranges)

    @property
    def is_last(self) -> bool:
        """Whether the current range is the last one."""
        return self.stage >= len(self.ranges) - 1

    def advance_if(self, solved: float) -> bool:
        """Go to the next range if the share `solved` of a round suffices and there is one; tell whether it did."""
        if self.is_last or solved < SOLVED:
            return False
        self.stage += 1
        return True
