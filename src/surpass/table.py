"""The one value that every agent comes down to: a table from observations to actions.

A table is filled on demand: what it lacks it asks its source (a teacher, a network, a program), once for each
observation. It lies in memory as the compiled loops read it, in open addressing: `keys` and `values`, with a free place
marked `EMPTY`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numba
import numpy as np
import numpy.typing as npt

from surpass.bundles import check_interface, interface_fingerprint, load_bundle, save_bundle
from surpass.errors import SavedFileError, SettingError
from surpass.machine.interface import Interface
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task

__all__ = ["ANY", "EMPTY", "NO_ACTION", "Agent", "Change", "Table", "find", "is_saved_table"]

Ints = npt.NDArray[np.int64]

EMPTY = -1
"""Marks a free place; the keys are observations and so never negative."""
NO_ACTION = -1
"""The answer of an agent that has no action for an observation."""
ANY = -2
"""Stands for whatever action there is, in a change."""
KIND = "table"
"""What the record of a saved table says that it is."""


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


class Change(NamedTuple):
    """Where `features` have the value numbers `digits` and the action is `old`, or for `ANY`, it becomes `new`."""

    features: Ints
    digits: Ints
    old: int
    new: int


class Table:
    """Observations with their actions; also an agent, which asks its source about what it lacks."""

    def __init__(self, task: Task, source: Agent | None = None, *, name: str = "") -> None:
        self.task, self.source = task, source
        self.name = name or (source.name if source else "table")
        self._count = 0
        self.clear()

    @classmethod
    def of(cls, agent: Agent) -> Table:
        """Return the table of an agent, still empty; one that is a table already is returned as it is."""
        return agent if isinstance(agent, Table) else cls(agent.task, agent)

    @classmethod
    def holding(cls, task: Task, observations: Ints, actions: Ints, *, name: str = "") -> Table:
        """Return a table of some distinct observations [m] and their actions [m], without a source."""
        table = cls(task, name=name)
        table.insert(np.asarray(observations, np.int64), np.asarray(actions, np.int64))
        return table

    def __len__(self) -> int:
        return self._count

    # Asking

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each observation [m], asking the source about new ones; without one `NO_ACTION`."""
        observations = np.ascontiguousarray(observations, np.int64)
        missing = ~self.holds(observations)
        if missing.any() and self.source is not None:
            self.extend(np.unique(observations[missing]))
        found = np.empty(len(observations), np.int64)
        look_up(self.keys, self.values, observations, found)
        return found

    def holds(self, observations: Ints) -> npt.NDArray[np.bool_]:
        """Tell for each observation [m] whether it is in the table."""
        held = np.empty(len(observations), np.bool_)
        is_held(self.keys, np.ascontiguousarray(observations, np.int64), held)
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

    def extend(self, observations: Ints) -> bool:
        """Ask the source about new, distinct observations [m] and keep its answers; return whether all places moved."""
        if self.source is None:
            answers = np.full(len(observations), NO_ACTION, np.int64)
        else:
            answers = np.asarray(self.source.actions(observations))
        self._check(observations, answers)
        return self.insert(observations, answers)

    def insert(self, observations: Ints, actions: Ints) -> bool:
        """Put new, distinct observations [m] with their actions [m] in; return whether all places moved."""
        wanted = self._count + len(observations)
        moves: bool = 2 * wanted > len(self.keys)
        if moves:
            known = self.entries()
            self._allocate(1 << (4 * wanted).bit_length())
            put(self.keys, self.values, *known)
        put(self.keys, self.values, observations, actions)
        self._count = wanted
        return moves

    def join(self, other: Table) -> None:
        """Put in what another table of the same task holds and this one lacks."""
        observations, actions = other.entries()
        missing = ~self.holds(observations)
        self.insert(observations[missing], actions[missing])

    def clear(self) -> None:
        """Remove everything."""
        self._count = 0
        self._allocate(1024)

    def _allocate(self, capacity: int) -> None:
        self.keys: Ints = np.full(capacity, EMPTY, np.int64)
        self.values: Ints = np.full(capacity, NO_ACTION, np.int64)

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

    # Amending

    def amend(self, changes: Sequence[Change]) -> None:
        """Make changes to the actions, one after the other."""
        self.values = self.values_with(changes)

    def values_with(self, changes: Sequence[Change]) -> Ints:
        """Return the actions at all places as they would be after some changes; the table stays as it is."""
        return amended(self.task.interface, changes, self.keys, self.values.copy())

    # Files

    def save(self, stem: Path, about: dict[str, Any] | None = None) -> None:
        """Write the table as a bundle, with what is known about it."""
        observations, actions = self.entries()
        record = {**(about or {}), "kind": KIND, "task": self.task.name}
        record["interface"] = interface_fingerprint(self.task.interface)
        save_bundle(stem, {"observations": observations, "actions": actions}, record)

    @classmethod
    def load(cls, stem: Path, name: str = "") -> Table:
        """Return the table of a bundle."""
        tensors, record = load_bundle(stem)
        if not is_saved_table(record) or set(tensors) != {"observations", "actions"}:
            raise SavedFileError(f"{stem} does not hold a table")
        task = find_task(str(record["task"]))
        check_interface(stem, record, task.interface, task.name)
        observations, actions = tensors["observations"], tensors["actions"]
        if not all(array.ndim == 1 and array.dtype == np.int64 for array in (observations, actions)):
            raise SavedFileError(f"{stem} holds numbers of another type or shape than a table's")
        if len(np.unique(observations)) < len(observations) or (observations < 0).any():
            raise SavedFileError(f"{stem} holds an observation twice, or one below 0")
        table = cls(task, name=name or str(stem))
        table._check(observations, actions)
        table.insert(observations, actions)
        return table


