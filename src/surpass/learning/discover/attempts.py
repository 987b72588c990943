"""An attempt: a worker edits one program for some rounds, makes it simpler, and searches for its failures.

An attempt is a function of what it is given, so it can be made on any machine, and made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.checks import NORMAL, QUICK, Effort, find_failures
from surpass.checks.shrink import shrink
from surpass.engine.run import run
from surpass.learning.discover.edits import rewritten_programs, shorter_programs, without
from surpass.learning.discover.objective import Objective, mean_steps
from surpass.learning.discover.rounds import Budget, Round, RulePrices
from surpass.learning.discover.trials import Trial
from surpass.programs.program import Program
from surpass.programs.text import parse_program, write_text
from surpass.table import Table
from surpass.tasks.task import Instances, Task, join_instances

ROUNDS = 4
"""Rounds of an attempt; the temperature falls from one to the next."""
REFERENCE_PART = 1_000_000
"""Stands in the place of an attempt's number for the instances on which programs of all attempts are measured."""
EACH_ROUND = replace(QUICK, enumerated=20_000)
"""How hard to search for failures at the end of a round,"""
AT_END = replace(NORMAL, changed=3_000)
"""and at the end of an attempt."""
GAIN = 0.0002
"""What share of the cost a program must gain to be worth making simpler."""
MARGIN = 0.0005
"""What share of the cost the program may lose at any size when it is made simpler."""
REWRITES = 20
"""How many times the rules of a place, or of several merged ones, are written anew, to keep the fewest."""
SHORTLIST = 8
"""How many simpler programs are checked before a program counts as simple."""
MOST_FAILURES = 1_000
"""A search whose instances are used again does not end at the first failure."""
MOST_SHRUNK = 8
"""How many counter-examples of a program are kept."""
SHRINK_TRIES = 300
"""How many smaller instances are tried in place of a counter-example."""
MOST_COUNTEREXAMPLES = 200
"""How many of the instances on which programs failed are kept."""


class Attempt(NamedTuple):
    """What to edit, and how."""

    number: int
    program: str
    """The program to begin with, as text."""
    mate: str
    """Another one, whose rules may be copied; empty for none."""
    focus: str
    """The distribution that counts as the usual one does; empty for the usual one itself."""
    temperature: float
    """The temperature at first: the mean share of the cost that an edit may add and still be accepted,"""
    last_temperature: float
    """and in the end."""
    least: float | None
    """Only what costs less, with the price of the rules, where the focus counts most, is worth keeping."""
    known: tuple[str, ...]
    """Counter-examples, as text."""


class Judged(NamedTuple):
    """What came of an attempt."""

    program: str
    """The best one; the first one if none cost less than the least so far."""
    current: str
    """Where the attempt ended."""
    least: float
    """The least cost so far, with the price of the rules, where the focus counts most."""
    tried: int
    """How many programs were tried."""
    failing: tuple[str, ...]
    """Instances on which some of them failed, as text."""
    is_sound: bool
    """Whether a search found no failure of the program."""
    cost: float
    """Its relative cost on the reference instances of the run."""
    means: tuple[float, ...]
    """Its mean cost there at each size, on the first distribution."""


