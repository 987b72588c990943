"""Commands in this process, with what they print; a process of its own for each takes seconds to start."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest

from surpass.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"
"""A task of a user's own, with the teacher `scan`."""


def call_here(*words: object, cwd: Path | str = ".") -> CompletedProcess[str]:
    """Return what a command prints and its exit code, as `subprocess.run` does."""
    shown, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["surpass", *map(str, words)]),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as end,
    ):
        main()
    code = end.value.code
    number = code if isinstance(code, int) else 0 if code is None else 1
    return CompletedProcess(sys.argv, number, shown.getvalue(), errors.getvalue())
