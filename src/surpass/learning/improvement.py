"""Our learner: edit a program's rules at random, keep what shortens it, and teach the result to a network.

It starts from the program of any agent with a table. A round draws instances, and then, again and again, tries a set
of edited programs on few of them, the better ones on more, and the best on many; one that is better there becomes the
program. Better means fewer steps, at no size more, and fewer rules: a rule must save more than it costs. What is kept
must solve everything that the program solved. At the end of a round the program is checked on every small instance, on
large ones of every distribution, and on changed ones that lead to new observations; if it fails, an earlier one of the
round takes its place, and the instance that it failed on is tried from then on.

A round depends on nothing but the configuration, its number and what `save_state` keeps, so a run that is resumed goes
on exactly as it would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Annotated, Any

import numpy as np

from surpass.agents import find_agent
from surpass.agents.carried import CarriedAgent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.engine.explore import Explorer, can_explore
from surpass.engine.run import Results, run
from surpass.errors import SavedFileError, SettingError
from surpass.learning.edits import Editor, size_of, without
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.trials import Trial
from surpass.learning.updates import SOURCE
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.programs.text import parse_program, write_text
from surpass.reading import MOST, Batch, Count, Fraction, Many, Range, Seed, Size, Weight, check_fields, conform
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances

FINALISTS = 8
"""How many of the programs that did no worse on few instances are tried on more."""
YARDSTICK = 1_000_000
"""The number of the round from which the instances come that programs of all rounds are measured on."""
SMALL_SIZES = range(1, 13)
"""Sizes at which the program is checked on instances of every distribution."""
MOST_ENUMERATED = 50_000
"""It is checked on every instance of those sizes that have no more than these; at the end, on twelve times as many."""
MOST_CHECKED, CHECKED_ITEMS = 200, 4000
"""At most how many instances of a size and distribution it is checked on, and about how many items these have."""
CHANGED_ROUNDS, LAST_CHANGED_ROUNDS = 4, 120
"""How many rounds of a search for new observations it is checked on, and how many at the end."""
KEPT = {"rounds": Count, "tried": Count, "reference": list[Weight], "is_sound": bool, "hard": list[str]}
"""What a checkpoint keeps as it is."""
STATE = {**KEPT, "program": str, "best": str, "best_cost": Weight | None, "pupil": dict[str, Any] | None}
"""What a checkpoint says beside its tensors; before the first round there are no programs, written as empty."""
MOST_HARD = 200
"""How many of the instances that programs failed on are kept."""


@dataclass(frozen=True, kw_only=True)
class ImprovementConfig:
    """How `Improvement` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    """The agent to start from."""
    seed: Seed = 0
    sizes: tuple[Size, ...] = ()
    """The sizes that the program is made shorter on, all of equal weight; if empty, some up to those to train on."""
    large_sizes: tuple[Size, ...] = (100, 300)
    """Sizes at which it must still solve what it solved before, at the end of each round."""
    data: str = ""
    """The distribution that the program is made shorter on; the task's first if empty."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    rounds: Many = 100
    generations: Many = 20
    """Sets of candidates in a round."""
    candidates: Batch = 64
    """Edited programs in a set."""
    screened: Batch = 6
    """Instances of each size that all candidates are tried on."""
    tested: Batch = 60
    """Instances of each size for the best of those that did no worse."""
    confirmed: Batch = 600
    """Instances of each size for the best of those."""
    errors: Weight = 1.0
    """How many standard errors the gain on the last must lie above nothing."""
    others: Fraction = 0.15
    """The share of the instances that come from the other distributions."""
    rule_cost: Fraction = 4e-4
    """The share of the steps that a rule must save to be worth keeping."""
    condition_cost: Fraction = 1.2e-4
    """The share of the steps that a condition must save."""
    drift: Fraction = 0.2
    """The share of sets in which an edit that makes no difference at all may be kept."""
    temperature: Fraction = 0.002
    """What share of the cost an edit may add at first, about, and still be kept; it falls to nothing by the end."""
    slack: Annotated[float, Range(1, MOST)] = 1.25
    """How many times the program's own steps a candidate may take before it is stopped."""

    def __post_init__(self) -> None:
        check_fields(self)


