"""Faults that hardly any list shows: the search among changed instances finds them, and drawing does not."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.agents.teachers import find_teacher
from surpass.checks.check import check
from surpass.engine.explore import Explorer
from surpass.engine.record import record
from surpass.engine.run import run
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.table import Agent, Table
from surpass.tasks.task import Request
from tests.long import LONG

FAULTY = Path(__file__).parent / "faulty"
# None of these observations occurs on any of 999,900 drawn instances of 9 to 45 items, all distributions and kinds of
# query alike, nor on an enumerated one of up to 6 values, or of up to 30 for search.
RARE = [
    ("bubble_sort", 31101168831),
    ("bracket_search", 164039369475006),
    ("quick_sort", 217631251603665),
    ("hoare_sort", 217598254392555),
    ("hoare_sort", 751214219265),
    ("quick_sort", 721291394672),
    ("quick_sort", 727756905629),
    ("bracket_search", 87764380368920),
    ("bracket_search", 138890469049073),
    ("binary_search", 3096274291181),
]


class Lost:
    """A teacher that does not know what to do at one observation."""

    def __init__(self, teacher: str, observation: int) -> None:
        self._teacher = find_teacher(teacher)
        self.task, self.name, self._observation = self._teacher.task, f"lost {teacher}", observation

    def actions(self, observations: np.ndarray) -> np.ndarray:
        assert isinstance(self._teacher, Agent)
        return np.where(observations == self._observation, NO_ACTION, self._teacher.actions(observations))


@pytest.mark.parametrize(("teacher", "observation"), RARE if LONG else RARE[:3])
def test_a_fault_that_no_drawn_instance_shows_is_found(teacher: str, observation: int) -> None:
    agent = Lost(teacher, observation)
    small = 30 if agent.task.name == "search" else 6
    settings = {"up_to": small, "sizes": [9, 12, 20, 35], "instances": 20}
    assert check(agent, **settings, effort=0).passed
    certificate = check(agent, **settings, minutes=10)
    failure = certificate.counter_example
    assert failure is not None
    assert (failure.outcome, failure.data) == (Outcome.NO_ACTION.reason, "search")
    assert record(agent, failure.instance).outcome == Outcome.NO_ACTION.reason


@pytest.mark.parametrize("name", ["bracket", "table", "ties"])
def test_agents_that_learned_without_such_lists_are_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answers wrongly between ties, one does not end, and one goes wrong among ties from n = 247 on."""
    monkeypatch.setattr("surpass.checks.check.SHRINKING_STEPS", 10**7)
    agent = find_agent(str(FAULTY / f"{name}.safetensors"))
    certificate = check(agent, up_to=5, sizes=[20], instances=10, effort=20_000, minutes=10)
    assert not certificate.passed


def test_the_search_finds_more_than_as_many_drawn_instances() -> None:
    teacher = find_teacher("quick_sort")
    assert isinstance(teacher, Agent)
    drawn, searched = Table(teacher.task, teacher), Table(teacher.task, teacher)
    explorer = Explorer(teacher.task, lambda batch: run(searched, batch, threads=1))
    assert any(explorer.tried >= 5000 for _ in explorer.rounds())
    kinds = list(teacher.task.inputs.draw)
    for size in (8, 12, 20, 30, 48):
        for data in kinds:
            run(drawn, teacher.task.draw(Request(size=size, count=5000 // (5 * len(kinds)), data=data)))
    assert len(searched) > 1.3 * len(drawn)


def test_equal_seeds_search_alike_and_others_do_not() -> None:
    def seen(seed: int) -> list[int]:
        teacher = find_teacher("bracket_search")
        assert isinstance(teacher, Agent)
        table = Table(teacher.task, teacher)
        explorer = Explorer(teacher.task, lambda batch: run(table, batch, threads=1), seed=seed)
        assert len(list(islice(explorer.rounds(), 5))) == 5
        return table.entries()[0].tolist()

    assert seen(1) == seen(1)
    assert seen(1) != seen(2)
