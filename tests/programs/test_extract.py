"""Extraction: what comes out is exact on everything that occurred, and short."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher, known_teachers
from surpass.engine.probes import Effort
from surpass.engine.run import run
from surpass.errors import SettingError, WrongAnswerError
from surpass.machine.interface import NO_ACTION
from surpass.programs.collect import Collector
from surpass.programs.extract import Extraction, check_program, extract, write_program
from surpass.programs.listing import list_program
from surpass.programs.program import Function, Place, Program, Rule
from surpass.table import Table
from surpass.tasks.enumeration import weak_orders
from surpass.tasks.lists import from_lists
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Request
from surpass.tasks.teacher import Teacher
from surpass.tasks.user_file import load_task_file
from tests.programs.extracted import extraction_of, program_of, table_of

TASKS = [task for task in PAPER_TASKS if not task.interface.is_full_view]


@pytest.mark.parametrize("name", [t.name.partition(":")[2] for t in known_teachers() if t.task in TASKS])
def test_the_rules_alone_do_what_the_teacher_does_on_fresh_instances(name):
    program, teacher = program_of(f"teacher:{name}"), find_teacher(name)
    for size, data in [(1, 0), (2, 1), (12, 1), (40, 0), (60, -1)]:
        kind = list(teacher.task.inputs.draw)[data % len(teacher.task.inputs.draw)]
        instances = teacher.task.draw(Request(size=size, count=40, seed=99, data=kind))
        expected, actual = run(teacher, instances), run(program, instances)
        assert (actual.steps == expected.steps).all()
        assert (actual.outcomes == expected.outcomes).all()
        assert (actual.scores == expected.scores).all()


def test_programs_of_sorting_teachers_sort_every_small_list():
    for name in ("insertion_sort", "quick_sort", "hoare_sort"):
        program = program_of(f"teacher:{name}")
        for size in range(7):
            for lists in weak_orders(size):
                assert run(program, from_lists(lists)).solved.all()


def test_extraction_ends_with_the_last_observation_and_asks_nobody_whether_answers_are_right():
    asked = []
    (task,) = load_task_file(Path(__file__).parents[2] / "examples" / "minimum.py")
    judging = dataclasses.replace(task, find_wrong=lambda before, *_: asked.append(1) or np.zeros(before.count, bool))
    scanning = Teacher("teacher:scanning", judging, find_teacher("scan").choose, "")
    quick = extract(scanning)
    assert quick.evidence.instances < 100
    assert len(quick.table) == task.interface.observation_count
    assert not asked
    assert run(scanning, judging.draw(Request(size=3, count=2))).solved.all()
    assert asked


def test_insertion_sort_comes_out_as_a_few_rules():
    program = program_of("teacher:insertion_sort")
    assert len(program.rules) <= 6
    assert [len(function.places) for function in program.functions] == [1]


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


def test_functions_and_places_that_do_the_same_are_one():
    (function,) = program_of("teacher:hoare_sort").functions
    assert function.ids == (0, 1)
    (function,) = program_of("teacher:linear_search").functions
    assert len(function.places) == 1
    assert len(function.places[0].after) == 2


def test_equal_seeds_give_equal_programs(small_effort):
    first, second = (extract(find_teacher("insertion_sort"), seed=3) for _ in range(2))
    assert first.program == second.program
    assert (first.table.observations == second.table.observations).all()
    assert first.evidence == second.evidence


def test_a_program_is_its_own_at_once(monkeypatch):
    program = program_of("teacher:insertion_sort")
    monkeypatch.setattr(Collector, "collect", lambda *_, **__: pytest.fail("an agent was run"))
    assert extract(program) == Extraction(program, None, None)


def test_the_table_holds_the_agents_actions():
    teacher, table = find_teacher("insertion_sort"), table_of("teacher:insertion_sort")
    observations, actions = table.entries()
    assert (actions == teacher.actions(observations)).all()
    assert not table.holds(np.array([SORT_BUBBLE.interface.observation_count])).any()


def test_a_full_view_has_no_program():
    with pytest.raises(SettingError):
        extract(find_teacher("selection_sort"))


def test_an_agent_that_meets_nothing_has_an_empty_program():
    program = write_program("nothing", Table(SORT_BUBBLE))
    assert program.functions == ()
    assert program.rules == ()
    assert list_program(program) == []
    assert program.actions(np.array([5])).tolist() == [NO_ACTION]


def test_an_agent_without_an_action_is_shown_as_it_is():
    actions = np.array([NO_ACTION, *[3] * 9])
    program = write_program("stuck", Table.holding(SORT_BUBBLE, np.arange(10), actions))
    assert (program.actions(np.arange(10)) == actions).all()
    assert any("no action" in line.text for line in list_program(program))


def test_places_that_never_occurred_have_no_action():
    observations, actions = table_of("teacher:quick_sort").entries()
    table = Table.holding(find_teacher("quick_sort").task, observations[::50], actions[::50])
    program, interface = write_program("few", table), table.task.interface
    row = interface.digits(observations[:1])
    row[0, interface.feature_index["previous"]] = 1 + interface.parse_action("Swap(4, 4)")
    assert program.actions(interface.pack_digits(row)).tolist() == [NO_ACTION]


# Changed instances


def test_changed_instances_show_what_drawn_ones_did_not(monkeypatch):
    monkeypatch.setattr("surpass.programs.collect.EFFORT", Effort(drawn=3, large=0))
    monkeypatch.setattr("surpass.programs.collect.SMALL_SIZES", (4, 6))
    collector = Collector(find_teacher("bubble_sort"))
    collector.collect()
    before, instances = len(collector.table), collector.instances
    collector.collect_changed()
    assert collector.instances > instances
    assert len(collector.table) > before
    observations, actions = collector.table.entries()
    assert (find_teacher("bubble_sort").actions(observations) == actions).all()


# Wrong programs


def with_rules(program: Program, change) -> Program:
    """Return a program with other rules: `change` takes each rule's number and the rule, and gives rules."""
    number, functions = iter(range(10_000)), []
    for function in program.functions:
        places = (
            Place(p.after, tuple(new for rule in p.rules for new in change(next(number), rule)))
            for p in function.places
        )
        functions.append(Function(function.ids, tuple(places)))
    return Program(program.name, program.task, tuple(functions))


