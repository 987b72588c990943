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
from surpass.learning.discover.objective import doubling_sizes
from surpass.learning.discover.rounds import Budget, RulePrices
from surpass.programs.text import parse_program, write_text
from surpass.table import Agent
from surpass.tasks.task import Task

REPAIRS = 1
"""How many attempts are made to repair a program of a gradient run."""
FIRST_REPAIR = 1_000_001
"""The number of the first of them; those of attempts are smaller."""


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

    def _editor(self, scale: Scale, *, is_kept: bool = True) -> Editor:
        if scale in self._editors:
            return self._editors[scale]
        given = {**self.given, "sizes": scale.sizes}
        editor = Editor(self.task, given, self.prices, self.budget, scale.reference)
        if is_kept:
            self._editors[scale] = editor
        return editor

    def extract(self, name: str) -> str:
        """Return the program of an agent, as text."""
        return write_text(replace(program_of(find_start(self.task, name), NORMAL), name=name))

    def judge(self, scale: Scale, program: str, number: int) -> Judged:
        """Measure a program, and search for its failures."""
        return self._editor(scale).judge(program, number)

    def attempt(self, scale: Scale, attempt: Attempt) -> Judged:
        """Edit a program for some rounds."""
        return self._editor(scale).attempt(attempt)

    def learn(self, part: Part) -> LearnedPart:
        """Advance a gradient run; once it has ended, its programs are repaired."""
        learned = learn(self.task, self.given, part)
        programs = [self._repair(text, part.seed + k) for k, text in enumerate(learned.programs)]
        return learned._replace(programs=tuple(programs))

    def _repair(self, program: str, number: int) -> str:
        """Return a program that was edited until a search finds no failure of it, or for a few attempts."""
        parsed = parse_program(program, "a program of a gradient run", self.task)
        editor = self._editor(Scale(program, doubling_sizes(self.task, parsed, self.given["queries"])), is_kept=False)
        judged = editor.judge(program, number)
        for k in range(REPAIRS):
            if judged.is_sound:
                break
            part = FIRST_REPAIR + REPAIRS * number + k
            judged = editor.attempt(Attempt(part, judged.program, "", "", 0.0, 0.0, None, judged.failing))
        return judged.program
