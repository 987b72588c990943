"""What is shown while something is learned or takes long, without a terminal and on one of any width."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

from surpass.cli import display, live
from surpass.cli.display import Display, DisplayHandler, ProgressDisplay, brief, clock, fit
from surpass.cli.live import RunView, sparkline
from surpass.learning.status import STEPS, Measure, RunState, Status, TeacherComparison
from surpass.tasks.registry import find_task


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock_at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (display, live):
        monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(display, "is_terminal", lambda: False)
    return found


class Pretended:
    """A learner that has 35 rounds, each of a million steps."""

    task = find_task("sort-bubble")
    recipe: ClassVar[dict[str, Any]] = {
        "task": "sort-bubble",
        "method": "rl+imitation",
        "teacher": "insertion_sort",
        "seed": 7,
    }
    rounds = 0
    doing = "stage 2 of 3, sizes 5 to 20"

    def status(self, curve: Mapping[str, float]) -> Status:
        comparisons = (TeacherComparison(20, curve["mean_steps"], 211.3),) if curve else ()
        return Status(
            measure=STEPS,
            doing=self.doing,
            done=self.rounds,
            expected=35,
            work=1_000_000 * self.rounds,
            comparisons=comparisons,
        )


ROUNDS = [(0.2, 90.0, 10), (0.5, 200.0, 20), (1.0, 230.0, 20), (1.0, 205.5, 20), (1.0, 207.25, 20)]
"""What is solved in each round, in how many steps, at which size: the best is the fourth, the second solved less."""


class Learning:
    """A view that is shown how a learner goes on."""

    def __init__(self, clock_at: Clock, minutes: float | None = None) -> None:
        self.view, self.learner, self.curves = RunView(), Pretended(), list[Mapping[str, float]]()
        self.clock, self.minutes = clock_at, minutes

    def show(self, *more: Any) -> RunView:
        """Show the view how far the learner is."""
        self.view(RunState(self.learner, Path("runs/mine"), self.curves, 0, self.minutes, *more))
        return self.view

    def learn(self, rounds: list[tuple[float, float, int]], seconds: float = 2.0) -> RunView:
        """Show the view some more rounds, each of which takes a while."""
        for solved, steps, size in rounds:
            self.clock.now += seconds
            self.learner.rounds += 1
            told = {"round": self.learner.rounds, "size": size, "solved": solved, "mean_steps": steps}
            self.curves.append(told)
            self.show()
        return self.view


def picture(view: Display, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), record=True, legacy_windows=False)
    console.print(view.draw())
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= width
    return shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_view_of_a_run_says_what_a_person_wants_to_know(width: int, clock_at: Clock) -> None:
    learning = Learning(clock_at)
    learning.show()
    lines = picture(learning.learn(ROUNDS), width).splitlines()
    assert any(one.split() == ["solved", "100.0%"] for one in lines)
    assert any(set(one.strip()) == set("━╸") for one in lines)
    shown = " ".join(" ".join(lines).split())
    for part in (
        "sort-bubble by rl+imitation from insertion_sort, seed 7",
        "runs/mine",
        "stage 2 of 3, sizes 5 to 20",
        "round 5 of 35 0:10 ━",
        "solved 100.0%",
        "steps at n = 20 207.25 (teacher",
        "best so far 205.50 in round 4",
        "steps per second 500 k",
        "mean steps, 200.00 to 207.25 in 4 rounds",
    ):
        assert part in shown
    assert any(bar in shown for bar in live.BARS)


def test_while_not_everything_is_solved_few_steps_are_no_merit(clock_at: Clock) -> None:
    learning = Learning(clock_at)
    view = learning.learn([(0.555, 1.0, 20), (0.6, 500.0, 20), (0.555, 1.0, 20)])
    told = view.describe()
    assert "solved 55.5%, steps at n = 20 1.00, best so far 60.0% solved in round 2" in told
    assert "teacher" not in told
    assert "solved, 55.5% to 55.5% in 3 rounds" in picture(view, 80)
    learning.learn([(1.0, 230.0, 20)])
    assert "steps at n = 20 230.00 (teacher 211.30), best so far 230.00 in round 4" in view.describe()


def test_before_the_first_round_it_says_what_is_going_on(clock_at: Clock) -> None:
    learning = Learning(clock_at)
    assert "loading" in picture(learning.view, 80)
    shown = picture(learning.show(), 80)
    assert "round 0 of 35" in shown
    assert "in the first round" in shown
    learning.view._is_drawn = True
    learning.view.on_log("compiling what sort-bubble needs; this is done once", is_warning=False)
    assert "compiling what sort-bubble needs" in picture(learning.view, 80)
    assert "compiling" not in picture(learning.learn(ROUNDS), 80)


def test_while_it_is_scored_the_view_says_so(clock_at: Clock) -> None:
    learning = Learning(clock_at)
    learning.learn(ROUNDS)
    shown = picture(learning.show("scoring it, n=100", 30, 200), 80)
    assert "scoring it, n=100: 30 of 200" in shown
    assert "left" not in shown


def test_the_time_left_is_that_of_all_parts_of_a_run_or_none(clock_at: Clock) -> None:
    learning = Learning(clock_at)
    assert learning.learn(ROUNDS).pace() == (pytest.approx(500_000), None), "this is stage 2 of 3"
    assert learning.view.describe().endswith(", 0:10")
    learning.learner.doing = ""
    learning.show()
    assert learning.learn(ROUNDS).pace() == (pytest.approx(500_000), pytest.approx(50))
    assert learning.view.describe().endswith(", 0:20, scored in about 0:50")


@pytest.mark.parametrize(("minutes", "told"), [(1, "0:10 of 1:00"), (9, "0:10 of 9:00, scored in")])
def test_a_time_that_is_set_is_told_as_what_it_is(minutes: float, told: str, clock_at: Clock) -> None:
    learning = Learning(clock_at, minutes=minutes)
    learning.learner.doing = ""
    assert told in learning.learn(ROUNDS).describe()
    assert ("scored" in learning.view.describe()) is ("scored" in told)


def test_lines_without_a_terminal_come_at_a_calm_pace(clock_at: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    learning = Learning(clock_at)
    learning.show()
    learning.learn([(1.0, 200.0 + k, 20) for k in range(20_000)], seconds=0.1)
    learning.show("scoring it")
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("round 1 of 35: stage 2 of 3, sizes 5 to 20, solved 100.0%, steps at n = 20 200.00")
    rounds = [int(line.split()[1].replace(",", "")) for line in told[:-1]]
    assert 15 < len(rounds) < 40
    assert all(2 * (b - a) >= a - c for c, a, b in zip(rounds, rounds[1:], rounds[2:], strict=False))
    assert told[-1] == "scoring it, 33:20"


class Searching(Pretended):
    """A search that compares its best program at five sizes, and has more rounds than its time allows."""

    doing = ""

    def status(self, curve: Mapping[str, float]) -> Status:
        means = [(5, 14.546), (10, 48.8), (20, 129.0), (40, 321.7), (80, 770.9)]
        return Status(
            measure=Measure("cost", "best so far", is_share=True, of="of the cost of quick_sort", is_best=True),
            done=self.rounds,
            expected=2000,
            comparisons=tuple(TeacherComparison(size, mean, 2 * mean) for size, mean in means) if curve else (),
            beside="quick_sort",
            facts=(("by", "15 rules, teacher:hoare_sort"),),
        )


def search_for(clock_at: Clock, rounds: int, minutes: float | None) -> RunView:
    """Return a view of a search, each round of which took two seconds."""
    view, learner, curves = RunView(), Searching(), list[Mapping[str, float]]()
    for done in range(1, rounds + 1):
        clock_at.now += 2
        learner.rounds = done
        curves.append({"cost": 0.6})
        view(RunState(learner, Path("runs/mine"), curves, 0, minutes))
    return view


def test_a_line_of_a_search_says_each_thing_once(clock_at: Clock) -> None:
    assert search_for(clock_at, 3, 10).describe() == (
        "round 3: best so far 60.0% of the cost of quick_sort, steps at n = 5 / 20 / 80: 14.5 / 129 / 771"
        " (quick_sort 29.1 / 258 / 1,542), by 15 rules, teacher:hoare_sort, 0:06 of 10:00"
    )


def test_rounds_that_the_time_does_not_allow_are_not_promised(clock_at: Clock) -> None:
    assert search_for(clock_at, 3, 10).describe().startswith("round 3: ")
    assert search_for(clock_at, 3, 100).describe().startswith("round 3 of 2,000: ")
    assert search_for(clock_at, 3, None).describe().startswith("round 3 of 2,000: ")
    view = search_for(clock_at, 30, 2)
    view._is_drawn = True
    bar = next(line for line in picture(view, 80).splitlines() if "━" in line)
    assert bar.count("━") == live.WIDE // 2, "half of the time is over"
    shown = " ".join(picture(view, 80).split())
    assert "steps at n = 20 129.00 (quick_sort 258.00)" in shown
    assert "best so far, 60.0% to 60.0% of the cost of quick_sort in 30 rounds" in shown


def test_a_line_in_which_only_the_round_and_the_time_differ_is_not_told(
    clock_at: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    learning = Learning(clock_at)
    learning.learn([(0.0, 200.0, 20)] * 550, seconds=0.1)
    assert len(capsys.readouterr().err.splitlines()) == 1
    learning.learn([(0.1, 200.0, 20)], seconds=0.1)
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("round 551 of 35: stage 2 of 3, sizes 5 to 20, solved 10.0%")


def test_parts_that_are_over_soon_are_not_told_each(clock_at: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    learning = Learning(clock_at)
    for part in range(200):
        learning.learner.doing = f"part {part}"
        learning.learn([(1.0, 200.0, 20)], seconds=0.5)
    assert 10 < len(capsys.readouterr().err.splitlines()) < 25


def test_a_sparkline_has_the_ends_and_fits() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8], 20) == live.BARS
    assert sparkline([5, 5], 10) == "▁▁"
    assert len(sparkline(list(range(1000)), 60)) == 60
    assert sparkline([float("nan")], 10) == ""


def test_times_and_rates_are_brief() -> None:
    assert [clock(s) for s in (7.4, 750, 3723)] == ["0:07", "12:30", "1:02:03"]
    assert [brief(n) for n in (87, 12_345, 1_923_456, 2.5e9)] == ["87", "12.3 k", "1.92 M", "2.5 G"]


def test_what_the_package_says_goes_into_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "is_terminal", lambda: True)
    monkeypatch.setattr(ProgressDisplay, "_show", lambda self: None)
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    with ProgressDisplay() as progress:
        for level, text in ((logging.INFO, "compiling"), (logging.WARNING, "take care")):
            DisplayHandler().emit(logging.LogRecord("surpass", level, "", 0, text, None, None))
        progress("runs", 3, 9)
        assert "3 of 9" in picture(progress, 80)
    assert said.getvalue() == "surpass: take care\n"
    DisplayHandler().emit(logging.LogRecord("surpass", logging.INFO, "", 0, "compiling", None, None))
    assert said.getvalue().endswith("surpass: compiling\n")


def told_by(shown: ProgressDisplay, capsys: pytest.CaptureFixture[str]) -> list[str]:
    shown._tell_again()
    return capsys.readouterr().err.splitlines()


def test_nothing_is_told_twice_without_news(clock_at: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    shown, told = ProgressDisplay(), []  # type: ProgressDisplay, list[str]
    for _ in range(350):
        clock_at.now += 0.1
        shown("running it, observations so far", 12)
        told += told_by(shown, capsys)
    assert told == ["running it, observations so far: 12"]
    for _ in range(700):
        clock_at.now += 0.1
        told += told_by(shown, capsys)
    assert told[1:] == ["still running (1:02)"]
    shown("running it, observations so far", 13)
    clock_at.now += 12
    assert told_by(shown, capsys) == ["running it, observations so far: 13"]


def test_work_of_under_two_seconds_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        for k in range(100):
            progress("runs", k, 100)
    assert capsys.readouterr() == ("", "")


def test_messages_break_between_words_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "surpass: interrupted: surpass learn --out runs/my-own-run --resume goes on from the last checkpoint"
    assert fit(text) == text
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    lines = fit(text).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == text


def test_long_work_shows_itself_while_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = threading.Event()
    monkeypatch.setattr(display, "is_terminal", lambda: True)
    monkeypatch.setattr(ProgressDisplay, "patience", 0.01)
    monkeypatch.setattr(ProgressDisplay, "_show", lambda self: drawn.set())
    with ProgressDisplay():
        assert drawn.wait(60)
