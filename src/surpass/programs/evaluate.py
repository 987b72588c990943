"""Which rule of a program fires, in compiled code over flat arrays."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from surpass.arrays import Flags, Ints
from surpass.errors import SettingError
from surpass.machine.interface import NO_ACTION
from surpass.machine.kernel import kernel

if TYPE_CHECKING:
    from surpass.programs.program import Program

Digits = npt.NDArray[np.int16]

NO_RULE = -1
"""The rule of an observation for which none fires."""


class CompiledRules(NamedTuple):
    """The rules of a program, flat: those of a place, and the conditions of a rule, stand one behind the other."""

    radices: Ints
    """[features] how many values each feature has."""
    where: Ints
    """[2] the features that tell the function and the previous action, or -1."""
    place_at: Digits
    """[functions * previous actions] the number of the place, or -1."""
    first_rule: Ints
    """[places + 1]"""
    first_condition: Ints
    """[rules + 1]"""
    features: Ints
    """[conditions]"""
    accepts: Flags
    """[conditions, values] whether the condition holds for a value of its feature."""
    actions: Ints
    """[rules]"""


def compile_rules(program: Program) -> CompiledRules:
    """Return the rules of a program as arrays."""
    from surpass.programs.program import place_features

    interface = program.task.interface
    where = place_features(interface)
    counts = [1 if k is None else interface.radices[k] for k in where]
    place_at = np.full((counts[0], counts[1]), -1, np.int16)
    number = 0
    for function in program.functions:
        for place in function.places:
            for one in function.ids or (0,):
                place_at[one, list(place.after or (0,))] = number
            number += 1
    rules = program.rules
    conditions = [test for rule in rules for test in rule.conditions]
    widest = max((radix for k, radix in enumerate(interface.radices) if k not in where), default=0)
    accepts = np.zeros((len(conditions), widest), np.bool_)
    for number, test in enumerate(conditions):
        if test.feature in where:
            raise SettingError("a rule cannot test the function or the previous action: its place tells them")
        accepts[number, list(test.values)] = True
    return CompiledRules(
        np.array(interface.radices, np.int64),
        np.array([-1 if k is None else k for k in where], np.int64),
        place_at.reshape(-1),
        np.array([0, *accumulate(len(place.rules) for place in program.places)], np.int64),
        np.array([0, *accumulate(len(rule.conditions) for rule in rules)], np.int64),
        np.array([test.feature for test in conditions], np.int64),
        accepts,
        np.array([rule.action for rule in rules], np.int64),
    )


@kernel
def fire(rules: CompiledRules, digits: Digits) -> int:
    """Return the number of the first rule that fits the value numbers [F] of an observation, or `NO_RULE`."""
    function, previous = rules.where
    at = 0 if previous < 0 else digits[previous]
    if function >= 0:
        at += digits[function] * rules.radices[previous]
    place = rules.place_at[at]
    if place < 0:
        return NO_RULE
    for rule in range(rules.first_rule[place], rules.first_rule[place + 1]):
        holds = True
        for k in range(rules.first_condition[rule], rules.first_condition[rule + 1]):
            if not rules.accepts[k, digits[rules.features[k]]]:
                holds = False
                break
        if holds:
            return rule
    return NO_RULE


@numba.njit(nogil=True, cache=True)
def find_rules(rules: CompiledRules, observations: Ints, found: Ints) -> None:
    """Write the number of the rule that fires for each packed observation into `found`, in place, or `NO_RULE`."""
    radices = rules.radices
    digits = np.empty(len(radices), np.int16)
    for row in range(len(observations)):
        rest = observations[row]
        for k in range(len(radices)):
            above = rest // radices[k]
            digits[k] = rest - above * radices[k]
            rest = above
        found[row] = fire(rules, digits)


@numba.njit(nogil=True, cache=True)
def answer(rules: CompiledRules, observations: Ints, actions: Ints) -> None:
    """Write the action for each packed observation into `actions`, in place, or `NO_ACTION`."""
    find_rules(rules, observations, actions)
    for row in range(len(actions)):
        actions[row] = NO_ACTION if actions[row] == NO_RULE else rules.actions[actions[row]]
