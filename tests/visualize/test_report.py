"""The report: its sentence, its numbers, and that it says plainly what there is not."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import surpass
from surpass.agents import as_agent, find_agent
from surpass.api import new_learner
from surpass.engine.run import run
from surpass.evaluation.comparison import ComparisonRow, Saving
from surpass.evaluation.scores import evaluate
from surpass.programs.extract import extract
from surpass.programs.text import write_text
from surpass.tasks.registry import find_task
from surpass.visualize.headline import how_learned, write_headline
from surpass.visualize.report import Report
from surpass.visualize.subjects import find_subject
from tests.cli.here import call_here
from tests.visualize.made_runs import write_run, write_sweep

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTILE = "<b>bold</b>&amp;\"'"
"""A name that looks like markup."""
FAILS = "task search\nq = A[v1]: Found(1)\nq > A[v1]: MoveVar(1, +1)\nelse: NotFound()\n"
"""A linear search that runs on at the end of the list for ever."""


class Page(HTMLParser):
    """What a browser would make of a page: its elements, its text, and what it would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._skips = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._skips += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._skips -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skips:
            self.text += data


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that learned linear search from few lists, under a name that looks like markup."""
    folder: Path = tmp_path_factory.mktemp("runs") / HOSTILE
    settings = {"sizes": "2,5", "items": "30", "most_rounds": "4"}
    surpass.learn("search", "imitation", teacher="linear_search", out=folder, score_sizes=[5], settings=settings)
    return folder


@pytest.fixture(scope="module")
def improved() -> Report:
    return surpass.report("zoo:search/improvement-binary_search")


# What it says


def test_the_sentence_at_the_top_is_what_evaluate_says(improved: Report) -> None:
    table = improved.comparison
    assert table is not None
    agent, teacher = "zoo:search/improvement-binary_search", "teacher:binary_search"
    asked = evaluate(agent, sizes=table.sizes, queries="paper", against=teacher)
    own = [row for row in table.rows if row.against == "binary_search"]
    for cell, row in zip(own[0].cells, asked.rows, strict=True):
        assert cell.ours == pytest.approx(row.mean_steps - 1)  # the answer is no step here
        assert cell.solved == row.solved == 1
        assert cell.saving is not None
        assert row.difference is not None
        assert cell.saving.ours == pytest.approx(-row.difference)
    assert (
        f"solved every one of {sum(cell.instances for cell in own[0].cells):,} test instances" in improved.headline.text
    )
    assert "fewer steps than binary_search" in improved.headline.text
    assert improved.headline.tone == "good"


@pytest.mark.parametrize(("level", "share"), [(20.0, ", 30% more"), (-1.3, ""), (0.0, ""), (0.01, "")])
def test_a_percentage_is_told_where_it_says_something(level: float, share: str, improved: Report) -> None:
    table, subject = improved.comparison, improved.subject
    assert table is not None
    gained = Saving(paper=None, ours=26.0 - level, ci95=0.1, instances=10)

    def scored(row: ComparisonRow) -> ComparisonRow:
        ours = level if row.is_teacher else 26.0
        return replace(row, cells=tuple(replace(c, ours=ours, saving=c.saving and gained) for c in row.cells))

    by_reward = replace(table, measure="reward", rows=tuple(map(scored, table.rows)))
    headline = write_headline(subject, by_reward, "binary_search")
    assert headline.text.endswith(f"{level:.2f} at n = {table.sizes[-1]:,}{share}.")


def test_every_part_is_on_the_page(improved: Report) -> None:
    page = Page(improved.html)
    parts = [value for name, value in page.attributes if name == "id"]
    assert [one for one in ("learned", "numbers", "growth", "watch", "program", "check") if one not in parts] == []
    for text in (improved.subject.command, "the paper's rl + imitation", "against linear_search", "exponent k"):
        assert text in page.text
    assert page.attributes.count(("class", "chart")) == 2
    assert [value for name, value in page.attributes if name == "class" and value == "surpass-viewer"]
    usage = improved.usage
    assert usage is not None
    for line, share in zip(usage.program.listing().splitlines()[3:], usage.fired, strict=False):
        assert line.rsplit("  ", 1)[0].strip() in page.text
        assert f"{share / usage.steps:.1%}" in page.text


def test_a_run_is_titled_by_what_was_learned(learned: Path) -> None:
    assert "<h1>search by imitation from linear_search, seed 0</h1>" in surpass.report(learned).html


def test_the_variables_are_those_of_the_task() -> None:
    page = Page(surpass.report("teacher:from_both_ends", task=EXAMPLES / "partition.py").html)
    assert "i and j are the agent's variables." in page.text
    assert "v1" not in page.text
    assert "teacher:from_both_ends on partition" in page.text


def test_one_rule_is_no_rules(tmp_path: Path) -> None:
    path = tmp_path / "one.rules"
    path.write_text("task sort-bubble\nelse: MoveVar(1, +1)\n")
    assert "<b>1</b><span>rule</span>" in surpass.report(path).html


def test_the_page_asks_for_nothing_from_outside(improved: Report) -> None:
    page = Page(improved.html)
    assert "default-src 'none'" in improved.html
    linked = [value for name, value in page.attributes if name in ("src", "href", "action", "data", "poster")]
    assert linked
    assert all(value.startswith(("#", "data:")) for value in linked)
    assert not re.search(r"@import|url\((?!#)", improved.html)


def test_the_record_holds_the_numbers_of_the_page(improved: Report) -> None:
    record: dict[str, Any] = json.loads(json.dumps(improved.as_json()))
    assert record["agent"] == "zoo:search/improvement-binary_search"
    assert record["certificate"]["passed"] is True
    assert record["growth"]["linear_search"]["exponent"] == pytest.approx(1, abs=0.1)
    assert record["program"]["rules"] == len(improved.usage.program.rules)  # type: ignore[union-attr]
    assert improved.headline.text in str(improved)
    assert "srcdoc=" in improved._repr_html_()


def test_the_recording_is_the_agents_own_run_beside_its_teachers(improved: Report) -> None:
    own, teacher = improved.recordings
    assert (own.agent, teacher.agent) == ("zoo:search/improvement-binary_search", "teacher:binary_search")
    task = find_task("search")
    instance, _ = task.parse_instance(own.instance)
    for recording in (own, teacher):
        assert recording.steps == run(find_agent(recording.agent), instance).steps[0]


# Runs


def test_the_report_of_a_run_shows_markup_in_names_as_text(learned: Path) -> None:
    made = surpass.report(learned)
    page = Page(made.html)
    assert HOSTILE in page.text
    assert "<b>bold" not in made.html
    assert "was trained to answer like linear_search" in page.text
    assert page.attributes.count(("class", "chart")) == 4
    assert made.subject.is_finished is False
    assert "The learning is not finished." in page.text


def test_the_command_of_a_report_does_the_same_run_again(learned: Path) -> None:
    words = shlex.split(find_subject(learned).command)
    assert words[:3] == ["surpass", "learn", "--recipe"]
    again = new_learner(recipe=words[3]).recipe
    assert json.loads(json.dumps(again)) == json.loads((learned / "recipe.json").read_text())


def test_an_unfinished_run_is_reported_as_far_as_it_has_come(tmp_path: Path) -> None:
    made = surpass.report(write_run(tmp_path / "going"))
    assert made.headline.text.startswith("This run has not come far enough to leave an agent that can be run.")
    assert "It has done 3 rounds so far." in made.headline.text
    page = Page(made.html)
    assert page.attributes.count(("class", "chart")) == 2
    assert "Against the teachers" not in page.text
    (tmp_path / "going" / "curves.csv").unlink()
    assert "0 rounds" in surpass.report(tmp_path / "going").headline.text


def test_a_run_that_was_killed_is_reported_from_its_checkpoint(learned: Path, tmp_path: Path) -> None:
    killed = Path(shutil.copytree(learned, tmp_path / "killed"))
    for path in killed.glob("agent.*"):
        path.unlink()
    subject = find_subject(killed)
    assert subject.agent is not None
    assert not subject.is_finished


def test_an_agent_that_fails_is_said_to_fail(tmp_path: Path) -> None:
    (tmp_path / "fails.rules").write_text(FAILS)
    made = surpass.report(tmp_path / "fails.rules")
    page = Page(made.html)
    assert "does not solve the task" in made.headline.text
    assert made.headline.tone == "bad"
    assert made.certificate is not None
    assert not made.certificate.passed
    assert "Failed: there is an instance that it does not solve." in page.text
    assert "the smallest failing instance" in page.text
    assert "not all solved" in page.text


def test_rules_that_take_too_long_to_write_are_left_out(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surpass.visualize.report.PROGRAM_SECONDS", -1.0)
    made = surpass.report(learned)
    assert made.usage is None
    assert "Its rules could not be written within" in Page(made.html).text


def test_a_full_view_has_no_program_and_says_so() -> None:
    made = surpass.report("teacher:selection_sort")
    assert "sees the whole list at once, so it has no table and no program" in Page(made.html).text
    assert made.usage is None


def test_a_users_own_task_is_reported_without_a_paper() -> None:
    made = surpass.report("teacher:scan", task=Path(__file__).parents[2] / "examples" / "minimum.py")
    page = Page(made.html)
    assert "find the smallest value of a list" in page.text
    assert "paper" not in page.text.lower()
    assert "How good it is" in page.text


def test_the_numbers_of_a_users_own_task_stand_under_its_teachers_name(tmp_path: Path) -> None:
    agent = tmp_path / "keep.rules"
    task = Path(__file__).parents[2] / "examples" / "minimum.py"
    agent.write_text(write_text(extract(as_agent("teacher:scan", task)).program))
    page = Page(surpass.report(agent, task=task).html)
    assert "Against scan" in page.text
    assert "paper" not in page.text.lower()


def test_a_sweep_of_which_no_run_has_ended_is_refused(tmp_path: Path) -> None:
    with pytest.raises(surpass.SurpassError):
        surpass.report(write_sweep(tmp_path / "sweep"))


def test_a_run_that_starts_from_another_agent_says_so(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", method="rl")
    recipe = json.loads((folder / "recipe.json").read_text())
    for start in ("", "zoo:search/rl"):
        (folder / "recipe.json").write_text(json.dumps({**recipe, "start": start}))
        said = how_learned(find_subject(folder))
        assert ("from nothing" in said, "zoo:search/rl" in said) == (not start, bool(start))


# The commands


def test_learning_ends_by_writing_the_report_and_says_where(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ("learn", "knapsack", "--set", "sizes=2", "--set", "most_rounds=1", "--sizes", "2", "--out", folder)
    ran = call_here(*words)
    assert ran.returncode == 0
    assert ran.stdout.endswith(f"the report is {folder / 'report.html'}\n")
    assert "surpass learn --recipe" in (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    assert call_here(*words, "--resume", "--no-report").returncode == 0
    assert not (folder / "report.html").exists()


def test_bad_input_is_refused_in_a_sentence(learned: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    damaged = Path(shutil.copytree(learned, tmp_path / "damaged"))
    (damaged / "agent.json").write_text("{}")
    foreign = write_run(tmp_path / "foreign")
    (foreign / "recipe.json").write_text('{"task": "nope", "method": "rl", "seed": 0}')
    out = ("--out", tmp_path / "r.html")
    for what in (tmp_path / "empty", tmp_path / "missing", damaged, foreign):
        ran = call_here("report", what, *out)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), (what, ran.stderr)
    assert not (tmp_path / "r.html").exists()
