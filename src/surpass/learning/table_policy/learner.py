"""Policy gradient on a table of logits, by mirror descent.

Each update plays whole episodes by the table, compares what came of every choice with what a critic expected, averages
these advantages for each choice of each decision, and adds them to the logits. For a table of logits this is the
natural gradient: a choice that is rarely made learns as fast as any other. The critic may see what the agent cannot, as
far as the task offers hints; it only takes noise out of the averages.

The logits are pulled back towards where they began, the teacher's choices or nothing, by a temperature that falls in
the course of a stage. A stage is a range of sizes; the next begins when this one's are solved. Then a network learns
the most likely actions, as it would learn any teacher, and is checked on every small instance and on a search for odd
ones. What it fails on joins the instances that the table goes on to learn on, with the network's answers to begin with
where it has none of its own, and the network learns again, until nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.engine.batch import Batch as Episodes
from surpass.errors import DivergedError
from surpass.learning.imitation import Imitation
from surpass.learning.stages import StagedConfig, StagedLearner
from surpass.learning.table_policy.arrays import RowSums
from surpass.learning.table_policy.critic import CriticFit
from surpass.learning.table_policy.policy import TablePolicy, with_room
from surpass.learning.table_policy.sampler import TableSampler
from surpass.learning.updates import SOURCE, tensors_under
from surpass.machine.interface import NO_ACTION
from surpass.reading import Batch, Fraction, Many, OneOf, Share, Weight, Whole
from surpass.table import Table
from surpass.tasks.task import Instances

FEW = 3.0
"""How often an observation must have come up of late for the table to have an answer of its own."""


@dataclass(frozen=True, kw_only=True)
class TablePolicyConfig(StagedConfig):
    """How `TablePolicyGradient` learns. Every field is part of the recipe."""

    policy: Annotated[str, OneOf(("table", "network", "forks", "drawn"))] = "table"
    """What is optimised: the logits of a table, or something else that has other settings."""
    updates: Many = 200
    updates_per_round: Many = 20
    episodes: Batch = 8192
    temperature: Weight = 0.5
    """How strongly logits are pulled back to where they began, at the start of a stage: to keep a logit of 1, a choice
    needs an advantage of this much."""
    final_temperature: Weight = 0.05
    """How strongly logits are pulled back at the end of a stage."""
    restart: Weight = 0.0
    """At the start of each stage no logit lies further below the largest of its decision than this; 0 for no bound."""
    sharpness: Weight = 1.0
    """How many times its logits a policy follows at the end of a stage, once at the start: what its most likely actions
    fail on shows while it can still learn it."""
    explored: Fraction = 5e-4
    """The share of decisions that are made at random at the start of a stage."""
    final_explored: Fraction = 1e-4
    """The share of decisions that are made at random at the end of a stage."""
    straying: Share = 0.0
    """The share of episodes that begin with actions at random, which are not learned from; not so in the last stage."""
    strays: Many = 4
    """How many such actions there are at most."""
    tried: Share = 0.0
    """The share of steps at which another action is tried as well, on a copy, and judged by the critic."""
    trace: Share = 1.0
    """How far back a surprise of the critic is traced: 1 is to the start of the episode, 0 is to the step alone."""
    mending_updates: Whole = 0
    """How many updates are made each time to learn what it fails on; as many as in a stage if 0."""
    doubt: Weight = 3.0
    """How many visits of the usual kind each observation is taken to have had: the more, the less the critic trusts
    what it knows of an observation, and the more its hints."""
    attempts: Many = 1
    """How many times it goes through all stages, each time from the start. The network learns from the attempt that
    solves most at the largest size and, if several solve as much, takes the fewest steps, or brings the most where the
    score counts."""
    watched: Whole = 0
    """The first updates, in which only the critic learns."""
    furthest: Weight = 30.0
    """How far an own logit may lie below the largest of its decision: the less, the sooner it can come up again. Own
    logits should be able to outweigh those of all views."""
    shared_furthest: Weight = 30.0
    """How far a shared logit may lie below the largest of its decision."""

    def ranges(self, usual: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the smallest and the largest size of each stage, those of all attempts in turn."""
        return super().ranges(usual) * self.attempts


class MostLikely:
    """The most likely actions of a table policy as an agent, for observations that came up more than a few times."""

    def __init__(self, policy: TablePolicy, fit: CriticFit) -> None:
        self.policy, self.fit, self.task, self.name = policy, fit, policy.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        found = self.policy.best_actions(observations)
        visits = self.fit.with_room(self.policy.count).visits[self.policy.rows_of(observations)]
        return np.where(visits >= FEW, found, NO_ACTION)


