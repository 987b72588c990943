"""How improvement learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surpass.reading import Batch, Fraction, Many, Seed, Size, Weight, check_fields


@dataclass(frozen=True, kw_only=True)
class ImprovementConfig:
    """How `Improvement` learns. Every field is part of the recipe."""

    FIRST: ClassVar = (
        *("rounds", "sizes", "data", "queries", "generations", "candidates"),
        *("instances", "rule_price", "temperature"),
    )
    task: str
    teacher: str
    """The agent to start from."""
    seed: Seed = 0
    sizes: tuple[Size, ...] = ()
    """The sizes on which steps are saved, all of equal weight; if empty, some up to the training sizes."""
    data: str = ""
    """Where steps are saved: distributions and files, separated by commas, each with a weight behind * if it has one
    (my-lists.csv*3,uniform); the task's first distribution if empty."""
    digest: str = ""
    """The SHA-256 of the files, filled in by the learner: a run resumes only with the same files."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    rounds: Many = 100
    """How many rounds the program is edited for."""
    generations: Many = 20
    """Sets of candidates in a round."""
    candidates: Batch = 1024
    """Edited programs in a set."""
    instances: Batch = 600
    """Instances of each size in the last stage of the sequential test. All candidates are run on a hundredth of them,
    the best ones on a tenth, and the best of those on all."""
    rule_price: Weight = 0.02
    """How many steps, in the mean over the sizes, a rule must save to be worth keeping; a condition costs 0.3 of it."""
    temperature: Fraction = 0.002
    """What share of the cost an edit may add at first and still be accepted (simulated annealing); it falls to 0."""

    def __post_init__(self) -> None:
        check_fields(self)