class Editor:
    """Makes attempts; each worker has one."""

    def __init__(
        self, task: Task, objective: dict[str, Any], prices: RulePrices, budget: Budget, reference: str
    ) -> None:
        self.task, self.prices, self.budget = task, prices, budget
        self.objective = Objective(task, **objective)
        self.reference = self._read(reference)
        self._stages = budget.stages(mean_steps(self.objective, self.reference))
        self._trials: dict[str, Trial] = {}
        self._begin(0)

    def _read(self, text: str) -> Program:
        return parse_program(text, "a program of the run", self.task)

    def reference_trial(self, focus: str = "") -> Trial:
        """Return the instances on which programs of all attempts are measured."""
        if focus not in self._trials:
            sample = self.objective.draw(self._stages[-1], (REFERENCE_PART,), focus)
            self._trials[focus] = Trial(self.task, sample, self.reference)
        return self._trials[focus]

    def _begin(self, number: int, known: Sequence[str] = ()) -> None:
        """Forget the attempt before, and begin one of a number with some counter-examples."""
        self._number, self._known = number, list(known)
        self._searched: dict[Any, tuple[str | None, Ints]] = {}
        self._tried: list[Instances] = []
        """The instances that programs of this attempt are tried on."""

    def attempt(self, attempt: Attempt) -> Judged:
        """Edit a program, and return the best of those that are sound."""
        self._begin(attempt.number, attempt.known)
        start, mate = self._read(attempt.program), self._read(attempt.mate) if attempt.mate else None
        program, tried = start, 0
        best, is_sound = start, self._passes(start, EACH_ROUND)
        least = self._priced_cost(start, attempt.focus) if attempt.least is None else attempt.least
        for turn in range(ROUNDS):
            one = Round(
                self.task,
                self.objective,
                self.reference,
                program,
                self.prices,
                (attempt.number, turn),
                stages=self._stages,
                candidates=self.budget.candidates,
                focus=attempt.focus,
                known=[text for text in self._known if self._is_short(text)],
                mate=mate,
            )
            for k in range(self.budget.sets):
                done = (turn + k / self.budget.sets) / ROUNDS
                tried += one.try_set(attempt.temperature + done * (attempt.last_temperature - attempt.temperature))
            was_sound = is_sound
            program, is_sound = self._last_sound(one.accepted, is_sound)
            cost = self._priced_cost(program, attempt.focus)
            if cost < least - GAIN or (is_sound and not was_sound):
                best, least = program, cost
        if best != start and is_sound:
            best = self._polish(best, attempt.focus) or start
        if best != start:
            least = min(least, self._priced_cost(best, attempt.focus))
        return self._outcome(best, program, least, is_sound, tried, len(attempt.known))

    def judge(self, text: str, number: int) -> Judged:
        """Measure a program, and search for its failures."""
        self._begin(number)
        program = self._read(text)
        return self._outcome(program, program, self._priced_cost(program, ""), self._passes(program, AT_END))

    def _outcome(
        self, program: Program, current: Program, least: float, is_sound: bool, tried: int = 0, known: int = 0
    ) -> Judged:
        """Measure a program on the reference instances."""
        trial = self.reference_trial()
        costs = trial.run([program])
        return Judged(
            program=write_text(program),
            current=write_text(current),
            least=least,
            tried=tried,
            failing=tuple(self._known[known:]),
            is_sound=is_sound,
            cost=float(trial.relative(costs)[0]),
            means=tuple(trial.means(costs[0]).tolist()),
        )

    def _priced_cost(self, program: Program, focus: str) -> float:
        """Return the relative cost of a program on the reference instances, with the price of its rules."""
        trial = self.reference_trial(focus)
        return float(trial.relative(trial.run([program])[0])) + self.prices.of(program)

    def savings(self, text: str) -> list[float | None]:
        """Return the share of the cost that each rule of a program saves; None where it fails without the rule."""
        self._begin(0)
        program, trial = self._read(text), self.reference_trial()
        measured = trial.measure(program)
        saved: list[float | None] = []
        for k in range(len(program.rules)):
            shorter = without(program, [k])
            costs = trial.run([shorter])
            is_needed = bool((~np.isfinite(costs[0]) & np.isfinite(measured)).any()) or not self._passes(
                shorter, EACH_ROUND
            )
            saved.append(None if is_needed else float(trial.relative(costs)[0] - trial.relative(measured)))
        return saved

    # Simpler programs

    def _polish(self, program: Program, focus: str) -> Program | None:
        """Return a program that is as short as it can be and passes a longer search; None if it fails that."""
        simple = self._simplify(program, focus)
        for one in (self._rewrite(simple, focus), simple, program):
            if self._passes(one, AT_END):
                return one
        return None

    def _simplify(self, program: Program, focus: str) -> Program:
        """Return a program without rules, conditions and places that do not pay.

        One goes if that costs at no size more than the margin, or if the whole, prices included, costs less.
        """
        trial = self.reference_trial(focus)
        trial.limits = trial.sample.limits
        measured = trial.measure(program)
        if self.task.measure == "steps":
            trial.limit_steps(measured, times=4, more=100)
        most = trial.by_size(measured) + MARGIN
        cost = float(trial.relative(measured)) + self.prices.of(program)
        while True:
            shorter = [one for one in shorter_programs(program) if self.prices.of(one) < self.prices.of(program)]
            if not shorter:
                break
            found = trial.run_shorter(shorter, measured)
            fails = (~np.isfinite(found) & np.isfinite(measured)).any(axis=1)
            costs = trial.relative(found) + np.array([self.prices.of(one) for one in shorter])
            even = np.array([(trial.by_size(one) <= most).all() for one in found])
            pays = ~fails & (even | (costs < cost))
            fitting = [k for k in np.argsort(costs, kind="stable").tolist() if pays[k]]
            taken = next((k for k in fitting[:SHORTLIST] if self._passes(shorter[k], EACH_ROUND)), None)
            if taken is None:
                break
            program, cost = shorter[taken], float(costs[taken])
            measured = trial.measure(program)
        trial.limits = trial.sample.limits
        return program

    def _rewrite(self, program: Program, focus: str) -> Program:
        """Return a program that does the same in fewer rules, with rules written anew and places merged."""
        random = np.random.default_rng([self.objective.seed, 7, self._number])
        while True:
            failing, observations = self._find_failure(program, EACH_ROUND)
            if failing is not None:
                return program
            tried = (
                one
                for one in rewritten_programs(program, observations, REWRITES, random)
                if self.prices.of(one) < self.prices.of(program) and self._passes(one, EACH_ROUND)
            )
            found = next(tried, None)
            if found is None:
                return program
            program = self._simplify(found, focus)

    # Checks

    def _last_sound(self, programs: list[Program], is_sound: bool) -> tuple[Program, bool]:
        """Return the last of some programs without a known failure, as the first one has none.

        If the first one fails, soundness cannot be asked for yet: the last program is returned.
        """
        if not is_sound:
            return programs[-1], self._passes(programs[-1], EACH_ROUND)
        for program in reversed(programs[1:]):
            failing, observations = self._find_failure(program, EACH_ROUND)
            if failing is None:
                fired = set(program.rules_for(observations).tolist())
                needless = sorted(set(range(len(program.rules))) - fired)
                shorter = without(program, needless)
                return (shorter if needless and self._passes(shorter, EACH_ROUND) else program), True
        return programs[0], True

    def _passes(self, program: Program, effort: Effort) -> bool:
        """Tell whether a search for failures finds none."""
        return self._find_failure(program, effort)[0] is None

    def _find_failure(self, program: Program, effort: Effort) -> tuple[str | None, Ints]:
        """Return an instance on which a program fails, as text, or None; and the observations that occurred."""
        key = program.text, effort
        if key not in self._searched:
            table = Table(self.task, program)
            failing = self._search(table) if effort == EACH_ROUND else self._search_anew(table, effort)
            shrunk = [self._shrink(table, one) for one in failing]
            self._known += [one for one in dict.fromkeys(shrunk) if one not in self._known]
            self._searched[key] = next(iter(shrunk), None), table.observations
        return self._searched[key]

    def _search_anew(self, table: Table, effort: Effort, tried: list[Instances] | None = None) -> list[str]:
        enough = MOST_SHRUNK if tried is None else MOST_FAILURES
        failures = find_failures(table, effort, known=self._known, seed=self._number, enough=enough, tried=tried)
        return failures[:MOST_SHRUNK]

    def _search(self, table: Table) -> list[str]:
        """Search on the instances that the first program of the attempt was tried on, and the counter-examples."""
        if not self._tried:
            tried: list[Instances] = []
            failing = self._search_anew(table, EACH_ROUND, tried)
            self._tried = _by_doublings(self.task, tried)
            return failing
        known = [self.task.parse_instance(text)[0] for text in self._known]
        failing = []
        for instances in [*([join_instances(self.task, known)] if known else []), *self._tried]:
            solved = run(table, instances, find_loops=not self.task.limit_is_budget).solved
            if not solved.all():
                first = int(solved.argmin())
                failing.append(self.task.write_instance(instances.part(first, first + 1)))
                if len(failing) == MOST_SHRUNK:
                    break
        return failing

    def _shrink(self, table: Table, failing: str) -> str:
        """Return a failing instance made smaller, if a few tries do that, as text."""
        left = SHRINK_TRIES

        def fails(instances: Instances) -> Flags | None:
            nonlocal left
            left -= instances.count
            is_solved = run(table, instances, find_loops=not self.task.limit_is_budget).solved
            return ~is_solved if left >= 0 else None

        return self.task.write_instance(shrink(self.task, self.task.parse_instance(failing)[0], fails))

    def _is_short(self, text: str) -> bool:
        """Tell whether an instance is at most as long as those on which programs are compared."""
        return int(self.task.parse_instance(text)[0].sizes[0]) <= max(self.objective.sizes)


def _by_doublings(task: Task, batches: Sequence[Instances]) -> list[Instances]:
    """Return the instances of some batches in a few batches, of sizes up to 1, 2, 4 and so on."""
    of_size: dict[int, list[Instances]] = {}
    for batch in batches:
        of_size.setdefault(int(batch.sizes.max()).bit_length(), []).append(batch)
    return [join_instances(task, of_size[size]) for size in sorted(of_size)]
