"""Policy gradient over whole tables.

An update draws some tables: in each an action is drawn for every observation, once, and then holds for all steps of all
episodes. All tables play the same instances. The share of the others that a table beats on an instance, less the share
that beats it, is the advantage of each action that it took there. For a table of logits the natural gradient adds the
mean advantage of an action, beyond that of all actions that were taken in the observation.

What an action is worth often shows only if it is a habit, and not at a single step. Nor is a policy that acts at random
at each step as good as its most likely actions. Here both are the same: as the logits grow, nearly all tables that are
drawn are the one of the most likely actions.

Shares put instances of all sizes on a par, whatever they bring. Where all tables bring the same, nothing is learned.

The last stages may level: each stage before them begins anew, and leaves its most likely actions. Those that level go
on from there, and compare tables as wholes, by how far they fall behind what the others left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from surpass.arrays import Flags, Ints, Reals
from surpass.bundles import Tensors
from surpass.errors import SavedFileError, SettingError
from surpass.learning.drawn.play import play_and_see, worth_of
from surpass.learning.drawn.policy import Drawn, DrawnPolicy
from surpass.learning.imitation import Imitation
from surpass.learning.levelling import groups_of, merits_of, shortfalls_of
from surpass.learning.stages import StagedConfig, StagedLearner
from surpass.learning.updates import SOURCE, take_numbers, tensors_under
from surpass.reading import Batch, Many, OneOf, Weight, Whole
from surpass.table import Agent, Table
from surpass.tasks.task import Instances

ROUNDING = 1e-9
"""The share of what tables bring by which they must differ for one of them to have brought more."""


@dataclass(frozen=True, kw_only=True)
class DrawnConfig(StagedConfig):
    """How `DrawnPolicyGradient` learns. Every field is part of the recipe."""

    policy: Annotated[str, OneOf(("drawn", "forks", "table", "network"))] = "drawn"
    """What is optimised: the logits that whole tables are drawn by, or something else that has other settings."""
    start: str = ""
    """An agent whose actions the policy begins with if there is no teacher, such as zoo:knapsack/rl; none if empty."""
    tables: Many = 48
    """How many tables an update draws."""
    episodes: Batch = 120
    """Instances that each table of an update plays."""
    step_size: Weight = 1.5
    softness: Weight = 5.0
    shrink: Weight = 36.0
    furthest: Weight = 6.0
    """How far a logit may lie below the largest of its observation: the less, the more is tried."""
    levelled: Whole = 0
    """How many of the last stages level. Each stage before them begins anew; those that level go on from the last of
    these, and prefer tables that fall little behind any of them in each group of like sizes and limits."""
    levelled_episodes: Batch = 800
    """Instances of an update in a stage that levels, which are the same in all updates of a round."""
    sharpness: Weight = 150.0
    """How much the group in which a table falls furthest behind counts, for a shortfall that is a share of 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        stages = len(self.ranges((1, 1)))
        if self.levelled >= stages:
            raise SettingError(f"levelled is {self.levelled}; of {stages} stages at most {stages - 1} can level")
        if self.levelled and not self.sharpness:
            raise SettingError("sharpness is 0; it must be more where stages level")


class LikeliestTable:
    """The most likely actions of a policy as an agent."""

    def __init__(self, policy: DrawnPolicy) -> None:
        self.policy, self.task, self.name = policy, policy.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        return self.policy.best_actions(observations)


