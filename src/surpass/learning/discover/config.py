"""How a portfolio discovers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from surpass.errors import SettingError
from surpass.reading import Batch, Many, OneOf, Seed, Size, Weight, Whole, check_fields, show


@dataclass(frozen=True, kw_only=True)
class DiscoverConfig:
    """How `Discover` searches. Every field is part of the recipe."""

    FIRST: ClassVar = ("start", "rounds", "sizes", "data", "queries", "rule_price", "network")
    task: str
    teacher: str = ""
    """Stays empty: every teacher of the task is a start, unless `start` names others."""
    seed: Seed = 0
    start: str = ""
    """The agents to begin with, separated by commas, or `nothing`; if empty, all teachers of the task."""
    rounds: Many = 2000
    """How many attempts to edit a program there are in all."""
    sizes: tuple[Size, ...] = ()
    """The sizes that count, all alike; if empty, sizes that double, as large as time allows."""
    data: str = ""
    """Distributions and files that count, separated by commas, each with a weight behind * if it has one; if empty, all
    distributions, the usual one as much as all others together."""
    digest: str = ""
    """The SHA-256 of the files, filled in by the learner: a run resumes only with the same files."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    islands: Many = 6
    """How many programs are edited side by side."""
    gradients: Whole = 2
    """How many gradient runs there are beside them: the first begins with nothing, others with the best program."""
    sets: Many = 40
    """Sets of candidates in a round of an attempt."""
    candidates: Batch = 1024
    """Edited programs in a set."""
    instances: Batch = 300
    """Instances of each size in the last stage of the sequential test. All candidates are run on about one in
    25 of them, the best ones on one in seven, and the best of those on all."""
    rule_price: Weight = 0.0003
    """The share of the cost that a rule must save to be worth keeping; a condition must save 0.3 of it."""
    network: Annotated[str, OneOf(("no", "yes"))] = "no"
    """Whether a network learns the best program in the end, which needs PyTorch."""

    def __post_init__(self) -> None:
        check_fields(self)
        words = [word.strip() for word in self.start.split(",")]
        if "nothing" in words and len(words) > 1:
            raise SettingError(f"start is {show(self.start)}; it must be nothing or agents, and not both")
        if self.start == "nothing" and not self.gradients:
            raise SettingError("start is nothing and gradients is 0; without gradients there must be an agent to edit")
