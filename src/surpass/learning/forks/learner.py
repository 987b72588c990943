"""Policy gradient from forks.

An update plays episodes by the most likely actions. Then it plays each some more times, on the same instance, with
another action at one step: a fork. The difference between the two is the advantage of that action at that step. Nothing
else differs, so that there is hardly any noise in it, and an action that saves one step in a thousand is seen to.

For a policy that seldom takes other than its most likely actions this is the policy gradient, with what came without
the other action as the baseline; for a table of logits the natural gradient adds the advantages to the logits.

What an update changes is judged one change at a time, on fresh instances as well (`judging.py`): actions that are good
one by one can end in loops together.

Some episodes stray first: they take another action, and fork where it has led to something that the most likely actions
never come to. So it is known what can be made of an action that pays only together with another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from surpass.agents.networks.agent import NetworkAgent
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.engine.batch import Batch as Episodes
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.learning.forks.judging import Greedy, Judge, JudgedInstances
from surpass.learning.forks.play import go_on, observe, part_of, play, returns_of, start, take_step
from surpass.learning.forks.policy import SummedPolicy
from surpass.learning.forks.retreat import Retreat
from surpass.learning.imitation import Imitation
from surpass.learning.renamings import renamings_of
from surpass.learning.stages import MOST_HARD, StagedConfig, StagedLearner
from surpass.learning.updates import take_numbers, tensors_under
from surpass.learning.views import read_views
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.reading import Many, OneOf, Share, Weight, Whole
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, join_instances

LOWEST, HIGHEST = -8.0, 12.0
"""How far a view's logits may go."""
MOST_KEPT = 300_000
"""How many observations of the last update are asked about at once at the start of the next."""


EVERY = 4
"""Which of the usual instances say what it costs to undo a change: every fourth."""
FAMILIAR_ITEMS = 30_000
"""About how many items the instances have together, for each range of sizes, that say where usual instances come."""
FEWEST_FAMILIAR = 4
SETTLINGS = 4
"""How many times in a row the policy is checked, and what fails undone, when it is settled."""
PATIENT = 25
"""How many checks may find something that fails before it is undone whatever that costs."""
MOST_GIVEN_UP = 0.02
"""The share of what usual instances bring or cost that may be lost by undoing, until then."""


@dataclass(frozen=True, kw_only=True)
class ForkConfig(StagedConfig):
    """How `ForkPolicyGradient` learns. Every field is part of the recipe."""

    start: str = ""
    """An agent whose actions the policy begins with if there is no teacher, such as zoo:search/rl-table."""
    policy: Annotated[str, OneOf(("forks", "drawn", "table", "network"))] = "forks"
    """What is optimised: a table whose logits are sums, by forks, or something else that has other settings."""
    forks: Many = 4
    """How many times each episode is played again, with another action at one step."""
    straying: Share = 0.3
    """The share of forks in episodes that have strayed before."""
    strays: Many = 4
    """At which of the first so many observations that are new they fork."""
    fresh: Share = 0.3
    """The share of forks that try an action at random: one operand changed, one from elsewhere, what is best if two
    variables change their names, or any."""
    largest_advantage: Weight = 50.0
    """The most that an advantage counts for."""
    step_size: Weight = 0.3
    shrink: Weight = 3.0
    decay: Share = 0.0
    """The share of its logit that an action loses in an update in which it is tried."""
    settled_every: Whole = 0
    """After how many rounds each the policy is settled: it forgets what it learned where usual instances do not come,
    and what makes instances fail is undone. Before the network learns, it is settled too. 0 for never."""
    change_price: Weight = 0.0
    """What an action that it learned in an observation must bring usual instances in the mean, when it is settled, to
    be kept: the higher, the fewer they are, and the better they hold on larger sizes."""
    mending_updates: Many = 20
    """How many updates are made each time to learn what it fails on."""


class Path:
    """An agent that answers only where the first view shows what it showed on the way of the most likely actions."""

    def __init__(self, greedy: Table, policy: SummedPolicy, observations: Ints) -> None:
        self.greedy, self.policy, self.task, self.name = greedy, policy, policy.task, "path"
        self._shown = np.unique(policy.see(observations, 0))

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        is_known = np.isin(self.policy.see(observations, 0), self._shown)
        return np.where(is_known, self.greedy.actions(observations), NO_ACTION)


