"""What learners tell those who watch them: what they are doing, how far they have come, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surpass.agents.teachers import known_teachers
from surpass.engine.run import AnyAgent, run
from surpass.tasks.task import Limit, Request, Task

if TYPE_CHECKING:
    from surpass.learning.runs import Learner


@dataclass(frozen=True)
class Measure:
    """A column of the curves that says how well it goes."""

    column: str
    words: str
    """What it is."""
    is_share: bool = False
    is_lower_better: bool = False
    of: str = ""
    """What it is a share of, in words that stand behind it."""
    is_best: bool = False
    """Whether it is that of the best round so far, which then need not be told."""


AGREEMENT = Measure("agreement", "like the teacher", is_share=True)
STEPS = Measure("mean_steps", "mean steps", is_lower_better=True)
REWARD = Measure("mean_reward", "mean reward")
SOLVED = Measure("solved", "solved", is_share=True)
"""What counts instead of steps until everything is solved: few steps mean nothing in a wrong answer."""


class TeacherComparison(NamedTuple):
    """A mean of the learner's beside that of the agent that it is compared with, on the same instances."""

    size: int
    ours: float
    reference: float | None


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a learner has come, as it sees it."""

    measure: Measure
    """The main measure of what it is doing now."""
    doing: str = ""
    """What it is doing now, if it does several things one after the other."""
    done: int
    """How many rounds of that are done: the last lines of the curves."""
    expected: int | None = None
    """How many rounds of that it expects in all, as far as it knows."""
    ends: str = ""
    """When it ends, if it does not know the number of rounds."""
    work: int = 0
    """How much it has done since it was made or restored."""
    unit: str = "steps"
    """What that is counted in."""
    facts: tuple[tuple[str, str], ...] = ()
    """What else there is to say, by name."""
    comparisons: tuple[TeacherComparison, ...] = ()
    """What the last round showed, beside the agent that it is compared with."""
    beside: str = "teacher"
    """What that agent is, in a word."""


@dataclass(frozen=True)
class RunState:
    """How far a run has come, for those who watch it."""

    learner: Learner
    folder: Path
    curves: Sequence[Mapping[str, float]]
    began_with: int
    """How many rounds were done when the run was taken up."""
    minutes: float | None
    """After how many minutes it stops, if that is set."""
    afterwards: str = ""
    """What is done with what was learned, once the learning is over."""
    done: int = 0
    total: int | None = None
    """How much of that is done."""


def reference_agent(task: Task, teacher: AnyAgent | None) -> AnyAgent | None:
    """Return the agent that a learner is compared with: its teacher, or the last one of its task."""
    return teacher or next(iter(known_teachers(task)[::-1]), None)


class TeacherReference:
    """The means of a teacher on the instances that a learner is measured on, each found once."""

    def __init__(
        self, task: Task, teacher: AnyAgent | None, measured_on: Callable[[int], Request], limit: Limit | None = None
    ) -> None:
        self._task, self._teacher, self._measured_on, self._limit = (
            task,
            reference_agent(task, teacher),
            measured_on,
            limit,
        )
        self._means: dict[int, float | None] = {}

    def compare(self, curve: Mapping[str, float], column: str) -> tuple[TeacherComparison, ...]:
        """Return a line of the curves that has its size, beside the teacher at that size."""
        if "size" not in curve or column not in curve:
            return ()
        size = int(curve["size"])
        if size not in self._means:
            self._means[size] = None
            if self._teacher is not None:
                results = run(self._teacher, self._task.draw(self._measured_on(size)), limit=self._limit)
                self._means[size] = float((results.rewards if self._task.measure == "reward" else results.steps).mean())
        return (TeacherComparison(size, curve[column], self._means[size]),)
