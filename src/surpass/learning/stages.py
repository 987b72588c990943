"""Learn on small sizes first, then on larger ones; teach the result to a network, check it, and learn what it fails on.

A stage is a range of sizes; the next begins when this one's are solved. Then the most likely actions are checked on
every small instance and in a search for odd ones; what they fail on joins the instances that the policy goes on to
learn on, until nothing fails. A network learns them, as it would learn any teacher, and is checked in the same way.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from surpass.agents import agent_of_recipe
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints
from surpass.bundles import Tensors
from surpass.engine.run import AnyAgent, run
from surpass.errors import DivergedError, SavedFileError, SettingError, UnknownNameError
from surpass.learning.derived import drawable_sizes
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.outlook import AGREEMENT, REWARD, STEPS, Outlook, Yardstick
from surpass.learning.soundness import ENOUGH, find_failures
from surpass.learning.sources import Sources
from surpass.learning.updates import SOURCE, tensors_under
from surpass.machine.state import Outcome
from surpass.reading import (
    Batch,
    Count,
    Fraction,
    Many,
    OneOf,
    Seed,
    Share,
    Weight,
    Whole,
    check_fields,
    conform,
)
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances, limits_in_turn

PATIENCE = 5
"""How many times its updates a stage may take until its sizes are solved."""
HARD_SHARE = 0.25
"""The share of the episodes that are played on instances that failed, once there are any."""
MOST_HARD = 400
SOME_SIZES = 32
"""How many sizes an update has if they are spread by doublings: to draw few instances of many sizes takes long."""
AGAIN = 5_000_000
"""What is added to the seed of an update to draw instances again."""
STATE = {
    **dict.fromkeys(("updates", "stage", "stage_updates", "mended"), Count),
    **{"is_policy_sound": bool, "is_sound": bool, "hard": list[str], "pupil": dict[str, Any] | None},
}
"""What a checkpoint says beside its tensors."""


@dataclass(frozen=True, kw_only=True)
class StagedConfig:
    """What the settings of learners that go through stages have in common. Every field is part of the recipe."""

    task: str
    teacher: str = ""
    """Whose actions the policy begins with."""
    seed: Seed = 0
    policy: str = ""
    stages: str = ""
    """The sizes to learn on, one range after the other, such as `3-6 5-10 10-20`; those of the task if empty."""
    spread: Annotated[str, OneOf(("even", "doubling"))] = "even"
    """How sizes are drawn from the range of a stage: each equally often, or each doubling of them equally often."""
    skew: Weight = 1.0
    """With spread=doubling, how much the smaller sizes are preferred: 1 not at all; with 2 half of all instances come
    from the first quarter of the doublings."""
    updates: Many = 100
    """The updates of each stage, more if its sizes are not solved by then."""
    last_updates: Whole = 0
    """Those of the last stage, if they are not the same."""
    updates_per_round: Many = 10
    """How many updates a round has; a line of the curves is written after each."""
    episodes: Batch = 2048
    """Episodes that an update plays."""
    step_size: Weight = 0.1
    """What an advantage of 1 adds to a logit."""
    softness: Weight = 3.0
    """The logit that the teacher's choices begin with, where others have 0: the lower, the more is tried."""
    views: str = ""
    """What is learned together: what looks alike in a view shares a part of its logits. Names of features, or patterns
    of them, with commas between, and several views with | between, such as `v? ? v?,q* | q*`."""
    memory: Fraction = 0.8
    """What is left of an advantage when the choice comes up in the next update."""
    shrink: Weight = 20.0
    """How many more times each choice is taken to have been tried, with no advantage."""
    largest_change: Weight = 1.0
    """The most that an update changes a logit by."""
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
    """The step limit while learning, or several such limits, separated by commas, which instances take in turn; the
    task's if empty."""
    solved: Share = 0.98
    """The share of a stage's episodes that must be solved before the next begins."""
    mending: Whole = 40
    """How many times the network may be checked, and what it fails on learned."""
    mended_on: Annotated[str, OneOf(("everything", "data"))] = "everything"
    """What it then learns on beside what it failed on: every distribution in turn, or the data as before, so that what
    is learned for usual instances is not given up for what would be saved on odd ones."""
    checked: Batch = 200
    """Fresh instances on which the most likely actions are measured at the end of each round."""

    def __post_init__(self) -> None:
        if self.policy != type(self).policy:
            raise UnknownNameError("policy", self.policy, (type(self).policy,))
        check_fields(self)
        for word in self.limit.split(",") if self.limit else ():
            Limit.parse(word)
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


