"""`surpass learn --recipe` makes the run that a recipe describes, with what the other options change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.here import EXAMPLE, call_here

ONE_RUN = """
task = "knapsack"
method = "imitation"
seeds = [3]

[settings]
sizes = [2, 3]
items = 6
epochs = 2
most_rounds = 2
"""
OWN_TASK = 'task = "minimum"\nmethod = "imitation"\n[settings]\nsizes = [1, 2, 3]\nitems = 6\nmost_rounds = 1\n'


@pytest.fixture(autouse=True)
def _recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.toml").write_text(ONE_RUN)
    Path("own.toml").write_text(OWN_TASK)


def learned(*words: object) -> dict[str, object]:
    """Return the recipe of a run that is made from another."""
    done = call_here("learn", *words, "--no-report", "--instances", "7")
    assert done.returncode == 0, done.stderr
    recipe: dict[str, object] = json.loads(Path(str(words[-1]), "recipe.json").read_text())
    return recipe


def test_a_recipe_gives_task_method_seed_and_settings() -> None:
    made = learned("--recipe", "one.toml", "--sizes", "2,4", "--out", "run")
    assert (made["task"], made["method"], made["seed"]) == ("knapsack", "imitation", 3)
    assert (made["sizes"], made["items"], made["most_rounds"]) == ([2, 3], 6, 2)
    rows = json.loads(Path("run/scores.json").read_text())["rows"]
    assert [(row["size"], row["instances"]) for row in rows] == [(2, 7), (4, 7)]


def test_other_options_come_before_the_recipe_and_a_run_is_a_recipe() -> None:
    made = learned("--recipe", "one.toml", "--seed", "5", "--set", "items=8", "--sizes", "2", "--out", "run")
    assert (made["seed"], made["items"]) == (5, 8)
    assert learned("--recipe", "run", "--sizes", "2", "--out", "again") == made
    assert Path("run/agent.safetensors").read_bytes() == Path("again/agent.safetensors").read_bytes()


def test_an_agent_of_the_zoo_begins_again_from_its_recipe() -> None:
    words = ("--recipe", "network-knapsack-rl", "--seed", "3", "--set", "updates=1", "--sizes", "2")
    made = learned(*words, "--out", "run")
    assert (made["method"], made["seed"], made["updates"], made["unroll"]) == ("rl", 3, 1, 50)


def test_a_recipe_for_a_users_own_task_is_used_with_its_file() -> None:
    assert learned(EXAMPLE, "--recipe", "own.toml", "--sizes", "3", "--out", "run")["teacher"] == "scan"
    done = call_here("sweep", "own.toml", "--task", EXAMPLE, "--json", "-")
    assert [run["run"] for run in json.loads(done.stdout)["runs"]] == ["seed=0"]
    assert "surpass_user_minimum" in sys.modules
