"""Packing, sizes, network inputs, decisions and texts of the paper's interfaces."""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surpass import Action, Interface
from surpass.errors import ObservationError, SurpassError, UnknownNameError
from surpass.machine.interface import mirror
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE
from surpass.tasks.sort_full import SORT_FULL
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Task
from surpass.tasks.teacher import See
from tests.reference import Compiled, random_actions, random_instances, start_machines

TABLE_TASKS = (SORT_BUBBLE, SORT_QUICK, SEARCH, KNAPSACK)
per_task = pytest.mark.parametrize("task", TABLE_TASKS, ids=lambda task: task.name)


def digit_rows(interface: Interface) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, radix - 1) for radix in interface.radices))


# Sizes


@pytest.mark.parametrize(
    ("task", "inputs", "actions", "observations"),
    [
        (SORT_BUBBLE, 68, 28, 9**6 * 16**4),
        (SORT_QUICK, 129, 2096, 9**6 * 16**4 * 3 * 2097),
        (SEARCH, 115, 93, 9**6 * 16**4 * 3**4 * 94),
        (KNAPSACK, 14, 6, 2**7 * 7),
    ],
    ids=lambda thing: getattr(thing, "name", None),
)
def test_the_sizes_are_the_papers(task: Task, inputs: int, actions: int, observations: int) -> None:
    interface = task.interface
    assert interface.input_size == inputs
    assert interface.action_count == len(interface.actions) == actions
    assert interface.encode(np.array([0])).shape == (1, inputs)
    assert interface.observation_count == observations < 2**63
    assert interface.search_space == f"{actions}^({observations:.3g})"


def test_a_full_view_has_no_numbers_for_observations_and_actions() -> None:
    for name in ("action_count", "observation_count", "actions"):
        with pytest.raises(SurpassError, match="depends on the list's size"):
            getattr(SORT_FULL.interface, name)


# Observations


@per_task
def test_unpacking_a_packed_observation_returns_its_values(task: Task) -> None:
    interface = task.interface

    @given(digit_rows(interface))
    def check(digits: tuple[int, ...]) -> None:
        values = tuple(interface.feature_values(k)[d] for k, d in enumerate(digits))
        (observation,) = interface.pack_digits(np.array([digits])).tolist()
        assert 0 <= observation < interface.observation_count
        assert interface.unpack_observation(observation) == values
        assert interface.digits(np.array([observation])).tolist() == [list(digits)]

    check()


@per_task
def test_the_first_feature_is_least_significant(task: Task) -> None:
    interface = task.interface
    ends = (0, interface.observation_count - 1)
    assert [interface.digits(np.array([end])).tolist()[0] for end in ends] == [
        [0] * len(interface.radices),
        [radix - 1 for radix in interface.radices],
    ]
    assert interface.strides[0] == 1
    assert interface.radices == tuple(len(interface.feature_values(k)) for k in range(len(interface.features)))
    for stride, radix, following in zip(interface.strides, interface.radices, interface.strides[1:], strict=False):
        assert following == stride * radix


@per_task
def test_observations_out_of_range_are_refused(task: Task) -> None:
    for observation in (-1, task.interface.observation_count):
        with pytest.raises(ObservationError, match=f"outside 0..{task.interface.observation_count - 1}"):
            task.interface.unpack_observation(observation)


def test_a_value_number_out_of_range_is_refused_by_its_features_name() -> None:
    digits = np.zeros((3, 20), np.int64)
    for bad in (-1, 4):
        digits[1, 12] = bad
        with pytest.raises(ObservationError, match=rf"feature 'A\[v1\] \? A\[v1-1\]' returned {bad};.* 0 to 3"):
            SORT_BUBBLE.interface.pack_digits(digits)


# Actions


@per_task
def test_actions_pack_unpack_print_and_parse_to_themselves(task: Task) -> None:
    interface = task.interface
    assert len(set(interface.actions)) == len({str(action) for action in interface.actions}) == interface.action_count
    for number, action in enumerate(interface.actions):
        assert interface.pack_action(action) == number
        assert interface.parse_action(str(action)) == number
        assert interface.parse_action(f" {str(action).replace(',', ' , ')} ") == number


def test_actions_are_numbered_by_instruction_and_the_first_operand_is_most_significant() -> None:
    written = [str(action) for action in SORT_BUBBLE.interface.actions]
    swaps = [f"SwapWithNext({i})" for i in (1, 2, 3, 4)]
    moves = [f"MoveVar({i}, {d:+d})" for i in (1, 2, 3, 4) for d in (-1, +1)]
    assigns = [f"AssignVar({i}, {j})" for i in (1, 2, 3, 4) for j in (1, 2, 3, 4)]
    assert written == swaps + moves + assigns
    assert SORT_BUBBLE.interface.offsets == (0, 4, 12)
    assert str(SORT_QUICK.interface.actions[28]) == "FunctionCall(1, 1, 1, 1, 1, 1)"
    assert str(SORT_QUICK.interface.actions[28 + 2 * 4**5]) == "Return(1)"
    assert str(SORT_QUICK.interface.actions[-1]) == "Swap(4, 4)"


