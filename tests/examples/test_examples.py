"""Each example goes through everything: it is taught, learned, shown, checked and exported."""

from __future__ import annotations

import ast
import ctypes
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surpass
from surpass.agents import as_task
from surpass.evaluation.scores import evaluate
from surpass.programs.export import export_program
from surpass.tasks.user_file import load_task_file
from tests.cli.here import call_here
from tests.programs.exported import Result, compile_c, forever, load_python, needs_compiler

pytestmark = pytest.mark.usefixtures("small_effort")

FOLDER = Path(__file__).parents[2] / "examples"
SEEDED = np.random.default_rng(0)

# What is right, said once more and in other words


def is_minimum(values: Sequence[int], after: Sequence[int], answer: dict[str, int]) -> bool:
    """Tell whether the answer is the position of a smallest value."""
    return list(values) == list(after) and values[answer["answer"]] == min(values)


def is_pair(values: Sequence[int], after: Sequence[int], answer: dict[str, int]) -> bool:
    """Tell whether the pointers stand at two values with the sum, which comes last, or rightly report none."""
    *numbers, target = values
    pairs = {(i, j) for j in range(len(numbers)) for i in range(j) if numbers[i] + numbers[j] == target}
    return (answer["low"], answer["high"]) in pairs if answer["found"] else not pairs


def is_partition(values: Sequence[int], after: Sequence[int], answer: dict[str, int]) -> bool:
    """Tell whether the same values stand there, the smaller than the first before the greater."""
    smaller = [k for k, v in enumerate(after) if v < values[0]]
    greater = [k for k, v in enumerate(after) if v > values[0]]
    return sorted(values) == sorted(after) and max(smaller, default=0) < min(greater, default=len(after))


@dataclass(frozen=True)
class Example:
    """A file of examples/, its teacher, and what is right."""

    name: str
    teacher: str
    registers: tuple[str, ...]
    is_right: Callable[[Sequence[int], Sequence[int], dict[str, int]], bool]
    takes_memory: bool = False
    """Whether its exported function takes the memory of an episode instead of a list."""

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.py"

    def draw(self) -> list[int]:
        """Return random values, as they stand in memory."""
        size = int(SEEDED.integers(1, 30))
        values = SEEDED.integers(-20, 20, size).tolist()
        return [*sorted(values), int(SEEDED.integers(-40, 40))] if self.takes_memory else values


EXAMPLES = (
    Example("minimum", "scan", ("v1", "v2", "answer"), is_minimum),
    Example("pair_sum", "close_in", ("low", "high", "found"), is_pair, takes_memory=True),
    Example("partition", "from_both_ends", ("i", "j"), is_partition),
)
LEARN = {
    "imitation": ("--set", "sizes=2,5"),
    "rl": ("--set", "starts=1", "--set", "updates=10", "--set", "episodes=64", "--set", "checks=1"),
    "discover": ("--set", "rounds=9", "--set", "sets=2", "--set", "candidates=64"),
}
"""A few seconds of each method."""


