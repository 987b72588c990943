"""Recipes say what to run, and `surpass learn` makes the run; what they say wrongly is refused in one sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from surpass.errors import RecipeError, SettingError, SurpassError, UnknownNameError
from surpass.learning.recipes import Recipe, find_recipe, known_recipes, parse_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from tests.cli.here import EXAMPLE, call_here

GOOD = """
about = "An example."
task = "search"
method = "rl+imitation"
teacher = "binary_search"
seeds = [3, 5]

[settings]
policy = "network"
updates = 7
limit = "20n"

[grid]
learning_rate = [1e-3, 1e-4]
unroll = [5, 10, 20]
"""


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def check(recipe: Recipe, folder: Path) -> None:
    """Check a recipe as a sweep in a folder would, which is not to be made."""
    Sweep(recipe, find_task(recipe.task), folder / "out").check()
    assert not (folder / "out").exists()


# What they say


def test_a_recipe_has_a_run_for_every_combination_and_seed(tmp_path: Path) -> None:
    recipe = find_recipe(write(tmp_path, GOOD))
    runs = [(v.point["learning_rate"], v.point["unroll"], v.seed) for v in recipe.variants]
    assert runs == [(rate, unroll, seed) for rate in (1e-3, 1e-4) for unroll in (5, 10, 20) for seed in (3, 5)]
    first = recipe.variants[0]
    assert first.settings == {
        "policy": "network",
        "updates": "7",
        "limit": "20n",
        "learning_rate": "0.001",
        "unroll": "5",
    }
    assert first.name == "learning_rate=0.001-unroll=5-seed=3"
    assert len({variant.name for variant in recipe.variants}) == len(runs)


def test_a_recipe_without_grid_and_seeds_is_one_run_with_seed_0() -> None:
    (only,) = parse_recipe("x", {"task": "search", "method": "rl"}).variants
    assert (only.seed, only.settings, only.name, only.label) == (0, {}, "seed=0", "")


def test_lists_of_numbers_are_values(tmp_path: Path) -> None:
    text = 'task = "search"\nmethod = "imitation"\n[grid]\nsizes = [[5, 10], [20], []]\n'
    recipe = find_recipe(write(tmp_path, text))
    assert [variant.settings["sizes"] for variant in recipe.variants] == ["5,10", "20", ""]


def test_folder_names_hold_nothing_that_a_path_cannot_and_stay_apart() -> None:
    values = ("a/b", "a:b", "a" * 300, "a" * 301, "..", "plain")
    variants = Recipe(name="x", task="search", method="rl", grid={"data": values}).variants
    names = [variant.name for variant in variants]
    assert len(set(names)) == len(values)
    for name in names:
        assert "/" not in name
        assert ":" not in name
        assert len(name) <= 200


@pytest.mark.parametrize("name", sorted(known_recipes()))
def test_every_recipe_that_ships_can_be_learned(name: str, tmp_path: Path) -> None:
    assert find_recipe(name).about
    check(find_recipe(name), tmp_path)


def test_the_papers_sweeps_have_the_papers_grids() -> None:
    sizes = {name: len(recipe.variants) for name, recipe in known_recipes().items() if name.startswith("paper-")}
    assert sizes["paper-sort-bubble"] == sizes["paper-sort-quick-rl"] == 2 * 2 * 2 * 3 * 5
    assert sizes["paper-search"] == sizes["paper-knapsack"] == 2 * 2 * 2 * 5
    for recipe in known_recipes().values():
        if recipe.name.startswith("paper-"):
            assert recipe.grid["learning_rate"] == (1e-4, 1e-5)
            assert recipe.grid["entropy_weight"] == (0.0, 1e-3)


# What is refused

WRONG = [
    ("about =", "abaut =", "abaut"),
    ('task = "search"', "", "task"),
    ('task = "search"', "task = 3", "task"),
    ('task = "search"', 'task = "fly"', "fly"),
    ('task = "search"', 'task = "evil.py"', "evil.py"),
    ('method = "rl+imitation"', "", "method"),
    ('method = "rl+imitation"', 'method = "magic"', "magic"),
    ('teacher = "binary_search"', 'teacher = "nobody"', "nobody"),
    ('teacher = "binary_search"', 'teacher = "quick_sort"', "quick_sort"),
    ("seeds = [3, 5]", "seeds = []", "seeds"),
    ("seeds = [3, 5]", "seeds = 3", "seeds"),
    ("seeds = [3, 5]", "seeds = [3, -1]", "seeds[1]"),
    ("seeds = [3, 5]", "seeds = [0.5]", "seeds[0]"),
    ("seeds = [3, 5]", "seeds = [true]", "seeds[0]"),
    ("seeds = [3, 5]", "seeds = [3, 3]", "seeds"),
    ("unroll = [5, 10, 20]", "unroll = []", "unroll"),
    ("unroll = [5, 10, 20]", "unroll = 5", "unroll"),
    ("unroll = [5, 10, 20]", "unroll = [5, 5]", "unroll"),
    ("unroll = [5, 10, 20]", "unroll = [5, 2.5]", "unroll"),
    ("unroll = [5, 10, 20]", "unroll = [{a = 1}]", "unroll[0]"),
    ("unroll = [5, 10, 20]", "unrolled = [5]", "unrolled"),
    ("unroll = [5, 10, 20]", "updates = [5]", "updates"),
    ("learning_rate = [1e-3, 1e-4]\nunroll = [5, 10, 20]", "", "grid"),
    ("1e-4", "2", "learning_rate"),
    ("updates = 7", "apdates = 7", "apdates"),
    ("updates = 7", "updates = 0", "updates"),
    ("updates = 7", 'updates = "many"', "updates"),
    ("updates = 7", "updates = 1979-05-27", "updates"),
    ("[grid]", "[grid", "TOML"),
    (GOOD, "\x00", "TOML"),
]


@pytest.mark.parametrize(("old", "new", "named"), WRONG)
def test_what_a_recipe_says_wrongly_is_refused_before_anything_runs(
    old: str, new: str, named: str, tmp_path: Path
) -> None:
    assert old in GOOD
    with pytest.raises((RecipeError, SettingError, UnknownNameError)) as refusal:
        check(find_recipe(write(tmp_path, GOOD.replace(old, new))), tmp_path)
    assert named in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("zoo:nope", b""),
        ("missing.toml", b""),
        ("a.toml", b"\xff\xfe\x00"),
        ("a.json", b"{"),
        ("a.json", b"[]"),
        ("a.json", b'{"task": "search"}'),
        ("a.json", b'{"task": "search", "method": "rl", "seed": -1}'),
    ],
)
def test_what_is_no_recipe_is_refused_by_its_name(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content:
        Path(name).write_bytes(content)
    with pytest.raises(SurpassError) as refusal:
        find_recipe(name)
    assert name.removeprefix("zoo:") in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


# What is made of them

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


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with two recipes."""
    monkeypatch.chdir(tmp_path)
    Path("one.toml").write_text(ONE_RUN)
    Path("own.toml").write_text(OWN_TASK)


