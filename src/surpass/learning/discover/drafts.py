"""Programs as flat arrays with room to grow, which compiled code edits by the thousand."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.learning.renamings import renamings_of
from surpass.programs.evaluate import Digits
from surpass.programs.program import Function, Place, Program, Rule, Test, place_features, testable_features

BITS = 62
"""How many values of a feature one word of a set holds."""
ROOM = 8
"""How many more places, rules at a place and conditions of a rule than a program has its draft can take."""


MOST_NAMES = 24
"""After how many actions that differ in the names of variables one place can be made to serve."""


class Draft(NamedTuple):
    """A program that is being edited, in place; the rules of a place stand one behind the other."""

    place_at: Digits
    """[functions, previous actions] the number of the place, or -1."""
    owners: Ints
    """[places] the function of each, or -1 where there is no place."""
    rule_counts: Ints
    """[places]"""
    actions: Ints
    """[places, rules]"""
    test_counts: Ints
    """[places, rules]"""
    features: Digits
    """[places, rules, tests] which feature is tested."""
    sets: Ints
    """[places, rules, tests, words] the values for which a test holds, as bits."""
    notes: Ints
    """[MOST_NAMES] room for edits to note actions in, since they allocate nothing."""


class EditContext(NamedTuple):
    """What edits and runs of a draft need to know: the interface, and the observations of the program."""

    where: Ints
    """[2] the features that tell the function and the previous action, or -1."""
    function_of: Ints
    """[values of the function's feature] the number of the function in the program, or -1."""
    tested: Ints
    """The features that can be tested."""
    radices: Ints
    """[features] how many values each has."""
    action_rows: Ints
    """[actions, 1 + operands]"""
    offsets: Ints
    """[instructions] the number of the first action of each."""
    operand_weights: Ints
    """[instructions, operands]"""
    operand_sizes: Ints
    """[instructions, operands] how many values each operand has; 0 for none."""
    renamed_features: Ints
    """[renamings, features] what each feature becomes when two variables change their names."""
    renamed_values: Ints
    """[renamings, features, values] what its values become."""
    renamed_actions: Ints
    """[renamings, actions]"""
    followed: Flags
    """[1 + actions] whether the program acts after nothing and after each action."""
    digits: Digits
    """[observations, features] what the program sees in its runs."""
    often: Reals
    """[observations] the share of the steps at this one or one before."""


class ScreeningSet(NamedTuple):
    """Instances on which edited programs are compared, and what the program does there."""

    sizes: Ints
    """[m]"""
    items: Ints
    """[m, W]"""
    reals: Reals
    """[m, X]"""
    limits: Ints
    """[m] how many steps an edited program may take."""
    costs: Reals
    """[m] what the program costs."""
    failure_costs: Reals
    """[m] what an instance costs that is not solved."""
    needed: Flags
    """[m] whether the program solves it, so that an edited one must."""
    weights: Reals
    """[m] the weight of a cost."""
    digits: Digits
    """[k, features] what the program sees on these instances, those of a function and previous action together."""
    actions: Ints
    """[k] what it does there."""
    groups: Ints
    """[groups + 1] where the observations of each function and previous action begin."""
    met_by: Ints
    """[k, words] the instances on which it sees that, as bits."""
    always: Ints
    """[words] the instances on which it sees more than was noted."""


class Prices(NamedTuple):
    """What rules, conditions and steps cost, and what the score is worth."""

    rule_price: float
    test_price: float
    step_cost: float
    progress: float
    """The worth of the score."""
    must_end: bool
    """Whether a run that uses up its steps has failed."""
    least: float
    """An edited program is given up as soon as it gains less than this."""


def draft_of(program: Program) -> Draft:
    """Return a program as arrays, with some room to grow."""
    interface = program.task.interface
    previous = place_features(interface)[1]
    places = [(f, place) for f, function in enumerate(program.functions) for place in function.places]
    shape = (
        len(places) + ROOM,
        max((len(place.rules) for _, place in places), default=0) + ROOM,
        max((len(rule.conditions) for rule in program.rules), default=0) + ROOM,
    )
    words = 1 + max(((radix - 1) // BITS for radix in testable_features(interface).values()), default=0)
    draft = Draft(
        np.full((len(program.functions), 1 if previous is None else interface.radices[previous]), -1, np.int16),
        np.full(shape[0], -1, np.int64),
        np.zeros(shape[0], np.int64),
        np.zeros(shape[:2], np.int64),
        np.zeros(shape[:2], np.int64),
        np.zeros(shape, np.int16),
        np.zeros((*shape, words), np.int64),
        np.zeros(MOST_NAMES, np.int64),
    )
    for p, (f, place) in enumerate(places):
        draft.owners[p], draft.rule_counts[p] = f, len(place.rules)
        draft.place_at[f, list(place.after or (0,))] = p
        for r, rule in enumerate(place.rules):
            draft.actions[p, r], draft.test_counts[p, r] = rule.action, len(rule.conditions)
            for c, test in enumerate(rule.conditions):
                draft.features[p, r, c] = test.feature
                for value in test.values:
                    draft.sets[p, r, c, value // BITS] |= 1 << value % BITS
    return draft


def with_functions_of(program: Program, mate: Program) -> Program:
    """Return a mate with the functions of a program, in their order; those that it lacks are empty.

    In the drafts of both, a function then has the same number.
    """
    own = {function.ids: function for function in mate.functions}
    return replace(mate, functions=tuple(own.get(f.ids, Function(f.ids, ())) for f in program.functions))


def blank(draft: Draft) -> Draft:
    """Return room for a draft of the same shape."""
    return Draft._make(np.zeros_like(array) for array in draft)


def program_of(draft: Draft, program: Program) -> Program:
    """Return the program that a draft of `program` has become."""
    functions = []
    has_previous = place_features(program.task.interface)[1] is not None
    for f, function in enumerate(program.functions):
        places = []
        for p in np.flatnonzero(draft.owners == f).tolist():
            after = np.flatnonzero(draft.place_at[f] == p).tolist()
            rules = tuple(_rule(draft, p, r) for r in range(draft.rule_counts[p]))
            if after and rules:
                places.append(Place(tuple(after) if has_previous else (), rules))
        functions.append(Function(function.ids, tuple(places)))
    return replace(program, functions=tuple(functions))


def _rule(draft: Draft, p: int, r: int) -> Rule:
    tests = []
    for c in range(draft.test_counts[p, r]):
        words = draft.sets[p, r, c].tolist()
        values = frozenset(BITS * w + k for w, word in enumerate(words) for k in range(BITS) if word >> k & 1)
        tests.append(Test(int(draft.features[p, r, c]), values))
    return Rule(tuple(tests), int(draft.actions[p, r]))


def edit_context(program: Program, observations: Ints, counts: Ints) -> EditContext:
    """Return the context of a program, given the observations of its runs and how often each occurs."""
    interface = program.task.interface
    where = place_features(interface)
    function_of = np.full(1 if where[0] is None else interface.radices[where[0]], -1, np.int64)
    for f, function in enumerate(program.functions):
        function_of[list(function.ids or range(len(function_of)))] = f
    most = max(1, interface.most_operands)
    sizes = np.zeros((len(interface.instructions), most), np.int64)
    for k, instruction in enumerate(interface.instructions):
        sizes[k, : len(instruction.operands)] = [len(operand.values) for operand in instruction.operands]
    weights = np.zeros_like(sizes)
    weights[:, : interface.operand_weights.shape[1]] = interface.operand_weights[:, :most]
    digits = np.ascontiguousarray(interface.digits(observations), np.int16)
    followed = np.zeros(1 + interface.action_count, np.bool_)
    if where[1] is not None:
        followed[digits[:, where[1]]] = True
    return EditContext(
        np.array([-1 if k is None else k for k in where], np.int64),
        function_of,
        np.array(sorted(testable_features(interface)), np.int64),
        np.array(interface.radices, np.int64),
        np.ascontiguousarray(interface.action_rows, np.int64),
        np.array(interface.offsets, np.int64),
        weights,
        sizes,
        *renamings_of(program.task),
        followed,
        digits,
        np.cumsum(counts) / max(1, counts.sum()),
    )
