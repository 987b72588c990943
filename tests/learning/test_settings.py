"""The settings of every method and task: each has a meaning, and nothing outside of its range is accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from surpass.errors import SettingError, SurpassError
from surpass.learning.curriculum import Curriculum, read_ranges
from surpass.learning.methods import METHODS, POLICIES, new_learner
from surpass.learning.settings import SettingsList, meanings
from surpass.reading import Range
from surpass.tasks.registry import PAPER_TASKS, find_task
from tests.cli.here import call_here

WAYS = [
    (task.name, method, {"policy": policy} if policy else {})
    for task in PAPER_TASKS
    for method in METHODS
    for policy in (POLICIES if method.startswith("rl") and not task.interface.is_full_view else ("",))
    if not (task.interface.is_full_view and method == "discover")
]
"""Every way to learn: a task, a method and, where there are several, a policy."""
RL = ("learn", "search", "--method", "rl+imitation")


def each_way(test: Any) -> Any:
    return pytest.mark.parametrize(("task", "method", "policy"), WAYS)(test)


@each_way
def test_every_setting_has_a_meaning_and_about_ten_come_first(task: str, method: str, policy: dict[str, str]) -> None:
    learner = new_learner(find_task(task), method, settings=policy)
    first, listed = SettingsList(learner), SettingsList(learner, "all")
    assert {line.name for line in listed.lines} == {*learner.recipe} - {"task", "method", "teacher", "seed"}
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


def outside(kind: Any) -> Iterator[str]:
    """Yield texts just outside of what a setting may be, if it has a range."""
    if get_origin(kind) is tuple:
        yield from outside(get_args(kind)[0])
    if get_origin(kind) is not Annotated:
        return
    number, allowed = get_args(kind)
    yield "text"
    if isinstance(allowed, Range):
        apart = 0.5 if number is float else 1
        yield from (str(number(allowed.low - (0 if allowed.above else apart))), str(number(allowed.low) - 1))
        yield from (str(number(allowed.high + (0 if allowed.below else apart))), "nan", "inf")


@each_way
def test_what_lies_outside_of_a_range_is_refused(task: str, method: str, policy: dict[str, str]) -> None:
    config = type(new_learner(find_task(task), method, settings=policy).config)
    kinds = get_type_hints(config, include_extras=True)
    tried = 0
    unused = {"imitation_weight"} if method == "rl" else set()  # from nothing it is 0, whatever is asked for
    for name in {field.name for field in fields(config)} - {"task", "teacher", "seed"} - unused:
        for text in outside(kinds[name]):
            tried += 1
            with pytest.raises(SurpassError, match=name):
                new_learner(find_task(task), method, settings={**policy, name: text})
    assert tried > 20


NETWORK = {"policy": "network"}
IMPOSSIBLE: list[tuple[str, str, dict[str, str]]] = [
    ("search", "imitation", {"sizes": ""}),
    ("search", "imitation", {"limit": "n^3"}),
    ("sort-full", "imitation", {"sizes": "9-8"}),
    *(("search", "rl", {**NETWORK, "sizes": sizes}) for sizes in ("5", "5-3", "0-3", "a-b", "3-5,5-10", "3-")),
    ("search", "rl", {"sizes": "5"}),
    ("search", "rl", {"limit": "x"}),
    ("search", "rl", {"data": "no-such-distribution"}),
    ("sort-full", "rl", {"sizes": "1-3 3-5"}),
    ("sort-full", "rl", {"limit": "soon"}),
    ("sort-full", "rl", {"data": "moon"}),
    ("sort-full", "rl", {"data": "sorted"}),
    *(("sort-full", "rl", {"sizes": "3-5", "kept_at": size}) for size in ("1", "4", "5")),
    ("sort-bubble", "imitation", {"sizes": "1"}),
    ("sort-bubble", "discover", {"queries": "present"}),
    ("sort-bubble", "discover", {"data": "sideways"}),
    ("sort-bubble", "discover", {"drift": "0.2"}),
    ("sort-bubble", "discover", {"start": "no-such-agent"}),
    ("sort-bubble", "discover", {"gradients": "0", "start": "nothing"}),
]


@pytest.mark.parametrize(("task", "method", "settings"), IMPOSSIBLE)
def test_what_cannot_be_learned_is_refused_by_the_name_of_its_setting(
    task: str, method: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SurpassError) as refusal:
        new_learner(find_task(task), method, settings=settings).advance()
    assert {*settings}.pop() in str(refusal.value) or [*settings.values()][-1] in str(refusal.value)


@pytest.mark.parametrize(
    ("task", "method", "teacher"),
    [
        ("sort-bubble", "discover", "insertion_sort"),
        ("sort-bubble", "imitation", "selection_sort"),
        ("search", "rl+imitation", "bubble_sort"),
        ("sort-full", "rl+imitation", "insertion_sort"),
        ("sort-full", "rl", "selection_sort"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(task: str, method: str, teacher: str) -> None:
    with pytest.raises(SettingError):
        new_learner(find_task(task), method, teacher=teacher)


def test_meanings_are_what_stands_below_the_fields() -> None:
    config = type(new_learner(find_task("search"), "rl+imitation", settings=NETWORK).config)
    assert meanings(config)["unroll"].startswith("Steps before the return is bootstrapped")


def test_settings_are_written_as_json() -> None:
    words = (*RL, "--teacher", "teacher:bracket_search", "--set", "updates=7", "--settings", "--json", "-")
    record = json.loads(call_here(*words).stdout)
    assert (record["task"], record["method"], record["teacher"]) == ("search", "rl+imitation", "bracket_search")
    updates = next(one for one in record["settings"] if one["name"] == "updates")
    assert (updates["value"], updates["allowed"], updates["is_first"]) == (7, "", True)


# The curriculum of sizes that all learners share


def test_ranges_are_read_in_order_and_the_usual_one_stands_in_for_none() -> None:
    assert read_ranges("3-5 5-10 10-20", (1, 1)) == [(3, 5), (5, 10), (10, 20)]
    assert read_ranges("", (10, 20)) == [(10, 20)]


def test_the_next_range_begins_once_nearly_all_was_solved_and_the_last_one_stays() -> None:
    curriculum = Curriculum("3-5 5-10", (1, 1))
    assert not curriculum.advance_if(0.97)
    assert curriculum.sizes == (3, 5)
    assert curriculum.advance_if(0.98)
    assert curriculum.sizes == (5, 10)
    assert curriculum.is_last
    assert not curriculum.advance_if(1.0)
    assert curriculum.sizes == (5, 10)
