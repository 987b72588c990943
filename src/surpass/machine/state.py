"""One episode's memory, and how an episode can stand or end.

Every task keeps its episode in the four arrays of a `State`. The first registers belong to the machine;
a task's own registers follow, in the order of its declaration, from `FIRST` on.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from enum import IntEnum
from typing import Any, NamedTuple

from surpass.arrays import Ints, Reals
from surpass.errors import DeclarationError
from surpass.reading import validate

SIZE = 0
"""Register: the size n of the instance."""
PREVIOUS = 1
"""Register: 0 for None, else 1 + the previous action. While `act` runs it already holds the action itself."""
FUNCTION = 2
"""Register: the current function, 0 for the outermost scope."""
DEPTH = 3
"""Register: how many calls are open."""
LOCALS = 4
"""Register: how many of the task's registers, from the first, a call saves and a return restores."""
FIRST = 5
"""The task's first own register."""

SCORE = 0
"""Real: the progress that a task counts, such as neighbours in order or the best value so far."""


class State(NamedTuple):
    """The memory of one episode; kernels change it in place."""

    registers: Ints
    """[R] the machine's registers, then the task's."""
    items: Ints
    """[W] the instance's integers (for lists: the ranks of the values), then the task's own."""
    reals: Reals
    """[X] the score, then the task's real numbers."""
    stack: Ints
    """[S] the open calls' frames, the newest last."""


class Outcome(IntEnum):
    """How an episode stands: below 0 it waits for the engine, at 0 it runs, above 0 it has ended."""

    UNKNOWN_DECISION = -6
    BAD_OBSERVATION = -5
    NEEDS_INSTANCE = -4
    TABLE_FULL = -3
    STACK_FULL = -2
    UNKNOWN_OBSERVATION = -1
    RUNNING = 0
    SOLVED = 1
    WRONG_ANSWER = 2
    STEP_LIMIT = 3
    STACK_LIMIT = 4
    NO_ACTION = 5
    LOOP = 6

    @property
    def reason(self) -> str:
        """Return the outcome in words."""
        return self.name.lower().replace("_", " ")


RUNNING, SOLVED, WRONG = int(Outcome.RUNNING), int(Outcome.SOLVED), int(Outcome.WRONG_ANSWER)
"""What kernels return: the episode continues, is solved, or ended with a wrong answer."""


def registers(*names: str) -> Any:
    """Return the numbers of a task's own registers under their names, so that a kernel says `state.registers[R.v1]`."""
    for name in names:
        validate(str, name, "a register's name", DeclarationError)
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or names.count(name) > 1:
            raise DeclarationError(f"register {name!r} needs a plain word as its name, which no other register has")
    return namedtuple("Registers", names)(*range(FIRST, FIRST + len(names)))
