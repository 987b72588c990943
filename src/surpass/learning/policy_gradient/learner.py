"""The paper's learner (section 3.3, appendix D): n-step policy gradient, and imitation on the learner's own states.

Episodes are sampled in compiled code from a table of the policy's decisions. The gradient is taken over distinct
decisions with their summed weights: a batch of a hundred thousand steps holds some thousand of them, and the sum is
exactly the gradient over all steps.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Reals
from surpass.bundles import Tensors, take
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import DivergedError, SavedFileError, SettingError, UnknownNameError
from surpass.learning.adam import Adam
from surpass.learning.outlook import REWARD, STEPS, Outlook, Yardstick
from surpass.learning.policy_gradient.actors import Orders, SamplingActor, arguments_of_actors, sum_up
from surpass.learning.policy_gradient.arrays import Record, Share, Sums
from surpass.learning.policy_gradient.baseline import Baseline, new_value_network, write_network
from surpass.learning.policy_gradient.decisions import Decisions
from surpass.learning.policy_gradient.gradient import decision_losses, parameter_rows
from surpass.learning.policy_gradient.sampler import COUNTERS, InstanceSource, Sampler
from surpass.learning.sources import Sources
from surpass.learning.updates import SOURCE, UpdateLearner, tensors_under
from surpass.machine.interface import NO_ACTION
from surpass.reading import Batch, Count, Fraction, Many, OneOf, Range, Rate, Seed, Weight, Whole, check_fields, conform
from surpass.table import Agent, Table
from surpass.tasks.task import Limit, Request, Task
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Actors, Runner

BASELINES = ("scalar", "network")
STATE = {"updates": Count, "grown": Count, "sampler": dict[str, Any] | list[Any]}
"""What a checkpoint says beside its tensors."""
NEARLY_ALL = 0.98
"""The share of sampled episodes that must be solved before the sizes grow."""


@dataclass(frozen=True, kw_only=True)
class PolicyGradientConfig:
    """How `PolicyGradient` learns. Every field is part of the recipe."""

    task: str
    teacher: str = ""
    """Whose actions the imitation loss asks for; empty to learn from nothing."""
    seed: Seed = 0
    policy: Annotated[str, OneOf(("network", "table", "forks", "drawn"))] = "network"
    """What is optimised: a network, or something else that has other settings."""
    imitation_weight: Weight = 0.001
    """Weight of the teacher's action in the loss (the paper's lambda)."""
    imitation_updates: Whole = 0
    """Over how many updates that weight falls to nothing; it stays if 0."""
    learning_rate: Rate = 1e-3
    """The learning rate of Adam; the paper sweeps 1e-4 and 1e-5, on smaller batches."""
    final_learning_rate: Fraction = 0.0
    """The learning rate falls to this along a half cosine; it stays if 0."""
    discount: Annotated[float, Range(0, 1, above=True)] = 0.99
    """What a reward is worth one step later (the paper's gamma: 0.9 or 0.99, for the sorting interfaces 0.99 or
    0.999)."""
    entropy_weight: Weight = 1e-3
    """Weight of the entropy, which keeps choices open; the paper sweeps 0 and 1e-3."""
    baseline: Annotated[str, OneOf(BASELINES)] = "scalar"
    """What returns are compared with: a learned number for all states, or a network's value of the state."""
    baseline_weight: Weight = 1e-3
    """Weight of the baseline's loss (the paper's mu)."""
    unroll: Batch = 80
    """Steps before the return is bootstrapped (the paper's n: 80, 160, 320, or 50)."""
    episodes: Batch = 512
    """Episodes side by side; an update sees `episodes * unroll` steps."""
    step_cost: Weight = 0.01
    """What a step costs (the paper's c)."""
    wrong_cost: Weight = 5.0
    """What a wrong answer costs."""
    shaping: Weight = 0.0
    """What a gain of the score is worth beside the task's own reward: for sorting, neighbours that come into order."""
    smallest: Whole = 0
    """The smallest size to learn on; the task's if 0."""
    largest: Whole = 0
    """The largest size to learn on; the task's if 0."""
    first_smallest: Whole = 0
    """The smallest size to begin with; that to learn on if 0."""
    first_largest: Whole = 0
    """The largest size to begin with; that to learn on if 0."""
    growth: Whole = 0
    """In how many steps the sizes grow from the first ones: one after each round in which nearly all was solved."""
    data: str = "uniform"
    """What is learned on: distributions and files, separated by commas, each with a weight behind * if it has one;
    distributions alone, without weights, are taken in turn."""
    digest: str = ""
    """The SHA-256 of the files, which is filled in: a run goes on only with the same ones."""
    limit: str = ""
    """The step limit while learning; the task's if empty."""
    updates: Many = 2000
    """How many updates there are in all."""
    updates_per_round: Many = 20
    """How many updates a round has; a line of the curves is written after each."""
    checked: Batch = 200
    """Fresh instances on which the greedy policy is measured at the end of each round."""
    actors: Annotated[int, Range(1, 10_000)] = 1
    """Into how many shares the episodes are cut, each with generators of its own; workers share them out."""

    def __post_init__(self) -> None:
        if self.policy != "network":
            raise UnknownNameError("policy", self.policy, ("network",))
        if self.baseline not in BASELINES:
            raise UnknownNameError("baseline", self.baseline, BASELINES)
        check_fields(self)
        if self.limit:
            Limit.parse(self.limit)
        if self.actors > self.episodes:
            raise SettingError(f"actors is {self.actors}; there are only {self.episodes} episodes to share out")
        if self.first_smallest or self.first_largest:
            _check_sizes("first sizes", self.first_smallest, self.first_largest)
        if bool(self.growth) != bool(self.first_largest):
            raise SettingError("growth and first_smallest, first_largest go together: set all of them or none")

    def last_sizes(self, task: Task) -> tuple[int, int]:
        """Return the smallest and the largest size to learn on in the end."""
        low, high = self.smallest or task.training_sizes[0], self.largest or task.training_sizes[1]
        _check_sizes("sizes", low, high)
        if self.first_largest > high or self.first_smallest > low:
            raise SettingError(
                f"first sizes go from {self.first_smallest} to {self.first_largest}; "
                f"they cannot be above those to learn on, {low} to {high}"
            )
        return low, high

    def sizes(self, task: Task, grown: int) -> tuple[int, int]:
        """Return the smallest and the largest size to learn on once the sizes have grown a number of times."""
        last = self.last_sizes(task)
        if not self.growth:
            return last
        share = min(1.0, grown / self.growth)
        first = (self.first_smallest, self.first_largest)
        low, high = (round(a + share * (b - a)) for a, b in zip(first, last, strict=True))
        return low, high

    def imitation_weight_after(self, updates: int) -> float:
        """Return the weight of the teacher's action after a number of updates."""
        if not self.imitation_updates:
            return self.imitation_weight
        return self.imitation_weight * max(0.0, 1 - updates / self.imitation_updates)


