"""A wrong declaration is refused with a sentence that names what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surpass import PREVIOUS_ACTION, Feature, Instruction, Interface, binary, flag, integer, pointer
from surpass.errors import DeclarationError, SettingError, SurpassError
from surpass.machine.instructions import Operand
from surpass.tasks.drawing import Drawing
from surpass.tasks.registry import find_task, known_tasks, register_task
from surpass.tasks.search import SEARCH
from surpass.tasks.signature import Signature
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.task import Inputs, Memory, Reward
from surpass.tasks.variables import V

GO = Instruction("Go")


def change(**fields: Any) -> Callable[[], Any]:
    return lambda: dataclasses.replace(SORT_BUBBLE, **fields)


MINE = SORT_BUBBLE.interface
REFUSED: dict[str, Callable[[], Any]] = {
    "two features of one name": lambda: Interface([flag("ripe"), flag("ripe")], [GO]),
    "two instructions of one name": lambda: Interface([flag("ripe")], [GO, GO]),
    "two operands of one name": lambda: Instruction("Go", binary("way", (0, 1)), binary("way", (0, 1))),
    "an operand with no values": lambda: integer("way", ()),
    "an operand with a value twice": lambda: integer("way", (1, 1)),
    "a binary operand with three values": lambda: Operand("way", "binary", (1, 2, 3)),
    "a pointer with values": lambda: Operand("way", "pointer", (1,)),
    "a feature without a name": lambda: flag(" "),
    "a feature whose name is a number": lambda: flag(5),  # type: ignore[arg-type]
    "a feature with no values": lambda: Feature("ripe", ()),
    "a feature with a value twice": lambda: Feature("ripe", (1, 1)),
    "a feature whose values are a text": lambda: Feature("ripe", "ab"),  # type: ignore[arg-type]
    "an argument that is no whole number": lambda: Feature("ripe", (0, 1), None, (0.5,)),  # type: ignore[arg-type]
    "labels that do not match": lambda: Feature("ripe", (0, 1), labels=("no",)),
    "an unknown encoding": lambda: Feature("ripe", (0, 1), encoding="binary"),  # type: ignore[arg-type]
    "a number that is none": lambda: Feature("ripe", ("a", "b"), encoding="number"),
    "an instruction that is no word": lambda: Instruction("Go now"),
    "no instructions": lambda: Interface([flag("ripe")], []),
    "no features": lambda: Interface([], [GO]),
    "features beside pointers": lambda: Interface([flag("ripe")], [Instruction("Point", pointer("i"))]),
    "a task name with blanks": change(name="My Task"),
    "a feature without a kernel": change(interface=Interface([flag("ripe")], MINE.instructions)),
    "an instruction without a kernel": change(interface=Interface(MINE.features, [GO])),
    "registers without names": lambda: Memory(registers=(5, 6)),
    "a hidden register that is none": lambda: Memory(registers=V, hidden=("v9",)),
    "more saved than registers": lambda: Memory(registers=V, saved=5),
    "fewer saved than none": lambda: Memory(registers=V, saved=-1),
    "widths that shrink": lambda: Memory(item_width=lambda size: 10 - size),
    "a width that is no whole number": lambda: Memory(real_width=lambda size: size / 2),  # type: ignore[arg-type, return-value]
    "a task without a distribution": change(inputs=Inputs(draw={})),
    "a distribution that is no function": lambda: Inputs(draw={"uniform": 3}),  # type: ignore[dict-item]
    "sizes that are a number": change(sizes=5),
    "three sizes to learn on": change(training_sizes=(1, 2, 3)),
    "an infinite cost": lambda: Reward(step_cost=float("inf")),
    "queries to measure by that are none": lambda: dataclasses.replace(SEARCH.inputs, eval_only_queries=("papers",)),
    "usual queries for measuring alone": lambda: dataclasses.replace(SEARCH.inputs, eval_only_queries=("mixed",)),
    "a signature whose name is no word": lambda: Signature(name="a b", summary=""),
    "a query without a list": lambda: Signature(name="find", summary="", items="own", query="q"),
    "a drawing of a register that is none": change(drawing=Drawing(positions=("v9",))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_declaration_is_refused(case: str) -> None:
    with pytest.raises(DeclarationError):
        REFUSED[case]()


def test_lists_and_numbers_of_numpy_are_made_what_is_declared() -> None:
    task = dataclasses.replace(SORT_BUBBLE, sizes=[np.int64(5), 10], hints=[], limit=500)
    assert (task.sizes, task.hints, task.limit) == ((5, 10), (), "500")
    assert all(type(size) is int for size in task.sizes)


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
