"""One moment of an episode, as it is drawn: bars, arrows, a line, gauges and words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surpass.arrays import Reals
from surpass.pictures.plan import PicturePlan
from surpass.tasks.drawing import Gauge


class Bars(NamedTuple):
    """A row of bars."""

    name: str
    heights: tuple[float, ...]
    """From 0, the lowest value of the row or below it, to 1."""
    texts: tuple[str, ...]


class Arrow(NamedTuple):
    """A register that stands at a position."""

    name: str
    at: int
    rows: tuple[int, ...]
    """The rows of bars that it stands below."""


class Filling(NamedTuple):
    """A gauge: how far it is filled and where its mark stands, from 0 to 1."""

    name: str
    level: float
    mark: float
    text: str


@dataclass(frozen=True)
class Scene:
    """What there is to see at one moment."""

    bars: tuple[Bars, ...]
    lit: frozenset[int]
    """The positions whose flag is set."""
    arrows: tuple[Arrow, ...]
    level: tuple[str, float, str] | None
    """A line across the bars: its name, its height and its value."""
    bracket: tuple[int, int] | None
    """The first and the last position at which the level can be, as far as the arrows tell."""
    gauges: tuple[Filling, ...]
    words: tuple[tuple[str, str], ...]
    """Everything else, by name."""
    changed: frozenset[int] = frozenset()
    """The positions of the bars that the last step changed."""

    def arrows_below(self, row: int) -> list[tuple[int, Arrow]]:
        """Return the arrows below a row of bars, with their numbers among all."""
        return [(number, arrow) for number, arrow in enumerate(self.arrows) if row in arrow.rows]


class Renderer:
    """Makes scenes of the states of one episode: the plan, and what does not change."""

    def __init__(self, plan: PicturePlan, reals: Reals, labels: Sequence[str]) -> None:
        self.plan = plan
        self.ranks = {text: rank for rank, text in enumerate(labels)}
        self.fixed = {
            bar.name: tuple(reals[bar.place + bar.sizes * plan.size :][: plan.size].tolist())
            for bar in plan.task.drawing.bars
        }
        """The real numbers that are drawn as bars, by name."""
        self._fixed_bars = tuple(
            Bars(name, _scale(values, values), tuple(f"{value:.2g}" for value in values))
            for name, values in self.fixed.items()
        )

    def number(self, text: str) -> float:
        """Return the height of a text: its rank where the values of lists are ranks, else its own value."""
        if text in self.ranks:
            return self.ranks[text]
        try:
            value = float(text)
        except ValueError:
            return 0.0
        return value if math.isfinite(value) else 0.0

    def scene(self, texts: Sequence[str], changed: Collection[int] = (), hidden: Collection[int] = ()) -> Scene:
        """Return the scene of what stands in each slot; some have just changed, and some are not to be written."""
        plan = self.plan
        line = None if plan.level is None else self.number(texts[plan.level])
        bars, lit, new, level = list(self._fixed_bars), set[int](), set[int](), None
        first = 0
        for column in plan.lists:
            part = texts[first : first + len(column.places)]
            first += len(column.places)
            if column.is_flags:
                lit |= {k for k, text in enumerate(part) if text != "0"}
                continue
            new |= {slot - first + len(part) for slot in changed if first - len(part) <= slot < first}
            numbers = [self.number(text) for text in part]
            scale = numbers if line is None else [*numbers, line]
            bars.append(Bars(column.name, _scale(numbers, scale), tuple(part)))
            if plan.level is not None and line is not None:
                level = (plan.names[plan.level], _scale([line], scale)[0], texts[plan.level])
        arrows, away = [], []
        for slot, rows in zip(plan.positions, plan.rows, strict=True):
            at, most = _whole(texts[slot]), max((len(bars[row].heights) for row in rows if bars), default=0)
            if at is None or not 0 <= at <= most:
                away.append(slot)
            else:
                arrows.append(Arrow(plan.names[slot], at, rows))
        return Scene(
            bars=tuple(bars),
            lit=frozenset(lit),
            arrows=tuple(arrows),
            level=level,
            bracket=bracket(bars[-1].heights, level[1], arrows) if plan.bracket and level and bars else None,
            gauges=tuple(self._fill(texts, *gauge) for gauge in plan.gauges),
            words=tuple((plan.names[slot], texts[slot]) for slot in (*away, *plan.values) if slot not in hidden),
            changed=frozenset(new),
        )

    def _fill(self, texts: Sequence[str], gauge: Gauge, level: int, mark: int) -> Filling:
        full = (
            max(math.fsum(self.fixed.get(gauge.bars, ())), self.number(texts[level]), self.number(texts[mark])) or 1.0
        )
        filled, marked = (min(1.0, max(0.0, self.number(texts[slot]) / full)) for slot in (level, mark))
        return Filling(gauge.name, filled, marked, f"{_short(texts[level])} / {_short(texts[mark])}")


def bracket(heights: Sequence[float], level: float, arrows: Sequence[Arrow]) -> tuple[int, int] | None:
    """Return between which positions of an ordered row a level can be, as far as the arrows on it tell."""
    low, high = 0, len(heights) - 1
    for _, at, _ in arrows:
        if at < len(heights):
            if heights[at] <= level:
                low = max(low, at if heights[at] == level else at + 1)
            if heights[at] >= level:
                high = min(high, at if heights[at] == level else at - 1)
    return (low, high) if low <= high else None


def _scale(values: Sequence[float], scale: Sequence[float]) -> tuple[float, ...]:
    """Return values as heights from a little above 0, the least of a scale, to 1, its greatest."""
    low, high = min(0.0, *scale, 0.0), max(0.0, *scale, 0.0)
    step = 0.06
    span = high - low or 1.0
    return tuple(step + (1 - step) * (value - low) / span for value in values)


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _short(text: str) -> str:
    """Return a number with three digits."""
    return f"{float(text):.3g}"
