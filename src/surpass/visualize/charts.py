"""Charts: lines over an axis, drawn into a file, or as SVG inside a page whose colours the page chooses.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart; lines differ in their
dashes and marks as well.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from surpass.arrays import Reals
from surpass.errors import SettingError
from surpass.extras import load
from surpass.printing import finite, truncate
from surpass.reading import as_path

KINDS = ("png", "svg", "pdf")
"""What a chart can be written as, by the ending of the file's name."""
MOST_LINES = 12
"""More lines than this in one chart nobody tells apart."""
LONGEST_LABEL = 64
"""Longer labels are cut in legends."""
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
SHAPES = {
    "o": "M15 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "s": "M15 3h6v6h-6z",
    "^": "M18 3l3.4 6h-6.8z",
    "D": "M18 2.4L21.6 6L18 9.6L14.4 6z",
    "v": "M18 9l3.4-6h-6.8z",
    "P": "M17 2.8h2v2.2h2.2v2H19v2.2h-2V7h-2.2V5H17z",
    "X": "M15.2 4.4L16.4 3.2L18 4.8L19.6 3.2L20.8 4.4L19.2 6L20.8 7.6L19.6 8.8L18 7.2L16.4 8.8L15.2 7.6L16.8 6z",
}
"""Each mark as the outline of a small shape in the middle of a sample."""
DASHES = ("-", (0, (6, 2)), (0, (2, 2)))
"""The dashes of lines with the same colour."""
INK, FAINT, GRID = "#1b1b1b", "#666666", "#e4e4e4"
"""What is written, what is less important, and the grid, as the style of charts has them."""
STYLE = files("surpass.visualize").joinpath("templates", "charts.mplstyle")

Role = Literal["learned", "teacher", "paper"]


@dataclass(frozen=True, eq=False)
class ChartLine:
    """A line of a chart."""

    label: str
    x: Reals
    """[m]"""
    y: Reals
    """[m]"""
    low: Reals | None = None
    high: Reals | None = None
    """[m] the ends of what is shaded around it, if anything is."""
    role: Role = "learned"
    """Teachers are drawn in grey, what the paper prints as hollow marks."""
    colour: int | None = None
    """The number of its colour; if not given, the next of its role. What the paper prints of a teacher has none."""

    def as_json(self) -> dict[str, Any]:
        """Return the line as plain data, point by point."""
        arrays = {"x": self.x, "y": self.y, "low": self.low, "high": self.high}
        listed = {name: None if array is None else finite(array.tolist()) for name, array in arrays.items()}
        return {"label": self.label, "role": self.role, **listed}


@dataclass(frozen=True, eq=False)
class Chart:
    """Some lines over one axis."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    log_x: bool = False
    log_y: bool = False
    is_share: bool = False
    """Whether its values are shares, which are shown as percentages from 0 to 100."""
    marks: bool = False
    """Whether each point has a mark, which where there are few of them is easier to read."""
    x_unit: float = 1.0
    """By what numbers on the axis are divided; the label says so."""


def drawing_kind(path: Path) -> str:
    """Return what a file is to be written as, by its ending."""
    kind = as_path(path).suffix.removeprefix(".").lower()
    if kind not in KINDS:
        endings = ", ".join(f".{known}" for known in KINDS)
        raise SettingError(f"{path} has an ending that no plot can be written with; allowed: {endings}")
    return kind


def render_charts(
    kind: str, charts: Sequence[Chart], *, title: str = "", note: str = "", shared: bool = False
) -> bytes:
    """Return a picture of charts side by side as PNG, SVG or PDF; equal charts give equal bytes.

    With `shared`, all have the same range of values and lines.
    """
    with _styled(svg_text="path"):
        width = 5.2 * len(charts) if len(charts) > 1 else 6.4
        note_lines = wrap(note, int(17 * width))
        figure, part = _figure_with_note(width, 4.2, note_lines)
        axes = np.atleast_1d(part.subplots(1, len(charts), sharey=shared)).ravel()
        handles: dict[str, Any] = {}
        for axis, chart in zip(axes, charts, strict=True):
            handles |= _draw(axis, chart)
        _add_legend(part, handles, width, columns=len(charts) + 1)
        if title:
            part.suptitle(title, fontsize=11, fontweight="bold")
        metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
        image = io.BytesIO()
        figure.savefig(image, format=kind, dpi=150, metadata=metadata)
    return image.getvalue()


# In a page

SHEET = {
    **{colour: f"var(--series-{k})" for k, colour in enumerate(SERIES)},
    **{INK: "var(--ink)", FAINT: "var(--faint)", GRID: "var(--grid)"},
}
"""The variables of the page's style that stand for each colour."""
SIZES = ((4.9, 2.9), (4.1, 2.7))
"""The width and height of a chart of up to two in a line, and of one of more: wider ones have no larger letters."""


