"""Recipes: everything that a run needs, in a file; with a grid, everything that a sweep needs.

A recipe is TOML:

    about = "Search, from binary search, over three learning rates."
    task = "search"
    method = "rl+imitation"
    teacher = "binary_search"     # may be left out: the task's default teacher
    seeds = [0, 1, 2]             # may be left out: 0

    [settings]                    # fixed for every run
    updates = 500

    [grid]                        # every combination is run, with every seed
    learning_rate = [1e-3, 1e-4, 1e-5]

The recipe that a run or an agent of the zoo records is one too. Reading a recipe runs no code from it.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from surpass.errors import RecipeError, UnknownNameError
from surpass.reading import (
    SEED,
    Seed,
    Setting,
    as_path,
    check_fields,
    check_range,
    is_deep,
    parse_json,
    read_bytes,
    validate,
)

KEYS = ("about", "task", "method", "teacher", "seeds", "settings", "grid")
MOST_RUNS = 100_000
"""How many runs a sweep may have."""
LONGEST_NAME = 120
"""How long the name of a run's folder may be before it is cut and told apart by a checksum."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to learn and how: one run, or one for every point of a grid and every seed."""

    name: str
    task: str
    method: str
    teacher: str = ""
    """Whom to learn from; if empty, the task's default teacher, or nobody with `rl` and `discover`."""
    seeds: tuple[Seed, ...] = (0,)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What is fixed for every run."""
    grid: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    """The values of what is varied."""
    about: str = ""

    def __post_init__(self) -> None:
        check_fields(self, f"recipe {self.name}", RecipeError)
        if self.task.endswith(".py"):
            # To run a file because a recipe names it would be to run code from the recipe.
            raise RecipeError(f"recipe {self.name}: task {self.task!r} is a file; it must be the name of a task")
        for key, values in {
            "seeds": self.seeds,
            **{f"grid {key}": values for key, values in self.grid.items()},
        }.items():
            if not values:
                raise RecipeError(f"recipe {self.name}: {key} is empty; it must list at least one value")
            text, times = Counter(map(setting_text, values)).most_common(1)[0]
            if times > 1:
                raise RecipeError(f"recipe {self.name}: {key} lists {text} twice")
        for key in {*self.grid} & {*self.settings}:
            raise RecipeError(f"recipe {self.name}: {key} stands in settings and in grid; it can be in one only")
        runs = len(self.seeds) * math.prod(map(len, self.grid.values()))
        if runs > MOST_RUNS:
            raise RecipeError(f"recipe {self.name} has {runs:,} runs; a sweep has at most {MOST_RUNS:,}")

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every point of the grid with every seed, the seeds of a point together."""
        points = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        return tuple(Variant(self, point, seed) for point in points for seed in self.seeds)

    def with_seeds(self, seeds: Sequence[int]) -> Recipe:
        """Return the recipe with other seeds."""
        return replace(self, seeds=tuple(seeds))

    def as_json(self) -> dict[str, Any]:
        """Return the recipe as plain data, in the order in which it is written."""
        return {
            "name": self.name,
            "about": self.about,
            "task": self.task,
            "method": self.method,
            "teacher": self.teacher,
            "seeds": list(self.seeds),
            "settings": dict(self.settings),
            "grid": {key: list(values) for key, values in self.grid.items()},
        }


