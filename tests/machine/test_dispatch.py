"""What an interface's kernels see and do is what its declaration says, feature by feature and action by action."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import surpass
from surpass import SIZE, Instruction, Interface, State, comparison, flag, integer, kernel, value
from surpass.errors import DeclarationError
from surpass.machine.dispatch import join_features, join_instructions
from surpass.machine.instructions import Operand, binary, variable
from surpass.machine.state import FIRST

R = surpass.registers("v", "w", "log")
SIGNS = ("<", "=", ">")


@kernel
def item(state: State, v: int) -> int:
    return state.items[state.registers[v]]


@kernel
def after(state: State, v: int) -> int:
    return state.items[state.registers[v] + 1]


@kernel
def is_last(state: State, v: int) -> bool:
    return state.registers[v] + 1 == state.registers[SIZE]


@kernel
def always(state: State) -> bool:
    return True


@kernel
def spoil(state: State) -> int:
    state.registers[R.log] += 1
    return 0


@kernel
def note(state: State, first: int, second: int) -> int:
    state.registers[R.log] = 1000 * first + second
    return 1


@kernel
def rest(state: State) -> int:
    state.registers[R.log] = -1
    return 2


@kernel
def item_of_another(state: State, v: int) -> int:
    return -state.items[state.registers[v]]


item_of_another.__name__ = "item"


def state_of(*items: int, v: int = 0, w: int = 0) -> State:
    registers = np.zeros(FIRST + len(R), np.int64)
    registers[[SIZE, R.v, R.w]] = len(items), v, w
    return State(registers, np.array(items, np.int64), np.zeros(1), np.zeros(0, np.int64))


HERE, THERE, NEXT = value("A[v]", item, R.v), value("A[w]", item, R.w), value("A[v+1]", after, R.v)
AT_END = value("v = high", is_last, R.v)


@pytest.mark.parametrize("values", [*permutations(SIGNS)])
def test_the_values_of_a_comparison_come_in_any_order(values: tuple[str, ...]) -> None:
    feature = comparison(HERE, THERE, values=values)
    observe = join_features([feature], "signs")
    for a, b, sign in ((1, 2, "<"), (2, 2, "="), (3, 2, ">")):
        (number,) = observe(state_of(a, b, w=1))
        assert feature.values[number] == sign
        assert feature.condition(sign) == f"A[v] {sign} A[w]"


@pytest.mark.parametrize("values", [*permutations((*SIGNS, "high"))])
def test_an_edge_is_seen_at_its_place_among_the_values(values: tuple[str, ...]) -> None:
    feature = comparison(HERE, NEXT, values=values, edge=AT_END)
    observe = join_features([feature], "edges")
    seen = [feature.values[observe(state_of(1, 2, 2, 0, v=v))[0]] for v in range(4)]
    assert seen == ["<", "=", ">", "high"]
    assert feature.condition("high") == "v = high"


def test_where_an_edge_holds_neither_side_is_read() -> None:
    side, beyond = value("side", spoil), value("edge", always)
    observe = join_features([comparison(side, side, values=(*SIGNS, "edge"), edge=beyond)], "blind")
    state = state_of(1)
    assert observe(state) == (3,)
    assert state.registers[R.log] == 0
    join_features([comparison(side, side)], "sighted")(state)
    assert state.registers[R.log] == 2


def test_truths_are_seen_as_numbers_and_kernels_of_one_name_are_kept_apart() -> None:
    other = value("-A[w]", item_of_another, R.w)
    observe = join_features([flag("last", is_last, R.v), comparison(HERE, other), comparison(HERE, THERE)], "mixed")
    assert observe(state_of(5, 5, v=1)) == (1, 2, 1)
    assert observe(state_of(-5, 5, v=0, w=1)) == (0, 1, 0)


CODES: dict[str, Operand] = {
    "the values themselves": integer("x", (3, 4, 5)),
    "downwards": integer("x", (2, 1, 0)),
    "from below 0": integer("x", (-1, 0, 1)),
    "in steps of three": integer("x", (1, 4, 7)),
    "unevenly spaced": integer("x", (1, 2, 4, 8)),
    "only one": integer("x", (7,)),
    "words by their position": integer("x", ("red", "green", "blue")),
    "two steps": binary("x", surpass.STEPS),
    "registers": variable("x", R.w, R.v),
    "registers far apart": variable("x", R.v, R.log, R.w),
}


@pytest.mark.parametrize("case", CODES)
def test_a_kernel_is_given_the_code_of_each_operand(case: str) -> None:
    operand, fixed = CODES[case], integer("y", (30, 10))
    words = all(isinstance(v, str) for v in operand.values)
    numbers = range(len(operand.values)) if words else operand.codes
    act = join_instructions([Instruction("Note", operand, fixed, does=note), Instruction("Rest", does=rest)], "coded")
    for k, number in enumerate(numbers):
        for j, second in enumerate((30, 10)):
            state = state_of(1)
            assert act(state, 0, (k, j)) == 1
            assert state.registers[R.log] == 1000 * number + second
    assert act(state, 1, (0, 0)) == 2
    assert state.registers[R.log] == -1


def test_a_variable_stands_for_its_register_and_is_counted_from_1() -> None:
    operand = variable("i", R.v, R.w)
    assert (operand.values, operand.codes) == ((1, 2), (R.v, R.w))


def test_whole_numbers_are_their_own_codes_and_words_go_by_position() -> None:
    assert integer("x", (4, 9)).codes == (4, 9)
    assert integer("x", ("left", "right")).codes == (0, 1)
    with pytest.raises(DeclarationError, match="operand 'x' has 1 codes for 2 values"):
        Operand("x", "integer", (1, 2), (1,))


@pytest.mark.parametrize(
    ("values", "edge"),
    [(("<", "="), None), ((*SIGNS, "high"), None), (SIGNS, AT_END), ((*SIGNS, "low", "high"), AT_END)],
)
def test_a_comparison_without_its_three_signs_and_one_value_for_its_edge_is_refused(values, edge) -> None:
    with pytest.raises(DeclarationError, match=r"comparison 'A\[v\] \? A\[v\+1\]' has the values .* it needs <, =, >"):
        comparison(HERE, NEXT, values=values, edge=edge)


def test_the_names_of_an_interface_hold_with_an_edge() -> None:
    feature = comparison(HERE, NEXT, values=("high", ">", "=", "<"), edge=AT_END)
    interface = Interface([feature], [Instruction("Rest", does=rest)])
    assert interface.conditions["v = high"] == (0, frozenset([0]))
    assert interface.conditions["A[v] >= A[v+1]"] == (0, frozenset([1, 2]))


# Registers


def test_registers_are_numbered_in_order_behind_those_of_the_machine() -> None:
    assert (R.v, R.w, R.log) == (FIRST, FIRST + 1, FIRST + 2)
    assert surpass.registers() == ()


@pytest.mark.parametrize("names", [("a", "a"), ("a b",), ("",), ("_a",), ("for",), ("1",)], ids=str)
def test_a_register_needs_a_plain_word_of_its_own(names: tuple[str, ...]) -> None:
    with pytest.raises(DeclarationError):
        surpass.registers(*names)
