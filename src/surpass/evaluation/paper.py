"""The numbers printed in the paper's tables."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

PAPER_INSTANCES = 100
"""How many instances each printed mean is over."""


@cache
def paper_tables() -> dict[str, Any]:
    """Return every printed number, by table."""
    tables: dict[str, Any] = json.loads(files("surpass.evaluation").joinpath("paper.json").read_text())
    return tables