class DrawnPolicyGradient(StagedLearner):
    """A learner that draws whole tables, from nothing or from what an agent does."""

    config: DrawnConfig

    def _begin(self) -> None:
        self._begin_policy()
        self._earlier: list[tuple[Ints, Ints]] = []
        """The observations [m] and most likely actions [m] that each stage left which does not level."""
        self._differing = 0.0
        """In what share of the instances of the last update tables differed in what they brought."""
        self._pupil: Imitation | None = None

    def _begin_policy(self) -> None:
        """Begin with a policy that has learned nothing, in place."""
        first = self.teacher or self._find_start()
        self.policy = DrawnPolicy(self.task, Table.of(first) if first else None, self.config.softness)

    def _find_start(self) -> Agent | None:
        """Return the agent that the policy begins with where there is no teacher, if there is one."""
        return self._start_of(self.config.start) if self.config.start else None

    @property
    def most_likely(self) -> LikeliestTable:
        """What the network learns."""
        return LikeliestTable(self.policy)

    @property
    def pupil(self) -> Imitation:
        """The learner of the most likely actions: of all of them, also where only a longer run comes."""
        if self._pupil is None:
            self._pupil = super().pupil
            self._pupil.learn_again(self.policy.observations)
        return self._pupil

    @property
    def _mending_updates(self) -> int:
        return self.config.updates_per_round

    def _begin_round(self) -> None:
        """Begin anew with a stage, if others level what it leaves; else the policy goes on as it is."""
        if self.config.levelled and not self._levels and not self.stage_updates:
            self._begin_policy()

    def _measures(self) -> dict[str, float]:
        return {"decisions": len(self.policy.observations), "differing": self._differing}

    def _teach(self, answers: Table) -> None:
        """Let the policy begin with the network's answers where it has no row."""
        self.policy.first = answers

    # Stages

    @property
    def _levels(self) -> bool:
        """Whether tables are compared as wholes now."""
        return self.config.levelled > 0 and self.stage >= len(self.ranges) - self.config.levelled

    @property
    def _episodes(self) -> int:
        return self.config.levelled_episodes if self._levels else self.config.episodes

    @property
    def _draw_number(self) -> int:
        """While it levels, a round plays the same instances in all of its updates: small differences add up."""
        return self.updates - self.updates % self.config.updates_per_round if self._levels else self.updates

    def _end_stage(self, solved: float) -> None:
        before, levelled = self.stage, self._levels
        super()._end_stage(solved)
        if self.stage == before or levelled or not self.config.levelled:
            return
        policy = self.policy
        self._earlier.append((policy.observations, policy.best_actions(policy.observations)))

    # An update

    def update(self) -> tuple[Ints, float]:
        """Make one update; return how the episodes of all tables ended, and their steps together."""
        config, task, policy = self.config, self.task, self.policy
        instances = self._draw()
        limits = self._limits_of(instances.sizes)
        random = np.random.default_rng([config.seed, 2, self.updates])
        worth: Reals = np.zeros((config.tables, instances.count))
        outcomes: list[Ints] = []
        met: list[tuple[Ints, Ints, Flags]] = []
        steps = 0
        for k in range(config.tables):
            table = Table(task, Drawn(policy, random))
            table.insert(policy.observations, policy.draw(random))
            same = find_same(table, met)
            if same is not None:
                worth[k] = worth[same]
                met.append(met[same])
                outcomes.append(outcomes[same])
                continue
            batch, observations, seen = play_and_see(table, instances, limits)
            worth[k] = worth_of(task, batch, limits, config.step_cost, config.wrong_cost)
            met.append((observations, table.actions(observations), seen))
            outcomes.append(batch.outcomes)
            steps += int(batch.steps.sum())
        policy.add(np.unique(np.concatenate([observations for observations, _, _ in met])))
        advantages = self._level(worth, instances, limits) if self._levels else advantages_of(worth)
        self._differing = float((advantages != 0).any(axis=0).mean())
        self._learn(met, advantages)
        self.work += steps
        self.updates += 1
        return np.concatenate(outcomes), float(steps)

    def _level(self, worth: Reals, instances: Instances, limits: Ints) -> Reals:
        """Return the advantages [K, B] of tables as wholes, the same on all instances."""
        config, task = self.config, self.task
        earlier: Reals = np.zeros((len(self._earlier), instances.count))
        for k, (observations, actions) in enumerate(self._earlier):
            batch, _, _ = play_and_see(Table.holding(task, observations, actions), instances, limits)
            earlier[k] = worth_of(task, batch, limits, config.step_cost, config.wrong_cost)
        groups = groups_of(instances.sizes, len((config.limit or task.limit).split(",")))
        merits = merits_of(shortfalls_of(worth, earlier, groups), config.sharpness)
        return np.broadcast_to(advantages_of(merits[:, None]), worth.shape)

    def _learn(self, met: list[tuple[Ints, Ints, Flags]], advantages: Reals) -> None:
        """Add the advantages [K, B] of the tables' actions to their logits, in place.

        For each of K tables `met` has the observations [m] that came up, their actions [m], and which of B instances
        came to each [B, m].
        """
        config, policy = self.config, self.policy
        sums, counts = np.zeros((2, *policy.logits.shape))
        for (observations, actions, seen), gained in zip(met, advantages, strict=True):
            rows = policy.rows_of(observations)
            sums[rows, actions] += gained @ seen
            counts[rows, actions] += seen.sum(axis=0)
        (rows,) = np.nonzero(counts.any(axis=1))
        usual = sums[rows].sum(axis=1, keepdims=True) / counts[rows].sum(axis=1, keepdims=True)
        policy.sums[rows] = config.memory * policy.sums[rows] + sums[rows] - counts[rows] * usual
        policy.counts[rows] = config.memory * policy.counts[rows] + counts[rows]
        change = config.step_size * policy.sums[rows] / (policy.counts[rows] + config.shrink)
        moved = policy.logits[rows] + np.clip(change, -config.largest_change, config.largest_change)
        policy.logits[rows] = np.maximum(moved, moved.max(axis=1, keepdims=True) - config.furthest)

    # State

    def _save_policy(self) -> Tensors:
        tensors = {f"rows.{name}": array for name, array in self.policy.save().items()}
        for k, (observations, actions) in enumerate(self._earlier):
            tensors |= {f"earlier.{k}.observations": observations, f"earlier.{k}.actions": actions}
        return tensors

    def _load_policy(self, tensors: Tensors) -> None:
        self.policy.load(tensors_under("rows.", tensors))
        interface = self.task.interface
        left = len(self.ranges) - self.config.levelled if self.config.levelled else 0
        for k in range(min(self.stage, left)):
            observations = take_numbers(tensors, f"earlier.{k}.observations", interface.observation_count)
            actions = take_numbers(tensors, f"earlier.{k}.actions", interface.action_count)
            if len(observations) != len(actions):
                raise SavedFileError(f"{SOURCE} has {len(actions)} actions for {len(observations)} observations")
            self._earlier.append((observations, actions))


def find_same(table: Table, met: list[tuple[Ints, Ints, Flags]]) -> int | None:
    """Return the first of some tables that does the same as this one wherever it came to, if there is one."""
    for k, (observations, actions, _) in enumerate(met):
        if (table.actions(observations) == actions).all():
            return k
    return None


def advantages_of(worth: Reals) -> Reals:
    """Return the share of tables that each beats on each instance less the share that beats it [K, B].

    `worth` [K, B] is what each of K tables brought on each of B instances.
    """
    least = ROUNDING * np.abs(worth).max(axis=0)
    shares = [(worth < one - least).mean(axis=0) - (worth > one + least).mean(axis=0) for one in worth]
    return np.array(shares)