@per_task
def test_rows_hold_each_actions_instruction_and_operands_as_indices(task: Task) -> None:
    interface = task.interface
    for action, (instruction, *choices) in zip(interface.actions, interface.action_rows.tolist(), strict=True):
        declared = interface.instructions[instruction]
        operands = tuple(o.values[c] for o, c in zip(declared.operands, choices, strict=False))
        assert Action(declared.name, operands) == action
        assert not any(choices[len(declared.operands) :])


@pytest.mark.parametrize("text", ["MoveVar(5, +1)", "MoveVar(1)", "Jump(1)", "MoveVar", "", "MoveVar(1, 0)"])
def test_an_action_that_does_not_exist_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(UnknownNameError, match=r"known: SwapWithNext\(i\), MoveVar\(i, direction\), AssignVar\(i, j\)"):
        SORT_BUBBLE.interface.parse_action(text)


def test_an_action_is_packed_by_its_values_or_refused() -> None:
    action = Action("MoveVar", (1, 1))
    assert SORT_BUBBLE.interface.parse_action(str(action)) == SORT_BUBBLE.interface.pack_action(action)
    for action in (Action("MoveVar", (1, 2)), Action("Jump"), Action("MoveVar", ([], 1))):
        with pytest.raises(UnknownNameError, match="unknown action"):
            SORT_BUBBLE.interface.pack_action(action)


# Slots


def test_there_is_a_slot_for_the_instruction_and_for_each_operand() -> None:
    assert [(slot.name, slot.kind, slot.choices) for slot in SORT_BUBBLE.interface.slots] == [
        ("instruction", "integer", 3),
        ("SwapWithNext.i", "integer", 4),
        ("MoveVar.i", "integer", 4),
        ("MoveVar.direction", "binary", 2),
        ("AssignVar.i", "integer", 4),
        ("AssignVar.j", "integer", 4),
    ]
    assert [(slot.kind, slot.choices) for slot in SORT_FULL.interface.slots[1:]] == [("pointer", 0)] * 2


# Network inputs, once more from the paper's appendix A

ARGUMENTS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "sort-quick": [
        ("SwapWithNext", ((1, 2, 3, 4),)),
        ("MoveVar", ((1, 2, 3, 4), "boolean")),
        ("AssignVar", ((1, 2, 3, 4), (1, 2, 3, 4))),
        ("FunctionCall", ((1, 2), *[(1, 2, 3, 4)] * 5)),
        ("Return", ((1, 2, 3, 4),)),
        ("Swap", ((1, 2, 3, 4), (1, 2, 3, 4))),
    ],
    "search": [
        ("MoveVar", ((1, 2, 3, 4), "boolean")),
        ("AssignVar", ((1, 2, 3, 4), (1, 2, 3, 4))),
        ("AssignMid", ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4))),
        ("Found", ((1, 2, 3, 4),)),
        ("NotFound", ()),
    ],
    "knapsack": [("Put", ()), ("Pop", ()), ("MoveVar", ("boolean",)), ("Knapsack", ()), ("Return", ())],
}
"""The operands of each action type, in the order of the tables of appendix A."""


def one_hot(value: Any, values: Any) -> list[float]:
    return [float(value == v) for v in values]


def encode_previous(task: Task, previous: Action | None) -> list[float]:
    types = ARGUMENTS[task.name]
    inputs = one_hot(previous and previous.instruction, [name for name, _ in types])
    for name, operands in types:
        for k, values in enumerate(operands):
            value = previous.operands[k] if previous is not None and previous.instruction == name else None
            inputs += [float(value == +1)] if values == "boolean" else one_hot(value, values)
    return [*inputs, float(previous is None)]


def encode_by_the_paper(task: Task, values: list[Any]) -> list[float]:
    if task is KNAPSACK:
        return [*map(float, values[:7]), *encode_previous(task, values[7])]
    inputs = []
    for value in values[:12]:
        inputs += one_hot(value, "<=>")
    for before, after in zip(values[12:20:2], values[13:20:2], strict=True):
        inputs += one_hot(before, ("low", ">", "=", "<"))
        inputs += one_hot(after, (">", "=", "<", "high"))
    if task is SORT_QUICK:
        inputs += one_hot(values[20], (None, 1, 2)) + encode_previous(task, values[21])
    if task is SEARCH:
        for value in values[20:24]:
            inputs += one_hot(value, "<=>")
        inputs += encode_previous(task, values[24])
    return inputs


@per_task
def test_network_inputs_are_those_of_the_papers_appendix(task: Task) -> None:
    interface = task.interface

    @given(st.lists(digit_rows(interface), min_size=1, max_size=5))
    def check(rows: list[tuple[int, ...]]) -> None:
        observations = interface.pack_digits(np.array(rows))
        values = [[interface.feature_values(k)[d] for k, d in enumerate(row)] for row in rows]
        encoded = interface.encode(observations)
        assert encoded.dtype == np.float32
        assert encoded.tolist() == [encode_by_the_paper(task, row) for row in values]

    check()


