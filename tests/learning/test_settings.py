"""What `learn --settings` says: of every method and task, each setting with its meaning and range."""

from __future__ import annotations

import json
from typing import get_type_hints

import pytest

from surpass.errors import SurpassError
from surpass.learning.methods import METHODS, POLICIES, new_learner
from surpass.learning.settings import SettingsList, meanings
from surpass.reading import OneOf, describe_kind
from surpass.tasks.registry import find_task, known_tasks
from tests.cli.test_commands import call

PAIRS = [(task.name, method) for task in known_tasks() for method in METHODS]


@pytest.mark.parametrize(("task", "method"), PAIRS)
def test_every_setting_has_a_meaning_and_a_range(task: str, method: str) -> None:
    if find_task(task).interface.is_full_view and method == "improvement":
        with pytest.raises(SurpassError):
            new_learner(find_task(task), method)
        return
    policies = POLICIES if method.startswith("rl") and not find_task(task).interface.is_full_view else [None]
    for policy in policies:
        learner = new_learner(find_task(task), method, settings={"policy": policy} if policy else None)
        listed = SettingsList(learner)
        named = {line.name for line in listed.lines}
        assert named == {*learner.recipe} - {"task", "method", "teacher", "seed"}
        for line in listed.lines:
            assert line.meaning.endswith("."), f"{type(learner.config).__name__}.{line.name} has no meaning"
            assert line.allowed
            assert f"\n{line.name} = " in str(listed)
        assert len({line.meaning for line in listed.lines}) == len(listed.lines)


def test_meanings_are_what_stands_below_the_fields() -> None:
    config = type(new_learner(find_task("search"), "rl+imitation", settings={"policy": "network"}).config)
    assert meanings(config)["unroll"].startswith("Steps before the return is bootstrapped")
    assert describe_kind(get_type_hints(config, include_extras=True)["baseline"]) == "one of scalar, network"
    assert "table" in OneOf(("network", "table"))


def test_settings_are_written_as_json() -> None:
    words = ("learn", "search", "--method", "rl+imitation", "--set", "updates=7", "--settings", "--json", "-")
    record = json.loads(call(*words).stdout)
    assert (record["task"], record["method"], record["teacher"]) == ("search", "rl+imitation", "binary_search")
    updates = next(one for one in record["settings"] if one["name"] == "updates")
    assert (updates["value"], updates["allowed"]) == (7, "a whole number from 1 to 1,000,000,000")