def learned(*words: object) -> dict[str, object]:
    """Return the recipe of a run that is made from another."""
    done = call_here("learn", *words, "--no-report", "--instances", "7")
    assert done.returncode == 0, done.stderr
    recipe: dict[str, object] = json.loads(Path(str(words[-1]), "recipe.json").read_text())
    return recipe


def test_a_recipe_gives_task_method_seed_and_settings(in_folder: None) -> None:
    made = learned("--recipe", "one.toml", "--sizes", "2,4", "--out", "run")
    assert (made["task"], made["method"], made["seed"]) == ("knapsack", "imitation", 3)
    assert (made["sizes"], made["items"], made["most_rounds"]) == ([2, 3], 6, 2)
    rows = json.loads(Path("run/scores.json").read_text())["rows"]
    assert [(row["size"], row["instances"]) for row in rows] == [(2, 7), (4, 7)]


def test_other_options_come_before_the_recipe_and_a_run_is_a_recipe(in_folder: None) -> None:
    made = learned("--recipe", "one.toml", "--seed", "5", "--set", "items=8", "--sizes", "2", "--out", "run")
    assert (made["seed"], made["items"]) == (5, 8)
    assert learned("--recipe", "run", "--sizes", "2", "--out", "again") == made
    assert Path("run/agent.safetensors").read_bytes() == Path("again/agent.safetensors").read_bytes()


def test_an_agent_of_the_zoo_begins_again_from_its_recipe(in_folder: None) -> None:
    words = ("--recipe", "network-knapsack-rl", "--seed", "3", "--set", "updates=1", "--sizes", "2")
    made = learned(*words, "--out", "run")
    assert (made["method"], made["seed"], made["updates"], made["unroll"]) == ("rl", 3, 1, 50)


def test_a_recipe_for_a_users_own_task_is_used_with_its_file(in_folder: None) -> None:
    assert learned(EXAMPLE, "--recipe", "own.toml", "--sizes", "3", "--out", "run")["teacher"] == "scan"
    done = call_here("sweep", "own.toml", "--task", EXAMPLE, "--json", "-")
    assert [run["run"] for run in json.loads(done.stdout)["runs"]] == ["seed=0"]
    assert "surpass_user_minimum" in sys.modules
