"""A run that takes seconds and saves after every round: python -m tests.learning.quick FOLDER ROUNDS.

It is killed and taken up again by the tests; it prints the number of each round that it has ended.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from surpass.learning.methods import AnyLearner, new_learner
from surpass.learning.runs import RunFolder, train
from surpass.tasks.registry import find_task
from tests.effort import lessen_effort

NEVER_CALM = 1_000_000


def search_learner(rounds: int, *, seed: int = 0) -> AnyLearner:
    """Return a learner of binary search on few and small lists that goes on for a number of rounds."""
    settings = {"sizes": "4,7", "items": "14", "calm_rounds": str(NEVER_CALM), "most_rounds": str(rounds)}
    return new_learner(find_task("search"), "imitation", teacher="binary_search", seed=seed, settings=settings)


def knapsack_learner(rounds: int, *, seed: int = 0) -> AnyLearner:
    """Return a learner of depth-first search, whose rounds and files are small."""
    settings = {"sizes": "2,3", "items": "6", "epochs": "2", "calm_rounds": str(NEVER_CALM), "most_rounds": str(rounds)}
    return new_learner(find_task("knapsack"), "imitation", seed=seed, settings=settings)


def full_view_learner(updates: int, *, seed: int = 0) -> AnyLearner:
    """Return a learner of the full view that makes a few updates on small lists, two in a round."""
    settings = {"sizes": "3-5", "updates": str(updates), "updates_per_round": "2"}
    return new_learner(find_task("sort-full"), "imitation", seed=seed, settings=settings)


def gradient_learner(updates: int, *, task: str = "knapsack", method: str = "rl") -> AnyLearner:
    """Return a learner that makes one small update in a round."""
    small = {"policy": "network", "episodes": "16", "unroll": "10", "updates_per_round": "1"}
    return new_learner(find_task(task), method, settings={**small, "updates": str(updates)})


def table_learner(updates: int, *, task: str = "search", method: str = "rl") -> AnyLearner:
    """Return a learner of a table of logits that makes a few small updates, and then teaches a network."""
    small = {"policy": "table", "starts": "1", "episodes": "32", "sizes": "3-6", "checks": "2"}
    return new_learner(find_task(task), method, settings={**small, "updates": str(updates)})


def improvement_learner(rounds: int) -> AnyLearner:
    """Return a learner that tries few edits in a round, and then teaches the program to a network."""
    small = {"sizes": "3,5", "generations": "2", "candidates": "8"}
    few = {"instances": "8", "rounds": str(rounds)}
    return new_learner(find_task("search"), "improvement", settings={**small, **few})


LEARNERS: dict[str, Callable[[int], AnyLearner]] = {
    "imitation": search_learner,
    "rl": gradient_learner,
    "rl+imitation": partial(gradient_learner, task="search", method="rl+imitation"),
    "rl of a table": table_learner,
    "rl+imitation of a table": partial(table_learner, method="rl+imitation"),
    "rl by sampled tables": partial(table_learner, task="knapsack"),
    "improvement": improvement_learner,
}
"""A quick learner by each method, given how many rounds it takes at least."""


def learner_again(recipe: dict[str, Any]) -> AnyLearner:
    """Return a fresh learner with every setting of a recipe, given as a user would give them."""
    apart = ("method", "task", "teacher", "seed")
    settings = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in recipe.items()
        if name not in apart
    }
    return new_learner(
        find_task(recipe["task"]),
        recipe["method"],
        teacher=recipe["teacher"] or None,
        seed=recipe["seed"],
        settings=settings,
    )


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
    torch.set_num_threads(1)
    lessen_effort(pytest.MonkeyPatch())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--method", choices=LEARNERS, default="imitation")
    options = parser.parse_args()
    run_in(options.folder, LEARNERS[options.method](options.rounds), resume=options.resume)


if __name__ == "__main__":
    main()
