"""Programs of agents, each extracted once for all tests."""

from __future__ import annotations

from functools import cache

import pytest

from surpass.agents import find_agent
from surpass.engine.probes import Effort
from surpass.programs.extract import Extraction, extract
from surpass.programs.program import Program
from surpass.table import Table

LESS = Effort(up_to=40, enumerated=20_000, drawn=100, cost=100_000, large=50_000)
"""A tenth of the usual instances, which is enough for teachers."""


@cache
def extraction_of(name: str) -> Extraction:
    """Return the program of the agent of a name, with what it was taken from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surpass.programs.collect.EFFORT", LESS)
        patch.setattr("surpass.programs.collect.CHANGED_ROUNDS", 4)
        return extract(find_agent(name))


def program_of(name: str) -> Program:
    """Return the program of the agent of a name."""
    return extraction_of(name).program


def table_of(name: str) -> Table:
    """Return the table that the program of an agent was taken from."""
    table = extraction_of(name).table
    assert table is not None
    return table
