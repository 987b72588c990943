from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

import surpass
from surpass.agents import as_task
from surpass.engine.picture import draw_trace
from surpass.errors import SettingError, SurpassError
from surpass.pictures.layout import Caption, Text, lay_out
from surpass.pictures.plan import plan_of
from surpass.pictures.text import draw_lines
from surpass.programs.program import Function, Place, Program, Rule
from surpass.visualize.recording import MOST_SIZE, record_run
from surpass.visualize.terminal import play_recordings
from surpass.visualize.viewer import recording_data, viewer_fragment
from tests.cli.here import call_here

EXAMPLES = Path(__file__).parents[2] / "examples"
MERGE = str(Path(__file__).with_name("merge.py"))
QUICK = "zoo:sort-quick/improvement-hoare_sort"


def test_a_recording_holds_what_a_trace_tells() -> None:
    agent = surpass.find_agent("teacher:quick_sort")
    recording, trace = record_run(agent, "5,2,9,1,7"), surpass.trace(agent, "5,2,9,1,7")
    assert [move.action for move in recording.moves] == [step.action for step in trace.steps]
    depth = 0
    for move, step in zip(recording.moves, trace.steps, strict=True):
        assert depth == step.depth, "as many calls are open as the trace says"
        depth = move.kept + len(move.opened)
    *_, (last, _) = recording.scenes()
    assert last.bars[0].texts == ("1", "2", "5", "7", "9")
    assert recording.steps == len(trace.steps)


def test_the_bracket_closes_on_the_query() -> None:
    recording = record_run(surpass.find_agent("teacher:bracket_search"), "1,3,5,7,9,11,13,15:11")
    widths = [8, *(move.bracket[1] - move.bracket[0] + 1 if move.bracket else 0 for move in recording.moves)]
    assert widths == sorted(widths, reverse=True)
    assert recording.moves[-1].bracket == (5, 5)


def test_rules_of_a_teacher_do_what_it_did() -> None:
    agent = surpass.find_agent("teacher:insertion_sort")
    recording = record_run(agent, "3,1,2,5,4")
    program = recording.listing.program
    assert isinstance(program, Program)
    placed = [program.rules[move.rule] for move in recording.moves if move.rule is not None]
    actions = agent.task.interface.actions
    assert [str(actions[rule.action]) for rule in placed] == [move.action for move in recording.moves]


def test_a_loop_is_said_to_be_one() -> None:
    task = surpass.find_task("sort-bubble")
    always = Rule((), task.interface.parse_action("MoveVar(1, +1)"))
    looping = Program("looping", task, (Function((), (Place((), (always,)),)),))
    recording = record_run(looping, "2,1,3")
    assert recording.outcome == "loop"
    assert recording.steps == 90, "the limit, as evaluate counts it"
    assert len(recording.moves) == 3
    assert recording.notices == ("After 3 steps everything is as it was before: from here on the run repeats itself.",)


def test_an_agent_without_an_answer_has_a_recording_without_a_step() -> None:
    recording = record_run(Program("speechless", surpass.find_task("sort-bubble"), ()), "2,1")
    assert (recording.outcome, recording.moves) == ("no action", ())
    assert viewer_fragment([recording])


@pytest.mark.parametrize(
    ("task", "positions", "values"),
    [
        ("sort-bubble", ["v1", "v2", "v3", "v4"], ["in_order"]),
        ("search", ["v1", "v2", "v3", "v4"], ["answer", "score"]),
        ("knapsack", ["i"], []),
        ("minimum.py", ["v1", "v2"], ["answer", "score"]),
        ("pair_sum.py", ["low", "high"], ["found", "score"]),
        ("partition.py", ["i", "j"], ["score"]),
    ],
)
def test_positions_and_values_come_from_the_declaration(task: str, positions: list[str], values: list[str]) -> None:
    plan = plan_of(as_task(str(EXAMPLES / task) if task.endswith(".py") else task), 4)
    assert [plan.names[slot] for slot in plan.positions] == positions
    assert [plan.names[slot] for slot in plan.values] == values


@pytest.mark.parametrize(
    "drawing",
    [
        {"positions": ("v9",)},
        {"positions": ("B[v1]",)},
        {"positions": ("A[v9]",)},
        {"level": "q"},
        {"flags": ("taken",)},
    ],
    ids=str,
)
def test_a_drawing_of_what_is_not_there_is_refused(drawing: dict[str, Any]) -> None:
    with pytest.raises(SurpassError):
        replace(surpass.find_task("sort-bubble"), drawing=surpass.Drawing(**drawing))


def test_a_variable_stands_below_the_list_that_features_index_with_it() -> None:
    (recording,) = surpass.watch("teacher:take_the_smaller", "1,4,2,3", task=MERGE).recordings
    assert [recording.plan.names[slot] for slot in recording.plan.positions] == ["a", "b", "c"]
    assert recording.plan.rows == ((0,), (1,), (2,)), "no feature tells of c, which stands in the last list"
    (scene, _), *_ = recording.scenes()
    lines = [line.strip() for line in draw_lines(scene, 60)]
    names = ["A", "▲ a", "B", "▲ b", "C", "▲ c"]
    assert [line for line in lines if line in names] == names
    shapes = lay_out(scene, Caption("", ""), 480, 300)
    high = {shape.text: shape.y for shape in shapes if isinstance(shape, Text)}
    assert sorted("AaBbCc", key=high.__getitem__) == list("AaBbCc")


