"""How learning is watched: one run, and the runs of a sweep."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from surpass.cli.display import Display, brief, clock
from surpass.printing import show_number, truncate

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding

    from surpass.learning.status import Measure, RunState, Status
    from surpass.learning.sweeps import SweepState

LATE = 12
"""How many of the last rounds the pace is taken from."""
WIDE = 60
"""How wide a bar and a curve are at most."""
MOST_COMPARED = 4
"""At how many sizes the learner is shown beside its teacher."""
BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """Return numbers as one line of bars, each of equally many of them if they are more than fit."""
    known = [value for value in values if math.isfinite(value)]
    count = min(width, len(known))
    bounds = [len(known) * k // count for k in range(count + 1)] if count else []
    means = [sum(known[a:b]) / (b - a) for a, b in pairwise(bounds)]
    low, high = min(means, default=0.0), max(means, default=0.0)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((mean - low) * scale)] for mean in means)


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


def _few_digits(value: float | None) -> str:
    """Return a number in about three digits."""
    size = abs(value or 0)
    return show_number(value, 0 if size >= 100 else 1 if size >= 10 else 2)


def _solved(line: Mapping[str, float]) -> float | None:
    """Return the share that a round solved, if it tells."""
    return line.get("solved", line.get("sampled_solved"))


class RunView(Display):
    """Shows how far a run has come: a view on a terminal from the first moment, plain lines elsewhere."""

    patience = 0.1
    state: RunState
    status: Status

    def __init__(self) -> None:
        super().__init__()
        self._has_begun = False
        """Whether there is a state; before, everything is still being loaded."""
        self._rounds: deque[tuple[float, int, int]] = deque(maxlen=LATE)
        """When each of the last rounds ended, how many were done by then, and how much work."""
        self._learns_since = self.began

    def __call__(self, state: RunState) -> None:
        """Show how far the run has come."""
        status = state.learner.status(state.curves[-1] if state.curves else {})
        with self._lock:
            if not self._has_begun:
                self._learns_since, is_urgent = time.monotonic(), state.began_with > 0
            else:
                is_urgent = self.state.afterwards.partition(",")[0] != state.afterwards.partition(",")[0]
                if (self.status.doing, self.status.unit) != (status.doing, status.unit):
                    self._rounds.clear()
            self._has_begun, self.state, self.status = True, state, status
            # The first round is not measured: it waits for what is compiled.
            if not state.afterwards and len(state.curves) > state.began_with:
                is_urgent = is_urgent or len(state.curves) == state.began_with + 1
                self._rounds.append((time.monotonic(), status.done, status.work))
            self.announce(urgent=is_urgent)

    # What is known

    def pace(self) -> tuple[float | None, float | None]:
        """Return how much work is done in a second, and after how many seconds the learning ends, as far as is known.

        A learner that does several things one after the other knows only when the present one ends.
        """
        if len(self._rounds) < 2:
            return None, None
        (first, done, work), (last, done_now, work_now) = self._rounds[0], self._rounds[-1]
        spent, status = max(1e-9, last - first), self.status
        rate = (work_now - work) / spent if work_now > work else None
        if status.doing or status.expected is None or done_now == done:
            return rate, None
        left = spent / (done_now - done) * (status.expected - done_now) - (time.monotonic() - last)
        return rate, max(0.0, left)

    def _alike(self) -> list[tuple[int, Mapping[str, float]]]:
        """Return the rounds that have the size of the last, numbered from the beginning of what is done now."""
        curves, done = self.state.curves, self.status.done
        lines = list(curves)[max(0, len(curves) - done) :]
        numbered = enumerate(lines, max(1, done - len(lines) + 1))
        size, column = curves[-1].get("size") if curves else None, self.status.measure.column
        return [(k, line) for k, line in numbered if line.get("size") == size and column in line]

    def _measure(self) -> Measure:
        """Return what counts now: the learner's measure; but the share solved until a round has solved all."""
        from surpass.learning.status import REWARD, SOLVED, STEPS

        shares = [line["solved"] for _, line in self._alike() if "solved" in line]
        main, is_budget = self.status.measure, self.state.learner.task.limit_is_budget
        return SOLVED if main in (STEPS, REWARD) and not is_budget and shares and max(shares) < 1 else main

    def _best(self) -> list[tuple[str, str]]:
        """Return the best round so far as a fact; the best of those that solved the most."""
        lines, counts, main = self._alike(), self._measure(), self.status.measure
        if not lines or counts.is_best:
            return []
        sign = -1 if main.is_lower_better else 1
        number, line = max(
            lines, key=lambda one: (not main.is_share and one[1].get("solved", 0), sign * one[1][main.column])
        )
        words = " solved" if counts.column == "solved" else ""
        return [("best so far", f"{show_measure(counts, line[counts.column])}{words} in round {number:,}")]

    # What is said

    def _heading(self) -> str:
        from surpass.learning.runs import describe_recipe

        return describe_recipe(self.state.learner.recipe)

    def _is_in_first_round(self) -> bool:
        return len(self.state.curves) == self.state.began_with and not self.state.afterwards

    def _ends_before_its_time(self) -> bool:
        """Whether the learning ends before the time that is set for it, as far as is known."""
        minutes, left = self.state.minutes, self.pace()[1]
        return minutes is None or (left is not None and left < 60 * minutes - self.seconds)

    def _round(self) -> str:
        """Return the number of the round, of how many if it comes so far; or what is done afterwards."""
        state, status = self.state, self.status
        if state.afterwards:
            return state.afterwards + (f": {state.done:,} of {state.total:,}" if state.total else "")
        is_known = status.expected is not None and (status.doing or self._ends_before_its_time())
        return f"round {status.done:,}" + (f" of {status.expected:,}" if is_known else "")

    def _time(self) -> str:
        """Return how long the run has taken, of how long if that is set, and when it comes to the scores."""
        minutes, left = self.state.minutes, None if self.state.afterwards else self.pace()[1]
        spent = clock(self.seconds) + ("" if minutes is None else f" of {clock(60 * minutes)}")
        return f"{spent}, scored in about {clock(left)}" if left is not None and self._ends_before_its_time() else spent

    def _comparisons(self) -> list[tuple[str, str]]:
        """Return the means of the last round beside those of the agent that it is compared with, a fact for each size.

        Where there is no terminal they are a single one, with fewer digits.
        """
        status, line = self.status, self.state.curves[-1]
        unit = "reward" if self.state.learner.task.measure == "reward" else "steps"
        # What failures took or brought is not set beside what solutions did.
        is_comparable = self.state.learner.task.limit_is_budget or _solved(line) in (None, 1)
        shown = status.comparisons
        if len(shown) > MOST_COMPARED:
            shown = (shown[0], shown[len(shown) // 2], shown[-1])
        has_beside = is_comparable and all(one.reference is not None for one in shown)
        if len(shown) > 1 and not self._is_drawn:
            sizes = " / ".join(f"{one.size:,}" for one in shown)
            ours = " / ".join(_few_digits(one.ours) for one in shown)
            theirs = " / ".join(_few_digits(one.reference) for one in shown)
            told = [(f"{sizes}:", ours, theirs)]
        else:
            told = [(f"{one.size:,}", show_number(one.ours, 2), show_number(one.reference, 2)) for one in shown]
        return [
            (f"{unit} at n = {size}", f"{ours} ({status.beside} {theirs})" if has_beside else ours)
            for size, ours, theirs in told
        ]

    def _facts(self) -> list[tuple[str, str]]:
        """Return what the last round showed: what, and how much; first what it is measured by if that is a best."""
        state, status = self.state, self.status
        if not state.curves:
            return []
        line, measure, facts = state.curves[-1], status.measure, []
        solved = _solved(line)
        if solved is not None:
            facts.append(("solved", f"{solved:.1%}"))
        facts += self._comparisons()
        if measure.column in line and not (status.comparisons and measure.column.startswith("mean")):
            place = 0 if measure.is_best else len(facts)
            facts.insert(place, (measure.words, show_measure(measure, line[measure.column])))
        return facts + self._best() + list(status.facts)

    def _rate(self) -> list[tuple[str, str]]:
        rate = self.pace()[0]
        return [] if rate is None else [(f"{self.status.unit} per second", brief(rate))]

    def gist(self) -> str:
        """Return what is done, and what counts, without the number of the round and the time."""
        if not self._has_begun:
            return "loading"
        if self.state.afterwards:
            return self._round()
        if self._is_in_first_round():
            began_with = self.state.began_with
            since = f"continuing after round {began_with:,}" if began_with else "in the first round"
            return f"{since}: {self._heading()}"
        doing = [self.status.doing] if self.status.doing else []
        return ", ".join([*doing, *(f"{name} {value}" for name, value in self._facts())])

    def describe(self) -> str:
        """Return how far it is, as a plain line."""
        if not self._has_begun:
            return f"{self.gist()}, {clock(self.seconds)}"
        is_round = not self.state.afterwards and not self._is_in_first_round()
        # What a search has tried is among its facts.
        has_rate = is_round and not self.status.measure.is_best
        rate = [f"{name} {value}" for name, value in self._rate()] if has_rate else []
        return (f"{self._round()}: " if is_round else "") + ", ".join([self.gist(), *rate, self._time()])

    def draw(self) -> RenderableType:
        """Return the view of a terminal."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        message = [Text(self.message, style="yellow")] if self.message else []
        if not self._has_begun:
            return Group(Text(f"loading   {clock(self.seconds)}"), *message)
        state, status = self.state, self.status
        lines: list[RenderableType] = [
            Text(self._heading(), style="bold", overflow="fold"),
            Text(str(state.folder), style="dim", overflow="fold"),
        ]
        if status.doing and not state.afterwards:
            lines.append(Text(status.doing))
        lines.append(Text(f"{self._round()}   {self._time()}"))
        if state.afterwards and state.total:
            lines.append(_bar(state.done, state.total))
        elif state.minutes is not None and not status.doing and not self._ends_before_its_time():
            lines.append(_bar(round(self.seconds), round(60 * state.minutes)))
        elif status.expected:
            lines.append(_bar(status.done, status.expected))
        elif status.ends:
            lines.append(Text(status.ends, style="dim"))
        facts = Table.grid(padding=(0, 2, 0, 0))
        for name, value in self._facts() + self._rate():
            facts.add_row(Text(name, style="dim"), Text(value))
        lines.append(Padding(facts, (0, 0, 0, 2)))
        measure = self._measure()
        values = [line[measure.column] for _, line in self._alike() if measure.column in line]
        if len(values) > 1:
            first = show_measure(measure, values[0]).removesuffix(f" {measure.of}")
            ends = f"{first} to {show_measure(measure, values[-1])}"
            lines.append(Text(f"  {sparkline(values, WIDE)}", style="cyan", no_wrap=True, overflow="crop"))
            lines.append(Text(f"  {measure.words}, {ends} in {len(values):,} rounds", style="dim"))
        if self._is_in_first_round() and not message:
            lines.append(Text("in the first round", style="dim"))
        return Group(*lines, *message)


class SweepView(Display):
    """Shows how far a sweep has come, and what each of its runs said last."""

    patience = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.state: SweepState | None = None
        self._first_ended = self._runs_ended = 0
        """How many runs had ended when it began, and have ended now."""

    def __call__(self, state: SweepState) -> None:
        """Show how far the sweep has come."""
        with self._lock:
            before, self._runs_ended = self._runs_ended, len(state.ranking.runs) + len(state.ranking.failed)
            is_first = self.state is None
            if is_first:
                self._first_ended = self._runs_ended
            self.state = state
            self.announce(urgent=bool(state.running) and (is_first or before != self._runs_ended))

    def gist(self) -> str:
        """Return how far it is, without the time."""
        return str(self.state or "loading")

    def describe(self) -> str:
        """Return how far it is, as a plain line."""
        return f"{self.gist()}, {self._time()}"

    def _time(self) -> str:
        """Return how long it has taken and, going by the runs that have ended, how long it will."""
        spent, ended = self.seconds, self._runs_ended - self._first_ended
        if self.state is None or not ended:
            return clock(spent)
        return f"{clock(spent)}, about {clock(spent / ended * (self.state.ranking.total - self._runs_ended))} left"

    def draw(self) -> RenderableType:
        """Return the view of a terminal."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        from surpass.workers.processes import last_line

        if self.state is None:
            return Text(f"loading   {clock(self.seconds)}")
        lines: list[RenderableType] = [
            Text(str(self.state), style="bold", overflow="fold"),
            Text(self._time()),
            _bar(self._runs_ended, self.state.ranking.total),
        ]
        for folder in self.state.running:
            said = truncate(last_line(folder), 400) or "starting"
            lines.append(Padding(Text(folder.name, overflow="fold"), (0, 0, 0, 2)))
            lines.append(Padding(Text(said, style="dim", overflow="fold"), (0, 0, 0, 4)))
        return Group(*lines)
