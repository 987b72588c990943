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


def test_a_report_asks_for_nothing_and_complains_of_nothing(browser: Browser, page: Path) -> None:
    browser.resize(1200)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return document.querySelectorAll('svg.chart').length") == 2


@pytest.mark.parametrize("width", [390, 1200])
def test_a_report_is_never_wider_than_the_window(browser: Browser, page: Path, width: int) -> None:
    browser.resize(width)
    browser.open(page)
    assert browser.run("return document.documentElement.scrollWidth") == width
    # The numbers and legends of charts stay large enough to read.
    smallest = browser.run(
        "const heights = [...document.querySelectorAll('svg.chart text')].map((t) => t.getBBox().height *"
        " t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width);"
        "return Math.min(...heights)"
    )
    assert smallest >= 11
    legends = "[...document.querySelectorAll('.legend li')].map((l) => parseFloat(getComputedStyle(l).fontSize))"
    assert min(browser.run(f"return {legends}")) >= 13


@pytest.mark.parametrize("width", [320, 390, 499])
def test_no_number_of_a_table_is_cut_on_a_phone(browser: Browser, page: Path, width: int) -> None:
    browser.resize(width)
    browser.open(page)
    cut = browser.run(
        "return [...document.querySelectorAll('.numbers td')].filter((cell) => cell.getClientRects().length &&"
        " cell.querySelector('span').getBoundingClientRect().right > arguments[0]).map((cell) => cell.innerText)",
        width,
    )
    assert cut == []
    named = browser.run(
        "return getComputedStyle(document.querySelector('.stacked td'), '::before').content.replaceAll('\"', '')"
    )
    assert named == "zoo:search/improvement-binary_search", "each number stands behind the name of its column"
    browser.resize(1200)
    assert browser.run("return getComputedStyle(document.querySelector('.stacked td')).display") == "table-cell"


def test_charts_follow_light_and_dark(browser: Browser, page: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        browser.resize(1200, scheme=scheme)
        browser.open(page)
        colours.append(
            browser.run(
                "const text = document.querySelector('svg.chart text');"
                "return [getComputedStyle(text).fill, getComputedStyle(document.body).backgroundColor]"
            )
        )
    (light_ink, light_ground), (dark_ink, dark_ground) = colours
    assert light_ink != dark_ink
    assert light_ground != dark_ground
    browser.resize(1200)


def test_the_recording_in_a_report_plays_to_its_end(browser: Browser, page: Path) -> None:
    browser.resize(1200)
    browser.open(page)
    browser.run("viewer.play.click(); return true")
    browser.wait("viewer.moment === viewer.length && !viewer.isPlaying")
    shown = browser.run("return [...viewer.root.querySelectorAll('.panel .count')].map((c) => c.innerText)")
    assert len(shown) == 2
    for words in shown:
        _, step, _, total = words.split()
        assert step == total
    assert browser.complaints() == []


def test_keys_are_the_pages_until_the_recording_has_the_focus(browser: Browser, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.resize(1200)
    browser.open(page)
    browser.press(Keys.ARROW_RIGHT)
    assert browser.run("return viewer.moment") == 0
    browser.run("viewer.play.focus()")
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.run("return viewer.moment") == 2
