"""What each mechanism of the table learner, or of discover, is worth: with and without it, over tasks and seeds.

    python -m tools.ablation search:rl sort-bubble:rl+imitation --seeds 0,1,2 --minutes 3
    python -m tools.ablation sort-bubble:discover search:discover --seeds 0,1,2 --minutes 5

Each run learns with the defaults until it would be checked, or until its time is up, and is then measured on fresh
instances. A row gives the share of instances solved and the mean over the doublings of the size of steps relative to
the task's teacher (of rewards where the score counts). Of discover it is the relative cost of the best program instead,
over all distributions, after so many minutes of one core. A result is one line of JSON in the file of `--out`, and a
run that is there already is not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from surpass.agents.teachers import usual_teacher
from surpass.engine.run import run
from surpass.learning.discover import population
from surpass.learning.discover.learner import Discover
from surpass.learning.discover.population import Population
from surpass.learning.discover.worker import Scale, Worker
from surpass.learning.methods import new_learner
from surpass.learning.table import deviations, learner
from surpass.learning.table.episodes import Costs
from surpass.learning.table.learner import TableLearner
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.repair import Reference
from surpass.printing import text_table
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Instances, Request, Task
from surpass.workers.local import LocalRunner

Variant = dict[tuple[Any, str], Any]
"""What is replaced where."""


def _undo_nothing(logits: LogitTable, failing: Instances, usual: Reference, costs: Costs) -> int:
    return failing.count


def _keep_features(task: Task, features: list[int], is_enough: Callable[[list[int]], bool]) -> list[int]:
    return features


def _without_focus(self: Population, k: int, random: np.random.Generator, focuses: Sequence[str]) -> population.Island:
    return NEW_CHAIN(self, k, random, ())


NEW_CHAIN = Population._new_chain
VARIANTS: dict[str, Variant] = {
    "as it is": {},
    "no feature is dropped": {(learner, "drop_features"): _keep_features},
    "no renamed variables": {(deviations.Deviations, "_rename"): lambda *_: []},
    "no deviations off the path": {(deviations, "OFF_PATH_RATE"): 0.0},
    "changes that lose are kept": {(deviations, "revert_losses"): lambda *_: 1.0},
    "failures are learned on, not undone": {(learner, "revert_failures"): _undo_nothing},
    "unused changes are kept": {(learner, "revert_unused"): lambda *_: None},
    "all distributions equally": {(learner, "USUAL_WEIGHT"): 1},
    "only the usual distribution": {(learner, "_usual_mixture"): lambda task: task.inputs.usual_data},
    "one start": {"starts": "1"},  # type: ignore[dict-item]
}


DISCOVER_VARIANTS: dict[str, Variant] = {
    "as it is": {},
    "no gradients": {"gradients": "0"},  # type: ignore[dict-item]
    "one island": {"islands": "1"},  # type: ignore[dict-item]
    "no rules from mates": {(population, "MATING"): 0.0},
    "no fresh starts": {(population, "FROM_STARTS"): 0.0},
    "no focus": {(population.Population, "_new_chain"): _without_focus},
    "only the usual distribution": {"data": "usual"},  # type: ignore[dict-item]
    "no temperature": {(population, "MOST_TEMPERATURE"): 1e-9, (population, "LEAST_TEMPERATURE"): 1e-9},
}


def discover(name: str, seed: int, variant: Variant, minutes: float) -> dict[str, float]:
    """Discover with some things replaced, on one core, and return what was reached in how many seconds."""
    task, began = find_task(name), time.process_time()
    settings: dict[str, Any] = {key: value for key, value in variant.items() if isinstance(key, str)}
    if settings.get("data") == "usual":
        settings["data"] = task.inputs.usual_data
    with ExitStack() as stack:
        for place, value in variant.items():
            if not isinstance(place, str):
                stack.enter_context(patch.object(*place, value))
        found = new_learner(task, "discover", seed=seed, settings=settings)
        assert isinstance(found, Discover)
        found.runner = LocalRunner(1)
        while time.process_time() - began < 60 * minutes:
            found.advance()
    best = found.best
    assert best is not None
    scale = Scale(found.reference, found.sizes)
    judge = Worker(task, {**found.given, "data": "", "digest": ""}, found.prices, found.budget)
    cost = judge.judge(scale, best.program, 0).cost
    seconds = time.process_time() - began
    return {"solved": float(best.is_sound), "relative": cost, "seconds": seconds, "sound": best.is_sound}


def measure(task: Task, agent: Any, largest: int) -> tuple[float, float]:
    """Return the share solved, and the mean over doublings of steps or rewards relative to the teacher's."""
    table, teacher = Table.of(agent), usual_teacher(task)
    solved, ratios = [], []
    size = max(4, task.training_sizes[0] // 2)
    while size <= largest:
        instances = task.draw(Request(size=size, count=100, seed=77_777))
        ours = run(table, instances, find_loops=task.measure == "steps")
        theirs = run(teacher, instances) if teacher is not None else ours
        ours_by, theirs_by = (
            float((one.rewards if task.measure == "reward" else one.steps).mean()) for one in (ours, theirs)
        )
        solved.append(float(ours.solved.mean()))
        ratios.append(ours_by / theirs_by)
        size *= 2
    return float(np.mean(solved)), float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-9)))))


