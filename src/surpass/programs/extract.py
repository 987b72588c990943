"""From an agent to its program: collect its table, split it by place, write the code of each place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import numpy.typing as npt

from surpass.agents.agent import Agent, FullViewAgent
from surpass.programs.program import START, Branch, Function, Leaf, Location, Node, Program, place_features
from surpass.programs.rules import write_code
from surpass.programs.table import Collector, Progress, Table, need_table

__all__ = ["extract", "write_program"]

Ints = npt.NDArray[np.int64]


def extract(agent: Agent | FullViewAgent, *, seed: int = 0, progress: Progress | None = None) -> Program:
    """Return the program of an agent: exactly what it does on every observation that it was seen to meet."""
    agent = need_table(agent)
    collector = Collector(agent, seed)
    collector.collect(progress)
    return write_program(agent.name, collector.table, agent)


def write_program(name: str, table: Table, origin: Agent | None = None) -> Program:
    """Return the program of a table."""
    interface = table.task.interface
    digits = interface.digits(table.observations)
    function_feature, previous_feature = place_features(interface)
    features = [k for k in range(len(interface.features)) if k not in (function_feature, previous_feature)]
    functions = []
    for ids, rows in _split(digits, function_feature):
        locations = [
            Location(after, write_code(digits[rows][here], table.actions[rows][here], features))
            for after, here in _split(digits[rows], previous_feature)
        ]
        functions.append(Function(ids, _in_order(locations)))
    numbers = count()
    numbered = tuple(_number(function, lambda: next(numbers)) for function in functions)
    return Program(name, table.task, numbered, table, origin)


def _split(digits: Ints, feature: int | None) -> list[tuple[tuple[int, ...], Ints]]:
    """Return the values of a feature that occur, each with its rows; all rows where there is no such feature."""
    if feature is None:
        return [((), np.arange(len(digits)))]
    column = digits[:, feature]
    return [((int(value),), np.flatnonzero(column == value)) for value in np.unique(column)]


def _in_order(locations: list[Location]) -> tuple[Location, ...]:
    """Return the locations in the order in which the code reaches them from its start."""
    ordered: list[Location] = []
    waiting = sorted(locations, key=lambda location: START not in location.after)
    reached: list[int] = [START]
    while waiting:
        found = next((p for p in waiting if set(p.after) & set(reached)), waiting[0])
        waiting.remove(found)
        ordered.append(found)
        reached += [leaf.action + 1 for leaf in _leaves(found.code)]
    return tuple(ordered)


def _leaves(node: Node) -> list[Leaf]:
    return [node] if isinstance(node, Leaf) else [*_leaves(node.then), *_leaves(node.otherwise)]


def _number(function: Function, next_number: Callable[[], int]) -> Function:
    """Return a function whose leaves carry the numbers of their rules."""

    def walk(node: Node) -> Node:
        if isinstance(node, Branch):
            return Branch(node.tests, walk(node.then), walk(node.otherwise))
        return Leaf(node.action, next_number())

    return replace(function, locations=tuple(Location(p.after, walk(p.code)) for p in function.locations))
