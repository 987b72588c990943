"""Traces: every step of one run, written and read as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from surpass.errors import TraceError
from surpass.printing import Printed

FORMAT = "surpass trace 1"
HEADING = ("task", "agent", "instance", "limit")
COLUMNS = ("step", "depth", "observation", "action", "change")


class Change(NamedTuple):
    """One part of the state before and after a step, as text."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} {self.before} -> {self.after}"


class TraceStep(NamedTuple):
    """One executed instruction."""

    depth: int
    """How many calls were open when it was chosen."""
    observation: int | None
    """What the agent saw, packed; None for a full view, which is the list itself."""
    action: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, repr=False)
class Trace(Printed):
    """One run of an agent on one instance."""

    task: str
    agent: str
    instance: str
    limit: int
    steps: tuple[TraceStep, ...]
    outcome: str

    def __str__(self) -> str:
        return write_trace(self)

    def as_json(self) -> dict[str, Any]:
        """Return the trace as plain data."""
        steps = [{**step._asdict(), "changes": [change._asdict() for change in step.changes]} for step in self.steps]
        return {**vars(self), "steps": steps}


def write_trace(trace: Trace) -> str:
    """Return a trace as text."""
    rows = [COLUMNS]
    for number, step in enumerate(trace.steps, 1):
        seen = "-" if step.observation is None else str(step.observation)
        changes = ", ".join(map(str, step.changes))
        rows.append((str(number), str(step.depth), seen, step.action, changes))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [FORMAT, *(f"{name}: {getattr(trace, name)}" for name in HEADING), ""]
    for *numbers, action, changes in rows:
        cells = (*map(str.rjust, numbers, widths), action.ljust(widths[3]), changes)
        lines.append("  ".join(cells).rstrip())
    lines += ["", f"outcome: {trace.outcome} after {len(trace.steps)} steps"]
    return "\n".join(lines) + "\n"


_STEP = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+|-)\s+(\w+\([^)]*\))(?:\s{2,}(\S.*))?")
_CHANGE = re.compile(r"(\S+) (\S+) -> (\S+)")
_OUTCOME = re.compile(r"outcome: (.+) after (\d+) steps")


def read_trace(text: str) -> Trace:
    """Return the trace that a text holds."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FORMAT:
        raise TraceError(f"this text is not a trace: its first line must be {FORMAT!r}")
    heading: dict[str, str] = {}
    for number, name in enumerate(HEADING, 1):
        if number >= len(lines) or not lines[number].startswith(f"{name}:"):
            raise TraceError(f"line {number + 1} of a trace must start with '{name}:'")
        heading[name] = lines[number].partition(":")[2].strip()
    if not heading["limit"].isdigit():
        raise TraceError(f"the limit of a trace is {heading['limit']!r}; it must be a number of steps")
    ending = _OUTCOME.fullmatch(lines[-1].strip())
    if ending is None:
        raise TraceError("the last line of a trace must be 'outcome: ... after N steps'; this one is cut off")
    steps = tuple(_read_step(number, line) for number, line in enumerate(lines[7:-2], 8) if line.strip())
    if len(steps) != int(ending[2]):
        raise TraceError(f"this trace says {ending[2]} steps and has {len(steps)}")
    return Trace(heading["task"], heading["agent"], heading["instance"], int(heading["limit"]), steps, ending[1])


def _read_step(number: int, line: str) -> TraceStep:
    match = _STEP.fullmatch(line.rstrip())
    if match is None:
        raise TraceError(f"line {number} is not a step of a trace: {line.strip()!r}")
    changes = []
    for part in (match[5] or "").split(", "):
        change = _CHANGE.fullmatch(part)
        if change:
            changes.append(Change(*change.groups()))
        elif part:
            raise TraceError(f"line {number} of a trace has a change that cannot be read: {part!r}")
    observation = None if match[3] == "-" else int(match[3])
    return TraceStep(int(match[2]), observation, match[4], tuple(changes))
