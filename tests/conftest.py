"""What every test shares: Hypothesis tries the same examples in every run, and the clock never fails a test."""

from hypothesis import settings

settings.register_profile("surpass", deadline=None, derandomize=True, database=None)
settings.load_profile("surpass")
