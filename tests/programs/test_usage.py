"""How often rules fire, and where two programs part: against runs that are recorded step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from surpass.engine.record import record
from surpass.programs.extract import write_program
from surpass.programs.record import comparison_as_json, program_as_json, table_as_json, usage_as_json
from surpass.programs.usage import find_partings, match_rules, measure_use, steps_by_instruction
from surpass.table import Table
from surpass.tasks.task import Request
from tests.programs.extracted import Scripted, program_of, without_agent


@pytest.mark.parametrize("name", ["insertion_sort", "hoare_sort", "binary_search"])
def test_rules_fire_as_often_as_the_recorded_steps_say(name):
    program = program_of(f"teacher:{name}")
    instances = program.task.draw(Request(size=8, count=4, seed=5))
    usage = measure_use(program, instances)
    rules, instructions = Counter(), Counter()
    for k in range(instances.count):
        trace = record(program, program.task.write_instance(instances.part(k, k + 1)))
        for step in trace.steps:
            rules[int(program.rules_for(np.array([step.observation]))[0])] += 1
            instructions[step.action.partition("(")[0]] += 1
    assert {rule: fired for rule, fired in enumerate(usage.fired.tolist()) if fired} == rules
    assert {k: v for k, v in steps_by_instruction(usage).items() if v} == instructions
    assert usage.steps == sum(rules.values())
    assert usage.covered.sum() == len(program.table.observations)
    assert (usage.unmet, usage.outside) == (0, 0)


def test_steps_at_unmet_observations_and_outside_the_rules_are_counted():
    whole = program_of("teacher:insertion_sort")
    instances = whole.task.draw(Request(size=20, count=10))
    met = measure_use(whole, instances).met
    kept = ~np.isin(whole.table.observations, met.observations[::2])
    observations, actions = whole.table.entries()
    table = Table.holding(whole.task, observations[kept], actions[kept])
    same = replace(write_program("less", table), origin=Scripted(whole.task, whole.follow))
    usage = measure_use(same, instances)
    assert usage.unmet == met.counts[::2].sum()
    assert usage.results.solved.all()
    none = replace(whole, functions=(), table=Table(whole.task))
    usage = measure_use(replace(none, origin=Scripted(whole.task, whole.follow)), instances)
    assert usage.outside == usage.unmet == usage.steps


def test_a_program_does_not_part_from_itself():
    program = program_of("teacher:quick_sort")
    usage = measure_use(program, program.task.draw(Request(size=20, count=10)))
    partings = find_partings(usage, program)
    assert (partings.agreed, partings.strange, partings.ways) == (usage.steps, 0, ())
    assert all(one.steps[0] == one.steps[1] for one in match_rules(usage, usage))


def test_partings_are_the_steps_at_which_the_other_does_something_else():
    first, second = (program_of(f"teacher:{name}") for name in ("binary_search", "linear_search"))
    instances = first.task.draw(Request(size=30, count=20, seed=2))
    usage = measure_use(first, instances)
    agreed = strange = parted = 0
    for k in range(instances.count):
        for step in record(first, first.task.write_instance(instances.part(k, k + 1))).steps:
            seen = np.array([step.observation])
            if not second.table.holds(seen)[0]:
                strange += 1
            elif second.follow(seen)[0] == first.follow(seen)[0]:
                agreed += 1
            else:
                parted += 1
    partings = find_partings(usage, second)
    assert (partings.agreed, partings.strange) == (agreed, strange)
    assert sum(way.steps for way in partings.ways) == parted > 0
    assert [way.steps for way in partings.ways] == sorted((way.steps for way in partings.ways), reverse=True)
    for way in partings.ways:
        assert first.rules[way.rule].action != way.instead


def test_equal_rules_are_matched_and_their_steps_set_side_by_side():
    first, second = (program_of(f"teacher:{name}") for name in ("bubble_sort", "insertion_sort"))
    instances = first.task.draw(Request(size=15, count=10))
    usages = [measure_use(program, instances) for program in (first, second)]
    shared = match_rules(*usages)
    for k, usage in enumerate(usages):
        assert sum(one.steps[k] for one in shared) == usage.steps
        assert sorted(one.rules[k] for one in shared if one.rules[k] is not None) == list(range(len(usage.fired)))
    saved = [abs(one.steps[1] - one.steps[0]) for one in shared]
    assert saved == sorted(saved, reverse=True)


def test_plain_data_says_what_the_program_is():
    program = without_agent(program_of("teacher:depth_first"))
    usage = measure_use(program, program.task.draw(Request(size=6, count=3)))
    record_of = program_as_json(program)
    assert len(record_of["rules"]) == len(program.rules)
    assert record_of["observations"] == len(program.table.observations)
    assert usage_as_json(usage)["steps"] == sum(row["steps"] for row in usage_as_json(usage)["rules"])
    rows = table_as_json(program, usage)
    assert [row["observation"] for row in rows] == program.table.observations.tolist()
    assert sum(row["steps"] for row in rows) == usage.steps
    for row in rows:
        assert record_of["rules"][row["rule"] - 1]["action"] == row["action"]
    comparison = comparison_as_json(usage, usage)
    assert comparison["partings"] == {"agreed_steps": usage.steps, "strange_steps": 0, "ways": []}
