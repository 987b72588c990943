"""A program is a function of its rules: the compiled evaluator against the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surpass.errors import SettingError
from surpass.machine.features import Feature
from surpass.machine.instructions import Instruction
from surpass.machine.interface import NO_ACTION, Interface
from surpass.programs.evaluate import NO_RULE
from surpass.programs.program import Function, Place, Program, Rule, place_features
from surpass.programs.program import Test as OneTest
from surpass.programs.tree import as_rules, as_tree, follow_code, leaves
from surpass.tasks.registry import find_task
from tests.programs.drawn import programs

TASKS = ("sort-bubble", "sort-quick", "search", "knapsack")


def rule_by_definition(program: Program, digits: list[int]) -> int:
    """Return the number of the first rule that fits at the place where the code is."""
    function, previous = place_features(program.task.interface)
    for number, (owner, place, rule) in enumerate(program.placed):
        in_function = function is None or digits[function] in owner.ids
        is_here = in_function and (previous is None or digits[previous] in place.after)
        if is_here and all(digits[test.feature] in test.values for test in rule.conditions):
            return number
    return NO_RULE


def draw_observations(program: Program, seed: int) -> np.ndarray:
    """Return observations, many of them at places that the program has."""
    random, interface = np.random.default_rng(seed), program.task.interface
    digits = random.integers(0, interface.radices, (60, len(interface.radices)))
    function, previous = place_features(interface)
    for row in range(40):
        owner = program.functions[random.integers(len(program.functions))]
        place = owner.places[random.integers(len(owner.places))]
        if function is not None:
            digits[row, function] = random.choice(owner.ids)
        if previous is not None:
            digits[row, previous] = random.choice(place.after)
    return interface.pack_digits(digits)


@pytest.mark.parametrize("name", TASKS)
@settings(deadline=None, max_examples=60)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_first_rule_that_fits_gives_the_action(name, data, seed):
    program = data.draw(programs(find_task(name)))
    observations = draw_observations(program, seed)
    digits = program.task.interface.digits(observations)
    rules = [rule_by_definition(program, row) for row in digits.tolist()]
    actions = [NO_ACTION if rule == NO_RULE else program.rules[rule].action for rule in rules]
    assert program.rules_for(observations).tolist() == rules
    assert program.actions(observations).tolist() == actions


@settings(deadline=None, max_examples=100)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_rules_as_a_tree_do_the_same_and_stand_in_it_in_order(data, seed):
    program = data.draw(programs(find_task("sort-bubble")))
    observations = draw_observations(program, seed)
    (place,) = program.places
    tree = as_tree(place.rules, 5)
    digits = program.task.interface.digits(observations)
    assert follow_code(tree, digits).tolist() == program.actions(observations).tolist()
    numbers = [leaf.rule for leaf in leaves(tree) if leaf.rule != NO_RULE]
    assert numbers == list(range(5, 5 + len(place.rules)))
    again = Program("again", program.task, (Function((), (Place((), as_rules(tree)),)),))
    assert again.actions(observations).tolist() == program.actions(observations).tolist()


def test_programs_are_values():
    task = find_task("sort-bubble")

    def program(action: int, name: str = "one") -> Program:
        return Program(name, task, (Function((), (Place((), (Rule((OneTest(0, frozenset([1])),), action),)),)),))

    assert program(3) == program(3, "two")
    assert hash(program(3)) == hash(program(3, "two"))
    assert program(3) != program(4)
    assert program(3) != Program("one", find_task("knapsack"), program(3).functions)
    with pytest.raises(AttributeError):
        program(3).functions = ()


def test_a_feature_of_many_values_can_be_tested():
    go = find_task("search").interface.instructions[-1].does
    wide = Interface([Feature("n", tuple(range(200)), go)], [Instruction("Go", does=go), Instruction("Stop", does=go)])
    wanted = frozenset([0, 31, 32, 63, 64, 150, 199])
    rules = (Rule((OneTest(0, wanted),), 1), Rule((), 0))
    task = replace(find_task("sort-bubble"), interface=wide)
    program = Program("wide", task, (Function((), (Place((), rules),)),))
    assert program.actions(np.arange(200)).tolist() == [int(k in wanted) for k in range(200)]


def test_a_rule_that_tests_where_the_code_is_is_refused():
    task = find_task("search")
    _, previous = place_features(task.interface)
    place = Place((0,), (Rule((OneTest(previous, frozenset([1])),), 0),))
    with pytest.raises(SettingError, match="its place tells"):
        Program("lost", task, (Function((), (place,)),)).actions(np.array([0]))
