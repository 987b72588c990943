"""Programs made tidy and shorter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from surpass.arrays import Ints
from surpass.programs.cover import cover_rows
from surpass.programs.program import START, Place, Program, Rule, place_features

MOST_ROWS = 2000
"""The rules of a place that sees more observations are not written anew."""


def size_of(program: Program) -> tuple[int, int]:
    """Return how many rules and how many conditions a program has."""
    return len(program.rules), sum(len(rule.conditions) for rule in program.rules)


def tidy(program: Program) -> Program:
    """Return the same program without rules that nothing gets to, and without places that no action leads to."""
    functions = []
    for function in program.functions:
        places = [_tidy_place(place) for place in function.places]
        if places and places[0].after:
            taken = {rule.action + 1 for place in places for rule in place.rules} | {START}
            places = [replace(p, after=tuple(v for v in p.after if v in taken)) for p in places]
            places = [p for p in places if p.after and p.rules]
        functions.append(replace(function, places=tuple(places)))
    return replace(program, functions=tuple(functions))


def _tidy_place(place: Place) -> Place:
    rules: list[Rule] = []
    for rule in place.rules:
        if any(rule.conditions == other.conditions for other in rules):
            continue
        rules.append(rule)
        if not rule.conditions:
            break
    while len(rules) > 1 and not rules[-1].conditions and rules[-2].action == rules[-1].action:
        del rules[-2]
    return replace(place, rules=tuple(rules))


def without(program: Program, numbers: Sequence[int]) -> Program:
    """Return a program without the rules of some numbers."""
    gone, number, functions = set(numbers), 0, []
    for function in program.functions:
        places = []
        for place in function.places:
            kept = tuple(rule for k, rule in enumerate(place.rules, number) if k not in gone)
            number += len(place.rules)
            places.append(replace(place, rules=kept))
        functions.append(replace(function, places=tuple(places)))
    return tidy(replace(program, functions=tuple(functions)))


def shorter_programs(program: Program) -> Iterator[Program]:
    """Yield the program without each of its rules, without each condition, and with two places merged."""
    yield from (without(program, [k]) for k in range(len(program.rules)))
    for f, function in enumerate(program.functions):
        for p, place in enumerate(function.places):
            for r, rule in enumerate(place.rules):
                for c in range(len(rule.conditions)):
                    fewer = replace(rule, conditions=rule.conditions[:c] + rule.conditions[c + 1 :])
                    rules = (*place.rules[:r], fewer, *place.rules[r + 1 :])
                    yield _with_place(program, f, p, replace(place, rules=rules))
            for q, other in enumerate(function.places):
                if q != p:
                    joined = replace(place, after=tuple(sorted({*place.after, *other.after})))
                    yield _with_place(program, f, p, joined, gone=(q,))


def _with_place(program: Program, f: int, p: int, place: Place, gone: Sequence[int] = ()) -> Program:
    """Return a program with another place, and without some."""
    function = program.functions[f]
    places = tuple(place if k == p else old for k, old in enumerate(function.places) if k not in gone)
    changed = replace(function, places=places)
    return tidy(replace(program, functions=(*program.functions[:f], changed, *program.functions[f + 1 :])))


def rewritten_programs(
    program: Program, observations: Ints, tries: int, random: np.random.Generator
) -> Iterator[Program]:
    """Yield programs that do the same at some observations, with the rules of places written anew.

    First of as many places together as do not contradict each other: they are merged, and what was told by the
    previous action must then be told by other features. Then of two, and of each alone.
    """
    interface = program.task.interface
    digits, actions = interface.digits(observations), program.actions(observations)
    where = place_features(interface)
    features = [k for k in range(len(interface.features)) if k not in where]
    owner, came = (np.zeros(len(digits), np.int64) if k is None else digits[:, k] for k in where)
    for f, function in enumerate(program.functions):
        own = np.isin(owner, function.ids) if function.ids else np.ones(len(digits), np.bool_)
        at = [np.flatnonzero(own & (np.isin(came, p.after) if p.after else True)) for p in function.places]
        packed = interface.pack_digits(np.where(np.isin(np.arange(digits.shape[1]), features), digits, 0))
        answers = np.column_stack([packed, actions])
        for group in _groups(at, answers):
            rows = np.concatenate([at[p] for p in group])
            if not 0 < len(rows) <= MOST_ROWS:
                continue
            old = [rule for p in group for rule in function.places[p].rules]
            rules = cover_rows(interface, digits[rows], actions[rows], features, tries=tries, random=random)
            if rules is not None and len(rules) < len(old):
                after = tuple(sorted({value for p in group for value in function.places[p].after}))
                yield _with_place(program, f, group[0], Place(after, rules), gone=group[1:])


def _groups(at: Sequence[Ints], answers: Ints) -> Iterator[tuple[int, ...]]:
    """Yield groups of places whose rows `at` [m] do not contradict each other, the largest first."""
    groups: dict[tuple[int, ...], None] = {}
    for first in range(len(at)):
        group = [first]
        for other in range(len(at)):
            if other != first and _agree(answers[np.concatenate([at[p] for p in (*group, other)])]):
                group.append(other)
        groups[tuple(sorted(group))] = None
    for a, b in combinations(range(len(at)), 2):
        if _agree(answers[np.concatenate([at[a], at[b]])]):
            groups[a, b] = None
    groups.update({(p,): None for p in range(len(at))})
    yield from sorted(groups, key=len, reverse=True)


def _agree(answers: Ints) -> bool:
    """Tell whether equal observations have equal actions, given both [m, 2]."""
    pairs = np.unique(answers, axis=0)
    return len(np.unique(pairs[:, 0])) == len(pairs)
