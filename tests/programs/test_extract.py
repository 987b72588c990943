"""Extraction: what comes out is exact, short, and does what it says about observations that were never met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surpass.agents.teacher import find_teacher
from surpass.engine.run import run
from surpass.errors import SettingError, WrongAnswerError
from surpass.programs.collect import Collector
from surpass.programs.extract import check_program, extract, write_program
from surpass.programs.listing import list_program
from surpass.programs.program import Branch, Function, Leaf, Location, Program
from surpass.programs.rules import code_size
from surpass.table import NO_ACTION, Table
from surpass.tasks.enumeration import weak_orders
from surpass.tasks.lists import from_lists
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Request
from tests.programs.extracted import Scripted, is_agent, program_of, without_agent

TEACHERS = (
    "bubble_sort",
    "insertion_sort",
    "quick_sort",
    "hoare_sort",
    "linear_search",
    "binary_search",
    "bracket_search",
    "depth_first",
)


@pytest.mark.parametrize("name", TEACHERS)
def test_the_rules_alone_do_what_the_teacher_does_on_fresh_instances(name):
    program, teacher = program_of(f"teacher:{name}"), find_teacher(name)
    alone = without_agent(program)
    assert is_agent(alone)
    for size, data in [(1, 0), (2, 1), (12, 1), (40, 0), (60, -1)]:
        kind = list(teacher.task.data)[data % len(teacher.task.data)]
        instances = teacher.task.draw(Request(size=size, count=40, seed=99, data=kind))
        expected, actual = run(teacher, instances), run(alone, instances)
        assert (actual.steps == expected.steps).all()
        assert (actual.outcomes == expected.outcomes).all()
        assert (actual.scores == expected.scores).all()


def test_programs_of_sorting_teachers_sort_every_small_list():
    for name in ("insertion_sort", "quick_sort", "hoare_sort"):
        alone = without_agent(program_of(f"teacher:{name}"))
        for size in range(7):
            for lists in weak_orders(size):
                assert run(alone, from_lists(lists)).solved.all()


def test_insertion_sort_comes_out_as_a_few_rules():
    program = program_of("teacher:insertion_sort")
    assert len(program.rules) <= 6
    assert [len(function.locations) for function in program.functions] == [1]


def test_quick_sort_comes_out_as_two_functions_in_straight_code():
    program = program_of("teacher:quick_sort")
    text = "\n".join(line.text for line in list_program(program))
    assert [function.ids for function in program.functions] == [(0,), (1,), (2,)]
    assert text.startswith("main:\n    FunctionCall(1, 3, 4, 3, 4, 4)")
    sort_range = text[text.index("function 1:") : text.index("function 2:")].split("\n")
    assert [line.strip() for line in sort_range[1:4]] == [
        "FunctionCall(2, 3, 4, 3, 4, 1)",
        "AssignVar(2, 1)",
        "MoveVar(1, -1)",
    ]
    assert "Return(4)" in sort_range[-2]
    assert "go to" not in text


def test_functions_that_do_the_same_are_one():
    (function,) = program_of("teacher:hoare_sort").functions
    assert function.ids == (0, 1)


def test_places_that_do_the_same_are_one():
    (function,) = program_of("teacher:linear_search").functions
    assert len(function.locations) == 1
    assert len(function.locations[0].after) == 2


@pytest.mark.parametrize("name", TEACHERS)
def test_every_rule_stands_on_one_line(name):
    program = program_of(f"teacher:{name}")
    assert sorted(rule for line in list_program(program) for rule in line.rules) == list(range(len(program.rules)))
    assert [rule.number for rule in program.rules] == list(range(len(program.rules)))


def test_equal_seeds_give_equal_programs():
    first, second = (extract(find_teacher("depth_first"), seed=3) for _ in range(2))
    assert first.functions == second.functions
    assert (first.table.observations == second.table.observations).all()
    assert first.evidence == second.evidence


def test_the_table_holds_what_the_agent_met_on_small_and_drawn_instances():
    teacher = find_teacher("insertion_sort")
    table = program_of("teacher:insertion_sort").table
    observations, actions = table.entries()
    assert (actions == teacher.actions(observations)).all()
    assert (np.diff(observations) > 0).all()
    collector = Collector(teacher, seed=0)
    collector.collect_small()
    assert table.holds(collector.table.observations).all()
    assert not table.holds(np.array([-1, SORT_BUBBLE.interface.observation_count])).any()


def test_a_full_view_has_no_program():
    with pytest.raises(SettingError, match="no table"):
        extract(find_teacher("selection_sort"))


def test_an_agent_that_meets_nothing_has_an_empty_program():
    program = write_program("nothing", Table(SORT_BUBBLE))
    assert program.functions == ()
    assert program.rules == ()
    assert list_program(program) == []
    assert program.actions(np.array([5])).tolist() == [NO_ACTION]


def test_an_agent_without_an_action_is_told_as_it_is():
    table = Table.holding(SORT_BUBBLE, np.arange(10), np.array([NO_ACTION, *[3] * 9]))
    program = write_program("stuck", table)
    assert (program.actions(np.arange(10)) == table.entries()[1]).all()
    assert any("no action" in line.text for line in list_program(program))


# What is done with observations that were never met


def quick_program() -> Program:
    """Return a program of quick sort that has met few observations."""
    teacher = find_teacher("quick_sort")
    table = program_of("teacher:quick_sort").table
    observations, actions = table.entries()
    return write_program("few", Table.holding(table.task, observations[::50], actions[::50]), teacher)


def test_an_unmet_observation_goes_to_the_agent_and_is_counted():
    program, whole = quick_program(), program_of("teacher:quick_sort").table
    asked = []
    origin = Scripted(program.task, lambda seen: asked.append(seen) or np.full(len(seen), 7))
    program = replace(program, origin=origin)
    met = program.table.holds(whole.observations)
    answers = program.actions(whole.observations)
    assert (answers[met] == whole.entries()[1][met]).all()
    assert (answers[~met] == 7).all()
    assert np.concatenate(asked).tolist() == whole.observations[~met].tolist()
    assert program.unmet == set(whole.observations[~met].tolist())


def test_without_the_agent_the_rules_answer_and_places_never_met_have_no_action():
    program = without_agent(quick_program())
    interface = program.task.interface
    row = interface.digits(program.table.observations[:1])
    row[0, interface.feature_index["previous"]] = 1 + interface.parse_action("Swap(4, 4)")
    strange = interface.pack_digits(row)
    assert program.actions(strange).tolist() == [NO_ACTION]
    assert program.unmet == set(strange.tolist())
    new = program_of("teacher:quick_sort").table.observations
    assert (program.actions(new) == program.follow(new)).all()


def test_observations_in_the_table_are_not_counted():
    program = without_agent(program_of("teacher:depth_first"))
    program.actions(program.table.observations)
    assert program.unmet == set()


# Wrong programs


def change_leaf(program: Program, rule: int, action: int) -> Program:
    """Return a program one of whose rules takes another action."""

    def walk(node):
        if isinstance(node, Leaf):
            return replace(node, action=action) if node.rule == rule else node
        return Branch(node.tests, walk(node.then), walk(node.otherwise))

    functions = tuple(
        Function(f.ids, tuple(Location(p.after, walk(p.code)) for p in f.locations)) for f in program.functions
    )
    return Program(program.name, program.task, functions, program.table)


@pytest.mark.parametrize("name", ["insertion_sort", "hoare_sort", "bracket_search", "depth_first"])
def test_a_program_with_any_one_wrong_rule_is_caught(name):
    program = program_of(f"teacher:{name}")
    check_program(program, program.table)
    for rule in program.rules:
        wrong = change_leaf(program, rule.number, (rule.action + 1) % program.task.interface.action_count)
        with pytest.raises(WrongAnswerError, match="otherwise than its table"):
            check_program(wrong, program.table)


def test_a_program_with_one_wrong_test_is_caught():
    program = program_of("teacher:insertion_sort")
    (function,) = program.functions
    code = function.locations[0].code
    for turned in (
        Branch(code.tests, code.otherwise, code.then),
        Branch((code.tests[0].negated(program.task.interface),), code.then, code.otherwise),
        code.otherwise,
    ):
        wrong = replace(program, functions=(Function((), (Location((), turned),)),))
        with pytest.raises(WrongAnswerError):
            check_program(wrong, program.table)


def test_a_program_without_one_of_its_places_is_caught():
    program = program_of("teacher:quick_sort")
    for k, function in enumerate(program.functions):
        for place in function.locations:
            rest = Function(function.ids, tuple(p for p in function.locations if p is not place))
            functions = (*program.functions[:k], rest, *program.functions[k + 1 :])
            with pytest.raises(WrongAnswerError):
                check_program(Program("less", program.task, functions, program.table), program.table)


def test_one_wrong_entry_among_thousands_is_caught():
    program = program_of("teacher:quick_sort")
    observations, actions = program.table.entries()
    actions[-1] = (actions[-1] + 1) % program.task.interface.action_count
    with pytest.raises(WrongAnswerError, match=r"answers 1 of [0-9]+ observations otherwise.*function = "):
        check_program(program, Table.holding(program.task, observations, actions))


def test_rules_that_fresh_instances_refute_are_written_again(monkeypatch):
    """An agent with a rule that only lists longer than those first met show is still told exactly."""
    teacher = find_teacher("insertion_sort")
    interface = SORT_BUBBLE.interface
    rare = program_of("teacher:insertion_sort").table.observations[::400]
    odd = interface.parse_action("AssignVar(3, 3)")
    agent = Scripted(SORT_BUBBLE, lambda seen: np.where(np.isin(seen, rare), odd, teacher.actions(seen)))
    monkeypatch.setattr(Collector, "collect_small", lambda self, progress: None)
    monkeypatch.setattr("surpass.programs.collect.MOST_DRAWN", 3)
    monkeypatch.setattr("surpass.programs.collect.MOST_ITEMS", 20)
    program = extract(agent)
    assert any(one.wrong for one in program.evidence.rounds)
    assert (program.follow(program.table.observations) == agent.actions(program.table.observations)).all()
    assert sum(code_size(place.code) for f in program.functions for place in f.locations) > 7
