"""The viewer in a real browser: what it shows is what happened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surpass
from surpass.programs.listing import list_program
from surpass.visualize.viewer import viewer_assets, viewer_fragment, viewer_page
from surpass.visualize.watched import Watched
from tests.visualize.conftest import Browser

EXAMPLES = Path(__file__).parents[2] / "examples"
MERGE = str(Path(__file__).with_name("merge.py"))


@dataclass(frozen=True)
class Case:
    agent: str
    against: str | None
    size: int
    task: str | None = None


CASES = {
    "sort-bubble": Case("zoo:sort-bubble/improvement-insertion_sort", "teacher:insertion_sort", 9),
    "sort-quick": Case("zoo:sort-quick/improvement-hoare_sort", "teacher:hoare_sort", 9),
    "search": Case("zoo:search/improvement-binary_search", "teacher:linear_search", 20),
    "knapsack": Case("zoo:knapsack/rl", "teacher:depth_first", 6),
    "sort-full": Case("teacher:selection_sort", None, 8),
    "minimum": Case("teacher:scan", None, 6, str(EXAMPLES / "minimum.py")),
    "merge": Case("teacher:take_the_smaller", None, 7, MERGE),
}
SEED = 5


@cache
def watch(name: str) -> Watched:
    case = CASES[name]
    return surpass.watch(case.agent, against=case.against, size=case.size, seed=SEED, task=case.task)


def show(browser: Browser, folder: Path, seen: Watched) -> None:
    path = folder / "trace.html"
    seen.write(path)
    browser.resize(1200)
    browser.open(path)


def picture(browser: Browser) -> Any:
    """Return everything that can be seen: the pixels, and the page's words."""
    return browser.run(
        "return [...viewer.root.querySelectorAll('canvas')].map((c) => c.toDataURL()).concat(viewer.root.innerText,"
        " [...viewer.root.querySelectorAll('.lit')].map((line) => line.innerText))"
    )


@pytest.mark.parametrize("name", CASES)
def test_play_runs_to_the_end_that_evaluate_tells(name: str, browser: Browser, tmp_path: Path) -> None:
    case, seen = CASES[name], watch(name)
    show(browser, tmp_path, seen)
    for _ in range(12):
        browser.press("+")
    browser.press(" ")
    browser.wait("viewer.moment === viewer.length && !viewer.isPlaying")
    agents = [agent for agent in (case.agent, case.against) if agent]
    panels = browser.run(
        "return viewer.panels.map((p) => [p.count.innerText, p.badge.innerText, p.canvas.getAttribute('aria-label')])"
    )
    for agent, recording, (count, badge, says) in zip(agents, seen.recordings, panels, strict=True):
        (row,) = surpass.evaluate(agent, sizes=[case.size], instances=1, seed=SEED, task=case.task).rows
        assert count == f"step {row.max_steps} of {row.max_steps}"
        assert (badge in ("solved", "budget used")) == (row.solved == 1)
        assert (badge == "budget used") == (name == "knapsack"), "where steps are a budget, to use it up solves nothing"
        if name.startswith("sort"):
            assert f"A = {', '.join(map(str, range(case.size)))}" in says
        assert recording.score == pytest.approx(surpass.run(surpass.find_agent(agent), drawn(recording)).scores[0])
    assert browser.complaints() == []
    assert browser.requests() == [(tmp_path / "trace.html").as_uri()]


def drawn(recording: Any) -> Any:
    return recording.task.parse_instance(recording.instance)[0]


@pytest.mark.parametrize("name", CASES)
def test_stepping_on_and_back_returns_to_the_same_picture(name: str, browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, watch(name))
    pictures = [picture(browser)]
    for _ in range(4):
        browser.run("viewer.stepBy(1)")
        pictures.append(picture(browser))
    assert all(a != b for a, b in pairwise(pictures))
    browser.run("viewer.seek(viewer.length)")
    browser.run("viewer.seek(4)")
    for before in reversed(pictures):
        assert picture(browser) == before
        browser.run("viewer.stepBy(-1)")
    assert picture(browser) == pictures[0], "before the start there is nothing"