@pytest.mark.parametrize("name", ["insertion_sort", "quick_sort", "hoare_sort", "bracket_search", "depth_first"])
def test_a_program_with_any_one_wrong_missing_or_negated_rule_is_caught(name):
    program, table, _ = extraction_of(f"teacher:{name}")
    interface = program.task.interface
    check_program(program, table)
    assert with_rules(program, lambda _, rule: [rule]) == program
    for wrong, right in enumerate(program.rules):
        changes = [[Rule(right.conditions, (right.action + 1) % interface.action_count)], []]
        for k, test in enumerate(right.conditions):
            other = (*right.conditions[:k], test.negated(interface), *right.conditions[k + 1 :])
            changes.append([Rule(other, right.action)])
        for change in changes:
            changed = with_rules(program, lambda k, rule, wrong=wrong, new=change: new if k == wrong else [rule])
            with pytest.raises(WrongAnswerError):
                check_program(changed, table)


def test_one_wrong_entry_among_thousands_is_caught():
    program = program_of("teacher:quick_sort")
    observations, actions = table_of("teacher:quick_sort").entries()
    actions[-1] = (actions[-1] + 1) % program.task.interface.action_count
    with pytest.raises(WrongAnswerError):
        check_program(program, Table.holding(program.task, observations, actions))


def test_rules_that_fresh_instances_refute_are_written_again(monkeypatch):
    """An agent with a rule that only lists longer than the first ones show still comes out exactly."""
    teacher = find_teacher("insertion_sort")
    interface = SORT_BUBBLE.interface
    rare = table_of("teacher:insertion_sort").observations[::400]
    odd = interface.parse_action("AssignVar(3, 3)")
    agent = SimpleNamespace(
        name="scripted",
        task=SORT_BUBBLE,
        actions=lambda seen: np.where(np.isin(seen, rare), odd, teacher.actions(seen)),
    )
    monkeypatch.setattr(Collector, "collect_small", lambda self, progress: None)
    monkeypatch.setattr("surpass.programs.collect.EFFORT", Effort(drawn=3, cost=20, large=0))
    monkeypatch.setattr("surpass.programs.collect.CHANGED_ROUNDS", 2)
    monkeypatch.setattr("surpass.programs.extract.MOST_ROUNDS", 6)
    program, table, evidence = extract(agent)
    assert any(one.wrong for one in evidence.rounds)
    assert (program.actions(table.observations) == agent.actions(table.observations)).all()
    assert odd in {rule.action for rule in program.rules}
