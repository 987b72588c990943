"""The agents of the zoo, for the tests of all of them."""

from __future__ import annotations

from functools import cache

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.teachers import find_teacher
from surpass.agents.zoo import find_entry, load_entry, zoo_entries
from surpass.tasks.teacher import Teacher

NAMES = tuple(resident.name for resident in zoo_entries())
IMITATORS = tuple(name for name in NAMES if "/imitation-" in name)
TABLE_IMITATORS = tuple(name for name in IMITATORS if not name.startswith("sort-full/"))
WITH_TABLE = tuple(name for name in NAMES if not name.startswith("sort-full/"))
SORTERS = tuple(name for name in WITH_TABLE if name.startswith("sort-"))


@cache
def load(name: str) -> NetworkAgent:
    """Return an agent of the zoo that is a network with a table."""
    agent = load_entry(name)
    assert isinstance(agent, NetworkAgent)
    return agent


def teacher_of(name: str) -> Teacher:
    """Return the teacher that an agent of the zoo imitates, by its recipe."""
    teacher = find_teacher(find_entry(name).record["recipe"]["teacher"])
    assert isinstance(teacher, Teacher)
    return teacher
