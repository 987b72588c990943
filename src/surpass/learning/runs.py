"""A run: a learner that advances in rounds, in a folder from which it can resume after a kill at any moment.

recipe.json     what was asked for
curves.csv      one line per round
checkpoints/    the last two, each with everything that the learner needs to resume
agent.*         the network at the end
time.json       how long it took, which is kept apart so that equal runs have equal checkpoints
scores.json     how it does
report.html     all of it as a page
tensorboard/    the curves as event files, if they were asked for
notes.txt       what the learner has to say at the end
front/          after discover: the best programs for their numbers of rules
.lock           what a process locks while it works there
"""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from surpass.agents.run_task import resuming
from surpass.bundles import (
    Tensors,
    check_interface,
    digest,
    interface_fingerprint,
    load_bundle,
    save_bundle,
    write_atomically,
)
from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.learning.status import Status
from surpass.printing import truncate
from surpass.reading import Setting, Weight, as_path, read_record, show, validate
from surpass.tasks.task import Task
from surpass.tasks.user_code import place_of_function

Curve = dict[str, float]

log = logging.getLogger("surpass")

SLOW_DRAW, SLOW_AFTER = 0.5, 10.0
"""The share of the time that drawing instances may take before this is said, and after how many seconds it is."""
HOPELESS = 20
"""After how many rounds in a row in which nothing was solved this is said."""
KEPT = 2
"""How many checkpoints are kept: the newest, and the one before in case the newest is damaged."""


class Learner(Protocol):
    """Something that learns in rounds and whose whole state can be saved between them."""

    @property
    def task(self) -> Task:
        """What it learns."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that it needs to be made again."""

    @property
    def done(self) -> bool:
        """Whether it has nothing more to learn."""

    def advance(self) -> Curve:
        """Learn for one round and return the round's line of the curves."""

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come, given the last line of the curves, which is empty before the first round."""

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""


FOREMOST = ("method", "task", "teacher")
"""Of all differences between two recipes, these are reported first."""
LOCK = ".lock"
BEFORE = {"log.txt", "failure.json", LOCK}
"""What a sweep may have put into the folder of a run before it began."""
LEFT = {
    *("recipe.json", "curves.csv", "checkpoints", "agent.json", "agent.safetensors", "agent.rules", "time.json"),
    *("scores.json", "report.html", "tensorboard", "notes.txt", "front", "task.json", *BEFORE),
}
"""What a run leaves in its folder; only a folder with nothing else is replaced."""
CHECKPOINT = {
    **{"task": str, "interface": str, "recipe": str, "state": dict[str, Any], "curves": list[Curve], "program?": str},
}
"""What a checkpoint says beside its tensors; the recipe by its checksum, the state for the learner.

A learner of programs also leaves the best one so far, as text, which is empty before there is any.
"""


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write a record to a file."""
    write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())


def recipe_digest(recipe: dict[str, Any]) -> str:
    """Return a short text that tells recipes apart."""
    return digest(json.dumps(recipe, sort_keys=True).encode())[:16]


def describe_recipe(recipe: Mapping[str, Any]) -> str:
    """Return what a recipe is for, in words: `search by imitation from binary_search, seed 0`."""
    teacher = f" from {recipe['teacher']}" if recipe.get("teacher") else ""
    text = f"{recipe.get('task')} by {recipe.get('method')}{teacher}, seed {recipe.get('seed')}"
    return truncate(text, 200)


def advise(recipe: Mapping[str, Any]) -> str:
    """Return what to try when nothing is solved by what a recipe says."""
    if recipe["method"] == "discover":
        return "Try more rounds, or another agent to begin with (--from); --settings lists what --set can change."
    tries = ["smaller sizes first", "more updates", "a larger step limit"]
    tries.append("another teacher" if recipe.get("teacher") else "a teacher to begin with (--method rl+imitation)")
    return f"Try {', '.join(tries[:-1])}, or {tries[-1]}; surpass learn --settings lists what --set can change."