class ForkPolicyGradient(StagedLearner):
    """A learner that surpasses its teacher by trying one action at a time."""

    config: ForkConfig
    answers_everywhere = True

    def _begin(self) -> None:
        config, views = self.config, read_views(self.config.views, self.task.interface)
        self._first = self.teacher or self._find_start()
        self.policy = SummedPolicy(self.task, Table.of(self._first), config.softness, views)
        self.judge = Judge(self.policy, config.step_cost, config.wrong_cost)
        self._kept: Ints = np.zeros(0, np.int64)
        """Observations that came up in the last update."""
        self._gained = 0.0
        """What the last update brought in the mean, or would have cost: then it was taken back."""
        self._pupil = None

    def _find_start(self) -> Agent:
        """Return the agent that the policy begins with where there is no teacher."""
        if not self.config.start:
            raise SettingError(
                "policy=forks changes what solves the task already: name a teacher, or an agent as start"
            )
        return self._start_of(self.config.start)

    @property
    def pupil(self) -> Imitation:
        """The learner of the most likely actions; if they go back to a network, it begins with a copy of that one."""
        is_new = self._pupil is None
        found = super().pupil
        if is_new and isinstance(self._first, NetworkAgent):
            found.network.load_state_dict(self._first.network.state_dict())
        return found

    @property
    def most_likely(self) -> Greedy:
        """What the network learns."""
        return Greedy(self.policy)

    @property
    def _mending_updates(self) -> int:
        return self.config.mending_updates

    def _begin_round(self) -> None:
        """Settle the policy if it is time to, in place."""
        every = self.config.settled_every * self.config.updates_per_round
        if every and self.is_descending and self.updates and self.updates % every == 0:
            self._settle()

    def _measures(self) -> dict[str, float]:
        return {"decisions": self.policy.count, "gained": self._gained}

    def _teach(self, answers: Table) -> None:
        """The policy answers everywhere: the network has nothing to teach it."""

    def _go_back(self, table: Table) -> bool:
        """Undo what makes the hard instances fail, in place, and tell whether all are solved then.

        If usual instances would lose too much by it, nothing is undone at first: the hard ones have joined those that
        the policy learns on, and it may find another way.
        """
        usual = self._draw_usual()
        usual = usual.rows(np.arange(0, usual.count, EVERY))
        limits = self._limits_of(usual.sizes)
        logits, before = self.policy.logits[: self.policy.count].copy(), self.judge.play(table, usual, limits)[1].mean()
        if Retreat(self.judge, table, usual, limits).run(self._hard_instances()):
            return False
        lost = before - self.judge.play(table, usual, limits)[1].mean()
        if self.config.settled_every and self.mended < PATIENT and lost > MOST_GIVEN_UP * abs(before):
            self.policy.go_back(logits)
            return False
        return True

    def _mend_policy(self) -> dict[str, float]:
        if self.config.settled_every:
            self._settle()
        return super()._mend_policy()

    def _settle(self) -> None:
        """Forget what was learned where usual instances do not come or that hardly pays, and undo what fails, in place.

        What is learned in a view holds in many observations that no episode has tried, such as those of lists with
        ties. There it is a guess, and what the policy began with is known to end well.
        """
        table = Table(self.task, self.most_likely)
        for instances in self._familiar():
            run(table, instances, find_loops=self.task.measure == "steps")
        self.policy.keep(table.observations)
        if self.config.change_price:
            drawn = self._draw()
            trial = drawn, self._limits_of(drawn.sizes)
            random = np.random.default_rng([self.config.seed, 9, self.updates])
            self.judge.keep_what_pays(table.observations, trial, self.config.change_price, random)
        for turn in range(SETTLINGS):
            table = Table(self.task, self.most_likely)
            if not self._find_failures(table, MOST_HARD, self.updates + turn) or not self._go_back(table):
                break

    def _familiar(self) -> Iterator[Instances]:
        """Yield usual instances, of sizes up to those of the stage, in ranges, and of those that the task names.

        Those that have failed come first: where they lead, something may have been learned for them.
        """
        if self.hard:
            yield self._hard_instances()
        high = self.sizes[1]
        lengths = [length for length in (2**k for k in range(high.bit_length())) if length <= high]
        ranges = [*((low, min(high, 2 * low - 1)) for low in lengths), *((n, n) for n in self.task.sizes if n > high)]
        for low, most in ranges:
            count = max(FEWEST_FAMILIAR, FAMILIAR_ITEMS // most)
            yield self.sources.draw_between((low, most), count, self.config.seed * 10_000_000 + self.updates)

    # An update

    def update(self) -> tuple[Ints, float]:
        """Make one update; return how the episodes ended that were played by the most likely actions, and all steps."""
        config, task = self.config, self.task
        random = np.random.default_rng([config.seed, 2, self.updates])
        instances = self._draw()
        limits = self._limits_of(instances.sizes)
        table = Table(task, self.most_likely)
        table.extend(self._kept)
        whole, worth, path = self.judge.play(table, instances, limits)
        self.work += int(whole.steps.sum()) * (1 + config.forks)
        which = np.repeat(np.flatnonzero(whole.steps > 0), config.forks)
        if which.size and path.size:
            before = self.policy.logits[: self.policy.count].copy()
            trial = JudgedInstances(instances, limits, worth)
            self._fork(trial, whole, which, table, path, random)
            self._gained = self.judge.undo_what_loses(before, self._with_fresh(table, trial), path)
        self._kept = table.observations if len(table) < MOST_KEPT else path
        self.updates += 1
        return whole.outcomes, float(whole.steps.sum())

    def _with_fresh(self, table: Table, trial: JudgedInstances) -> JudgedInstances:
        """Return a trial with as many fresh instances added, and what they bring by a table."""
        fresh = self._draw(again=True)
        limits = self._limits_of(fresh.sizes)
        _, worth, _ = self.judge.play(table, fresh, limits)
        together = join_instances(self.task, [trial.instances, fresh])
        return JudgedInstances(together, np.concatenate([trial.limits, limits]), np.concatenate([trial.worth, worth]))

    def _fork(
        self,
        trial: JudgedInstances,
        whole: Episodes,
        which: Ints,
        table: Table,
        path: Ints,
        random: np.random.Generator,
    ) -> None:
        """Play some episodes [F] again with one other action each, and learn from what came of it."""
        config, task = self.config, self.task
        instances, limits, worth = trial
        familiar = np.unique(table.actions(path))
        familiar = familiar[familiar != NO_ACTION]
        limits = limits[which]
        at = random.integers(0, whole.steps[which])
        batch = play(table, start(task, instances.rows(which)), at, find_loops=False)
        straying = np.flatnonzero(random.random(len(which)) < config.straying)
        usual = np.setdiff1d(np.arange(len(which)), straying)
        parts = [(part_of(batch, usual), worth[which[usual]], limits[usual])]
        if straying.size:
            parts.append(self._stray(part_of(batch, straying), limits[straying], table, path, familiar, random))
        for episodes, usually, most in parts:
            if not len(most):
                continue
            go_on(episodes)
            seen = observe(task, episodes)
            tried = self._try(seen, table.actions(seen), familiar, random)
            episodes = take_step(task, episodes, tried, most)
            episodes = play(table, episodes, most, find_loops=True)
            came = returns_of(task, episodes, most, config.step_cost, config.wrong_cost)
            self._learn(seen, tried, came - usually)

    def _stray(
        self, batch: Episodes, limits: Ints, table: Table, path: Ints, familiar: Ints, random: np.random.Generator
    ) -> tuple[Episodes, Reals, Ints]:
        """Let episodes take another action and go on until they see something new.

        Return those that do, what comes of them if they go on by the most likely actions, and their limits.
        """
        config, task = self.config, self.task
        go_on(batch)
        seen = observe(task, batch)
        batch = take_step(task, batch, self._try(seen, table.actions(seen), familiar, random), limits)
        known = Table(task, Path(table, self.policy, path))
        skipped = random.integers(0, config.strays, len(limits))
        for turn in range(config.strays):
            batch = play(known, batch, limits, find_loops=True)
            skipping = np.flatnonzero((batch.outcomes == Outcome.NO_ACTION) & (skipped > turn))
            if not skipping.size:
                break
            outcomes = batch.outcomes.copy()
            batch.outcomes[skipping] = Outcome.RUNNING
            batch = take_step(task, batch, np.maximum(table.actions(observe(task, batch)), 0), limits)
            others = np.setdiff1d(np.arange(len(limits)), skipping)
            batch.outcomes[others] = outcomes[others]
        new = np.flatnonzero(batch.outcomes == Outcome.NO_ACTION)
        if not new.size:
            return part_of(batch, new), np.zeros(0), limits[new]
        batch, limits = part_of(batch, new), limits[new]
        usual = part_of(batch, np.arange(len(new)))
        go_on(usual)
        usual = play(table, usual, limits, find_loops=True)
        return batch, returns_of(task, usual, limits, config.step_cost, config.wrong_cost), limits

    def _try(self, observations: Ints, best: Ints, familiar: Ints, random: np.random.Generator) -> Ints:
        """Return an action [m] other than the best [m] for each observation [m]."""
        interface, count = self.task.interface, len(observations)
        tried = self.policy.draw_others(observations, best, random.random(count))
        is_fresh = (random.random(count) < self.config.fresh) | (tried == NO_ACTION)
        instructions = random.integers(0, len(interface.instructions), count)
        sizes = np.array([len(i.operands) for i in interface.instructions])
        radices = np.ones((len(sizes), max(1, sizes.max())), np.int64)
        for k, instruction in enumerate(interface.instructions):
            radices[k, : sizes[k]] = [len(operand.values) for operand in instruction.operands]
        weights, offsets = interface.operand_weights, np.array(interface.offsets)
        operands = random.integers(0, radices[instructions])
        anything = offsets[instructions] + (operands * weights[instructions, : operands.shape[1]]).sum(axis=1)
        known = familiar[random.integers(0, max(1, len(familiar)), count)] if len(familiar) else anything
        rows = interface.action_rows[np.maximum(best, 0)]
        slots = random.integers(0, np.maximum(sizes[rows[:, 0]], 1))
        near = rows[:, 1:].copy()
        moves = random.integers(1, np.maximum(radices[rows[:, 0], slots], 2))
        places = np.arange(count)
        near[places, slots] = (near[places, slots] + moves) % radices[rows[:, 0], slots]
        changed = offsets[rows[:, 0]] + (near * weights[rows[:, 0], : near.shape[1]]).sum(axis=1)
        kinds = [anything, known, changed, *self._rename(observations, random)]
        fresh = np.choose(random.integers(0, len(kinds), count), kinds)
        return np.where(is_fresh, fresh, tried)

    def _rename(self, observations: Ints, random: np.random.Generator) -> list[Ints]:
        """Return the action [m] that is best for each observation [m] with two variables renamed, if any can be.

        If two variables change their roles, what is best for one of them is worth a try for the other.
        """
        renamings, interface = renamings_of(self.task), self.task.interface
        if not len(renamings.actions):
            return []
        which = random.integers(0, len(renamings.actions), len(observations))
        best = self.policy.best_actions(renamings.of(observations, which, interface))
        return [np.where(best == NO_ACTION, 0, renamings.actions[which, best])]

    def _learn(self, observations: Ints, tried: Ints, advantages: Reals) -> None:
        """Add the advantages [m] of actions [m] to their logits in every view of the observations [m], in place."""
        config, policy = self.config, self.policy
        advantages = np.minimum(advantages, config.largest_advantage)
        cells = policy.cells_of(observations, tried)
        touched, places = np.unique(cells, return_inverse=True)
        places = places.reshape(cells.shape)
        sums, counts = np.zeros((2, len(touched)))
        for v in range(cells.shape[1]):
            np.add.at(sums, places[:, v], advantages)
            np.add.at(counts, places[:, v], 1.0)
        policy.sums[touched] = config.memory * policy.sums[touched] + sums
        policy.counts[touched] = config.memory * policy.counts[touched] + counts
        change = config.step_size * policy.sums[touched] / (policy.counts[touched] + config.shrink)
        change = np.clip(change, -config.largest_change, config.largest_change)
        moved = (1 - config.decay) * policy.logits[touched] + change
        # What was undone may lie below.
        policy.logits[touched] = np.clip(moved, np.minimum(LOWEST, policy.logits[touched]), HIGHEST)

    # State

    def _save_policy(self) -> Tensors:
        return {"kept": self._kept, **{f"cells.{name}": array for name, array in self.policy.save().items()}}

    def _load_policy(self, tensors: Tensors) -> None:
        self.policy.load(tensors_under("cells.", tensors))
        self._kept = take_numbers(tensors, "kept", self.task.interface.observation_count)
