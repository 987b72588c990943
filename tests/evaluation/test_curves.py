"""Training curves: their data, the bands around them, and the figures."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from surpass.errors import DataFileError
from surpass.evaluation.curves import (
    EXPERIMENTS,
    Curve,
    best_with_band,
    gather_curves,
    mean_with_band,
    read_curves,
    shipped_curves,
    write_curves,
)
from surpass.learning.recipes import find_recipe
from surpass.learning.sweeps import Sweep
from surpass.tasks.registry import find_task
from tests.cli.here import call_here

COLUMNS = {
    "unroll=20 seed=0": {100: 64.0, 200: 40.0},
    "unroll=20 seed=1": {100: 60.0, 200: 30.0},
    "unroll=40 seed=0": {200: 50.0, 400: 20.0},
}


def curve(*rows: tuple[float, ...]) -> Curve:
    return Curve("x", np.arange(1.0, len(rows) + 1), np.array(rows))


# Data


def test_curves_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_curves(tmp_path / "unroll.csv", COLUMNS)
    first, second = read_curves(tmp_path / "unroll.csv").curves
    assert (first.setting, first.steps.tolist()) == ("unroll=20", [100, 200])
    assert first.values.tolist() == [[64, 60], [40, 30]]
    assert (second.setting, second.steps.tolist()) == ("unroll=40", [200, 400])
    assert second.values.tolist() == [[50], [20]]


@pytest.mark.parametrize(
    "text", ["", "steps\n", "steps,a seed=0\n", "steps,a seed=0\n1\n", "updates,a\n1,2\n", "steps,a\n1,x\n"]
)
def test_what_is_no_file_of_curves_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(DataFileError):
        read_curves(tmp_path / "bad.csv")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_data_that_ship_are_the_runs_of_the_recipe(name: str) -> None:
    recipe = find_recipe(f"curves-{name}")
    curves = shipped_curves(name).curves
    assert {c.setting for c in curves} == {variant.label for variant in recipe.variants}
    limit = float(recipe.settings["limit"])
    rounds = recipe.settings["updates"] // recipe.settings["updates_per_round"]
    for c in curves:
        assert c.values.shape == (rounds, len(recipe.seeds))
        assert ((c.values > 0) & (c.values <= limit)).all()
        assert (np.diff(c.steps) > 0).all()


def test_the_curves_of_a_sweep_are_gathered_and_those_of_a_failed_run_left_out(tmp_path: Path) -> None:
    recipe = find_recipe("curves-unroll")
    sweep = Sweep(recipe, find_task(recipe.task), tmp_path)
    for variant in recipe.variants[1:]:
        sweep.run_folder(variant).mkdir(parents=True)
        (sweep.run_folder(variant) / "curves.csv").write_text(f"round,steps,mean_steps\n1,10,{variant.seed}.5\n")
    columns = gather_curves(sweep)
    assert "unroll=20 seed=0" not in columns
    assert columns["unroll=20 seed=1"] == {10: 1.5}
    assert len(columns) == len(recipe.variants) - 1


# Bands


def test_the_mean_has_students_interval() -> None:
    line, lower, upper = mean_with_band(curve((1, 2, 3, 4, 5)))
    half = 2.776445 * math.sqrt(2.5 / 5)  # t for 4 degrees of freedom
    assert line.tolist() == [3.0]
    assert lower[0] == pytest.approx(3 - half, rel=5e-3)
    assert upper[0] == pytest.approx(3 + half, rel=5e-3)


def test_the_band_of_the_best_is_that_of_the_best_of_seeds_drawn_again() -> None:
    values = (5.0, 1.0, 4.0, 2.0, 3.0)
    line, lower, upper = best_with_band(curve(values))
    drawn = sorted(min(sample) for sample in product(values, repeat=5))
    assert (line[0], lower[0]) == (1.0, 1.0)
    assert upper[0] == drawn[int(0.975 * len(drawn))] == 3.0


def test_bands_do_without_runs_that_have_no_value() -> None:
    gaps = curve((math.nan, 2.0, 4.0), (7.0, math.nan, math.nan))
    line, lower, upper = mean_with_band(gaps)
    assert line.tolist() == [3.0, 7.0]
    assert lower[1] == upper[1] == 7.0
    assert best_with_band(gaps)[0].tolist() == [2.0, 7.0]
    assert best_with_band(gaps)[2].tolist() == [4.0, 7.0]


# Figures


def test_the_command_draws_every_experiment_and_says_how_they_end(tmp_path: Path) -> None:
    files = ("--json", tmp_path / "c.json", "--markdown", tmp_path / "c.md")
    ran = call_here("reproduce", "curves", "--out", tmp_path / "out", *files)
    assert ran.returncode == 0
    drawn = {path.name for path in (tmp_path / "out").iterdir()}
    assert drawn == {f"{name}.{kind}" for name in EXPERIMENTS for kind in ("png", "svg")}
    for name in EXPERIMENTS:
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(tmp_path / "out" / f"{name}.svg").getroot().tag.endswith("svg")
    record = json.loads((tmp_path / "c.json").read_text())
    assert [entry["name"] for entry in record["curves"]] == list(EXPERIMENTS)
    for entry in record["curves"]:
        assert entry["teacher"]["agent"] == "insertion_sort"
        for setting in entry["settings"]:
            assert setting["seeds"] == 5
            assert setting["best"] <= setting["mean"]
    assert "learning_rate=" in ran.stdout
    assert "![" in (tmp_path / "c.md").read_text()