class RunFolder:
    """The files of a run."""

    def __init__(self, path: Path) -> None:
        self.path = as_path(path)
        self._lock = FileLock(self.path / LOCK, is_singleton=True)
        self.curves: list[Curve] = []
        self.warnings: list[str] = []
        self.seconds = 0.0

    def begin(self, recipe: dict[str, Any], *, resume: bool, overwrite: bool = False) -> None:
        """Make the folder, or check that it is a run of the same recipe to resume; or empty it, to `overwrite`.

        Until `close`, or the end of this process, no other one can work in it.
        """
        if resume and overwrite:
            raise SettingError("a run is either resumed or overwritten, not both")
        is_new, is_replaced = not (self.path / "recipe.json").exists(), overwrite and bool(self._names())
        checkpoints = self.path / "checkpoints"
        if is_replaced:
            self._check_removable(recipe)
        elif is_new:
            is_fresh = checkpoints.is_dir() and not any(checkpoints.iterdir())
            fine = BEFORE | {"checkpoints"} if is_fresh else BEFORE
            if foreign := [name for name in self._names() if name not in fine and not name.startswith(".")]:
                raise SettingError(
                    f"{self.path} holds something that is not a run, such as {foreign[0]}; choose a new or empty folder"
                )
        else:
            self._check_recipe(recipe, resume=resume)
        try:
            checkpoints.mkdir(parents=True, exist_ok=True)
            self._claim()
            if is_replaced:
                self._empty()
                checkpoints.mkdir()
        except OSError as error:
            raise SettingError(f"{self.path} cannot be written: {error.strerror}") from None
        if is_new or is_replaced:
            write_json(self.path / "recipe.json", recipe)

    def _claim(self) -> None:
        """Keep other processes out of the folder; a job of a sweep has done so before, which counts as this."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise SettingError(f"{self.path} is in use: another process is learning there") from None
        except (OSError, NotImplementedError):
            pass  # where no file can be locked, nobody is kept out

    def close(self) -> None:
        """Let others into the folder."""
        self._lock.release()

    def _names(self) -> list[str]:
        """Return the names of everything in the folder."""
        return sorted(path.name for path in self.path.iterdir()) if self.path.is_dir() else []

    def _check_recipe(self, recipe: dict[str, Any], *, resume: bool) -> None:
        """Raise `SettingError` unless the folder holds a run of a recipe that is to be resumed."""
        found = read_record(self.path / "recipe.json", dict[str, Setting])
        wanted = json.loads(json.dumps(recipe))
        names = sorted({*found, *wanted}, key=lambda name: (name not in FOREMOST, name))
        different = [name for name in names if found.get(name) != wanted.get(name)]
        name = truncate(different[0], 80) if different else ""
        values = [show(one.get(different[0])) for one in (found, wanted)] if different else []
        if not resume:
            replace = "replace it (--overwrite, overwrite=True) or choose another folder"
            held, asked = describe_recipe(found), describe_recipe(wanted)
            if not different:
                raise SettingError(
                    f"{self.path} holds this run already, {held}: resume it (--resume, resume=True), {replace}"
                )
            if held == asked:
                held, asked = (f"{held}, with {name} {value}" for value in values)
            raise SettingError(f"{self.path} holds {held}; you asked for {asked}: {replace}")
        if different and all(found[key] == wanted[key] for key in found.keys() & wanted.keys()):
            raise SettingError(
                f"{self.path} is a run of another version of surpass, {'with' if different[0] in found else 'without'} "
                f"the setting {name}, which cannot be resumed; choose another folder and begin anew"
            )
        if different:
            raise SettingError(
                f"{self.path} is a run with {name} {values[0]}, not {values[1]};"
                f" to resume it, leave everything else out: {resuming(found, self.path)}"
            )

    def _check_removable(self, recipe: dict[str, Any]) -> None:
        """Raise `SettingError` unless the folder holds a run and nothing else."""
        refusal, names = f"{self.path} is not overwritten", self._names()
        if "recipe.json" not in names:
            raise SettingError(f"{refusal}: it is not a run, since it has no recipe.json")
        held = read_record(self.path / "recipe.json", dict[str, Setting])
        if not {"task", "method", "seed"} <= held.keys():
            raise SettingError(f"{refusal}: its recipe.json is not the recipe of a run")
        # A kill can leave a file half written, as .NAME.NUMBER.
        if others := [name for name in names if re.sub(r"^\.(.+)\.\d+$", r"\1", name) not in LEFT]:
            raise SettingError(f"{refusal}: it also holds {others[0]}, which no run has left there")
        teacher = Path(recipe.get("teacher") or "-")
        if self.path.resolve() in (teacher.resolve(), *teacher.resolve().parents):
            raise SettingError(f"{refusal}: the teacher {teacher} is in it; choose another folder")

    def _empty(self) -> None:
        """Remove what a run has left in the folder."""
        # The recipe goes last: what is left if this is broken off is still seen to be a run.
        for path in sorted(self.path.iterdir(), key=lambda path: path.name == "recipe.json"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()

    def checkpoints(self) -> list[Path]:
        """Return the stems of the checkpoints, the newest first."""
        found = {path.with_suffix("") for path in (self.path / "checkpoints").glob("[0-9]*.json")}
        return sorted(found, reverse=True)

    def save(self, learner: Learner) -> None:
        """Write a checkpoint and the curves, and drop all but the last checkpoints."""
        tensors, state = learner.save_state()
        stem = self.path / "checkpoints" / f"{len(self.curves):08d}"
        record = {
            "task": learner.task.name,
            "interface": interface_fingerprint(learner.task.interface),
            "recipe": recipe_digest(learner.recipe),
            "state": state,
            "curves": self.curves,
        }
        if hasattr(learner, "program"):
            record["program"] = learner.program.text if learner.program else ""
        save_bundle(stem, tensors, record)
        if hasattr(learner, "write_files"):
            learner.write_files(self.path)
        self.write_curves()
        write_atomically(self.path / "time.json", json.dumps({"seconds": round(self.seconds, 1)}).encode())
        kept = [found.name for found in self.checkpoints() if found.name <= stem.name][:KEPT]
        for path in (self.path / "checkpoints").iterdir():
            # Also what a kill left behind: tensors without their record, and files that were never finished.
            if (path.stem not in kept or path.suffix not in (".json", ".safetensors")) and not path.is_dir():
                path.unlink(missing_ok=True)

    def restore(self, learner: Learner) -> None:
        """Set a learner back to the newest checkpoint that is whole, in place; note the damaged ones in `warnings`."""
        tensors, fresh = learner.save_state()
        for stem in self.checkpoints():
            try:
                self._load(stem, learner)
            except SurpassError as error:
                self.warnings.append(f"{stem.name}: {error}")
                learner.load_state(tensors, fresh)
                continue
            try:
                self.seconds = read_record(self.path / "time.json", {"seconds": Weight})["seconds"]
            except SavedFileError:
                self.seconds = 0.0
            return

    def _load(self, stem: Path, learner: Learner) -> None:
        """Set a learner back to a checkpoint in place, which must be of its task as it is now, and of its recipe."""
        tensors, found = load_bundle(stem)
        record, task = validate(CHECKPOINT, found, f"{stem}.json"), learner.task
        if record["task"] != task.name:
            raise SavedFileError(f"{stem} is a checkpoint of {truncate(str(record['task']), 80)}, not of {task.name}")
        check_interface(stem, record["interface"], task.interface, task.name)
        if record["recipe"] != recipe_digest(learner.recipe):
            raise SavedFileError(f"{stem} is a checkpoint of another recipe")
        learner.load_state(tensors, record["state"])
        self.curves = record["curves"]

    def write_curves(self) -> None:
        """Write the lines of the curves."""
        text = io.StringIO()
        names = list(dict.fromkeys(name for line in self.curves for name in line))
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.curves)
        write_atomically(self.path / "curves.csv", text.getvalue().encode())


def train(
    learner: Learner,
    folder: RunFolder | None = None,
    *,
    minutes: float | None = None,
    checkpoint_every: float = 5.0,
    report: Callable[[int, Curve], None] | None = None,
) -> list[Curve]:
    """Let a learner advance until it is done or the time is up, and return its curves.

    After the first, no round is begun that would end after the time, if it took as long as the one before.

    A checkpoint is written every `checkpoint_every` seconds, the first one sooner, and at the end; less often if that
    takes long, so that it costs no more than a twentieth of the time. Since a checkpoint holds the whole state, when it
    is written makes no difference to what is learned.
    """
    curves = folder.curves if folder else []
    started = saved = time.monotonic()
    pause, took, unsolved = checkpoint_every / 5, 0.0, 0
    drawn_before, is_fast = dict(learner.task.seconds_drawing), True
    while not learner.done:
        before = time.monotonic()
        if minutes is not None and took and before - started + took > 60 * minutes:
            break
        curves.append(learner.advance())
        took = time.monotonic() - before
        unsolved = unsolved + 1 if curves[-1].get("solved") == curves[-1].get("sampled_solved") == 0 else 0
        if unsolved == HOPELESS:
            log.warning("nothing was solved in the last %d rounds. %s", HOPELESS, advise(learner.recipe))
        if is_fast and time.monotonic() - started >= SLOW_AFTER:
            is_fast = _draws_fast(learner.task, drawn_before, time.monotonic() - started)
        if folder:
            folder.seconds += time.monotonic() - before
        if report:
            report(len(curves), curves[-1])
        if folder and time.monotonic() - saved >= pause:
            began = time.monotonic()
            folder.save(learner)
            saved = time.monotonic()
            pause = max(checkpoint_every, 20 * (saved - began)) if checkpoint_every else 0.0
    if folder:
        folder.save(learner)
    return curves


def _draws_fast(task: Task, before: Mapping[str, float], seconds: float) -> bool:
    """Return whether drawing instances took a small share of some seconds; say so if it did not."""
    drawn = {name: spent - before.get(name, 0.0) for name, spent in task.seconds_drawing.items()}
    share = sum(drawn.values()) / seconds
    if share <= SLOW_DRAW:
        return True
    slowest = max(drawn, key=lambda name: drawn[name])
    place = place_of_function(task.inputs.draw[slowest])
    log.warning("drawing instances takes %.0f%% of the time, most of it inputs.draw[%r]%s", 100 * share, slowest, place)
    return False
