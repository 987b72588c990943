"""Imitation: learn to do what a teacher does, on its own traces and on the learner's (as in DAgger).

Every round runs the teacher and the learner on fresh instances and keeps each distinct observation that either came to,
with the teacher's answer. If the learner gives each of these answers a probability above 0.5, the round is calm; else
it is trained on all observations kept so far, by the cross-entropy

    loss = - mean log p(teacher(o) | o)

Some calm rounds in a row end the learning: the network then equals its
teacher on every observation that either came to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.teachers import teacher_of
from surpass.arrays import Ints
from surpass.bundles import Tensors
from surpass.engine.run import run
from surpass.errors import SavedFileError, SettingError
from surpass.learning.adam import Adam
from surpass.learning.status import AGREEMENT, Status
from surpass.learning.updates import SOURCE, NetworkLearner, load_random, take_numbers
from surpass.machine.interface import NO_ACTION
from surpass.reading import Batch, Count, Many, Rate, Seed, Size, check_fields, validate
from surpass.table import Agent, Table
from surpass.tasks.task import Limit, Request, Task

STATE = {"rounds": Count, "calm": Count, "random": dict[str, Any]}
"""What a checkpoint says beside its tensors."""
CLEARLY = math.log(0.5)
"""The log-probability above which an answer is clear: it is more likely than all others together."""


@dataclass(frozen=True, kw_only=True)
class ImitationConfig:
    """How `Imitation` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    seed: Seed = 0
    sizes: tuple[Size, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 20, 30, 50, 100, 300, 1000)
    """The sizes of the instances that teacher and learner are run on."""
    items: Batch = 1500
    """How many items all instances of one size and distribution have together in a round; at least 2 instances."""
    limit: str = ""
    """The step limit of those runs; the task's if empty."""
    own_sizes: Size = 20
    """The largest size that the learner itself is run on before it has learned to imitate."""
    learning_rate: Rate = 2e-3
    """The learning rate of Adam."""
    batch: Batch = 512
    """Distinct observations per update."""
    epochs: Many = 20
    """How many times at most a round goes through all observations kept; it stops once all answers are clear."""
    calm_rounds: Many = 3
    """How many rounds in a row in which all answers were clear from the start end the learning."""
    most_rounds: Many = 400
    """How many rounds there are at most."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.sizes:
            raise SettingError("sizes is empty; it must list at least one")
        if self.limit:
            Limit.parse(self.limit)


class Imitation(NetworkLearner):
    """A learner that imitates a teacher of a task with a table."""

    method = "imitation"
    config: ImitationConfig
    network: StructuredPolicy

    def __init__(self, task: Task, config: ImitationConfig, *, teacher: Agent | None = None) -> None:
        torch.set_num_threads(1)
        self.task, self.config = task, config
        self.teacher: Agent = teacher or teacher_of(task, config.teacher)
        self.network = StructuredPolicy(task.interface, seed=config.seed)
        # One fused update for all parameters: with some hundred small tensors the loop over them would dominate.
        self.optimizer = Adam(self.network.parameters(), config.learning_rate)
        self.random = np.random.default_rng([config.seed, 1])
        self.observations: Ints = np.zeros(0, np.int64)
        self.answers: Ints = np.zeros(0, np.int64)
        self.rounds = 0
        self.calm = 0
        self._seen_by_teacher = Table(self.task, self.teacher)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do: it is finished, or has had all its rounds."""
        return self.finished or self.rounds >= self.config.most_rounds

    @property
    def finished(self) -> bool:
        """Whether the network equalled its teacher on everything in the last rounds."""
        return self.calm >= self.config.calm_rounds

    def agent(self, name: str = "imitation") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come."""
        wanted = self.config.calm_rounds
        ends = f"ends after {wanted} rounds in a row without a difference, {self.calm} so far"
        return Status(measure=AGREEMENT, done=self.rounds, ends=ends, work=self.work)

    def learn_again(self, observations: Ints) -> None:
        """Ask the teacher anew about everything that is kept and some more observations [m], and learn further."""
        kept = np.union1d(self.observations, observations)
        answers = self.teacher.actions(kept)
        self.observations, self.answers = kept[answers != NO_ACTION], answers[answers != NO_ACTION]
        self._seen_by_teacher = Table(self.task, self.teacher)
        self.calm, self.rounds = 0, 0

    # A round

    def advance(self) -> dict[str, float]:
        """Gather, and learn if there is something to learn."""
        solved = self._gather()
        agreement, _ = self._agreement()
        self.rounds += 1
        curve = {
            "round": self.rounds,
            "observations": len(self.observations),
            "agreement": agreement,
            "solved": solved,
        }
        if agreement == 1:
            self.calm += 1
            return curve
        self.calm = 0
        loss, epochs = self._learn()
        return {**curve, "loss": loss, "epochs": epochs}

    def _gather(self) -> float:
        """Keep what teacher and learner see on fresh instances, with the teacher's answers; return the solve rate."""
        learner, limit = Table.of(self.agent()), Limit.parse(self.config.limit or self.task.limit)
        learner.extend(self.observations)
        solved = total = 0
        for size in self.config.sizes:
            for number, name in enumerate(self.task.inputs.draw):
                count = max(2, self.config.items // size)
                seed = self.config.seed * 1_000_000 + self.rounds
                request = Request(size=size, count=count, seed=seed, data=name, queries=self.task.inputs.usual_queries)
                instances = self.task.draw(request)
                self.work += int(run(self._seen_by_teacher, instances, limit=limit).steps.sum())
                if number < 2 and (size <= self.config.own_sizes or self.calm):
                    results = run(learner, instances, limit=limit)
                    solved += int(results.solved.sum())
                    total += count
                    self.work += int(results.steps.sum())
        seen = np.union1d(self._seen_by_teacher.observations, learner.observations)
        fresh = np.setdiff1d(seen, self.observations, assume_unique=True)
        answers = self.teacher.actions(fresh)
        fresh, answers = fresh[answers != NO_ACTION], answers[answers != NO_ACTION]
        self.observations = np.concatenate([self.observations, fresh])
        self.answers = np.concatenate([self.answers, answers])
        if not len(self.observations):
            raise SettingError(f"sizes are {self.config.sizes}: at these {self.task.name} leaves nothing to do")
        return solved / max(1, total)

    @torch.no_grad()
    def _agreement(self) -> tuple[float, Ints]:
        """Return the share of kept observations that are answered clearly like the teacher, and the others' places."""
        unclear = []
        for at in range(0, len(self.observations), 4096):
            inputs = self.network.encode(self.observations[at : at + 4096])
            scores = self.network.action_log_probabilities(inputs, torch.from_numpy(self.answers[at : at + 4096]))
            unclear.append(at + np.flatnonzero(scores.numpy() <= CLEARLY))
        places = np.concatenate(unclear)
        return 1 - len(places) / len(self.observations), places

    def _learn(self) -> tuple[float, int]:
        """Go through all kept observations until all answers are clear; return the last mean loss and the passes."""
        inputs, answers = self.network.encode(self.observations), torch.from_numpy(self.answers)
        loss_sum, passes, clear = 0.0, 0, False
        while passes < self.config.epochs and not clear:
            loss_sum, passes, clear = 0.0, passes + 1, True
            order = self.random.permutation(len(answers))
            for at in range(0, len(order), self.config.batch):
                part = torch.from_numpy(order[at : at + self.config.batch])
                scores = self.network.action_log_probabilities(inputs[part], answers[part])
                loss = -scores.mean()
                self.optimizer.clear_gradients()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()
                loss_sum += loss.item() * len(part)
                clear = clear and bool((scores > CLEARLY).all())
        return loss_sum / len(answers), passes

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        tensors = {
            **self.network_state(),
            "observations": self.observations,
            "answers": self.answers,
            "teacher": self._seen_by_teacher.observations,
        }
        return tensors, {"rounds": self.rounds, "calm": self.calm, "random": self.random.bit_generator.state}

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state, interface = validate(STATE, record, SOURCE), self.task.interface
        self.load_network_state(tensors)
        self.observations = take_numbers(tensors, "observations", interface.observation_count)
        self.answers = take_numbers(tensors, "answers", interface.action_count)
        if len(self.answers) != len(self.observations):
            raise SavedFileError(f"{SOURCE} has {len(self.answers)} answers to {len(self.observations)} observations")
        self._seen_by_teacher = Table(self.task, self.teacher)
        self._seen_by_teacher.extend(take_numbers(tensors, "teacher", interface.observation_count))
        self.rounds, self.calm = state["rounds"], state["calm"]
        load_random(self.random, state["random"])
