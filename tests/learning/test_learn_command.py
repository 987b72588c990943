"""`surpass learn` leaves a run that the other commands can use, and goes on after a kill.

What it refuses stands in `tests/cli/refusals.txt`.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.machine.trace import read_trace
from tests.cli.here import call_here
from tests.learning.quick import checkpoint_files

ROUNDS = 8
LEARN = (
    *("learn", "search", "--teacher", "linear_search", "--set", "sizes=5", "--set", "items=20"),
    *("--set", "calm_rounds=1000", "--set", f"most_rounds={ROUNDS}", "--no-report"),
)
"""A run of a few rounds."""


def complaints(errors: str) -> list[str]:
    """Return what the error stream says beside how far the learning has come."""
    told = ("round ", "continuing after round ", "in the first round: ", "scoring it", "still running")
    return [line for line in errors.splitlines() if not line.startswith((*told, "surpass: compiling what "))]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run by the command line, not to be changed."""
    folder: Path = tmp_path_factory.mktemp("runs") / "finished"
    done = call_here(*LEARN, "--out", folder)
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    return folder


@pytest.fixture
def run_folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_a_run_leaves_its_network_scores_curves_and_recipe(finished: Path) -> None:
    files = {"agent.json", "agent.safetensors", "curves.csv", "recipe.json", "scores.json", "time.json"}
    assert {path.name for path in finished.iterdir()} == {*files, "checkpoints", ".lock"}
    recipe = json.loads((finished / "recipe.json").read_text())
    assert (recipe["task"], recipe["teacher"], recipe["seed"]) == ("search", "linear_search", 0)
    assert (recipe["sizes"], recipe["most_rounds"]) == ([5], ROUNDS)
    rows = json.loads((finished / "scores.json").read_text())["rows"]
    assert [row["size"] for row in rows] == [5, 10, 20, 30, 50, 100, 200, 500, 1000]
    assert len((finished / "curves.csv").read_text().splitlines()) == 1 + ROUNDS
    record = json.loads((finished / "agent.json").read_text())["record"]
    assert record["finished"] is False, "it gave up before it had agreed for as many rounds as were asked for"


def test_evaluate_and_trace_take_the_folder_and_each_file_of_a_run(finished: Path) -> None:
    checkpoint = finished / "checkpoints" / f"{ROUNDS:08d}"
    names = (finished, finished / "agent.safetensors", f"{checkpoint}.safetensors", f"{checkpoint}.json")
    found = []
    for name in names:
        shown = call_here("evaluate", name, "--sizes", "3,5", "--seed", "3", "--json", "-")
        record = json.loads(shown.stdout)
        assert (shown.returncode, record["agent"]) == (0, str(name))
        found.append(record["rows"])
    assert found.count(found[0]) == 4
    assert [row["solved"] for row in found[0]] == [1.0, 1.0]
    agents = [find_agent(str(name)) for name in names]
    observations = np.random.default_rng(0).integers(0, agents[0].task.interface.observation_count, 500)
    answers = [agent.actions(observations).tolist() for agent in agents]  # type: ignore[union-attr]
    assert answers.count(answers[0]) == 4
    words = ("--instance", "1,3,5,7,9:7", "--compact")
    traces = [read_trace(call_here("trace", name, *words).stdout) for name in (finished, "teacher:linear_search")]
    assert traces[0].outcome == "solved"
    assert [step.action for step in traces[0].steps] == [step.action for step in traces[1].steps]


def test_a_run_killed_on_the_command_line_ends_as_one_that_was_not(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    words = [sys.executable, "-m", "surpass", *LEARN, "--out", str(folder)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(line.startswith("round 1:") for line in process.stderr)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "agent.json").exists()
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=False)
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert checkpoint_files(folder) == checkpoint_files(finished)
    assert (folder / "agent.safetensors").read_bytes() == (finished / "agent.safetensors").read_bytes()
    scores = [(one / "scores.json").read_text().replace(str(one), "") for one in (folder, finished)]
    assert scores[0] == scores[1]


def test_a_damaged_checkpoint_is_passed_over_with_a_message_and_the_run_ends_the_same(
    run_folder: Path, finished: Path
) -> None:
    newest = run_folder / "checkpoints" / f"{ROUNDS:08d}.safetensors"
    newest.write_bytes(newest.read_bytes()[:1000])
    done = call_here("learn", "--out", run_folder, "--resume", "--no-report")
    assert done.returncode == 0
    assert done.stderr.startswith("surpass: passed over: ")
    assert newest.name in done.stderr
    assert len(complaints(done.stderr)) == 1
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


def test_a_run_out_of_time_says_so_and_a_resumed_one_ends_the_same(tmp_path: Path, finished: Path) -> None:
    """A run that is not there to be resumed begins, and says so."""
    words = (*LEARN, "--out", tmp_path / "run", "--resume")
    done = call_here(*words, "--minutes", "1e-6")
    (said,) = complaints(done.stderr)
    assert done.returncode == 0
    assert f"a run begins in {tmp_path / 'run'}" in said
    assert f"not finished: surpass learn --out {tmp_path / 'run'} --resume" in " ".join(done.stdout.split())
    assert len((tmp_path / "run" / "curves.csv").read_text().splitlines()) == 2, "a round at least, whatever the time"
    done = call_here(*words)
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert "continuing after round 1" in done.stderr
    assert checkpoint_files(tmp_path / "run") == checkpoint_files(finished)


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surpass.learning.runs.train", interrupt)
    done = call_here("learn", "search", "--out", tmp_path / "run")
    assert done.returncode == 130
    assert f"surpass learn --out {tmp_path / 'run'} --resume" in done.stderr
