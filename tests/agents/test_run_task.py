"""A run's folder records the file of its task, and the file is loaded as long as it stays the same."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surpass import agents
from surpass.agents import as_task, find_agent
from surpass.agents.run_task import write_task_record
from surpass.agents.storage import save_program
from surpass.api import new_learner
from surpass.errors import SettingError, UnknownNameError
from surpass.programs.text import parse_program
from surpass.tasks.user_file import forget_task_file
from surpass.visualize.subjects import find_subject, open_sweep

EXAMPLE = (Path(__file__).parents[2] / "examples" / "minimum.py").read_text()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A task file."""
    monkeypatch.setattr(agents, "check_once", lambda task: None)  # which others test, and which takes a second
    path = tmp_path / "recorded_minimum.py"
    path.write_text(EXAMPLE.replace('name="minimum"', 'name="recorded"').replace("def scan(", "def look("))
    yield path
    forget_task_file(path)


@pytest.fixture
def run(file: Path, tmp_path: Path) -> Path:
    """The folder of an agent of that task, which is no longer loaded."""
    task, folder = as_task(file), tmp_path / "sweep" / "runs" / "first"
    folder.mkdir(parents=True)
    save_program(folder / "agent", parse_program("task recorded\nelse: Walk()\n", "here", task), {})
    write_task_record(folder, task)
    forget_task_file(file)
    return folder


def test_every_way_to_a_run_finds_its_task(file: Path, run: Path) -> None:
    recipe = {"task": "recorded", "method": "imitation", "seed": 0, "teacher": "look"}
    (run / "recipe.json").write_text(json.dumps(recipe))
    sweep = run.parents[1]
    about = {"name": "s", "task": "recorded", "method": "imitation", "teacher": "", "about": "", "settings": {}}
    (sweep / "sweep.json").write_text(json.dumps({**about, "seeds": [0], "grid": {}}))
    ways: dict[str, Callable[[], Any]] = {
        "an agent": lambda: find_agent(str(run)),
        "a report and a plot": lambda: find_subject(run),
        "a sweep": lambda: open_sweep(sweep),
        "a resumed run": lambda: new_learner(recipe=run),
        "a program": lambda: find_agent(str(run / "agent.rules")),
    }
    for way, find in ways.items():
        assert find().task.name == "recorded", way
        forget_task_file(file)


def test_a_file_that_has_changed_or_is_gone_is_not_run(file: Path, run: Path) -> None:
    witness = file.with_name("witness")
    file.write_text(f"open({str(witness)!r}, 'w')\n{file.read_text()}")
    with pytest.raises(SettingError, match="has changed"):
        find_agent(str(run))
    file.unlink()
    with pytest.raises(SettingError, match="does not exist"):
        find_agent(str(run))
    assert not witness.exists()


def test_a_run_that_records_no_file_or_one_that_came_with_it_is_refused(
    file: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    record = json.loads((run / "task.json").read_text())
    (run / "task.json").write_text(json.dumps({**record, "file": file.name}))
    with pytest.raises(SettingError, match="--task"):
        find_agent(str(run))
    (run / "task.json").unlink()
    with pytest.raises(SettingError, match="--task"):
        find_agent(str(run))
    with pytest.raises(UnknownNameError, match="--task"):
        find_agent("teacher:look")


def test_a_run_of_another_version_of_the_file_is_warned_of(
    file: Path, run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(file.read_text() + "# one more line\n")
    as_task(file)
    with caplog.at_level(logging.WARNING, "surpass"):
        find_agent(str(run))
        find_agent(str(run))
    assert len([message for message in caplog.messages if "is not as it was" in message]) == 1
