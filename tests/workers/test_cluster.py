"""On a Ray cluster of two nodes, one of which is killed in the middle, everything comes out as on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import surpass
from surpass.learning.methods import new_learner
from surpass.learning.recipes import parse_recipe
from surpass.learning.runs import RunFolder, train, write_json
from surpass.learning.sweeps import Sweep, SweepState
from surpass.tasks.registry import find_task
from surpass.workers.cluster import RayRunner
from surpass.workers.local import LocalRunner
from tests.learning.quick import checkpoint_files
from tests.workers.conftest import TwoNodes

DISCOVER = {"sizes": (3, 5), "sets": 1, "candidates": 16, "instances": 8, "islands": 2, "gradients": 1}
SWEEP = {
    "task": "knapsack",
    "method": "imitation",
    "seeds": [0, 1],
    "settings": {"sizes": [2, 3], "items": 6, "epochs": 2, "calm_rounds": 1_000_000, "most_rounds": 300},
}
SCORED = {"score_sizes": [3], "score_instances": 5}


def files_of(run: Path) -> dict[str, bytes]:
    """Return all that a run has learned, byte by byte; a program without the line that names its folder."""
    names = [name for name in ("agent.safetensors", "agent.rules", "curves.csv") if (run / name).exists()]
    own = str(run).encode()
    return {**{name: (run / name).read_bytes().replace(own, b"") for name in names}, **checkpoint_files(run)}


def test_discover_that_loses_a_node_ends_as_on_this_machine(two_nodes: TwoNodes, tmp_path: Path) -> None:
    settings = {**DISCOVER, "rounds": 6, "start": "teacher:binary_search"}
    learn = partial(surpass.learn, "search", "discover", settings=settings, **SCORED)  # type: ignore[arg-type]
    learn(out=tmp_path / "here")
    runner = RayRunner(two_nodes.address)
    try:
        learn(out=tmp_path / "there", on=runner, report=lambda *_: two_nodes.kill_second())
        assert two_nodes.has_lost_one
    finally:
        runner.close()
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_a_sweep_that_was_begun_here(two_nodes: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = parse_recipe("tiny", SWEEP)
    task = find_task("knapsack")

    def left_in(sweep: Sweep) -> list[object]:
        runs = [files_of(sweep.run_folder(variant)) for variant in recipe.variants]
        return [*runs, *((sweep.folder / name).read_bytes() for name in ("ranking.json", "agent.safetensors"))]

    def logs_of(sweep: Sweep) -> list[str]:
        folders = [sweep.run_folder(variant) for variant in recipe.variants]
        return [(folder / "log.txt").read_text() if (folder / "log.txt").exists() else "" for folder in folders]

    here = Sweep(recipe, task, tmp_path / "here")
    here.run(LocalRunner(2))
    monkeypatch.chdir(tmp_path)
    there = Sweep(recipe, task, Path("there"))
    there.folder.mkdir()
    write_json(there.folder / "sweep.json", recipe.as_json())
    begin(there)

    def watch(state: SweepState) -> None:
        if len(state.running) == 2 and all("round" in log for log in logs_of(there)):
            two_nodes.kill_second()

    runner = RayRunner(two_nodes.address)
    try:
        there.run(runner, watch)
        assert two_nodes.has_lost_one
    finally:
        runner.close()
    assert left_in(there) == left_in(here)
    begun = [log.count("continuing after round ") for log in logs_of(there)]
    assert sorted(begun) == [1, 2], "both went on, and one of them once more"
    # The second time it may go on from a checkpoint of its own.
    assert all("continuing after round 9" in log for log in logs_of(there)), "from where they were here"


def begin(sweep: Sweep) -> None:
    """Leave each run of a sweep as if it had been broken off here after some rounds."""
    for variant in sweep.recipe.variants:
        learner = new_learner(sweep.task, sweep.recipe.method, seed=variant.seed, settings=variant.settings)
        folder = RunFolder(sweep.run_folder(variant))
        folder.begin(learner.recipe, resume=False)

        def stop(number: int, _: object) -> None:
            if number == 10:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(learner, folder, checkpoint_every=0, report=stop)
        folder.close()


def test_scores_and_checks(two_nodes: TwoNodes) -> None:
    runner = RayRunner(two_nodes.address)
    try:
        agent = surpass.program("teacher:insertion_sort")
        for name in (agent, "zoo:sort-bubble/imitation-insertion_sort", "teacher:bubble_sort"):
            there = surpass.evaluate(name, sizes=[5, 20], instances=101, against="teacher:insertion_sort", on=runner)
            assert there == surpass.evaluate(name, sizes=[5, 20], instances=101, against="teacher:insertion_sort")
        less = {"up_to": 6, "sizes": [9, 60], "instances": 40, "effort": 500}
        assert surpass.check(agent, on=runner, **less) == surpass.check(agent, **less)  # type: ignore[arg-type]
        wrong = surpass.check("zoo:search/rl", on=runner, up_to=5, sizes=[12], instances=4000, effort=0)
        assert wrong == surpass.check("zoo:search/rl", up_to=5, sizes=[12], instances=4000, effort=0)
    finally:
        runner.close()
