"""The programs that a run has found, where each came from, and what each island does next.

An island edits one program, with a focus (the distribution that counts most) and a temperature of its own. When it has
gained nothing for a while, it begins anew: from the best program of all islands, from another one of the front, or from
one of the run's first programs, with a new focus and temperature. So odd data and long detours are tried beside the
straight way (island models of evolution; Romera-Paredes et al., 2024, "FunSearch").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from surpass.errors import SavedFileError
from surpass.learning.discover.attempts import MOST_COUNTEREXAMPLES, Attempt, Outcome
from surpass.learning.discover.rounds import RulePrices
from surpass.learning.updates import SOURCE
from surpass.programs.program import Program
from surpass.reading import Count, validate

PATIENCE = 2
"""After how many attempts in a row without a gain an island begins anew."""
LEAST_HEAT, MOST_HEAT = 0.0005, 0.02
"""The range of the temperatures, evenly in their logarithm."""
GAIN = 1e-6
"""What share of the cost counts as a gain."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A program, what it costs and where it came from."""

    number: int
    program: str
    rules: int
    merit: float
    """Its relative cost with the price of its rules."""
    cost: float
    """Its relative cost."""
    means: tuple[float, ...]
    """Its mean cost at each size, on the first distribution."""
    is_sound: bool
    """Whether a search found no failure."""
    how: str
    """How it was made, in words."""
    parents: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Island:
    """Where a program is edited, and how."""

    at: int
    """The number of the program."""
    focus: str = ""
    """The distribution that counts most; empty for the usual one."""
    heat: float = LEAST_HEAT
    """The temperature."""
    idle: int = 0
    """How many attempts in a row gained nothing."""


STATE = {
    **{"found": [Found], "islands": [Island | None], "starts": list[Count]},
    **{"counterexamples": list[str], "count": Count},
}


@dataclass
class Population:
    """Every program that counts, and the islands."""

    islands: list[Island | None]
    found: dict[int, Found] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    """The numbers of the programs that were not made by editing."""
    counterexamples: list[str] = field(default_factory=list)
    count: int = 0
    """How many programs there were."""

    def add(
        self, outcome: Outcome, program: Program, prices: RulePrices, how: str, parents: Sequence[int], is_start: bool
    ) -> Found:
        """Add a program in place, and return it with its number."""
        price = prices.of(program)
        made = Found(
            number=self.count,
            program=outcome.program,
            rules=len(program.rules),
            merit=outcome.cost + price,
            cost=outcome.cost,
            means=outcome.means,
            is_sound=outcome.is_sound,
            how=how,
            parents=tuple(parents),
        )
        self.found[made.number] = made
        self.count += 1
        if is_start:
            self.starts.append(made.number)
        self.learn_failures(outcome.failing)
        return made

    def learn_failures(self, failing: Sequence[str]) -> None:
        """Keep counter-examples for all islands, in place."""
        self.counterexamples = [*dict.fromkeys([*self.counterexamples, *failing])][-MOST_COUNTEREXAMPLES:]

    @property
    def best(self) -> Found | None:
        """The best program: the sound one of the least cost, rules included; if none is sound, any."""
        return min(self.found.values(), key=lambda one: (not one.is_sound, one.merit, one.number), default=None)

    @property
    def front(self) -> list[Found]:
        """The sound programs that no other one beats in both rules and cost, and the best one; the shortest first."""
        front: list[Found] = []
        for one in sorted(self.found.values(), key=lambda one: (one.rules, one.merit, one.number)):
            if one.is_sound and (one is self.best or not front or one.cost < front[-1].cost - GAIN):
                front = [other for other in front if other.rules != one.rules or one is not self.best] + [one]
        return front

    def lineage(self, number: int) -> list[Found]:
        """Return a program and those that it came from, the first one first."""
        line: list[Found] = []
        waiting = [number]
        while waiting:
            one = self.found[waiting.pop()]
            if one not in line:
                line.append(one)
                waiting += one.parents[:1]
        return line[::-1]

    def plan(self, number: int, k: int, seed: int, focuses: Sequence[str]) -> tuple[Attempt, tuple[int, ...]]:
        """Return attempt `number`, and the numbers of the programs that it edits and may copy from.

        An island that gains nothing any more begins anew, in place.
        """
        random = np.random.default_rng([seed, 9, number])
        island = self.islands[k]
        if island is None or island.idle >= PATIENCE:
            island = self._renewed(k, random, focuses)
            self.islands[k] = island
        parents = (island.at, *self._mate(island.at, random))
        program, mate = ([self.found[one].program for one in parents] + [""])[:2]
        return Attempt(number, program, mate, island.focus, island.heat, tuple(self.counterexamples)), parents

    def _renewed(self, k: int, random: np.random.Generator, focuses: Sequence[str]) -> Island:
        """Return an island that begins anew: from the best program, one of the front, or one of the first ones."""
        heat = float(np.exp(random.uniform(np.log(LEAST_HEAT), np.log(MOST_HEAT))))
        # Half of the islands look at the usual data.
        focus = "" if k % 2 == 0 or not focuses else focuses[int(random.integers(len(focuses)))]
        kind = random.random()
        assert self.best is not None
        if self.islands[k] is None or kind < 0.25:
            at = self.starts[int(random.integers(len(self.starts)))]
        elif kind < 0.5 and self.front:
            at = self.front[int(random.integers(len(self.front)))].number
        else:
            at = self.best.number
        return Island(at=at, focus=focus, heat=heat)

    def _mate(self, at: int, random: np.random.Generator) -> tuple[int, ...]:
        """Return the number of another program, of an island or of the front, if there is one."""
        others = {island.at for island in self.islands if island is not None} | {one.number for one in self.front}
        choices = sorted(others - {at})
        return (choices[int(random.integers(len(choices)))],) if choices else ()

    def receive(self, k: int, start: int, made: Found | None) -> None:
        """Let an island continue from what came of its attempt, in place, if that is better by its own focus."""
        island = self.islands[k]
        if island is None or island.at != start:
            return
        is_gain = made is not None and made.is_sound >= self.found[start].is_sound
        at = made.number if made is not None and is_gain else start
        self.islands[k] = replace(island, at=at, idle=0 if is_gain else island.idle + 1)

    def drop_unused(self, also: Sequence[int] = ()) -> None:
        """Forget programs that nobody needs any more, in place.

        Kept are the best, the front, the first ones, those of islands, some others, and what all these came from.
        """
        kept = {one.number for one in self.front} | {island.at for island in self.islands if island is not None}
        kept |= {*self.starts, *also} | ({self.best.number} if self.best else set())
        kept |= {one.number for number in kept for one in self.lineage(number)}
        self.found = {number: one for number, one in self.found.items() if number in kept}

    def save(self) -> dict[str, Any]:
        """Return everything as a record."""
        return {**asdict(self), "found": [asdict(one) for one in self.found.values()]}

    @staticmethod
    def load(record: dict[str, Any], islands: int) -> Population:
        """Return the population of a record."""
        state = validate(STATE, record, SOURCE)
        found = {one.number: one for one in state["found"]}
        needed = {*state["starts"], *(one.at for one in state["islands"] if one is not None)}
        if len(state["islands"]) != islands or not needed <= found.keys():
            raise SavedFileError(f"{SOURCE} lacks programs that its islands edit")
        return Population(**{**state, "found": found})