def test_the_keyboard_does_everything(browser: Browser, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, tmp_path, watch("sort-bubble"))
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert browser.run("return viewer.moment") == 1
    browser.press(Keys.END)
    assert browser.run("return viewer.moment === viewer.length")
    browser.press(Keys.HOME)
    assert browser.run("return viewer.moment") == 0
    slow = browser.run("return viewer.pace.innerText")
    browser.press("+")
    assert browser.run("return viewer.pace.innerText") != slow
    browser.press("-")
    assert browser.run("return viewer.pace.innerText") == slow
    browser.press(" ")
    browser.wait("viewer.moment > 1")
    browser.press(" ")
    assert browser.run("return [viewer.isPlaying, viewer.root.dataset.playing]") == [False, "false"]
    browser.press(Keys.TAB)
    ring = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid", "what has the focus can be seen"
    names = browser.run("return [...viewer.root.querySelectorAll('button')].map((b) => b.getAttribute('aria-label'))")
    assert all(names)


@pytest.mark.parametrize("name", ["sort-bubble", "sort-quick", "search", "knapsack"])
def test_two_agents_stay_in_step_and_the_lit_rule_is_the_one_that_fired(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    seen = watch(name)
    show(browser, tmp_path, seen)
    told = browser.run(
        "const told = [];"
        "for (let t = 0; t <= viewer.length; t += 1) { viewer.seek(t); told.push(viewer.panels.map((p) =>"
        " [Number(p.element.dataset.step), p.action.innerText,"
        " [...p.element.querySelectorAll('.lit code')].map((c) => c.textContent)])); }"
        "return told"
    )
    longest = max(len(recording.moves) for recording in seen.recordings)
    assert len(told) == longest + 1
    for number, recording in enumerate(seen.recordings):
        trace = surpass.trace(CASES[name].agent if number == 0 else str(CASES[name].against), recording.instance)
        program = recording.listing.program
        assert program is not None
        fired = program.rules_for(np.array([step.observation for step in trace.steps]))
        line_of = {rule: line.text for line in list_program(program) for rule in line.rules}
        for moment, panels in enumerate(told):
            at, action, lit = panels[number]
            assert at == min(moment, len(trace.steps))
            if at:
                assert action == trace.steps[at - 1].action
                assert lit == [line_of[int(fired[at - 1])]]
            else:
                assert lit == []


def test_each_variable_stands_below_its_own_list(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, watch("merge"))
    drawn = browser.run(
        "const drawn = [], pen = viewer.panels[0].renderer.context, fill = pen.fillText.bind(pen);"
        " pen.fillText = (text, x, y) => { drawn.push([text, y]); fill(text, x, y); };"
        " viewer.seek(3); return drawn"
    )
    high = {text: y for text, y in drawn if text in "ABCabc"}
    assert sorted("AaBbCc", key=high.__getitem__) == list("AaBbCc")


@pytest.mark.parametrize("name", ["minimum", "sort-quick"])
def test_the_program_stands_beside_the_bars_where_there_is_room(name: str, browser: Browser, tmp_path: Path) -> None:
    seen = surpass.watch("teacher:quick_sort", "4,2,3,1") if name == "sort-quick" else watch(name)
    show(browser, tmp_path, seen)
    places = (
        "return ['canvas', '.program', '.calls'].map((one) => viewer.panels[0].element.querySelector(one))"
        ".map((one) => one && one.getBoundingClientRect()).map((at) => at && [at.left, at.top, at.right, at.bottom])"
    )
    bars, program, calls = browser.run(places)
    assert program[0] >= bars[2]
    assert program[1] < bars[3]
    assert (calls is None) == (name == "minimum"), "there is a stack where functions are called"
    browser.resize(500)
    bars, program, _ = browser.run(places)
    assert program[1] >= bars[3]


def test_an_answer_is_shown_once_there_is_one(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, watch("minimum"))
    answer = "viewer.panels[0].facts.get('answer').innerText"
    assert browser.run(f"return {answer}") == "none yet"
    browser.run("viewer.seek(viewer.length - 1)")
    assert browser.run(f"return {answer}") == "none yet"
    browser.run("viewer.seek(viewer.length)")
    assert browser.run(f"return {answer}").isdecimal()


@pytest.mark.parametrize("name", CASES)
def test_what_steps_change_is_not_cut(name: str, browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, watch(name))
    browser.run("viewer.panels.forEach((p) => { p.detail.open = true; })")
    for width in (390, 1280):
        browser.resize(width)
        browser.wait("viewer.panels.every((p) => p.trace.clientHeight > 0)")
        cut = browser.run(
            "viewer.measure(); const cut = [];"
            "for (let t = 0; t <= viewer.length; t += 1) { viewer.seek(t);"
            " for (const row of viewer.root.querySelectorAll('.changes')) if (row.scrollWidth > row.clientWidth ||"
            " row.getBoundingClientRect().right > row.closest('.trace').getBoundingClientRect().right)"
            " cut.push(row.innerText); }"
            "return cut"
        )
        assert cut == [], width


def test_what_looks_like_markup_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    nasty = "</script><img src=x onerror=\"document.title='broken'\"><b>& --> ]]>"
    (recording,) = watch("minimum").recordings
    start = tuple(nasty if slot == 0 else text for slot, text in enumerate(recording.start))
    listing = recording.listing._replace(note=nasty)
    recording = replace(recording, agent=nasty, instance=nasty, start=start, listing=listing, notices=(nasty,))
    path = tmp_path / "nasty.html"
    path.write_text(viewer_page([recording, recording], nasty), encoding="utf-8")
    browser.open(path)
    browser.run("viewer.seek(viewer.length)")
    assert browser.run("return document.querySelectorAll('img, b').length") == 0
    assert browser.run("return document.title") == nasty
    shown = browser.run(
        "return ['h1', 'h2', '.notice', '.note'].map((part) => document.querySelector(part).textContent)"
    )
    assert shown == [nasty] * 4
    assert nasty in browser.run("viewer.seek(0); return viewer.panels[0].canvas.getAttribute('aria-label')")
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]