def inline_svg(chart: Chart, *, name: str, in_line: int = 1) -> str:
    """Return a chart as an SVG element for a page; `name` tells it from others, and must be of letters and digits.

    It is as large as suits `in_line` charts in a line. Its text is text and its colours are variables of the page, so
    that they follow light and dark. The page writes the legend below it, see `legend_of`: in a picture that is made
    smaller nobody could read it.
    """
    with _styled(svg_text="none"):
        figure = _new_figure(*SIZES[in_line > 2])
        figure.patch.set_alpha(0)
        axis = figure.subplots()
        axis.patch.set_alpha(0)
        _draw(axis, replace(chart, title=""))
        image = io.StringIO()
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _adopt(image.getvalue(), chart.title, name)


def legend_of(chart: Chart) -> list[tuple[str, str]]:
    """Return the label of each line of a chart with an SVG element that shows how the line is drawn."""
    return [
        (truncate(line.label, LONGEST_LABEL), _sample(_style_of(chart, line, number)))
        for line, number in _numbered(chart)
    ]


def _sample(style: dict[str, Any]) -> str:
    """Return a short piece of a line as an SVG element."""
    colour, width, dashes = SHEET[style["color"]], style["linewidth"], style["linestyle"]
    dashed = "" if dashes == "-" else f' stroke-dasharray="{" ".join(f"{part * width:g}" for part in dashes[1])}"'
    mark = SHAPES[style["marker"]] if "marker" in style else ""
    fill = style.get("markerfacecolor", colour)
    return (
        '<svg class="sample" viewBox="0 0 36 12" aria-hidden="true">'
        f'<path d="M1 6H35" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
        + (f'<path d="{mark}" fill="{fill}" stroke="{colour}" stroke-width="1.3"/>' if mark else "")
        + "</svg>"
    )


