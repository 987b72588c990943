"""The one search for failures: what it tries, and what it returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.checks import NORMAL, Effort, find_failures
from surpass.engine.probes import LARGE_FROM, LARGE_SIZES, SEARCH, Probe, probes
from surpass.engine.run import run
from surpass.machine.interface import NO_ACTION
from surpass.table import Agent, Table
from surpass.tasks.task import Instances

LITTLE = Effort(up_to=4, sizes=(5, 20), drawn=10, large=20_000, changed=1_000)


class Lost:
    """A teacher without an action for some observations."""

    def __init__(self, teacher: Agent, every: int) -> None:
        self.teacher, self.task, self.name, self.every = teacher, teacher.task, "lost", every

    def actions(self, observations: np.ndarray) -> np.ndarray:
        return np.where(observations % self.every == 0, NO_ACTION, self.teacher.actions(observations))


def teacher(name: str = "insertion_sort") -> Agent:
    found = find_teacher(name)
    assert isinstance(found, Agent)
    return found


def tried(name: str, effort: Effort, **settings: int) -> list[Probe]:
    table = Table.of(teacher(name))
    return list(probes(table.task, lambda batch: run(table, batch, threads=1), effort, **settings))  # type: ignore[arg-type]


def test_a_sound_agent_has_no_failures_and_the_table_keeps_what_was_asked() -> None:
    table = Table.of(teacher())
    assert find_failures(table, LITTLE) == []
    assert len(table) > 50


@pytest.mark.parametrize("enough", [1, 3, 40])
def test_the_failures_returned_fail_and_are_few_enough(enough: int) -> None:
    lost = Lost(teacher(), 7)
    found = find_failures(lost, LITTLE, enough=enough)
    assert 0 < len(found) <= enough
    assert len(set(found)) == len(found)
    for text in found:
        assert not run(lost, lost.task.parse_instance(text)[0]).solved.any()


def test_known_failures_are_tried_first() -> None:
    lost = Lost(teacher(), 7)
    last = find_failures(lost, LITTLE)[-1]
    assert find_failures(lost, LITTLE, known=[last], enough=1) == [last]


def test_a_cheaper_search_comes_first_and_ends_it_if_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    efforts: list[Effort] = []

    def spy(task: object, run: object, effort: Effort, **_: object) -> list[Probe]:
        efforts.append(effort)
        return []

    monkeypatch.setattr("surpass.checks.failures.probes", spy)
    both = replace(NORMAL, before=LITTLE)
    assert find_failures(teacher(), both) == []
    assert efforts == [LITTLE, both]
    monkeypatch.undo()
    lost = Lost(teacher(), 7)
    assert find_failures(lost, replace(LITTLE, before=LITTLE)) == find_failures(lost, LITTLE)


def test_small_drawn_large_and_changed_instances_are_tried_with_ties_at_every_size() -> None:
    found = tried("binary_search", LITTLE)
    drawn = [probe for probe in found if probe.data not in ("", SEARCH)]
    sizes = {int(probe.instances.sizes[0]) for probe in drawn}
    assert {5, 20} <= sizes
    assert sum(size >= LARGE_FROM and size != 20 for size in sizes) >= LARGE_SIZES - 1
    assert {probe.data.split(",")[0] for probe in drawn} == set(teacher("binary_search").task.inputs.draw)
    changed = [probe for probe in found if probe.data == SEARCH]
    assert max(int(probe.instances.sizes.max()) for probe in changed) > 300

    def is_tied(instances: Instances) -> bool:
        size = int(instances.sizes[0])
        return bool((np.diff(np.sort(instances.items[:, :size], axis=1), axis=1) == 0).any())

    assert {int(p.instances.sizes[0]) for p in drawn if is_tied(p.instances)} == sizes


def test_large_instances_cost_about_their_share() -> None:
    found = tried("binary_search", replace(LITTLE, sizes=(), drawn=0, up_to=-1, changed=0, large=50_000))
    costs: dict[tuple[int, str], float] = {}
    for probe in found:
        key = int(probe.instances.sizes[0]), probe.data
        costs[key] = costs.get(key, 0) + float((probe.instances.sizes + probe.results.steps).sum())
    many = [cost for (_, data), cost in costs.items() if data.startswith("repeats")]
    assert len(many) >= LARGE_SIZES - 1
    assert all(30_000 < cost < 80_000 for cost in many)


def test_seeds_try_other_instances_and_equal_ones_the_same() -> None:
    def texts(seed: int) -> list[bytes]:
        return [probe.instances.items.tobytes() for probe in tried("binary_search", LITTLE, seed=seed)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
