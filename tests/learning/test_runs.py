"""A run that is killed and taken up again ends with the files of one that was not, bit for bit."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import surpass.bundles
import surpass.learning.runs
from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.learning.methods import AnyLearner
from surpass.learning.runs import RunFolder, train
from tests.learning.quick import (
    checkpoint_files,
    full_view_learner,
    knapsack_learner,
    learner_again,
    run_in,
    search_learner,
)
from tests.long import LONG

ROOT = Path(__file__).parents[2]
KILLS, ROUNDS = (10, 60) if LONG else (3, 20)


def check_same_end(folder: Path, other: Path) -> None:
    """Raise AssertionError unless the newest checkpoints of two runs are equal, byte for byte."""
    ours, theirs = checkpoint_files(folder), checkpoint_files(other)
    assert ours.keys() == theirs.keys()
    for name, data in ours.items():
        assert data == theirs[name], f"{name} differs"


# Killed at any moment


def run_and_kill(folder: Path, rounds: int, delay: float) -> int | None:
    """Go on with a run, kill it some rounds and a while later, and return its exit code; None if it was done."""
    words = [sys.executable, "-m", "tests.learning.quick", folder, str(ROUNDS), "--resume"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(rounds):
            process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        code = process.wait()
    return code if code else None


def test_a_run_killed_at_random_moments_ends_as_one_that_was_not(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    killed, unkilled = tmp_path / "killed", tmp_path / "unkilled"
    codes = [run_and_kill(killed, int(random.integers(1, 5)), random.uniform(0, 0.1)) for _ in range(KILLS)]
    assert codes == [-signal.SIGKILL] * KILLS, "the run came to its end before the last kill: let it take more rounds"
    reached = json.loads((max((killed / "checkpoints").glob("*.json"))).read_text())["record"]["state"]["rounds"]
    assert 0 < reached < ROUNDS
    run_in(killed, search_learner(ROUNDS), resume=True)
    run_in(unkilled, search_learner(ROUNDS), checkpoint_every=1e9)
    check_same_end(killed, unkilled)
    assert (killed / "curves.csv").read_bytes() == (unkilled / "curves.csv").read_bytes()
    print(f"{KILLS} kills, the last after round {reached} of {ROUNDS}")


def test_a_run_with_another_seed_ends_with_other_files(tmp_path: Path) -> None:
    run_in(tmp_path / "a", knapsack_learner(2))
    run_in(tmp_path / "b", knapsack_learner(2, seed=1))
    with pytest.raises(AssertionError):
        check_same_end(tmp_path / "a", tmp_path / "b")


class Killed(BaseException):
    """Stands for the end of the process."""


def files_written_in(rounds: int) -> int:
    """Return how many files a run writes or removes, at most."""
    # The recipe; for each round two files of a checkpoint, curves and time, and from the third on two are removed.
    return 1 + 6 * (rounds + 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_dies_at_any_file_it_touches_ends_as_one_that_did_not(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = 3
    run_in(tmp_path / "whole", knapsack_learner(rounds))
    write, unlink = surpass.bundles.write_atomically, Path.unlink
    left = 0

    def dying(action):  # type: ignore[no-untyped-def]
        def act(path, *arguments, **options):  # type: ignore[no-untyped-def]
            nonlocal left
            left -= 1
            if left == 0 and when == "before":
                raise Killed
            action(path, *arguments, **options)
            if left == 0:
                raise Killed

        return act

    deaths = 0
    for moment in range(1, files_written_in(rounds) + 1):
        folder, left = tmp_path / f"at-{moment}", moment
        with monkeypatch.context() as patch:
            for module in (surpass.bundles, surpass.learning.runs):
                patch.setattr(module, "write_atomically", dying(write))
            patch.setattr(Path, "unlink", dying(unlink))
            try:
                run_in(folder, knapsack_learner(rounds))
            except Killed:
                deaths += 1
        resumed = run_in(folder, knapsack_learner(rounds), resume=True)
        assert resumed.warnings == []
        check_same_end(folder, tmp_path / "whole")
    assert deaths >= 4 * rounds, "the run must die at most of its files"


# Going on


@pytest.mark.parametrize(
    ("learner", "length", "rounds_before"),
    [
        (search_learner, 3, 1),
        (knapsack_learner, 5, 0),
        (knapsack_learner, 5, 3),
        (full_view_learner, 6, 0),
        (full_view_learner, 6, 1),
        (full_view_learner, 6, 2),
    ],
)
def test_a_state_saved_in_the_middle_leads_to_the_same_end(learner, length: int, rounds_before: int) -> None:  # type: ignore[no-untyped-def]
    whole: AnyLearner = learner(length)
    while not whole.done:
        whole.advance()
    interrupted: AnyLearner = learner(length)
    for _ in range(rounds_before):
        interrupted.advance()
    tensors, record = interrupted.save_state()
    resumed: AnyLearner = learner(length)
    resumed.load_state({name: tensor.copy() for name, tensor in tensors.items()}, json.loads(json.dumps(record)))
    while not resumed.done:
        resumed.advance()
    expected, got = whole.save_state(), resumed.save_state()
    assert got[1] == expected[1]
    assert got[0].keys() == expected[0].keys()
    for name, tensor in expected[0].items():
        assert got[0][name].tobytes() == tensor.tobytes(), name


def test_a_full_view_run_that_stops_and_goes_on_ends_with_the_same_files(tmp_path: Path) -> None:
    run_in(tmp_path / "whole", full_view_learner(8))
    stopped = full_view_learner(8)
    folder = RunFolder(tmp_path / "stopped")
    folder.begin(stopped.recipe, resume=False)
    for _ in range(2):
        folder.curves.append(stopped.advance())
    folder.save(stopped)
    run_in(tmp_path / "stopped", full_view_learner(8), resume=True)
    check_same_end(tmp_path / "stopped", tmp_path / "whole")


def test_a_learner_changes_nothing_when_its_state_is_saved_and_loaded() -> None:
    learner = knapsack_learner(5)
    learner.advance()
    before, record = learner.save_state()
    learner.load_state(before, record)
    after, again = learner.save_state()
    assert again == record
    assert all(np.array_equal(after[name], before[name]) for name in before)


def test_a_finished_run_that_is_resumed_stays_as_it_is(tmp_path: Path) -> None:
    run_in(tmp_path / "run", knapsack_learner(3))
    before = checkpoint_files(tmp_path / "run")
    learner = knapsack_learner(3)
    run_in(tmp_path / "run", learner, resume=True)
    assert learner.rounds == 3
    assert checkpoint_files(tmp_path / "run") == before


def test_a_run_goes_on_with_the_recipe_that_its_file_holds(tmp_path: Path) -> None:
    run_in(tmp_path / "run", knapsack_learner(2))
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    run_in(tmp_path / "again", learner_again(recipe))
    check_same_end(tmp_path / "run", tmp_path / "again")


def test_a_run_that_is_out_of_time_stops_and_goes_on_later(tmp_path: Path) -> None:
    run_in(tmp_path / "whole", knapsack_learner(3))
    learner = knapsack_learner(3)
    folder = RunFolder(tmp_path / "short")
    folder.begin(learner.recipe, resume=False)
    train(learner, folder, minutes=1e-9)
    assert learner.rounds == 1  # a round at least, whatever the time
    assert not learner.done
    run_in(tmp_path / "short", knapsack_learner(3), resume=True)
    check_same_end(tmp_path / "short", tmp_path / "whole")


# What lies in the folder


def test_a_run_leaves_its_recipe_its_curves_its_time_and_two_checkpoints(tmp_path: Path) -> None:
    learner = knapsack_learner(4)
    folder = run_in(tmp_path / "run", learner)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "checkpoints",
        "curves.csv",
        "recipe.json",
        "time.json",
    ]
    names = sorted(path.name for path in (folder.path / "checkpoints").iterdir())
    assert names == ["00000003.json", "00000003.safetensors", "00000004.json", "00000004.safetensors"]
    assert json.loads((folder.path / "recipe.json").read_text()) == json.loads(json.dumps(learner.recipe))
    with (folder.path / "curves.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [int(line["round"]) for line in lines] == [1, 2, 3, 4]
    assert json.loads((folder.path / "time.json").read_text())["seconds"] >= 0


def test_a_folder_without_a_checkpoint_starts_from_the_beginning(tmp_path: Path) -> None:
    learner = knapsack_learner(2)
    folder = RunFolder(tmp_path / "run")
    folder.begin(learner.recipe, resume=False)
    folder.restore(learner)
    assert (learner.rounds, folder.curves, folder.warnings) == (0, [], [])


def test_a_folder_with_a_run_is_not_begun_again(tmp_path: Path) -> None:
    learner = knapsack_learner(2)
    RunFolder(tmp_path).begin(learner.recipe, resume=False)
    with pytest.raises(SettingError, match="--resume"):
        RunFolder(tmp_path).begin(learner.recipe, resume=False)
    RunFolder(tmp_path).begin(learner.recipe, resume=True)


def test_a_run_is_replaced_if_that_is_asked_for(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", knapsack_learner(2)).path
    (folder / ".curves.csv.4711").write_text("left by a kill")
    RunFolder(folder).begin(knapsack_learner(3).recipe, resume=False, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoints", "recipe.json"]
    assert not any((folder / "checkpoints").iterdir())
    assert json.loads((folder / "recipe.json").read_text())["most_rounds"] == 3
    RunFolder(tmp_path / "new").begin(knapsack_learner(3).recipe, resume=False, overwrite=True)
    with pytest.raises(SettingError, match="either resumed or overwritten"):
        RunFolder(folder).begin(knapsack_learner(3).recipe, resume=True, overwrite=True)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("thesis.tex", "years of work", r"also holds thesis\.tex"),
        ("recipe.json", '{"flour": 500}', "not the recipe of a run"),
        ("recipe.json", "", r"recipe\.json"),
    ],
)
def test_what_is_not_recognisably_a_run_is_not_replaced(name: str, text: str, message: str, tmp_path: Path) -> None:
    recipe = knapsack_learner(2).recipe
    RunFolder(tmp_path).begin(recipe, resume=False)
    (tmp_path / name).write_text(text)
    (tmp_path / "curves.csv").write_text("round\n")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SurpassError, match=message):
        RunFolder(tmp_path).begin(recipe, resume=False, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_without_a_recipe_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="recipe"):
        RunFolder(tmp_path).begin(knapsack_learner(2).recipe, resume=False, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_is_not_replaced_by_its_own_pupil(tmp_path: Path) -> None:
    recipe = knapsack_learner(2).recipe
    RunFolder(tmp_path).begin(recipe, resume=False)
    for teacher in (tmp_path, tmp_path / "agent.json"):
        with pytest.raises(SettingError, match="the teacher"):
            RunFolder(tmp_path).begin({**recipe, "teacher": str(teacher)}, resume=False, overwrite=True)


def test_a_run_of_another_recipe_is_not_gone_on_with(tmp_path: Path) -> None:
    RunFolder(tmp_path).begin(knapsack_learner(2).recipe, resume=False)
    for other, difference in ((knapsack_learner(3), "most_rounds"), (knapsack_learner(2, seed=1), "seed")):
        with pytest.raises(SettingError, match=difference):
            RunFolder(tmp_path).begin(other.recipe, resume=True)


@pytest.mark.parametrize("text", ["", "{", "nonsense"])
def test_a_recipe_that_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(text)
    with pytest.raises(SavedFileError, match=r"recipe\.json"):
        RunFolder(tmp_path).begin(knapsack_learner(2).recipe, resume=True)


@pytest.mark.parametrize("text", ["[1]", "3", "null"])
def test_a_recipe_that_is_no_mapping_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(text)
    with pytest.raises(SavedFileError, match=r"recipe\.json"):
        RunFolder(tmp_path).begin(knapsack_learner(2).recipe, resume=True)


def test_curves_of_a_resumed_run_are_whole(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", knapsack_learner(2))
    lines = [dict(line) for line in folder.curves]
    learner = knapsack_learner(2)
    again = RunFolder(tmp_path / "run")
    again.restore(learner)
    assert again.curves == lines


def test_what_a_kill_left_half_written_is_gone_once_the_run_has_ended(tmp_path: Path) -> None:
    run_in(tmp_path / "run", knapsack_learner(2))
    litter = [tmp_path / "run" / "checkpoints" / name for name in ("00000000.safetensors", ".00000001.json.123")]
    for path in litter:
        path.write_bytes(b"cut o")
    run_in(tmp_path / "run", knapsack_learner(2), resume=True)
    assert [path.name for path in litter if path.exists()] == []
