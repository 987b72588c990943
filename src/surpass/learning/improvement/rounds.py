"""A round of improvement: sets of edited programs are tried on few instances, the best of them on ever more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surpass.arrays import Reals
from surpass.learning.improvement.trials import Screen, Trial, ways_of
from surpass.learning.levelling import groups_of, merits_of, shortfalls_of, weights_of
from surpass.programs.program import Program

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


class Level:
    """What some programs reach on the instances of a trial, for others that shall not fall behind them at any size."""

    def __init__(self, learner: Improvement, trial: Trial) -> None:
        self.sharpness = learner.config.sharpness
        self.reached = np.concatenate([-trial.run([program]) for program in learner.levels])
        """[E, m]"""
        self.groups = groups_of(trial.sizes, len((learner.config.limit or learner.task.limit).split(",")))
        """[m]"""

    def merits(self, costs: Reals) -> Reals:
        """Return what each of K programs with costs [K, m] is worth as a whole."""
        return merits_of(shortfalls_of(-costs, self.reached, self.groups), self.sharpness)

    def weights(self, costs: Reals) -> Reals:
        """Return what the cost of each instance counts for [m], for a program with costs [m]."""
        return weights_of(-costs, self.reached, self.groups, self.sharpness)


class Round:
    """Edits of a program on the instances of a round."""

    def __init__(self, learner: Improvement) -> None:
        assert learner.current is not None
        self.learner, self.config, task = learner, learner.config, learner.task
        self.random = np.random.default_rng([self.config.seed, 4, learner.rounds])
        self.screen = Screen(task, learner.draw(learner.rounds, self.config.screened))
        """Edits the programs that did well once more; all candidates are tried by screens with the workers."""
        self.pieces = PIECES * learner.runner.count if not learner.runner.is_local else 1
        self.screens = learner.screens(self.screen)
        self.trials = [
            learner.trial(self.screen.instances, 1),
            learner.trial(learner.draw(learner.rounds, self.config.tested), FINALISTS),
            learner.trial(learner.draw(learner.rounds, self.config.confirmed), 1),
        ]
        self.accepted = [learner.current]
        """The program at the beginning of the round, and those that took its place, one after the other."""
        self.levels = [Level(learner, trial) for trial in self.trials] if learner.levels else []
        self.weights = [] if self.levels else [self._weights(trial) for trial in self.trials]
        self.costs: list[Reals] = []
        self._settle()

    def _weights(self, trial: Trial) -> Reals:
        """Return what the cost of each instance counts for: all sizes alike, other sizes not at all.

        A reward far above the mean of its size, as other distributions have, counts as a share of itself.
        """
        weights, rewards = np.zeros(trial.count), np.zeros(trial.count)
        if self.learner.task.measure == "reward":
            costs = trial.run(self.accepted)[0]
            rewards = np.where(np.isfinite(costs), np.abs(costs), 0.0)
        for size, base in zip(self.learner.sizes, self.learner.reference, strict=True):
            member = self.learner.sources.group(trial.sizes) == size
            scale = np.where(rewards[member] > FAR_ABOVE * base, rewards[member], base)
            weights[member] = 1 / (len(self.learner.sizes) * scale * member.sum())
        return weights

    def _settle(self) -> None:
        """Measure the program on all instances, let candidates take not much longer, and see where it goes."""
        program, task = self.accepted[-1], self.learner.task
        self.costs = []
        for trial in self.trials:
            trial.limits = trial.most_steps
            trial.needed[:] = False
            costs = trial.run([program])[0]
            self.costs.append(costs)
            if task.measure == "steps":
                trial.give_up(costs, times=self.config.slack, more=12)
        if self.levels:
            # Where the program has fallen behind, what an edit gains counts most.
            found = zip(self.levels, self.costs, strict=True)
            self.weights = [level.weights(np.where(np.isfinite(costs), costs, 0.0)) for level, costs in found]
        ways = ways_of(program, self.trials[0], self.weights[0], self.trials[1].visits(program))
        self.screen.settle(program, ways)
        if not self.learner.runner.is_local:
            self.screens.tell("settle", program, ways)

    def _gains(self, stage: int, programs: list[Program]) -> tuple[Reals, Reals]:
        """Return what programs gain on the instances of a stage, rules included, and the standard errors of that.

        One that fails where the program does not gains nothing at all, nor does one that costs more at some size beyond
        chance, unless the program is levelled.
        """
        learner, base, weights = self.learner, self.costs[stage], self.weights[stage]
        costs = self.trials[stage].run(programs)
        fails = (~np.isfinite(costs) & np.isfinite(base)).any(axis=1)
        penalty = self.trials[stage].failure_costs
        saved = weights * (np.where(np.isfinite(base), base, penalty) - np.where(np.isfinite(costs), costs, penalty))
        if self.levels:
            both = np.vstack([base[None], costs])
            merits = self.levels[stage].merits(np.where(np.isfinite(both), both, 0.0))
            gained = merits[1:] - merits[0]
        else:
            gained = saved.sum(axis=1)
            groups = learner.sources.group(self.trials[stage].sizes)
            for size in learner.sizes:
                part = saved[:, groups == size]
                fails |= part.sum(axis=1) < -2 * np.sqrt((part**2).sum(axis=1))
        before = learner.weigh(self.accepted[-1])
        shorter = np.array([before - learner.weigh(program) for program in programs])
        gains = np.where(fails, -np.inf, gained + shorter)
        return gains, np.sqrt((saved**2).sum(axis=1))

    def try_generation(self, heat: float) -> int:
        """Try a set of candidates, keep the best one that gains at every stage, and return how many were tried."""
        program, config = self.accepted[-1], self.config
        states = self.random.integers(1, 1 << 32, (config.candidates, 2), np.int64)
        allowed = -heat * float(self.random.exponential())
        drifts = self.random.random() < config.drift
        parts = [part for part in np.array_split(states, self.pieces) if len(part)]
        worth = (self.learner.prices, allowed - HOPELESS)
        gains = np.concatenate(self.screens.ask("run", [(part, *worth) for part in parts]))
        finalists: list[Program] = []
        if not drifts:
            gains[gains == 0] = -np.inf
        merits = gains
        if heat and self.random.random() < config.wander:
            merits = np.where(gains < allowed, -np.inf, self.random.random(len(gains)))
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
            wanted = config.errors * errors if stage == 2 and not heat else 0.0
            passes = (gains > allowed + wanted) | ((gains == 0) & drifts)
            order = [k for k in np.argsort(-gains, kind="stable").tolist() if passes[k]]
            finalists = [finalists[k] for k in order[:1]]
        if finalists:
            self.accepted.append(finalists[0])
            self._settle()
        return len(states)
