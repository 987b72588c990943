"""`surpass show`, as a user calls it."""

from __future__ import annotations

import json

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


def test_a_users_own_task_is_shown():
    shown = call_here("show", "teacher:scan", "--task", EXAMPLE, "--json", "-")
    record = json.loads(shown.stdout)
    assert record["task"] == "minimum"
    assert (record["rules"], record["places"], len(record["listing"])) == (4, 1, 4)
    assert {rule["action"] for rule in record["listing"]} == {"Walk()", "Keep()", "Answer(1)", "Answer(2)"}
    assert sum(rule["share"] for rule in record["listing"]) == pytest.approx(1)
    assert all(isinstance(text, str) for rule in record["listing"] for text in rule["conditions"])
    assert record["typical"]["solved"] == 1.0
    assert record["typical"]["unseen_steps"] == 0


def test_the_table_has_every_observation(tmp_path):
    path = tmp_path / "table.json"
    shown = call_here("show", "teacher:scan", "--task", EXAMPLE, "--table", "--json", path)
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(path.read_text())["table"]
    assert len(rows) == 6
    assert "6 observations" in shown.stdout
    for row in rows:
        assert f"{row['action']}  {row['says']}" in shown.stdout