class Improvement:
    """A learner that makes an agent's program shorter, and then teaches it to a network."""

    def __init__(self, task: Task, config: ImprovementConfig) -> None:
        self.task, self.config = task, config
        self.teacher = _agent_to_improve(task, config.teacher)
        self.sizes = config.sizes or _default_sizes(task)
        for kind, given, allowed in (
            ("data", config.data, task.inputs.draw),
            ("queries", config.queries, task.inputs.queries),
        ):
            if given and given not in allowed:
                raise SettingError(f"{kind} is {given!r}; allowed: {', '.join(allowed) or 'none'}")
        self.data = config.data or task.inputs.usual_data
        self.queries = config.queries or task.inputs.usual_queries
        self.rounds = self.tried = 0
        self.current: Program | None = None
        self.best: Program | None = None
        self.best_cost = np.inf
        """The program of the lowest cost on the yardstick, and that cost: 1 for the one that it all began with."""
        self.reference: list[float] = []
        """The mean cost at each size of the program that it all began with."""
        self.is_sound = False
        """Whether the program passes the check; one that does is not given up for one that does not."""
        self.hard: list[str] = []
        """Instances that a program failed on, as text."""
        self._pupil: Imitation | None = None

    @property
    def program(self) -> Program | None:
        """The best program so far."""
        return self.best

    @property
    def pupil(self) -> Imitation:
        """The learner of the best program."""
        if self._pupil is None:
            assert self.best is not None
            config = ImitationConfig(task=self.task.name, teacher=self.config.teacher, seed=self.config.seed)
            self._pupil = Imitation(self.task, config, teacher=self.best)
        return self._pupil

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the best program: its neural form."""
        return self.pupil.network

    @property
    def is_improving(self) -> bool:
        """Whether the program is still being edited, rather than learned by the network."""
        return self.rounds < self.config.rounds

    @property
    def has_network(self) -> bool:
        """Whether there is a network worth keeping: it has begun to learn the best program."""
        return not self.is_improving

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.is_improving and self.pupil.done

    @property
    def finished(self) -> bool:
        """Whether the network equals the improved program."""
        return not self.is_improving and self.pupil.finished

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that this run needs to be made again."""
        return {"method": "improvement", **asdict(self.config)}

    def agent(self, name: str = "improvement") -> NetworkAgent:
        """Return the network as an agent."""
        return NetworkAgent(name, self.task, self.network)

    def advance(self) -> dict[str, float]:
        """Edit the program for a round; once all rounds are done, let the network learn for one."""
        if not self.is_improving:
            curve = self.pupil.advance()
            return {"round": self.rounds, **{k: v for k, v in curve.items() if k != "round"}}
        if self.current is None:
            self._begin()
        round_ = _Round(self)
        for generation in range(self.config.generations):
            done = (self.rounds + generation / self.config.generations) / self.config.rounds
            self.tried += round_.try_generation(self.config.temperature * (1 - done))
        self.current = self._last_sound(round_.accepted)
        self.rounds += 1
        cost, means = self._measure(self.current)
        if cost < self.best_cost:
            self.best, self.best_cost = self.current, cost
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

    def _begin(self) -> None:
        """Write the program of the agent to start from, and measure it."""
        self.current = extract(self.teacher, seed=self.config.seed).program
        self.reference = [1.0] * len(self.sizes)
        _, means = self._measure(self.current)
        if not any(means):
            raise SettingError(f"sizes are {self.sizes}: at these {self.task.name} leaves nothing to do")
        self.reference = [abs(mean) or 1.0 for mean in means]
        self.best, self.best_cost = self.current, self._measure(self.current)[0]
        self.is_sound = self._check(self.current)[0] is None

    # Instances

    def draw(self, round_number: int, count: int) -> Instances:
        """Return `count` instances of each size, some of them from the other distributions, and all hard ones."""
        others = [name for name in self.task.inputs.draw if name != self.data]
        few = round(count * self.config.others) if others else 0
        parts = []
        for size in self.sizes:
            parts.append(self._draw(round_number, size, max(1, count - few), self.data))
            for k in range(few):
                parts.append(self._draw(round_number + k, size, 1, others[(round_number * few + k) % len(others)]))
        return join_instances(self.task, parts + [self.task.parse_instance(text)[0] for text in self.hard])

    def _draw(self, round_number: int, size: int, count: int, data: str) -> Instances:
        seed = self._seed(round_number, size)
        return self.task.draw(Request(size=size, count=count, seed=seed, data=data, queries=self.queries))

    def _seed(self, round_number: int, part: int) -> int:
        return int(np.random.default_rng([self.config.seed, 5, round_number, part]).integers(2**31))

    def _measure(self, program: Program) -> tuple[float, list[float]]:
        """Return the cost of a program on the yardstick, rules included, and its mean cost at each size."""
        parts = [self._draw(YARDSTICK, size, self.config.confirmed, self.data) for size in self.sizes]
        trial = Trial(self.task, join_instances(self.task, parts), 1)
        costs = trial.run([program])[0]
        costs[~np.isfinite(costs)] = trial.failure_costs[~np.isfinite(costs)]
        means = [float(costs[trial.sizes == size].mean()) for size in self.sizes]
        relative = np.mean([mean / base for mean, base in zip(means, self.reference, strict=True)])
        return float(relative) + self.weigh(program), means

    def weigh(self, program: Program) -> float:
        """Return what the rules of a program cost."""
        rules, conditions = size_of(program)
        return self.config.rule_cost * rules + self.config.condition_cost * conditions

    # Checks

    def _last_sound(self, programs: list[Program]) -> Program:
        """Return the last of some programs that passes the check, as the first one has; the last if that has not."""
        if not self.is_sound:
            self.is_sound = self._check(programs[-1])[0] is None
            return programs[-1]
        for program in reversed(programs[1:]):
            failing, rules = self._check(program)
            if failing is None:
                needless = sorted(set(range(len(program.rules))) - rules)
                shorter = without(program, needless)
                return shorter if needless and self._check(shorter)[0] is None else program
            if failing not in self.hard:
                self.hard = [*self.hard, failing][-MOST_HARD:]
        return programs[0]

    def _check(self, program: Program) -> tuple[str | None, set[int]]:
        """Return an instance that a program fails on, as text, if many show one; and the rules that fired."""
        table = Table(self.task, program)

        def run_all(instances: Instances) -> Results:
            return run(table, instances, find_loops=self.task.measure == "steps")

        checked = ((instances, run_all(instances)) for instances in self._checked())
        changed: Iterator[tuple[Instances, Results]] = iter(())
        if can_explore(self.task):
            explorer = Explorer(self.task, run_all, seed=self._seed(self.rounds, 0))
            changed = islice(explorer.rounds(), LAST_CHANGED_ROUNDS if self._is_last else CHANGED_ROUNDS)
        for instances, results in chain(checked, changed):
            wrong = np.flatnonzero(~results.solved)
            if wrong.size:
                return self.task.write_instance(instances.part(int(wrong[0]), int(wrong[0]) + 1)), set()
        return None, set(program.rules_for(table.observations).tolist())

    @property
    def _is_last(self) -> bool:
        return self.rounds + 1 >= self.config.rounds

    def _checked(self) -> Iterator[Instances]:
        """Yield hard instances, every small one, and some of every distribution at all sizes."""
        if self.hard:
            yield join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.hard])
        small = enumeration_of(self.task)
        for size in range(min(small.largest, SMALL_SIZES[-1]) + 1):
            if small.count(size) <= MOST_ENUMERATED * (12 if self._is_last else 1):
                yield from small.instances(size)
        for size in sorted({*SMALL_SIZES, *self.sizes, *self.config.large_sizes}):
            count = max(2, min(MOST_CHECKED, CHECKED_ITEMS // size))
            parts = [self._draw(self.rounds, size, count, name) for name in self.task.inputs.draw]
            yield join_instances(self.task, parts)

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        tensors, pupil = ({}, None) if self.is_improving else self.pupil.save_state()
        record: dict[str, Any] = {
            "program": _written(self.current),
            "best": _written(self.best),
            "best_cost": self.best_cost if np.isfinite(self.best_cost) else None,
            "pupil": pupil,
            **{name: getattr(self, name) for name in KEPT},
        }
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        record = conform(STATE, record, SOURCE)
        for name in KEPT:
            setattr(self, name, record[name])
        has_begun = (bool(record["program"]), bool(record["best"]), len(self.reference) == len(self.sizes))
        if has_begun != (self.rounds > 0,) * 3:
            raise SavedFileError(f"{SOURCE} is after round {self.rounds} and has not what belongs to it")
        for text in self.hard:
            self.task.parse_instance(text)
        self.current, self.best = (
            parse_program(record[name], SOURCE, self.task, self.teacher.name) if record[name] else None
            for name in ("program", "best")
        )
        self.best_cost = np.inf if record["best_cost"] is None else record["best_cost"]
        self._pupil = None
        if not self.is_improving:
            self.pupil.load_state(tensors, record["pupil"])


class _Round:
    """Edits of a program on the instances of a round."""

    def __init__(self, learner: Improvement) -> None:
        assert learner.current is not None
        self.learner, self.config, task = learner, learner.config, learner.task
        self.random = np.random.default_rng([self.config.seed, 4, learner.rounds])
        self.editor = Editor(task, self.random)
        counts = (self.config.screened, self.config.tested, self.config.confirmed)
        copies = (self.config.candidates, FINALISTS, 1)
        self.trials = [
            Trial(task, learner.draw(learner.rounds, count), k) for count, k in zip(counts, copies, strict=True)
        ]
        self.weights = [self._weights(trial.sizes) for trial in self.trials]
        self.costs: list[Reals] = []
        self.accepted = [learner.current]
        """The program at the beginning of the round, and those that took its place, one after the other."""
        self._settle()

    def _weights(self, sizes: Ints) -> Reals:
        """Return what the cost of each instance counts for: all sizes alike, other sizes not at all."""
        weights = np.zeros(len(sizes))
        for size, base in zip(self.learner.sizes, self.learner.reference, strict=True):
            member = sizes == size
            weights[member] = 1 / (len(self.learner.sizes) * base * member.sum())
        return weights

    def _settle(self) -> None:
        """Measure the program on all instances, let candidates take not much longer, and see where it goes."""
        program, task = self.accepted[-1], self.learner.task
        self.costs = []
        for trial in self.trials:
            trial.limits = Limit.parse(task.limit).steps(trial.sizes)
            trial.needed[:] = False
            costs = trial.run([program])[0]
            self.costs.append(costs)
            if task.measure == "steps":
                allowed = np.where(np.isfinite(costs), self.config.slack * costs + 12, trial.limits)
                trial.limits = np.minimum(allowed, trial.limits).astype(np.int64)
            trial.needed[:] = np.isfinite(costs) & (task.measure == "steps")
        self.editor.look_at(*self.trials[1].visits(program))

    def _gains(self, stage: int, programs: list[Program]) -> tuple[Reals, Reals]:
        """Return what programs gain on the instances of a stage, rules included, and the standard errors of that.

        One that fails where the program does not, or costs more at some size beyond chance, gains nothing at all.
        """
        learner, base, weights = self.learner, self.costs[stage], self.weights[stage]
        costs = self.trials[stage].run(programs)
        fails = (~np.isfinite(costs) & np.isfinite(base)).any(axis=1)
        penalty = self.trials[stage].failure_costs
        saved = weights * (np.where(np.isfinite(base), base, penalty) - np.where(np.isfinite(costs), costs, penalty))
        if stage:
            for size in learner.sizes:
                part = saved[:, self.trials[stage].sizes == size]
                fails |= part.sum(axis=1) < -2 * np.sqrt((part**2).sum(axis=1))
        before = learner.weigh(self.accepted[-1])
        shorter = np.array([before - learner.weigh(program) for program in programs])
        gains = np.where(fails, -np.inf, saved.sum(axis=1) + shorter)
        return gains, np.sqrt((saved**2).sum(axis=1))

    def try_generation(self, heat: float) -> int:
        """Try a set of candidates, keep the best one that gains at every stage, and return how many were tried."""
        program = self.accepted[-1]
        candidates = [c for c in (self.editor.edit(program) for _ in range(self.config.candidates)) if c != program]
        allowed = -heat * float(self.random.exponential())
        drifts = self.random.random() < self.config.drift
        finalists = candidates
        for stage, most in enumerate((FINALISTS, 1, 1)):
            if not finalists:
                return len(candidates)
            gains, errors = self._gains(stage, finalists)
            wanted = self.config.errors * errors if stage == 2 and not heat else 0.0
            passes = (gains >= allowed) if stage == 0 else (gains > allowed + wanted) | ((gains == 0) & drifts)
            order = [k for k in np.argsort(-gains, kind="stable").tolist() if passes[k]]
            finalists = [finalists[k] for k in order[:most]]
        if finalists:
            self.accepted.append(finalists[0])
            self._settle()
        return len(candidates)


def _agent_to_improve(task: Task, name: str) -> Agent:
    """Return the agent of a name, carried over if it is one of a smaller task; a bare name is a teacher's."""
    found = find_agent(name if ":" in name or "/" in name or "." in name else f"teacher:{name}")
    if not isinstance(found, Agent) or task.interface.is_full_view:
        raise SettingError(f"{name} has a full view; only an agent with a table can be improved")
    return found if found.task is task else CarriedAgent(found, task)


def _written(program: Program | None) -> str:
    return "" if program is None else write_text(program)


def _default_sizes(task: Task) -> tuple[int, ...]:
    """Return some sizes up to those to train on."""
    low, high = task.training_sizes
    return tuple(sorted({max(2, low // 4), max(3, low // 2), low, high}))
