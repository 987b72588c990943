"""How far lists have come, by a hint that their task declares: learners may see it, agents do not."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.engine.batch import allocate
from surpass.engine.specialise import Template, specialise
from surpass.engine.types import types_of
from surpass.errors import UnknownNameError
from surpass.full_view import hinting
from surpass.tasks.lists import from_lists
from surpass.tasks.task import Task

TEMPLATE = Template(hinting, {"read_hint": types_of("batch i1 i2 f2 i f1")})


class HintReader:
    """Reads one hint of a task off whole lists."""

    def __init__(self, task: Task, name: str) -> None:
        names = [hint.name for hint in task.all_hints]
        if name not in names:
            raise UnknownNameError(f"hint of {task.name}", name, names)
        self.task, self.number = task, names.index(name)

    def measure(self, lists: Ints) -> Reals:
        """Return the hint [m] of lists [m, n]."""
        found = np.zeros(len(lists))
        room = allocate(self.task, 1, lists.shape[1])
        specialise(self.task, TEMPLATE).read_hint(room, *from_lists(lists), self.number, found)
        return found
