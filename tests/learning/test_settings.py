"""What `learn --settings` says: of every method and task, each setting with its meaning and its choices."""

from __future__ import annotations

import json

import pytest

from surpass.errors import SurpassError
from surpass.learning.methods import METHODS, POLICIES, new_learner
from surpass.learning.settings import SettingsList, meanings
from surpass.tasks.registry import find_task, known_tasks
from tests.cli.here import call_here
from tests.cli.test_commands import call

PAIRS = [(task.name, method) for task in known_tasks() for method in METHODS]
RL = ("learn", "search", "--method", "rl+imitation")


@pytest.mark.parametrize(("task", "method"), PAIRS)
def test_every_setting_has_a_meaning_and_about_ten_come_first(task: str, method: str) -> None:
    if find_task(task).interface.is_full_view and method == "improvement":
        with pytest.raises(SurpassError):
            new_learner(find_task(task), method)
        return
    policies = POLICIES if method.startswith("rl") and not find_task(task).interface.is_full_view else [None]
    for policy in policies:
        learner = new_learner(find_task(task), method, settings={"policy": policy} if policy else None)
        first, listed = SettingsList(learner), SettingsList(learner, "all")
        assert sorted(line.name for line in listed.lines) == sorted(
            {*learner.recipe} - {"task", "method", "teacher", "seed"}
        )
        for line in listed.lines:
            assert line.meaning.endswith("."), f"{type(learner.config).__name__}.{line.name} has no meaning"
            assert f"\n{line.name} = " in str(listed)
            assert (f"\n{line.name} = " in str(first)) == line.is_first
        assert len({line.meaning for line in listed.lines}) == len(listed.lines)
        assert 5 <= sum(line.is_first for line in listed.lines) <= 10


def test_settings_stands_alone_or_before_all() -> None:
    first = call_here(*RL, "--set", "policy=network", "--settings").stdout
    assert "learning_rate = " in first
    assert "A number above 0 and below 1" in first
    assert "1,000,000,000" not in first
    assert "--settings all lists 9 more" in first
    assert call_here("learn", "--settings", *RL[1:], "--set", "policy=network").stdout == first
    shown = call_here(*RL, "--set", "policy=network", "--settings", "all").stdout
    assert "baseline = network\n" in shown
    assert "One of scalar, network; scalar unless changed." in shown
    assert call_here(*RL, "--settings=some").returncode == 2


def test_meanings_are_what_stands_below_the_fields() -> None:
    config = type(new_learner(find_task("search"), "rl+imitation", settings={"policy": "network"}).config)
    assert meanings(config)["unroll"].startswith("Steps before the return is bootstrapped")


def test_settings_are_written_as_json() -> None:
    record = json.loads(call(*RL, "--set", "updates=7", "--settings", "--json", "-").stdout)
    assert (record["task"], record["method"], record["teacher"]) == ("search", "rl+imitation", "binary_search")
    updates = next(one for one in record["settings"] if one["name"] == "updates")
    assert (updates["value"], updates["allowed"], updates["is_first"]) == (7, "", True)
