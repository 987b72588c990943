"""The table learner: natural policy gradient on a table of logits, in one run from nothing or from a teacher.

1. solve    From nothing: an actor-critic learns small sizes (`critic.py`). Features that the policy does not need
            are dropped, so that it answers on larger sizes too. This is done for several starts; each
            leaves a candidate. A teacher, or the agent that `--from` names, is one more.
2. improve  Each candidate saves steps by single deviations (`deviations.py`), or gains score by sampled tables
            (`sampled_tables.py`). After a while the worse half of the candidates is dropped, and so on until one is
            left (successive halving in rungs; Jamieson and Talwalkar, 2016). So a run with a teacher does not end worse
            than one without.
3. check    Changes that no instance meets are undone (`repair.py`): they are not needed, and little tested.
            `checks.find_failures` looks for counter-examples. What makes them fail is undone as well, and
            they join the training data, until none is found.
4. distil   A network learns the most likely actions by imitation, and is checked as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from surpass.agents import agent_of_recipe
from surpass.agents.teachers import teacher_of
from surpass.arrays import Flags, Ints
from surpass.bundles import Tensors
from surpass.checks import QUICK, THOROUGH, find_failures
from surpass.engine.batch import Batch
from surpass.engine.run import AnyAgent, run
from surpass.errors import DivergedError, SavedFileError, SettingError
from surpass.extras import load, load_names
from surpass.learning.curriculum import read_ranges, smallest_size
from surpass.learning.sources import Sources
from surpass.learning.status import AGREEMENT, REWARD, STEPS, Status, TeacherReference
from surpass.learning.table.candidates import ESTIMATORS, Candidate, load_candidate, relative_losses
from surpass.learning.table.critic import ActorCritic
from surpass.learning.table.episodes import Costs, play_all
from surpass.learning.table.features import ViewAgent, drop_features, without_previous
from surpass.learning.table.logits import LogitTable
from surpass.learning.table.repair import Reference, revert_failures, revert_unused
from surpass.learning.unsolved import largest_loss
from surpass.learning.updates import SOURCE, tensors_under
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.reading import Batch as BatchSize
from surpass.reading import Count, Many, OneOf, Seed, Weight, Whole, check_fields, validate
from surpass.table import Agent, Table
from surpass.tasks.enumeration import drawable_sizes
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances, limits_in_turn

if TYPE_CHECKING:
    from surpass.agents.networks.agent import NetworkAgent
    from surpass.agents.networks.structured import StructuredPolicy
    from surpass.learning.imitation import Imitation

FIRST_SIZES = (4, 6, 8)
"""The largest sizes of the first stages of `solve`; then they double."""
MIN_SOLVED = 0.9
"""The share of episodes that must be solved for the next stage of `solve`."""
STAGE_UPDATES = 80
"""The updates of a stage of `solve`."""
STEPS_PER_UPDATE = 1 << 22
"""About how many steps an update of `solve` may take if all episodes reach their limit."""
MAX_EPISODES, MIN_EPISODES = 8192, 512
ROUND = 10
"""How many updates a round has; a line of the curves is written after each."""
LONGEST_EPISODE = 300
"""`improve` saves steps on sizes at which an episode takes at most so many in the mean."""
LONGEST_BUDGET = 3200
"""`improve` gains score on sizes whose step limit is at most this."""
IMPROVE_STEPS = 1 << 19
"""About how many steps an update of `improve` takes."""
LEARNING, FRESH, COMPARING = 3, 4, 5
"""What instances are drawn for; those on which policies are compared hold no counter-examples."""
EVALUATED = 600
"""How many instances tell whether a feature can be dropped."""
COMPARED, MOST_COMPARED_STEPS = 100, 1 << 22
"""On how many instances of each doubling of the sizes policies are compared, up to the size that takes many steps."""
TOLERANCE = 0.01
"""The share of additional cost that is accepted for a feature less."""
USUAL_WEIGHT = 3
"""By default three in four instances are of the usual distribution; all others share the rest."""
SIZES = 32
"""How many sizes the instances of an update have; to draw few instances of many sizes takes long."""
COUNTEREXAMPLE_RATE = 0.25
MAX_COUNTEREXAMPLES = 400
MAX_LOSS, LAST_CHECKS = 0.02, 0.6
"""The share of their cost that usual instances may lose by a repair, until a share of the checks has been made."""
CHECK_EVERY = 10
"""After how many rounds of a candidate a quick check looks for counter-examples."""
STATE = {
    **dict.fromkeys(
        ("updates", "restart", "stage", "stage_updates", "turn", "rung_updates", "checks", "episodes"), Count
    ),
    **{"phase": str, "counterexamples": list[str], "is_sound": bool, "improved": list[Count]},
    **{"candidates": list[dict[str, Any]], "student": dict[str, Any] | None},
}
"""What a checkpoint says beside its tensors."""


@dataclass(frozen=True, kw_only=True)
class TableConfig:
    """How `TableLearner` learns. Every field is part of the recipe."""

    FIRST: ClassVar = (
        *("policy", "updates", "sizes", "data", "limit", "start", "starts"),
        *("episodes", "step_cost", "wrong_cost"),
    )
    task: str
    teacher: str = ""
    """Whose actions one of the candidates begins with."""
    seed: Seed = 0
    policy: Annotated[str, OneOf(("table", "network"))] = "table"
    """What is optimised: a table of logits, or a network by the paper's learner, which has other settings."""
    start: str = ""
    """An agent to begin with in place of nothing, such as `zoo:search/rl`."""
    starts: Many = 5
    """How many policies are begun with, a given agent among them; the best is kept."""
    sizes: str = ""
    """The sizes to save steps on, such as 3-100; by default from the smallest size on, as large as time allows."""
    data: str = ""
    """Distributions and files to learn on, separated by commas, each with a weight behind * if it has one."""
    digest: str = ""
    """The SHA-256 of the files, which is filled in: a run continues only with the same ones."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    limit: str = ""
    """The step limit while learning, or several, separated by commas, which instances take in turn."""
    solve_to: Whole = 0
    """The largest size of `solve`; if 0, the largest that its episodes have time for."""
    updates: Many = 300
    """The updates of `improve` for the best candidate; the worse ones get fewer."""
    estimator: Annotated[str, OneOf(("", *ESTIMATORS))] = ""
    """How `improve` estimates advantages; by default by deviations, or by sampled tables where the score counts."""
    episodes: BatchSize = 4096
    """Instances per update of `improve`, fewer where episodes are long."""
    deviations: Many = 4
    """How many times an update plays each instance again, with another action at one step."""
    base_logit: Weight = 2.0
    """The logit that the first policy's actions begin with: the higher, the more evidence it takes to change them."""
    step_cost: Weight = 1.0
    """What a step costs; by default 0 where the score counts."""
    wrong_cost: Weight = 1.0
    """What a wrong answer costs, as a share of what all steps up to the limit cost."""
    checks: Whole = 40
    """How many times at most counter-examples are searched for in the end."""

    def __post_init__(self) -> None:
        check_fields(self)
        for word in self.limit.split(",") if self.limit else ():
            Limit.parse(word)
        read_ranges(self.sizes, (1, 1))


