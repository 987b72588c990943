"""The programs that a run has found, where each came from, and what each island does next.

An island edits one program for a number of attempts, while its temperature falls to 0 (simulated annealing). Each such
chain has a focus, the distribution that counts most, and a first temperature of its own. The next chain of the island
begins with one of the run's first programs, with one of the front, or with the best. So odd data and long detours are
tried beside the straight way (island models of evolution; Romera-Paredes et al., 2024, "FunSearch").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from surpass.errors import SavedFileError
from surpass.learning.discover.attempts import MOST_COUNTEREXAMPLES, Attempt, Judged
from surpass.learning.discover.rounds import RulePrices
from surpass.learning.updates import SOURCE
from surpass.programs.program import Program
from surpass.reading import Count, validate

CHAIN = 6
"""How many attempts a chain has; one that stands still ends before."""
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.0005, 0.02
"""The range of the first temperatures, evenly in their logarithm."""
FROM_STARTS, FROM_FRONT = 0.4, 0.3
"""The shares of the chains that begin with one of the first programs, and with one of the front."""
MATING = 0.15
"""The share of the attempts that may copy rules of another program."""
GAIN = 1e-6
"""What share of the cost counts as a gain."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A program, what it costs and where it came from."""

    number: int
    program: str
    rules: int
    priced_cost: float
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
    """A chain of attempts."""

    program: str
    """Where it stands; at a temperature above 0 it may have lost a little."""
    origin: int
    """The number of the last program of the population that it came by."""
    focus: str
    """The distribution that counts most; empty for the usual one."""
    temperature: float
    """The first temperature."""
    done: int = 0
    """How many of its attempts are done."""
    least: float | None = None
    """The least cost so far, with the price of the rules, where the focus counts most."""


STATE = {
    **{"found": [Found], "islands": [Island | None], "starts": list[Count], "begun": list[Count]},
    **{"counterexamples": list[str], "count": Count},
}


@dataclass
class Population:
    """Every program that counts, and the islands."""

    islands: list[Island | None]
    found: dict[int, Found] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    """The numbers of the programs that were not made by editing."""
    begun: list[int] = field(default_factory=list)
    """The islands that have begun a chain."""
    counterexamples: list[str] = field(default_factory=list)
    count: int = 0
    """How many programs there were."""

    def add(
        self, outcome: Judged, program: Program, prices: RulePrices, how: str, parents: Sequence[int], is_start: bool
    ) -> Found:
        """Add a program in place, and return it with its number."""
        price = prices.of(program)
        made = Found(
            number=self.count,
            program=outcome.program,
            rules=len(program.rules),
            priced_cost=outcome.cost + price,
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

    def measure_again(self, number: int, outcome: Judged) -> None:
        """Take the costs of a program from another outcome, in place."""
        one = self.found[number]
        price, is_sound = one.priced_cost - one.cost, one.is_sound and outcome.is_sound
        self.found[number] = replace(
            one, is_sound=is_sound, cost=outcome.cost, priced_cost=outcome.cost + price, means=outcome.means
        )
        self.learn_failures(outcome.failing)

    def learn_failures(self, failing: Sequence[str]) -> None:
        """Keep counter-examples for all islands, in place."""
        self.counterexamples = [*dict.fromkeys([*self.counterexamples, *failing])][-MOST_COUNTEREXAMPLES:]

    @property
    def best(self) -> Found | None:
        """The best program: the sound one of the least cost, rules included; if none is sound, any."""
        return min(self.found.values(), key=lambda one: (not one.is_sound, one.priced_cost, one.number), default=None)

    @property
    def front(self) -> list[Found]:
        """The sound programs that no other one beats in both rules and cost, and the best one; the shortest first.

        There is one of each number of rules.
        """
        best, front = self.best, dict[int, Found]()
        for one in sorted(self.found.values(), key=lambda one: (one.rules, one is not best, one.cost, one.number)):
            costs = [other.cost for other in front.values()]
            if one.is_sound and one.rules not in front and (one is best or not costs or one.cost < min(costs) - GAIN):
                front[one.rules] = one
        return [*front.values()]

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

    def plan(self, number: int, islands: int, seed: int, focuses: Sequence[str]) -> tuple[Attempt, tuple[int, ...]]:
        """Return attempt `number`, and the numbers of the programs that it comes from and may copy from.

        The islands take turns. One whose chain has ended begins a new one, in place.
        """
        k = number % islands
        random = np.random.default_rng([seed, 9, number])
        island = self.islands[k] or self._new_chain(k, random, focuses)
        self.islands[k] = island
        mate = self._mate(island.origin, random) if random.random() < MATING else ()
        temperatures = [island.temperature * (1 - done / CHAIN) for done in (island.done, island.done + 1)]
        attempt = Attempt(
            number=number,
            program=island.program,
            mate=self.found[mate[0]].program if mate else "",
            focus=island.focus,
            temperature=temperatures[0],
            last_temperature=temperatures[1],
            least=island.least,
            known=tuple(self.counterexamples),
        )
        return attempt, (island.origin, *mate)

    def _new_chain(self, k: int, random: np.random.Generator, focuses: Sequence[str]) -> Island:
        """Return the beginning of a chain; the first ones begin with the first programs in turn."""
        temperature = float(np.exp(random.uniform(np.log(LEAST_TEMPERATURE), np.log(MOST_TEMPERATURE))))
        # Half of the islands look at the usual data.
        focus = "" if k % 2 == 0 or not focuses else focuses[int(random.integers(len(focuses)))]
        kind, front = random.random(), self.front
        starts = [one for one in self.starts if self.found[one].is_sound] or self.starts
        assert self.best is not None
        if k not in self.begun:
            self.begun.append(k)
            at = starts[k % len(starts)]
        elif kind < FROM_STARTS:
            # The better one of two: gradients bring many, and not all are worth an attempt.
            at = min(
                (starts[int(k)] for k in random.integers(len(starts), size=2)),
                key=lambda one: self.found[one].priced_cost,
            )
        elif kind < FROM_STARTS + FROM_FRONT and front:
            at = front[int(random.integers(len(front)))].number
        else:
            at = self.best.number
        return Island(program=self.found[at].program, origin=at, focus=focus, temperature=temperature)

    def _mate(self, at: int, random: np.random.Generator) -> tuple[int, ...]:
        """Return the number of another program, of an island or of the front, if there is one."""
        others = {island.origin for island in self.islands if island is not None} | {one.number for one in self.front}
        choices = sorted(others - {at})
        return (choices[int(random.integers(len(choices)))],) if choices else ()

    def receive(self, k: int, attempt: Attempt, outcome: Judged, made: Found | None) -> None:
        """Let an island continue from what came of its attempt, in place; its chain ends after the last one."""
        island = self.islands[k]
        assert island is not None
        origin = island.origin if made is None else made.number
        is_over = island.done + 1 >= CHAIN or outcome.current == attempt.program
        on = replace(island, program=outcome.current, origin=origin, done=island.done + 1, least=outcome.least)
        self.islands[k] = None if is_over else on

    def drop_unused(self, also: Sequence[int] = ()) -> None:
        """Forget programs that nobody needs any more, in place.

        Kept are the best, the front, the first ones, those of islands, some others, and what all these came from.
        """
        kept = {one.number for one in self.front} | {island.origin for island in self.islands if island is not None}
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
        needed = {*state["starts"], *(one.origin for one in state["islands"] if one is not None)}
        if len(state["islands"]) != islands or not needed <= found.keys():
            raise SavedFileError(f"{SOURCE} lacks programs that its islands edit")
        return Population(**{**state, "found": found})
