"""`surpass learn --recipe` makes the run that a recipe describes, with what the other options change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.learning.test_learn_command import EXAMPLE, call, check_refused, complaints

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


@pytest.fixture
def surpass(capsys, monkeypatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command in an empty folder and return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: call(capsys, monkeypatch, *words)


def recipe_of(folder: Path) -> dict[str, object]:
    recipe: dict[str, object] = json.loads((folder / "recipe.json").read_text())
    return recipe


def test_a_recipe_gives_task_method_seed_and_settings(surpass, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    Path("one.toml").write_text(ONE_RUN)
    code, _, errors = surpass("learn", "--recipe", "one.toml", "--sizes", "2,4", "--instances", "7", "--out", "run")
    assert code == 0
    assert complaints(errors) == []
    made = recipe_of(tmp_path / "run")
    assert (made["task"], made["method"], made["seed"]) == ("knapsack", "imitation", 3)
    assert (made["sizes"], made["items"], made["most_rounds"]) == ([2, 3], 6, 2)
    rows = json.loads(Path("run/scores.json").read_text())["rows"]
    assert [(row["size"], row["instances"]) for row in rows] == [(2, 7), (4, 7)]


def test_other_options_come_before_the_recipe_and_a_run_is_a_recipe(surpass, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    Path("one.toml").write_text(ONE_RUN)
    short = ("--sizes", "2", "--instances", "2")
    assert surpass("learn", "--recipe", "one.toml", "--seed", "5", "--set", "items=8", "--out", "run", *short)[0] == 0
    made = recipe_of(tmp_path / "run")
    assert (made["seed"], made["items"]) == (5, 8)
    assert surpass("learn", "--recipe", "run", "--out", "again", *short)[0] == 0
    assert recipe_of(tmp_path / "again") == made
    networks = [(tmp_path / name / "agent.safetensors").read_bytes() for name in ("run", "again")]
    assert networks[0] == networks[1]


def test_an_agent_of_the_zoo_begins_again_from_its_recipe(surpass, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    words = ("--recipe", "network-knapsack-rl", "--seed", "3", "--set", "updates=1", "--sizes", "2", "--out", "run")
    assert surpass("learn", *words)[0] == 0
    made = recipe_of(tmp_path / "run")
    assert (made["method"], made["seed"], made["updates"], made["unroll"]) == ("rl", 3, 1, 50)


def test_a_recipe_for_a_users_own_task_is_used_with_its_file(surpass, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    Path("own.toml").write_text(
        'task = "minimum"\nmethod = "imitation"\n[settings]\nsizes = [1, 2, 3]\nitems = 6\nmost_rounds = 1\n'
    )
    assert surpass("learn", EXAMPLE, "--recipe", "own.toml", "--sizes", "3", "--out", "run")[0] == 0
    assert recipe_of(tmp_path / "run")["teacher"] == "scan"


@pytest.mark.parametrize("command", [("learn", "--recipe"), ("sweep",)])
def test_a_recipe_does_not_run_a_file_that_it_names(command: tuple[str, ...], surpass) -> None:  # type: ignore[no-untyped-def]
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    Path("evil.toml").write_text('task = "evil.py"\nmethod = "imitation"\n')
    check_refused(surpass(*command, "evil.toml"), "is a file; it must be the name")
    assert not Path("ran").exists()


def test_a_sweep_of_a_users_own_task_takes_its_file(surpass) -> None:  # type: ignore[no-untyped-def]
    Path("own.toml").write_text(
        'task = "minimum"\nmethod = "imitation"\n[settings]\nsizes = [1, 2, 3]\nitems = 6\nmost_rounds = 1\n'
    )
    code, shown, _ = surpass("sweep", "own.toml", "--task", EXAMPLE, "--json", "-")
    assert code == 0
    assert [run["run"] for run in json.loads(shown)["runs"]] == ["seed=0"]
    assert "surpass_user_minimum" in sys.modules


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no task is given"),
        (("--recipe", "nope"), "unknown recipe 'nope'"),
        (("--recipe", "zoo:sort-bubble/improvement-insertion_sort"), "earlier version"),
        (("--recipe", "quick-search"), "has a grid of 4 runs; surpass sweep quick-search does them"),
        (("--recipe", "two.toml"), "has 2 seeds; choose one of them, or use surpass sweep"),
        (("search", "--recipe", "one.toml"), "recipe one.toml is for knapsack, not for search"),
        (("--recipe", "one.toml", "--set", "bunch=1"), "unknown setting 'bunch'"),
        (("--recipe", "one.toml", "--seed", "-1"), "seed is -1; it must be from 0 to"),
        (("knapsack", "--sizes", "0"), "size is 0; it must be from 1 to"),
        (("knapsack", "--instances", "0"), "the number of instances is 0"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_bad_input_gets_one_sentence_and_exit_code_2(words: tuple[str, ...], message: str, surpass) -> None:  # type: ignore[no-untyped-def]
    Path("one.toml").write_text(ONE_RUN)
    Path("two.toml").write_text(ONE_RUN.replace("[3]", "[3, 4]"))
    check_refused(surpass("learn", *words), message)
    assert {path.name for path in Path().iterdir()} == {"one.toml", "two.toml"}