@pytest.mark.parametrize("task", [SORT_QUICK, SEARCH, KNAPSACK], ids=lambda task: task.name)
def test_every_previous_action_has_inputs_of_its_own(task: Task) -> None:
    interface = task.interface
    stride = interface.strides[-1]
    encoded = interface.encode(np.arange(interface.action_count + 1) * stride)
    expected = [encode_previous(task, previous) for previous in (None, *interface.actions)]
    assert encoded[:, -len(expected[0]) :].tolist() == expected
    assert len(np.unique(encoded, axis=0)) == interface.action_count + 1


# Conditions


@cache
def as_python(text: str) -> CodeType:
    return compile(text.replace(" = ", " == "), text, "eval")


def holds(text: str, names: dict[str, Any]) -> bool:
    """Tell whether a condition holds, by reading its text as Python; a missing neighbour compares with nothing."""
    try:
        return bool(eval(as_python(text), {"__builtins__": {}}, names))
    except IndexError:
        return False


class Neighbours:
    """A list that refuses positions before its first."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def __getitem__(self, position: int) -> int:
        if position < 0:
            raise IndexError(position)
        return self.values[position]


@per_task
def test_every_condition_says_what_is_true_of_the_machine(task: Task) -> None:
    random = np.random.default_rng(5)
    interface = task.interface
    asked = [text for text in interface.conditions if not text.startswith(("previous", "function"))]
    met: dict[str, set[bool]] = {text: set() for text in asked}
    for size in (1, 2, 5):
        instances = random_instances(task, 10, size, random)
        references, compiled = start_machines(task, instances), Compiled(task, instances)
        for column in zip(*random_actions(task, (10, 15), random), strict=True):
            for reference, digits in zip(references, compiled.digits().tolist(), strict=True):
                names = reference.amounts() if task is KNAPSACK else {f"v{k}": p for k, p in reference.v.items()}
                if task is not KNAPSACK:
                    names |= {"A": Neighbours(reference.A), "low": reference.low, "high": reference.high}
                    names["q"] = getattr(reference, "query", None)
                see = See(interface, digits)
                for text in asked:
                    truth = holds(text, names)
                    assert see(text) == truth, (text, names)
                    met[text].add(truth)
            for reference, action in zip(references, column, strict=True):
                if reference.outcome == "running":
                    reference.step(action)
            compiled.step(column)
    seen_one_way = {text for text, truths in met.items() if len(truths) < 2}
    # Neighbours in an ordered list never fall; everything else must have been met both true and false.
    falls = {f"A[v{k}] {sign}]" for k in (1, 2, 3, 4) for sign in (f"< A[v{k}-1", f"> A[v{k}+1")}
    assert seen_one_way == (falls if task is SEARCH else set())


def test_conditions_cover_every_comparison_and_its_weak_forms() -> None:
    conditions = SORT_BUBBLE.interface.conditions
    signs = ("<", "=", ">", "<=", ">=", "!=")
    pairs = [(a, b) for a in (1, 2, 3, 4) for b in range(a + 1, 5)]
    expected = {f"v{a} {s} v{b}" for a, b in pairs for s in signs} | {
        f"A[v{a}] {s} A[v{b}]" for a, b in pairs for s in signs
    }
    expected |= {f"A[v{a}] {s} A[v{a}{d}]" for a in (1, 2, 3, 4) for s in signs for d in ("-1", "+1")}
    expected |= {f"v{a} = {end}" for a in (1, 2, 3, 4) for end in ("low", "high")}
    assert set(conditions) == expected


@per_task
def test_a_description_names_a_condition_for_every_feature(task: Task) -> None:
    interface = task.interface

    @given(digit_rows(interface))
    def check(digits: tuple[int, ...]) -> None:
        text = interface.describe(int(interface.pack_digits(np.array([digits]))[0]))
        for k, d in enumerate(digits):
            feature = interface.features[k]
            condition = feature.condition(interface.feature_values(k)[d])
            assert condition in text
            assert interface.conditions[condition] == (k, frozenset([d]))

    check()


def test_a_comparison_and_its_mirror_say_the_same() -> None:
    conditions = [text for text in SORT_BUBBLE.interface.conditions if mirror(text)]
    assert conditions
    for text in conditions:
        assert mirror(mirror(text)) == text
        signs = [one.split()[-2] for one in (text, mirror(text))]
        assert tuple(signs) in {("<", ">"), (">", "<"), ("<=", ">="), (">=", "<="), ("=", "="), ("!=", "!=")}
    assert mirror("A[mid] < A[low]") == "A[low] > A[mid]"
    assert mirror("i <= n - 1") == "n - 1 >= i"
    assert mirror("v1 is last") == ""
