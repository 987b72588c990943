"""Agents carried over to a larger task."""

from __future__ import annotations

import pytest

from surpass.agents import find_agent
from surpass.agents.adapted import AdaptedAgent
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.table import Agent
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


def agent_of(name: str) -> Agent:
    found = find_agent(name)
    assert isinstance(found, Agent)
    return found


@pytest.mark.parametrize("name", ["teacher:insertion_sort", "teacher:bubble_sort"])
@pytest.mark.parametrize("data", ["uniform", "repeats", "sorted", "reversed", "all-equal"])
def test_it_does_the_same_in_the_larger_task(name: str, data: str) -> None:
    agent, larger = agent_of(name), find_task("sort-quick")
    carried = AdaptedAgent(agent, larger)
    for size in (1, 2, 7, 30):
        request = Request(size=size, count=20, seed=3, data=data)
        ours, theirs = run(carried, larger.draw(request)), run(agent, agent.task.draw(request))
        assert ours.solved.all()
        assert ours.steps.tolist() == theirs.steps.tolist()


def test_a_task_that_shows_or_does_less_is_refused() -> None:
    for name, task in (("teacher:quick_sort", "sort-bubble"), ("teacher:insertion_sort", "search")):
        with pytest.raises(SettingError):
            AdaptedAgent(agent_of(name), find_task(task))
