"""`surpass export`: files that run on their own, and one sentence for what cannot be exported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.here import EXAMPLE, call_here

pytestmark = pytest.mark.usefixtures("small_effort")


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
