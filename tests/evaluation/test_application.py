"""`apply`: results as the task's signature says, values as they were written, and nothing where it is not solved."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import surpass
from surpass.agents import as_task
from surpass.errors import DataFileError, DeclarationError, InstanceError
from tests.cli.here import call_here

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_lists_come_back_in_order_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("5,2,9,1\n\n1e3 0.5 -2 1.50 123456789012345678901234567890\n3,3.0,2,,,\n7\n")
    found = surpass.apply("teacher:insertion_sort", path)
    assert [row.place for row in found.rows] == ["line 1", "line 3", "line 4", "line 5"]
    assert [row.result for row in found.rows] == [
        {"list": ["1", "2", "5", "9"]},
        {"list": ["-2", "0.5", "1.50", "1e3", "123456789012345678901234567890"]},
        {"list": ["2", "3", "3.0"]},
        {"list": ["7"]},
    ]
    assert found.unsolved == ()


def test_steps_are_those_of_an_evaluation_on_the_same_lists() -> None:
    lists = np.random.default_rng(0).integers(0, 9, (20, 7))
    found = surpass.apply("teacher:bubble_sort", lists)
    instances = [surpass.find_task("sort-bubble").read_parts([one])[0] for one in lists.tolist()]
    steps = [int(surpass.run(surpass.find_teacher("bubble_sort"), one).steps[0]) for one in instances]
    assert [row.steps for row in found.rows] == steps
    assert [row.result for row in found.rows] == [{"list": sorted(one)} for one in lists.tolist()]


def test_a_search_gives_a_position_or_none() -> None:
    found = surpass.apply("teacher:bracket_search", [([1, 3, 5, 9], 5), ([1, 3], 4), "0.5,2.5:2.5"])
    assert found.results == [{"answer": 2}, {"answer": None}, {"answer": 1}]
    assert [row["answer"] for row in csv.DictReader(io.StringIO(found.as_csv()))] == ["2", "none", "1"]


def test_a_knapsack_gives_what_is_chosen_with_its_weight_and_value() -> None:
    (result,) = surpass.apply("teacher:depth_first", ["0.25,0.5,0.125:0.5,0.75,0.25:0.625"], limit="100n").results
    assert result == {"chosen": [1, 2], "sum of weights": 0.625, "sum of values": 1.0, "value": 1.0}


def test_a_task_that_is_measured_by_its_score_gives_it() -> None:
    task = replace(surpass.find_task("knapsack"), signature=None)
    agent = replace(surpass.find_teacher("depth_first"), task=task)
    (result,) = surpass.apply(agent, ["0.25,0.5,0.125:0.5,0.75,0.25:0.625"], limit="100n").results
    assert result is not None
    assert result["best"] == 1.0


def test_what_is_not_solved_has_no_result_and_says_why() -> None:
    found = surpass.apply("teacher:bubble_sort", [[3, 1, 2], [1, 2]], limit="1")
    assert [row.is_solved for row in found.rows] == [False, True]
    assert found.results == [None, {"list": [1, 2]}]
    assert "1 list not, the first at list 0: step limit" in found.summary
    assert json.loads(json.dumps(found.as_json()))["solved"] == 1


# Programs that copy values, and tasks with several arrays

REPEATS, MERGE = EXAMPLES / "remove_repeats.py", EXAMPLES / "merge.py"


def test_values_that_a_program_copies_are_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("5,5,5.5\n7,7,7,9\n1e3,1000,-0.50,-0.50,1.50\n4\n")
    ended = call_here("apply", "teacher:keep_firsts", "--task", REPEATS, "--data", path)
    assert ended.returncode == 0
    assert [row["A"] for row in csv.DictReader(io.StringIO(ended.stdout))] == ["5,5.5", "7,9", "1e3,-0.50,1.50", "4"]


def test_values_that_a_program_copies_come_back_as_the_numbers_that_they_were() -> None:
    lists = [[5, 5, 5.5], [7, 7, 7, 9], [0.5, 0.5], [10**30, 10**30, -1]]
    found = surpass.apply("teacher:keep_firsts", lists, task=REPEATS)
    assert found.results == [{"A": [5, 5.5]}, {"A": [7, 9]}, {"A": [0.5]}, {"A": [10**30, -1]}]
    rows = surpass.apply("teacher:keep_firsts", np.array([[0.25, 0.25, 2.0]]), task=REPEATS)
    assert rows.results == [{"A": [0.25, 2.0]}]


def test_copies_beyond_the_written_ones_are_values_too() -> None:
    """Without a register that says how long the result is, all of the array is one."""
    agent = surpass.find_agent("teacher:keep_firsts")
    task = as_task(REPEATS)
    whole = dataclasses.replace(task, memory=dataclasses.replace(task.memory, results={}))
    program = dataclasses.replace(surpass.program(agent), task=whole)
    (result,) = surpass.apply(program, [[7.5, 7.5, 7.5, 9]]).results
    assert result == {"list": [7.5, 9, 7.5, 9], "at": 4, "kept": 2}


def test_a_hidden_register_may_hold_the_length_of_a_result() -> None:
    task = as_task(REPEATS)
    hidden = dataclasses.replace(task, memory=dataclasses.replace(task.memory, hidden=("kept",)))
    program = dataclasses.replace(surpass.program("teacher:keep_firsts", task=REPEATS), task=hidden)
    assert surpass.apply(program, [[2, 2, 1], []]).results == [{"A": [2, 1]}, {"A": []}]


def test_values_of_a_task_that_says_itself_what_its_items_are_stay_as_written() -> None:
    found = surpass.apply("teacher:one_pass", ["2.0,0,1.0,2,00"], task=EXAMPLES / "dutch_flag.py")
    assert [row.result["list"] for row in found.rows if row.result] == [["0", "00", "1.0", "2.0", "2"]]


@pytest.mark.parametrize("texts", [(), ("?", "?", "?")])
def test_a_rank_is_no_value_where_a_task_does_not_say_what_its_items_are(texts: tuple[str, ...]) -> None:
    task = as_task(REPEATS)
    inputs = dataclasses.replace(task.inputs, read=lambda parts: (surpass.list_inputs().read(parts)[0], texts))
    program = dataclasses.replace(
        surpass.program("teacher:keep_firsts", task=REPEATS), task=dataclasses.replace(task, inputs=inputs)
    )
    assert surpass.apply(program, [[1, 1, 2, 3], [5, 5, 5.5]]).results == [{"A": [1, 2, 3]}, {"A": [5, 5.5]}]


def test_the_array_that_a_task_names_is_the_result(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("1,4.0,4:2,4,9.5\n0:0\n1e3:2.50\n")
    found = surpass.apply("teacher:take_smaller", path, task=MERGE)
    assert found.results == [{"C": ["1", "2", "4.0", "4", "4", "9.5"]}, {"C": ["0", "0"]}, {"C": ["2.50", "1e3"]}]


def test_a_task_with_several_arrays_that_names_none_returns_all_and_its_registers() -> None:
    task = as_task(MERGE)
    every = dataclasses.replace(task, memory=dataclasses.replace(task.memory, results={}))
    program = dataclasses.replace(surpass.program("teacher:take_smaller", task=MERGE), task=every)
    (result,) = surpass.apply(program, ["3,3.0:1,3.00"]).results
    arrays = {"A": ["3", "3.0"], "B": ["1", "3.00"], "C": ["1", "3", "3.0", "3.00"]}
    assert result == arrays | {"i": 2, "j": 2, "k": 4}


@pytest.mark.parametrize("results", [{"D": ""}, {"C": "m"}, {"C": "A"}, {"C[0]": ""}, ("C",)])
def test_a_result_that_a_memory_does_not_have_is_refused(results: object) -> None:
    memory = as_task(MERGE).memory
    assert dataclasses.replace(memory, results={"C": "k", "i": ""}).results
    with pytest.raises(DeclarationError):
        dataclasses.replace(memory, results=results)


@pytest.mark.parametrize("line", ["1,,2", ",1", "1,x"])
def test_a_bad_line_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text(f"1,2\n{line}\n")
    with pytest.raises(DataFileError, match="line 2"):
        surpass.apply("teacher:bubble_sort", path)


@pytest.mark.parametrize("one", [[1, None], [1, float("nan")], [True, 2], 7, ["a"]])
def test_what_is_no_list_of_numbers_is_refused(one: object) -> None:
    with pytest.raises(InstanceError, match="list 0"):
        surpass.apply("teacher:bubble_sort", [one])


def test_the_command_writes_a_file_and_ends_with_1_if_something_is_unsolved(tmp_path: Path) -> None:
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    data.write_text("3,1,2\n1,2\n")
    words = ("apply", "teacher:bubble_sort", "--data", data, "--out", out)
    ended = call_here(*words)
    assert ended.returncode == 0
    assert "solved 2 of 2 lists" in ended.stdout
    assert out.read_text().splitlines()[1].endswith('"1,2,3"')
    assert call_here(*words, "--limit", "1").returncode == 1
    assert out.read_text().splitlines()[1] == "line 1,no,step limit,1,"