def test_a_drawn_trace_has_each_variable_below_its_own_list() -> None:
    drawn = list(draw_trace(as_task(MERGE), surpass.trace("teacher:take_the_smaller", "1,4,2,3", task=MERGE)))
    at = drawn.index(next(line for line in drawn if line.startswith("2  ")))
    assert [line.split() for line in drawn[at + 1 : at + 8]] == [
        ["0", "1", "2", "3"],
        ["A", "1", "4"],
        ["a"],
        ["B", "2", "3"],
        ["b"],
        ["C", "1", "2", "0", "0"],
        ["c"],
    ]


def test_a_task_can_say_in_which_lists_a_variable_stands() -> None:
    declared = surpass.Drawing(positions=("a", "C[b]", "A[c]", "B[c]"))
    plan = plan_of(replace(as_task(MERGE), drawing=declared), 4)
    assert plan.rows == ((0,), (2,), (0, 1))


def test_a_run_without_calls_shows_no_stack() -> None:
    quick, never = (surpass.watch(name, "3,1,2").recordings[0] for name in ("teacher:quick_sort", QUICK))
    assert [recording_data(one)["calls"] for one in (quick, never)] == [True, False]


def test_a_gif_shows_the_first_and_the_last_moment(tmp_path: Path) -> None:
    seen = surpass.watch("teacher:insertion_sort", "3,1,2", against="teacher:bubble_sort")
    seen.write(tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as image:
        longest = max(len(recording.moves) for recording in seen.recordings)
        assert image.n_frames == longest + 1  # type: ignore[attr-defined]
        assert image.size == (960, 300)


def test_an_svg_is_well_formed_and_holds_markup_as_text(tmp_path: Path) -> None:
    seen = surpass.watch("teacher:depth_first", size=4)
    nasty = "<b>&\x00"
    seen = replace(seen, recordings=tuple(replace(recording, agent=nasty) for recording in seen.recordings))
    seen.write(tmp_path / "run.svg")
    root = ElementTree.parse(tmp_path / "run.svg").getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&�" in texts
    assert any(text and "budget used" in text for text in texts)


def test_a_budget_of_steps_is_said_to_be_used_up() -> None:
    seen = surpass.watch("teacher:depth_first", size=6, listing=False)
    (recording,) = seen.recordings
    assert f"depth_first on knapsack: budget of 120 steps used, score {recording.score:.4g}." in str(seen)
    assert "solved" not in str(seen)
    few = record_run(surpass.find_agent("teacher:depth_first"), "0.5:0.5:0.9", listing=False)
    assert ("budget of" in repr(few)) == few.uses_budget
    assert f"score {few.score:.4g}" in repr(few)


def test_a_score_that_is_never_counted_is_not_shown_nor_an_answer_before_there_is_one() -> None:
    scan = surpass.find_agent("teacher:scan", str(EXAMPLES / "minimum.py"))
    scenes = [dict(scene.words) for scene, _ in record_run(scan, "3,1,2").scenes()]
    assert all("score" not in words for words in scenes)
    assert ["answer" in words for words in scenes] == [False] * (len(scenes) - 1) + [True]
    absent = record_run(surpass.find_agent("teacher:linear_search"), "1,3:2")
    *_, (last, _) = absent.scenes()
    assert dict(last.words) == {"answer": "-1"}, "at the end there is no answer to wait for"
    counted = record_run(surpass.find_agent("teacher:insertion_sort"), "3,1,2")
    assert all("in_order" in dict(scene.words) for scene, _ in counted.scenes())


def test_recordings_are_printed_where_the_output_is_no_terminal() -> None:
    out = io.StringIO()
    play_recordings(surpass.watch("teacher:binary_search", "1,3,5,7:5").recordings, file=out)
    assert "rule " in out.getvalue()
    assert "▲ v1" in out.getvalue()
    assert "solved" in out.getvalue()


def test_a_notebook_shows_the_viewer_in_a_frame_of_its_own() -> None:
    shown = surpass.watch("teacher:insertion_sort", [3, 1, 2])._repr_html_()
    assert shown.startswith("<iframe")
    assert 'sandbox="allow-scripts"' in shown
    assert "<script" not in shown, "the page inside is escaped"


def test_too_many_values_are_shown_as_fewer_and_it_is_said() -> None:
    seen = surpass.watch("teacher:linear_search", size=100_000, listing=False)
    assert seen.recordings[0].plan.size == 1000
    assert "100,000 values are more than a screen has columns, so this shows 1,000" in str(seen)


def test_an_instance_that_is_too_large_is_refused() -> None:
    written = ",".join(map(str, range(MOST_SIZE + 1)))
    with pytest.raises(SettingError):
        surpass.watch("teacher:insertion_sort", written)


def test_the_command_writes_a_page_and_says_where_it_is(tmp_path: Path) -> None:
    words = ("watch", "teacher:insertion_sort", "--instance", "3,1,2", "--no-listing")
    told = call_here(*words, cwd=tmp_path).stdout
    assert "solved after 6 steps" in told
    assert "trace.html: " in told
    assert "browser" not in told, "nobody sits at a terminal"
    assert (tmp_path / "trace.html").read_text(encoding="utf-8").startswith("<!doctype html>")
