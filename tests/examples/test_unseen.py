"""The tasks that no learner was made for: the teacher and the best program known by hand cost what their files say.

The files hold the plain teacher alone, since a search starts from every teacher of a file. Beside each stands the best
program as rules. Here both costs are said once more, in plain Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest

import surpass
from surpass.agents import as_agent
from surpass.checks import Effort, find_failures
from surpass.engine.run import AnyAgent, Results, run
from surpass.machine.state import FIRST, State
from surpass.programs.text import parse_program
from surpass.tasks.task import Request, Task

FOLDER = Path(__file__).parents[2] / "examples" / "unseen"
PAGE = Path(__file__).parents[2] / "docs" / "unseen-tasks.md"
SIZES = (20, 100, 1000)
QUICK = Effort(enumerated=1000, sizes=(1, 2, 3, 5, 8, 13, 40), drawn=20, large=0, changed=300)
COUNTED = 100
"""How many instances `surpass evaluate` draws of each size."""

Values = list[int]
Cost = Callable[[Values, int], int]
"""Returns the steps, or the score where it counts, from the items of an instance and its size."""


# What the teachers and the best programs cost


def climb(values: Values, size: int) -> int:
    return values.index(max(values)) + 1


def close_in(values: Values, size: int) -> int:
    """Count a step for each halving of the gap between a place that rises and one that does not, and two at its end."""
    low, high, steps = 0, size - 1, 1
    if values.index(max(values)) == 0:
        return 1
    while high - low > 1:
        middle, steps = (low + high) // 2, steps + 1
        low, high = (middle, high) if values[middle] < values[middle + 1] else (low, middle)
    return steps + 1


def add_often(values: Values, size: int) -> int:
    return 2 * values[1] + 1


def add_digits(values: Values, size: int) -> int:
    return 2 * values[1].bit_length() + values[1].bit_count() if all(values[:2]) else 1


def look_up_each(values: Values, size: int) -> int:
    first, second = np.array(values[: 2 * size]).reshape(2, size)
    return 2 * size + int(np.searchsorted(second, first, side="left").sum())


def go_along_both(values: Values, size: int) -> int:
    first, second = np.array(values[: 2 * size]).reshape(2, size)
    if first[-1] > second[-1]:
        return int((first <= second[-1]).sum()) + size + 1
    return size + int((second < first[-1]).sum()) + 1


def try_all(values: Values, size: int) -> int:
    better = best = 0
    for j in range(size):
        for i in range(j - 1, -1, -1):
            if values[j] - values[i] > best:
                better, best = better + 1, values[j] - values[i]
    return (size - 1) * (size + 2) // 2 + better + 1


def keep_the_least(values: Values, size: int) -> int:
    least = list(accumulate(values[:size], min))
    most = [0, *accumulate((value - low for value, low in zip(values, least, strict=False)), max)]
    smaller = sum(a > b for a, b in pairwise(least))
    return size + smaller + sum(a < b for a, b in pairwise(most))


def first_come(values: Values, size: int) -> int:
    taken, over = 0, 0
    for begin, end in zip(values[:size], values[size : 2 * size], strict=True):
        taken, over = (taken + 1, end) if begin >= over else (taken, over)
    return taken


def first_to_end(values: Values, size: int) -> int:
    """Take meetings in the order of their ends, which is known to give the most."""
    taken, over = 0, 0
    for end, begin in sorted(zip(values[size : 2 * size], values[:size], strict=True)):
        taken, over = (taken + 1, end) if begin >= over else (taken, over)
    return taken


def gather_down_to(least: int) -> Cost:
    """Return what is gathered in 2n steps by who leaves a bush where it yields less than some number."""

    def gathered(values: Values, size: int) -> int:
        total, steps = 0, 2 * size
        for value in values[:size]:
            while value >= least and steps:
                total, value, steps = total + value, value // 2, steps - 1
            steps = max(steps - 1, 0)
        return total

    return gathered


@dataclass(frozen=True)
class Unseen:
    """A file of examples/unseen/, what its teacher and its best program cost, and programs that are wrong."""

    name: str
    teacher: str
    taught: Cost
    best: Cost
    taught_means: tuple[float, float, float]
    best_means: tuple[float, float, float]
    written: str
    result: dict[str, object]
    """What `apply` gives for the instance that is written."""
    wrong: tuple[str, ...]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.py"

    def find(self, agent: str) -> AnyAgent:
        """Return the teacher or the best program."""
        names = {"teacher": f"teacher:{self.teacher}", "best": str(FOLDER / f"{self.name}.best.rules")}
        return as_agent(names[agent], self.path)


UNSEEN = (
    Unseen(
        name="peak",
        teacher="climb",
        taught=climb,
        best=close_in,
        taught_means=(10.36, 50.25, 486.71),
        best_means=(6.14, 8.66, 11.96),
        written="0.5,2,3.5,1",
        result={"answer": 2},
        wrong=("always: Answer(1)", "v1 = v2: Answer(1)\nelse: PutBetween(2, 1, 2)", "always: Move(1, +1)"),
    ),
    Unseen(
        name="product",
        teacher="add_often",
        taught=add_often,
        best=add_digits,
        taught_means=(22.16, 102.22, 1008.74),
        best_means=(8.90, 14.53, 23.19),
        written="12:11",
        result={"total": 132},
        wrong=("always: Done()", "a is zero: Done()\nb is zero: Done()\nelse: Halve(2)"),
    ),
    Unseen(
        name="common_values",
        teacher="look_up_each",
        taught=look_up_each,
        best=go_along_both,
        taught_means=(235.75, 5217.39, 503_716.79),
        best_means=(39.34, 198.87, 1998.79),
        written="1,2.5,2.5,7:0,2.5,6,7",
        result={"C": ["2.5", "2.5", "7"]},
        wrong=("i is past the end: Done()\nelse: Take()", "A[i] = B[j]: Take()\nelse: Done()"),
    ),
    Unseen(
        name="greatest_rise",
        teacher="try_all",
        taught=try_all,
        best=keep_the_least,
        taught_means=(215.07, 5058.17, 500_514.78),
        best_means=(25.96, 110.32, 1017.62),
        written="5,1,40,-2,9",
        result={"low": 1, "high": 2},
        wrong=(
            "A[j] - A[i] > best: Keep()\nj is last: Answer()\nelse: Move(2, +1)",
            "A[j] - A[i] > best: Keep()\nj is last and i is first: Move(1, +1)\nj is last: Answer()\nelse: Move(2, +1)",
        ),
    ),
    Unseen(
        name="booking",
        teacher="first_come",
        taught=first_come,
        best=first_to_end,
        taught_means=(3.88, 16.51, 165.04),
        best_means=(5.41, 25.17, 249.04),
        written="1,2,4:9,3,6",
        result={"taken": ["1", 0, 0], "meetings": 1.0},
        wrong=("at is past the end: Done()\nat is last: Move(+1)\nelse: Take()", "at is last: Move(+1)\nelse: Take()"),
    ),
    Unseen(
        name="gather",
        teacher="empty_each",
        taught=gather_down_to(1),
        best=gather_down_to(250),
        taught_means=(4195.97, 20_283.99, 199_807.53),
        best_means=(11_644.88, 58_461.79, 583_198.82),
        written="100,900",
        result={"list": [6, "900"], "at": 0, "gathered": 187.0},
        wrong=(),
    ),
)


@pytest.fixture(scope="module", params=UNSEEN, ids=lambda unseen: unseen.name)
def unseen(request: pytest.FixtureRequest) -> Unseen:
    found: Unseen = request.param
    return found


def play(agent: AnyAgent, size: int, data: str = "uniform") -> tuple[list[Values], Results]:
    """Return the instances that `surpass evaluate` draws, and what an agent makes of them."""
    instances = agent.task.draw(Request(size=size, count=COUNTED, data=data))
    return instances.items.tolist(), run(agent, instances, find_loops=not agent.task.limit_is_budget)


def costs(task: Task, results: Results) -> list[float]:
    """Return what agents are compared by: the score where it counts, else the steps."""
    found: list[float] = (results.scores if task.measure == "reward" else results.steps).tolist()
    return found


def test_every_file_is_listed() -> None:
    assert sorted(unseen.path for unseen in UNSEEN) == sorted(FOLDER.glob("*.py"))


def test_a_file_imports_surpass_and_numpy_alone_and_has_one_teacher(unseen: Unseen) -> None:
    text = unseen.path.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    assert set(names) <= {"surpass", "numpy", "numpy.typing", "collections.abc"}
    assert re.findall(r"^@surpass\.teacher\(\w+\)\ndef (\w+)", text, re.MULTILINE) == [unseen.teacher]


@pytest.mark.parametrize("who", ["teacher", "best"])
def test_the_teacher_and_the_best_program_fail_nowhere(unseen: Unseen, who: str) -> None:
    assert find_failures(unseen.find(who), QUICK) == []


@pytest.mark.parametrize("who", ["teacher", "best"])
def test_they_cost_what_the_file_says(unseen: Unseen, who: str) -> None:
    agent = unseen.find(who)
    means = unseen.taught_means if who == "teacher" else unseen.best_means
    cost = unseen.taught if who == "teacher" else unseen.best
    for size, mean in zip(SIZES, means, strict=True):
        values, results = play(agent, size)
        found = costs(agent.task, results)
        assert results.reasons() == {"solved": COUNTED}
        # Python takes long for all pairs of long lists.
        counted = 5 if unseen.name == "greatest_rise" and size > 100 else COUNTED
        assert [cost(row, size) for row in values[:counted]] == found[:counted]
        assert np.mean(found) == pytest.approx(mean, abs=0.006)
        assert f"{mean:.2f}" in unseen.path.read_text()


@pytest.mark.parametrize("who", ["teacher", "best"])
def test_they_cost_it_on_odd_instances_too(unseen: Unseen, who: str) -> None:
    agent = unseen.find(who)
    cost = unseen.taught if who == "teacher" else unseen.best
    for data in agent.task.inputs.draw:
        for size in (1, 2, 9) if unseen.name != "greatest_rise" else (2, 9):  # which does not begin with one value
            values, results = play(agent, size, data)
            assert [cost(row, size) for row in values] == costs(agent.task, results)


def test_the_page_gives_the_same_figures(unseen: Unseen) -> None:
    (row,) = re.findall(rf"^\| \[{unseen.name}\].*", PAGE.read_text(), re.MULTILINE)
    figures = re.findall(r"\d[\d,]*\.\d\d", row.rpartition(" | ")[0])  # the last column is what a search found
    assert figures == [f"{mean:,.2f}" for mean in (*unseen.taught_means, *unseen.best_means)]


def test_a_wrong_program_is_caught(unseen: Unseen) -> None:
    task = unseen.find("teacher").task
    for rules in unseen.wrong:
        program = parse_program(f"task {task.name}\n{rules}\n", "wrong.rules", task)
        assert find_failures(program, QUICK, enough=1)


def test_a_result_can_be_applied_and_exported(unseen: Unseen) -> None:
    (found,) = surpass.apply(unseen.find("teacher"), [unseen.written]).results
    assert found == unseen.result
    for language in ("python", "c"):
        assert surpass.export(unseen.find("best"), language).source


def test_the_most_meetings_are_those_of_the_best_program() -> None:
    agent = next(unseen for unseen in UNSEEN if unseen.name == "booking").find("best")
    assert agent.task.must_finish_score
    assert agent.task.optimum is not None
    for data in agent.task.inputs.draw:
        instances = agent.task.draw(Request(size=12, count=50, data=data))
        assert run(agent, instances).scores.tolist() == agent.task.optimum(instances).tolist()


@pytest.mark.parametrize(
    ("after", "score", "is_right"),
    [((25, 900), 150, True), ((25, 900), 151, False), ((26, 900), 150, False), ((100, 0), 150, False)],
)
def test_a_wrong_account_of_what_was_gathered_is_caught(after: tuple[int, int], score: int, is_right: bool) -> None:
    """No program of that task can go wrong, so the judge is asked about ends that no instruction makes."""
    task = next(unseen for unseen in UNSEEN if unseen.name == "gather").find("teacher").task
    assert task.limit_is_budget
    state = State(np.array([2] + [0] * FIRST), np.array(after), np.array([float(score)]), np.zeros(0, np.int64))
    judge = getattr(task.is_right, "py_func", task.is_right)
    assert judge(state, np.array([100, 900])) == is_right