class GradientLearner(UpdateLearner):
    """What the policy gradient has in common for tasks with a table and for the full view."""

    config: PolicyGradientConfig
    value: nn.Module
    teacher: Any
    """Whom it learns from, or None."""

    def __init__(self, task: Task, config: PolicyGradientConfig) -> None:
        torch.set_num_threads(1)
        self.task, self.config = task, config
        self.method = "rl+imitation" if config.teacher else "rl"
        self.queries = task.inputs.usual_queries
        self.limit = Limit.parse(config.limit or task.limit)
        self.updates = 0
        self.grown = 0
        """How many times the sizes have grown."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        recipe = super().recipe
        if recipe["actors"] == 1:  # as in the recipes from before there were several
            del recipe["actors"]
        return recipe

    def new_optimizer(self) -> Adam:
        """Return the optimizer of the network and the value network."""
        parameters = [*self.network.parameters(), *self.value.parameters()]
        return Adam(parameters, self.config.learning_rate)

    @abstractmethod
    def agent(self, name: str = "rl") -> AnyAgent:
        """Return the network as an agent."""

    @abstractmethod
    def _update(self) -> tuple[tuple[int, int, int], dict[str, float]]:
        """Make one update; return how many episodes ended, their steps, how many were solved, and the loss's terms."""

    def advance(self) -> dict[str, float]:
        """Make a round of updates and measure the greedy policy on fresh instances."""
        config, size = self.config, self.config.sizes(self.task, self.grown)[1]
        episodes = taken = solved = 0
        terms: dict[str, float] = {}
        for _ in range(min(config.updates_per_round, config.updates - self.updates)):
            counts, terms = self._update()
            episodes, taken, solved = episodes + counts[0], taken + counts[1], solved + counts[2]
        results = self.measure(size)
        self.grown += solved >= NEARLY_ALL * max(1, episodes)
        return {
            "round": -(-self.updates // config.updates_per_round),
            "updates": self.updates,
            "steps": self.updates * config.unroll * config.episodes,
            "size": size,
            "sampled_steps": taken / max(1, episodes),
            "sampled_solved": solved / max(1, episodes),
            "solved": float(results.solved.mean()),
            "mean_steps": float(results.steps.mean()),
            **self.more_columns(results),
            **terms,
        }

    def more_columns(self, results: Results) -> dict[str, float]:
        """Return what else a line of the curves says, given what became of the fresh instances."""
        return {}

    def outlook(self, curve: Mapping[str, float]) -> Outlook:
        """Return how far it has come."""
        measure = REWARD if self.task.measure == "reward" else STEPS
        done, expected = self.rounds_of_updates()
        return Outlook(
            measure=measure,
            done=done,
            expected=expected,
            work=self.updates * self.config.unroll * self.config.episodes,
            compared=self.yardstick.compare(curve, measure.column),
        )

    @cached_property
    def yardstick(self) -> Yardstick:
        """What the teacher does on the instances of `measured_on`."""
        return Yardstick(self.task, self.teacher, self.measured_on, self.limit)

    def measure(self, size: int, count: int | None = None) -> Results:
        """Return what becomes of fresh instances of a size by the greedy policy: of `checked` ones, or of more."""
        request = self.measured_on(size)
        return run(self.agent(), self.task.draw(replace(request, count=count or request.count)), limit=self.limit)

    def measured_on(self, size: int) -> Request:
        """Return the fresh instances of a size that the greedy policy is measured on."""
        seed, data = self.config.seed * 1000 + 1, self.task.inputs.usual_data
        return Request(size=size, count=self.config.checked, seed=seed, data=data, queries=self.queries)

    def refuse_divergence(self, loss: float) -> None:
        """Raise `DivergedError` unless the loss of an update is a number."""
        if not math.isfinite(loss):
            raise DivergedError(f"the loss is {loss} at update {self.updates + 1}: try a smaller learning_rate")


class PolicyGradient(GradientLearner):
    """A learner that surpasses its teacher, or learns from nothing, on a task with a table."""

    network: StructuredPolicy

    def __init__(self, task: Task, config: PolicyGradientConfig) -> None:
        super().__init__(task, config)
        self.sources = Sources(task, config.data, self.queries, config.seed, digest=config.digest)
        self.config = config = _with_files(config, self.sources)
        self.sources.check_sizes(*config.last_sizes(task))
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.answers = Table.of(self.teacher) if self.teacher else None
        self.network = StructuredPolicy(task.interface, seed=config.seed)
        self.scalar = nn.Parameter(torch.zeros(()))
        self.value = new_value_network(task, config.seed)
        self.optimizer = self.new_optimizer()
        self.source = InstanceSource(*config.last_sizes(task), self.sources, config.limit or task.limit)
        self.sampler: Decisions = self._own_sampler() if config.actors == 1 else Decisions(task)
        """Samples all episodes, or holds the decisions of what the actors have sampled."""
        self.runner: Runner = LocalRunner()
        """Where the actors work, if there are several."""
        self._actors: Actors | None = None

    def _own_sampler(self) -> Sampler:
        config = self.config
        return Sampler(self.task, self.source, episodes=config.episodes, steps=config.unroll, seed=config.seed)

    @property
    def actors(self) -> Actors:
        """Those who sample, each its share."""
        if self._actors is None:
            self._actors = self.runner.gather(SamplingActor, self._arguments_of_actors())
        return self._actors

    def _arguments_of_actors(self) -> list[tuple[Any, ...]]:
        config = self.config
        shares = (config.actors, config.episodes, config.unroll, config.seed, self.settings())
        return arguments_of_actors(self.task, self.source, *shares)

    def agent(self, name: str = "rl") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return what an agent saves on the lists of files that were held out, as text; by default the network."""
        return "".join(f"{line}\n" for line in self.sources.describe_held_out(self.teacher, agent or self.agent()))

    # A round

    def more_columns(self, results: Results) -> dict[str, float]:
        """Return the mean reward, and how many distinct decisions the last batch held."""
        return {"mean_reward": float(results.rewards.mean()), "decisions": self.sampler.count}

    def advance(self) -> dict[str, float]:
        """Make a round of updates and measure the greedy policy on fresh instances."""
        found = super().advance()
        if self.config.actors > 1:
            self.actors.save()  # so that one that is lost has no more than a round to go through again
        return found

    def _update(self) -> tuple[tuple[int, int, int], dict[str, float]]:
        batch = self._sample()
        terms, sums = self.loss_terms(batch)
        loss = torch.stack(list(terms.values())).sum()
        self.refuse_divergence(loss.item())
        self.optimizer.clear_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        self.step_down()
        if self.config.baseline == "scalar":
            # It approaches the minimum of its squared loss at its own rate: mu scales that loss, not where it lies.
            mean = sums.returns[self.sampler.first].sum() / (self.config.episodes * self.config.unroll)
            with torch.no_grad():
                self.scalar.add_(0.1 * (float(mean) - self.scalar))
        return _ended(batch), {name: term.item() for name, term in terms.items()}

    def _sample(self) -> Record | list[Share]:
        """Let every episode take its steps, and return what happened, or what was summed up of it, share by share."""
        parameters, sizes = parameter_rows(self.network), self.config.sizes(self.task, self.grown)
        if isinstance(self.sampler, Sampler):
            self.sampler.sizes = sizes
            return self.sampler.sample(parameters)
        shares: list[Share] = self.actors.tell("sample", self.orders())
        self._rows = self.sampler.adopt(parameters, shares)
        return shares

    def orders(self) -> Orders:
        """Return what the actors are sent for the next update."""
        value = write_network(self.value) if self.config.baseline == "network" else None
        sizes = self.config.sizes(self.task, self.grown)
        return Orders(parameter_rows(self.network), self.scalar.item(), value, sizes)

    def loss_terms(self, batch: Record | list[Share]) -> tuple[dict[str, Tensor], Sums]:
        """Return the terms of the loss, each a mean over all steps of a batch, and the sums they are made of."""
        steps, first = self.config.episodes * self.config.unroll, self.sampler.first
        observations = self.sampler.plan.observations[first]
        taught = np.full(self.sampler.count, -1, np.int64)
        weight = self.config.imitation_weight_after(self.updates) if self.answers is not None else 0.0
        if self.answers is not None and weight > 0:
            actions = self.answers.actions(observations)
            answered = actions != NO_ACTION
            taught = self.sampler.follow(first[answered], actions[answered])
        sums = self._sum_up(batch)
        policy, evenness, imitation = decision_losses(self.network, self.sampler, sums, taught)
        terms = {"policy": policy / steps, "entropy": self.config.entropy_weight * evenness / steps}
        if self.config.baseline == "network":
            counts = torch.from_numpy(sums.counts[first]).float()
            mean = torch.from_numpy(sums.returns[first] / sums.counts[first]).float()
            spread = torch.from_numpy(sums.squares[first]).float() - counts * mean**2
            squares = counts * (mean - self.value(self.network.encode(observations))[:, 0]) ** 2 + spread
            terms["baseline"] = self.config.baseline_weight * squares.sum() / steps
        if weight > 0:
            terms["imitation"] = weight * imitation / steps
        return terms, sums

    def _sum_up(self, batch: Record | list[Share]) -> Sums:
        """Return the sums per decision of a batch."""
        if isinstance(self.sampler, Sampler):
            assert isinstance(batch, Record)
            value = self.value if self.config.baseline == "network" else None
            return sum_up(self.sampler, batch, Baseline(self.task, self.scalar.item(), value), self.settings())
        assert isinstance(batch, list)
        return self.sampler.add_up(batch, self._rows)

    def settings(self) -> Reals:
        """Return the discount, the cost of a step, of a wrong answer, and the worth of a gain of the score."""
        config, worth = self.config, self.task.reward.progress + self.config.shaping
        return np.array([config.discount, config.step_cost, config.wrong_cost, worth])

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        episodes, counters = self._save_episodes()
        scalar = self.scalar.detach().numpy().reshape(1).copy()
        tensors = {**self.network_state(), "scalar": scalar, **episodes}
        return tensors, {"updates": self.updates, "grown": self.grown, "sampler": counters}

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state = conform(STATE, record, SOURCE)
        self.load_network_state(tensors)
        with torch.no_grad():
            self.scalar.copy_(torch.from_numpy(take(tensors, "scalar", np.zeros(1, np.float32), SOURCE))[0])
        self.updates, self.grown = state["updates"], state["grown"]
        self._load_episodes(tensors, state["sampler"])

    def _save_episodes(self) -> tuple[Tensors, Any]:
        """Return the episodes as tensors and what is counted of them, those of actors one after the other."""
        if isinstance(self.sampler, Sampler):
            return self.sampler.save()
        tensors: Tensors = {}
        counters = []
        for k, (own, counted) in enumerate(self.actors.save()):
            tensors |= {f"actor.{k}.{name}": tensor for name, tensor in own.items()}
            counters.append(counted)
        return tensors, counters

    def _load_episodes(self, tensors: Tensors, counters: Any) -> None:
        """Set the episodes in place."""
        if isinstance(self.sampler, Sampler):
            self.sampler.load(tensors, conform(COUNTERS, counters, SOURCE))
            return
        counted = conform([COUNTERS], counters, SOURCE)
        if len(counted) != self.config.actors:
            raise SavedFileError(f"{SOURCE} has {len(counted)} actors, not {self.config.actors}")
        states = [(tensors_under(f"actor.{k}.", tensors), own) for k, own in enumerate(counted)]
        for state, arguments in zip(states, self._arguments_of_actors(), strict=True):
            SamplingActor(*arguments).load(state)  # which refuses what is damaged, here and now
        self.actors.load(states)


def _with_files(config: PolicyGradientConfig, sources: Sources) -> PolicyGradientConfig:
    """Return the settings with the checksum of files and, unless they say otherwise, the lengths of their lists."""
    if not sources.has_files:
        return config
    low, high = config.smallest or sources.lengths[0], config.largest or sources.lengths[1]
    if config.first_smallest > low or config.first_largest > high:
        config = replace(config, first_smallest=0, first_largest=0, growth=0)
    return replace(config, digest=sources.digest, smallest=low, largest=high)


def _ended(batch: Record | list[Share]) -> tuple[int, int, int]:
    """Return how many episodes ended, the steps they took, and how many were solved."""
    if isinstance(batch, Record):
        return int(batch.episodes.sum()), int(batch.episode_steps.sum()), int(batch.solved.sum())
    episodes, steps, solved = (sum(column) for column in zip(*(share.ended for share in batch), strict=True))
    return episodes, steps, solved


def _check_sizes(kind: str, low: int, high: int) -> None:
    if not 1 <= low <= high:
        raise SettingError(f"{kind} go from {low} to {high}; they must be 1 or more, in order")
