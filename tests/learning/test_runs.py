"""A run that is killed and taken up again ends with the files of one that was not, bit for bit."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import surpass.bundles
import surpass.learning.runs
import surpass.tasks.task
from surpass.errors import SettingError
from surpass.learning.methods import new_learner
from surpass.learning.recipes import find_recipe
from surpass.learning.runs import RunFolder, train, write_json
from surpass.tasks.registry import find_task
from surpass.tasks.task import Instances, Request, Task
from tests.learning.quick import LEARNERS, checkpoint_files, knapsack_learner, quick_learner, run_in
from tests.long import LONG

ROOT = Path(__file__).parents[2]
KILLS, KILLED = (20, tuple(LEARNERS)) if LONG else (1, ("imitation", "rl of a table"))
"""How often runs of which learners are killed."""
ROUNDS = 100 if LONG else 8
SHORT = {"imitation": 4, "imitation in the full view": 6, "rl in the full view": 8, "rl+imitation in the full view": 8}
"""How long the quick learners go on here, if not for 3 rounds."""


def copied(learner: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a learner's state as it would come back from a file."""
    tensors, record = learner.save_state()
    return {name: tensor.copy() for name, tensor in tensors.items()}, json.loads(json.dumps(record))


def line_of(learner: Any) -> str:
    """Let a learner go on for a round, and return its line of the curves without what threads count apart."""
    return repr({name: value for name, value in learner.advance().items() if name != "decisions"})


