"""Tables and texts in lines of any width: nothing is cut."""

from __future__ import annotations

import itertools
import re

import pytest

from surpass.printing import line_width, text_table, truncate, wrap

NAMES = ["zoo:sort-bubble/rl+imitation-insertion_sort", "zoo:sort-bubble/rl+imitation-bubble_sort", "zoo:search/rl"]
ROWS = [
    [name, method, f"{10**k:,}", f"{k / 7:.1%}", f"{123456.789 * 10**k:,.2f}", f"{k}.25", "5,2,9,1,8,7,6,4"]
    for k, (name, method) in enumerate(zip(NAMES, ["rl+imitation", "rl+imitation", "rl"], strict=True))
]
HEADINGS = ["agent", "method", "instances", "solved", "mean steps", "± 95 %", "the worst of all cases"]


@pytest.mark.parametrize("width", [*range(46, 130, 7), 200])
def test_no_digit_of_a_table_is_lost_at_any_width(width: int) -> None:
    shown = text_table("A table of agents and what they do", HEADINGS, ROWS, "a note of some words", width=width)
    assert max(map(len, shown.splitlines())) <= width
    squeezed = "".join(shown.split())
    for cell in {*itertools.chain(*ROWS)}:
        assert squeezed.count("".join(cell.split())) >= sum(row.count(cell) for row in ROWS), cell
    for heading in HEADINGS:
        assert all(word in shown for word in heading.split())


def test_a_table_uses_the_room_that_there_is() -> None:
    shown = text_table("", HEADINGS, ROWS, width=200)
    assert len(shown.splitlines()) == 1 + len(ROWS)
    numbers = text_table("", ["size", "steps"], [["5", "1.50"], ["1,000", "12.25"]], width=80)
    assert numbers == "   size  steps\n      5   1.50\n  1,000  12.25\n"


def test_only_what_the_others_say_too_is_left_out() -> None:
    rows = [[name, name.partition("/")[2].partition("-")[0], "12"] for name in NAMES]
    shown = text_table("", ["agent", "method", "rules"], rows, spare=["method"], width=60)
    assert "method" not in shown
    assert len(shown.splitlines()) == 1 + len(rows)
    assert "method" in text_table("", ["agent", "method", "rules"], rows, spare=["method"], width=70)


def test_spare_columns_go_before_a_heading_is_broken_which_is_not_before_a_sign() -> None:
    heads = ["size", "mean steps", "± 95 %", "longest run", "reward"]
    for width, first in ((60, heads), (46, heads[:4]), (34, heads[:3]), (25, ["size", "steps", "± 95 %"])):
        spare = ["reward", "longest run"]
        shown = text_table("", heads, [["5", "1.50", "0.25", "9", "3"]], spare=spare, width=width).splitlines()
        assert re.split("  +", shown[-2].strip()) == first
        assert len(shown) == 2 + (width == 25)


def test_texts_are_broken_between_words_and_long_words_stay_whole() -> None:
    text = "the smallest failing instance: " + ",".join(map(str, range(40)))
    lines = wrap(text, "  ", first="", width=60).splitlines()
    assert lines == ["the smallest failing instance:", "  " + ",".join(map(str, range(40)))]


def test_a_cut_text_keeps_its_end() -> None:
    assert truncate("1,3,5,7,9,11,13:12", 12, 3) == "1,3,5,...:12"
    assert truncate("1,3:2", 12, 3) == "1,3:2"


def test_lines_are_wide_without_a_terminal_unless_columns_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert line_width() == 120
    monkeypatch.setenv("COLUMNS", "80")
    assert line_width() == 80
    monkeypatch.setenv("COLUMNS", "1")
    assert line_width() == 40
