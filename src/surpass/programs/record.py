"""Programs, their tables and comparisons as plain data, for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from surpass.programs.listing import list_program
from surpass.programs.program import Leaf, Node, Program
from surpass.programs.usage import Usage, find_partings, match_rules, steps_by_instruction
from surpass.programs.words import show_action, show_place, show_test, show_way

__all__ = ["comparison_as_json", "program_as_json", "table_as_json", "usage_as_json"]


def program_as_json(program: Program) -> dict[str, Any]:
    """Return a program as plain data: its listing, its rules, its code place by place, and what it was taken from."""
    interface = program.task.interface
    record: dict[str, Any] = {
        "agent": program.name,
        "task": program.task.name,
        "listing": [line.text for line in list_program(program)],
        "rules": [
            {
                "rule": rule.number + 1,
                "place": show_place(program, rule),
                "when": show_way(program, rule),
                "action": show_action(interface, rule.action),
            }
            for rule in program.rules
        ],
        "functions": [
            {
                "ids": list(function.ids),
                "places": [
                    {"after": list(location.after), "code": _node_as_json(program, location.code)}
                    for location in function.locations
                ],
            }
            for function in program.functions
        ],
        "observations": len(program.table.observations),
    }
    if program.evidence is not None:
        record["instances"] = program.evidence.instances
        record["rounds"] = [one._asdict() for one in program.evidence.rounds]
    return record


def _node_as_json(program: Program, node: Node) -> dict[str, Any]:
    interface = program.task.interface
    if isinstance(node, Leaf):
        return {"rule": node.rule + 1, "action": show_action(interface, node.action)}
    return {
        "if": [
            {"test": show_test(interface, t), "feature": interface.features[t.feature].name, "values": sorted(t.values)}
            for t in node.tests
        ],
        "then": _node_as_json(program, node.then),
        "else": _node_as_json(program, node.otherwise),
    }


def usage_as_json(usage: Usage) -> dict[str, Any]:
    """Return how a program was used as plain data."""
    results = usage.results
    return {
        "instances": len(results.sizes),
        "sizes": np.unique(results.sizes).tolist(),
        "solved": float(results.solved.mean()),
        "steps": usage.steps,
        "unmet_steps": usage.unmet,
        "outside_steps": usage.outside,
        "rules": [
            {"rule": rule + 1, "steps": int(fired), "observations": int(covered)}
            for rule, (fired, covered) in enumerate(zip(usage.fired, usage.covered, strict=True))
        ],
        "instructions": steps_by_instruction(usage),
    }


def table_as_json(program: Program, usage: Usage) -> list[dict[str, Any]]:
    """Return every observation of a program's table with its action, its rule and how often it was met."""
    interface, table = program.task.interface, program.table
    steps = dict(zip(usage.met.observations.tolist(), usage.met.counts.tolist(), strict=True))
    observations, actions = table.entries()
    rules = program.rules_for(observations)
    return [
        {
            "observation": observation,
            "says": interface.describe(observation),
            "action": show_action(interface, action),
            "rule": rule + 1,
            "steps": steps.get(observation, 0),
        }
        for observation, action, rule in zip(observations.tolist(), actions.tolist(), rules.tolist(), strict=True)
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
        "partings": _partings_as_json(first, second.program),
        "against_partings": _partings_as_json(second, first.program),
    }


def _number(rule: int | None) -> int | None:
    return None if rule is None else rule + 1


def _partings_as_json(usage: Usage, other: Program) -> dict[str, Any]:
    interface, partings = usage.program.task.interface, find_partings(usage, other)
    return {
        "agreed_steps": partings.agreed,
        "strange_steps": partings.strange,
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
