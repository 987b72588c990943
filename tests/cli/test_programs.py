"""Programs on the command line: shown, exported, and as files that go through every command like any other agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.here import EXAMPLE, call_here

pytestmark = pytest.mark.usefixtures("small_effort")


def test_a_teacher_is_shown_as_rules_with_their_use():
    shown = call_here("show", "teacher:depth_first", "--size", "6", "--instances", "10")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "teacher:depth_first on knapsack: 7 rules at 5 places"
    assert lines[2].split() == ["rules", "steps", "observations"]
    rows = [line.split()[-3:] for line in lines if line.rstrip().split()[-2:-1] and "%" in line.split()[-2]]
    assert sorted(int(number) for row in rows for number in row[0].split("+")) == list(range(1, 8))
    assert sum(float(row[1].rstrip("%")) for row in rows) == pytest.approx(100, abs=0.5)
    assert "On any other observation the program follows the rules" in shown.stdout


def test_the_table_has_every_observation(tmp_path):
    path = tmp_path / "table.json"
    shown = call_here("show", "teacher:scan", "--task", EXAMPLE, "--table", "--json", path)
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(path.read_text())["table"]
    assert len(rows) == 6
    assert "6 observations" in shown.stdout
    for row in rows:
        assert f"{row['action']}  {row['says']}" in shown.stdout


def test_an_exported_file_runs_without_us(tmp_path: Path) -> None:
    path, record = tmp_path / "minimum.py", tmp_path / "minimum.json"
    shown = call_here("export", "teacher:scan", "--task", EXAMPLE, "--out", path, "--json", record)
    assert shown.returncode == 0, shown.stderr
    assert f"{path}: teacher:scan on minimum, 4 rules at 1 place," in shown.stdout
    described = json.loads(record.read_text())
    assert (described["language"], described["rules"], described["places"]) == ("python", 4, 1)
    assert described["lines"] == len(path.read_text().splitlines())
    code = "import sys, minimum; print(minimum.minimum(['b', 'c', 'a', 'd']), 'surpass' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "Result(outcome='solved', steps=5, score=0, v1=3, v2=2, answer=2) False"


def test_a_file_can_go_to_the_output() -> None:
    shown = call_here("export", "teacher:depth_first", "--to", "c", "--out", "-")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("/* To pack the most valuable items")
    assert shown.stdout.endswith("}\n")


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