@dataclass(frozen=True)
class Variant:
    """One run of a recipe: a point of its grid, and a seed."""

    recipe: Recipe
    point: Mapping[str, Setting]
    seed: int

    @property
    def settings(self) -> dict[str, str]:
        """Every setting of the run, as text."""
        return {key: setting_text(value) for key, value in {**self.recipe.settings, **self.point}.items()}

    @property
    def label(self) -> str:
        """What tells the point from the others, such as `learning_rate=0.001 unroll=80`."""
        return " ".join(f"{key}={setting_text(value)}" for key, value in self.point.items())

    @property
    def name(self) -> str:
        """The name of the run's folder: what is varied, and the seed."""
        text = "-".join((*self.label.split(), f"seed={self.seed}"))
        safe = re.sub(r"[^\w.,=^+-]", "_", text)
        if safe == text and len(safe) <= LONGEST_NAME:
            return safe
        return f"{safe[:LONGEST_NAME]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def setting_text(value: Setting | Sequence[float]) -> str:
    """Return a value of a setting as it is written on the command line."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# Where recipes come from


def known_recipes() -> dict[str, Recipe]:
    """Return the recipes that ship with surpass, by name."""
    folder = Path(str(files("surpass.recipes")))
    return {path.stem: _read(path) for path in sorted(folder.glob("*.toml"))}


def find_recipe(text: str) -> Recipe:
    """Return the recipe that a text names: one that ships, `zoo:NAME`, a TOML file, a run's folder or recipe.json."""
    kind, colon, name = text.partition(":")
    if colon and kind == "zoo":
        from surpass.agents.zoo import find_entry

        entry = find_entry(name)
        return _check_current(_from_record(f"zoo:{entry.name}", entry.record["recipe"]))
    path = as_path(text)
    if path.is_dir() and (path / "recipe.json").exists():
        path = path / "recipe.json"
    if path.suffix in (".toml", ".json"):
        return _read(path)
    known = known_recipes()
    if text not in known:
        raise UnknownNameError("recipe", text, [*known, "zoo:NAME (see surpass zoo)", "a .toml file", "a run's folder"])
    return known[text]


def _check_current(recipe: Recipe) -> Recipe:
    """Return the recipe of an agent of the zoo, once it is known that this version has all of its settings."""
    from surpass.learning.methods import configure
    from surpass.tasks.registry import find_task

    teacher, settings = recipe.teacher or None, recipe.variants[0].settings
    try:
        configure(find_task(recipe.task), recipe.method, teacher=teacher, settings=settings)
    except UnknownNameError as error:
        raise RecipeError(
            f"{recipe.name} was learned by an earlier version of surpass: it has the {error.kind} {error.name!r}, which"
            " this version does not know, so it cannot be repeated; what it made still loads"
        ) from None
    return recipe


def only_run(text: str, seed: int | None = None) -> Variant:
    """Return the one run that a recipe means, with its own seed or another."""
    recipe = find_recipe(text)
    if recipe.grid:
        raise RecipeError(f"recipe {text} has a grid of {len(recipe.variants)} runs; surpass sweep {text} does them")
    if seed is not None:
        check_range("seed", seed, SEED)
        recipe = recipe.with_seeds([seed])
    if len(recipe.seeds) > 1:
        raise RecipeError(f"recipe {text} has {len(recipe.seeds)} seeds; choose one of them, or use surpass sweep")
    return recipe.variants[0]


def _read(path: Path) -> Recipe:
    content = read_bytes(path, RecipeError)
    if path.suffix == ".json":
        return _from_record(str(path), parse_json(content, f"recipe {path}", RecipeError))
    try:
        plain = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise RecipeError(f"recipe {path} is not a text in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"recipe {path} is not TOML: {error}") from None
    return parse_recipe(path.stem, plain)


def parse_recipe(name: str, content: Mapping[str, Any]) -> Recipe:
    """Return the recipe that the content of a TOML file says."""
    for key in content:
        if key not in KEYS:
            raise UnknownNameError(f"key in recipe {name}:", key, KEYS)
    if is_deep(content):
        raise RecipeError(f"recipe {name} is nested too deep")
    if content.get("grid") == {}:
        raise RecipeError(f"recipe {name}: grid is empty; it must vary at least one setting, or be left out")
    recipe: Recipe = validate(Recipe, {"name": name, **content}, f"recipe {name}", RecipeError)
    return recipe


RUN = {"task": str, "method": str, "seed": Seed, "teacher?": str | None}
"""What the recipe of a run says beside its settings, as its folder and the zoo keep it."""


def _from_record(name: str, record: Any) -> Recipe:
    """Return the recipe of a run: all settings stand beside task, method and seed."""
    settings = dict(validate(RUN, record, f"recipe {name}", RecipeError))
    about = {key: settings.pop(key) for key in ("task", "method")}
    about |= {"name": name, "teacher": settings.pop("teacher", None) or "", "seeds": [settings.pop("seed")]}
    recipe: Recipe = validate(Recipe, {**about, "settings": settings}, f"recipe {name}", RecipeError)
    return recipe
