"""A hundred kills: runs of every method, and a sweep, killed again and again, end as those that were left alone."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.learning.quick import LEARNERS, checkpoint_files, quick_learner, run_in
from tests.long import LONG, long_test

pytestmark = pytest.mark.usefixtures("small_effort")

ROOT = Path(__file__).parents[2]
KILLS = 20 if LONG else 1
"""How often each run, and the sweep, is killed: more than a hundred times in all."""
ROUNDS = 100 if LONG else 8
KILLED = tuple(LEARNERS) if LONG else ("imitation", "rl of a table")
SWEEP = """
task = "knapsack"
method = "imitation"
seeds = [0, 1]
[settings]
sizes = [2, 3]
items = 6
epochs = 2
calm_rounds = 1000000
most_rounds = 20000
"""
"""Two runs that take some minutes, with checkpoints every few seconds."""


def kill_after(words: list[str], lines: int, delay: float) -> bool:
    """Start a command, kill it some lines of its output and a while later, and return whether it was still running."""
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("method", KILLED)
def test_a_run_of_any_method_ends_the_same_however_often_it_is_killed(method: str, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_in(whole, quick_learner(method, ROUNDS), checkpoint_every=1e9)
    words = [sys.executable, "-m", "tests.learning.quick", str(killed), str(ROUNDS), "--resume", "--method", method]
    random, kills = np.random.default_rng(len(method)), 0
    while kills < KILLS:
        if kill_after(words, int(random.integers(1, 6)), random.uniform(0, 0.05)):
            kills += 1
        else:  # it has come to its end: begin again, so that there is something to kill
            assert checkpoint_files(killed) == checkpoint_files(whole)
            shutil.rmtree(killed)
    run_in(killed, quick_learner(method, ROUNDS), resume=True)
    assert checkpoint_files(killed) == checkpoint_files(whole)
    assert (killed / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    print(f"{method}: {kills} kills, and the same files at the end")


@long_test
def test_a_sweep_ends_the_same_however_often_it_is_killed(tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(SWEEP)
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def words(out: Path) -> list[str]:
        return [sys.executable, "-m", "surpass", "sweep", str(recipe), "--out", str(out), "--processes", "2"]

    def left_in(folder: Path) -> dict[str, bytes]:
        names = ("ranking.json", "sweep.json", "agent.safetensors", "curves.csv", "recipe.json")
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.name in names}

    subprocess.run(words(whole), cwd=ROOT, check=True, capture_output=True)
    random = np.random.default_rng(0)
    kills = sum(kill_after(words(killed), 0, random.uniform(1, 15)) for _ in range(KILLS))
    subprocess.run(words(killed), cwd=ROOT, check=True, capture_output=True)
    assert left_in(killed) == left_in(whole)
    assert len(left_in(whole)) == 9
    assert kills == KILLS, "the sweep came to its end before the last kill: let it take more rounds"
    print(f"sweep: {kills} kills, and the same files at the end")
