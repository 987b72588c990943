"""The tool that sets runs of other seeds beside the paper."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.seeds import main

from surpass.api import learn


def test_each_run_gets_a_line_and_what_is_worse_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An imitator of binary search takes more steps than the paper's agent up to n = 100, and fewer beyond."""
    run = tmp_path / "run"
    learn("search", "imitation", teacher="binary_search", out=run)
    monkeypatch.setattr(sys, "argv", ["seeds", "table3", "zoo:search/rl", str(run), "--instances", "200"])
    main()
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{run}, ")
    assert "worse" in first
    assert "better" in first
    assert second.split(", ")[0].startswith("  5: ")
    assert "10: 0.00! (" in second
    assert "1,000: 0.00 (" in second


def test_an_agent_that_has_no_row_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["seeds", "table3", "zoo:search/nobody", "zoo:search/rl"])
    with pytest.raises(SystemExit, match="no row of zoo:search/nobody"):
        main()
