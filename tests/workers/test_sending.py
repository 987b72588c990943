"""Tasks, agents and errors come to another process as what they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surpass import errors
from surpass.agents import as_task, find_agent
from surpass.agents.teachers import known_teachers
from surpass.engine.cache import source_version
from surpass.errors import SurpassError, UnknownNameError
from surpass.tasks.registry import PAPER_TASKS
from surpass.workers.worker import Question, answer, read_answer, write_call

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"
SEES = """
import pickle, sys
task, agent = pickle.loads(sys.stdin.buffer.read())
print(task.name, agent.name, agent.task is task)
"""


class Counter:
    """An object that counts."""

    def __init__(self, first: int) -> None:
        self.count = first

    def add(self, number: int) -> int:
        self.count += number
        return self.count

    def fail(self, name: str) -> None:
        if name == "unknown":
            raise UnknownNameError("thing", "this", ["that"])
        raise getattr(errors, name, ValueError)(f"{name} was asked for")


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
def test_a_task_of_the_package_is_sent_by_its_name(task: object) -> None:
    assert pickle.loads(pickle.dumps(task)) is task
    assert len(pickle.dumps(task)) < 200


def test_a_task_of_a_file_and_its_teacher_come_to_another_process() -> None:
    task = as_task(EXAMPLE)
    agent = known_teachers(task)[0]
    sent = pickle.dumps((task, agent))
    shown = subprocess.run([sys.executable, "-c", SEES], input=sent, capture_output=True, check=True).stdout.decode()
    assert shown.split() == [task.name, agent.name, "True"]


@pytest.mark.parametrize("name", ["teacher:quick_sort", "zoo:sort-bubble/imitation-insertion_sort", "zoo:sort-quick"])
def test_an_agent_answers_as_before(name: str) -> None:
    agent = find_agent(name)
    again = pickle.loads(pickle.dumps(agent))
    observations = np.arange(50)
    assert again.task is agent.task
    assert again.name == agent.name
    np.testing.assert_array_equal(again.actions(observations), agent.actions(observations))  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURPASS_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def ask(name: str, setup: list[bytes], *call: object) -> object:
    """Return the answer of a replica in this process."""
    method, *arguments = call
    written = write_call(str(method), tuple(arguments))
    return read_answer(answer(Question(source_version(), frozenset({name}), name, written), setup, lambda one: one))


def test_a_replica_is_made_and_changed_before_it_answers() -> None:
    setup = [write_call(Counter, (5,)), write_call("add", (2,))]
    assert ask("a", setup, "add", 3) == 10
    assert ask("a", [*setup, write_call("add", (30,))], "add", 1) == 41
    assert ask("b", setup, "add", 0) == 7
    assert ask("a", setup, "add", 0) == 7, "what is no longer needed is forgotten, and made again"


@pytest.mark.parametrize("name", ["SettingError", "SavedFileError", "unknown"])
def test_what_a_replica_refuses_is_refused_here(name: str) -> None:
    kind = getattr(errors, name, UnknownNameError)
    with pytest.raises(kind, match=r"was asked for|unknown thing 'this'; known: that") as caught:
        ask(name, [write_call(Counter, (0,))], "fail", name)
    assert isinstance(caught.value, SurpassError)


def test_an_error_that_should_not_be_says_where_it_came_from() -> None:
    with pytest.raises(RuntimeError, match=r"a worker failed: (.|\n)*in fail(.|\n)*nothing was asked for"):
        ask("a", [write_call(Counter, (0,))], "fail", "nothing")
