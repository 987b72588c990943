"""What every test shares: Hypothesis tries the same examples in every run, and the clock never fails a test."""

import os

from hypothesis import settings

# Processes of pytest-xdist say 80; tests print as wide as where there is no terminal.
os.environ.pop("COLUMNS", None)

settings.register_profile("surpass", deadline=None, derandomize=True, database=None)
settings.load_profile("surpass")