def is_saved_table(record: dict[str, Any]) -> bool:
    """Tell whether the record of a bundle is that of a table."""
    return record.get("kind") == KIND


def amended(interface: Interface, changes: Sequence[Change], observations: Ints, actions: Ints) -> Ints:
    """Make changes to the actions [m] of observations [m] in place, and return them; free places stay free."""
    strides, radices = np.array(interface.strides), np.array(interface.radices)
    for features, digits, old, new in changes:
        replace_actions(observations, actions, digits, strides[features], radices[features], old, new)
    return actions


# Compiled


@numba.njit(forceinline=True)
def find(keys: Ints, observation: int) -> int:
    """Return the place of an observation, or the free place where it belongs."""
    mask = len(keys) - 1
    # Fold to 31 bits and multiply by 2**32 over the golden ratio: neighbours land far apart and nothing overflows.
    place = ((((observation ^ (observation >> 31)) & 0x7FFFFFFF) * 0x9E3779B1) >> 20) & mask
    while keys[place] != observation and keys[place] != EMPTY:
        place = (place + 1) & mask
    return place


@numba.njit(nogil=True, cache=True)
def put(keys: Ints, values: Ints, observations: Ints, actions: Ints) -> None:
    """Put observations and their actions into a table that has room, in place."""
    for k in range(len(observations)):
        place = find(keys, observations[k])
        keys[place] = observations[k]
        values[place] = actions[k]


@numba.njit(nogil=True, cache=True)
def look_up(keys: Ints, values: Ints, observations: Ints, found: Ints) -> None:
    """Write the action of each observation into `found`, in place; `NO_ACTION` for those that are not there."""
    for k in range(len(observations)):
        place = find(keys, observations[k])
        found[k] = NO_ACTION if keys[place] == EMPTY else values[place]


@numba.njit(nogil=True, cache=True)
def is_held(keys: Ints, observations: Ints, held: npt.NDArray[np.bool_]) -> None:
    """Write whether each observation is there into `held`, in place."""
    for k in range(len(observations)):
        held[k] = keys[find(keys, observations[k])] != EMPTY


@numba.njit(nogil=True, cache=True)
def replace_actions(keys: Ints, values: Ints, digits: Ints, strides: Ints, radices: Ints, old: int, new: int) -> None:
    """Make `new` of each action `old` (of any, if `old` is `ANY`) in place, at certain observations.

    `digits` [k] are those wanted, `strides` [k] and `radices` [k] say where in the observation they stand.
    """
    for place in range(len(keys)):
        if (values[place] != old and old != ANY) or keys[place] == EMPTY:
            continue
        holds = True
        for k in range(len(digits)):
            if keys[place] // strides[k] % radices[k] != digits[k]:
                holds = False
                break
        if holds:
            values[place] = new
