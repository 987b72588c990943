"""What features, observations and actions become when two variables change their names."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.learning.renamings import renamings_of
from surpass.learning.table.deviations import Deviations
from surpass.learning.table.episodes import Costs
from surpass.learning.table.logits import LogitTable
from surpass.machine.interface import NO_ACTION
from surpass.tasks.registry import find_task

MIRRORED = {"<": ">", ">": "<", "=": "="}


def test_every_pair_of_variables_can_change_names_if_there_are_any() -> None:
    assert len(renamings_of(find_task("search")).actions) == 6
    assert len(renamings_of(find_task("knapsack")).actions) == 0


@pytest.mark.parametrize("name", ["search", "sort-bubble", "sort-quick"])
def test_an_observation_that_is_renamed_twice_is_what_it_was(name: str) -> None:
    task = find_task(name)
    renamings, random = renamings_of(task), np.random.default_rng(0)
    seen = random.integers(0, task.interface.observation_count, 2000)
    which = random.integers(0, len(renamings.actions), len(seen))
    renamed = renamings.of(seen, which, task.interface)
    assert (renamed != seen).mean() > 0.9
    assert (renamings.of(renamed, which, task.interface) == seen).all()


def test_an_observation_shows_of_one_variable_what_it_showed_of_the_other() -> None:
    interface = find_task("search").interface
    renamings = renamings_of(find_task("search"))
    seen = np.random.default_rng(0).integers(0, interface.observation_count, 200)
    names = [feature.name for feature in interface.features]
    for before, after in zip(seen, renamings.of(seen, np.zeros(200, np.int64), interface), strict=True):  # v1 and v2
        old, new = (dict(zip(names, interface.unpack_observation(int(o)), strict=True)) for o in (before, after))
        assert (new["q ? A[v1]"], new["q ? A[v2]"], new["q ? A[v3]"]) == tuple(old[f"q ? A[v{k}]"] for k in (2, 1, 3))
        assert (new["v1 ? v3"], new["v2 ? v4"], new["v3 ? v4"]) == (old["v2 ? v3"], old["v1 ? v4"], old["v3 ? v4"])
        assert new["v1 ? v2"] == MIRRORED[old["v1 ? v2"]]
        if old["previous"] is not None and old["previous"].instruction == "AssignMid":
            assert str(new["previous"]) == str(old["previous"]).translate(str.maketrans("12", "21"))


def test_deviations_try_what_is_best_for_another_variable_in_the_same_role() -> None:
    """Before anything is learned that is the base agent's action under other names."""
    task, teacher = find_task("search"), find_teacher("binary_search")
    deviations = Deviations(LogitTable(task, teacher, 2.0), Costs(1.0, 1.0), 1)
    seen = np.random.default_rng(1).integers(0, task.interface.observation_count, 500)
    (tried,) = deviations._rename(seen, np.random.default_rng(2))
    which = np.random.default_rng(2).integers(0, len(renamings_of(task).actions), len(seen))
    best = teacher.actions(renamings_of(task).of(seen, which, task.interface))
    has_one = best != NO_ACTION
    assert has_one.sum() > 100
    assert (tried[has_one] == renamings_of(task).actions[which, best][has_one]).all()