def make_run(name: str, method: str, seed: int, variant: Variant, minutes: float, largest: int) -> dict[str, float]:
    """Learn with some things replaced, and return what was reached in how many seconds."""
    task, began = find_task(name), time.process_time()
    settings = {"updates": "100", **{key: value for key, value in variant.items() if isinstance(key, str)}}
    with ExitStack() as stack:
        for place, value in variant.items():
            if not isinstance(place, str):
                stack.enter_context(patch.object(*place, value))
        found = new_learner(task, method, seed=seed, settings=settings)
        assert isinstance(found, TableLearner)
        while found.phase != "distil" and time.process_time() - began < 60 * minutes:
            found.advance()
        seconds = time.process_time() - began
        solved, ratio = measure(task, found.policy, largest)
        is_sound = found.phase == "distil" and found.checks < found.config.checks
    return {"solved": solved, "relative": ratio, "seconds": seconds, "sound": is_sound}


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="TASK:METHOD")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--largest", type=int, default=128, help="the largest size that is measured")
    parser.add_argument("--variants", default="", help="parts of the names of variants, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("runs/ablation.jsonl"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    words = [word for word in given.variants.split(",") if word]

    def variants(which: str) -> dict[str, Variant]:
        all_of = DISCOVER_VARIANTS if which.endswith(":discover") else VARIANTS
        return {name: one for name, one in all_of.items() if not words or any(word in name for word in words)}

    for seed in map(int, given.seeds.split(",")):
        for which in given.runs:
            for name, variant in variants(which).items():
                key = {"run": which, "variant": name, "seed": seed, "minutes": given.minutes}
                if any(key.items() <= line.items() for line in done):
                    continue
                task, _, method = which.partition(":")
                if method == "discover":
                    line = {**key, **discover(task, seed, variant, given.minutes)}
                else:
                    line = {**key, **make_run(task, method or "rl", seed, variant, given.minutes, given.largest)}
                done.append(line)
                with given.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)
    rows = []
    for which in given.runs:
        for name in variants(which):
            found = [line for line in done if line["run"] == which and line["variant"] == name]
            columns = [[line[key] for line in found] for key in ("solved", "relative", "sound", "seconds")]
            shown = [
                " ".join(f"{value:{form}}" for value in column)
                for column, form in zip(columns, (".1%", ".3f", "", ".0f"), strict=True)
            ]
            rows.append([which, name, *shown])
    print(text_table("", ["run", "variant", "solved", "relative to the teacher", "sound", "seconds"], rows))


if __name__ == "__main__":
    main()
