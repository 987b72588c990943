"""Plots of one's own runs and of agents against the size: what is drawn, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import surpass
from surpass.errors import SurpassError
from surpass.visualize.charts import LONGEST_LABEL, MOST_LINES, Chart, ChartLine, inline_svg, legend_of, render_charts
from surpass.visualize.plots import Plot, plot
from tests.cli.here import call_here
from tests.visualize.made_runs import write_run, write_sweep, write_table_run


def line_of(made: Plot, label: str, chart: int = 0) -> ChartLine:
    (found,) = [line for line in made.charts[chart].lines if line.label == label]
    return found


def level_of(teacher: str, size: int) -> float:
    """Return the mean steps of a teacher of search."""
    return float(surpass.evaluate(f"teacher:{teacher}", sizes=[size], instances=1000).rows[0].mean_steps)


# By learning


def test_a_run_is_drawn_over_its_steps_with_its_teachers_level(tmp_path: Path) -> None:
    run = write_run(tmp_path / "first")
    made = plot(run)
    assert [chart.y_label for chart in made.charts] == ["mean steps at n = 50", "share solved"]
    own = line_of(made, str(run))
    assert (own.x.tolist(), own.y.tolist()) == ([5e5, 1e6, 1.5e6], [30, 20, 10])
    assert made.charts[0].x_unit == 1e6
    level = level_of("binary_search", 50)
    assert line_of(made, "binary_search (teacher)").y.tolist() == [level, level]
    assert line_of(made, str(run), 1).y.tolist() == [0.75, 1, 1]


def test_runs_lie_over_each_other_and_an_agent_without_curves_is_a_level(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "a"), write_run(tmp_path / "b", (9.0, 8.0, 7.0))
    lines = plot(first, str(second), "teacher:bracket_search").charts[0].lines
    levels = ["binary_search (teacher)", "bracket_search (teacher)"]
    assert [line.label for line in lines] == [str(first), str(second), *levels]
    assert len({line.colour for line in lines[:2]}) == 2


def test_the_teacher_of_a_run_follows_the_sizes_that_it_grew_through(tmp_path: Path) -> None:
    made = plot(write_run(tmp_path / "grown", sizes=(5, 5, 50)))
    level = line_of(made, "binary_search (teacher)").y
    small, large = level_of("binary_search", 5), level_of("binary_search", 50)
    assert level.tolist() == [small, small, large]
    assert made.charts[0].y_label == "mean steps, while sizes grow"


def test_teachers_follow_the_sizes_of_several_runs_too(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, sizes=sizes) for name, sizes in (("a", (5, 5, 50)), ("b", (5, 50, 50)))]
    small, large = level_of("binary_search", 5), level_of("binary_search", 50)
    teachers = [line for line in plot(*runs).charts[0].lines if line.role == "teacher"]
    assert [line.y.tolist() for line in teachers] == [[small, small, large], [small, large, large]]
    assert len({line.label for line in teachers}) == 2
    alike = plot(runs[0], write_run(tmp_path / "c", sizes=(5, 5, 50)))
    assert line_of(alike, "binary_search (teacher)").y.tolist() == [small, small, large]


def test_the_teacher_of_a_sweep_follows_the_sizes_of_its_seeds(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweep")
    for path in sorted(folder.glob("runs/*/curves.csv")):
        is_first = json.loads((path.parent / "recipe.json").read_text())["seed"] == 0
        path.write_text(path.read_text().replace("2,20,1000000,50", f"2,20,1000000,{5 if is_first else 50}"))
    level = next(line for line in plot(folder).charts[0].lines if line.role == "teacher").y
    small, large = level_of("binary_search", 5), level_of("binary_search", 50)
    assert level.tolist() == pytest.approx([large, (small + 2 * large) / 3, large])


def test_a_sweep_is_the_mean_over_its_seeds_with_the_interval(tmp_path: Path) -> None:
    made = plot(write_sweep(tmp_path / "sweep"))
    three, two = made.charts[0].lines[:2]
    assert (three.label, two.label) == ("learning_rate=0.01 (3 seeds)", "learning_rate=0.001 (2 seeds)")
    assert three.y.tolist() == [31, 21, 11]
    assert two.y.tolist() == [33.5, 23.5, 13.5]
    assert three.low is not None
    assert three.low[0] == pytest.approx(31 - 4.3027 * 1 / np.sqrt(3), rel=5e-3)
    assert any("95 %" in note for note in made.notes)


def test_rounds_in_which_a_network_learns_the_table_stand_in_a_chart_of_their_own(tmp_path: Path) -> None:
    made = plot(write_table_run(tmp_path / "run"))
    steps, solved, network = made.charts
    (own,) = [line for line in steps.lines if line.role == "learned"]
    assert (own.x.tolist(), own.y.tolist()) == ([100, 200, 300], [30, 20, 10])
    assert solved.lines[0].y.tolist() == [0.5, 0.75, 1]
    assert network.title == "The network learns what the table does: share solved"
    assert (network.lines[0].x.tolist(), network.lines[0].y.tolist()) == ([1, 2, 3], [0, 0.58, 1])
    assert all(line.low is None for chart in made.charts for line in chart.lines), "there is one seed"
    (alike,) = plot(tmp_path / "run", columns=["agreement"]).charts
    assert (alike.lines[0].x.tolist(), alike.lines[0].y.tolist()) == ([1, 2, 3], [0, 0.5, 1])
    assert alike.y_label == "share answered like the table"


@pytest.mark.parametrize(("method", "data"), [("improvement", "sorted"), ("discover", "sorted*2,uniform")])
def test_the_teacher_of_a_search_is_measured_on_the_runs_own_data(method: str, data: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", task="sort-bubble", method="discover")
    (folder / "curves.csv").write_text("round,rules,cost_5\n1,9,12\n")
    recipe = json.loads((folder / "recipe.json").read_text())
    (folder / "recipe.json").write_text(json.dumps({**recipe, "method": method, "data": data}))
    assert line_of(plot(folder), "insertion_sort (teacher)").y.tolist() == [0, 0]
    (folder / "recipe.json").write_text(json.dumps({**recipe, "data": str(tmp_path / "gone.csv")}))
    assert [line.label for line in plot(folder).charts[0].lines] == [str(folder)]


def test_a_search_is_first_seen_by_the_cost_of_its_best_program_over_the_programs_tried(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", task="sort-bubble", method="discover")
    lines = ("round,tried,rules,relative_cost,cost_5", "1,10,,,", "2,20,9,1,12", "3,30,8,0.75,9")
    (folder / "curves.csv").write_text("\n".join(lines) + "\n")
    cost, steps, rules = plot(folder).charts
    assert (cost.title, cost.x_label) == ("Relative cost of the best program", "programs tried")
    assert (cost.lines[0].x.tolist(), cost.lines[0].y.tolist()) == ([20, 30], [1, 0.75])
    assert (steps.y_label, rules.y_label) == ("mean steps at n = 5", "rules of the program")


def test_any_column_of_the_curves_can_be_drawn(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    made = plot(run, columns=["solved", "mean_reward"])
    assert [chart.title for chart in made.charts] == ["Share solved", "Mean reward"]
    with pytest.raises(SurpassError):
        plot(run, columns=["loss"])


def test_of_very_many_settings_those_that_ended_best_are_drawn(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / f"r{k:02d}", (9.0, 8.0, float(k))) for k in range(MOST_LINES + 2)]
    made = plot(*runs, columns=["mean_steps"])
    drawn = [line.label for line in made.charts[0].lines if line.role == "learned"]
    assert drawn == [str(run) for run in runs[:MOST_LINES]]
    assert made.notes == (f"The {MOST_LINES} of {MOST_LINES + 2} settings that ended best.",)


# By size


def test_agents_are_drawn_against_the_size_with_the_papers() -> None:
    made = surpass.plot("zoo:search/improvement-binary_search", "teacher:bracket_search", sizes=[10, 100, 1000])
    chart, ratio = made.charts
    roles = {line.label.partition(", n^")[0]: line.role for line in chart.lines}
    assert roles == {
        "zoo:search/improvement-binary_search": "learned",
        "the paper's rl + imitation": "paper",
        "bracket_search": "teacher",
        "binary_search": "teacher",
    }
    assert chart.log_x
    assert chart.log_y
    (paper,) = [line for line in chart.lines if line.role == "paper"]
    assert (paper.x.tolist(), paper.y.tolist()) == ([10, 100, 1000], [2.6, 10.6, 85.8])
    assert "one query in four is not in the list" in made.notes[0]
    first, teacher = (next(line for line in chart.lines if line.label.startswith(name)) for name in ("zoo", "bracket"))
    assert ratio.lines[0].y.tolist() == pytest.approx((first.y / teacher.y).tolist())


def test_a_teacher_alone_stands_beside_the_papers_of_itself() -> None:
    made = plot("teacher:binary_search", sizes=[10, 100])
    assert [(line.role, line.label.partition(",")[0]) for line in made.charts[0].lines] == [
        ("teacher", "binary_search"),
        ("paper", "the paper's binary search"),
    ]


# Pictures


def chart(label: str = "a line") -> Chart:
    x = np.array([1.0, 10.0, 100.0])
    lines = (
        ChartLine(label, x, 2 * x, x, 3 * x),
        ChartLine("other", x, x, role="teacher"),
        ChartLine("p", x, x + 1, role="paper"),
    )
    return Chart("Some title", "size", "steps", lines, log_x=True, log_y=True, marks=True)


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures_are_of_their_kind_and_drawn_again_the_same(kind: str, begins: bytes, tmp_path: Path) -> None:
    made = Plot("t", (chart(), chart()), ("A note that stands at the foot. " * 9,))
    paths = [tmp_path / f"{name}.{kind}" for name in ("a", "b")]
    for path in paths:
        made.write(path)
    assert paths[0].read_bytes().startswith(begins)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("rules", [[3.0, 3.0, 3.0], [0.0, 0.0], [7.0, 8.0], [4.0]])
def test_whole_numbers_stand_on_an_axis_of_whole_numbers(rules: list[float]) -> None:
    line = ChartLine("a", np.arange(1.0, len(rules) + 1), np.array(rules))
    svg = inline_svg(Chart("Rules", "round", "rules", (line,)), name="one")
    words = [text.text for text in ElementTree.fromstring(svg).iter() if (text.tag.endswith("text")) and text.text]
    numbers = [word for word in words if word not in ("round", "rules")]
    assert all(number.isdecimal() for number in numbers), "and none is below 0"
    assert {f"{value:.0f}" for value in rules} <= set(numbers)
    assert len(numbers) >= len(rules) + 3, "a constant stands between others"


def test_what_looks_like_formulas_or_markup_is_drawn_as_text() -> None:
    hostile = "$x^2$ <script>alert(1)</script> & _hidden"
    assert render_charts("png", [chart(hostile)])
    svg = inline_svg(replace(chart(hostile), x_label=hostile), name="one")
    texts = "".join(ElementTree.fromstring(svg).itertext())
    assert "$x^2$ <script>alert(1)</script> & _hidden" in texts
    assert "<script" not in svg


def test_a_legend_shows_each_line_as_it_is_drawn() -> None:
    labels, samples = zip(*legend_of(chart("x" * 200)), strict=True)
    assert labels[1:] == ("other", "p")
    assert len(labels[0]) <= LONGEST_LABEL
    for sample in samples:
        assert ElementTree.fromstring(sample).get("class") == "sample"
    assert len(set(samples)) == 3
    assert "var(--series-0)" in samples[0]
    assert "dasharray" not in samples[0]
    assert "var(--faint)" in samples[1]
    assert "dasharray" in samples[1]
    assert 'fill="none"' in samples[2].partition("/>")[2], "the paper's marks are hollow"


def test_charts_in_a_page_take_their_colours_and_names_from_it() -> None:
    first, second = (inline_svg(chart(), name=name) for name in ("one", "two"))
    root = ElementTree.fromstring(first)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Some title"
    assert "var(--series-0)" in first
    assert "#0072b2" not in first
    names = [{e.get("id") for e in ElementTree.fromstring(svg).iter() if e.get("id")} for svg in (first, second)]
    assert names[0]
    assert not names[0] & names[1]
    assert "http" not in first.replace("http://www.w3.org/", "")


# The command


def test_the_command_writes_the_picture_and_its_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    words = ("plot", run, "--out", tmp_path / "p.svg", "--json", tmp_path / "p.json")
    ran = call_here(*words)
    assert ran.returncode == 0
    assert f"drawn in {tmp_path / 'p.svg'}" in ran.stdout
    assert ElementTree.parse(tmp_path / "p.svg").getroot().tag.endswith("svg")
    record = json.loads((tmp_path / "p.json").read_text())
    assert record["charts"][0]["lines"][0]["y"] == [30, 20, 10]


def test_bad_input_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    fresh = write_run(tmp_path / "fresh", (), sizes=())
    (tmp_path / "fresh" / "curves.csv").unlink()
    other = write_run(tmp_path / "other", task="knapsack", method="rl")
    (tmp_path / "empty").mkdir()
    broken = write_run(tmp_path / "broken")
    (broken / "curves.csv").write_text("round,steps\n1,x\n")
    sweep = write_sweep(tmp_path / "sweep")
    for path in (sweep / "runs").glob("*/curves.csv"):
        path.unlink()
    out = ("--out", tmp_path / "p.png")
    for words in (
        *((one, *out) for one in (fresh, tmp_path / "empty", tmp_path / "missing", sweep, broken)),
        (run, "--out", tmp_path),
        (run, other, *out),
        (run, "--by", "colour", *out),
        (run, "--task", "knapsack", *out),
    ):
        ran = call_here("plot", *words)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), (words, ran.stderr)
    assert not (tmp_path / "p.png").exists()