class TableLearner:
    """A learner that surpasses its teacher, or learns from nothing, by a table of logits."""

    def __init__(self, task: Task, config: TableConfig, *, given: Agent | None = None, is_taught: bool = True) -> None:
        """Begin with a `given` agent alone, if there is one; unless it `is_taught`, no network learns the result."""
        self.is_taught = is_taught
        if is_taught:
            load("torch")  # if it is missing, that is said now and not after the learning
        self.queries = config.queries or task.inputs.usual_queries
        data = config.data or _usual_mixture(task)
        self.sources = Sources(task, data, self.queries, config.seed, digest=config.digest)
        self.task, self.config = task, replace(config, digest=self.sources.digest)
        if task.measure == "reward" and config.step_cost == TableConfig.step_cost:
            self.config = replace(self.config, step_cost=0.0)
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self._is_alone = given is not None or bool(config.start)
        self.given = given or self.teacher or self._named_start()
        """The agent that a candidate begins with, if one is given."""
        self.method = "rl+imitation" if config.teacher else "rl"
        self.costs = Costs(self.config.step_cost, config.wrong_cost, largest_loss(task))
        self.smallest = smallest_size(task)
        self.tops = self._stages()
        if config.sizes:
            self.sources.check_sizes(*read_ranges(config.sizes, (1, 1))[-1])
        self._reset()

    def _reset(self) -> None:
        self.phase = "improve" if self.task.limit_is_budget or not self._from_nothing else "solve"
        self.updates = self.restart = self.stage = self.stage_updates = 0
        self.turn = self.rung_updates = self.checks = self.work = 0
        self.improved, self.episodes = [self.smallest, self.smallest], self.config.episodes
        """The sizes that `improve` uses now, and how many instances of them an update has."""
        self.is_sound = False
        self.counterexamples: list[str] = []
        """Instances on which a policy failed, as text."""
        self.candidates: list[Candidate] = []
        self._critic: ActorCritic | None = None
        self._student: Imitation | None = None
        if self.given is not None:
            self.candidates.append(self._new_candidate(self.given))
        if self.phase == "improve":
            self.candidates += [self._new_candidate(None) for _ in range(self._from_nothing)]

    def _stages(self) -> list[int]:
        """Return the largest size of each stage of `solve`.

        A way that pays on long instances only, such as halving, is found on long instances only.
        """
        largest = max(self.config.solve_to or max(self.task.sizes), FIRST_SIZES[0])
        longest = [*FIRST_SIZES, *(FIRST_SIZES[-1] << k for k in range(1, largest.bit_length()))]
        tops = [
            top for top in longest if self.smallest <= top <= largest and (top in FIRST_SIZES or self._has_time(top))
        ]
        return tops or [self.smallest]

    def _has_time(self, size: int) -> bool:
        """Tell whether an update of `solve` has time for enough episodes of a size, if all reach their limit."""
        return int(self._limits(np.array([size])).max()) * MIN_EPISODES <= STEPS_PER_UPDATE

    @property
    def _from_nothing(self) -> int:
        """How many candidates are learned from nothing: at least one, unless `--from` names an agent."""
        return 0 if self._is_alone else max(1, self.config.starts - (self.given is not None))

    def _new_candidate(self, base: Agent | None) -> Candidate:
        return Candidate(self.task, self.config, base)

    def _named_start(self) -> Agent | None:
        if not self.config.start:
            return None
        found = agent_of_recipe(self.task, self.config.start)
        if not isinstance(found, Agent):
            raise SettingError(f"start is {self.config.start!r}; it must be an agent with a table")
        return found

    # What a run asks of a learner

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return {"method": self.method, **asdict(self.config)}

    @property
    def best(self) -> Candidate | None:
        """The candidate that is the best so far; the learner keeps them in order after each rung."""
        return self.candidates[0] if self.candidates else None

    @property
    def policy(self) -> Agent:
        """The most likely actions so far."""
        if self.best is not None:
            return self.best.logits.greedy()
        return self._actor_critic().logits.greedy()

    @property
    def student(self) -> Imitation:
        """The learner of the network."""
        if self._student is None:
            self._student = self._new_student()
        return self._student

    def _new_student(self, largest: int | None = None) -> Imitation:
        learner, settings = load_names("surpass.learning.imitation", "Imitation", "ImitationConfig")
        largest = largest or max(settings.sizes)
        sizes = drawable_sizes(self.task, (size for size in settings.sizes if size <= largest)) or (largest,)
        name, teacher, seed = self.task.name, self.config.teacher, self.config.seed
        student: Imitation = learner(
            self.task, settings(task=name, teacher=teacher, seed=seed, sizes=sizes), teacher=self.policy
        )
        return student

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the most likely actions."""
        return self.student.network

    @property
    def has_network(self) -> bool:
        """Whether there is a network worth keeping: it has begun to learn."""
        return self.phase == "distil" and len(self.student.observations) > 0

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return self.phase == "distil" and self.student.done and (self.is_sound or self.checks >= self.config.checks)

    @property
    def finished(self) -> bool:
        """Whether the network equals the table."""
        return self.done and self.student.finished

    def agent(self, name: str = "rl") -> NetworkAgent:
        """Return the network as an agent."""
        (network_agent,) = load_names("surpass.agents.networks.agent", "NetworkAgent")
        agent: NetworkAgent = network_agent(name, self.task, self.network)
        return agent

    def preview(self, seconds: float) -> Imitation | None:
        """Return a learner of the policy so far, if no network has begun to learn it; it learns for some seconds."""
        if self.has_network or not self.updates:
            return None
        began = time.monotonic()
        found = self._new_student(self.tops[-1])
        try:
            found.advance()
        except SettingError:
            return None
        while not found.done and time.monotonic() - began < seconds:
            found.advance()
        return found

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return what an agent saves on the held-out lists of files, as text; by default the network."""
        return "".join(f"{line}\n" for line in self.sources.describe_held_out(self.teacher, agent or self.agent()))

    def advance(self) -> dict[str, float]:
        """Do the next round of the phase that the run is in."""
        return {"solve": self._solve, "improve": self._improve, "check": self._check, "distil": self._distil}[
            self.phase
        ]()

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far the run has come."""
        measure = REWARD if self.task.measure == "reward" else STEPS
        comparisons = self.teacher_reference.compare(curve, measure.column)
        if AGREEMENT.column in curve:
            like = replace(AGREEMENT, words="like the table")
            status = self.student.status(curve)
            return replace(status, measure=like, doing="distil: a network learns the table", comparisons=comparisons)
        doing, done = self.phase, self.updates // ROUND
        if self.phase == "solve":
            stage = min(self.stage, len(self.tops) - 1)
            doing = f"solve: start {self.restart + 1} of {self._from_nothing}, sizes up to {self.tops[stage]}"
        elif self.phase == "improve":
            doing = f"improve: policy {self.turn + 1} of {len(self.candidates)}"
        return Status(measure=measure, doing=doing, done=done, work=self.work, comparisons=comparisons)

    @cached_property
    def teacher_reference(self) -> TeacherReference:
        """What the teacher does on the instances of `measured_on`."""
        return TeacherReference(self.task, self.teacher, self.measured_on)

    def measured_on(self, size: int) -> Request:
        """Return the fresh instances of a size that the most likely actions are measured on."""
        seed, data = self.config.seed * 1000 + 1, self.task.inputs.usual_data
        return Request(size=size, count=200, seed=seed, data=data, queries=self.queries)

    def _line(self, policy: Agent, size: int, **more: float) -> dict[str, float]:
        """Return a line of the curves: what a policy does on fresh instances of a size."""
        instances = self.task.draw(self.measured_on(size))
        results = run(Table.of(policy), instances, find_loops=not self.task.limit_is_budget)
        return {
            "round": self.updates // ROUND,
            "updates": self.updates,
            "size": size,
            "solved": float(results.solved.mean()),
            "mean_steps": float(results.steps.mean()),
            "mean_reward": float(results.rewards.mean()),
            **more,
        }

    # Instances

    def _draw(self, sizes: tuple[int, int], count: int, purpose: int) -> tuple[Instances, Ints]:
        """Return instances with their step limits, of sizes even in their logarithm; counter-examples too."""
        random = np.random.default_rng([self.config.seed, purpose, self.updates])
        few = round(COUNTEREXAMPLE_RATE * count) if self.counterexamples and purpose < COMPARING else 0
        parts = self._draw_usual(sizes, count - few, random)
        if few:
            chosen = random.integers(0, len(self.counterexamples), few)
            known = self._parse_counterexamples().rows(chosen)
            cost = np.cumsum(self._limits(known.sizes))
            most = sum(int(self._limits(part.sizes).sum()) for part in parts)
            parts.append(known.part(0, max(1, int(np.searchsorted(cost, most, side="right")))))
        instances = join_instances(self.task, parts)
        return instances, self._limits(instances.sizes)

    def _draw_usual(self, sizes: tuple[int, int], count: int, random: np.random.Generator) -> list[Instances]:
        """Return instances of a few sizes at random; those of one size come from one source."""
        if self.sources.has_files:
            return [self.sources.draw_between(sizes, count, int(random.integers(2**31)))]
        places = np.log(sizes[0]) + random.random(SIZES) * (np.log(sizes[1] + 1) - np.log(sizes[0]))
        weights = np.array([source.weight for source in self.sources.all])
        which = random.choice(len(weights), SIZES, p=weights / weights.sum())
        shares = random.multinomial(count, np.full(SIZES, 1 / SIZES))
        seed = int(random.integers(2**31))
        return [
            self.task.draw(
                Request(size=size, count=own, seed=seed + k, data=self.sources.all[source].name, queries=self.queries)
            )
            for k, (size, own, source) in enumerate(
                zip(np.exp(places).astype(int).tolist(), shares.tolist(), which.tolist(), strict=True)
            )
            if own
        ]

    def _parse_counterexamples(self) -> Instances:
        return join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.counterexamples])

    def _limits(self, sizes: Ints) -> Ints:
        return limits_in_turn(self.config.limit or self.task.limit, sizes)

    # Solve

    def _actor_critic(self) -> ActorCritic:
        if self._critic is None:
            logits = LogitTable(self.task, features=without_previous(self.task))
            self._critic = ActorCritic(logits, *self.costs)
        return self._critic

    def _solve(self) -> dict[str, float]:
        """Make a round of the actor-critic; at the end of a stage, keep its policy as a candidate."""
        critic, top = self._actor_critic(), self.tops[self.stage]
        critic.anneal(self.stage_updates / max(1, STAGE_UPDATES - ROUND))
        sizes = (min(self.smallest, top), top)
        longest = int(self._limits(np.array([top]))[0])
        count = min(MAX_EPISODES, max(MIN_EPISODES, STEPS_PER_UPDATE // longest))
        solved = played = 0
        for _ in range(ROUND):
            instances, limits = self._draw(sizes, count, LEARNING)
            random = np.random.default_rng([self.config.seed, 2, self.updates])
            batch = critic.update(instances, limits, random, self.stage_updates < 0.8 * STAGE_UPDATES)
            solved, played = solved + int((batch.outcomes == Outcome.SOLVED).sum()), played + len(batch.steps)
            self.work += int(batch.steps.sum())
            self.updates, self.stage_updates = self.updates + 1, self.stage_updates + 1
        line = self._line(critic.logits.greedy(), top, sampled_solved=solved / max(1, played))
        if self.stage_updates >= STAGE_UPDATES:
            self._end_stage(solved / max(1, played))
        return line

    def _end_stage(self, solved: float) -> None:
        """Keep the simplified policy of a stage as a candidate, and go to the next stage or to the next start."""
        self.candidates.append(self._simplified(self._actor_critic()))
        self.stage, self.stage_updates = self.stage + 1, 0
        if self.stage < len(self.tops) and solved >= MIN_SOLVED:
            return
        self.restart, self.stage, self._critic = self.restart + 1, 0, None
        if self.restart >= self._from_nothing:
            self.phase = "improve"
            self._keep_best(self._from_nothing)

    def _simplified(self, critic: ActorCritic) -> Candidate:
        """Return the candidate that begins with the policy, without the features that it can do without.

        The policy of fewer features takes, for what it sees, the action that the policy took there most often.
        """
        task = self.task
        actions = critic.logits.best_actions(critic.shown)
        known = actions != NO_ACTION
        votes = critic.shown[known], actions[known], critic.values.visits[: len(critic.shown)][known]
        instances, limits = self._draw(
            (self.smallest, max(self.smallest, task.training_sizes[1])), EVALUATED, COMPARING
        )

        def cost(features: list[int]) -> float:
            table = Table(task, ViewAgent.voted(task, features, *votes))
            return -float(play_all(table, instances, limits, self.costs)[1].mean())

        least = cost(critic.logits.features)

        def is_enough(features: list[int]) -> bool:
            nonlocal least
            found = cost(features)
            if found > least + TOLERANCE * abs(least):
                return False
            least = min(least, found)
            return True

        used = drop_features(task, critic.logits.features, is_enough)
        return self._new_candidate(ViewAgent.voted(task, used, *votes))

    # Improve

    def _choose_sizes(self) -> None:
        """Choose the sizes to save steps on, and how many instances of them an update plays, in place."""
        self.improved = list(self._reachable_sizes())
        instances, limits = self._draw((self.improved[0], self.improved[1]), 64, COMPARING)
        batch, _, _ = play_all(Table.of(self.policy), instances, limits, self.costs)
        longest = float(limits.mean()) if self.task.limit_is_budget else max(1.0, float(batch.steps.mean()))
        each = self.candidates[0].estimator.plays * longest
        self.episodes = int(np.clip(IMPROVE_STEPS / each, min(64, self.config.episodes), self.config.episodes))

    def _reachable_sizes(self) -> tuple[int, int]:
        """Return the smallest and the largest size at which episodes are short enough."""
        if self.config.sizes:
            return read_ranges(self.config.sizes, (1, 1))[-1]
        if self.sources.has_files:
            return self.sources.lengths
        low, high = self.smallest, max(self.smallest, self.task.training_sizes[1])
        policy = Table.of(self.policy)
        if self.task.limit_is_budget:
            while self._limits(np.array([2 * high] * 8)).max() <= LONGEST_BUDGET:
                high *= 2
            return low, high
        while 2 * high <= max(self.task.sizes):
            larger = run(policy, self.task.draw(replace(self.measured_on(2 * high), count=20)), find_loops=True)
            if not larger.solved.all() or larger.steps.mean() > LONGEST_EPISODE:
                break
            high = 2 * high
        return low, high

    def _keep_best(self, count: int) -> None:
        """Keep the best candidates, ordered by their cost relative to the best in each doubling of the sizes, in place.

        A candidate with a given agent is kept in addition until it has been improved.
        """
        policies = [Table(self.task, candidate.logits.greedy()) for candidate in self.candidates]
        losses = []
        for size in self._doublings():
            instances, limits = self._draw((size, size), COMPARED, COMPARING)
            played = [play_all(policy, instances, limits, self.costs) for policy in policies]
            solved = np.array([self._solved(batch) for batch, _, _ in played])
            losses.append(relative_losses(np.array([returns for _, returns, _ in played]), solved))
            if min(int(batch.steps.sum()) for batch, _, _ in played) > MOST_COMPARED_STEPS:
                break
        order = [self.candidates[k] for k in np.argsort(np.mean(losses, axis=0), kind="stable").tolist()]
        given = [candidate for candidate in order if candidate.base is self.given is not None and not candidate.updates]
        self.candidates = [candidate for candidate in order if candidate not in given][:count] + given

    def _solved(self, batch: Batch) -> Flags:
        """Tell which episodes [B] solved their instances; where steps are a budget, any end does that is not wrong."""
        is_wrong = batch.outcomes == Outcome.WRONG_ANSWER
        solved: Flags = (batch.outcomes == Outcome.SOLVED) | (self.task.limit_is_budget & ~is_wrong)
        return solved

    def _doublings(self) -> list[int]:
        """Return sizes from the smallest to the largest that the task names, each twice the one before."""
        largest = max(self.task.sizes)
        return [size for size in (self.smallest << k for k in range(20)) if size <= largest] or [self.smallest]

    def _quota(self) -> int:
        """Return how many updates each candidate gets in this rung: a quarter of what the last one gets in the end."""
        return self.config.updates if len(self.candidates) == 1 else max(ROUND, self.config.updates // 4)

    def _improve(self) -> dict[str, float]:
        """Make a round of updates of one candidate; at the end of a rung, drop the worse half."""
        if not self.candidates:
            raise DivergedError(
                "no policy was found to improve: give a teacher (rl+imitation), or smaller training sizes"
            )
        candidate = self.candidates[self.turn]
        if not self.rung_updates and not self.turn:
            self._choose_sizes()
        gained = self._update(candidate)
        self.rung_updates += ROUND
        line = self._line(candidate.logits.greedy(), self.improved[1], gained=gained, policies=len(self.candidates))
        if self.rung_updates >= self._quota() or candidate.is_exhausted:
            self.turn, self.rung_updates = self.turn + 1, 0
            if self.turn == len(self.candidates):
                self._end_rung()
        elif candidate.updates % (CHECK_EVERY * ROUND) == 0:
            self._add_counterexamples(
                find_failures(Table(self.task, candidate.logits.greedy()), QUICK, seed=self.updates)
            )
        return line

    def _update(self, candidate: Candidate) -> float:
        """Make a round of updates of a candidate, in place; return the mean gain of the last one."""
        sizes, gained = (self.improved[0], self.improved[1]), 0.0
        for _ in range(ROUND):
            random = np.random.default_rng([self.config.seed, 2, self.updates])
            instances, limits = self._draw(sizes, self.episodes, LEARNING)
            fresh = partial(self._draw, sizes, self.episodes, FRESH)
            gained, steps = candidate.estimator.update(instances, limits, fresh, random)
            self.work += steps
            self.updates, candidate.updates = self.updates + 1, candidate.updates + 1
            candidate.idle = 0 if gained > 0 else candidate.idle + 1
        return gained

    def _end_rung(self) -> None:
        """Drop the worse half of the candidates; if one is left, check it."""
        is_last = len(self.candidates) == 1
        self._keep_best(max(1, len(self.candidates) // 2))
        self.turn = 0
        if is_last:
            self.phase = "check"

    # Check and distil

    def _add_counterexamples(self, failures: list[str]) -> None:
        self.counterexamples = [*dict.fromkeys([*self.counterexamples, *failures])][-MAX_COUNTEREXAMPLES:]

    def _check(self) -> dict[str, float]:
        """Search for counter-examples; undo what makes them fail, or learn on them; without any, begin to distil."""
        candidate = self.candidates[0]
        self._revert_unused(candidate)
        table = Table(self.task, candidate.logits.greedy())
        failures = find_failures(
            table, THOROUGH, known=self.counterexamples, seed=self.checks, enough=MAX_COUNTEREXAMPLES
        )
        self.checks += 1
        self._add_counterexamples(failures)
        if not failures or self.checks >= self.config.checks:
            self.phase = "distil"
            if self.is_taught:
                self.student.learn_again(table.observations)
        else:
            self._repair(candidate)
        return self._line(candidate.logits.greedy(), self.improved[1], failing=len(failures))

    def _revert_unused(self, candidate: Candidate) -> None:
        """Undo what deviations off the path have changed and neither usual instances nor counter-examples meet."""
        usual, _ = self._draw((self.improved[0], self.improved[1]), self.config.episodes, COMPARING)
        instances = join_instances(self.task, [usual, self._parse_counterexamples()]) if self.counterexamples else usual
        revert_unused(candidate.logits, instances, self._limits(instances.sizes), self.costs)

    def _repair(self, candidate: Candidate) -> None:
        """Undo what makes counter-examples fail, or learn on them, in place.

        If usual instances that were solved lose too much by undoing, the policy learns instead: it may find another
        way. Only after many checks it undoes changes at any cost.
        """
        usual, limits = self._draw((self.improved[0], self.improved[1]), -(-self.episodes // 4), COMPARING)
        batch, returns, _ = play_all(Table(self.task, candidate.logits.greedy()), usual, limits, self.costs)
        solved = self._solved(batch)
        before = candidate.logits.logits[: candidate.logits.count].copy()
        reference = Reference(usual, limits, returns)
        unsolved = revert_failures(candidate.logits, self._parse_counterexamples(), reference, self.costs)
        _, now, _ = play_all(Table(self.task, candidate.logits.greedy()), usual, limits, self.costs)
        lost = float((returns - now)[solved].sum()) / max(abs(float(returns[solved].sum())), 1e-9)
        if lost > MAX_LOSS and self.checks < LAST_CHECKS * self.config.checks:
            candidate.logits.restore(before)
            self._update(candidate)
        elif unsolved:
            self._update(candidate)

    def _distil(self) -> dict[str, float]:
        """Let the network learn for a round; once it equals the table, check it, and teach it where it fails."""
        if not self.student.done:
            curve = self.student.advance()
            return {"round": curve.pop("round"), "updates": self.updates, **curve}
        table = Table(self.task, self.student.agent())
        failures = find_failures(table, THOROUGH, known=self.counterexamples, seed=self.checks)
        self.checks += 1
        self.is_sound = not failures
        self._add_counterexamples(failures)
        if failures:
            # Where the network only differs from the table, the table teaches it; else the table is repaired.
            policy = Table(self.task, self.policy)
            failing = run(policy, self._parse_counterexamples(), find_loops=not self.task.limit_is_budget)
            if not failing.solved.all():
                self.phase = "check"
            self.student.learn_again(table.observations)
        return {"round": self.checks, "updates": self.updates, "failing": len(failures), "observations": len(table)}

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        tensors: Tensors = {}
        record: dict[str, Any] = {"candidates": [], "student": None}
        for k, candidate in enumerate(self.candidates):
            own, about = candidate.save()
            tensors |= {f"candidate.{k}.{name}": array for name, array in own.items()}
            record["candidates"].append(about)
        if self.phase == "solve" and self._critic is not None:
            tensors |= {f"critic.{name}": array for name, array in self._critic.save().items()}
        if self.phase == "distil" or self._student is not None:
            learned, record["student"] = self.student.save_state()
            tensors |= {f"student.{name}": array for name, array in learned.items()}
        return tensors, {**{name: getattr(self, name) for name in STATE if name not in record}, **record}

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state = validate(STATE, record, SOURCE)
        if state["phase"] not in ("solve", "improve", "check", "distil") or state["stage"] > len(self.tops):
            raise SavedFileError(f"{SOURCE} is in a phase that there is not: {state['phase']!r}")
        for text in state["counterexamples"]:
            self.task.parse_instance(text)
        self._reset()
        for name in STATE:
            if name not in ("candidates", "student"):
                setattr(self, name, state[name])
        self.candidates = [
            load_candidate(self.task, self.given, self.config, tensors_under(f"candidate.{k}.", tensors), about)
            for k, about in enumerate(state["candidates"])
        ]
        own = tensors_under("critic.", tensors)
        if own:
            self._actor_critic().load(own)
        if state["student"] is not None:
            self.student.load_state(tensors_under("student.", tensors), state["student"])


def _usual_mixture(task: Task) -> str:
    """Return the distributions of a task with their weights, most of it the usual one."""
    usual, *others = task.inputs.draw
    if not others:
        return usual
    return ",".join([f"{usual}*{USUAL_WEIGHT}", *(f"{name}*{1 / len(others):.4g}" for name in others)])
