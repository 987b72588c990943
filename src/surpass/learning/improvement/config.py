"""How improvement learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from surpass.reading import MOST, Batch, Fraction, Many, Range, Seed, Size, Weight, Whole, check_fields
from surpass.tasks.task import Limit


@dataclass(frozen=True, kw_only=True)
class ImprovementConfig:
    """How `Improvement` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    """The agent to start from."""
    seed: Seed = 0
    sizes: tuple[Size, ...] = ()
    """The sizes that the program is made shorter on, all of equal weight; if empty, some up to those to train on."""
    large_sizes: tuple[Size, ...] = (100, 300)
    """Sizes at which it must still solve what it solved before, at the end of each round."""
    data: str = ""
    """What the program is made shorter on: distributions and files, separated by commas, each with a weight behind * if
    it has one (my-lists.csv*3,uniform); the task's first distribution if empty."""
    digest: str = ""
    """The SHA-256 of the files, which is filled in: a run goes on only with the same ones."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    limit: str = ""
    """How many steps are allowed, or several such limits, separated by commas, which instances take in turn; the
    task's if empty."""
    rounds: Many = 100
    """How many rounds the program is edited for."""
    generations: Many = 20
    """Sets of candidates in a round."""
    candidates: Batch = 1024
    """Edited programs in a set."""
    screened: Batch = 6
    """Instances of each size that all candidates are tried on."""
    tested: Batch = 60
    """Instances of each size for the best of those that did no worse."""
    confirmed: Batch = 600
    """Instances of each size for the best of those."""
    errors: Weight = 1.0
    """How many standard errors the gain on the last must lie above nothing."""
    others: Fraction = 0.15
    """The share of the instances that come from the other distributions."""
    rule_price: Weight = 0.02
    """How many of the steps, in the mean over the sizes, a rule must save to be worth keeping."""
    condition_price: Weight = 0.006
    """How many of the steps a condition must save."""
    drift: Fraction = 0.2
    """The share of sets in which an edit that makes no difference at all may be kept."""
    temperature: Fraction = 0.002
    """What share of the cost an edit may add at first, about, and still be kept; it falls to nothing by the end."""
    margin: Fraction = 0.0005
    """What share of the cost the program may lose at any size when it is made simpler at the end."""
    rewrites: Whole = 100
    """How many times at the end the rules of a place, or of several made one, are written anew, to keep the fewest."""
    wander: Fraction = 0.5
    """The share of sets in which, while the temperature is above nothing, any that may be kept go on, not the best."""
    slack: Annotated[float, Range(1, MOST)] = 1.25
    """How many times the program's own steps a candidate may take before it is stopped."""
    levelled: str = ""
    """Agents, separated by commas, for a task in which a score counts. If there are any, the program need not be better
    at every size: what counts is where it falls furthest behind the best of them and of the agent to start from."""
    sharpness: Annotated[float, Range(1, MOST)] = 150.0
    """How much the size counts at which it falls furthest behind, for a shortfall that is a share of 1."""

    def __post_init__(self) -> None:
        check_fields(self)
        for word in self.limit.split(",") if self.limit else ():
            Limit.parse(word)
