"""Recipes say what to run, and what they say wrongly is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surpass.agents.zoo import zoo_entries
from surpass.errors import RecipeError, SurpassError, UnknownNameError
from surpass.learning.methods import AnyLearner, new_learner
from surpass.learning.recipes import Recipe, find_recipe, known_recipes, parse_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from tests.learning.quick import knapsack_learner

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
    text = 'task = "search"\nmethod = "imitation"\n[grid]\nsizes = [[5, 10], [20]]\n'
    recipe = find_recipe(write(tmp_path, text))
    assert [variant.settings for variant in recipe.variants] == [{"sizes": "5,10"}, {"sizes": "20"}]


def test_an_empty_list_is_a_value_too() -> None:
    recipe = parse_recipe("x", {"task": "search", "method": "improvement", "settings": {"sizes": []}})
    assert recipe.variants[0].settings == {"sizes": ""}


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
def test_every_recipe_that_ships_can_be_learned(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.about
    Sweep(recipe, find_task(recipe.task), Path("nowhere")).check()
    assert not Path("nowhere").exists()


def test_the_papers_sweeps_have_the_papers_grids() -> None:
    sizes = {name: len(recipe.variants) for name, recipe in known_recipes().items() if name.startswith("paper-")}
    assert sizes["paper-sort-bubble"] == sizes["paper-sort-quick-rl"] == 2 * 2 * 2 * 3 * 5
    assert sizes["paper-search"] == sizes["paper-knapsack"] == 2 * 2 * 2 * 5
    for recipe in known_recipes().values():
        if recipe.name.startswith("paper-"):
            assert recipe.grid["learning_rate"] == (1e-4, 1e-5)
            assert recipe.grid["entropy_weight"] == (0.0, 1e-3)


def learner_of(recipe: Recipe) -> AnyLearner:
    """Return the learner of a recipe with one variant."""
    (variant,) = recipe.variants
    return new_learner(
        find_task(recipe.task),
        recipe.method,
        teacher=recipe.teacher or None,
        seed=variant.seed,
        settings=variant.settings,
    )


@pytest.mark.parametrize("resident", zoo_entries(), ids=lambda resident: resident.name)
def test_the_recipe_of_an_agent_of_the_zoo_makes_a_learner_or_says_that_it_is_old(resident) -> None:  # type: ignore[no-untyped-def]
    try:
        recipe = find_recipe(f"zoo:{resident.name}")
    except RecipeError as error:
        assert "earlier version" in str(error)  # noqa: PT017
        return
    made, recorded = json.loads(json.dumps(learner_of(recipe).recipe)), resident.record["recipe"]
    assert {key: made[key] for key in recorded} == recorded


def test_a_recipe_with_a_setting_that_is_gone_is_refused_by_the_setting() -> None:
    recipe = Recipe(name="old", task="search", method="improvement", settings={"generations_per_round": 10})
    with pytest.raises(
        UnknownNameError, match="unknown setting 'generations_per_round', perhaps generations; known: sizes"
    ):
        learner_of(recipe)


def test_the_folder_of_a_run_and_its_file_are_recipes(tmp_path: Path) -> None:
    recorded = json.loads(json.dumps(knapsack_learner(3, seed=4).recipe))
    (tmp_path / "recipe.json").write_text(json.dumps(recorded))
    for text in (str(tmp_path), str(tmp_path / "recipe.json")):
        recipe = find_recipe(text)
        assert (recipe.task, recipe.method, recipe.seeds) == ("knapsack", "imitation", (4,))
        assert recipe.variants[0].settings["sizes"] == "2,3"


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("about =", "abaut =", "unknown key in recipe mine: 'abaut', perhaps about; known: about, task"),
        ('task = "search"', "", "recipe mine does not say its task"),
        ('method = "rl+imitation"', "", "recipe mine does not say its method"),
        ('task = "search"', "task = 3", "task is 3; it must be a text"),
        ('task = "search"', 'task = "evil.py"', "task 'evil.py' is a file; it must be the name"),
        ("seeds = [3, 5]", "seeds = []", "seeds is empty"),
        ("seeds = [3, 5]", "seeds = 3", "seeds is 3; it must be a list"),
        ("seeds = [3, 5]", "seeds = [3, -1]", "seeds[1] is -1; it must be a whole number from 0"),
        ("seeds = [3, 5]", "seeds = [0.5]", "seeds[0] is 0.5; it must be a whole number"),
        ("seeds = [3, 5]", "seeds = [true]", "seeds[0] is True; it must be a whole number"),
        ("seeds = [3, 5]", "seeds = [3, 3]", "seeds lists 3 twice"),
        ("unroll = [5, 10, 20]", "unroll = []", "grid unroll is empty"),
        ("unroll = [5, 10, 20]", "unroll = 5", "unroll is 5; it must be a list"),
        ("unroll = [5, 10, 20]", "unroll = [5, 5]", "grid unroll lists 5 twice"),
        ("unroll = [5, 10, 20]", "updates = [5]", "updates stands in settings and in grid"),
        ("unroll = [5, 10, 20]", "unroll = [{a = 1}]", "unroll[0] is {'a': 1}; it must be a number, a text or a list"),
        ("updates = 7", "updates = 1979-05-27", "it must be a number, a text or a list"),
        ("[grid]", "[grid", "is not TOML: "),
    ],
)
def test_what_a_recipe_says_wrongly_is_refused_in_one_sentence(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in GOOD
    with pytest.raises((RecipeError, UnknownNameError)) as refusal:
        find_recipe(write(tmp_path, GOOD.replace(old, new)))
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_grid_that_varies_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="grid is empty; it must vary at least one setting"):
        find_recipe(write(tmp_path, 'task = "search"\nmethod = "rl"\n[grid]\n'))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('task = "search"', 'task = "fly"', "unknown task 'fly'; known: sort-full"),
        ('method = "rl+imitation"', 'method = "magic"', "unknown method 'magic'; known: imitation"),
        ('teacher = "binary_search"', 'teacher = "nobody"', "unknown teacher of search 'nobody'"),
        ('teacher = "binary_search"', 'teacher = "quick_sort"', "'quick_sort' does not teach search"),
        ("updates = 7", "apdates = 7", "unknown setting 'apdates', perhaps updates; known: "),
        ("updates = 7", "updates = 0", "updates is 0"),
        ("updates = 7", 'updates = "many"', "updates is 'many'"),
        ("unroll = [5, 10, 20]", "unroll = [5, 2.5]", "unroll is '2.5'"),
        ("unroll = [5, 10, 20]", "unrolled = [5]", "unknown setting 'unrolled'"),
        ("1e-4", "2", "learning_rate is 2.0"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_runs(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in GOOD
    recipe = find_recipe(write(tmp_path, GOOD.replace(old, new)))
    with pytest.raises(SurpassError) as refusal:
        Sweep(recipe, find_task(recipe.task), tmp_path / "out").check()
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nope", "", "unknown recipe 'nope'; known: "),
        ("zoo:nope", "", "unknown agent of the zoo 'nope'"),
        ("missing.toml", "", "missing.toml cannot be read: No such file"),
        ("a.json", "{", "a.json is not JSON, or it is cut off"),
        ("a.json", "[]", "a.json is []; it must be a table of names and values"),
        ("a.json", '{"task": "search"}', "a.json does not say its method"),
        ("a.json", '{"task": "search", "method": "rl", "seed": -1}', "seed is -1; it must be a whole number"),
        ("a.toml", "\x00", "a.toml is not TOML"),
    ],
)
def test_what_is_no_recipe_is_refused_in_one_sentence(
    name: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text:
        Path(name).write_text(text)
    with pytest.raises(SurpassError) as refusal:
        find_recipe(name)
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_recipe_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeError, match="not a text in UTF-8"):
        find_recipe(str(path))
