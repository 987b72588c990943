"""How often rules fire, against runs that are recorded step by step."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from surpass.engine.record import record
from surpass.programs.extract import Extraction
from surpass.programs.program import Function, Place, Program
from surpass.programs.usage import measure_use, steps_by_instruction
from surpass.table import Table
from surpass.tasks.task import Request
from tests.programs.extracted import extraction_of, program_of, table_of


@pytest.mark.parametrize("name", ["insertion_sort", "hoare_sort", "binary_search"])
def test_rules_fire_as_often_as_the_recorded_steps_say(name):
    program = program_of(f"teacher:{name}")
    instances = program.task.draw(Request(size=8, count=4, seed=5))
    usage = measure_use(extraction_of(f"teacher:{name}"), instances)
    rules, instructions = Counter(), Counter()
    for k in range(instances.count):
        trace = record(program, program.task.write_instance(instances.part(k, k + 1)))
        for step in trace.steps:
            rules[int(program.rules_for(np.array([step.observation]))[0])] += 1
            instructions[step.action.partition("(")[0]] += 1
    assert {rule: fired for rule, fired in enumerate(usage.fired.tolist()) if fired} == rules
    assert {k: v for k, v in steps_by_instruction(usage).items() if v} == instructions
    assert usage.steps == sum(rules.values())
    assert usage.covered.sum() == len(table_of(f"teacher:{name}"))
    assert usage.unseen == 0


def test_steps_at_observations_that_the_program_was_not_taken_from_are_counted():
    whole, table, _ = extraction_of("teacher:insertion_sort")
    instances = whole.task.draw(Request(size=20, count=10))
    counted = measure_use(Extraction(whole), instances).counted
    observations, actions = table.entries()
    kept = ~np.isin(observations, counted.observations[::2])
    less = Table.holding(whole.task, observations[kept], actions[kept])
    usage = measure_use(Extraction(whole, less), instances)
    assert usage.unseen == counted.counts[::2].sum()
    assert usage.covered.sum() == kept.sum()
    assert usage.results.solved.all()


def test_without_a_table_the_observations_are_those_of_the_run():
    program = program_of("teacher:hoare_sort")
    usage = measure_use(Extraction(program), program.task.draw(Request(size=8, count=4)))
    assert usage.observations.tolist() == usage.counted.observations.tolist()
    assert usage.covered.sum() == len(usage.observations)
    assert usage.unseen == 0


def test_steps_without_a_rule_belong_to_no_rule():
    program = program_of("teacher:insertion_sort")
    few = Program("few", program.task, (Function((), (Place((), program.rules[1:2]),)),))
    usage = measure_use(Extraction(few), program.task.draw(Request(size=8, count=4)))
    assert not usage.results.solved.any()
    assert usage.fired.tolist() == [usage.counted.counts[usage.counted.actions >= 0].sum()]


def test_plain_data_says_what_the_program_is():
    extraction = extraction_of("teacher:depth_first")
    program, table, _ = extraction
    usage = measure_use(extraction, program.task.draw(Request(size=6, count=3)))
    shown = usage.as_json()
    assert (shown["rules"], shown["places"]) == (len(program.rules), len(program.places))
    assert len(shown["listing"]) == shown["rules"]
    assert shown["observations"] == len(table)
    assert shown["typical"]["steps"] == sum(row["steps"] for row in shown["listing"]) == usage.steps
    assert sum(row["share"] for row in shown["listing"]) == pytest.approx(1)
    for row, rule in zip(shown["listing"], program.rules, strict=True):
        assert program.task.interface.parse_action(row["action"]) == rule.action
        assert len(row["conditions"]) == len(rule.conditions)
    rows = [row._asdict() for row in usage.table()]
    assert [row["observation"] for row in rows] == table.observations.tolist()
    assert sum(row["steps"] for row in rows) == usage.steps
    for row in rows:
        assert shown["listing"][row["rule"] - 1]["action"] == row["action"]