class StagedLearner(ABC):
    """A learner that goes through stages with a policy of its own kind, and then teaches it to a network."""

    _pupil: Imitation | None
    answers_everywhere = False
    """Whether the policy has an action for what it has not learned on, so that it can be checked without a network."""

    def __init__(self, task: Task, config: Any) -> None:
        self.queries = config.queries or task.inputs.usual_queries
        self.sources = Sources(task, config.data, self.queries, config.seed, digest=config.digest)
        self.task, self.config = task, _with_files(config, self.sources)
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.method = "rl+imitation" if config.teacher else "rl"
        self.ranges: list[tuple[int, int]] = self.config.ranges(task.training_sizes)
        self.sources.check_sizes(*self.ranges[-1])
        self.updates = self.stage = self.stage_updates = self.mended = 0
        self.work = 0
        self.is_policy_sound = not self.answers_everywhere
        """Whether the last check of the most likely actions found nothing that fails, or there is none."""
        self.is_sound = False
        """Whether the last check of the network found nothing that fails."""
        self._has_checked_policy = False
        """Whether the last check was of the policy, not of the network."""
        self.hard: list[str] = []
        """Instances that the network failed on, as text."""
        self._begin()

    # What a kind of policy brings

    @abstractmethod
    def _begin(self) -> None:
        """Begin with a policy that has learned nothing, and no network, in place."""

    @property
    @abstractmethod
    def most_likely(self) -> Agent:
        """What the network learns."""

    @abstractmethod
    def update(self) -> tuple[Ints, float]:
        """Make one update; return how its episodes ended, and their steps together."""

    @abstractmethod
    def _begin_round(self) -> None:
        """Get the policy ready for a round, in place."""

    @abstractmethod
    def _measures(self) -> dict[str, float]:
        """Return what else a round shows."""

    @abstractmethod
    def _teach(self, answers: Table) -> None:
        """Let the policy begin with other answers where it has none of its own."""

    @abstractmethod
    def _save_policy(self) -> Tensors:
        """Return everything that `_load_policy` needs."""

    @abstractmethod
    def _load_policy(self, tensors: Tensors) -> None:
        """Go back to a saved policy in place."""

    def _start_of(self, name: str) -> Agent:
        """Return the agent of a name to begin with, carried over if it is one of a smaller task."""
        found = agent_of_recipe(self.task, name)
        if not isinstance(found, Agent):
            raise SettingError(f"start is {name!r}; it must be an agent with a table")
        return found

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
        return not self.is_descending and len(self.pupil.observations) > 0

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.is_descending and self.pupil.done and self.is_checked

    @property
    def finished(self) -> bool:
        """Whether the network equals the table."""
        return self.done and self.pupil.finished

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
        if self.has_network or not self.updates:
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

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return what an agent saves on the lists of files that were held out, as text; by default the network."""
        return "".join(f"{line}\n" for line in self.sources.describe_held_out(self.teacher, agent or self.agent()))

    def advance(self) -> dict[str, float]:
        """Make a round of updates, or let the network learn for one, or check it and learn what it fails on."""
        if self.is_descending:
            return self._round()
        if not self.is_policy_sound and self.mended < self.config.mending:
            return self._mend_policy()
        if self.pupil.done:
            return self._mend()
        curve = self.pupil.advance()
        return {"round": curve.pop("round"), "updates": self.updates, **curve}

    def outlook(self, curve: Mapping[str, float]) -> Outlook:
        """Return how far it has come in the part that the round of this line belongs to.

        The stages are the first part. Then the policy is checked, if it answers everywhere; the network learns, and is
        checked.
        """
        measure = REWARD if self.task.measure == "reward" else STEPS
        compared = self.yardstick.compare(curve, measure.column)
        if AGREEMENT.column in curve:
            doing = f"part {2 + self.answers_everywhere}, the network learns what the table does"
            measure = replace(AGREEMENT, words="like the table")
            return replace(self.pupil.outlook(curve), measure=measure, doing=doing, compared=compared)
        share, is_last = self.config.updates_per_round, not self.is_descending
        if self.mended:
            found = (
                f"it failed on {int(curve['failing']):,} instances, which it learns now,"
                f" {self.mended} of at most {self.config.mending} times"
                if curve.get("failing")
                else "nothing failed"
            )
            part = (
                "part 2, the policy" if self._has_checked_policy else f"part {3 + self.answers_everywhere}, the network"
            )
            doing, done, expected = f"{part} was checked: {found}", 1, 1
        else:
            left = 0 if is_last else max(share, self._stage_length() - self.stage_updates)
            left += self.config.updates * max(0, len(self.ranges) - self.stage - 2)
            left += (self.config.last_updates or self.config.updates) * (self.stage < len(self.ranges) - 1)
            # The round that ends a stage still belongs to it.
            stage = max(0, self.stage - 1) if curve and not self.stage_updates else self.stage
            low, high = self.ranges[stage]
            doing = f"part 1, {self._describe_stage(stage)}, sizes {low} to {high}"
            done, expected = self.updates // share, -(-(self.updates + left) // share)
        return Outlook(measure=measure, doing=doing, done=done, expected=expected, work=self.work, compared=compared)

    def _describe_stage(self, stage: int) -> str:
        """Return which stage it is, in words."""
        return f"stage {stage + 1} of {len(self.ranges)}"

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
        return {
            **self._measured(size),
            "sampled_steps": steps / max(1, played),
            "sampled_solved": float(solved / max(1, played)),
            **self._measures(),
        }

    def _measured(self, size: int) -> dict[str, float]:
        """Return what the most likely actions do on fresh instances of a size, as a line of the curves."""
        drawn = self.task.draw(self.measured_on(size))
        results = run(self.most_likely, drawn, find_loops=self.task.measure == "steps")
        return {
            "round": self.updates // self.config.updates_per_round,
            "updates": self.updates,
            "size": size,
            "solved": float(results.solved.mean()),
            "mean_steps": float(results.steps.mean()),
            "mean_reward": float(results.rewards.mean()),
            "failing": len(self.hard),
        }

    @property
    def _mending_updates(self) -> int:
        """How many updates are made after a check that found something that fails."""
        return int(self.config.updates)

    @property
    def _is_last_stage(self) -> bool:
        return self.stage >= len(self.ranges) - 1

    def _stage_length(self) -> int:
        return int((self._is_last_stage and self.config.last_updates) or self.config.updates)

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

    @property
    def _episodes(self) -> int:
        """How many episodes an update plays."""
        return int(self.config.episodes)

    @property
    def _draw_number(self) -> int:
        """What the instances of an update follow from, beside the seed: updates with the same number play the same."""
        return self.updates

    def _hard_instances(self) -> Instances:
        return join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.hard])

    def _limits_of(self, sizes: Ints) -> Ints:
        """Return how many steps each of some instances, which have sizes [m], may take."""
        return limits_in_turn(self.config.limit or self.task.limit, sizes)

    def _draw(self, again: bool = False) -> Instances:
        """Return the instances of an update: of the sizes of the stage, and some of those that failed.

        If `again`, they are others of the same kind.
        """
        drawn = self._draw_usual(again)
        if not self.hard:
            return drawn
        few = round(HARD_SHARE * drawn.count)
        chosen = np.random.default_rng([self.config.seed, 4, self._draw_number, again]).integers(0, len(self.hard), few)
        usual, hard = drawn.part(0, drawn.count - few), self._hard_instances().rows(chosen)
        return join_instances(self.task, [usual, hard.part(0, self._affordable(hard, usual))])

    def _affordable(self, hard: Instances, usual: Instances) -> int:
        """Return how many of the hard instances of an update are played beside the usual ones."""
        return hard.count

    def _draw_usual(self, again: bool = False) -> Instances:
        """Return instances of the sizes of the stage.

        Once there are some that failed, they may come from every distribution in turn; beside files, in every other
        update.
        """
        config, (low, high) = self.config, self.sizes
        random = np.random.default_rng([config.seed, 3, self._draw_number, *([1] if again else [])])
        if config.spread == "doubling":
            places = random.random(SOME_SIZES) ** config.skew
            some = np.exp(np.log(low) + places * (np.log(high + 1) - np.log(low))).astype(np.int64)
            sizes = np.sort(random.choice(some, self._episodes))
        else:
            sizes = np.sort(random.integers(low, high + 1, self._episodes))
        seed = config.seed * 10_000_000 + self._draw_number + AGAIN * again
        widens = bool(self.hard) and config.mended_on == "everything"
        names = list(self.task.inputs.draw) if widens else [source.name for source in self.sources.all]

        def ask(size: int, wanted: int) -> Request:
            data = names[(size + self._draw_number) % len(names)]
            return Request(size=size, count=wanted, seed=seed, data=data, queries=self.queries)

        if self.sources.is_plain or (widens and self._draw_number % 2):
            return self.task.draw_each(sizes, high, ask)
        return self.sources.draw_between((low, high), self._episodes, seed)

    # The end

    def _mend_policy(self) -> dict[str, float]:
        """Check the most likely actions, and mend what they fail on; if nothing fails, the network learns them.

        It is taught everything that the check came to. To do so before a network learns saves its time, and what it
        fails on then is not the policy's fault.
        """
        table = Table(self.task, self.most_likely)
        failures = self._check(table, MOST_HARD)
        self.is_policy_sound, self._has_checked_policy = not failures, True
        if not failures:
            self.pupil.learn_again(table.observations)
            return self._passed(table)
        is_mended = self._go_back(table)
        curve = self._measured(self.sizes[1]) if is_mended else self._round()
        return {**curve, "failing": len(failures)}

    def _go_back(self, table: Table) -> bool:
        """Undo what makes the hard instances fail, in place, and tell whether all are solved then.

        `table` holds what the policy did so far.
        """
        return False

    def _mend(self) -> dict[str, float]:
        """Check the network; what it fails on joins the instances to learn on, and the network learns again."""
        network = self.pupil.agent()
        table = Table(self.task, network)
        failures = self._check(table)
        self.is_sound, self._has_checked_policy = not failures, False
        if self.is_sound:
            return self._passed(table)
        if self.answers_everywhere:
            # Where the network only differs from the policy, the policy passes its next check, and teaches it better.
            self.is_policy_sound = False
            self.pupil.learn_again(table.observations)
            return {**self._passed(table), "failing": len(failures)}
        self._teach(Table(self.task, network))
        curve = self._round()
        self.pupil.learn_again(table.observations)
        return {**curve, "failing": len(failures)}

    def _check(self, table: Table, enough: int = ENOUGH) -> list[str]:
        """Return some instances that an agent fails on, as text, by the next check."""
        failures = self._find_failures(table, enough, self.mended, is_thorough=True)
        self.mended += 1
        return failures

    def _find_failures(self, table: Table, enough: int, seed: int, is_thorough: bool = False) -> list[str]:
        """Return some instances that an agent fails on, by a check of its own for each seed; they become hard ones."""
        failures = find_failures(table, self.hard, seed=seed, enough=enough, is_thorough=is_thorough)
        self.hard = [*dict.fromkeys([*self.hard, *failures])][-MOST_HARD:]
        return failures

    def _passed(self, table: Table) -> dict[str, float]:
        return {"round": self.mended, "updates": self.updates, "failing": 0, "observations": len(table)}

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        tensors = self._save_policy()
        record: dict[str, Any] = {"pupil": None, "hard": self.hard}
        record |= {name: getattr(self, name) for name in STATE if name not in record}
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
        for name in ("updates", "stage", "stage_updates", "mended", "is_policy_sound", "is_sound", "hard"):
            setattr(self, name, state[name])
        self._load_policy(tensors)
        if not self.is_descending:
            if state["pupil"] is None:
                raise SavedFileError(f"{SOURCE} has no network, although all stages are done")
            self.pupil.load_state(tensors_under("pupil.", tensors), state["pupil"])


def _with_files(config: Any, sources: Sources) -> Any:
    """Return the settings with the checksum of files and, unless they say otherwise, the lengths of their lists."""
    if not sources.has_files:
        return config
    return replace(config, digest=sources.digest, stages=config.stages or "{}-{}".format(*sources.lengths))