def test_a_long_run_is_cut_with_a_notice_and_only_a_few_of_its_rows_are_in_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    seen = surpass.watch("teacher:bubble_sort", size=130, seed=1)
    (recording,) = seen.recordings
    assert len(recording.moves) == 10_000 < recording.steps
    show(browser, tmp_path, seen)
    assert (tmp_path / "trace.html").stat().st_size < 1_500_000
    assert f"first 10,000 of {recording.steps:,} steps" in browser.run("return viewer.root.innerText")
    for moment in (10_000, 37, 5_000):
        browser.run("viewer.seek(arguments[0])", moment)
        first = picture(browser)
        browser.run("viewer.stepBy(-1); viewer.seek(9999); viewer.seek(arguments[0])", moment)
        assert picture(browser) == first
        assert browser.run("return viewer.root.querySelectorAll('.step').length") < 40
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["sort-quick", "knapsack"])
def test_the_page_fits_narrow_and_wide_screens(name: str, browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, watch(name))
    for width, scheme in product((360, 1200), ("light", "dark")):
        browser.resize(width, scheme=scheme)
        browser.run("viewer.seek(5)")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        paper, ink = browser.run(
            "const s = getComputedStyle(viewer.root); return [s.backgroundColor, s.color].map((c) =>"
            " c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0))"
        )
        assert (paper > ink) == (scheme == "light")
        assert abs(paper - ink) > 450, "text stands out from its ground"


def test_two_viewers_stand_on_one_page_and_hear_the_keys_of_their_own(browser: Browser, tmp_path: Path) -> None:
    recordings = watch("sort-bubble").recordings
    parts = [viewer_fragment(recordings, element_id=name) for name in ("one", "two")]
    path = tmp_path / "both.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{parts[0]}{viewer_assets()}{parts[1]}", encoding="utf-8")
    browser.open(path)
    browser.run("document.getElementById('two').focus()")
    browser.press("\ue014")
    steps = browser.run("return ['one', 'two'].map((id) => document.getElementById(id).surpassViewer.moment)")
    assert steps == [0, 1]
