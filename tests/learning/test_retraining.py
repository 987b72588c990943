"""Agents of the zoo are trained again by jobs that hold their whole recipe; finished ones are kept."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from surpass.agents.zoo import find_entry
from surpass.errors import RecipeError
from surpass.learning.jobs import retrain
from surpass.learning.recipes import find_recipe, setting_text
from surpass.workers.runner import Ended, Job, Watch

NAMES = ["zoo:knapsack/imitation-depth_first", "zoo:search/imitation-binary_search"]
OLD = "zoo:knapsack/rl-network"


class PretendRunner:
    """Ends every job at once with a code, and remembers it."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.jobs: list[Job] = []

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        for job in jobs:
            if watch:
                watch((job,))
            self.jobs.append(job)
            if self.code == 0:
                job.folder.mkdir(parents=True)
                for name in ("agent.json", "scores.json"):
                    (job.folder / name).write_text("{}")
            yield Ended(job, self.code, "the loss is nan")


def test_a_job_holds_every_setting_of_the_recipe(tmp_path: Path) -> None:
    runner = PretendRunner()
    seen: list[tuple[int, int]] = []
    done = retrain(NAMES, tmp_path, runner, lambda ended, count: seen.append((ended, count)))
    assert done.folders == {
        "zoo:knapsack/imitation-depth_first": str(tmp_path / "knapsack-imitation-depth_first"),
        "zoo:search/imitation-binary_search": str(tmp_path / "search-imitation-binary_search"),
    }
    assert done.failures == {}
    assert seen == [(0, 2), (1, 2)]
    for name, job in zip(NAMES, runner.jobs, strict=True):
        recipe = find_entry(name.removeprefix("zoo:")).record["recipe"]
        assert job.words[:2] == ("learn", recipe["task"])
        assert job.words[job.words.index("--seed") + 1] == str(recipe["seed"])
        for key, value in recipe.items():
            if key not in ("task", "method", "teacher", "seed"):
                assert f"{key}={setting_text(value)}" in job.words


def test_what_is_trained_already_is_kept(tmp_path: Path) -> None:
    first = retrain(NAMES, tmp_path, PretendRunner())
    again = PretendRunner()
    assert retrain(NAMES, tmp_path, again) == first
    assert again.jobs == []


def test_a_failure_is_reported_and_tried_again(tmp_path: Path) -> None:
    done = retrain(NAMES[:1], tmp_path, PretendRunner(code=2))
    assert (done.folders, done.failures) == ({}, {NAMES[0]: "the loss is nan"})
    assert retrain(NAMES[:1], tmp_path, PretendRunner()).failures == {}


def test_an_agent_of_an_earlier_version_is_named_with_the_settings_that_are_gone(tmp_path: Path) -> None:
    done = retrain([OLD, NAMES[0]], tmp_path, PretendRunner())
    assert [*done.folders] == NAMES[:1]
    assert "smallest" in done.failures[OLD]
    with pytest.raises(RecipeError, match="earlier version"):
        find_recipe(OLD)