def command(*words: object) -> str:
    """Return what a command prints, which must end well."""
    done = call_here(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def learn(example: Example, method: str, folder: Path, *more: object) -> Path:
    words = ("--out", folder, "--sizes", "5", "--no-report", *LEARN[method], *more)
    command("learn", example.path, "--method", method, *words)
    return folder


def learn_in_python(example: Example, method: str, folder: Path) -> surpass.Run:
    settings = dict(word.split("=") for word in LEARN[method] if "=" in word)
    return surpass.learn(example.path, method, out=folder, score_sizes=[5], **settings)


def count_rounds(folder: Path) -> int:
    return len((folder / "curves.csv").read_text().splitlines()) - 1


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    load_task_file(request.param.path)
    found: Example = request.param
    return found


@pytest.fixture(scope="module")
def imitator(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a network that learned from the example's teacher."""
    return learn(example, "imitation", tmp_path_factory.mktemp("runs") / "imitation")


def test_a_file_imports_surpass_and_numpy_alone(example: Example) -> None:
    nodes = list(ast.walk(ast.parse(example.path.read_text())))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    assert "surpass" in names
    assert set(names) <= {"surpass", "numpy", "numpy.typing", "collections.abc"}


def test_the_teacher_solves_everything_from_the_command_line_and_from_python(example: Example) -> None:
    words = ("--sizes", "1,2,9", "--instances", "50", "--json", "-")
    printed = json.loads(command("evaluate", f"teacher:{example.teacher}", "--task", example.path, *words))
    evaluation = surpass.evaluate(surpass.find_teacher(example.teacher), sizes=[1, 2, 9], instances=50)
    assert [row.solved for row in evaluation.rows] == [1.0, 1.0, 1.0]
    assert [row["mean_steps"] for row in printed["rows"]] == [row.mean_steps for row in evaluation.rows]


def test_imitation_equals_its_teacher(example: Example, imitator: Path) -> None:
    task = surpass.find_teacher(example.teacher).task
    network, teacher = surpass.find_agent(str(imitator)), surpass.find_teacher(example.teacher)
    for data in task.inputs.draw:
        instances = task.draw(surpass.Request(size=17, count=100, data=data))
        learned, taught = surpass.run(network, instances), surpass.run(teacher, instances)
        assert learned.steps.tolist() == taught.steps.tolist()
        assert learned.reasons() == {"solved": 100}


@pytest.mark.parametrize(("example", "method"), [(EXAMPLES[0], "rl"), (EXAMPLES[1], "discover")])
def test_a_run_that_is_stopped_goes_on_to_the_same_agent(example: Example, method: str, tmp_path: Path) -> None:
    whole = learn_in_python(example, method, tmp_path / "whole").folder
    parts = learn(example, method, tmp_path / "parts", "--minutes", "1e-9")
    assert count_rounds(parts) < count_rounds(whole)
    learn(example, method, parts, "--resume")
    assert count_rounds(parts) == count_rounds(whole)
    found = [surpass.evaluate(surpass.find_agent(str(path)), sizes=[4, 8]).rows for path in (whole, parts)]
    assert found[0] == found[1]


def test_agents_are_shown_as_rules(example: Example, imitator: Path) -> None:
    for agent in (f"teacher:{example.teacher}", imitator):
        record = json.loads(command("show", agent, "--task", example.path, "--json", "-"))
        assert record["rules"] == 4
        assert record["typical"]["solved"] == 1.0


def test_agents_are_checked(example: Example, imitator: Path) -> None:
    words = ("--task", example.path, "--up-to", "5", "--instances", "5", "--effort", "500")
    for agent in (f"teacher:{example.teacher}", imitator):
        assert "passed" in command("check", agent, *words).splitlines()[0]
    assert surpass.check(str(imitator), task=example.path, up_to=4, instances=5, effort=500).passed


def test_python_does_the_same_as_the_command_line(example: Example, imitator: Path, tmp_path: Path) -> None:
    run = learn_in_python(example, "imitation", tmp_path / "run")
    program = surpass.program(run.agent)
    assert surpass.check(program, up_to=4, instances=5, effort=500).passed
    program.write(tmp_path / "mine.rules")
    agents = (run.agent, program, str(imitator), str(tmp_path / "mine.rules"))
    first, *others = (surpass.evaluate(agent, sizes=[4, 8]).rows for agent in agents)
    assert others == [first] * 3
    for language, text in (("python", program.to_python()), ("c", program.to_c())):
        assert surpass.export(program, language).source == text


def test_exported_python_gives_right_results(example: Example, imitator: Path, tmp_path: Path) -> None:
    path = tmp_path / "exported.py"
    command("export", imitator, "--task", example.path, "--to", "python", "--out", path)
    function = load_python(path.read_text())[example.name]
    for _ in range(200):
        values = example.draw()
        after = list(values)
        outcome, _, _, *registers = function(len(values) - 1, after) if example.takes_memory else function(after)
        assert outcome == "solved"
        assert example.is_right(values, after, dict(zip(example.registers, registers, strict=True)))


@needs_compiler
def test_exported_c_compiles_without_a_warning_and_gives_right_results(
    example: Example, imitator: Path, tmp_path: Path
) -> None:
    library = compile_c(command("export", imitator, "--task", example.path, "--to", "c", "--out", "-"), tmp_path)
    function = getattr(library, f"surpass_{example.name}" + ("" if example.takes_memory else "_i64"))
    function.restype = ctypes.c_int64
    for _ in range(200):
        values = example.draw()
        after, result = np.array(values, np.int64), Result()
        steps = call_c(function, after, result, takes_memory=example.takes_memory)
        assert steps == result.steps >= 0
        assert example.is_right(values, after.tolist(), dict(zip(example.registers, result.registers, strict=False)))


def call_c(function: Any, items: np.ndarray, result: Result, *, takes_memory: bool) -> int:
    """Call an exported C function on a list, or on the memory of an episode, and return what it returns."""
    array = items.ctypes.data_as(ctypes.c_void_p)
    if takes_memory:
        return int(function(ctypes.c_size_t(len(items) - 1), array, ctypes.byref(result)))
    return int(function(array, ctypes.c_size_t(len(items)), ctypes.byref(result)))


@pytest.mark.parametrize("text", ["1,3,4,8", "1,3:4:8", "1,3:4,8", "8,3:4", f"1,3:{2**70}"])
def test_an_instance_that_the_examples_own_reader_cannot_take_is_refused_with_what_it_takes(text: str) -> None:
    load_task_file(FOLDER / "pair_sum.py")
    with pytest.raises(surpass.SurpassError, match="pair-sum"):
        surpass.find_task("pair-sum").parse_instance(text)


# What declares no settings is learned from nothing

ALL = ("minimum", "pair_sum", "partition", "reverse", "last_position", "dutch_flag", "remove_repeats", "merge")


@pytest.mark.parametrize("method", ["rl", "rl+imitation"])
def test_defaults_solve_an_example(method: str, tmp_path: Path) -> None:
    small = {"episodes": 256, "updates": 20, "starts": 1, "checks": 2}
    run = surpass.learn(FOLDER / "dutch_flag.py", method, out=tmp_path / "run", score_sizes=[5, 30], settings=small)
    assert run.scores is not None
    assert [row.solved for row in run.scores.rows] == [1.0, 1.0]


def one_pass(seen: dict[str, Any]) -> str:
    if seen["at ? high"] == ">":
        return "Done()"
    return {0: "Swap(1)", 1: "Move(+1)", 2: "Swap(2)"}[seen["A[at]"]]


def test_a_function_is_shown_checked_and_exported_as_any_agent() -> None:
    agent = surpass.agent(one_pass, task=FOLDER / "dutch_flag.py", observation="named")
    program = surpass.program(agent)
    assert len(program.rules) == 4
    assert surpass.check(program, up_to=4, instances=2, sizes=[10], effort=100).passed
    assert "def dutch_flag(" in surpass.export(agent, "python").source


@pytest.mark.parametrize("name", ALL)
def test_every_instruction_of_every_example_can_be_exported(name: str) -> None:
    task = as_task(FOLDER / f"{name}.py")
    for number in task.interface.offsets:
        for language in ("python", "c"):
            assert export_program(forever(task, str(task.interface.actions[number])), language)


def test_steps_are_compared_where_both_solve_and_late_sizes_are_left_out() -> None:
    hasty = surpass.agent(lambda _: "Found(1)", task="search", name="hasty")
    found = evaluate(hasty, sizes=[4, 8], instances=50, against="teacher:binary_search", seconds=0.0)
    (row,) = found.rows
    assert found.left_out == (8,)
    assert 0 < row.difference_count == round(row.solved * 50) < 50
    assert "only where both solve the instance" in str(found)
    assert "left out for want of time: n=8" in str(found)


def test_what_a_reader_of_ones_own_says_is_shown() -> None:
    task = as_task(FOLDER / "pair_sum.py")
    with pytest.raises(surpass.SurpassError, match=r"the list must be in order; it takes an ordered list and a target"):
        task.parse_instance("3,1:4")
