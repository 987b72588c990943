"""How learning is watched: one run, and the runs of a sweep."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surpass.cli.display import Display, brief, clock
from surpass.printing import show_number, truncate

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding

    from surpass.learning.outlook import Compared, Measure, Outlook, RunState
    from surpass.learning.sweeps import SweepState

LATE = 12
"""How many of the last rounds the pace is taken from."""
LEAST_PAUSE, MOST_PAUSE, PAUSE_SHARE = 2.0, 30.0, 0.05
"""Seconds between plain lines, and the share of the time so far that they grow to."""
WIDE = 60
"""How wide a bar and a curve are at most."""
MOST_COMPARED = 4
"""At how many sizes the learner is shown beside its teacher."""
BARS, ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-~:=+#"


def sparkline(values: Sequence[float], width: int, bars: str = BARS) -> str:
    """Return numbers as one line of bars, each of equally many of them if they are more than fit."""
    known = [value for value in values if math.isfinite(value)]
    if not known or width < 1:
        return ""
    count = min(width, len(known))
    bounds = [len(known) * k // count for k in range(count + 1)]
    means = [sum(known[a:b]) / (b - a) for a, b in pairwise(bounds)]
    low, high = min(means), max(means)
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0
    return "".join(bars[round((mean - low) * scale)] for mean in means)


class _Sparkline(NamedTuple):
    """Draws numbers as one line of bars, as wide as there is room."""

    values: Sequence[float]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        bars = ASCII_BARS if options.ascii_only else BARS
        yield Text(f"  {sparkline(self.values, min(options.max_width - 2, WIDE), bars)}", style="cyan")


def _bar(done: int, total: int) -> Padding:
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar

    return Padding(ProgressBar(total, done, width=WIDE), 0)  # which ends its line


def show_measure(measure: Measure, value: float) -> str:
    """Return a value of a measure as text."""
    if measure.is_share:
        digits = 1 if measure.column == "solved" or measure.of else 2
        return f"{abs(value):.{digits}%}{measure.of and f' {measure.of}'}"
    return show_number(value, 2 if abs(value) >= 10 else 3)


class Pace(NamedTuple):
    """How fast it goes, as far as that is known."""

    per_second: float | None
    """How much of the work is done in a second."""
    left: float | None
    """How many seconds are left."""


class RunView(Display):
    """Shows how far a run has come: a view on a terminal from the first moment, plain lines elsewhere."""

    patience = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.state: RunState | None = None
        self.outlook: Outlook | None = None
        self._rounds: deque[tuple[float, int, int]] = deque(maxlen=LATE)
        """When each of the last rounds ended, how many were done by then, and how much work."""
        self._next_line = self._learns_since = 0.0

    def __call__(self, state: RunState) -> None:
        """Show how far the run has come."""
        outlook = state.learner.outlook(state.curves[-1] if state.curves else {})
        with self._lock:
            now, before, was = time.monotonic(), self.outlook, self.state
            if was is None:
                self._learns_since = now
            if before is None or (before.doing, before.unit) != (outlook.doing, outlook.unit):
                self._rounds.clear()
            self.state, self.outlook = state, outlook
            has_new_rounds = len(state.curves) > state.began_with
            # The first round is not measured: it waits for what is compiled.
            if not state.afterwards and has_new_rounds:
                self._rounds.append((now, outlook.done, outlook.work))
            has_changed = was is not None and was.afterwards.partition(",")[0] != state.afterwards.partition(",")[0]
            is_taken_up = was is None and state.began_with > 0
            is_urgent = has_changed or is_taken_up or (has_new_rounds and now >= self._next_line)
            if is_urgent:
                self._next_line = now + min(MOST_PAUSE, max(LEAST_PAUSE, PAUSE_SHARE * self.seconds))
            self.announce(urgent=is_urgent)

    # What is known

    @property
    def pace(self) -> Pace:
        """How fast it goes."""
        state, outlook, now = self.state, self.outlook, time.monotonic()
        if state is None or outlook is None:
            return Pace(None, None)
        limit = None if state.minutes is None else max(0.0, 60 * state.minutes - (now - self._learns_since))
        if len(self._rounds) < 2:
            return Pace(None, limit)
        (first, done, work), (last, done_now, work_now) = self._rounds[0], self._rounds[-1]
        spent = max(1e-9, last - first)
        rate = (work_now - work) / spent if work_now > work else None
        left = None
        if outlook.expected is not None and done_now > done:
            left = max(0.0, spent / (done_now - done) * (outlook.expected - done_now) - (now - last))
        return Pace(rate, min((one for one in (left, limit) if one is not None), default=None))

    def _alike(self) -> list[tuple[int, Mapping[str, float]]]:
        """Return the rounds that can be compared with the last, numbered from the beginning of what is done now.

        They have its size.
        """
        state, outlook = self.state, self.outlook
        if state is None or outlook is None or not state.curves:
            return []
        size, column = state.curves[-1].get("size"), outlook.measure.column
        lines = list(state.curves)[max(0, len(state.curves) - outlook.done) :]
        numbered = enumerate(lines, max(1, outlook.done - len(lines) + 1))
        return [(k, line) for k, line in numbered if line.get("size") == size and column in line]

    @property
    def measure(self) -> Measure | None:
        """What counts now: the learner's measure; but the share solved, not steps, until a round has solved all."""
        from surpass.learning.outlook import SOLVED, STEPS

        if self.outlook is None:
            return None
        shares = [line["solved"] for _, line in self._alike() if "solved" in line]
        is_unsolved = self.outlook.measure == STEPS and bool(shares) and max(shares) < 1
        return SOLVED if is_unsolved else self.outlook.measure

    def _best(self) -> tuple[int, float] | None:
        """Return the best round and its measure; where steps count, the best of those that solved the most."""
        lines, measure = self._alike(), self.measure
        if not lines or measure is None or self.outlook is None:
            return None
        main = self.outlook.measure
        sign = -1 if main.is_lower_better else 1
        number, line = max(
            lines, key=lambda one: (not main.is_share and one[1].get("solved", 0), sign * one[1][main.column])
        )
        return number, line[measure.column]

    # What is said

    def _heading(self) -> str:
        if self.state is None:
            return "loading"
        from surpass.learning.runs import describe_recipe

        return describe_recipe(self.state.learner.recipe)

    def _round(self) -> str:
        state, outlook = self.state, self.outlook
        if state is None or outlook is None:
            return "getting ready"
        if state.afterwards:
            return state.afterwards + (f": {state.done:,} of {state.total:,}" if state.total else "")
        return f"round {outlook.done:,}" + ("" if outlook.expected is None else f" of {outlook.expected:,}")

    def _time(self) -> str:
        left = self.pace.left
        is_learning = self.state is not None and not self.state.afterwards
        return clock(self.seconds) + (f", about {clock(left)} left" if left is not None and is_learning else "")

    def _facts(self) -> list[tuple[str, str]]:
        """Return what the last round showed: what, and how much."""
        state, outlook = self.state, self.outlook
        if state is None or outlook is None or not state.curves:
            return []
        line, measure, facts = state.curves[-1], outlook.measure, []
        solved = line.get("solved", line.get("sampled_solved"))
        if solved is not None:
            facts.append(("solved", f"{solved:.1%}"))
        unit = "reward" if state.learner.task.measure == "reward" else "steps"
        # The steps of wrong answers are not set beside those of right ones.
        is_comparable = unit == "reward" or solved is None or solved == 1
        for one in _some(outlook.compared):
            has_beside = is_comparable and one.teachers is not None
            beside = f" (teacher {show_number(one.teachers, 2)})" if has_beside else ""
            facts.append((f"{unit} at n = {one.size:,}", f"{show_number(one.ours, 2)}{beside}"))
        if measure.column in line and not (outlook.compared and measure.column.startswith("mean")):
            facts.append((measure.words, show_measure(measure, line[measure.column])))
        best, counts = self._best(), self.measure
        if best is not None and counts is not None and not counts.is_best:
            words = " solved" if counts.column == "solved" else ""
            facts.append(("best so far", f"{show_measure(counts, best[1])}{words} in round {best[0]:,}"))
        if (rate := self.pace.per_second) is not None:
            facts.append((f"{outlook.unit} per second", brief(rate)))
        return facts

    def describe(self) -> str:
        """Return how far it is, as a plain line."""
        state, outlook = self.state, self.outlook
        if state is None or outlook is None:
            return f"loading, {clock(self.seconds)}"
        if state.afterwards:
            return f"{self._round()}, {self._time()}"
        if len(state.curves) == state.began_with:
            since = f"continuing after round {state.began_with:,}" if state.curves else "in the first round"
            return f"{since}: {self._heading()}, {clock(self.seconds)}"
        doing = [outlook.doing] if outlook.doing else []
        parts = [*doing, *(f"{name} {value}" for name, value in self._facts()), self._time()]
        return f"{self._round()}: {', '.join(parts)}"

    def draw(self) -> RenderableType:
        """Return the view of a terminal."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        state, outlook = self.state, self.outlook
        lines: list[RenderableType] = [Text(self._heading(), style="bold", overflow="fold")]
        if state is not None:
            lines.append(Text(str(state.folder), style="dim", overflow="fold"))
        if outlook is not None and outlook.doing and not (state and state.afterwards):
            lines.append(Text(outlook.doing))
        lines.append(Text(f"{self._round()}   {self._time()}"))
        if state is not None and state.afterwards and state.total:
            lines.append(_bar(state.done, state.total))
        elif outlook is not None and outlook.expected:
            lines.append(_bar(outlook.done, outlook.expected))
        elif outlook is not None and outlook.ends:
            lines.append(Text(outlook.ends, style="dim"))
        facts = Table.grid(padding=(0, 2, 0, 0))
        for name, value in self._facts():
            facts.add_row(Text(name, style="dim"), Text(value))
        lines.append(Padding(facts, (0, 0, 0, 2)))
        measure = self.measure
        values = [line[measure.column] for _, line in self._alike() if measure.column in line] if measure else []
        if len(values) > 1 and measure is not None:
            ends = f"{show_measure(measure, values[0])} to {show_measure(measure, values[-1])}"
            lines += [_Sparkline(values), Text(f"  {measure.words}, {ends} in {len(values):,} rounds", style="dim")]
        if self.message:
            lines.append(Text(self.message, style="yellow"))
        elif state is not None and len(state.curves) == state.began_with and not state.afterwards:
            lines.append(Text("in the first round", style="dim"))
        return Group(*lines)


def _some(compared: Sequence[Compared]) -> Sequence[Compared]:
    """Return all comparisons if they are few, else those at the smallest, the middle and the largest size."""
    if len(compared) <= MOST_COMPARED:
        return compared
    return compared[0], compared[len(compared) // 2], compared[-1]


class SweepView(Display):
    """Shows how far a sweep has come, and what each of its runs said last."""

    patience = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.state: SweepState | None = None
        self._ended_first: int | None = None
        self._next_line = 0.0

    def __call__(self, state: SweepState) -> None:
        """Show how far the sweep has come."""
        with self._lock:
            now, ended = time.monotonic(), _count_ended(state)
            has_ended = self.state is not None and ended != _count_ended(self.state)
            if self._ended_first is None:
                self._ended_first = ended
            self.state = state
            is_due = bool(state.running) and (has_ended or now >= self._next_line)
            if is_due:
                self._next_line = now + MOST_PAUSE
            self.announce(urgent=is_due)

    def describe(self) -> str:
        """Return how far it is, as a plain line."""
        return f"{self.state}, {self._time()}" if self.state else f"loading, {clock(self.seconds)}"

    def _time(self) -> str:
        """Return how long it has taken and, going by the runs that have ended, how long it will."""
        state, spent = self.state, self.seconds
        ended = _count_ended(state) - (self._ended_first or 0) if state else 0
        if state is None or not ended:
            return clock(spent)
        return f"{clock(spent)}, about {clock(spent / ended * (state.ranking.total - _count_ended(state)))} left"

    def draw(self) -> RenderableType:
        """Return the view of a terminal."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        if self.state is None:
            return Text(f"loading   {clock(self.seconds)}")
        lines: list[RenderableType] = [
            Text(str(self.state), style="bold", overflow="fold"),
            Text(self._time()),
            _bar(_count_ended(self.state), self.state.ranking.total),
        ]
        for folder in self.state.running:
            lines.append(Padding(Text(folder.name, overflow="fold"), (0, 0, 0, 2)))
            lines.append(Padding(Text(last_line(folder), style="dim", overflow="fold"), (0, 0, 0, 4)))
        return Group(*lines)


def _count_ended(state: SweepState) -> int:
    return len(state.ranking.runs) + len(state.ranking.failed)


def last_line(folder: Path) -> str:
    """Return what the run in a folder said last."""
    from surpass.workers.processes import LOG

    try:
        with (folder / LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 2000))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return truncate(lines[-1], 400) if lines else "starting"
