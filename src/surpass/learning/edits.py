"""Programs made tidy and shorter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from surpass.programs.program import START, Place, Program, Rule


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
    """Yield the program without each of its rules, without each condition, and with two places made one."""
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
                    yield _with_place(program, f, p, joined, gone=q)


def _with_place(program: Program, f: int, p: int, place: Place, gone: int = -1) -> Program:
    """Return a program with another place, and without one."""
    function = program.functions[f]
    places = tuple(place if k == p else old for k, old in enumerate(function.places) if k != gone)
    changed = replace(function, places=places)
    return tidy(replace(program, functions=(*program.functions[:f], changed, *program.functions[f + 1 :])))
