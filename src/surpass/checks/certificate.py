"""What a check found: a certificate, or an instance on which the agent fails."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, field
from typing import Any

from surpass.machine.trace import Trace, write_trace
from surpass.table import Table

__all__ = ["Certificate", "Failure", "Row", "Unending", "fingerprint_of"]

FORMAT = "surpass certificate 1"

LONGEST_WRITTEN = 100
"""Rows of larger sizes leave out the text of their worst case; that of the whole certificate is always written."""


@dataclass(frozen=True)
class Row:
    """What was checked at one size. All its instances are solved."""

    size: int
    instances: int
    mean_steps: float
    most_steps: int
    worst: str
    """The first instance that takes the most steps, as text."""
    data: str
    """The distribution from which the worst case was drawn; empty if it was enumerated."""
    new_observations: int
    """How many observations were met at this size and in no row before it."""


@dataclass(frozen=True)
class Failure:
    """An instance on which the agent fails."""

    size: int
    instance: str
    outcome: str
    """How the run ends, in words."""
    steps: int
    """After how many steps; for a loop, when a state is there again."""
    why: str
    """A sentence about it."""
    data: str = ""
    """The distribution from which it was drawn; empty if it was enumerated, and then it is the smallest there is."""
    shrunk_from: int | None = None
    """The size of the drawn instance of which this is what is left."""
    limit: str | None = None
    """The step limit that shows the failure, where the task's own does not."""
    trace: Trace | None = None
    """The run, unless it is too long to record."""

    def as_json(self) -> dict[str, Any]:
        """Return the failure as plain data, its trace as text."""
        return {**vars(self), "data": self.data or None, "trace": write_trace(self.trace) if self.trace else None}


@dataclass(frozen=True)
class Unending:
    """For a task whose steps are a budget: instances on which a run does not end by itself, however large the budget.

    That is no failure, since a budget may be spent, unless the check was told so.
    """

    instances: int
    first: str
    """The smallest of them, as text."""
    outcome: str
    """How the run on it goes on, in words."""


@dataclass(frozen=True)
class Certificate:
    """What was checked of an agent, how, and what came out of it."""

    agent: str
    task: str
    what: str
    """What the enumerated instances are, in words."""
    exhaustive: bool
    """Whether these are all there are, and not a sample."""
    up_to: int
    """The size up to which they are enumerated."""
    small: tuple[Row, ...]
    """The enumerated instances, by size."""
    drawn: tuple[Row, ...]
    """The instances of named distributions, by size."""
    data: tuple[str, ...]
    """Those distributions."""
    seed: int
    limit: str
    fingerprint: str | None
    """A hash of the interface and of every observation met, with its action; None for a full view: it has no table."""
    observations: int | None
    """How many distinct observations were met; None for a full view."""
    failure: Failure | None = None
    unending: Unending | None = None
    narrow_choices: int | None = None
    """For a network: how many of its choices lead by less than 1e-4, so that rounding could turn them."""
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())

    @property
    def passed(self) -> bool:
        """Whether every checked instance is solved."""
        return self.failure is None

    @property
    def instances(self) -> int:
        """How many instances were checked and solved."""
        return sum(row.instances for row in (*self.small, *self.drawn))

    @property
    def worst(self) -> Row | None:
        """The row of the largest enumerated size: its worst case is the worst of all instances of that size."""
        return self.small[-1] if self.small else None

    @property
    def closed_after(self) -> int | None:
        """The size after which no new observation was met on any larger instance, if larger ones were checked."""
        rows = (*self.small, *self.drawn)
        if self.observations is None or not self.passed or not rows:
            return None
        last = max((row.size for row in rows if row.new_observations), default=0)
        return last if last < max(row.size for row in rows) else None

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as plain data.

        - `format`, `agent`, `task`, `fingerprint` (null for a full view), `date`, `passed`
        - `limit`, `seed`: how runs were bounded and instances drawn
        - `small`: `what` was enumerated, if it is `exhaustive`, `up_to` which size, how many `instances`, and `sizes`
        - `drawn`: the distributions (`data`), how many `instances`, and `sizes`
        - `worst`: the row of the largest enumerated size
        - `observations` met in all, `closed_after` which size (both may be null)
        - `narrow_choices` of a network, or null
        - `unending`: null, or `instances`, `first`, `outcome`
        - `failure`: null, or `size`, `instance`, `outcome`, `steps`, `why`, `data`, `shrunk_from`, `limit`, `trace`

        A row of `sizes` has `size`, `instances`, `mean_steps`, `most_steps`, `worst` (the instance that takes the most
        steps; null above size 100), `data` (what that was drawn from, or null), `new_observations`, and `observations`
        met up to this row.
        """
        met = 0
        parts: list[list[dict[str, Any]]] = [[], []]
        for part, rows in zip(parts, (self.small, self.drawn), strict=True):
            for row in rows:
                met += row.new_observations
                part.append(_row_as_json(row, None if self.observations is None else met))
        return {
            "format": FORMAT,
            "agent": self.agent,
            "task": self.task,
            "fingerprint": self.fingerprint,
            "date": self.date,
            "passed": self.passed,
            "limit": self.limit,
            "seed": self.seed,
            "small": {
                "what": self.what,
                "exhaustive": self.exhaustive,
                "up_to": self.up_to,
                "instances": sum(row.instances for row in self.small),
                "sizes": parts[0],
            },
            "drawn": {
                "data": list(self.data),
                "instances": sum(row.instances for row in self.drawn),
                "sizes": parts[1],
            },
            "worst": {**parts[0][-1], "worst": self.worst.worst} if self.worst else None,
            "observations": self.observations,
            "closed_after": self.closed_after,
            "narrow_choices": self.narrow_choices,
            "unending": vars(self.unending) if self.unending else None,
            "failure": self.failure.as_json() if self.failure else None,
        }


def _row_as_json(row: Row, observations: int | None) -> dict[str, Any]:
    return {
        **vars(row),
        "worst": row.worst if row.size <= LONGEST_WRITTEN else None,
        "data": row.data or None,
        "observations": observations,
    }


def fingerprint_of(table: Table) -> str:
    """Return a hash of an agent's interface and of every observation it was asked about, with its answer."""
    interface = table.task.interface
    key = hashlib.sha256()
    for k, feature in enumerate(interface.features):
        key.update(f"{feature.name}: {interface.feature_values(k)}\n".encode())
    key.update("\n".join(map(str, interface.actions)).encode())
    for column in table.entries():
        key.update(column.astype("<i8").tobytes())
    return key.hexdigest()[:16]
