"""The paper's learner (section 3.3, appendix D): n-step policy gradient, with imitation on the learner's own states.

In the literature this is advantage actor-critic (A2C). Episodes run side by side; an update sees n steps of each. With
reward r, discount g and baseline b the n-step return of step t is

    G_t = r_t + g G_{t+1},   and G = b(s) of the state s after the last step, or where a limit cut the episode off,

and the loss is the mean over all steps of

    - (G_t - b(s_t)) log p(a_t | s_t)             policy gradient
    - entropy_weight * H(p(. | s_t))              keeps choices open
    + baseline_weight * (G_t - b(s_t))^2          if the baseline is a network
    - imitation_weight * log p(teacher(s_t) | s_t)

H is the sum of the entropies of the decisions that made up a_t; in the mean over a_t that is the entropy of the action.
The reward is minus `step_cost` for each step, minus `wrong_cost` for a wrong answer, plus what the score gains.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Flags, Ints, Reals
from surpass.bundles import Tensors, checked_tensor
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import DivergedError, SavedFileError, UnknownNameError
from surpass.learning.adam import Adam
from surpass.learning.curriculum import Curriculum, read_ranges, usual_sizes
from surpass.learning.policy_gradient.arrays import Record
from surpass.learning.policy_gradient.losses import decision_losses, merge_steps, parameter_rows
from surpass.learning.policy_gradient.sampler import COUNTERS, Sampled, Sampler
from surpass.learning.sources import Sources
from surpass.learning.status import REWARD, STEPS, Status, TeacherReference
from surpass.learning.unsolved import largest_loss
from surpass.learning.updates import SOURCE, UpdateLearner
from surpass.machine.state import Outcome
from surpass.reading import Batch, Count, Fraction, Many, OneOf, Range, Rate, Seed, Weight, check_fields, validate
from surpass.table import Agent, Table
from surpass.tasks.task import Limit, Request, Task

BASELINES = ("scalar", "network")
SCALAR_RATE = 0.1
"""The share by which a scalar baseline approaches the mean return in each update."""


@dataclass(frozen=True, kw_only=True)
class PolicyGradientConfig:
    """How `PolicyGradient` learns. Every field is part of the recipe."""

    FIRST: ClassVar = (
        *("policy", "updates", "sizes", "data", "limit", "learning_rate"),
        *("imitation_weight", "entropy_weight", "unroll", "episodes"),
    )
    task: str
    teacher: str = ""
    """The agent whose actions the imitation loss asks for; empty to learn from nothing."""
    seed: Seed = 0
    policy: Annotated[str, OneOf(("network", "table"))] = "network"
    """What is optimised: a network, or a table with settings of its own."""
    imitation_weight: Weight = 0.001
    """Weight of the imitation loss (the paper's lambda)."""
    learning_rate: Rate = 1e-3
    """The learning rate of Adam; the paper sweeps 1e-4 and 1e-5, on smaller batches."""
    final_learning_rate: Fraction = 0.0
    """The learning rate falls to this along a half cosine; 0 keeps it constant."""
    discount: Annotated[float, Range(0, 1, above=True)] = 0.99
    """The discount factor (the paper's gamma: 0.9 or 0.99, for the sorting interfaces 0.99 or 0.999)."""
    entropy_weight: Weight = 1e-3
    """Weight of the entropy bonus; the paper sweeps 0 and 1e-3."""
    baseline: Annotated[str, OneOf(BASELINES)] = "scalar"
    """What returns are compared with: one learned number for all states, or a value network."""
    baseline_weight: Weight = 1e-3
    """Weight of the value network's loss (the paper's mu)."""
    unroll: Batch = 80
    """Steps before the return is bootstrapped (the paper's n: 80, 160, 320, or 50)."""
    episodes: Batch = 512
    """Episodes side by side; an update sees `episodes * unroll` steps."""
    step_cost: Weight = 0.01
    """The cost of a step (the paper's c)."""
    wrong_cost: Weight = 5.0
    """The cost of a wrong answer."""
    shaping: Weight = 0.0
    """Reward for each gain of the score beside the task's own reward: for sorting, neighbours that come into order."""
    sizes: str = ""
    """The sizes to learn on, one range after the other, such as `3-5 5-10 10-20`: the next begins when a round solved
    98 %. If empty, those of the files, or small ones that double up to the task's."""
    data: str = "uniform"
    """The instances to learn on: distributions and files, separated by commas, each with a weight behind * if it has
    one."""
    digest: str = ""
    """The SHA-256 of the files, which is filled in: a run continues only with the same ones."""
    limit: str = ""
    """The step limit while learning; the task's if empty."""
    updates: Many = 2000
    """How many updates there are in all."""
    updates_per_round: Many = 20
    """Updates per round; each round adds a line to the curves."""

    def __post_init__(self) -> None:
        if self.policy != "network":
            raise UnknownNameError("policy", self.policy, ("network",))
        if self.baseline not in BASELINES:
            raise UnknownNameError("baseline", self.baseline, BASELINES)
        check_fields(self)
        if self.limit:
            Limit.parse(self.limit)
        read_ranges(self.sizes, (1, 1))


class GradientLearner(UpdateLearner):
    """The part of the policy gradient that tasks with a table and the full view share."""

    config: PolicyGradientConfig
    value: nn.Module
    teacher: Any
    """The agent that it learns from, or None."""
    checked = 200
    """Fresh instances on which the greedy policy is measured after each round."""

    def __init__(self, task: Task, config: PolicyGradientConfig) -> None:
        torch.set_num_threads(1)
        self.task, self.config = task, config
        self.method = "rl+imitation" if config.teacher else "rl"
        self.queries = task.inputs.usual_queries
        self.limit = Limit.parse(config.limit or task.limit)
        self.curriculum = Curriculum(config.sizes, task.training_sizes)
        self.scalar = 0.0
        """The scalar baseline."""
        self.updates = 0

    def new_optimizer(self) -> Adam:
        """Return the optimizer of the policy and the value network."""
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
        config, size = self.config, self.curriculum.sizes[1]
        episodes = taken = solved = 0
        terms: dict[str, float] = {}
        for _ in range(min(config.updates_per_round, config.updates - self.updates)):
            counts, terms = self._update()
            episodes, taken, solved = episodes + counts[0], taken + counts[1], solved + counts[2]
        results = self.measure(size)
        self.curriculum.advance_if(solved / max(1, episodes))
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
        """Return further columns of the curves, given the results on the fresh instances."""
        return {}

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come."""
        measure = REWARD if self.task.measure == "reward" else STEPS
        done, expected = self.rounds_of_updates()
        return Status(
            measure=measure,
            done=done,
            expected=expected,
            work=self.updates * self.config.unroll * self.config.episodes,
            comparisons=self.teacher_reference.compare(curve, measure.column),
        )

    @cached_property
    def teacher_reference(self) -> TeacherReference:
        """The teacher's results on the instances of `measured_on`."""
        return TeacherReference(self.task, self.teacher, self.measured_on, self.limit)

    def measure(self, size: int, count: int | None = None) -> Results:
        """Return the results of the greedy policy on `count` fresh instances of a size, by default `checked`."""
        request = self.measured_on(size)
        return run(self.agent(), self.task.draw(replace(request, count=count or request.count)), limit=self.limit)

    def measured_on(self, size: int) -> Request:
        """Return the fresh instances of a size that the greedy policy is measured on."""
        seed, data = self.config.seed * 1000 + 1, self.task.inputs.usual_data
        return Request(size=size, count=self.checked, seed=seed, data=data, queries=self.queries)

    def follow_return(self, returns: Reals) -> None:
        """Let the scalar baseline approach the mean return, in place."""
        # It approaches the minimum of its squared loss at its own rate: mu scales that loss, not where it lies.
        self.scalar += SCALAR_RATE * (float(returns.mean()) - self.scalar)

    def descend(self, loss: float) -> None:
        """Make the update whose gradients are set, unless its loss is not a number, which raises `DivergedError`."""
        if not math.isfinite(loss):
            raise DivergedError(f"the loss is {loss} at update {self.updates + 1}: try a smaller learning_rate")
        self.step_down()

    def restore_progress(self, updates: int, stage: int, scalar: float) -> None:
        """Set how far a saved run had come, in place."""
        if stage >= len(self.curriculum.ranges):
            raise SavedFileError(f"{SOURCE} is at range {stage + 1} of {len(self.curriculum.ranges)}")
        self.updates, self.curriculum.stage, self.scalar = updates, stage, scalar


def n_step_returns(rewards: Reals, ended: Flags, cut: Flags, after: Reals, discount: float) -> Reals:
    """Return G_t = r_t + discount * G_{t+1}, all [T, B]; nothing follows where an episode ended.

    `after` is the baseline of the state after a step. It stands for what follows where a limit cut the episode off, and
    after the last step.
    """
    returns, following = np.empty_like(rewards), after[-1]
    for t in reversed(range(len(rewards))):
        following = np.where(ended[t], 0.0, np.where(cut[t], after[t], following))
        following = returns[t] = rewards[t] + discount * following
    return returns


class PolicyGradient(GradientLearner):
    """Policy gradient for a task with a table, with a teacher or from nothing."""

    network: StructuredPolicy

    def __init__(self, task: Task, config: PolicyGradientConfig) -> None:
        self.sources = Sources(task, config.data, task.inputs.usual_queries, config.seed, digest=config.digest)
        usual = "{}-{}".format(*self.sources.lengths) if self.sources.has_files else usual_sizes(task)
        config = replace(config, digest=self.sources.digest, sizes=config.sizes or usual)
        super().__init__(task, config)
        self.sources.check_sizes(*self.curriculum.ranges[-1])
        self.teacher: Agent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.answers = Table.of(self.teacher) if self.teacher else None
        self.network = StructuredPolicy(task.interface, seed=config.seed)
        self.value = _new_value_network(task, config.seed)
        self.optimizer = self.new_optimizer()
        self.earned: Reals = np.zeros(config.episodes)
        """[B] what the gains of each episode that goes on have brought, where a score must be finished."""
        self.sampler = Sampler(
            task,
            self.sources,
            self.limit,
            largest=self.curriculum.largest,
            episodes=config.episodes,
            steps=config.unroll,
            seed=config.seed,
        )

    def agent(self, name: str = "rl") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return what an agent saves on the held-out lists of files, as text; by default the network."""
        return "".join(f"{line}\n" for line in self.sources.describe_held_out(self.teacher, agent or self.agent()))

    def more_columns(self, results: Results) -> dict[str, float]:
        """Return the mean reward, and how many decisions the last batch evaluated."""
        return {"mean_reward": float(results.rewards.mean()), "decisions": self.sampler.decision_count}

    def _update(self) -> tuple[tuple[int, int, int], dict[str, float]]:
        batch = self.sampler.sample(parameter_rows(self.network), self.curriculum.sizes)
        returns = self.returns(batch)
        terms = self.loss_terms(batch, returns)
        loss = torch.stack(list(terms.values())).sum()
        self.optimizer.clear_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        self.descend(loss.item())
        self.follow_return(returns)
        record = batch.record
        ended = int(record.episodes.sum()), int(record.episode_steps.sum()), int(record.solved.sum())
        return ended, {name: term.item() for name, term in terms.items()}

    def returns(self, batch: Sampled) -> Reals:
        """Return the n-step returns [B, T] of a batch."""
        config, record = self.config, batch.record
        worth = self.task.reward.progress + config.shaping
        rewards = worth * record.gains - config.step_cost - config.wrong_cost * (record.ends == Outcome.WRONG_ANSWER)
        after, cut = np.zeros(rewards.shape), record.cut == 1
        ended = record.ends != Outcome.RUNNING
        if self.task.must_finish_score:
            ended, cut = ended | cut, np.zeros_like(cut)  # nothing follows a limit
            rewards -= self._taken_back(worth * record.gains, record, ended)
        after[:, -1] = self.baseline(batch.last)
        after[cut] = self.baseline(record.after[cut])
        return n_step_returns(rewards.T, ended.T, cut.T, after.T, config.discount).T

    def _taken_back(self, gains: Reals, record: Record, ended: Flags) -> Reals:
        """Return what an episode loses [B, T] that ends without a solution, where a score must be finished.

        That is all that its gains [B, T] brought, in earlier batches too, and a price: that of a wrong answer, and of
        the worst steps up to the limit.
        """
        is_fresh = record.used > ended[:, :-1].sum(axis=1)
        earned, lost = np.where(is_fresh, 0.0, self.earned), np.zeros(gains.shape)
        longest = int(self.limit.steps(np.array([self.curriculum.largest]))[0])
        price = largest_loss(self.task) * longest + self.config.wrong_cost
        for t in range(gains.shape[1]):
            earned = earned + gains[:, t]
            fails = ended[:, t] & (record.ends[:, t] != Outcome.SOLVED)
            is_wrong = record.ends[fails, t] == Outcome.WRONG_ANSWER
            lost[fails, t] = earned[fails] + price - self.config.wrong_cost * is_wrong
            earned[ended[:, t]] = 0.0
        self.earned = earned
        return lost

    @torch.no_grad()
    def baseline(self, observations: Ints) -> Reals:
        """Return the baseline [m] of observations [m]."""
        if self.config.baseline == "scalar":
            return np.full(len(observations), self.scalar)
        values: Reals = self.value(self.network.encode(observations))[:, 0].double().numpy()
        return values

    def loss_terms(self, batch: Sampled, returns: Reals) -> dict[str, Tensor]:
        """Return the terms of the loss, each a mean over all steps of a batch."""
        config, steps = self.config, returns.size
        advantages = returns - self.baseline(batch.observations)[batch.which]
        is_taught = self.answers is not None and config.imitation_weight > 0
        answers = self.answers.actions(batch.observations) if self.answers is not None and is_taught else None
        actions = self.task.interface.action_count
        choices = merge_steps(batch.which, batch.record.actions, advantages, actions, answers)
        inputs = self.network.encode(batch.observations)
        policy, negative_entropy, imitation = decision_losses(self.network, inputs, choices) / steps
        terms = {"policy": policy, "entropy": config.entropy_weight * negative_entropy}
        if config.baseline == "network":
            guesses = self.value(inputs)[:, 0][torch.from_numpy(batch.which)]
            terms["baseline"] = config.baseline_weight * ((torch.from_numpy(returns).float() - guesses) ** 2).mean()
        if is_taught:
            terms["imitation"] = config.imitation_weight * imitation
        return terms

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        episodes, counters = self.sampler.save()
        state = {"updates": self.updates, "stage": self.curriculum.stage, "scalar": self.scalar, "sampler": counters}
        earned = {"earned": self.earned} if self.task.must_finish_score else {}
        return {**self.network_state(), **episodes, **earned}, state

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Restore a saved state in place."""
        state = validate({"updates": Count, "stage": Count, "scalar": float, "sampler": COUNTERS}, record, SOURCE)
        self.load_network_state(tensors)
        self.sampler.load(tensors, state["sampler"])
        if self.task.must_finish_score:
            self.earned = checked_tensor(tensors, "earned", self.earned, SOURCE)
        self.restore_progress(state["updates"], state["stage"], state["scalar"])


def _new_value_network(task: Task, seed: int) -> nn.Sequential:
    """Return a fresh network for the value of an observation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        layers: list[nn.Module] = []
        for inputs in (task.interface.input_size, 64, 64):
            layers += [nn.Linear(inputs, 64), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(64, 1))
