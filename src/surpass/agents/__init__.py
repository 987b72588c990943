"""Who answers: teachers and, in time, tables and networks."""

from __future__ import annotations

from surpass.agents import teachers
from surpass.agents.agent import NO_ACTION, Agent, FullViewAgent
from surpass.agents.teacher import find_teacher, known_teachers, teacher
from surpass.errors import SettingError

__all__ = ["NO_ACTION", "Agent", "FullViewAgent", "find_agent", "find_teacher", "known_teachers", "teacher", "teachers"]


def find_agent(text: str) -> Agent | FullViewAgent:
    """Return the agent that a text such as `teacher:bubble_sort` names."""
    kind, colon, name = text.partition(":")
    if not colon or kind != "teacher":
        names = ", ".join(t.name for t in known_teachers())
        raise SettingError(f"unknown agent {text!r}; known: {names}")
    return find_teacher(name)
