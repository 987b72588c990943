"""Improvement: edit the rules of a program at random, keep edits that save steps, and teach the result to a network.

In the literature this is local search over programs with simulated annealing and a sequential test (racing). It starts
from the program of any agent with a table. A round draws instances. Then, again and again, it runs a set of edited
programs on few of them, the better ones on more, and the best one on all; if that one is still better, it becomes the
program. Better means fewer steps, at no size more, and fewer rules: a rule must save more than it costs. An accepted
program must solve everything that its predecessor solved.

At the end of a round `find_failures` searches for an instance on which the program fails. If there is one, an earlier
program of the round takes its place, and the counter-example joins the instances of all later rounds.

A round depends only on the configuration, its number and what `save_state` keeps, so a resumed run gives the same
result.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surpass.agents import agent_of_recipe
from surpass.agents.networks.agent import NetworkAgent
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.checks import NORMAL, QUICK, Effort, find_failures
from surpass.engine.run import AnyAgent, run
from surpass.errors import SavedFileError, SettingError
from surpass.extras import is_installed, load_names
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.edits import rewritten_programs, shorter_programs, size_of, without
from surpass.learning.improvement.rounds import FINALISTS, Round
from surpass.learning.improvement.trials import Trial
from surpass.learning.sources import COMPARED, Sources
from surpass.learning.status import AGREEMENT, Measure, Status, TeacherComparison
from surpass.learning.updates import SOURCE
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.programs.text import parse_program, write_text
from surpass.reading import Count, Weight, validate
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Request, Task, join_instances
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Runner

if TYPE_CHECKING:
    from surpass.agents.networks.structured import StructuredPolicy
    from surpass.learning.imitation import Imitation

log = logging.getLogger("surpass")

REFERENCE_ROUND = 1_000_000
"""The number of the round that gives the instances on which programs of all rounds are measured."""
EACH_ROUND = replace(NORMAL, enumerated=50_000, large=12_000, changed=2_000)
"""How hard to search for failures at the end of a round,"""
AT_END = replace(NORMAL, large=125_000, changed=30_000)
"""and at the end of the last one."""
OTHERS = 0.15
"""The share of the instances that come from the other distributions."""
CONDITION_PRICE = 0.3
"""What a condition costs, as a share of the price of a rule."""
MARGIN = 0.0005
"""What share of the cost the program may lose at any size when it is made simpler at the end."""
REWRITES = 100
"""How many times at the end the rules of a place, or of several merged ones, are written anew, to keep the fewest."""
STALE_ROUNDS = 10
"""How many rounds without a better program there must be at least before the editing of a small task ends."""
MOST_COUNTEREXAMPLES = 200
"""How many of the instances on which programs failed are kept."""
KEPT = {
    "rounds": Count,
    "tried": Count,
    "stale": Count,
    "reference": list[float],
    "first_steps": Weight,
    "is_sound": bool,
    "counterexamples": list[str],
}
"""What a checkpoint keeps as it is."""
STATE = {
    **KEPT,
    "program": str,
    "best": str,
    "best_cost": Weight | None,
    "student": dict[str, Any] | None,
}
"""What a checkpoint says beside its tensors; before the first round there are no programs, written as empty."""
COST = Measure(
    "relative_cost",
    "best so far, with the price of its rules",
    is_share=True,
    is_lower_better=True,
    of="of the teacher's steps",
    is_best=True,
)
"""What counts while a program is improved: its steps, or the reward that it misses, and its rules."""


class Improvement:
    """A learner that makes an agent's program shorter, and then teaches it to a network."""

    def __init__(self, task: Task, config: ImprovementConfig) -> None:
        self.task = task
        found = agent_of_recipe(task, config.teacher)
        if not isinstance(found, Agent) or task.interface.is_full_view:
            raise SettingError(f"{config.teacher} has a full view; only an agent with a table can be improved")
        self.teacher = found
        if config.queries and config.queries not in task.inputs.queries:
            raise SettingError(f"queries is {config.queries!r}; allowed: {', '.join(task.inputs.queries) or 'none'}")
        self.queries = config.queries or task.inputs.usual_queries
        sizes = config.sizes or _default_sizes(task)
        self.sources = Sources(task, config.data, self.queries, config.seed, sizes=sizes, digest=config.digest)
        self.config = replace(config, digest=self.sources.digest)
        self.sizes = self.sources.sizes
        self.rounds = self.tried = self.stale = 0
        """How many rounds there were, how many programs were tried, and how many rounds ago one was better."""
        self.current: Program | None = None
        """The program that is edited."""
        self.program: Program | None = None
        """The best program so far: that of the lowest relative cost on the reference instances."""
        self.best_cost = np.inf
        """That cost: about 1 at the start."""
        self.reference: list[float] = []
        """The mean cost of the first program at each size: steps, or the reward with a minus."""
        self.first_steps = 1.0
        """How many steps that program took, in the mean over the sizes."""
        self.is_sound = False
        """Whether no failure of the program is known; a sound program never gives way to one that fails."""
        self.counterexamples: list[str] = []
        """Instances on which a program failed, as text."""
        self._searched: dict[Effort, tuple[Any, tuple[str | None, Ints]]] = {}
        """For each effort the last search for failures: what was searched, and what it found."""
        self._student: Imitation | None = None
        self.runner: Runner = LocalRunner()
        """Who tries the candidates."""

    @property
    def student(self) -> Imitation:
        """The learner of the best program."""
        if self._student is None:
            assert self.program is not None
            learner, settings = load_names("surpass.learning.imitation", "Imitation", "ImitationConfig")
            config = settings(task=self.task.name, teacher=self.config.teacher, seed=self.config.seed)
            self._student = learner(self.task, config, teacher=self.program)
        student: Imitation = self._student
        return student

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the best program: its neural form."""
        return self.student.network

    @property
    def is_improving(self) -> bool:
        """Whether the program is still being edited, rather than learned by the network."""
        return self.rounds < self.config.rounds and not self.is_exhausted

    @property
    def is_exhausted(self) -> bool:
        """Whether more programs were tried since the last gain than ten times the changes of two table entries."""
        entries = self.task.interface.observation_count * self.task.interface.action_count
        return self.stale >= STALE_ROUNDS and self._tried_in_vain >= 10 * entries**2

    @property
    def _tried_in_vain(self) -> int:
        return self.stale * self.config.generations * self.config.candidates

    @property
    def has_network(self) -> bool:
        """Whether a network learns the best program: once the editing has ended, if PyTorch is there to teach it."""
        return not self.is_improving and is_installed("torch")

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.is_improving and (not self.has_network or self.student.done)

    @property
    def finished(self) -> bool:
        """Whether the editing has ended, and the network, if there is one, equals the improved program."""
        return not self.is_improving and (not self.has_network or self.student.finished)

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that is needed to repeat this run."""
        return {"method": "improvement", **asdict(self.config)}

    def agent(self, name: str = "improvement") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come."""
        if AGREEMENT.column in curve:
            measure = replace(AGREEMENT, words="like the program")
            return replace(self.student.status(curve), measure=measure, doing="part 2, a network learns the program")
        sign = 1 if self.task.measure == "steps" else -1
        comparisons = tuple(
            TeacherComparison(size, sign * curve[f"cost_{size}"], sign * first)
            for size, first in zip(self.sizes, self.reference, strict=False)
            if f"cost_{size}" in curve
        )
        return Status(
            measure=COST if self.task.measure == "steps" else replace(COST, of="of the teacher's cost"),
            doing="edits of the program are tried",
            done=self.rounds,
            expected=self.config.rounds,
            work=self.tried,
            unit="programs",
            comparisons=comparisons,
        )

    def advance(self) -> dict[str, float]:
        """Edit the program for a round; once all rounds are done, let the network learn for one."""
        if not self.is_improving:
            curve = self.student.advance()
            return {"round": self.rounds, **{k: v for k, v in curve.items() if k != "round"}}
        if self.current is None:
            self.begin()
        round_ = Round(self)
        for generation in range(self.config.generations):
            done = (self.rounds + generation / self.config.generations) / self.config.rounds
            self.tried += round_.try_generation(self.config.temperature * (1 - done))
        round_.screens.close()
        self.current = self._last_sound(round_.accepted)
        self.rounds += 1
        cost, means = self._measure(self.current)
        self.stale += 1
        if cost < self.best_cost:
            self.program, self.best_cost, self.stale = self.current, cost, 0
        if not self.is_improving:
            if self.rounds < self.config.rounds:
                log.info("%s", self._why_ended())
            self._conclude()
        rules, conditions = size_of(self.current)
        return {
            "round": self.rounds,
            "tried": self.tried,
            "kept": len(round_.accepted) - 1,
            "rules": rules,
            "conditions": conditions,
            "relative_cost": self.best_cost,
            **{f"cost_{size}": mean for size, mean in zip(self.sizes, means, strict=True)},
        }

    def begin(self) -> None:
        """Write the program of the agent to start from, and measure it."""
        self.current = extract(self.teacher, seed=self.config.seed).program
        self.reference = [0.0] * len(self.sizes)
        _, self.reference = self._measure(self.current)
        if not any(self.reference):
            raise SettingError(f"sizes are {self.sizes}: at these {self.task.name} leaves nothing to do")
        steps = [run(self.current, part).steps.mean() for part in self._reference_instances()]
        self.first_steps = max(1.0, float(np.mean(steps)))
        self.program, self.best_cost = self.current, self._measure(self.current)[0]
        self.is_sound = self._find_failure(self.current)[0] is None

    # The end

    def _conclude(self) -> None:
        """Make the best program as short as it can be, and search for failures once more; if there is one, go back."""
        assert self.program is not None
        assert self.current is not None
        simple = self._simplify(self.program)
        for program in (self._rewrite(simple), simple, self.program, self.current):
            failing, _ = self._find_failure(program, AT_END)
            if failing is None or not self.is_sound:
                self.program = self._drop_what_costs(program) if self.is_sound else program
                self.best_cost, _ = self._measure(self.program)
                return
            self._keep(failing)

    def _drop_what_costs(self, program: Program) -> Program:
        """Return a program without the rules without which it costs less and does not fail.

        Where it does fail, the counter-example is kept: such a rule is needed.
        """
        for shorter, saved in self._without_each(program):
            if saved < 0:
                failing, _ = self._find_failure(shorter, AT_END)
                if failing is None:
                    return self._drop_what_costs(shorter)
                self._keep(failing)
        return program

    def _without_each(self, program: Program) -> Iterator[tuple[Program, float]]:
        """Yield a program without each of its rules, and what that rule saves; this is not finite where it fails.

        As in the search, all sizes count alike: a saving is a share of the first program's cost at each size.
        """
        trial = self._reference_trial()
        base = self._means(trial, trial.measure(program)[None])
        for k in range(len(program.rules)):
            shorter = without(program, [k])
            more = self._means(trial, trial.run([shorter])) - base if np.isfinite(base).all() else np.array(np.inf)
            yield shorter, float((more / self.scales).mean())

    def _simplify(self, program: Program) -> Program:
        """Return a program without rules, conditions and places that do not pay.

        One goes if that costs at no size more than the margin, or if the whole, prices included, costs less.
        """
        trial = self._reference_trial()
        measured = trial.measure(program)
        first = self._means(trial, measured[None])[0]
        most = first + MARGIN * self.scales
        if self.task.measure == "steps":
            trial.limit_steps(measured, times=4, more=100)
        cost = float((first / self.scales).mean()) + self.weigh(program)
        while True:
            shorter = [one for one in shorter_programs(program) if self.weigh(one) < self.weigh(program)]
            if not shorter:
                return program
            found = self._means(trial, trial.run(shorter))
            costs = (found / self.scales).mean(axis=1) + [self.weigh(one) for one in shorter]
            pays = (found <= most).all(axis=1) | (costs < cost)
            fitting = [k for k in np.argsort(costs, kind="stable").tolist() if pays[k]]
            taken = next((k for k in fitting[:FINALISTS] if self._passes(shorter[k], QUICK, EACH_ROUND)), None)
            if taken is None:
                return program
            program, cost = shorter[taken], float(costs[taken])

    def _rewrite(self, program: Program) -> Program:
        """Return a program that does the same in fewer rules, with rules written anew and places merged."""
        random = np.random.default_rng([self.config.seed, 7])
        while True:
            failing, observations = self._find_failure(program, EACH_ROUND)
            if failing is not None:
                return program
            tried = (
                one
                for one in rewritten_programs(program, observations, REWRITES, random)
                if self.weigh(one) < self.weigh(program) and self._passes(one, QUICK, EACH_ROUND)
            )
            found = next(tried, None)
            if found is None:
                return program
            program = self._simplify(found)

    def savings(self) -> list[float | None]:
        """Return the share that each rule of the best program saves, as a mean over sizes; None where it is needed."""
        assert self.program is not None
        return [
            saved if np.isfinite(saved) and self._passes(shorter, QUICK, EACH_ROUND) else None
            for shorter, saved in self._without_each(self.program)
        ]

    def _why_ended(self) -> str:
        """Return why the editing ended before all of its rounds, in a sentence."""
        return (
            f"The editing ended after {self.rounds} of {self.config.rounds} rounds: no better program in the last"
            f" {self._tried_in_vain:,} tried."
        )

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return why it ended early, what each rule saves, and what was saved on held-out lists, as text.

        Before the editing has ended, only the last. The `agent` is the best program.
        """
        if self.program is None:
            return ""
        fresh = [self._draw(REFERENCE_ROUND + 1, size, COMPARED, self.task.inputs.usual_data) for size in self.sizes]
        held_out = self.sources.describe_held_out(self.teacher, self.program, fresh)
        lines = held_out
        if not self.is_improving:
            why = [self._why_ended()] if self.rounds < self.config.rounds else []
            lines = [*why, *self._describe_rules(), *held_out]
        return "".join(f"{line}\n" for line in lines)

    def _describe_rules(self) -> list[str]:
        """Return what each rule of the best program saves, in lines; first of all if no edit has saved anything."""
        assert self.program is not None
        lines = []
        if not any(mean < first for mean, first in zip(self._measure(self.program)[1], self.reference, strict=True)):
            gained = "saved a step" if self.task.measure == "steps" else "gained anything"
            lines = [f"No edit {gained}; this is the teacher's program."]
        texts = [
            line.strip() for line in write_text(self.program).splitlines() if ": " in line and not line.startswith("#")
        ]
        sizes = ", ".join(f"{size:,}" for size in self.sizes)
        of = "steps" if self.task.measure == "steps" else "reward"
        whose = f"in % of the teacher's {of}, in the mean over the sizes {sizes}"
        lines.append(f"What each of the {len(texts)} rules saves, {whose}:")
        for saved, text in zip(self.savings(), texts, strict=True):
            lines.append(f"  {'needed' if saved is None else f'{saved:.2%}':>8}  {text}")
        return lines

    # Instances

    def draw(self, round_number: int, count: int) -> Instances:
        """Return `count` instances of each size, some from the other distributions, and the counter-examples."""
        others = [name for name in self.task.inputs.draw if name not in self.sources.names]
        few = round(count * OTHERS) if others else 0
        parts = []
        for size in self.sizes:
            parts += self.sources.draw(size, max(1, count - few), self._seed(round_number, size))
            for k in range(few):
                parts.append(self._draw(round_number + k, size, 1, others[(round_number * few + k) % len(others)]))
        return join_instances(self.task, parts + [self.task.parse_instance(text)[0] for text in self.counterexamples])

    def _draw(self, round_number: int, size: int, count: int, data: str) -> Instances:
        seed = self._seed(round_number, size)
        return self.task.draw(Request(size=size, count=count, seed=seed, data=data, queries=self.queries))

    def _seed(self, round_number: int, part: int) -> int:
        return int(np.random.default_rng([self.config.seed, 5, round_number, part]).integers(2**31))

    def _reference_instances(self) -> list[Instances]:
        """Return the instances of each size on which programs of all rounds are measured."""
        count = self.config.instances
        drawn = (self.sources.draw(size, count, self._seed(REFERENCE_ROUND, size)) for size in self.sizes)
        return [join_instances(self.task, parts) for parts in drawn]

    def _reference_trial(self) -> Trial:
        return Trial(self.task, join_instances(self.task, self._reference_instances()))

    def _means(self, trial: Trial, costs: Reals) -> Reals:
        """Return the mean costs [K, sizes] of programs at each size, from those on all instances [K, m] of a trial."""
        groups = self.sources.group(trial.sizes)
        return np.stack([costs[:, groups == size].mean(axis=1) for size in self.sizes], axis=1)

    def _measure(self, program: Program) -> tuple[float, list[float]]:
        """Return the relative cost of a program on the reference instances, and its mean cost at each size.

        The relative cost is 1 for the first program, with the price of the rules on top.
        """
        trial = self._reference_trial()
        costs = trial.run([program])
        means = self._means(trial, np.where(np.isfinite(costs), costs, trial.failure_costs))[0]
        relative = 1 + float(((means - self.reference) / self.scales).mean())
        return relative + self.weigh(program), means.tolist()

    @property
    def scales(self) -> Reals:
        """What costs at each size are divided by, so that all sizes count alike."""
        sizes = np.abs(np.array(self.reference))
        return np.where(sizes == 0, 1.0, sizes)

    def weigh(self, program: Program) -> float:
        """Return what the rules of a program cost, as a share of the steps."""
        return float(np.dot(self.prices, size_of(program)))

    @property
    def prices(self) -> tuple[float, float]:
        """What a rule and a condition cost, as shares of the steps that the program took at the beginning."""
        price = self.config.rule_price / self.first_steps
        return price, CONDITION_PRICE * price

    # Checks

    def _last_sound(self, programs: list[Program]) -> Program:
        """Return the last of some programs without a known failure, as the first one has none.

        If the first one fails, soundness cannot be asked for yet: the last program is returned.
        """
        if not self.is_sound:
            self.is_sound = self._find_failure(programs[-1])[0] is None
            return programs[-1]
        for program in reversed(programs[1:]):
            failing, observations = self._find_failure(program)
            if failing is None:
                fired = set(program.rules_for(observations).tolist())
                needless = sorted(set(range(len(program.rules))) - fired)
                shorter = without(program, needless)
                return shorter if needless and self._find_failure(shorter)[0] is None else program
            self._keep(failing)
        return programs[0]

    def _keep(self, failing: str) -> None:
        """Add an instance to the counter-examples."""
        self.counterexamples = [*dict.fromkeys([*self.counterexamples, failing])][-MOST_COUNTEREXAMPLES:]

    def _passes(self, program: Program, *efforts: Effort) -> bool:
        """Tell whether searches for failures find none, the cheapest first."""
        return all(self._find_failure(program, effort)[0] is None for effort in efforts)

    def _find_failure(self, program: Program, effort: Effort | None = None) -> tuple[str | None, Ints]:
        """Return an instance on which a program fails, as text, or None; and the observations that occurred."""
        effort = effort or EACH_ROUND
        asked = (program, self.rounds, tuple(self.counterexamples))
        if effort not in self._searched or self._searched[effort][0] != asked:
            table = Table(self.task, program)
            seed = self._seed(self.rounds, 0)
            failures = find_failures(table, effort, known=self.counterexamples, seed=seed, enough=1)
            self._searched[effort] = asked, (failures[0] if failures else None, table.observations)
        return self._searched[effort][1]

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        tensors, student = self.student.save_state() if self.has_network else ({}, None)
        record: dict[str, Any] = {
            "program": _written(self.current),
            "best": _written(self.program),
            "best_cost": self.best_cost if np.isfinite(self.best_cost) else None,
            "student": student,
            **{name: getattr(self, name) for name in KEPT},
        }
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        record = validate(STATE, record, SOURCE)
        for name in KEPT:
            setattr(self, name, record[name])
        has_begun = (bool(record["program"]), bool(record["best"]), len(self.reference) == len(self.sizes))
        if has_begun != (self.rounds > 0,) * 3:
            raise SavedFileError(f"{SOURCE} is after round {self.rounds} and lacks what belongs to it")
        for text in self.counterexamples:
            self.task.parse_instance(text)
        self.current, self.program = (
            parse_program(record[name], SOURCE, self.task, self.teacher.name) if record[name] else None
            for name in ("program", "best")
        )
        self.best_cost = np.inf if record["best_cost"] is None else record["best_cost"]
        self._student = None
        if self.has_network and record["student"] is not None:
            self.student.load_state(tensors, record["student"])


def _written(program: Program | None) -> str:
    return "" if program is None else write_text(program)


def _default_sizes(task: Task) -> tuple[int, ...]:
    """Return some sizes up to the training sizes."""
    low, high = task.training_sizes
    return tuple(sorted({max(2, low // 4), max(3, low // 2), low, high}))
