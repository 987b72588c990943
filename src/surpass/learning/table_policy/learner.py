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

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.engine.batch import Batch as Episodes
from surpass.engine.run import run
from surpass.errors import DivergedError, SavedFileError, SettingError, UnknownNameError
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.policy_gradient.learner import Shares, without_usual_actors
from surpass.learning.soundness import find_failures
from surpass.learning.table_policy.actors import (
    Copy,
    Orders,
    Plays,
    TableActor,
    arguments_of_actors,
    draw,
    draw_chances,
)
from surpass.learning.table_policy.arrays import Critic, Sums
from surpass.learning.table_policy.critic import CriticFit
from surpass.learning.table_policy.policy import TablePolicy, with_room
from surpass.learning.table_policy.sampler import Sampler
from surpass.learning.updates import SOURCE, tensors_under
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.reading import Batch, Count, Fraction, Many, Seed, Share, Weight, Whole, check_fields, conform
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Actors, Runner

NO_ROWS: Ints = np.zeros(0, np.int64)
PATIENCE = 5
"""How many times its updates a stage may take until its sizes are solved."""
HARD_SHARE = 0.25
"""The share of the episodes that are played on instances that failed, once there are any."""
MOST_HARD = 400
FEW = 3.0
"""How often an observation must have come up of late for the table to have an answer of its own."""
FURTHEST = 30.0
"""How far a logit may lie below the largest of its decision."""
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
    policy: str = "table"
    """What is optimised: the logits of a table, or a network (`network`, which has other settings)."""
    stages: str = ""
    """The sizes to learn on, one range after the other, such as `3-6 5-10 10-20`; those of the task if empty."""
    updates: Many = 200
    """The updates of each stage, more if its sizes are not solved by then."""
    last_updates: Whole = 0
    """Those of the last stage, if they are not the same."""
    updates_per_round: Many = 20
    episodes: Batch = 8192
    """Episodes that an update plays."""
    step_size: Weight = 0.1
    """What an advantage of 1 adds to a logit."""
    softness: Weight = 3.0
    """The logit that the teacher's choices begin with, where others have 0: the lower, the more is tried."""
    temperature: Weight = 0.5
    final_temperature: Weight = 0.05
    """How strongly logits are pulled back to where they began, at the start and at the end of a stage: to keep a logit
    of 1, a choice needs an advantage of this much."""
    restart: Weight = 0.0
    """At the start of each stage no logit lies further below the largest of its decision than this; 0 for no bound."""
    explored: Fraction = 5e-4
    final_explored: Fraction = 1e-4
    """The share of decisions that are made at random, at the start and at the end of a stage."""
    straying: Share = 0.0
    """The share of episodes that begin with actions at random, which are not learned from; not so in the last stage."""
    strays: Many = 4
    """How many such actions there are at most."""
    trace: Share = 1.0
    """How far back a surprise of the critic is traced: 1 is to the start of the episode, 0 is to the step alone."""
    memory: Fraction = 0.8
    """What is left of an advantage when the decision comes up in the next update."""
    shrink: Weight = 20.0
    """How many more times each choice is taken to have been made, with no advantage."""
    largest_change: Weight = 1.0
    """The most that an update changes a logit by."""
    step_cost: Weight = 1.0
    """What a step costs."""
    wrong_cost: Weight = 1.0
    """What a wrong answer costs, as a share of what all steps up to the limit cost."""
    data: str = "uniform"
    """The distribution of the instances, or several with commas between, taken in turn."""
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
    actors: Shares = 1
    """Into how many shares the episodes of a stage are cut, each with generators of its own; workers share them out."""

    def __post_init__(self) -> None:
        if self.policy != "table":
            raise UnknownNameError("policy", self.policy, ("table", "network"))
        check_fields(self)
        if self.limit:
            Limit.parse(self.limit)
        if self.actors > self.episodes:
            raise SettingError(f"actors is {self.actors}; there are only {self.episodes} episodes to share out")
        self.ranges((1, 1))

    def ranges(self, usual: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the smallest and the largest size of each stage."""
        found = []
        for word in self.stages.split() or ["-".join(map(str, usual))]:
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
        self.task, self.config = task, config
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.method = "rl+imitation" if config.teacher else "rl"
        self.queries = config.queries or task.inputs.usual_queries
        self.limit = Limit.parse(config.limit or task.limit)
        self.ranges = config.ranges(task.training_sizes)
        self.updates = self.stage = self.stage_updates = self.mended = 0
        self.is_sound = False
        """Whether the last check of the network found nothing that fails."""
        self.hard: list[str] = []
        """Instances that the network failed on, as text."""
        self.runner: Runner = LocalRunner()
        """Where the actors work, if there are several."""
        self._actors: Actors | None = None
        self._sent, self._changed, self._changed_shared = 0, NO_ROWS, NO_ROWS
        """How many rows the actors have, and which of them have changed since."""
        self._begin()

    def _begin(self) -> None:
        config = self.config
        answers = Table.of(self.teacher) if self.teacher else None
        self.policy = TablePolicy(self.task, answers, config.softness)
        self.sampler = Sampler(self.task, self.policy)
        self.critic = CriticFit(self.sampler.hints, config.memory)
        self._changed_shared = NO_ROWS
        self._advantages: Reals = np.zeros((0, self.policy.width))
        self._counts: Reals = np.zeros((0, self.policy.width))
        """[R, C] the advantages of late, and how often each choice was made."""
        self._pupil: Imitation | None = None

    # What a run asks of a learner

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return without_usual_actors({"method": self.method, **asdict(self.config)})

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
            config = ImitationConfig(task=self.task.name, teacher=self.config.teacher, seed=self.config.seed)
            self._pupil = Imitation(self.task, config, teacher=self.most_likely)
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

    def advance(self) -> dict[str, float]:
        """Make a round of updates, or let the network learn for one, or check it and learn what it fails on."""
        if self.is_descending:
            return self._round()
        if self.pupil.done:
            return self._mend()
        curve = self.pupil.advance()
        return {"round": curve.pop("round"), "updates": self.updates, **curve}

    # A round

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest size to learn on now."""
        return self.ranges[min(self.stage, len(self.ranges) - 1)]

    def _round(self) -> dict[str, float]:
        config, size = self.config, self.sizes[1]
        if config.restart and not self.stage_updates and self.is_descending:
            self.policy.soften(config.restart)
        self._set_temperature()
        self.policy.refresh()
        if self._is_shared:
            self._send_all()
        solved = steps = played = 0.0
        updates = config.updates_per_round if self.is_descending else config.updates
        for _ in range(updates):
            outcomes, taken = self.update()
            solved, steps, played = solved + (outcomes == Outcome.SOLVED).sum(), steps + taken, played + len(outcomes)
        if self.is_descending:
            self.stage_updates += config.updates_per_round
            self._end_stage(solved / max(1, played))
        request = Request(size=size, count=config.checked, seed=config.seed * 1000 + 1, queries=self.queries)
        results = run(self.most_likely, self.task.draw(request), find_loops=self.task.measure == "steps")
        return {
            "round": self.updates // config.updates_per_round,
            "updates": self.updates,
            "size": size,
            "sampled_steps": steps / max(1, played),
            "sampled_solved": solved / max(1, played),
            "solved": float(results.solved.mean()),
            "mean_steps": float(results.steps.mean()),
            "mean_reward": float(results.rewards.mean()),
            "decisions": self.policy.count,
            "foreseen": self.critic.explained,
            "failing": len(self.hard),
        }

    def _set_temperature(self) -> None:
        """Set how much is tried: less and less in the course of a stage."""
        config, wanted = self.config, self._stage_length()
        share = min(1.0, self.stage_updates / wanted) if self.is_descending else 1.0
        self.temperature = _between(config.temperature, config.final_temperature, share)
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
                f"solved, {needs:.0%} are wanted: try more updates, smaller sizes first, or another step_size"
            )

    def update(self) -> tuple[Ints, float]:
        """Make one update; return how the episodes ended that had no action at random, and their steps together."""
        if self._is_shared:
            sums, rows, outcomes, steps = self._play_elsewhere()
        else:
            sums, rows, outcomes, steps = self._play()
        if not np.isfinite(sums.errors).all():
            raise DivergedError(
                f"the critic's error is no number at update {self.updates + 1}: try a smaller step_size"
            )
        if rows.size:
            self._learn(sums, rows)
            self.critic.fit(sums, rows[sums.visits[rows] > 0])
            self.sampler.clear(rows)
        self._changed = rows
        self.updates += 1
        return outcomes, steps

    # Playing, here or by actors

    def _plays(self) -> Plays:
        """Return how the next update's episodes are played; once any failed, they are of every distribution in turn."""
        config = self.config
        data = tuple(self.task.inputs.draw) if self.hard else tuple(config.data.split(","))
        straying = config.straying if self.stage < len(self.ranges) - 1 else 0.0
        return Plays(self.sizes, data, self.queries, straying, config.strays)

    def _worth(self) -> Reals:
        config = self.config
        return np.array([config.step_cost, config.wrong_cost, self.task.reward.progress, config.trace])

    def _play(self) -> tuple[Sums, Ints, Ints, float]:
        """Play the episodes of an update; return what they showed, the rows of it, how they ended and their steps."""
        instances = self._draw()
        limits = self.limit.steps(instances.sizes)
        generators, strays = draw_chances(self.config.seed, self.updates, instances.count, self._plays())
        batch, record = self.sampler.play(instances, limits, np.minimum(strays, limits - 1), generators)
        critic = self.critic.with_room(self.policy.count)
        sums, rows = self.sampler.sum_up(batch, record, critic, self._worth(), limits)
        return sums, rows, *_whole(batch, record.strays)

    @property
    def _is_shared(self) -> bool:
        """Whether actors play: in all stages, and no longer when a network is mended."""
        return self.config.actors > 1 and self.is_descending

    def _send_all(self) -> None:
        """Send the whole table to the actors, which makes up for all changes."""
        if self._actors is None:
            config = self.config
            about = (config.teacher, config.softness, self.limit, config.episodes, config.seed, self._worth())
            self._actors = self.runner.gather(TableActor, arguments_of_actors(self.task, *about, config.actors))
        count = self.policy.count
        copy = Copy(self.policy.save(), self.critic.save(count) if count else {}, self.policy.explored)
        self._actors.load([copy] * self.config.actors)
        self._sent, self._changed, self._changed_shared = count, NO_ROWS, NO_ROWS

    def _play_elsewhere(self) -> tuple[Sums, Ints, Ints, float]:
        """Let the actors play the episodes of an update; return the same as `_play`."""
        assert self._actors is not None
        policy, rows, critic = self.policy, self._changed, self.critic.with_room(self.policy.count)
        orders = Orders(
            update=self.updates,
            plays=self._plays(),
            observations=policy.observations[self._sent : policy.count],
            origins=policy.origins[self._sent : policy.count],
            rows=rows,
            logits=policy.logits[rows],
            shared_rows=self._changed_shared,
            shared_logits=policy.shared_logits[self._changed_shared],
            critic=Critic(critic.visits[rows], critic.returns[rows], critic.hints[rows], critic.weights, critic.usual),
        )
        shares = self._actors.tell("play", orders)
        self._sent = known = policy.count
        numbers = policy.adopt(known, shares)
        places = [
            np.concatenate([np.arange(known), own])[share.rows] for share, own in zip(shares, numbers, strict=True)
        ]
        self.critic.with_room(policy.count)
        sums, made = self.sampler.add_up(shares, places)
        return sums, made, np.concatenate([share.outcomes for share in shares]), sum(share.steps for share in shares)

    def _draw(self) -> Instances:
        """Return the instances of an update: of the sizes of the stage, and some of those that failed."""
        config = self.config
        drawn = draw(self.task, config.seed, self.updates, config.episodes, self._plays())
        if not self.hard:
            return drawn
        # The same generator as that of the sizes, after these.
        random, (low, high) = np.random.default_rng([config.seed, 3, self.updates]), self.sizes
        random.integers(low, high + 1, config.episodes)
        few = round(HARD_SHARE * config.episodes)
        chosen = random.integers(0, len(self.hard), few)
        hard = join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.hard])
        return join_instances(self.task, [drawn.part(0, config.episodes - few), hard.rows(chosen)])

    def _learn(self, sums: Sums, rows: Ints) -> None:
        """Add the advantages of a batch, in which decisions [m] were made, to the logits, in place."""
        config, policy = self.config, self.policy
        counts, totals = sums.counts[rows], sums.totals[rows]
        advantages = sums.advantages[rows]
        advantages = advantages - counts * (advantages.sum(axis=1) / totals)[:, None]
        self._advantages, self._counts = (with_room(a, policy.count) for a in (self._advantages, self._counts))
        self._advantages[rows] = config.memory * self._advantages[rows] + advantages
        self._counts[rows] = config.memory * self._counts[rows] + counts
        pull = config.step_size * self.temperature
        logits = self._moved(policy.logits[rows], self._advantages[rows], self._counts[rows])
        taught = policy.taught[rows]
        is_taught = np.flatnonzero(taught != NO_ACTION)
        logits[is_taught, taught[is_taught]] += pull * config.softness
        policy.logits[rows] = logits
        if policy.has_history:
            several, places = np.unique(policy.shared[rows], return_inverse=True)
            shared_advantages, shared_counts = np.zeros((2, len(several), policy.width))
            np.add.at(shared_advantages, places, advantages)
            np.add.at(shared_counts, places, counts)
            self._changed_shared = several
            policy.shared_logits[several] = self._moved(policy.shared_logits[several], shared_advantages, shared_counts)
        policy.refresh(rows)

    def _moved(self, logits: Reals, advantages: Reals, counts: Reals) -> Reals:
        """Return logits [m, C] moved by the sums of their advantages and pulled back towards 0."""
        config = self.config
        change = config.step_size * advantages / (counts + config.shrink)
        change = np.clip(change, -config.largest_change, config.largest_change)
        moved = (1 - config.step_size * self.temperature) * logits + change
        bounded: Reals = np.maximum(moved, moved.max(axis=1, keepdims=True) - FURTHEST)
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
        self.policy.teacher = Table(self.task, network)
        curve = self._round()
        self.pupil.learn_again(table.observations)
        return {**curve, "failing": len(failures)}

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        count = self.policy.count
        tensors = {f"table.{name}": array for name, array in self.policy.save().items()}
        tensors |= self.critic.save(count) if len(self.critic.critic.visits) else {}
        tensors |= {"kept.advantages": self._advantages[:count], "kept.counts": self._counts[:count]}
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
        self.policy.load(tensors_under("table.", tensors))
        count = self.policy.count
        if count:
            self.critic.load(tensors, count)
        for name, array in (("advantages", self._advantages), ("counts", self._counts)):
            kept = tensors.get(f"kept.{name}", array)
            like = np.zeros((min(len(kept), count), self.policy.width))
            setattr(self, f"_{name}", take(tensors, f"kept.{name}", like, SOURCE))
        if not self.is_descending:
            if state["pupil"] is None:
                raise SavedFileError(f"{SOURCE} has no network, although all stages are done")
            self.pupil.load_state(tensors_under("pupil.", tensors), state["pupil"])


def _between(first: float, last: float, share: float) -> float:
    """Return the number that lies between two at a share of the way, in equal ratios unless one of them is 0."""
    if first <= 0 or last <= 0:
        return first + share * (last - first)
    return float(first * (last / first) ** share)


def _whole(batch: Episodes, strays: Ints) -> tuple[Ints, float]:
    """Return how the episodes ended that had no action at random, and their steps together."""
    own = strays == 0
    return batch.outcomes[own], float(batch.steps[own].sum())
