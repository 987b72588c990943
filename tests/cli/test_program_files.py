"""A program file, edited by hand, goes through every command like any other agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.here import EXAMPLE, call_here

pytestmark = pytest.mark.usefixtures("small_effort")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program file of the example's teacher."""
    path = tmp_path_factory.mktemp("rules") / "scan.rules"
    shown = call_here("show", "teacher:scan", "--task", EXAMPLE, "--out", path)
    assert shown.returncode == 0, shown.stderr
    assert path.read_text().splitlines()[1] == "task minimum"
    return path


def test_it_is_evaluated_traced_shown_and_checked_like_its_agent(rules: Path, tmp_path: Path) -> None:
    own, teachers = tmp_path / "own.json", tmp_path / "teacher.json"
    for agent, path in ((rules, own), ("teacher:scan", teachers)):
        ran = call_here("evaluate", agent, "--task", EXAMPLE, "--sizes", "5,30", "--json", path)
        assert ran.returncode == 0, ran.stderr
    assert json.loads(own.read_text())["rows"] == json.loads(teachers.read_text())["rows"]
    traced = call_here("trace", rules, "--task", EXAMPLE, "--instance", "4,2,7,1,3")
    assert "outcome: solved" in traced.stdout
    shown = call_here("show", rules, "--task", EXAMPLE, "--out", "-")
    assert shown.stdout.splitlines()[1:] == rules.read_text().splitlines()[1:]
    few = ("--up-to", 4, "--instances", 5, "--effort", 500)
    assert "passed" in call_here("check", rules, "--task", EXAMPLE, *few).stdout


def test_an_edit_that_is_wrong_is_found_with_the_smallest_instance(rules: Path, tmp_path: Path) -> None:
    text = rules.read_text()
    edited = tmp_path / "edited.rules"
    edited.write_text(text.replace("Answer(1)", "Answer(9)").replace("Answer(2)", "Answer(1)"))
    assert edited.read_text() != text
    refused = call_here("evaluate", edited, "--task", EXAMPLE)
    assert refused.returncode == 2
    assert "unknown action 'Answer(9)'" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    edited.write_text(edited.read_text().replace("Answer(9)", "Answer(2)"))
    checked = call_here("check", edited, "--task", EXAMPLE)
    assert checked.returncode == 1
    assert "the smallest failing instance" in checked.stdout


def test_it_is_exported_and_learned_from(rules: Path, tmp_path: Path) -> None:
    for agent, name in ((rules, "own.py"), ("teacher:scan", "teacher.py")):
        ran = call_here("export", agent, "--task", EXAMPLE, "--out", tmp_path / name)
        assert ran.returncode == 0, ran.stderr
    own, teacher = ((tmp_path / name).read_text() for name in ("own.py", "teacher.py"))
    assert own.partition("def ")[2] == teacher.partition("def ")[2] != ""
    words = ("--method", "imitation", "--teacher", rules, "--out", tmp_path / "run", "--no-report")
    learned = call_here("learn", EXAMPLE, *words)
    assert learned.returncode == 0, learned.stderr
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert all(row["solved"] == 1 for row in scores["rows"])


def test_a_program_of_a_task_that_nobody_named_says_so(rules: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.rules"
    other.write_text(rules.read_text().replace("task minimum", "task never-named"))
    refused = call_here("evaluate", other)
    assert refused.returncode == 2
    assert "line 2: unknown task 'never-named'" in refused.stderr
    assert "--task FILE.py" in refused.stderr