@pytest.mark.usefixtures("small_effort")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_state_saved_in_the_middle_leads_to_the_same_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with another number of threads; with another seed it does not begin alike."""
    whole, lines, states = quick_learner(kind, SHORT.get(kind, 3)), [], []
    while not whole.done:
        states.append(copied(whole))
        whole.load_state(*whole.save_state())  # which changes nothing
        lines.append(line_of(whole))
    tensors, record = copied(whole)
    monkeypatch.setenv("SURPASS_THREADS", "2")
    for rounds in (0, len(states) // 2):
        resumed = quick_learner(kind, SHORT.get(kind, 3))
        resumed.load_state(*states[rounds])
        assert [line_of(resumed) for _ in range(rounds, len(states))] == lines[rounds:]
        found, again = copied(resumed)
        assert resumed.done
        assert again == record
        assert {name: tensor.tobytes() for name, tensor in found.items()} == {
            name: tensor.tobytes() for name, tensor in tensors.items()
        }
    other = quick_learner(kind, SHORT.get(kind, 3), seed=1)
    assert [line_of(other) for _ in range(2)] != lines[:2]


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_folder_of_a_run_and_its_file_are_recipes_that_make_the_same_learner(kind: str, tmp_path: Path) -> None:
    learner = quick_learner(kind, 3, seed=4)
    write_json(tmp_path / "recipe.json", learner.recipe)
    for text in (str(tmp_path), str(tmp_path / "recipe.json")):
        recipe = find_recipe(text)
        (variant,) = recipe.variants
        chosen = {"teacher": recipe.teacher or None, "seed": variant.seed, "settings": variant.settings}
        again = new_learner(find_task(recipe.task), recipe.method, **chosen)
        assert again.config == learner.config
        assert again.recipe == learner.recipe


def kill_after(words: list[str], lines: int, delay: float) -> bool:
    """Start a command, kill it some lines of its output and a while later, and return whether it was still running."""
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("small_effort")
@pytest.mark.parametrize("method", KILLED)
def test_a_run_of_any_method_ends_the_same_however_often_it_is_killed(method: str, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_in(whole, quick_learner(method, ROUNDS), checkpoint_every=1e9)
    words = [sys.executable, "-m", "tests.learning.quick", str(killed), str(ROUNDS), "--resume", "--method", method]
    random, kills = np.random.default_rng(len(method)), 0
    while kills < KILLS:
        if kill_after(words, int(random.integers(1, 6)), random.uniform(0, 0.05)):
            kills += 1
        else:  # it has come to its end: begin again, so that there is something to kill
            assert checkpoint_files(killed) == checkpoint_files(whole)
            shutil.rmtree(killed)
    run_in(killed, quick_learner(method, ROUNDS), resume=True)
    assert checkpoint_files(killed) == checkpoint_files(whole)
    assert (killed / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    print(f"{method}: {kills} kills, and the same files at the end")


class Killed(BaseException):
    """Stands for the end of the process."""


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
    # The recipe; for each round two files of a checkpoint, curves and time, and from the third on two are removed.
    for moment in range(1, 2 + 6 * (rounds + 1)):
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
        assert checkpoint_files(folder) == checkpoint_files(tmp_path / "whole")
    assert deaths >= 4 * rounds, "the run must die at most of its files"


# What lies in the folder


def test_a_run_leaves_its_recipe_its_curves_its_time_and_two_checkpoints(tmp_path: Path) -> None:
    learner = knapsack_learner(4)
    folder = run_in(tmp_path / "run", learner)
    names = sorted(path.name for path in folder.path.iterdir())
    assert names == [".lock", "checkpoints", "curves.csv", "recipe.json", "time.json"]
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


def test_a_finished_run_that_is_resumed_stays_as_it_is_without_what_a_kill_left(tmp_path: Path) -> None:
    curves = [dict(line) for line in run_in(tmp_path / "run", knapsack_learner(3)).curves]
    before = checkpoint_files(tmp_path / "run")
    litter = [tmp_path / "run" / "checkpoints" / name for name in ("00000000.safetensors", ".00000001.json.123")]
    for path in litter:
        path.write_bytes(b"cut o")
    learner = knapsack_learner(3)
    assert run_in(tmp_path / "run", learner, resume=True).curves == curves
    assert learner.rounds == 3
    assert checkpoint_files(tmp_path / "run") == before
    assert not any(path.exists() for path in litter)


def test_a_run_is_replaced_if_that_is_asked_for(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", knapsack_learner(2)).path
    (folder / ".curves.csv.4711").write_text("left by a kill")
    RunFolder(folder).begin(knapsack_learner(3).recipe, resume=False, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "checkpoints", "recipe.json"]
    assert not any((folder / "checkpoints").iterdir())
    assert json.loads((folder / "recipe.json").read_text())["most_rounds"] == 3
    RunFolder(tmp_path / "new").begin(knapsack_learner(3).recipe, resume=False, overwrite=True)


def test_a_run_is_not_replaced_by_its_own_student(tmp_path: Path) -> None:
    recipe = knapsack_learner(2).recipe
    RunFolder(tmp_path).begin(recipe, resume=False)
    for teacher in (tmp_path, tmp_path / "agent.json"):
        with pytest.raises(SettingError, match="the teacher"):
            RunFolder(tmp_path).begin({**recipe, "teacher": str(teacher)}, resume=False, overwrite=True)


@pytest.mark.parametrize(("share", "is_said"), [(0.9, True), (0.1, False)])
def test_a_draw_that_takes_most_of_the_time_is_named(
    share: float, is_said: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

    class Drawing:
        """A learner whose rounds take a second each, a part of which it draws in."""

        task: Task
        rounds = 0
        recipe: ClassVar[dict[str, Any]] = {}

        @property
        def done(self) -> bool:
            return self.rounds == 30

        def advance(self) -> dict[str, float]:
            self.rounds += 1
            self.task.draw(Request(size=3, count=2, data="slow"))
            clock.now += 1 - share
            return {"round": self.rounds}

    def slow(request: Request) -> Instances:
        clock.now += share
        return task.inputs.draw["uniform"](request)

    clock, learner, task = Clock(), Drawing(), find_task("sort-bubble")
    learner.task = replace(task, inputs=replace(task.inputs, draw={"slow": slow}))
    for module in (surpass.learning.runs, surpass.tasks.task):
        monkeypatch.setattr(module, "time", clock)
    train(learner)
    said = [message for message in caplog.messages if "inputs.draw['slow']" in message]
    assert len(said) == is_said
    assert not said or "90% of the time" in said[0]


WORKING = """
import sys
from pathlib import Path
from tests.learning.quick import RunFolder, knapsack_learner
folder = RunFolder(Path(sys.argv[1]))
folder.begin(knapsack_learner(2).recipe, resume=False)
print("working", flush=True)
sys.stdin.read()
"""


def test_only_one_process_works_in_a_folder_until_it_ends_or_is_killed(tmp_path: Path) -> None:
    recipe, pipe = knapsack_learner(2).recipe, subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", WORKING, str(tmp_path)], cwd=ROOT, stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "working\n"
        for resume in (True, False):
            with pytest.raises(SettingError, match="in use"):
                RunFolder(tmp_path).begin(recipe, resume=resume, overwrite=not resume)
        assert (tmp_path / "recipe.json").exists()
        other.kill()
    folder = RunFolder(tmp_path)
    folder.begin(recipe, resume=True)
    folder.close()
