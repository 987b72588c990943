"""Folders of runs and sweeps as learning leaves them, written down without learning; and commands to show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from surpass.learning.methods import new_learner
from surpass.learning.recipes import Recipe
from surpass.tasks.registry import find_task

GRADIENT = ("round,updates,steps,size,solved,mean_steps,mean_reward", "{k},{u},{s},{size},{solved},{mean},-{mean}")


def write_run(
    folder: Path,
    means: Sequence[float] = (30.0, 20.0, 10.0),
    *,
    task: str = "search",
    method: str = "rl+imitation",
    seed: int = 0,
    sizes: Sequence[int] = (50, 50, 50),
) -> Path:
    """Write the folder of a run by policy gradient that measured these means, not yet ended; return it."""
    folder.mkdir(parents=True)
    recipe = new_learner(
        find_task(task), method, seed=seed, settings={"policy": "network"} if method.startswith("rl") else {}
    ).recipe
    (folder / "recipe.json").write_text(json.dumps(recipe))
    lines = [GRADIENT[0]]
    for k, (mean, size) in enumerate(zip(means, sizes, strict=True), 1):
        solved = min(1.0, 0.5 + 0.25 * k)
        lines.append(GRADIENT[1].format(k=k, u=10 * k, s=500_000 * k, size=size, solved=solved, mean=mean))
    (folder / "curves.csv").write_text("\n".join(lines) + "\n")
    return folder


def write_table_run(folder: Path) -> Path:
    """Write the folder of a run that learned a table of search, and then taught it to a network; return it."""
    folder.mkdir(parents=True)
    recipe = new_learner(find_task("search"), "rl+imitation", settings={"policy": "table"}).recipe
    (folder / "recipe.json").write_text(json.dumps(recipe))
    lines = ["round,updates,size,solved,mean_steps,mean_reward,failing,observations,agreement"]
    lines += ["1,100,50,0.5,30,-30,0,,", "2,200,50,0.75,20,-20,0,,", "3,300,50,1,10,-10,0,,"]
    lines += ["1,300,,0,,,,6,0", "2,300,,0.58,,,,6,0.5", "3,300,,1,,,,6,1", "1,300,,,,,0,6,"]
    (folder / "curves.csv").write_text("\n".join(lines) + "\n")
    return folder


def write_sweep(folder: Path) -> Path:
    """Write the folder of a sweep over two learning rates with three seeds each, of which one has not begun."""
    recipe = Recipe(
        name="made",
        task="search",
        method="rl+imitation",
        teacher="binary_search",
        seeds=(0, 1, 2),
        grid={"learning_rate": (0.01, 0.001)},
    )
    folder.mkdir()
    (folder / "sweep.json").write_text(json.dumps(recipe.as_json()))
    for number, variant in enumerate(recipe.variants[:-1]):
        means = [30.0 + number, 20.0 + number, 10.0 + number]
        write_run(folder / "runs" / variant.name, means, seed=variant.seed)
    return folder
