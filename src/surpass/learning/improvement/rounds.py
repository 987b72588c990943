"""A round of improvement: sets of edited programs are tried on few instances, the best of them on ever more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surpass.arrays import Reals
from surpass.learning.improvement.trials import Screen, Trial
from surpass.programs.program import Program
from surpass.workers.local import LocalReplica
from surpass.workers.runner import Replicas

if TYPE_CHECKING:
    from surpass.learning.improvement.learner import Improvement

PIECES = 2
"""Into how many pieces for each worker of a cluster a set of candidates is cut: some take longer than others."""
HOPELESS = 0.03
"""What share of the cost an edited program may lose on the first instances before it is given up."""
FAR_ABOVE = 4
"""How many times the mean reward of a size an instance must give to count as a share of its own reward."""
FINALISTS = 8
"""How many of the programs that did no worse on few instances are tried on more."""
SCREENED, TESTED = 6, 40
"""Instances of each size in the first two stages of the sequential test, or more if the last one has many."""
Z_THRESHOLD = 1.0
"""How many standard errors the gain in the last stage must lie above 0 once the temperature is 0."""
ACCEPT_NEUTRAL = 0.2
"""The share of sets in which an edit that makes no difference may be accepted."""
ACCEPT_ANY = 0.5
"""The share of sets in which, at a temperature above 0, any edits that may be accepted are finalists, not the best."""
STEP_BUDGET_FACTOR = 1.25
"""How many times the program's own steps a candidate may take before it is stopped."""


class Round:
    """Edits of a program on the instances of a round."""

    def __init__(self, learner: Improvement) -> None:
        assert learner.current is not None
        self.learner, self.config, task = learner, learner.config, learner.task
        self.random = np.random.default_rng([self.config.seed, 4, learner.rounds])
        most = self.config.instances
        counts = (min(most, max(SCREENED, most // 100)), min(most, max(TESTED, most // 10)), most)
        first, *more = (learner.draw(learner.rounds, count) for count in counts)
        # The small ones first: most edited programs fail on those.
        first = first.rows(np.argsort(first.sizes, kind="stable"))
        self.trials = [Trial(task, instances) for instances in (first, *more)]
        self.screen = Screen(task, first)
        """Makes the finalists once more, of the generators that gave them."""
        self.screens: Replicas = LocalReplica(self.screen)
        """Those who try candidates: the learner's own screen, or one with each worker of a cluster."""
        self.pieces = 1
        if not learner.runner.is_local:
            self.screens, self.pieces = learner.runner.replicate(Screen, task, first), PIECES * learner.runner.count
        self.accepted = [learner.current]
        """The program at the beginning of the round, and those that took its place, one after the other."""
        self.weights = [self._weights(trial) for trial in self.trials]
        self.costs: list[Reals] = []
        self._measure()

    def _weights(self, trial: Trial) -> Reals:
        """Return the weight of the cost of each instance [m]: all sizes alike, other sizes 0.

        A reward far above the mean of its size, as other distributions have, counts as a share of itself.
        """
        weights, rewards = np.zeros(trial.count), np.zeros(trial.count)
        if self.learner.task.measure == "reward":
            costs = trial.run(self.accepted)[0]
            rewards = np.where(np.isfinite(costs), np.abs(costs), 0.0)
        for size, base in zip(self.learner.sizes, self.learner.scales, strict=True):
            member = self.learner.sources.group(trial.sizes) == size
            scale = np.where(rewards[member] > FAR_ABOVE * base, rewards[member], base)
            weights[member] = 1 / (len(self.learner.sizes) * scale * member.sum())
        return weights

    def _measure(self) -> None:
        """Measure the program on all instances, limit the steps of candidates by its own, and prepare the screens."""
        program, task = self.accepted[-1], self.learner.task
        self.costs = []
        for trial in self.trials:
            trial.limits = trial.most_steps
            costs = trial.measure(program)
            self.costs.append(costs)
            if task.measure == "steps":
                trial.limit_steps(costs, times=STEP_BUDGET_FACTOR, more=12)
        first, second = self.trials[:2]
        given = (program, self.costs[0], first.limits, self.weights[0], second.observations, second.visits)
        self.screens.broadcast("prepare", *given)
        if not self.learner.runner.is_local:
            self.screen.prepare(*given)

    def _gains(self, stage: int, programs: list[Program]) -> tuple[Reals, Reals]:
        """Return what programs gain on the instances of a stage, rules included, and the standard errors of that.

        One that fails where the program does not is out, and so is one that costs more at some size beyond chance.
        """
        learner, base, weights = self.learner, self.costs[stage], self.weights[stage]
        costs = self.trials[stage].run(programs)
        fails = (~np.isfinite(costs) & np.isfinite(base)).any(axis=1)
        penalty = self.trials[stage].failure_costs
        saved = weights * (np.where(np.isfinite(base), base, penalty) - np.where(np.isfinite(costs), costs, penalty))
        groups = learner.sources.group(self.trials[stage].sizes)
        for size in learner.sizes:
            part = saved[:, groups == size]
            fails |= part.sum(axis=1) < -2 * np.sqrt((part**2).sum(axis=1))
        before = learner.weigh(self.accepted[-1])
        shorter = np.array([before - learner.weigh(program) for program in programs])
        gains = np.where(fails, -np.inf, saved.sum(axis=1) + shorter)
        return gains, np.sqrt((saved**2).sum(axis=1))

    def try_generation(self, heat: float) -> int:
        """Try a set of candidates, keep the best one that gains at every stage, and return how many were tried."""
        program, config = self.accepted[-1], self.config
        states = self.random.integers(1, 1 << 32, (config.candidates, 2), np.int64)
        allowed = -heat * float(self.random.exponential())
        is_neutral_fine = self.random.random() < ACCEPT_NEUTRAL
        parts = [part for part in np.array_split(states, self.pieces) if len(part)]
        given = (self.learner.prices, allowed - HOPELESS)
        gains = np.concatenate(self.screens.ask("run", [(part, *given) for part in parts]))
        if not is_neutral_fine:
            gains[gains == 0] = -np.inf
        merits = gains
        if heat and self.random.random() < ACCEPT_ANY:
            merits = np.where(gains < allowed, -np.inf, self.random.random(len(gains)))
        finalists: list[Program] = []
        for k in np.argsort(-merits, kind="stable")[: 4 * FINALISTS].tolist():
            if gains[k] < allowed or len(finalists) == FINALISTS:
                break
            edited = self.screen.edited(states[k])
            if edited != program and edited not in finalists:
                finalists.append(edited)
        for stage in (1, 2):
            if not finalists:
                return len(states)
            gains, errors = self._gains(stage, finalists)
            wanted = Z_THRESHOLD * errors if stage == 2 and not heat else 0.0
            passes = (gains > allowed + wanted) | ((gains == 0) & is_neutral_fine)
            best = [k for k in np.argsort(-gains, kind="stable").tolist() if passes[k]]
            finalists = [finalists[k] for k in best[:1]]
        if finalists:
            self.accepted.append(finalists[0])
            self._measure()
        return len(states)
