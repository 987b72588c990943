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

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.engine.batch import Batch as Episodes
from surpass.engine.run import run
from surpass.errors import DivergedError, SavedFileError, SettingError, UnknownNameError
from surpass.learning.derived import drawable_sizes
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.outlook import REWARD, STEPS, Outlook, Yardstick
from surpass.learning.soundness import find_failures
from surpass.learning.sources import Sources
from surpass.learning.table_policy.arrays import Sums
from surpass.learning.table_policy.critic import CriticFit
from surpass.learning.table_policy.policy import TablePolicy, with_room
from surpass.learning.table_policy.sampler import Sampler
from surpass.learning.updates import SOURCE, tensors_under
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.reading import Batch, Count, Fraction, Many, OneOf, Seed, Share, Weight, Whole, check_fields, conform
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances

PATIENCE = 5
"""How many times its updates a stage may take until its sizes are solved."""
HARD_SHARE = 0.25
"""The share of the episodes that are played on instances that failed, once there are any."""
MOST_HARD = 400
FEW = 3.0
"""How often an observation must have come up of late for the table to have an answer of its own."""
STATE = {
    **dict.fromkeys(("updates", "stage", "stage_updates", "mended"), Count),
    **{"is_sound": bool, "hard": list[str], "pupil": dict[str, Any] | None},
}
"""What a checkpoint says beside its tensors."""


