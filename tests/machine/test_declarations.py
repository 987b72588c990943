"""A wrong declaration is refused with a sentence that names what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from surpass import PREVIOUS_ACTION, Feature, Instruction, Interface, binary, flag, integer, pointer
from surpass.errors import DeclarationError, SettingError, SurpassError
from surpass.machine.instructions import Operand
from surpass.tasks.registry import find_task, known_tasks, register_task
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Inputs, Memory
from surpass.tasks.variables import V

GO = Instruction("Go")


def change(**fields: Any) -> Callable[[], Any]:
    return lambda: dataclasses.replace(SORT_BUBBLE, **fields)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two features of one name": (
        lambda: Interface([flag("ripe"), flag("ripe")], [GO]),
        "two features are named 'ripe'",
    ),
    "two instructions of one name": (lambda: Interface([flag("ripe")], [GO, GO]), "two instructions are named 'Go'"),
    "two operands of one name": (
        lambda: Instruction("Go", binary("way", (0, 1)), binary("way", (0, 1))),
        "instruction Go has two operands named 'way'",
    ),
    "an operand with no values": (lambda: integer("way", ()), "operand 'way' has no values"),
    "an operand with a value twice": (lambda: integer("way", (1, 1)), "operand 'way' lists a value twice"),
    "a binary operand with three values": (
        lambda: Operand("way", "binary", (1, 2, 3)),
        "binary operand 'way' has 3 values instead of 2",
    ),
    "a pointer with values": (lambda: Operand("way", "pointer", (1,)), "pointer operand 'way' takes no values"),
    "a feature without a name": (lambda: flag(" "), "a feature needs a name"),
    "a feature with no values": (lambda: Feature("ripe", ()), "feature 'ripe' has no values"),
    "a feature with a value twice": (lambda: Feature("ripe", (1, 1)), "feature 'ripe' lists a value twice"),
    "labels that do not match": (
        lambda: Feature("ripe", (0, 1), labels=("no",)),
        "feature 'ripe' has 1 labels for 2 values",
    ),
    "an unknown encoding": (
        lambda: Feature("ripe", (0, 1), encoding="binary"),  # type: ignore[arg-type]
        "'ripe' has encoding 'binary'; allowed: one-hot, number",
    ),
    "a number that is none": (
        lambda: Feature("ripe", ("a", "b"), encoding="number"),
        "feature 'ripe' is encoded as a number",
    ),
    "an instruction that is no word": (lambda: Instruction("Go now"), "'Go now' is not a plain word"),
    "no instructions": (lambda: Interface([flag("ripe")], []), "at least one instruction"),
    "no features": (lambda: Interface([], [GO]), "at least one feature"),
    "features beside pointers": (
        lambda: Interface([flag("ripe")], [Instruction("Point", pointer("i"))]),
        "feature 'ripe' stands beside a pointer",
    ),
    "a task name with blanks": (change(name="My Task"), "task name 'My Task'"),
    "a feature without a kernel": (
        change(name="blind", interface=Interface([flag("ripe")], SORT_BUBBLE.interface.instructions)),
        "task 'blind' needs a kernel for its feature 'ripe'",
    ),
    "an instruction without a kernel": (
        change(name="idle", interface=Interface(SORT_BUBBLE.interface.features, [GO])),
        "task 'idle' needs a kernel for its instruction Go",
    ),
    "registers without names": (
        change(name="nameless", memory=Memory(registers=(5, 6))),
        "the registers of task 'nameless' have no names; make them with surpass.registers",
    ),
    "a hidden register that is none": (
        change(name="hider", memory=Memory(registers=V, hidden=("v9",))),
        "task 'hider' hides 'v9', which is none of its registers",
    ),
    "more saved than registers": (
        change(name="saver", memory=Memory(registers=V, saved=5)),
        "task 'saver' saves 5 registers.* has 4",
    ),
    "fewer saved than none": (change(name="saver", memory=Memory(registers=V, saved=-1)), "saves -1 registers"),
    "a task without a distribution": (
        change(name="dry", inputs=Inputs(draw={})),
        "task 'dry' needs at least one way to draw instances",
    ),
    "queries to measure by that are none": (
        lambda: dataclasses.replace(SEARCH.inputs, eval_only_queries=("papers",)),
        "eval_only_queries of inputs is .'papers',.; it must be some of `queries` after the first",
    ),
    "usual queries that are for measuring alone": (
        lambda: dataclasses.replace(SEARCH.inputs, eval_only_queries=("mixed",)),
        "eval_only_queries of inputs is .'mixed',.; it must be some of `queries` after the first",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_declaration_is_refused_and_named(case: str) -> None:
    declare, message = REFUSED[case]
    with pytest.raises(DeclarationError, match=message):
        declare()


def test_more_observations_than_63_bits_are_refused_at_the_feature_that_is_too_much() -> None:
    bits = [flag(f"bit {k}") for k in range(64)]
    assert Interface(bits[:62], [GO]).observation_count == 2**62
    with pytest.raises(
        DeclarationError, match=r"feature 'bit 62' takes the number of observations to 9.22e\+18, beyond 63"
    ):
        Interface(bits, [GO])


def test_a_previous_action_counts_towards_the_63_bits() -> None:
    bits = [flag(f"bit {k}") for k in range(61)]
    many = Instruction("Pick", integer("which", tuple(range(3))))
    assert Interface([*bits, PREVIOUS_ACTION], [GO]).observation_count == 2**62
    with pytest.raises(DeclarationError, match="feature 'previous' takes the number of observations"):
        Interface([*bits, PREVIOUS_ACTION], [many])


def test_a_task_with_an_unreadable_limit_is_refused() -> None:
    with pytest.raises(SettingError, match="the limit 'n\\^3' is not"):
        dataclasses.replace(SORT_BUBBLE, limit="n^3")


def test_a_second_task_of_a_known_name_is_refused() -> None:
    with pytest.raises(DeclarationError, match="a task named 'sort-bubble' exists already"):
        register_task(dataclasses.replace(SORT_BUBBLE))
    assert register_task(SORT_BUBBLE) is find_task("sort-bubble") is SORT_BUBBLE


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SurpassError, match="unknown task 'sort-bubbel', perhaps sort-bubble or sort-full; known: "
    ) as refused:
        find_task("sort-bubbel")
    assert all(task.name in str(refused.value) for task in known_tasks())
