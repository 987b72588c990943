"""The program of every agent of the zoo does what its network does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.files import load_agent
from surpass.agents.teachers import find_teacher
from surpass.agents.zoo import find_entry, zoo_entries
from surpass.engine.run import run
from surpass.programs import collect as collection
from surpass.programs.extract import extract, write_program
from surpass.programs.listing import list_program
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Request
from tests.long import LONG, long_test

torch.set_num_threads(1)

NETWORKS = [one for one in zoo_entries() if one.stem.with_name(f"{one.stem.name}.safetensors").exists()]
NAMES = tuple(one.name for one in NETWORKS if one.task != "sort-full")
IMITATORS = tuple(name for name in NAMES if "/imitation-" in name)


def load(name: str) -> NetworkAgent:
    agent, _ = load_agent(find_entry(name).stem, name)
    assert isinstance(agent, NetworkAgent)
    return agent


def met_on_fresh_instances(agent: NetworkAgent, sizes, count: int, largest: int) -> Table:
    """Return what an agent meets on every small instance and on drawn ones that no extraction draws."""
    task, table = agent.task, Table.of(agent)
    small = enumeration_of(task)
    for size in range(min(small.largest, largest) + 1):
        for batch in small.instances(size):
            run(table, batch)
    for size in sizes:
        for data in list(task.inputs.draw)[:2]:
            for queries in task.inputs.queries or ("",):
                request = Request(size=size, count=count, seed=987_654, data=data, queries=queries)
                run(table, task.draw(request))
    return table


def check_listing(program: Program) -> None:
    assert sorted(rule for line in list_program(program) for rule in line.rules) == list(range(len(program.rules)))


@pytest.mark.skipif(LONG, reason="the long test does more of the same")
@pytest.mark.parametrize("name", NAMES)
def test_a_program_from_few_instances_does_what_the_network_does(name, monkeypatch):
    monkeypatch.setattr(collection, "EFFORT", replace(collection.EFFORT, enumerated=600))
    monkeypatch.setattr("surpass.programs.rules.SEARCH_STEPS", 100)
    agent = load(name)
    collector = collection.Collector(agent)
    collector.collect_small()
    table = collector.table
    program = write_program(agent.name, table)
    check_listing(program)
    observations, actions = met_on_fresh_instances(load(name), (6, 9), 5, 4).entries()
    known = table.holds(observations)
    assert known.any()
    assert (program.actions(observations[known]) == actions[known]).all()
    if name in IMITATORS:
        teacher = find_teacher(find_entry(name).record["recipe"]["teacher"])
        taught = Table.holding(program.task, table.observations, teacher.actions(table.observations))
        assert write_program("teacher", taught) == program


@long_test
@pytest.mark.parametrize("name", NAMES)
def test_a_program_does_what_the_network_does_on_1000_instances_of_each_size_and_every_small_one(name):
    program, table, _ = extract(load(name))
    assert table is not None
    check_listing(program)
    task = program.task
    observations, actions = met_on_fresh_instances(load(name), task.sizes, 1000, 7).entries()
    known = table.holds(observations)
    assert (program.actions(observations[known]) == actions[known]).all()
    if name in IMITATORS:
        assert (program.actions(observations) == actions).all()
