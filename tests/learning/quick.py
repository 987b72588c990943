"""A run that takes seconds and saves after every round: python -m tests.learning.quick FOLDER ROUNDS.

It is killed and taken up again by the tests; it prints the number of each round that it has ended.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from surpass.learning.methods import AnyLearner, new_learner
from surpass.learning.runs import RunFolder, train
from surpass.tasks.registry import find_task
from tests.effort import lessen_effort

NEVER_CALM = "1000000"
SEARCH = {"sizes": "4,7", "items": "14", "calm_rounds": NEVER_CALM}
KNAPSACK = {"sizes": "2,3", "items": "6", "epochs": "2", "calm_rounds": NEVER_CALM}
FULL_VIEW = {"sizes": "3-5", "updates_per_round": "2"}
NETWORK = {"policy": "network", "episodes": "16", "unroll": "10", "updates_per_round": "1"}
TABLE = {"policy": "table", "starts": "1", "episodes": "32", "sizes": "3-6", "checks": "2"}
EDITS = {"sizes": "3,5", "sets": "2", "candidates": "8", "instances": "8", "islands": "2", "gradients": "1"}
POINTERS = {"sizes": "2-3 3-5", "episodes": "5", "unroll": "7", "limit": "4", "updates_per_round": "2"}

LEARNERS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "imitation": ("search", "imitation", "most_rounds", SEARCH),
    "imitation in knapsack": ("knapsack", "imitation", "most_rounds", KNAPSACK),
    "imitation in the full view": ("sort-full", "imitation", "updates", FULL_VIEW),
    "rl": ("knapsack", "rl", "updates", NETWORK),
    "rl+imitation": ("search", "rl+imitation", "updates", NETWORK),
    "rl on two distributions": ("sort-bubble", "rl", "updates", {**NETWORK, "data": "reversed,sawtooth*2"}),
    "rl of a table": ("search", "rl", "updates", TABLE),
    "rl+imitation of a table": ("search", "rl+imitation", "updates", TABLE),
    "rl by sampled tables": ("knapsack", "rl", "updates", TABLE),
    "rl in the full view": ("sort-full", "rl", "updates", {**POINTERS, "baseline": "scalar"}),
    "rl+imitation in the full view": ("sort-full", "rl+imitation", "updates", {**POINTERS, "baseline": "network"}),
    "discover": ("search", "discover", "rounds", EDITS),
}
"""Of each quick learner its task, its method, the setting that says how long it goes on at least, and the others."""


def quick_learner(kind: str, rounds: int, *, seed: int = 0, **more: str) -> AnyLearner:
    """Return one of the quick learners."""
    task, method, lasts, settings = LEARNERS[kind]
    teacher = "binary_search" if kind == "imitation" else None
    return new_learner(
        find_task(task), method, teacher=teacher, seed=seed, settings={**settings, **more, lasts: str(rounds)}
    )


def knapsack_learner(rounds: int, *, seed: int = 0) -> AnyLearner:
    """Return a learner of depth-first search, whose rounds and files are small."""
    return quick_learner("imitation in knapsack", rounds, seed=seed)


def run_in(folder: Path, learner: AnyLearner, *, resume: bool = False, checkpoint_every: float = 0) -> RunFolder:
    """Train a learner in a folder and return the folder."""
    run = RunFolder(folder)
    run.begin(learner.recipe, resume=resume)
    if resume:
        run.restore(learner)
    train(learner, run, checkpoint_every=checkpoint_every, report=lambda number, _: print(number, flush=True))
    return run


def checkpoint_files(folder: Path) -> dict[str, bytes]:
    """Return the two files of the newest checkpoint by name."""
    stem = max((folder / "checkpoints").glob("[0-9]*.json")).with_suffix("")
    return {stem.name + suffix: stem.with_name(stem.name + suffix).read_bytes() for suffix in (".json", ".safetensors")}


def main() -> None:
    """Run a learner in a folder, with the fixture's small effort."""
    lessen_effort(pytest.MonkeyPatch())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--method", choices=LEARNERS, default="imitation")
    options = parser.parse_args()
    run_in(options.folder, quick_learner(options.method, options.rounds), resume=options.resume)


if __name__ == "__main__":
    main()
