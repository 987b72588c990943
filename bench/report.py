"""What a benchmark found, and how it is shown."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.timing import Timing

__all__ = ["Measurement", "PeerMissingError", "Quantity", "Ratio", "Report", "describe_machine", "show"]


class PeerMissingError(Exception):
    """What a benchmark compares with is not installed; the others can go on."""


@dataclass(frozen=True)
class Measurement:
    """The speed of one thing."""

    what: str
    timing: Timing
    aim: float | None = None
    """The steps per second that we want on a quiet machine."""
    unit: str = "steps"
    """What is counted, where it is not steps."""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one thing is as another, or as long as it takes, measured in turns."""

    what: str
    value: float
    most: float | None = None
    """The largest value that we want, where less is better."""
    least: float | None = None
    """The smallest value that we want, where more is better."""


@dataclass(frozen=True)
class Quantity:
    """How much there is of something that is not a speed."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True)
class Report:
    """What a benchmark found."""

    measurements: tuple[Measurement, ...]
    ratios: tuple[Ratio, ...] = ()
    quantities: tuple[Quantity, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "measurements": [
                {
                    "what": m.what,
                    m.unit: m.timing.steps,
                    "seconds": m.timing.seconds,
                    f"{m.unit}_per_second": m.timing.rate,
                    "aim": m.aim,
                }
                for m in self.measurements
            ],
            "ratios": [asdict(ratio) for ratio in self.ratios],
            "quantities": [asdict(quantity) for quantity in self.quantities],
        }


def describe_machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("surpass", "numpy", "numba", "gymnasium")},
    }


def show(console: Console, name: str, summary: str, report: Report) -> None:
    """Print a report: a table on a terminal, plain lines elsewhere."""
    if console.is_terminal:
        _show_table(console, name, summary, report)
    else:
        _print_lines(name, summary, report)


def _show_table(console: Console, name: str, summary: str, report: Report) -> None:
    table = Table(title=f"{name}: {summary}", title_justify="left", title_style="bold")
    table.add_column("what")
    for heading in ("steps/s", "aim", "steps", "seconds"):
        table.add_column(heading, justify="right")
    for m in report.measurements:
        aim = _aim(m)
        colour = "" if m.aim is None else "green" if m.timing.rate >= m.aim else "red"
        rate = _rate(m) + ("" if m.unit == "steps" else f" {m.unit}")
        table.add_row(m.what, rate, f"[{colour}]{aim}[/]" if colour else aim, *_work(m))
    console.print(table)
    for ratio in report.ratios:
        console.print(f"  {ratio.what}: [bold]{_times(ratio)}[/]{_wanted(ratio)}", highlight=False)
    for one in report.quantities:
        console.print(f"  {one.what}: [bold]{_number(one.value)}[/] {one.unit}", highlight=False)
    console.print()


def _print_lines(name: str, summary: str, report: Report) -> None:
    print(f"{name}: {summary}")
    width = max(len(m.what) for m in report.measurements)
    for m in report.measurements:
        steps, seconds = _work(m)
        aim = f"; aim {_aim(m)}" if m.aim is not None else ""
        print(f"  {m.what:{width}}  {_rate(m):>8} {m.unit}/s{aim}  ({steps} {m.unit} in {seconds} s)")
    for ratio in report.ratios:
        print(f"  ratio, {ratio.what}: {_times(ratio)}{_wanted(ratio)}")
    for one in report.quantities:
        print(f"  {one.what}: {_number(one.value)} {one.unit}")
    print(flush=True)


def _rate(measurement: Measurement) -> str:
    return _number(measurement.timing.rate)


def _aim(measurement: Measurement) -> str:
    if measurement.aim is None:
        return ""
    verdict = "met" if measurement.timing.rate >= measurement.aim else "missed"
    return f"{_number(measurement.aim)}, {verdict}"


def _work(measurement: Measurement) -> tuple[str, str]:
    return f"{measurement.timing.steps:,}", f"{measurement.timing.seconds:.3f}"


def _wanted(ratio: Ratio) -> str:
    """Return whether a ratio is as small, or as large, as we want it."""
    if ratio.most is not None:
        return f"; at most {ratio.most:g}x wanted, {'met' if ratio.value <= ratio.most else 'missed'}"
    if ratio.least is not None:
        return f"; at least {ratio.least:g}x wanted, {'met' if ratio.value >= ratio.least else 'missed'}"
    return ""


def _times(ratio: Ratio) -> str:
    return f"{ratio.value:,.0f}x" if ratio.value >= 100 else f"{ratio.value:#.3g}x"


def _number(rate: float) -> str:
    """Return a rate in three digits or more, with k or M for thousand or million."""
    for unit, letter in ((1e6, " M"), (1e3, " k"), (1.0, "")):
        if rate >= 999.5 * unit:
            return f"{rate / unit:,.0f}{letter}"
        if rate >= unit:
            return f"{rate / unit:#.3g}".rstrip(".") + letter
    return f"{rate:.3g}"
