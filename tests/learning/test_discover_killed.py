"""`kill -9` at any moment costs nothing but time: the run resumes to the same front, bit for bit."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.here import EXAMPLE
from tests.long import LONG

KILLS = 20 if LONG else 2
MOST_SECONDS = 4.0
"""A run is killed at the latest after so many seconds, most of which it needs to start."""
WORDS = ("discover", str(EXAMPLE), "--rounds", "40", "--sizes", "5", "--no-report", "--set", "sizes=5,10")
SMALL = ("--set", "sets=4", "--set", "candidates=64", "--set", "instances=20", "--set", "islands=3")


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a run in a process group of its own, so that its workers can be killed with it."""
    words = [sys.executable, "-m", "surpass", *WORDS, *SMALL, "--out", str(folder), *more]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def finish(folder: Path, *more: str) -> dict[str, bytes]:
    """Let a run come to its end, and return what it has found, file by file."""
    process = start(folder, *more)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    files = [*(folder / "front").iterdir(), folder / "curves.csv", folder / "agent.rules"]
    return {path.name: path.read_bytes() for path in files}


def test_a_run_that_is_killed_again_and_again_finds_what_it_would_have_found(tmp_path: Path) -> None:
    whole, parts, moments = tmp_path / "whole", tmp_path / "parts", random.Random(0)
    expected, ended = finish(whole), 0
    for _ in range(KILLS):
        process = start(parts, "--resume") if (parts / "recipe.json").exists() else start(parts)
        time.sleep(moments.uniform(0.5, MOST_SECONDS))
        ended += process.poll() is not None
        process.kill()
        process.communicate()
    assert ended < KILLS, "some were killed while they worked"
    assert finish(parts, "--resume") == expected
