"""The kernels pass their tests, which the others run compiled, with bounds checks and interpreted too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODES = {
    "checked": {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"},  # to optimise takes longer than the tests
    "interpreted": {"NUMBA_DISABLE_JIT": "1"},
}


def run_tests(mode: str, folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own, in a mode, with caches in a folder."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "SURPASS_", "PYTEST_", "COV_"))
    }
    caches = {"SURPASS_CACHE_DIR": str(folder / "surpass"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *files],
        cwd=ROOT,
        env={**kept, **caches, **MODES[mode], "SURPASS_TEST_MODE": mode},
        capture_output=True,
        text=True,
        check=False,
    )


def count_passed(ran: subprocess.CompletedProcess[str]) -> int:
    """Return how many tests passed; raise AssertionError if any did not, or was skipped, or none was there."""
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    summary = re.fullmatch(r"(\d+) passed in .*", ran.stdout.strip().splitlines()[-1])
    assert summary, ran.stdout[-500:]
    return int(summary[1])


@pytest.mark.parametrize("mode", MODES)
def test_the_kernels_pass_their_tests(mode: str, tmp_path: Path) -> None:
    files = ("tests/engine/test_kernels.py", "tests/learning/test_sampling.py")
    assert count_passed(run_tests(mode, tmp_path, *files)) >= 38
    compiled = list(tmp_path.rglob("*.nbc"))
    assert bool(compiled) == (mode != "interpreted"), "the mode was not in effect"


@pytest.mark.parametrize(("code", "shown"), [(1, "1 failed in 1s"), (0, "1 skipped in 1s"), (5, "no tests ran in 1s")])
def test_a_run_without_passing_tests_is_noticed(code: int, shown: str) -> None:
    with pytest.raises(AssertionError):
        count_passed(subprocess.CompletedProcess([], code, f"{shown}\n", ""))
