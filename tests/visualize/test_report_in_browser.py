"""The report in a real browser: it complains of nothing, asks for nothing, fits, follows dark mode, and plays."""

from __future__ import annotations

from pathlib import Path

import pytest

import surpass
from tests.visualize.conftest import Browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an agent of the zoo."""
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    surpass.report("zoo:search/improvement-binary_search").write(path)
    return path


@pytest.fixture
def shown(browser: Browser, page: Path) -> Browser:
    """The browser with the report on a wide screen."""
    browser.resize(1200)
    browser.open(page)
    return browser


def test_a_report_asks_for_nothing_and_complains_of_nothing(shown: Browser, page: Path) -> None:
    assert shown.complaints() == []
    assert shown.requests() == [page.as_uri()]
    assert shown.run("return document.querySelectorAll('svg.chart').length") == 2


def test_a_report_is_never_wider_than_the_window(shown: Browser) -> None:
    for width in (390, 1200):
        shown.resize(width)
        assert shown.run("return document.documentElement.scrollWidth") == width
        # The numbers and legends of charts stay large enough to read.
        smallest = shown.run(
            "const heights = [...document.querySelectorAll('svg.chart text')].map((t) => t.getBBox().height *"
            " t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width);"
            "return Math.min(...heights)"
        )
        assert smallest >= 11
        legends = "[...document.querySelectorAll('.legend li')].map((l) => parseFloat(getComputedStyle(l).fontSize))"
        assert min(shown.run(f"return {legends}")) >= 13


def test_no_number_of_a_table_is_cut_on_a_phone(shown: Browser) -> None:
    assert shown.run("return getComputedStyle(document.querySelector('.stacked td')).display") == "table-cell"
    for width in (320, 390, 499):
        shown.resize(width)
        cut = shown.run(
            "return [...document.querySelectorAll('.numbers td')].filter((cell) => cell.getClientRects().length &&"
            " cell.querySelector('span').getBoundingClientRect().right > arguments[0]).map((cell) => cell.innerText)",
            width,
        )
        assert cut == []
        named = shown.run(
            "return getComputedStyle(document.querySelector('.stacked td'), '::before').content.replaceAll('\"', '')"
        )
        assert named == "zoo:search/improvement-binary_search", "each number stands behind the name of its column"


def test_charts_fill_their_line(shown: Browser) -> None:
    for width in (500, 1280):
        shown.resize(width)
        for across, charts in shown.run(
            "return [...document.querySelectorAll('.figures')].map((line) => [line.getBoundingClientRect(),"
            " [...line.querySelectorAll('svg.chart')].map((chart) => chart.getBoundingClientRect())])"
        ):
            assert min(one["left"] for one in charts) == pytest.approx(across["left"], abs=1)
            assert max(one["right"] for one in charts) == pytest.approx(across["right"], abs=1)
            assert len({one["top"] for one in charts}) == (1 if width == 1280 else len(charts))


def test_charts_follow_light_and_dark(shown: Browser) -> None:
    colours = []
    for scheme in ("dark", "light"):
        shown.resize(1200, scheme=scheme)
        colours.append(
            shown.run(
                "const text = document.querySelector('svg.chart text');"
                "return [getComputedStyle(text).fill, getComputedStyle(document.body).backgroundColor]"
            )
        )
    assert all(dark != light for dark, light in zip(*colours, strict=True))


def test_the_recording_in_a_report_plays_to_its_end(shown: Browser) -> None:
    shown.run("viewer.play.click(); return true")
    shown.wait("viewer.moment === viewer.length && !viewer.isPlaying")
    counts = shown.run("return [...viewer.root.querySelectorAll('.panel .count')].map((c) => c.innerText)")
    assert len(counts) == 2
    for words in counts:
        _, step, _, total = words.split()
        assert step == total
    assert shown.complaints() == []


def test_keys_are_the_pages_until_the_recording_has_the_focus(shown: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    shown.press(Keys.ARROW_RIGHT)
    assert shown.run("return viewer.moment") == 0
    shown.run("viewer.play.focus()")
    shown.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert shown.run("return viewer.moment") == 2
