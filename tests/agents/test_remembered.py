"""A task file is remembered by the user's cache, and never run because a run names it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surpass import agents
from surpass.agents import as_task, find_agent, remembered
from surpass.agents.saved import save_program
from surpass.api import new_learner
from surpass.environments.settings import read_settings
from surpass.errors import SettingError, UnknownNameError
from surpass.programs.text import parse_program
from surpass.tasks.user_file import file_of, forget_task_file
from surpass.visualize.histories import open_sweep, read_history
from surpass.visualize.subjects import find_subject

EXAMPLE = (Path(__file__).parents[2] / "examples" / "minimum.py").read_text()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A task file whose name is remembered in a cache of its own."""
    monkeypatch.setattr(agents, "try_kernels", lambda task: None)  # which others test, and which takes a second
    monkeypatch.setattr(remembered, "_place", lambda: tmp_path / "task-files.json")
    monkeypatch.setattr(remembered, "_said", set())
    path = tmp_path / "remembered_minimum.py"
    path.write_text(EXAMPLE.replace('name="minimum"', 'name="remembered"'))
    yield path
    forget_task_file(path)


@pytest.fixture
def run(file: Path, tmp_path: Path) -> Path:
    """The folder of an agent of that task, which is no longer loaded."""
    task, folder = as_task(file), tmp_path / "run"
    folder.mkdir()
    save_program(folder / "agent", parse_program("task remembered\nelse: Walk()\n", "here", task), {})
    remembered.write_origin(folder, task)
    forget_task_file(file)
    return folder


def test_an_agent_is_found_without_its_task_file(file: Path, run: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "surpass"):
        assert find_agent(str(run)).task.name == "remembered"
    assert f"task remembered is that of {file.resolve()}" in caplog.text


def test_a_file_that_has_changed_or_is_gone_is_not_run(file: Path, run: Path) -> None:
    witness = file.with_name("witness")
    file.write_text(f"open({str(witness)!r}, 'w')\n{file.read_text()}")
    with pytest.raises(SettingError, match=r"which has changed since; give it with --task .*remembered_minimum.py"):
        find_agent(str(run))
    file.unlink()
    with pytest.raises(SettingError, match="which is gone"):
        find_agent(str(run))
    assert not witness.exists()


def test_a_file_that_only_the_run_names_is_not_run(file: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "task-files.json").unlink()
    witness, trap = tmp_path / "witness", tmp_path / "trap.py"
    trap.write_text(f"open({str(witness)!r}, 'w')\n")
    record = json.loads((run / "task.json").read_text())
    (run / "task.json").write_text(json.dumps({**record, "file": str(trap)}))
    with pytest.raises(SettingError, match=r"unknown task 'remembered'.*learned with --task .*trap.py: give that file"):
        find_agent(str(run))
    assert not witness.exists()


def test_a_run_of_another_version_of_the_file_is_pointed_out(
    file: Path, run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(file.read_text() + "# one more line\n")
    as_task(file)
    with caplog.at_level(logging.WARNING, "surpass"):
        find_agent(str(run))
    assert "has changed since" in caplog.text


def test_a_damaged_memory_counts_as_none(file: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "task-files.json").write_text("{")
    with pytest.raises(SettingError, match="unknown task 'remembered'"):
        find_agent(str(run))
    with pytest.raises(UnknownNameError, match="unknown task 'nobody'"):
        as_task("nobody")


def test_every_way_to_a_run_finds_its_task(
    file: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = {"task": "remembered", "method": "imitation", "seed": 0, "teacher": "scan"}
    (run / "recipe.json").write_text(json.dumps(recipe))
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    about = {"name": "s", "task": "remembered", "method": "imitation", "teacher": "", "about": "", "settings": {}}
    (sweep / "sweep.json").write_text(json.dumps({**about, "seeds": [0], "grid": {}}))
    ways: dict[str, Callable[[], Any]] = {
        "a report": lambda: find_subject(run),
        "a plot": lambda: read_history(run),
        "a sweep": lambda: open_sweep(sweep),
        "a resumed run": lambda: new_learner(recipe=run),
        "an environment": lambda: read_settings("remembered"),
        "a teacher": lambda: find_agent("teacher:scan"),
        "a program": lambda: find_agent(str(run / "agent.rules")),
    }
    for way, find in ways.items():
        assert find().task.name == "remembered", way
        forget_task_file(file)
    (tmp_path / "task-files.json").unlink()
    for way in ("a report", "a plot"):
        with pytest.raises(SettingError, match=r"learned with --task .*remembered_minimum.py: give that file"):
            ways[way]()
    with pytest.raises(SettingError, match=r"learned with surpass learn .*remembered_minimum.py: give that file"):
        ways["a resumed run"]()
    with pytest.raises(UnknownNameError, match=r"unknown teacher 'scan'.*the file of its task with --task FILE.py"):
        ways["a teacher"]()


def test_the_file_that_a_run_was_learned_with_is_preferred(
    file: Path, run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = file.with_name("another_minimum.py")
    other.write_text(file.read_text() + "# another file\n")
    as_task(other)
    forget_task_file(other)
    assert file_of(find_agent(str(run)).task) == file
    forget_task_file(file)
    assert file_of(as_task("remembered")) == other
    forget_task_file(other)
    file.write_text(file.read_text() + "# changed\n")
    with caplog.at_level(logging.WARNING, "surpass"):
        assert file_of(find_agent(str(run)).task) == other
        find_agent(str(run))
    forget_task_file(other)
    (said,) = caplog.messages
    assert said == f"{other} is not the file that {run} was learned with, {file.resolve()}"
