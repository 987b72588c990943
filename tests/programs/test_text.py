"""Program files: read back exactly, and refused with the line and what was wrong."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.agents import find_agent
from surpass.errors import ProgramError
from surpass.machine.features import Feature, flag
from surpass.machine.instructions import Instruction, integer
from surpass.machine.interface import Interface
from surpass.programs.program import Function, Place, Program, Rule
from surpass.programs.program import Test as OneTest
from surpass.programs.text import parse_program, read_program
from surpass.tasks.registry import find_task
from surpass.tasks.sort_bubble import SORT_BUBBLE
from tests.programs.drawn import programs
from tests.programs.extracted import program_of

TASKS = ("sort-bubble", "sort-quick", "search", "knapsack")

INSERTION = """\
# insertion sort, by hand            (a comment)

task sort-bubble

A[v2] > A[v2+1]: SwapWithNext(2)   # the larger one goes up
v1=v2: MoveVar(1,+1)
A[v2] < A[v2-1]   and A[v2] < A[v2+1]: MoveVar(2, -1)
else: AssignVar(2, 1)
"""
SORT = "task sort-bubble\n"
QUICK = "task sort-quick\n"


@pytest.mark.parametrize("name", TASKS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_every_program_is_read_back_exactly(name, data):
    program = data.draw(programs(find_task(name)))
    assert parse_program(program.text, "drawn.rules") == program


@pytest.mark.parametrize("name", ["insertion_sort", "hoare_sort", "bracket_search", "depth_first"])
def test_extracted_programs_are_written_and_read_back(name, tmp_path):
    program, path = program_of(f"teacher:{name}"), tmp_path / "own.rules"
    program.write(path)
    again = read_program(path)
    assert again == program
    assert again.name == str(path)
    assert find_agent(str(path)) == program


def test_a_file_as_a_person_writes_it_is_read():
    program = parse_program(INSERTION, "x")
    assert [str(SORT_BUBBLE.interface.actions[rule.action]) for rule in program.rules] == [
        "SwapWithNext(2)",
        "MoveVar(1, +1)",
        "MoveVar(2, -1)",
        "AssignVar(2, 1)",
    ]
    assert [len(rule.conditions) for rule in program.rules] == [1, 1, 2, 0]
    assert parse_program(INSERTION.replace("\n", "\r\n"), "x") == program


def test_conditions_are_written_in_words():
    program = parse_program(SORT + "(v1 < v2 or v1 > v2) and not A[v1] = A[v3]: SwapWithNext(1)\n", "x")
    conditions = SORT_BUBBLE.interface.conditions
    expected = (OneTest(*conditions["v1 != v2"]), OneTest(*conditions["A[v1] = A[v3]"]).negated(SORT_BUBBLE.interface))
    assert program.rules[0].conditions == expected
    assert "v1 != v2 and " in program.text


def test_rules_without_a_heading_hold_everywhere():
    program = parse_program("task search\nv1 < v2: Found(1)\nelse: MoveVar(1, +1)\n", "x")
    assert len(program.places[0].after) == program.task.interface.action_count + 1
    assert "anywhere" not in program.text
    assert parse_program(program.text, "x") == program
    assert parse_program("task search\nanywhere:\n  v1 < v2: Found(1)\n  else: MoveVar(1, +1)\n", "x") == program


def test_a_rule_that_can_never_fire_is_no_error():
    text = SORT + "v1 = v2: SwapWithNext(1)\nv1 = v2 and v1 <= v2: SwapWithNext(2)\n"
    assert len(parse_program(text, "x").rules) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# nothing\n\n", 1),
        ("v1 = v2: MoveVar(1, +1)\n", 1),
        ("task\n", 1),
        ("\ntask sort-buble\n", 2),
        ("task sort-full\nelse: Swap(1, 2)", 1),
        (SORT, 1),
        (SORT + "v1 = v2\n", 2),
        (SORT + "v1 = v2:\n", 2),
        (SORT + "v1 = v9: MoveVar(1, +1)\n", 2),
        (SORT + "\nA[v2] > A[v2+1] and: MoveVar(1, +1)\n", 3),
        (SORT + "v1 = v2: MoveVer(1, +1)\n", 2),
        (SORT + "v1 = v2: MoveVar(7, +1)\n", 2),
        (SORT + "else: MoveVar(1, +1)\nv1 = v2: MoveVar(1, -1)\n", 3),
        (SORT + "v1 < v2 and v1 = v2: MoveVar(1, +1)\n", 2),
        (SORT + "not (v1 <= v2 or v1 > v2): MoveVar(1, +1)\n", 2),
        (SORT + "(v1 < v2 or v2 < v3): MoveVar(1, +1)\n", 2),
        (SORT + "@99 in {1}: MoveVar(1, +1)\n", 2),
        (SORT + "@1 in {}: MoveVar(1, +1)\n", 2),
        (SORT + "v1 = v2: @999\n", 2),
        (SORT + "v1 = v2: MoveVar(1)\n", 2),
        (SORT + "v1 = v2: Move\0Var\n", 2),
        (QUICK + "main, at the start:\n", 2),
        (QUICK + "main, at the start:\nfunction 1, at the start:\n  else: Return(1)\n", 3),
        (QUICK + "at the start:\n  else: Return(1)\n", 2),
        (QUICK + "mian, at the start:\n  else: Return(1)\n", 2),
        (QUICK + "main, at the end:\n  else: Return(1)\n", 2),
        (QUICK + "main, after Retrun(1):\n  else: Return(1)\n", 2),
        (QUICK + "main and main, at the start:\n  else: Return(1)\n", 2),
        (QUICK + "main, anywhere:\n  else: Return(1)\nmain, after Return(2):\n  else: Return(2)\n", 4),
        (QUICK + "main, at the start:\n  else: Return(1)\nmain and function 1, anywhere:\n  else: Return(2)\n", 4),
        (QUICK + "else: Return(1)\nmain, at the start:\n  else: Return(1)\n", 3),
        (QUICK + "main, at the start:\n  previous = Return(1): Return(1)\n", 3),
        (QUICK + "main, at the start:\n  function = 1: Return(1)\n", 3),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_its_line(text, line):
    with pytest.raises(ProgramError) as refused:
        parse_program(text, "my.rules")
    assert str(refused.value).startswith(f"my.rules, line {line}: ")
    assert "\n" not in str(refused.value)


WORDS = [*re.findall(r"\S+|\s", INSERTION), "(", ")", "{", "}", "not", "or", "in", "@3", "\n", "main, at the start:\n"]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_text_is_read_or_refused_in_one_sentence(words):
    for text in ("".join(words), SORT + " ".join(words), QUICK + " ".join(words)):
        with suppress(ProgramError):
            program = parse_program(text, "any.rules")
            assert parse_program(program.text, "any.rules") == program


def test_files_that_are_no_text_or_of_another_task_are_refused(tmp_path):
    path = tmp_path / "binary.rules"
    for content in (np.random.default_rng(0).bytes(5000), b"#" * 10_000_001):
        path.write_bytes(content)
        with pytest.raises(ProgramError):
            read_program(path)
    for unreadable in (tmp_path / "missing.rules", tmp_path):
        with pytest.raises(ProgramError):
            read_program(unreadable)
    path.write_text(INSERTION)
    with pytest.raises(ProgramError):
        read_program(path, task=find_task("search"))


def test_long_rules_are_read_and_deep_brackets_refused():
    many = " and ".join(["v1 <= v2"] * 1000)
    text = SORT + f"{many}: SwapWithNext(1)\n" * 50
    assert len(parse_program(text, "x").rules) == 50
    for deep in ("(" * 5000 + "v1 = v2" + ")" * 5000, "not " * 5001 + "v1 = v2"):
        with pytest.raises(ProgramError, match="line 52: "):
            parse_program(f"{text}{deep}: SwapWithNext(1)\n", "x")


SOME_KERNEL = SORT_BUBBLE.start
AMBIGUOUS = Interface(
    [
        flag("a and b", SOME_KERNEL),
        flag("a", SOME_KERNEL),
        flag("not a", SOME_KERNEL),
        Feature("size", (1, "1", 2), SOME_KERNEL),
        Feature("# big", ("x: y", "or", "}"), SOME_KERNEL),
        Feature("@1", (0, 1, 2), SOME_KERNEL),
    ],
    [Instruction("Go", integer("way", (0, 1)), does=SOME_KERNEL)],
)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_names_that_would_mean_two_things_are_written_as_numbers(data):
    task = replace(SORT_BUBBLE, interface=AMBIGUOUS)
    program = data.draw(programs(task))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surpass.programs.text.known_tasks", lambda: (task,))
        assert parse_program(program.text, "x") == program


def test_a_program_that_would_not_be_read_back_is_not_written(tmp_path: Path):
    path = tmp_path / "no.rules"
    never = (OneTest(0, frozenset([0])), OneTest(0, frozenset([1])))
    for rules in ((), (Rule((), 1), Rule((), 2)), (Rule(never, 1),), (Rule((OneTest(0, frozenset()),), 1),)):
        program = Program("odd", SORT_BUBBLE, (Function((), (Place((), rules),)),))
        with pytest.raises(ProgramError):
            program.write(path)
    assert not path.exists()
    with pytest.raises(ProgramError):
        parse_program(INSERTION, "x").write(tmp_path / "nowhere" / "x.rules")
