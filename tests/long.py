"""Tests that take minutes run if SURPASS_LONG_TESTS is set; others then do more of the same."""

from __future__ import annotations

import os

import pytest

LONG = bool(os.environ.get("SURPASS_LONG_TESTS"))
long_test = pytest.mark.skipif(not LONG, reason="takes minutes: set SURPASS_LONG_TESTS=1")
