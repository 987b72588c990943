"""What a certificate says is what was checked."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher, known_teachers
from surpass.agents.zoo import load_entry
from surpass.checks.certificate import Explored
from surpass.checks.check import MOST_INSTANCES, check
from surpass.engine.record import record
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.tasks.enumeration import enumeration_of, weak_order_count
from surpass.tasks.lists import from_lists
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Request
from surpass.tasks.user_file import load_task_file
from tests.long import LONG
from tests.zoo.zoo_entries import WITH_TABLE

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"
UP_TO = {"sort-full": 5, "sort-bubble": 6, "sort-quick": 6, "search": 40, "knapsack": 2}
TEACHERS = [teacher for teacher in known_teachers() if teacher.task in PAPER_TASKS]


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name.partition(":")[2])
def test_every_teacher_passes(teacher) -> None:
    certificate = check(teacher, up_to=UP_TO[teacher.task.name], sizes=[10, 50], instances=10, effort=0)
    assert certificate.passed, certificate.counter_example
    small = range(UP_TO[teacher.task.name] + 1)
    assert [row.size for row in certificate.small] == list(small)
    assert [row.instances for row in certificate.small] == [enumeration_of(teacher.task).count(n) for n in small]
    assert [row.size for row in certificate.drawn] == [10, 50]


@pytest.mark.parametrize("name", WITH_TABLE)
def test_every_agent_of_the_zoo_with_a_table_passes(name: str) -> None:
    agent = load_entry(name)
    settings = {} if LONG else {"up_to": UP_TO[agent.task.name], "sizes": [10, 50], "instances": 10, "effort": 500}
    certificate = check(agent, **settings)
    assert certificate.passed, certificate.counter_example


def test_the_worst_case_is_the_worst_and_the_first_of_its_kind() -> None:
    teacher = find_teacher("bubble_sort")
    certificate = check(teacher, up_to=5, instances=0, effort=0)
    for row in certificate.small:
        (lists,) = [np.concatenate([batch.items for batch in enumeration_of(SORT_BUBBLE).instances(row.size)])]
        steps = run(teacher, from_lists(lists)).steps
        assert (row.most_steps, row.mean_steps) == (steps.max(), steps.mean())
        assert row.worst == ",".join(map(str, lists[steps.argmax()].tolist()))
    assert certificate.worst is certificate.small[-1]


def test_observations_are_counted_once_and_their_end_is_told() -> None:
    load_task_file(EXAMPLE)
    certificate = check(find_teacher("scan"), up_to=6, sizes=[20], instances=10, effort=0)
    assert certificate.passed
    assert certificate.observations == 6 == sum(row.new_observations for row in certificate.small)
    assert certificate.closed_after == 3
    assert certificate.exhaustive
    assert check(find_teacher("scan"), up_to=3, instances=0, effort=0).closed_after is None, (
        "nothing larger was checked"
    )


def test_equal_programs_have_equal_fingerprints_and_others_have_not() -> None:
    settings = {"up_to": 4, "sizes": [12], "instances": 5, "effort": 0}
    prints = {
        name: check(agent, **settings).fingerprint
        for name, agent in {
            "teacher": find_teacher("insertion_sort"),
            "imitator": load_entry("sort-bubble/imitation-insertion_sort"),
            "other": find_teacher("bubble_sort"),
        }.items()
    }
    assert prints["teacher"] == prints["imitator"] != prints["other"]


def test_results_are_the_same_with_any_number_of_threads() -> None:
    teacher = find_teacher("hoare_sort")
    one, two = (check(teacher, up_to=5, sizes=[60], instances=20, effort=0, threads=threads) for threads in (1, 2))
    assert one == two


def test_drawn_instances_follow_the_seed_and_are_not_run_twice() -> None:
    teacher = find_teacher("insertion_sort")
    first, again, other = (check(teacher, up_to=1, sizes=[30], instances=10, effort=0, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.drawn[0].mean_steps != other.drawn[0].mean_steps
    drawn = [SORT_BUBBLE.draw(Request(size=30, count=10, seed=0, data=data)).items for data in SORT_BUBBLE.inputs.draw]
    distinct = [len(np.unique(lists, axis=0)) for lists in drawn]
    assert distinct.count(1) == 5, "five distributions have one list of a size"
    assert first.drawn[0].instances == sum(distinct)


def test_a_full_view_is_checked_without_observations() -> None:
    certificate = check(find_teacher("selection_sort"), up_to=4, sizes=[20], instances=3, effort=0)
    assert certificate.passed
    assert (certificate.observations, certificate.closed_after, certificate.fingerprint) == (None, None, None)


def test_a_learned_knapsack_that_spends_its_budget_passes_and_is_noted() -> None:
    certificate = check(load_entry("knapsack/rl"), up_to=2, sizes=[8], instances=5, effort=0)
    assert certificate.passed
    assert certificate.unending is not None
    assert not check(load_entry("knapsack/rl"), up_to=2, instances=0, effort=0, must_end=True).passed


def test_a_task_that_cannot_enumerate_is_said_to_be_sampled() -> None:
    unread = dataclasses.replace(SORT_BUBBLE.inputs, read=None, write=None)
    other = dataclasses.replace(SORT_BUBBLE, name="unread", inputs=unread)
    agent = dataclasses.replace(find_teacher("insertion_sort"), task=other)
    certificate = check(agent, up_to=3, instances=0, effort=0)
    assert certificate.passed
    assert not certificate.exhaustive
    assert certificate.small[-1].worst.startswith("integers [")
    mute = dataclasses.replace(agent, choose=lambda _see, _do: None)
    failure = check(mute, up_to=3, instances=0, effort=0).counter_example
    assert failure is not None
    assert (failure.outcome, failure.trace) == ("no action", None)


def test_the_search_is_told_in_words_and_numbers() -> None:
    certificate = check(find_teacher("insertion_sort"), up_to=4, sizes=[9], instances=3, effort=300)
    explored = certificate.explored
    assert explored is not None
    assert explored.effort == 300
    assert explored.since_new >= 300 or explored.instances >= 3000
    assert (
        certificate.instances
        == sum(row.instances for row in certificate.small + certificate.drawn) + explored.instances
    )
    assert [one.size for one in certificate.slowest] == [10, 20, 50]
    for one in certificate.slowest:
        assert len(record(find_teacher("insertion_sort"), one.instance).steps) == one.steps
    assert check(find_teacher("insertion_sort"), up_to=4, instances=0, effort=0).explored is None


def test_a_search_that_found_nothing_names_no_last_find_and_no_slowest_below_a_drawn_one() -> None:
    assert "the last one" not in str(Explored(instances=50, new_observations=0, since_new=50, effort=100))
    certificate = check(find_teacher("insertion_sort"), up_to=2, sizes=[10], instances=10, effort=500)
    (drawn,) = certificate.drawn
    slowest = dataclasses.replace(certificate.slowest[0], size=10)
    for steps, is_shown in ((drawn.most_steps - 1, False), (drawn.most_steps, True)):
        one = dataclasses.replace(certificate, slowest=(dataclasses.replace(slowest, steps=steps),))
        assert ("the slowest of n = 10" in str(one)) == is_shown


def test_a_certificate_is_plain_data_with_the_promised_keys() -> None:
    certificate = check(find_teacher("binary_search"), up_to=120, sizes=[9], instances=3, effort=300)
    written = json.loads(json.dumps(certificate.as_json()))
    assert list(written) == [
        "format",
        "agent",
        "task",
        "fingerprint",
        "date",
        "passed",
        "limit",
        "seed",
        "small",
        "drawn",
        "explored",
        "slowest",
        "worst",
        "observations",
        "closed_after",
        "narrow_choices",
        "unending",
        "failure",
    ]
    rows = written["small"]["sizes"]
    assert written["small"]["instances"] == sum(row["instances"] for row in rows)
    assert rows[100]["worst"]
    assert rows[101]["worst"] is None
    assert written["worst"]["worst"] == certificate.small[-1].worst
    assert [row["observations"] for row in rows] == np.cumsum([row["new_observations"] for row in rows]).tolist()
    explored = written["explored"]["new_observations"]
    assert written["drawn"]["sizes"][-1]["observations"] + explored == written["observations"]
    assert written["observations"] == certificate.observations
    assert written["failure"] is None


@pytest.mark.parametrize(
    "settings",
    [
        {"up_to": -1},
        {"up_to": 12},
        {"instances": -1},
        {"limit": "many"},
        {"up_to": 1, "sizes": [0]},
        {"up_to": 1, "seed": -1},
        {"effort": -1},
        {"minutes": 0},
        {"minutes": float("nan")},
        {"minutes": 1e30},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(settings: dict) -> None:
    with pytest.raises(SettingError):
        check(find_teacher("bubble_sort"), **settings)


def test_what_is_refused_as_too_many_is() -> None:
    assert weak_order_count(11) < MOST_INSTANCES < weak_order_count(12)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    check(
        find_teacher("bubble_sort"), up_to=5, sizes=[9], instances=2, effort=0, progress=lambda *now: told.append(now)
    )
    done = [count for what, count, _ in told if what.startswith("checking every instance")]
    assert done == sorted(done)
    assert done[-1] == sum(weak_order_count(n) for n in range(6)) == told[0][2]
    assert any(what.startswith("checking drawn instances, n = 9") for what, _, _ in told)
