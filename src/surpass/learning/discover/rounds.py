"""A round: sets of edited programs are tried on few instances, the best of them on ever more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surpass.arrays import Reals
from surpass.learning.discover.edits import size_of
from surpass.learning.discover.objective import Objective
from surpass.learning.discover.trials import Screen, Trial
from surpass.programs.program import Program
from surpass.tasks.task import Task

HOPELESS = 0.03
"""What share of the cost an edited program may lose on the first instances before it is given up."""
FINALISTS = 8
"""How many of the programs that did no worse on few instances are tried on more."""
Z_THRESHOLD = 1.0
"""How many standard errors the gain in the last stage must lie above 0 once the temperature is 0."""
ACCEPT_NEUTRAL = 0.2
"""The share of sets in which an edit that makes no difference may be accepted."""
ACCEPT_ANY = 0.5
"""The share of sets in which, at a temperature above 0, any edits that may be accepted are finalists, not the best."""
STEP_BUDGET_FACTOR = 1.25
"""How many times the program's own steps a candidate may take before it is stopped."""
FIRST, SECOND = 1 / 25, 1 / 7
"""What shares of the instances of the last stage of the sequential test the first two have."""


class RulePrices(NamedTuple):
    """What a rule and a condition cost, as shares of the cost of the reference."""

    rule: float
    condition: float

    def of(self, program: Program) -> float:
        """Return what the rules of a program cost."""
        return float(np.dot(self, size_of(program)))


class Budget(NamedTuple):
    """How much an attempt tries, as the settings say."""

    sets: int
    candidates: int
    instances: int

    def stages(self, steps: Sequence[float]) -> tuple[tuple[int, ...], ...]:
        """Return the instances of each size in the stages of the sequential test, given the mean steps at each size.

        There are the fewer the longer they take: above all in the first stage, where most of the time goes.
        """
        relative = [steps[0] / max(one, steps[0], 1e-9) for one in steps]
        shares = ((FIRST, 0.5), (SECOND, 0.25), (1.0, 0.25))
        return tuple(tuple(max(2, round(k * self.instances * one**power)) for one in relative) for k, power in shares)


class Round:
    """Edits of a program on the instances of a round."""

    def __init__(
        self,
        task: Task,
        objective: Objective,
        reference: Program,
        program: Program,
        prices: RulePrices,
        part: tuple[int, ...],
        *,
        stages: Sequence[Sequence[int]],
        candidates: int,
        focus: str = "",
        known: Sequence[str] = (),
        mate: Program | None = None,
    ) -> None:
        self.task, self.prices, self.candidates, self.mate = task, prices, candidates, mate
        self.random = np.random.default_rng([objective.seed, 4, *part])
        samples = [objective.draw(counts, (*part, k), focus, known).by_size() for k, counts in enumerate(stages)]
        self.trials = [Trial(task, sample, reference) for sample in samples]
        self.screens = [Screen(task, sample) for sample in samples[:-1]]
        """They run edited programs in compiled code in all stages but the last."""
        self.accepted = [program]
        """The program at the beginning of the round, and those that took its place, one after the other."""
        self.costs: list[Reals] = []
        self._measure()

    def _measure(self, *known: Reals) -> None:
        """Measure the program on all instances, limit the steps of candidates by its own, and prepare the screens.

        Its costs in the last stage may be `known`.
        """
        program = self.accepted[-1]
        self.costs = []
        for trial in self.trials:
            trial.limits = trial.sample.limits
            is_last = trial is self.trials[-1]
            costs = known[0] if known and is_last else trial.run([program])[0] if is_last else trial.measure(program)
            self.costs.append(costs)
            if self.task.measure == "steps":
                trial.limit_steps(costs, times=STEP_BUDGET_FACTOR, more=12)
        for screen, trial, costs in zip(self.screens, self.trials, self.costs, strict=False):
            screen.prepare(program, self.mate, costs, trial.limits, trial.weights, trial.seen, self.trials[1].seen)

    def _gain(self, program: Program, costs: Reals) -> tuple[float, float]:
        """Return what a program gains in the last stage by its costs there, rules included, and the standard error.

        One that fails where the present program does not is out, and so is one that costs more at some size beyond
        chance.
        """
        base, trial = self.costs[-1], self.trials[-1]
        if (~np.isfinite(costs) & np.isfinite(base)).any():
            return -np.inf, 0.0
        saved = trial.weights * (trial.finite(base) - trial.finite(costs))
        for size in range(1 + int(trial.sample.sizes.max())):
            part = saved[trial.sample.sizes == size]
            if part.sum() < -2 * np.sqrt((part**2).sum()):
                return -np.inf, 0.0
        shorter = self.prices.of(self.accepted[-1]) - self.prices.of(program)
        return float(saved.sum()) + shorter, float(np.sqrt((saved**2).sum()))

    def try_set(self, temperature: float) -> int:
        """Try a set of candidates, keep the best one that gains at every stage, and return how many were tried."""
        program = self.accepted[-1]
        states = self.random.integers(1, 1 << 32, (self.candidates, 2), np.int64)
        # Metropolis: a gain passes with the probability min(1, exp(gain / temperature)).
        allowed = -temperature * float(self.random.exponential())
        is_neutral_fine = self.random.random() < ACCEPT_NEUTRAL
        gains = self.screens[0].run(states, self.prices, allowed - HOPELESS)
        if not is_neutral_fine:
            gains[gains == 0] = -np.inf
        preferences = gains
        if temperature and self.random.random() < ACCEPT_ANY:
            preferences = np.where(gains < allowed, -np.inf, self.random.random(len(gains)))
        finalists: dict[Program, int] = {}
        for k in np.argsort(-preferences, kind="stable")[: 4 * FINALISTS].tolist():
            if gains[k] < allowed or len(finalists) == FINALISTS:
                break
            edited = self.screens[0].edited(states[k])
            if edited != program:
                finalists.setdefault(edited, k)
        if not finalists:
            return len(states)
        chosen = states[list(finalists.values())]
        gains = self.screens[1].run(chosen, self.prices, allowed - HOPELESS)
        best = int(gains.argmax())
        if gains[best] > allowed or (gains[best] == 0 and is_neutral_fine):
            found = [*finalists][best]
            costs = self.trials[-1].run([found])[0]
            gain, error = self._gain(found, costs)
            if gain > allowed + (0.0 if temperature else Z_THRESHOLD * error) or (gain == 0 and is_neutral_fine):
                self.accepted.append(found)
                self._measure(costs)
        return len(states)
