"""The same from Python as from the command line: small typed results that print well and turn into plain data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import surpass
from surpass.agents import as_task
from surpass.errors import SurpassError
from surpass.programs.program import Program

pytestmark = pytest.mark.usefixtures("small_effort")

ROOT = Path(__file__).parents[1]
QUICK = {"sizes": [4, 7], "items": 14, "most_rounds": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> surpass.Run:
    """Return a run of two rounds."""
    out = tmp_path_factory.mktemp("api") / "run"
    return surpass.learn("search", teacher="linear_search", out=out, seed=3, score_sizes=[5], **QUICK)


def check_printed(result: object) -> str:
    """Return how a result prints, once it prints alike everywhere and turns into plain data."""
    text = str(result)
    assert repr(result) == text
    html = result._repr_html_()  # type: ignore[attr-defined]
    assert html.startswith(("<pre", "<figure"))
    json.dumps(result.as_json())  # type: ignore[attr-defined]
    return text


def test_learn_leaves_a_run_whose_folder_is_an_agent(run: surpass.Run) -> None:
    assert (run.recipe["method"], run.recipe["seed"], run.recipe["sizes"]) == ("imitation", 3, (4, 7))
    assert len(run.curves) == 2
    assert run.program is None, "imitation makes a network"
    assert run.scores is not None
    assert surpass.evaluate(run.folder, sizes=[5], seed=1).rows[0].mean_steps == run.scores.rows[0].mean_steps
    assert f"{run.folder} after 2 rounds" in check_printed(run)
    assert json.loads((run.folder / "scores.json").read_text()) == run.scores.as_json()


def test_a_run_is_taken_wherever_an_agent_is(run: surpass.Run) -> None:
    program = surpass.program(run)
    assert program.name == str(run.folder)
    assert surpass.trace(run, "1,2,3:2").agent == str(run.folder)
    assert surpass.show(run, size=5, instances=5).extraction.program.rules == program.rules
    assert surpass.evaluate(run, sizes=[5], against=run).rows[0].size == 5
    assert surpass.apply(run, [([1, 3, 5], 3)]).rows
    assert surpass.check(run, up_to=1, sizes=[5], instances=2, effort=10) is not None
    assert len(surpass.watch(run, against=run, size=5, listing=False).recordings) == 2
    assert surpass.export(run, "python").source
    assert surpass.api.new_learner("search", "rl+imitation", teacher=run).recipe["teacher"] == str(run.folder)
    with pytest.raises(SurpassError, match="has no agent yet"):
        surpass.program(replace(run, agent=None))


def test_learn_resumes_and_tells_of_its_rounds(tmp_path: Path) -> None:
    told: list[tuple[int, bool]] = []
    options = {"out": tmp_path / "run", "score_sizes": [5], "report": lambda n, curve: told.append((n, bool(curve)))}
    surpass.learn("search", teacher="linear_search", **{**QUICK, "most_rounds": 2}, **options)
    with pytest.raises(SurpassError, match="holds this run already, search by imitation from linear_search"):
        surpass.learn("search", teacher="linear_search", **QUICK, **options)
    surpass.learn(out=tmp_path / "run", resume=True, score_sizes=[5], report=options["report"])
    assert told == [(1, True), (2, True), (2, False)]
    again = surpass.learn("search", teacher="binary_search", overwrite=True, **QUICK, **options)
    assert again.recipe["teacher"] == "binary_search"
    assert json.loads((tmp_path / "run" / "recipe.json").read_text())["teacher"] == "binary_search"


@pytest.mark.usefixtures("small_effort")
def test_discover_gives_a_program_and_a_front(tmp_path: Path) -> None:
    path, other = tmp_path / "mine.rules", surpass.program("teacher:bubble_sort")
    surpass.program("teacher:insertion_sort").write(path)
    few = {"sizes": [4], "sets": 1, "candidates": 4, "instances": 4, "islands": 1, "gradients": 0}
    made = {"out": tmp_path / "run", "score_sizes": [5], "settings": few}
    run = surpass.discover("sort-bubble", start=[path, other], rounds=2, **made)  # type: ignore[arg-type]
    assert run.recipe["start"] == f"{path},teacher:bubble_sort"
    assert run.is_finished
    assert isinstance(run.program, Program)
    assert surpass.program(tmp_path / "run") == run.program
    front = [surpass.program(path) for path in (tmp_path / "run" / "front").glob("*.rules")]
    assert run.program.rules in [program.rules for program in front]
    assert str(tmp_path) not in (tmp_path / "run" / "agent.rules").read_text()  # so that it is the same in any folder
    assert surpass.evaluate(tmp_path / "run", sizes=[5]).rows[0].solved == 1
    assert run.front is not None
    assert check_printed(run.front) == run.notes
    assert [one.found.how for one in run.front.starts] == [str(path), "teacher:bubble_sort"]
    assert run.as_json()["front"] == run.front.as_json()


def test_agents_are_taken_by_name_path_or_as_objects(tmp_path: Path) -> None:
    program = surpass.program("teacher:insertion_sort")
    path = tmp_path / "mine.rules"
    program.write(path)
    agents = ("teacher:insertion_sort", surpass.find_teacher("insertion_sort"), program, path, str(path))
    rows = [surpass.evaluate(agent, sizes=[6, 12], instances=20).rows for agent in agents]
    assert all(row == rows[0] for row in rows)


def test_a_program_prints_as_show_and_is_written_as_python_and_c() -> None:
    program = surpass.program("teacher:insertion_sort")
    shown, listing = str(surpass.show(program, size=5, instances=3)), check_printed(program)
    assert listing.startswith("teacher:insertion_sort on sort-bubble: 4 rules at 1 place\n\n")
    for line in listing.splitlines()[3:]:
        assert line in shown
    assert program.to_python() == surpass.export(program, "python").source
    assert program.to_c() == surpass.export("teacher:insertion_sort", "c").source
    assert "4 rules at 1 place" in check_printed(surpass.export(program, "c"))


def test_a_check_passes_or_gives_a_counter_example(tmp_path: Path) -> None:
    program = surpass.program("teacher:insertion_sort")
    passed = surpass.check(program, up_to=4, instances=0, effort=500)
    assert (passed.passed, passed.counter_example) == (True, None)
    assert "passed" in check_printed(passed)
    (tmp_path / "wrong.rules").write_text(program.text.replace("AssignVar(2, 1)", "AssignVar(1, 2)"))
    failed = surpass.check(tmp_path / "wrong.rules", up_to=4, instances=0, effort=500)
    found = failed.counter_example
    assert not failed.passed
    assert found is not None
    assert found.trace is not None
    assert f"the smallest failing instance: {found.instance}\n" in check_printed(failed)
    assert str(surpass.trace(tmp_path / "wrong.rules", found.instance, limit=found.limit)) == str(found.trace)
    assert found.why in check_printed(found)


def test_evaluation_and_trace_print_well() -> None:
    scores = surpass.evaluate("teacher:bracket_search", sizes=[10], instances=20, against="teacher:binary_search")
    assert scores.verdict in check_printed(scores)
    trace = surpass.trace("teacher:insertion_sort", [5, 2, 9, 1])
    assert check_printed(trace) == str(surpass.trace("teacher:insertion_sort", "5,2,9,1"))
    assert trace.as_json()["outcome"] == "solved"


def test_an_instance_of_several_parts_is_taken_as_apply_takes_it() -> None:
    agent, given, text = "teacher:binary_search", ([1, 3, 5, 9], 5), "1,3,5,9:5"
    assert surpass.apply(agent, [given]).rows[0].is_solved
    assert str(surpass.trace(agent, given)) == str(surpass.trace(agent, text))
    assert surpass.watch(agent, given).recordings[0].instance == surpass.watch(agent, text).recordings[0].instance
    assert surpass.trace("teacher:depth_first", ((0.5, 0.25), (1, 2), 0.5)).instance == "0.5,0.25:1,2:0.5"


def test_the_advice_after_a_run_is_not_what_was_run() -> None:
    scores = surpass.evaluate("teacher:bubble_sort", sizes=[9], instances=2, limit="2")
    for method, teacher, is_advised in (("rl", "", True), ("rl+imitation", "bubble_sort", False)):
        recipe = {"task": "sort-bubble", "method": method, "teacher": teacher}
        run = surpass.Run(Path("runs/one"), recipe, [], 1.0, True, surpass.find_agent("teacher:bubble_sort"), scores)
        assert "Nothing is solved" in str(run)
        assert ("--method rl+imitation" in " ".join(str(run).split())) is is_advised
        assert "Nothing is solved" not in str(replace(run, is_finished=False)), "it can still be resumed"


def test_a_task_is_taken_by_name_as_object_and_from_a_file() -> None:
    search = as_task("search")
    assert as_task(search) is search
    minimum = as_task(ROOT / "examples" / "minimum.py")
    assert repr(minimum) == "<task minimum: find the smallest value of a list>"
    with pytest.raises(SurpassError, match="works on search, not on minimum"):
        surpass.evaluate("teacher:binary_search", task=minimum)


@pytest.mark.parametrize(
    "call",
    [
        lambda: surpass.learn("nope"),
        lambda: surpass.learn(),
        lambda: surpass.learn("search", "magic"),
        lambda: surpass.learn("search", bunch=3),
        lambda: surpass.learn("search", minutes=0),
        lambda: surpass.learn("search", recipe="zoo:knapsack/imitation-depth_first"),
        lambda: surpass.evaluate("nope"),
        lambda: surpass.evaluate(3),  # type: ignore[arg-type]
        lambda: surpass.program("zoo:sort-full"),
        lambda: surpass.export("teacher:scan", "java"),
        lambda: surpass.evaluate("teacher:bubble_sort", sizes=5),  # type: ignore[arg-type]
        lambda: surpass.check("teacher:bubble_sort", up_to=-1),
        lambda: surpass.trace("teacher:bubble_sort", "5,2:3"),
    ],
)
def test_bad_input_gets_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(SurpassError) as refusal:
        call()
    assert "\n" not in str(refusal.value)
