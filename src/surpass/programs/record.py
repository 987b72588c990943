"""Programs, their tables and comparisons as plain data, for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from surpass.programs.listing import list_program
from surpass.programs.usage import Usage, find_partings, match_rules, steps_by_instruction
from surpass.programs.words import show_action, show_place, show_test

__all__ = ["comparison_as_json", "table_as_json", "usage_as_json"]


def usage_as_json(usage: Usage) -> dict[str, Any]:
    """Return a program as plain data: how many rules and places, each rule with its use, and what it was taken from."""
    program, results, evidence = usage.program, usage.results, usage.extraction.evidence
    interface = program.task.interface
    return {
        "agent": program.name,
        "task": program.task.name,
        "rules": len(program.rules),
        "places": len(program.places),
        "listing": [
            {
                "place": show_place(interface, function, place),
                "conditions": [show_test(interface, test) for test in rule.conditions],
                "action": show_action(interface, rule.action),
                "share": steps / max(1, usage.steps),
                "steps": steps,
                "observations": covered,
            }
            for (function, place, rule), steps, covered in zip(
                program.placed, usage.fired.tolist(), usage.covered.tolist(), strict=True
            )
        ],
        "code": [line.text for line in list_program(program)],
        "observations": len(usage.observations),
        "instances": evidence.instances if evidence else None,
        "rounds": [one._asdict() for one in evidence.rounds] if evidence else None,
        "typical": {
            "instances": len(results.sizes),
            "sizes": np.unique(results.sizes).tolist(),
            "solved": float(results.solved.mean()),
            "steps": usage.steps,
            "unseen_steps": usage.unseen,
            "instructions": steps_by_instruction(usage),
        },
    }


def table_as_json(usage: Usage) -> list[dict[str, Any]]:
    """Return every observation that occurs with a program, its action, its rule and how often it occurred in a run."""
    program, observations = usage.program, usage.observations
    steps = dict(zip(usage.counted.observations.tolist(), usage.counted.counts.tolist(), strict=True))
    answers = (observations, program.actions(observations), program.rules_for(observations))
    return [
        {
            "observation": observation,
            "says": program.task.interface.describe(observation),
            "action": show_action(program.task.interface, action),
            "rule": rule + 1 if rule >= 0 else None,
            "steps": steps.get(observation, 0),
        }
        for observation, action, rule in zip(*(array.tolist() for array in answers), strict=True)
    ]


def comparison_as_json(first: Usage, second: Usage) -> dict[str, Any]:
    """Return where the steps of two programs differ, by instruction and by rule, and where the programs part."""
    spent = [steps_by_instruction(usage) for usage in (first, second)]
    return {
        "instructions": [{"instruction": k, "steps": v, "against_steps": spent[1][k]} for k, v in spent[0].items()],
        "rules": [
            {
                "place": shared.place,
                "when": shared.when,
                "action": shared.action,
                "rule": _number(shared.rules[0]),
                "against_rule": _number(shared.rules[1]),
                "steps": shared.steps[0],
                "against_steps": shared.steps[1],
            }
            for shared in match_rules(first, second)
        ],
        "partings": _partings_as_json(first, second),
        "against_partings": _partings_as_json(second, first),
    }


def _number(rule: int | None) -> int | None:
    return None if rule is None else rule + 1


def _partings_as_json(usage: Usage, other: Usage) -> dict[str, Any]:
    interface, partings = usage.program.task.interface, find_partings(usage, other)
    return {
        "agreed_steps": partings.agreed,
        "unseen_steps": partings.unseen,
        "ways": [
            {
                "rule": way.rule + 1,
                "instead": show_action(interface, way.instead),
                "steps": way.steps,
                "observations": way.observations,
            }
            for way in partings.ways
        ],
    }