class TablePolicyGradient(StagedLearner):
    """A learner that surpasses its teacher, or learns from nothing, by a table of logits."""

    config: TablePolicyConfig

    def _begin(self) -> None:
        self._begin_policy()
        self._best: Tensors = {}
        """The best policy that an attempt has left, and its merit."""
        self._pupil: Imitation | None = None

    def _begin_policy(self) -> None:
        """Begin with a policy that has learned nothing, in place."""
        config = self.config
        answers = Table.of(self.teacher) if self.teacher else None
        self.policy = TablePolicy(self.task, answers, config.softness, config.views)
        self.sampler = TableSampler(self.task, self.policy)
        self.critic = CriticFit(self.sampler.hints, config.memory)
        self._advantages: Reals = np.zeros((0, self.policy.width))
        self._counts: Reals = np.zeros((0, self.policy.width))
        """[R, C] the advantages of late, and how often each choice was made."""

    @property
    def most_likely(self) -> MostLikely:
        """What the network learns."""
        return MostLikely(self.policy, self.critic)

    # Attempts

    @property
    def _stages_of_an_attempt(self) -> int:
        return len(self.ranges) // self.config.attempts

    @property
    def _is_last_stage(self) -> bool:
        return (self.stage + 1) % self._stages_of_an_attempt == 0 or not self.is_descending

    def _end_stage(self, solved: float) -> None:
        """Go on to the next stage; where an attempt ends, keep it if it is the best, or pass over it if it diverged."""
        if self.config.attempts == 1:
            super()._end_stage(solved)
            return
        size, each = self.sizes[1], self._stages_of_an_attempt
        end = self.stage - self.stage % each + each
        try:
            super()._end_stage(solved)
        except DivergedError:
            if end == len(self.ranges) and not self._best:
                raise
            self.stage, self.stage_updates = end, 0
        else:
            if self.stage == end:
                self._keep_if_best(size)
        if not self.is_descending:
            self._begin_policy()
            self._load_rows(self._best)
            self._best = {}

    def _keep_if_best(self, size: int) -> None:
        """Keep the policy if no attempt so far has left one that does better at a size."""
        found = self._measured(size)
        merit = np.array([found["solved"], found["mean_reward"]])
        if not self._best or tuple(merit) > tuple(self._best["merit"]):
            self._best = {**{name: array.copy() for name, array in self._save_rows().items()}, "merit": merit}

    def _describe_stage(self, stage: int) -> str:
        if self.config.attempts == 1:
            return super()._describe_stage(stage)
        attempt, number = divmod(stage, self._stages_of_an_attempt)
        return f"attempt {attempt + 1} of {self.config.attempts}, stage {number + 1} of {self._stages_of_an_attempt}"

    # A round

    def _begin_round(self) -> None:
        """Get the policy ready for a round, in place."""
        begins = self.is_descending and not self.stage_updates
        if begins and self.stage and self.stage % self._stages_of_an_attempt == 0:
            self._begin_policy()
        if begins and self.config.restart:
            self.policy.soften(self.config.restart)
        self._set_temperature()
        self.policy.refresh()

    @property
    def _mending_updates(self) -> int:
        return self.config.mending_updates or self.config.updates

    def _affordable(self, hard: Instances, usual: Instances) -> int:
        """Return how many of the hard instances of an update are played beside the usual ones.

        They may be large, and it may go round in circles there: they take no more steps than the usual ones may.
        """
        steps = np.cumsum(self._limits_of(hard.sizes))
        return max(1, int(np.searchsorted(steps, self._limits_of(usual.sizes).sum(), side="right")))

    def _measures(self) -> dict[str, float]:
        """Return what else a round shows."""
        return {"decisions": self.policy.count, "foreseen": self.critic.explained}

    def _set_temperature(self) -> None:
        """Set how much is tried: less and less in the course of a stage."""
        config, wanted = self.config, self._stage_length()
        share = min(1.0, self.stage_updates / wanted) if self.is_descending else 1.0
        self.temperature = _between(config.temperature, config.final_temperature, share)
        self.policy.sharpness = _between(1.0, config.sharpness, share)
        self.policy.explored = _between(config.explored, config.final_explored, share)

    def update(self) -> tuple[Ints, float]:
        """Make one update; return how the episodes ended that had no action at random, and their steps together."""
        config = self.config
        instances = self._draw()
        limits = self._limits_of(instances.sizes)
        random = np.random.default_rng([config.seed, 2, self.updates])
        generators = random.integers(1, 2**32, (instances.count, 2), dtype=np.int64)
        straying = 0.0 if self._is_last_stage else config.straying
        strays = random.integers(1, config.strays + 1, instances.count)
        strays *= random.random(instances.count) < straying
        strays = np.minimum(strays, limits - 1)
        batch, record, trials = self.sampler.play(instances, limits, strays, generators, config.tried)
        self.work += int(batch.steps.sum())
        settings = np.array(
            [config.step_cost, config.wrong_cost, self.task.reward.progress, config.trace, config.doubt]
        )
        critic = self.critic.with_room(self.policy.count)
        sums, rows = self.sampler.sum_up(batch, record, trials, critic, settings, limits)
        if not np.isfinite(sums.errors).all():
            raise DivergedError(
                f"the critic's error is no number at update {self.updates + 1}: try a smaller step_size"
            )
        if rows.size:
            if self.updates >= config.watched:
                self._learn(sums, rows)
            self.critic.fit(sums, rows[sums.visits[rows] > 0])
            self.sampler.clear(rows)
        self.updates += 1
        return _whole(batch, record.strays)

    def _learn(self, sums: RowSums, rows: Ints) -> None:
        """Add the advantages of a batch, in which decisions [m] were made, to the logits, in place."""
        config, policy = self.config, self.policy
        counts, advantages = sums.counts[rows], sums.advantages[rows]
        made, usual = counts.sum(axis=1), advantages.sum(axis=1)
        if config.tried:
            # A decision that was only tried is compared with what was tried there.
            only = made == 0
            made = np.where(only, sums.tries[rows].sum(axis=1), made)
            usual = np.where(only, sums.tried[rows].sum(axis=1), usual)
            counts, advantages = counts + sums.tries[rows], advantages + sums.tried[rows]
        advantages = advantages - counts * (usual / made)[:, None]
        self._advantages, self._counts = (with_room(a, policy.count) for a in (self._advantages, self._counts))
        self._advantages[rows] = config.memory * self._advantages[rows] + advantages
        self._counts[rows] = config.memory * self._counts[rows] + counts
        pull = config.step_size * self.temperature
        logits = self._moved(policy.logits[rows], self._advantages[rows], self._counts[rows], config.furthest)
        taught = policy.taught[rows]
        is_taught = np.flatnonzero(taught != NO_ACTION)
        logits[is_taught, taught[is_taught]] += pull * config.softness
        policy.logits[rows] = logits
        for shared in policy.shared[rows].T:
            several, places = np.unique(shared, return_inverse=True)
            shared_advantages, shared_counts = np.zeros((2, len(several), policy.width))
            np.add.at(shared_advantages, places, advantages)
            np.add.at(shared_counts, places, counts)
            moved = self._moved(policy.shared_logits[several], shared_advantages, shared_counts, config.shared_furthest)
            policy.shared_logits[several] = moved
        policy.refresh(rows)

    def _moved(self, logits: Reals, advantages: Reals, counts: Reals, furthest: float) -> Reals:
        """Return logits [m, C] moved by the sums of their advantages and pulled back towards 0."""
        config = self.config
        change = config.step_size * advantages / (counts + config.shrink)
        change = np.clip(change, -config.largest_change, config.largest_change)
        moved = (1 - config.step_size * self.temperature) * logits + change
        bounded: Reals = np.maximum(moved, moved.max(axis=1, keepdims=True) - furthest)
        return bounded

    def _teach(self, answers: Table) -> None:
        """Let the policy begin with other answers where it has none of its own."""
        self.policy.teacher = answers

    # State

    def _save_policy(self) -> Tensors:
        return self._save_rows() | {f"best.{name}": array for name, array in self._best.items()}

    def _load_policy(self, tensors: Tensors) -> None:
        self._load_rows(tensors)
        self._best = tensors_under("best.", tensors)
        if self._best:
            self._best["merit"] = take(self._best, "merit", np.zeros(2), SOURCE)

    def _save_rows(self) -> Tensors:
        """Return the policy, what is known of its choices, and the critic."""
        count = self.policy.count
        tensors = {f"table.{name}": array for name, array in self.policy.save().items()}
        tensors |= self.critic.save(count) if len(self.critic.critic.visits) else {}
        return tensors | {"kept.advantages": self._advantages[:count], "kept.counts": self._counts[:count]}

    def _load_rows(self, tensors: Tensors) -> None:
        """Go back to what `_save_rows` returned, in place."""
        self.policy.load(tensors_under("table.", tensors))
        count = self.policy.count
        if count:
            self.critic.load(tensors, count)
        for name, array in (("advantages", self._advantages), ("counts", self._counts)):
            kept = tensors.get(f"kept.{name}", array)
            like = np.zeros((min(len(kept), count), self.policy.width))
            setattr(self, f"_{name}", take(tensors, f"kept.{name}", like, SOURCE))


def _between(first: float, last: float, share: float) -> float:
    """Return the number that lies between two at a share of the way, in equal ratios unless one of them is 0."""
    if first <= 0 or last <= 0:
        return first + share * (last - first)
    return float(first * (last / first) ** share)


def _whole(batch: Episodes, strays: Ints) -> tuple[Ints, float]:
    """Return how the episodes ended that had no action at random, and their steps together."""
    own = strays == 0
    return batch.outcomes[own], float(batch.steps[own].sum())
