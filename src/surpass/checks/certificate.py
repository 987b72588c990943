"""What a check found: a certificate, or a counter-example: an instance on which the agent fails."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from surpass.engine.probes import SEARCH
from surpass.machine.trace import Trace, write_trace
from surpass.printing import Printed, count, show_number, text_table, truncate, wrap
from surpass.table import Table

FORMAT = "surpass certificate 1"

WIDEST, KEPT = 36, 8
"""Longer instances are cut in tables, and so many of their last characters are kept."""
HEAD, TAIL = 24, 6
"""The first and last lines of a trace that are printed if it is longer than both."""
LONGEST_WRITTEN = 100
"""Rows of larger sizes leave out the text of their worst case; that of the whole certificate is always written."""


@dataclass(frozen=True)
class CheckedSize:
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
    """How many observations occurred at this size and in no row before it."""

    def joined(self, other: CheckedSize) -> CheckedSize:
        """Return what was checked of a size in two batches as one."""
        count = self.instances + other.instances
        return replace(
            self if self.most_steps >= other.most_steps else other,
            instances=count,
            mean_steps=(self.instances * self.mean_steps + other.instances * other.mean_steps) / count,
            new_observations=self.new_observations + other.new_observations,
        )


@dataclass(frozen=True, repr=False)
class CounterExample(Printed):
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
    """The size of the instance before it was made smaller."""
    limit: str | None = None
    """The step limit that shows the failure, where the task's own does not."""
    trace: Trace | None = None
    """The run, unless it is too long to record."""

    def __str__(self) -> str:
        instance = truncate(self.instance, 400) or "the empty one"
        if self.shrunk_from is None:
            found = [f"the smallest failing instance: {instance}"]
        else:
            how = "found by the search" if self.data == SEARCH else f"drawn from {self.data}"
            found = [
                f"a failing instance: {instance}",
                f"(shrunk from one of size {self.shrunk_from:,} {how}; all smaller ones that were enumerated are"
                " solved)",
            ]
        lines = [wrap(line, "  ") for line in (*found, f"{self.outcome} after {count(self.steps, 'step')}: {self.why}")]
        if self.trace is None:
            return "\n".join(lines) + "\n"
        shown = str(self.trace).splitlines()
        left_out = len(shown) - HEAD - TAIL
        if left_out > 1:
            shown[HEAD:-TAIL] = [f"... {left_out:,} lines left out ..."]
        return "\n".join([*lines, "", *shown]) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Return the counter-example as plain data, its trace as text."""
        return {**vars(self), "data": self.data or None, "trace": write_trace(self.trace) if self.trace else None}


@dataclass(frozen=True)
class Unending:
    """For a task whose steps are a budget: instances on which a run does not end by itself, however large the budget.

    A budget may be spent, so that is a failure only if the check was asked to treat it as one.
    """

    instances: int
    first: str
    """The smallest of them, as text."""
    outcome: str
    """What the run on it does, in words."""


@dataclass(frozen=True)
class Explored:
    """What a search for instances that lead to new observations found."""

    instances: int
    """How many it tried."""
    new_observations: int
    """How many observations occurred in it and not before."""
    since_new: int
    """How many instances it tried after the last one that led to something new."""
    effort: int
    """How many there must be for the search to end by itself; if there were fewer, its time was over."""

    def __str__(self) -> str:
        found = "one new observation" if self.new_observations == 1 else f"{self.new_observations:,} new observations"
        tried = f"a search among changed instances tried {self.instances:,} and found {found}"
        if self.since_new >= self.effort or not self.instances:
            return f"{tried}, none in the last {self.since_new:,}"
        if not self.new_observations:
            return f"{tried}; it ended with its time, so there may be more (--minutes and --effort make it longer)"
        return (
            f"{tried}, the last one {self.since_new:,} instances before its end: there may well be more"
            " (--minutes and --effort make it longer)"
        )


@dataclass(frozen=True)
class Slowest:
    """The instance of a size that takes the most steps of all that a search tried."""

    size: int
    steps: int
    instance: str


@dataclass(frozen=True, repr=False)
class Certificate(Printed):
    """What was checked of an agent, how, and what came out of it."""

    agent: str
    task: str
    what: str
    """What the enumerated instances are, in words."""
    exhaustive: bool
    """Whether these are all there are, and not a sample."""
    up_to: int
    """The size up to which they are enumerated."""
    small: tuple[CheckedSize, ...]
    """The enumerated instances, by size."""
    drawn: tuple[CheckedSize, ...]
    """The instances of named distributions, by size."""
    data: tuple[str, ...]
    """Those distributions."""
    explored: Explored | None
    """The search among changed instances, if there was one."""
    slowest: tuple[Slowest, ...]
    seed: int
    limit: str
    fingerprint: str | None
    """A hash of the interface and of every observation that occurred, with its action; None for a full view."""
    observations: int | None
    """How many distinct observations occurred; None for a full view."""
    counter_example: CounterExample | None = None
    unending: Unending | None = None
    narrow_choices: int | None = None
    """For a network: how many of its choices lead by less than 1e-4, so that rounding could turn them."""
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())

    @property
    def passed(self) -> bool:
        """Whether every checked instance is solved."""
        return self.counter_example is None

    @property
    def instances(self) -> int:
        """How many instances were checked and solved."""
        explored = self.explored.instances if self.explored else 0
        return explored + sum(row.instances for row in (*self.small, *self.drawn))

    @property
    def worst(self) -> CheckedSize | None:
        """The row of the largest enumerated size: its worst case is the worst of all instances of that size."""
        return self.small[-1] if self.small else None

    @property
    def closed_after(self) -> int | None:
        """The size after which no new observation occurred on any larger instance, if larger ones were checked."""
        rows = (*self.small, *self.drawn)
        if self.observations is None or not self.passed or not rows:
            return None
        if self.explored is not None and self.explored.new_observations:
            return None  # the search found what larger instances had not shown
        last = max((row.size for row in rows if row.new_observations), default=0)
        return last if last < max(row.size for row in rows) else None

    def __str__(self) -> str:
        about = f"{self.agent} on {self.task}"
        if self.counter_example is not None:
            failed = f"{about}: FAILED at n = {self.counter_example.size:,}, {self.counter_example.outcome}"
            others = f"{self.instances:,} other instances were solved before it."
            return f"{wrap(failed)}\n\n{self.counter_example}\n{others}\n"
        tables = [_table(f"{self.what}, n = 0 to {self.up_to:,}", self.small)]
        if self.drawn:
            tables.append(_table(f"drawn from {', '.join(self.data)}; seed {self.seed}", self.drawn))
        parts = [f"{self.instances:,} instances, each solved within {self.limit} steps"]
        if self.unending:
            parts.append(
                f"on {self.unending.instances:,} of them the run does not end by itself but spends its budget; the"
                f" smallest is {self.unending.first} ({self.unending.outcome})"
            )
        parts.append(self._describe_observations())
        parts += [str(self.explored)] if self.explored else []
        most = {row.size: row.most_steps for row in self.drawn}
        parts += [
            f"the slowest of n = {one.size} found: {one.steps:,} steps, {one.instance}"
            for one in self.slowest
            if one.steps >= most.get(one.size, 0)  # else the table above shows a slower one
        ]
        if self.narrow_choices:
            parts.append(f"{self.narrow_choices} choices of the network lead by less than 1e-4")
        mark = f"fingerprint {self.fingerprint}, " if self.fingerprint else ""
        parts.append(f"{mark}{self.date}; this holds for the instances above and does not prove other sizes")
        return "\n".join([f"{about}: passed\n", *tables, *(wrap(part, "  ", first="") for part in parts)]) + "\n"

    def _describe_observations(self) -> str:
        if self.observations is None:
            return "no observations to count: the agent sees whole lists"
        occurred = f"{self.observations:,} observations occurred"
        if self.closed_after is not None:
            return f"{occurred}, none new after n = {self.closed_after:,}"
        if self.explored is not None and self.explored.new_observations:
            return occurred
        return f"{occurred}; there were still new ones at the largest size"

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as plain data.

        - `format`, `agent`, `task`, `fingerprint` (null for a full view), `date`, `passed`
        - `limit`, `seed`: how runs were bounded and instances drawn
        - `small`: `what` was enumerated, if it is `exhaustive`, `up_to` which size, how many `instances`, and `sizes`
        - `drawn`: the distributions (`data`), how many `instances`, and `sizes`
        - `explored`: null, or how many `instances` the search tried, the `new_observations` it found, how many
          instances ago the last one was (`since_new`), and the `effort` asked for
        - `slowest`: for some sizes the most steps that a search found: `size`, `steps`, `instance`
        - `worst`: the row of the largest enumerated size
        - `observations` that occurred in all, `closed_after` which size (both may be null)
        - `narrow_choices` of a network, or null
        - `unending`: null, or `instances`, `first`, `outcome`
        - `failure`: null, or `size`, `instance`, `outcome`, `steps`, `why`, `data`, `shrunk_from`, `limit`, `trace`

        A row of `sizes` has `size`, `instances`, `mean_steps`, `most_steps`, `worst` (the instance that takes the most
        steps; null above size 100), `data` (what that was drawn from, or null), `new_observations`, and `observations`
        that occurred up to this row.
        """
        rows = (*self.small, *self.drawn)
        occurred = accumulate(row.new_observations for row in rows)
        sizes = [
            {
                **vars(row),
                "worst": row.worst if row.size <= LONGEST_WRITTEN else None,
                "data": row.data or None,
                "observations": None if self.observations is None else so_far,
            }
            for row, so_far in zip(rows, occurred, strict=True)
        ]
        small, drawn = sizes[: len(self.small)], sizes[len(self.small) :]

        def part(rows: list[dict[str, Any]], **about: object) -> dict[str, Any]:
            return {**about, "instances": sum(row["instances"] for row in rows), "sizes": rows}

        plain = ("agent", "task", "fingerprint", "date", "passed", "limit", "seed")
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in plain},
            "small": part(small, what=self.what, exhaustive=self.exhaustive, up_to=self.up_to),
            "drawn": part(drawn, data=list(self.data)),
            "explored": vars(self.explored) if self.explored else None,
            "slowest": [vars(one) for one in self.slowest],
            "worst": {**small[-1], "worst": self.worst.worst} if self.worst else None,
            **{name: getattr(self, name) for name in ("observations", "closed_after", "narrow_choices")},
            "unending": vars(self.unending) if self.unending else None,
            "failure": self.counter_example.as_json() if self.counter_example else None,
        }


def _table(title: str, rows: Sequence[CheckedSize]) -> str:
    """Return a table of some sizes; of many, the small and the round ones and the last."""
    round_sizes = {digit * 10**k for digit in (1, 2, 5) for k in range(8)}
    shown = [row for row in rows if len(rows) <= 20 or row.size <= 12 or row.size in round_sizes or row is rows[-1]]
    columns = ["size", "instances", "mean steps", "most steps", "new observations", "worst case"]
    cells = [
        [
            *(f"{row.size:,}", f"{row.instances:,}", show_number(row.mean_steps, 2), f"{row.most_steps:,}"),
            f"{row.new_observations:,}",
            truncate(row.worst, WIDEST, KEPT) + (f" ({row.data})" if row.data else ""),
        ]
        for row in shown
    ]
    return text_table(title, columns, cells)


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
