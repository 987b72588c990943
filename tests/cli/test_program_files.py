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
