"""The one value that every agent comes down to: a table from observations to actions.

A table is filled on demand: it asks its source (a teacher, a network, a program) once for each observation that it
lacks. It lies in memory as the compiled loops read it, in open addressing: `keys` and `values`, with a free place
marked `EMPTY`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.errors import SettingError
from surpass.machine.interface import NO_ACTION
from surpass.machine.kernel import kernel
from surpass.tasks.task import Task

EMPTY = -1
"""Marks a free place; the keys are observations and so never negative."""


@runtime_checkable
class Agent(Protocol):
    """A function from observations to actions."""

    @property
    def name(self) -> str:
        """How the agent is called on the command line."""

    @property
    def task(self) -> Task:
        """The task whose observations it understands."""

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""


class Table:
    """Observations with their actions; also an agent, which asks its source about what it lacks."""

    _most_held: int
    """No fewer than the table holds: to count takes as long as to look through all places."""

    def __init__(self, task: Task, source: Agent | None = None, *, name: str = "") -> None:
        self.task, self.source = task, source
        self.name = name or (source.name if source else "table")
        self.clear()

    @classmethod
    def of(cls, agent: Agent) -> Table:
        """Return the table of an agent, still empty; one that is a table already is returned as it is."""
        return agent if isinstance(agent, Table) else cls(agent.task, agent)

    @classmethod
    def holding(cls, task: Task, observations: Ints, actions: Ints, *, name: str = "") -> Table:
        """Return a table of some observations [m] and their actions [m], without a source."""
        table = cls(task, name=name)
        table.insert(np.asarray(observations, np.int64), np.asarray(actions, np.int64))
        return table

    def __len__(self) -> int:
        return int(np.count_nonzero(self.keys != EMPTY))

    # Asking

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each observation [m], asking the source about new ones; without one `NO_ACTION`."""
        observations = np.asarray(observations, np.int64)
        places = find_all(self.keys, observations)
        missing = self.keys[places] == EMPTY
        if self.source is not None and missing.any():
            self.extend(np.unique(observations[missing]))
            places = find_all(self.keys, observations)
        return self.values[places]

    def holds(self, observations: Ints) -> Flags:
        """Tell for each observation [m] whether it is in the table."""
        held: Flags = self.keys[find_all(self.keys, np.asarray(observations, np.int64))] != EMPTY
        return held

    def entries(self) -> tuple[Ints, Ints]:
        """Return the observations in ascending order, and their actions."""
        taken = self.keys != EMPTY
        order = np.argsort(self.keys[taken])
        return self.keys[taken][order], self.values[taken][order]

    @property
    def observations(self) -> Ints:
        """[m] what the table holds, in ascending order."""
        return self.entries()[0]

    # Filling

    def extend(self, observations: Ints) -> None:
        """Ask the source about new, distinct observations [m] and keep its answers; without one, keep `NO_ACTION`."""
        if self.source is None:
            answers = np.full(len(observations), NO_ACTION, np.int64)
        else:
            answers = np.asarray(self.source.actions(observations))
        self._check(observations, answers)
        self.insert(observations, answers.astype(np.int64, copy=False))

    def insert(self, observations: Ints, actions: Ints) -> None:
        """Put observations [m] with their actions [m] in, over those that are there; if room is short, all move."""
        self._most_held += len(observations)
        if 2 * self._most_held > len(self.keys):
            wanted = self._most_held = len(self) + len(observations)
            if 2 * wanted > len(self.keys):
                held = self.entries()
                self._allocate(1 << (4 * wanted).bit_length())
                self._most_held = wanted
                put(self.keys, self.values, *held)
        put(self.keys, self.values, observations, actions)

    def clear(self) -> None:
        """Remove everything."""
        self._allocate(1024)

    def _allocate(self, capacity: int) -> None:
        self.keys: Ints = np.full(capacity, EMPTY, np.int64)
        self.values: Ints = np.full(capacity, NO_ACTION, np.int64)
        self._most_held = 0

    def _check(self, observations: Ints, answers: Ints) -> None:
        """Raise `SettingError` unless every answer is an action or `NO_ACTION`; others lie outside of arrays."""
        most = self.task.interface.action_count
        if answers.shape != observations.shape or not np.issubdtype(answers.dtype, np.integer):
            raise SettingError(
                f"{self.name} gave {answers.size} answers to {len(observations)} observations; each needs one"
            )
        bad = answers[(answers < NO_ACTION) | (answers >= most)]
        if bad.size:
            raise SettingError(f"{self.name} answered {bad[0]}; actions are 0 to {most - 1}, and -1 for none")


# Places. `find` is part of the compiled loops; what Python needs goes through NumPy, so that nothing here is compiled.


def _home(observation: Any, mask: int) -> Any:
    """Return the place where the search for an observation begins; works on one and on arrays."""
    # Fold to 31 bits and multiply by 2**32 over the golden ratio: neighbours land far apart and nothing overflows.
    return ((((observation ^ (observation >> 31)) & 0x7FFFFFFF) * 0x9E3779B1) >> 20) & mask


_compiled_home = kernel(_home)


@kernel
def find(keys: Ints, observation: int) -> int:
    """Return the place of an observation, or the free place where it belongs."""
    mask = len(keys) - 1
    place: int = _compiled_home(observation, mask)
    while keys[place] != observation and keys[place] != EMPTY:
        place = (place + 1) & mask
    return place


def find_all(keys: Ints, observations: Ints) -> Ints:
    """Return the place of each observation [m], as `find` does."""
    mask = len(keys) - 1
    places: Ints = _home(observations, mask)
    searching = np.arange(len(observations))
    while searching.size:
        held = keys[places[searching]]
        searching = searching[(held != observations[searching]) & (held != EMPTY)]
        places[searching] = (places[searching] + 1) & mask
    return places


def put(keys: Ints, values: Ints, observations: Ints, actions: Ints) -> None:
    """Put observations [m] and their actions [m] into a table that has room, in place."""
    mask = len(keys) - 1
    places: Ints = _home(observations, mask)
    while len(observations):
        is_free = keys[places] == EMPTY
        keys[places[is_free]] = observations[is_free]
        # One of several that found the same free place has it; the others try the next.
        is_there = keys[places] == observations
        values[places[is_there]] = actions[is_there]
        observations, actions = observations[~is_there], actions[~is_there]
        places = (places[~is_there] + 1) & mask
