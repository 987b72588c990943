"""What each worker holds: it writes programs of agents, judges them, makes attempts and parts of gradient runs.

Every answer is a function of the question alone, so that it does not matter who answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from surpass.agents import agent_of_recipe
from surpass.checks import NORMAL
from surpass.errors import SettingError
from surpass.learning.discover.attempts import Attempt, Editor, Judged
from surpass.learning.discover.gradients import LearnedPart, Part, learn, program_of
from surpass.learning.discover.rounds import Budget, RulePrices
from surpass.programs.text import write_text
from surpass.table import Agent
from surpass.tasks.task import Task


class Scale(NamedTuple):
    """What costs are relative to."""

    reference: str
    """A program, as text."""
    sizes: tuple[int, ...]


def find_start(task: Task, name: str) -> Agent:
    """Return the agent of a name to begin with."""
    found = agent_of_recipe(task, name)
    if not isinstance(found, Agent):
        raise SettingError(f"{name} has a full view; only an agent with a table can be a start")
    return found


class Worker:
    """Answers questions about the programs of one run."""

    def __init__(self, task: Task, given: dict[str, Any], prices: RulePrices, budget: Budget) -> None:
        self.task, self.given, self.prices, self.budget = task, given, prices, budget
        self._editors: dict[Scale, Editor] = {}

    def _editor(self, scale: Scale) -> Editor:
        if scale not in self._editors:
            given = {**self.given, "sizes": scale.sizes}
            self._editors[scale] = Editor(self.task, given, self.prices, self.budget, scale.reference)
        return self._editors[scale]

    def extract(self, name: str) -> str:
        """Return the program of an agent, as text."""
        return write_text(replace(program_of(find_start(self.task, name), NORMAL), name=name))

    def judge(self, scale: Scale, program: str, number: int) -> Judged:
        """Measure a program, and search for its failures."""
        return self._editor(scale).judge(program, number)

    def attempt(self, scale: Scale, attempt: Attempt) -> Judged:
        """Edit a program for some rounds."""
        return self._editor(scale).attempt(attempt)

    def learn(self, scale: Scale | None, part: Part) -> tuple[LearnedPart, Judged | None]:
        """Advance a gradient run; its program, if there is a new one, is judged."""
        learned = learn(self.task, self.given, part)
        judged = self.judge(scale, learned.program, part.seed) if scale is not None and learned.program else None
        return learned, judged
