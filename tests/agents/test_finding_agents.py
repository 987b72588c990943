"""Agents are found by the same rules wherever one is named, and the names of teachers are those of their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import surpass
from surpass.agents import find_agent
from surpass.agents.storage import save_program
from surpass.agents.teachers import find_teacher
from surpass.api import as_task, new_learner
from surpass.errors import DeclarationError, SettingError
from surpass.tasks.task import Task
from surpass.tasks.user_file import forget_task_file

EXAMPLE = (Path(__file__).parents[2] / "examples" / "minimum.py").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in that holds a run's folder named `rl`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rl").mkdir()
    save_program(tmp_path / "rl" / "agent", surpass.program("teacher:binary_search"), {})
    return tmp_path


@pytest.mark.parametrize("name", ["rl", "./rl"])
def test_a_runs_folder_is_found_by_its_name_alone(name: str, folder: Path) -> None:
    found = find_agent(name)
    assert found.name == name
    for method in ("imitation", "rl+imitation"):
        learner = new_learner("search", method, teacher=name)
        assert (learner.teacher.name, learner.recipe["teacher"]) == (name, name)
    assert new_learner("search", "discover", settings={"start": name}).names == (name,)
    assert surpass.evaluate(name, sizes=[5], instances=5, against="binary_search").rows[0].solved == 1


def test_a_name_alone_is_a_teachers_if_there_is_one(folder: Path) -> None:
    save_program(folder / "agent", surpass.program("teacher:linear_search"), {})
    folder.joinpath("binary_search").mkdir()
    for path in folder.glob("agent*"):
        path.rename(folder / "binary_search" / path.name)
    for agent in (find_agent("binary_search"), new_learner("search", "imitation", teacher="binary_search").teacher):
        assert agent is find_teacher("binary_search")
    assert find_agent("./binary_search").name == "./binary_search"


def test_a_name_of_nothing_is_refused_by_learning_as_by_measuring(folder: Path) -> None:
    with pytest.raises(SettingError) as measured:
        surpass.evaluate("nobody", task="search")
    with pytest.raises(SettingError) as learned:
        new_learner("search", "imitation", teacher="nobody")
    assert str(measured.value) == str(learned.value)


@pytest.fixture
def two_tasks(tmp_path: Path) -> Iterator[tuple[Task, Task]]:
    """Two tasks of two files whose teachers are called the same."""
    paths = [tmp_path / f"{name}.py" for name in ("low", "lower")]
    for path in paths:
        path.write_text(EXAMPLE.replace('name="minimum"', f'name="{path.stem}"').replace("def scan(", "def stroll("))
    first, second = map(as_task, paths)
    yield first, second
    for path in paths:
        forget_task_file(path)


def test_two_files_may_have_teachers_of_the_same_name(two_tasks: tuple[Task, Task]) -> None:
    for task in two_tasks:
        for name in ("stroll", "teacher:stroll"):
            rows = surpass.evaluate(name, task=task, sizes=[9], instances=5, against="teacher:stroll").rows
            assert (rows[0].solved, rows[0].difference) == (1, 0)
        assert new_learner(task, "imitation", teacher="stroll").teacher.task is task
        assert find_teacher("stroll", task).task is task
    with pytest.raises(SettingError):
        find_agent("teacher:stroll")
    with pytest.raises(DeclarationError):
        surpass.teacher(two_tasks[0])(find_teacher("stroll", two_tasks[0]).choose)