@dataclass(frozen=True, kw_only=True)
class TablePolicyConfig:
    """How `TablePolicyGradient` learns. Every field is part of the recipe."""

    task: str
    teacher: str = ""
    """Whose choices the table begins with; empty to learn from nothing."""
    seed: Seed = 0
    policy: Annotated[str, OneOf(("table", "network"))] = "table"
    """What is optimised: the logits of a table, or a network (`network`, which has other settings)."""
    stages: str = ""
    """The sizes to learn on, one range after the other, such as `3-6 5-10 10-20`; those of the task if empty."""
    updates: Many = 200
    """The updates of each stage, more if its sizes are not solved by then."""
    last_updates: Whole = 0
    """Those of the last stage, if they are not the same."""
    updates_per_round: Many = 20
    """How many updates a round has; a line of the curves is written after each."""
    episodes: Batch = 8192
    """Episodes that an update plays."""
    step_size: Weight = 0.1
    """What an advantage of 1 adds to a logit."""
    softness: Weight = 3.0
    """The logit that the teacher's choices begin with, where others have 0: the lower, the more is tried."""
    views: str = ""
    """Decisions share a part of their logits with those that look alike in a view: patterns of the names of features
    with commas between, and several views with | between, such as `v? ? v?,q* | q*`; all but the previous action if
    empty."""
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
    doubt: Weight = 3.0
    """How many visits of the usual kind each observation is taken to have had: the more, the less the critic trusts
    what it knows of an observation, and the more its hints."""
    watched: Whole = 0
    """The first updates, in which only the critic learns."""
    memory: Fraction = 0.8
    """What is left of an advantage when the decision comes up in the next update."""
    shrink: Weight = 20.0
    """How many more times each choice is taken to have been made, with no advantage."""
    largest_change: Weight = 1.0
    """The most that an update changes a logit by."""
    furthest: Weight = 30.0
    """How far an own logit may lie below the largest of its decision: the less, the sooner it can come up again. Own
    logits should be able to outweigh those of all views."""
    shared_furthest: Weight = 30.0
    """How far a shared logit may lie below the largest of its decision."""
    step_cost: Weight = 1.0
    """What a step costs."""
    wrong_cost: Weight = 1.0
    """What a wrong answer costs, as a share of what all steps up to the limit cost."""
    data: str = "uniform"
    """What is learned on: distributions and files, separated by commas, each with a weight behind * if it has one;
    distributions alone, without weights, are taken in turn."""
    digest: str = ""
    """The SHA-256 of the files, which is filled in: a run goes on only with the same ones."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    limit: str = ""
    """The step limit while learning; the task's if empty."""
    solved: Share = 0.98
    """The share of a stage's episodes that must be solved before the next begins."""
    mending: Whole = 40
    """How many times the network may be checked, and what it fails on learned in as many updates as a stage has."""
    checked: Batch = 200
    """Fresh instances on which the most likely actions are measured at the end of each round."""

    def __post_init__(self) -> None:
        if self.policy != "table":
            raise UnknownNameError("policy", self.policy, ("table", "network"))
        check_fields(self)
        if self.limit:
            Limit.parse(self.limit)
        self.ranges((1, 1))

    def ranges(self, usual: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the smallest and the largest size of each stage."""
        return read_ranges(self.stages, usual)


def read_ranges(stages: str, usual: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the smallest and the largest size of each stage; there is one if none are given."""
    found = []
    for word in stages.split() or ["-".join(map(str, usual))]:
        low, dash, high = word.partition("-")
        if not (low.isdecimal() and high.isdecimal() and dash and len(word) < 20 and 1 <= int(low) <= int(high)):
            raise SettingError(f"stages has {word!r}; it must be ranges of sizes, such as 3-6 5-10 10-20")
        found.append((int(low), int(high)))
    return found


class MostLikely:
    """The most likely actions of a table policy as an agent, for observations that came up more than a few times."""

    def __init__(self, policy: TablePolicy, fit: CriticFit) -> None:
        self.policy, self.fit, self.task, self.name = policy, fit, policy.task, "rl"

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m], or `NO_ACTION`."""
        found = self.policy.best_actions(observations)
        visits = self.fit.with_room(self.policy.count).visits[self.policy.rows_of(observations)]
        return np.where(visits >= FEW, found, NO_ACTION)


class TablePolicyGradient:
    """A learner that surpasses its teacher, or learns from nothing, by a table of logits."""

    def __init__(self, task: Task, config: TablePolicyConfig) -> None:
        self.queries = config.queries or task.inputs.usual_queries
        self.sources = Sources(task, config.data, self.queries, config.seed, digest=config.digest)
        self.task, self.config = task, _with_files(config, self.sources)
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.method = "rl+imitation" if config.teacher else "rl"
        self.limit = Limit.parse(config.limit or task.limit)
        self.ranges = self.config.ranges(task.training_sizes)
        self.sources.check_sizes(*self.ranges[-1])
        self.updates = self.stage = self.stage_updates = self.mended = 0
        self.work = 0
        self.is_sound = False
        """Whether the last check of the network found nothing that fails."""
        self.hard: list[str] = []
        """Instances that the network failed on, as text."""
        self._begin()

    def _begin(self) -> None:
        config = self.config
        answers = Table.of(self.teacher) if self.teacher else None
        self.policy = TablePolicy(self.task, answers, config.softness, config.views)
        self.sampler = Sampler(self.task, self.policy)
        self.critic = CriticFit(self.sampler.hints, config.memory)
        self._advantages: Reals = np.zeros((0, self.policy.width))
        self._counts: Reals = np.zeros((0, self.policy.width))
        """[R, C] the advantages of late, and how often each choice was made."""
        self._pupil: Imitation | None = None

    # What a run asks of a learner

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return {"method": self.method, **asdict(self.config)}

    @property
    def is_descending(self) -> bool:
        """Whether the table still goes through its stages, and no network has begun to learn from it."""
        return self.stage < len(self.ranges)

    @property
    def is_checked(self) -> bool:
        """Whether nothing that fails is left to be learned, or no more is to be tried."""
        return self.is_sound or self.mended >= self.config.mending

    @property
    def pupil(self) -> Imitation:
        """The learner of the most likely actions."""
        if self._pupil is None:
            self._pupil = Imitation(self.task, self._pupil_config(), teacher=self.most_likely)
        return self._pupil

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the most likely actions."""
        return self.pupil.network

    @property
    def has_network(self) -> bool:
        """Whether there is a network worth keeping: it has begun to learn."""
        return not self.is_descending

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.is_descending and self.pupil.done and self.is_checked

    @property
    def finished(self) -> bool:
        """Whether the network equals the table."""
        return self.done and self.pupil.finished

    @property
    def most_likely(self) -> MostLikely:
        """What the network learns."""
        return MostLikely(self.policy, self.critic)

    def agent(self, name: str = "rl") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def _pupil_config(self, largest: int = max(ImitationConfig.sizes)) -> ImitationConfig:
        sizes = drawable_sizes(self.task, (size for size in ImitationConfig.sizes if size <= largest)) or (largest,)
        return ImitationConfig(task=self.task.name, teacher=self.config.teacher, seed=self.config.seed, sizes=sizes)

    def sketch(self, seconds: float) -> Imitation | None:
        """Return a learner of the most likely actions so far, if no network has begun to learn them.

        It learns for some seconds, and changes nothing here. There is none if nothing has come up often enough.
        """
        if not self.is_descending or not self.updates:
            return None
        started, largest = time.monotonic(), self.sizes[1]
        found = Imitation(self.task, self._pupil_config(largest), teacher=self.most_likely)
        try:
            found.advance()
        except SettingError:
            return None
        while not found.done and time.monotonic() - started < seconds:
            found.advance()
        return found

    def describe(self) -> str:
        """Return what was saved on the lists of files that were held out, as text."""
        return "".join(f"{line}\n" for line in self.sources.describe_held_out(self.teacher, self.agent()))

    def advance(self) -> dict[str, float]:
        """Make a round of updates, or let the network learn for one, or check it and learn what it fails on."""
        if self.is_descending:
            return self._round()
        if self.pupil.done:
            return self._mend()
        curve = self.pupil.advance()
        return {"round": curve.pop("round"), "updates": self.updates, **curve}

    def outlook(self, curve: Mapping[str, float]) -> Outlook:
        """Return how far it has come."""
        measure = REWARD if self.task.measure == "reward" else STEPS
        compared = self.yardstick.compare(curve, measure.column)
        if not self.is_descending and not self.pupil.done:
            shown = self.pupil.outlook(curve)
            return replace(shown, doing="the network learns what the table does", compared=compared)
        share = self.config.updates_per_round
        if self.is_descending:
            left = max(share, self._stage_length() - self.stage_updates)
            left += self.config.updates * max(0, len(self.ranges) - self.stage - 2)
            left += (self.config.last_updates or self.config.updates) * (self.stage < len(self.ranges) - 1)
            low, high = self.sizes
            doing = f"stage {self.stage + 1} of {len(self.ranges)}, sizes {low} to {high}"
            done, expected = self.updates // share, -(-(self.updates + left) // share)
        else:
            doing, done, expected = "the network is checked, and what it fails on is learned", self.mended, None
        ends = "ends when nothing fails any more"
        return Outlook(
            measure=measure, doing=doing, done=done, expected=expected, ends=ends, work=self.work, compared=compared
        )

    @cached_property
    def yardstick(self) -> Yardstick:
        """What the teacher does on the instances of `measured_on`."""
        return Yardstick(self.task, self.teacher, self.measured_on)

    def measured_on(self, size: int) -> Request:
        """Return the fresh instances of a size that the most likely actions are measured on."""
        seed, data = self.config.seed * 1000 + 1, self.task.inputs.usual_data
        return Request(size=size, count=self.config.checked, seed=seed, data=data, queries=self.queries)

    # A round

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest size to learn on now."""
        return self.ranges[min(self.stage, len(self.ranges) - 1)]

    def _round(self) -> dict[str, float]:
        config, size = self.config, self.sizes[1]
        self._begin_round()
        solved = steps = played = 0.0
        updates = config.updates_per_round if self.is_descending else self._mending_updates
        for _ in range(updates):
            outcomes, taken = self.update()
            solved, steps, played = solved + (outcomes == Outcome.SOLVED).sum(), steps + taken, played + len(outcomes)
        if self.is_descending:
            self.stage_updates += config.updates_per_round
            self._end_stage(solved / max(1, played))
        drawn = self.task.draw(self.measured_on(size))
        results = run(self.most_likely, drawn, find_loops=self.task.measure == "steps")
        return {
            "round": self.updates // config.updates_per_round,
            "updates": self.updates,
            "size": size,
            "sampled_steps": steps / max(1, played),
            "sampled_solved": solved / max(1, played),
            "solved": float(results.solved.mean()),
            "mean_steps": float(results.steps.mean()),
            "mean_reward": float(results.rewards.mean()),
            **self._measures(),
            "failing": len(self.hard),
        }

    @property
    def _mending_updates(self) -> int:
        """How many updates are made after a check that found something that fails."""
        return self.config.updates

    def _begin_round(self) -> None:
        """Get the policy ready for a round, in place."""
        if self.config.restart and not self.stage_updates and self.is_descending:
            self.policy.soften(self.config.restart)
        self._set_temperature()
        self.policy.refresh()

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

    def _stage_length(self) -> int:
        is_last = self.stage >= len(self.ranges) - 1
        return (is_last and self.config.last_updates) or self.config.updates

    def _end_stage(self, solved: float) -> None:
        """Go on to the next stage once this one has had its updates and its sizes are solved."""
        wanted = self._stage_length()
        needs = self.config.solved if self.task.measure == "steps" else 0.0
        if self.stage_updates >= wanted and solved >= needs:
            self.stage, self.stage_updates = self.stage + 1, 0
        elif self.stage_updates >= PATIENCE * wanted:
            low, high = self.sizes
            raise DivergedError(
                f"after {self.stage_updates} updates on sizes {low} to {high} only {solved:.1%} of the episodes are "
                f"solved, {needs:.0%} are wanted: try more updates, smaller sizes first, another step_size, or a "
                "teacher to begin with (rl+imitation)"
            )

    def update(self) -> tuple[Ints, float]:
        """Make one update; return how the episodes ended that had no action at random, and their steps together."""
        config = self.config
        instances = self._draw()
        limits = self.limit.steps(instances.sizes)
        random = np.random.default_rng([config.seed, 2, self.updates])
        generators = random.integers(1, 2**32, (instances.count, 2), dtype=np.int64)
        straying = config.straying if self.stage < len(self.ranges) - 1 else 0.0
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

    def _draw(self) -> Instances:
        """Return the instances of an update: of the sizes of the stage, and some of those that failed.

        Once there are such, they come from every distribution in turn; beside files, in every other update.
        """
        config, (low, high) = self.config, self.sizes
        random = np.random.default_rng([config.seed, 3, self.updates])
        sizes = np.sort(random.integers(low, high + 1, config.episodes))
        seed = config.seed * 10_000_000 + self.updates
        names = list(self.task.inputs.draw) if self.hard else [source.name for source in self.sources.all]

        def ask(size: int, wanted: int) -> Request:
            data = names[(size + self.updates) % len(names)]
            return Request(size=size, count=wanted, seed=seed, data=data, queries=self.queries)

        if self.sources.is_plain or (self.hard and self.updates % 2):
            drawn = self.task.draw_each(sizes, high, ask)
        else:
            drawn = self.sources.draw_between((low, high), config.episodes, seed)
        if not self.hard:
            return drawn
        few = round(HARD_SHARE * config.episodes)
        chosen = random.integers(0, len(self.hard), few)
        hard = join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.hard])
        return join_instances(self.task, [drawn.part(0, config.episodes - few), hard.rows(chosen)])

    def _learn(self, sums: Sums, rows: Ints) -> None:
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

    # The end

    def _mend(self) -> dict[str, float]:
        """Check the network; what it fails on joins the instances to learn on, and the network learns again."""
        network = self.pupil.agent()
        table = Table(self.task, network)
        failures = find_failures(table, self.hard, seed=self.mended)
        self.mended += 1
        self.is_sound = not failures
        if self.is_sound:
            return {"round": self.mended, "updates": self.updates, "failing": 0, "observations": len(table)}
        self.hard = [*dict.fromkeys([*self.hard, *failures])][-MOST_HARD:]
        self._teach(Table(self.task, network))
        curve = self._round()
        self.pupil.learn_again(table.observations)
        return {**curve, "failing": len(failures)}

    def _teach(self, answers: Table) -> None:
        """Let the policy begin with other answers where it has none of its own."""
        self.policy.teacher = answers

    # State

    def _save_policy(self) -> Tensors:
        count = self.policy.count
        tensors = {f"table.{name}": array for name, array in self.policy.save().items()}
        tensors |= self.critic.save(count) if len(self.critic.critic.visits) else {}
        return tensors | {"kept.advantages": self._advantages[:count], "kept.counts": self._counts[:count]}

    def _load_policy(self, tensors: Tensors) -> None:
        self.policy.load(tensors_under("table.", tensors))
        count = self.policy.count
        if count:
            self.critic.load(tensors, count)
        for name, array in (("advantages", self._advantages), ("counts", self._counts)):
            kept = tensors.get(f"kept.{name}", array)
            like = np.zeros((min(len(kept), count), self.policy.width))
            setattr(self, f"_{name}", take(tensors, f"kept.{name}", like, SOURCE))

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        tensors = self._save_policy()
        record: dict[str, Any] = {"pupil": None, "hard": self.hard, "is_sound": self.is_sound}
        record |= {name: getattr(self, name) for name in ("updates", "stage", "stage_updates", "mended")}
        if not self.is_descending:
            learned, record["pupil"] = self.pupil.save_state()
            tensors |= {f"pupil.{name}": array for name, array in learned.items()}
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state = conform(STATE, record, SOURCE)
        for text in state["hard"]:
            self.task.parse_instance(text)
        if state["stage"] > len(self.ranges):
            raise SavedFileError(f"{SOURCE} is at stage {state['stage']} of {len(self.ranges)}")
        self._begin()
        for name in ("updates", "stage", "stage_updates", "mended", "is_sound", "hard"):
            setattr(self, name, state[name])
        self._load_policy(tensors)
        if not self.is_descending:
            if state["pupil"] is None:
                raise SavedFileError(f"{SOURCE} has no network, although all stages are done")
            self.pupil.load_state(tensors_under("pupil.", tensors), state["pupil"])


def _with_files(config: TablePolicyConfig, sources: Sources) -> TablePolicyConfig:
    """Return the settings with the checksum of files and, unless they say otherwise, the lengths of their lists."""
    if not sources.has_files:
        return config
    return replace(config, digest=sources.digest, stages=config.stages or "{}-{}".format(*sources.lengths))


def _between(first: float, last: float, share: float) -> float:
    """Return the number that lies between two at a share of the way, in equal ratios unless one of them is 0."""
    if first <= 0 or last <= 0:
        return first + share * (last - first)
    return float(first * (last / first) ** share)


def _whole(batch: Episodes, strays: Ints) -> tuple[Ints, float]:
    """Return how the episodes ended that had no action at random, and their steps together."""
    own = strays == 0
    return batch.outcomes[own], float(batch.steps[own].sum())
