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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table3", "zoo:search/nobody"], "no row of zoo:search/nobody"),
        (["table9", "zoo:search/rl"], "seeds: unknown table 'table9'"),
        (["table3", "zoo:search/rl", "missing"], "seeds: .*missing.* cannot be read"),
    ],
)
def test_bad_input_gets_a_sentence(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    learn("search", "imitation", teacher="linear_search", out=run)
    monkeypatch.setattr(sys, "argv", ["seeds", *words, str(run)])
    with pytest.raises(SystemExit, match=said):
        main()