def _adopt(svg: str, title: str, name: str) -> str:
    """Return an SVG file as an element of a page: without what only files have, with names of its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    head, inside = body.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    inside = re.sub(
        r' id="((?:figure|axes|patch|line2d|text|legend|matplotlib|xtick|ytick|FillBetween)[^"]*)"', "", inside
    )
    inside = re.sub(r'\bid="', f'id="{name}-', inside)
    inside = re.sub(r'xlink:href="#', f'href="#{name}-', inside).replace("url(#", f"url(#{name}-")
    inside = re.sub("#[0-9a-f]{6}", lambda found: SHEET.get(found[0], found[0]), inside)
    label = escape(title, quote=True)
    return f'<svg class="chart" {box[0]} role="img" aria-label="{label}">{inside.strip()}'


# Drawing


def _styled(svg_text: str) -> Any:
    """Return a context in which matplotlib draws as all our charts are drawn, without a screen."""
    return load("matplotlib.style").context([str(STYLE), {"svg.fonttype": svg_text}])


def _new_figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _figure_with_note(width: float, height: float, lines: Sequence[str]) -> tuple[Any, Any]:
    """Return a figure with lines of small print at its foot, and the part of it that is left for the rest."""
    foot = 0.16 * len(lines) + 0.08
    figure = _new_figure(width, height + foot)
    if not lines:
        return figure, figure
    part, bottom = figure.subfigures(2, 1, height_ratios=(height, foot))
    bottom.text(0.01, 0.98, "\n".join(lines), fontsize=7.5, color=FAINT, va="top", linespacing=1.3)
    return figure, part


def _draw(axis: Any, chart: Chart) -> dict[str, Any]:
    """Draw a chart, and return what its legend shows by the label."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

    handles: dict[str, Any] = {}
    for line, number in _numbered(chart):
        x, style = line.x / chart.x_unit, _style_of(chart, line, number)
        (drawn,) = axis.plot(x, line.y, **style)
        handles.setdefault(truncate(line.label, LONGEST_LABEL), drawn)
        if line.low is not None and line.high is not None:
            low, high = (np.clip(end, 0, 1) if chart.is_share else end for end in (line.low, line.high))
            axis.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    axis.set_title(chart.title)
    axis.set_xlabel(chart.x_label)
    axis.set_ylabel(chart.y_label)
    # Where all numbers are whole, so are those of the ticks.
    whole_x = chart.x_unit == 1 and all((line.x % 1 == 0).all() for line in chart.lines)
    whole_y = not chart.is_share and all((line.y % 1 == 0).all() for line in chart.lines)
    for is_log, is_whole, scale, ticks, limits, least in (
        (chart.log_x, whole_x, axis.set_xscale, axis.xaxis, axis.set_xlim, 1),
        (chart.log_y, whole_y, axis.set_yscale, axis.yaxis, axis.set_ylim, 4),
    ):
        if is_log:
            scale("log")
            ticks.set_minor_formatter(NullFormatter())
        elif is_whole:
            ticks.set_major_locator(MaxNLocator(integer=True, nbins=8))
            limits(_widen(limits(), least))
        ticks.set_major_formatter(FuncFormatter(lambda value, _: _show_tick(value)))
    if chart.is_share:
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axis.set_ylim(-0.03, 1.05)
    return handles


def _widen(ends: tuple[float, float], least: int) -> tuple[float, float]:
    """Return the ends of an axis of whole numbers, at least so far apart, and none below 0 where no value is."""
    low, high = ends
    if high - low >= least:
        return low, high
    middle, half = round((low + high) / 2), (least + 1) // 2
    return (max(0, middle - half) if round(low) >= 0 else middle - half), middle + half


def _numbered(chart: Chart) -> Iterator[tuple[ChartLine, int]]:
    """Yield the lines of a chart with the numbers of their colours, dashes and marks."""
    counts = {"learned": 0, "teacher": 0, "paper": 0}
    for line in chart.lines:
        yield line, counts[line.role] if line.colour is None else line.colour
        counts[line.role] += 1


def _style_of(chart: Chart, line: ChartLine, number: int) -> dict[str, Any]:
    """Return how a line is drawn, in matplotlib's words."""
    if line.role == "paper":
        colour = FAINT if line.colour is None else SERIES[number % len(SERIES)]
        style: dict[str, Any] = {"color": colour, "linestyle": (0, (1, 2)), "linewidth": 1.2}
        return style | {"marker": MARKS[number % len(MARKS)], "markerfacecolor": "none", "markeredgewidth": 1.3}
    if line.role == "teacher":
        dashes = ((0, (5, 3)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (10, 3)))
        style = {"color": FAINT, "linestyle": dashes[number % len(dashes)], "linewidth": 1.5, "zorder": 2.1}
    else:
        dash = DASHES[number // len(SERIES) % len(DASHES)]
        style = {"color": SERIES[number % len(SERIES)], "linestyle": dash, "linewidth": 1.8}
    if chart.marks or len(line.x) == 1:
        style["marker"] = MARKS[number % len(MARKS)]
    return style


def _add_legend(figure: Any, handles: dict[str, Any], width: float, columns: int) -> None:
    """Put the legend below, in as many columns as the labels leave room for."""
    if not handles:
        return
    longest = max(map(len, handles))
    room = max(1, int(width * 13 // (longest + 6)))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=min(columns, room, len(handles)),
        frameon=False,
        fontsize=8.5,
        handlelength=2.6,
    )


def _show_tick(value: float) -> str:
    """Return the number of a tick: whole ones with thousands separated, large ones in short."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"
