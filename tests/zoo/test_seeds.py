"""The tool that sets runs of other seeds beside the paper."""

from __future__ import annotations

import sys

import pytest
from tools.seeds import main

from surpass.api import learn


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of an imitator of binary search."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {"sizes": "2,5,20", "calm_rounds": "1"}
    learn("search", "imitation", teacher="binary_search", out=folder, score_sizes=[5], settings=settings)
    return str(folder)


def test_each_run_gets_a_line_and_what_is_worse_is_marked(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An imitator of binary search takes more steps than the paper's agent up to n = 100, and fewer beyond."""
    monkeypatch.setattr(sys, "argv", ["seeds", "table3", "zoo:search/rl", run, "--instances", "200"])
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
        (["table3", "zoo:search/nobody"], "zoo:search/nobody"),
        (["table9", "zoo:search/rl"], "table9"),
        (["table3", "zoo:search/rl", "missing"], "missing"),
    ],
)
def test_bad_input_gets_a_sentence(words: list[str], said: str, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["seeds", *words, run])
    with pytest.raises(SystemExit, match=said):
        main()
