"""What every test shares: Hypothesis tries the same examples in every run, and the clock never fails a test."""

import os

# A second thread of linear algebra gains nothing at these sizes and costs much on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.effort import lessen_effort

# Processes of pytest-xdist say 80; tests print as wide as where there is no terminal.
os.environ.pop("COLUMNS", None)

settings.register_profile("surpass", deadline=None, derandomize=True, database=None)
settings.load_profile("surpass")


@pytest.fixture
def small_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write programs from fewer instances, and check what is learned on fewer."""
    lessen_effort(monkeypatch)
