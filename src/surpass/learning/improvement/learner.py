"""Our learner: edit a program's rules at random, keep what shortens it, and teach the result to a network.

It starts from the program of any agent with a table. A round draws instances, and then, again and again, tries a set
of edited programs on few of them, the better ones on more, and the best on many; one that is better there becomes the
program. Better means fewer steps, at no size more unless the program is levelled, and fewer rules: a rule must save
more than it costs. What is kept must solve everything that the program solved. At the end of a round the program is
checked on every small instance, on large ones of every distribution, and on changed ones that lead to new observations;
if it fails, an earlier one of the round takes its place, and the instance that it failed on is tried from then on.

A round depends on nothing but the configuration, its number and what `save_state` keeps, so a run that is resumed goes
on exactly as it would have.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np

from surpass.agents import agent_of_recipe
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors
from surpass.engine.explore import Explorer, can_explore
from surpass.engine.run import AnyAgent, Results, run
from surpass.errors import SavedFileError, SettingError
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.edits import rewritten_programs, shorter_programs, size_of, without
from surpass.learning.improvement.rounds import FINALISTS, Level, Round
from surpass.learning.improvement.trials import Screen, Trial
from surpass.learning.outlook import AGREEMENT, Compared, Measure, Outlook
from surpass.learning.sources import COMPARED, Sources
from surpass.learning.updates import SOURCE
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.programs.text import parse_program, write_text
from surpass.reading import Count, Weight, conform
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Request, Task, join_instances
from surpass.workers.local import LocalActors, LocalRunner
from surpass.workers.runner import Actors, Runner

log = logging.getLogger("surpass")

YARDSTICK = 1_000_000
"""The number of the round from which the instances come that programs of all rounds are measured on."""
SMALL_SIZES = range(1, 13)
"""Sizes at which the program is checked on instances of every distribution."""
MOST_ENUMERATED = 50_000
"""It is checked on every instance of those sizes that have no more than these."""
BRIEFLY, USUALLY, THOROUGHLY = range(3)
"""How a program is checked: when something is left out, at the end of a round, and at the very end."""
ENUMERATED = (0.1, 1, 12)
"""How many times as many instances of a size there may be, for each of these."""
MOST_CHECKED, CHECKED_ITEMS = 200, 4000
"""At most how many instances of a size and distribution it is checked on, and about how many items these have."""
CHANGED_ROUNDS, LAST_CHANGED_ROUNDS = 4, 120
"""How many rounds of a search for new observations it is checked on, and how many at the end."""
KEPT = {
    "rounds": Count,
    "tried": Count,
    "reference": list[Weight],
    "first_steps": Weight,
    "is_sound": bool,
    "hard": list[str],
}
"""What a checkpoint keeps as it is."""
STATE = {
    **KEPT,
    "stale?": Count,
    "program": str,
    "best": str,
    "best_cost": Weight | None,
    "pupil": dict[str, Any] | None,
}
"""What a checkpoint says beside its tensors; before the first round there are no programs, written as empty."""
STALE_ROUNDS = 10
"""How many rounds without a better program there must be at least before the editing of a small task ends."""
MOST_HARD = 200
"""How many of the instances that programs failed on are kept."""
COST = Measure(
    "relative_cost",
    "best so far, with the price of its rules",
    is_share=True,
    is_lower_better=True,
    of="of the teacher's steps",
    is_best=True,
)
"""What counts while a program is improved: its steps, or what it loses of the reward, and its rules."""


class Improvement:
    """A learner that makes an agent's program shorter, and then teaches it to a network."""

    def __init__(self, task: Task, config: ImprovementConfig) -> None:
        self.task, self.config = task, config
        self.teacher = _agent_to_improve(task, config.teacher)
        if config.queries and config.queries not in task.inputs.queries:
            raise SettingError(f"queries is {config.queries!r}; allowed: {', '.join(task.inputs.queries) or 'none'}")
        self.queries = config.queries or task.inputs.usual_queries
        self._level_with = _agents_to_level_with(task, config.levelled, self.teacher)
        """Agents that the program shall not fall behind at any size; none if it must be better at every size."""
        self.sources = Sources(
            task,
            config.data,
            self.queries,
            config.seed,
            sizes=config.sizes or _default_sizes(task),
            digest=config.digest,
        )
        self.config = replace(config, digest=self.sources.digest)
        self.sizes = self.sources.sizes
        self.rounds = self.tried = self.stale = 0
        """How many rounds there were, how many programs were tried, and how many rounds ago one was better."""
        self.current: Program | None = None
        self.best: Program | None = None
        self.best_cost = np.inf
        """The program of the lowest cost on the yardstick, and that cost: 1 for the one that it all began with."""
        self.reference: list[float] = []
        """The mean cost at each size of the program that it all began with."""
        self.first_steps = 1.0
        """How many steps that program took, in the mean over the sizes."""
        self.is_sound = False
        """Whether the program passes the check; one that does is not given up for one that does not."""
        self.hard: list[str] = []
        """Instances that a program failed on, as text."""
        self._last_checks: dict[int, tuple[tuple[Program, int, tuple[str, ...]], tuple[str | None, Ints]]] = {}
        """For each level the last check, a program after a round with the hard instances, and what came of it."""
        self._pupil: Imitation | None = None
        self.runner: Runner = LocalRunner()
        """Who tries the candidates."""

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
        return self.rounds < self.config.rounds and not self.is_exhausted

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to gain: since the last gain more programs were tried than a small task has changes.

        That is, ten times as many as there are ways to change two entries of the table.
        """
        entries = self.task.interface.observation_count * self.task.interface.action_count
        tried = self.stale * self.config.generations * self.config.candidates
        return self.stale >= STALE_ROUNDS and tried >= 10 * entries**2

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

    def outlook(self, curve: Mapping[str, float]) -> Outlook:
        """Return how far it has come."""
        if AGREEMENT.column in curve:
            measure = replace(AGREEMENT, words="like the program")
            return replace(self.pupil.outlook(curve), measure=measure, doing="part 2, a network learns the program")
        sign = 1 if self.task.measure == "steps" else -1
        compared = tuple(
            Compared(size, sign * curve[f"cost_{size}"], first)
            for size, first in zip(self.sizes, self.reference, strict=False)
            if f"cost_{size}" in curve
        )
        return Outlook(
            measure=COST if self.task.measure == "steps" else replace(COST, of="of the teacher's reward"),
            doing="edits of the program are tried",
            done=self.rounds,
            expected=self.config.rounds,
            work=self.tried,
            unit="programs",
            compared=compared,
        )

    def advance(self) -> dict[str, float]:
        """Edit the program for a round; once all rounds are done, let the network learn for one."""
        if not self.is_improving:
            curve = self.pupil.advance()
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
            self.best, self.best_cost, self.stale = self.current, cost, 0
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
        self.reference = [1.0] * len(self.sizes)
        _, means = self._measure(self.current)
        if not any(means):
            raise SettingError(f"sizes are {self.sizes}: at these {self.task.name} leaves nothing to do")
        self.reference = [abs(mean) or 1.0 for mean in means]
        steps = [run(self.current, part).steps.mean() for part in self._yardstick()]
        self.first_steps = max(1.0, float(np.mean(steps)))
        self.best, self.best_cost = self.current, self._measure(self.current)[0]
        self.is_sound = self._check(self.current)[0] is None

    def screens(self, own: Screen) -> Actors:
        """Return those who try candidates: one for each worker, on the same instances; here, the learner's own."""
        if self.runner.is_local:
            return LocalActors([own], 1)
        return self.runner.gather(Screen, [(self.task, own.instances)] * self.runner.count)

    # The end

    def _conclude(self) -> None:
        """Make the best program as short as it can be, and see once more that it is right; else go back."""
        assert self.best is not None
        assert self.current is not None
        simple = self._simplify(self.best)
        for program in (self._rewrite(simple), simple, self.best, self.current):
            failing, _ = self._check(program)
            if failing is None or not self.is_sound:
                self.best, (self.best_cost, _) = program, self._measure(program)
                return
            self.hard = [*self.hard, failing][-MOST_HARD:]

    def _simplify(self, program: Program) -> Program:
        """Return a program without what can be left out: it costs at no size more than the margin allows."""
        trial = self.trial(join_instances(self.task, self._yardstick()), FINALISTS)
        groups = self.sources.group(trial.sizes)

        def means(programs: Sequence[Program]) -> Reals:
            costs = np.concatenate([trial.run(programs[k : k + FINALISTS]) for k in range(0, len(programs), FINALISTS)])
            return np.stack([costs[:, groups == size].mean(axis=1) for size in self.sizes], axis=1)

        most = means([program])[0] + self.config.margin * np.array(self.reference)
        if self.task.measure == "steps":
            trial.give_up(trial.run([program])[0], times=4, more=100)
        while True:
            shorter = [one for one in shorter_programs(program) if self.weigh(one) < self.weigh(program)]
            if not shorter:
                return program
            costs = means(shorter)
            merits = (costs / self.reference).mean(axis=1) + [self.weigh(one) for one in shorter]
            fitting = [k for k in np.argsort(merits, kind="stable").tolist() if (costs[k] <= most).all()]
            sound = (shorter[k] for k in fitting[:FINALISTS] if self._passes(shorter[k], BRIEFLY, USUALLY))
            found = next(sound, None)
            if found is None:
                return program
            program = found

    def _rewrite(self, program: Program) -> Program:
        """Return a program that does the same in fewer rules, with rules written anew and places made one."""
        random = np.random.default_rng([self.config.seed, 7])
        while self.config.rewrites:
            failing, observations = self._check(program)
            if failing is not None:
                return program
            tried = (
                one
                for one in rewritten_programs(program, observations, self.config.rewrites, random)
                if self.weigh(one) < self.weigh(program) and self._passes(one, BRIEFLY, USUALLY)
            )
            found = next(tried, None)
            if found is None:
                return program
            program = self._simplify(found)
        return program

    def savings(self) -> list[tuple[int, float | None]]:
        """Return what each rule of the best program saves, in the mean over the sizes; None where it fails without."""
        assert self.best is not None
        trial = self.trial(join_instances(self.task, self._yardstick()), 1)
        groups = self.sources.group(trial.sizes)

        def cost(program: Program) -> float:
            costs = trial.run([program])[0]
            return float(np.mean([costs[groups == size].mean() for size in self.sizes]))

        base, saved = cost(self.best), []
        for k in range(len(self.best.rules)):
            shorter = without(self.best, [k])
            worse = cost(shorter) if self._passes(shorter, BRIEFLY) else np.inf
            saved.append((k, worse - base if np.isfinite(worse) else None))
        return saved

    def _why_ended(self) -> str:
        """Return why the editing ended before all of its rounds, in a sentence."""
        return (
            f"The editing ended after {self.rounds} of {self.config.rounds} rounds: none of the last {self.stale} found"
            " a better program, so nothing is left to gain."
        )

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return why it ended early, what each rule saves, and what was saved on held-out lists, as text.

        Before the editing has ended, only the last. The `agent` is the best program.
        """
        if self.best is None:
            return ""
        fresh = [self._draw(YARDSTICK + 1, size, COMPARED, self.task.inputs.usual_data) for size in self.sizes]
        held_out = self.sources.describe_held_out(self.teacher, self.best, fresh)
        lines = []
        if not self.is_improving:
            lines = [*([self._why_ended()] if self.rounds < self.config.rounds else []), *self._describe_rules()]
        return "".join(f"{line}\n" for line in (*lines, *held_out))

    def _describe_rules(self) -> list[str]:
        """Return what each rule of the best program saves, in lines; first of all if no edit has saved anything."""
        assert self.best is not None
        by_steps, means = self.task.measure == "steps", self._measure(self.best)[1]
        gains = (first - mean if by_steps else -mean - first for mean, first in zip(means, self.reference, strict=True))
        lines = []
        if not any(gain > 0 for gain in gains):
            lines = [f"No edit {'saved a step' if by_steps else 'gained anything'}; this is the teacher's program."]
        vocabulary = write_text(self.best).splitlines()
        texts = [line.strip() for line in vocabulary if ": " in line and not line.startswith("#")]
        lines.append(f"What each of the {len(texts)} rules saves, in the mean over the sizes {_listed(self.sizes)}:")
        for (_, saved), text in zip(self.savings(), texts, strict=True):
            lines.append(f"  {'needed' if saved is None else f'{saved:.3f}':>8}  {text}")
        return lines

    # Instances

    def draw(self, round_number: int, count: int) -> Instances:
        """Return `count` instances of each size, some of them from the other distributions, and all hard ones."""
        others = [name for name in self.task.inputs.draw if name not in self.sources.names]
        few = round(count * self.config.others) if others else 0
        parts = []
        for size in self.sizes:
            parts += self.sources.draw(size, max(1, count - few), self._seed(round_number, size))
            for k in range(few):
                parts.append(self._draw(round_number + k, size, 1, others[(round_number * few + k) % len(others)]))
        return join_instances(self.task, parts + [self.task.parse_instance(text)[0] for text in self.hard])

    def _draw(self, round_number: int, size: int, count: int, data: str) -> Instances:
        seed = self._seed(round_number, size)
        return self.task.draw(Request(size=size, count=count, seed=seed, data=data, queries=self.queries))

    def _seed(self, round_number: int, part: int) -> int:
        return int(np.random.default_rng([self.config.seed, 5, round_number, part]).integers(2**31))

    def trial(self, instances: Instances, copies: int) -> Trial:
        """Return room to compare some programs at once on instances, within the limits of this run."""
        return Trial(self.task, instances, copies, self.config.limit)

    def _yardstick(self) -> list[Instances]:
        """Return the instances of each size that programs of all rounds are measured on."""
        drawn = (self.sources.draw(size, self.config.confirmed, self._seed(YARDSTICK, size)) for size in self.sizes)
        return [join_instances(self.task, parts) for parts in drawn]

    def means_of(self, agent: AnyAgent) -> dict[int, float]:
        """Return the mean steps, or reward, of any agent at each size, on what programs are measured on."""
        found = [run(agent, part) for part in self._yardstick()]
        by_reward = self.task.measure == "reward"
        means = (float((results.rewards if by_reward else results.steps).mean()) for results in found)
        return dict(zip(self.sizes, means, strict=True))

    def _measure(self, program: Program) -> tuple[float, list[float]]:
        """Return the cost of a program on the yardstick, rules included, and its mean cost at each size."""
        trial = self.trial(join_instances(self.task, self._yardstick()), 1)
        costs = trial.run([program])[0]
        costs[~np.isfinite(costs)] = trial.failure_costs[~np.isfinite(costs)]
        groups = self.sources.group(trial.sizes)
        means = [float(costs[groups == size].mean()) for size in self.sizes]
        if self.levels:
            return 1 - float(Level(self, trial).merits(costs[None])[0]) + self.weigh(program), means
        relative = np.mean([mean / base for mean, base in zip(means, self.reference, strict=True)])
        return float(relative) + self.weigh(program), means

    @cached_property
    def levels(self) -> list[Program]:
        """The programs that this one shall not fall behind at any size."""
        return [extract(agent, seed=self.config.seed).program for agent in self._level_with]

    def weigh(self, program: Program) -> float:
        """Return what the rules of a program cost, as a share of the steps."""
        return float(np.dot(self.prices, size_of(program)))

    @property
    def prices(self) -> tuple[float, float]:
        """What a rule and a condition cost, as shares of the steps that the program took at the beginning."""
        return self.config.rule_price / self.first_steps, self.config.condition_price / self.first_steps

    # Checks

    def _last_sound(self, programs: list[Program]) -> Program:
        """Return the last of some programs that passes the check, as the first one has; the last if that has not."""
        if not self.is_sound:
            self.is_sound = self._check(programs[-1])[0] is None
            return programs[-1]
        for program in reversed(programs[1:]):
            failing, observations = self._check(program, USUALLY)
            if failing is None:
                failing, observations = self._check(program)
            if failing is None:
                fired = set(program.rules_for(observations).tolist())
                needless = sorted(set(range(len(program.rules))) - fired)
                shorter = without(program, needless)
                return shorter if needless and self._check(shorter)[0] is None else program
            if failing not in self.hard:
                self.hard = [*self.hard, failing][-MOST_HARD:]
        return programs[0]

    def _passes(self, program: Program, *levels: int) -> bool:
        """Tell whether a program passes checks of some levels, the briefest first."""
        return all(self._check(program, level)[0] is None for level in levels)

    def _check(self, program: Program, level: int | None = None) -> tuple[str | None, Ints]:
        """Return an instance that a program fails on, as text, if many show one; and the observations it came to."""
        if level is None:
            level = THOROUGHLY if self.rounds + 1 >= self.config.rounds or self.is_exhausted else USUALLY
        asked = (program, self.rounds, tuple(self.hard))
        if level not in self._last_checks or self._last_checks[level][0] != asked:
            self._last_checks[level] = asked, self._find_failing(program, level)
        return self._last_checks[level][1]

    def _find_failing(self, program: Program, level: int) -> tuple[str | None, Ints]:
        """Return what `_check` does, by running a program on the instances of a level."""
        table = Table(self.task, program)

        def run_all(instances: Instances) -> Results:
            return run(table, instances, find_loops=self.task.measure == "steps")

        checked = ((instances, run_all(instances)) for instances in self._checked(level))
        changed: Iterator[tuple[Instances, Results]] = iter(())
        if can_explore(self.task) and level > BRIEFLY:
            explorer = Explorer(self.task, run_all, seed=self._seed(self.rounds, 0))
            changed = islice(explorer.rounds(), LAST_CHANGED_ROUNDS if level == THOROUGHLY else CHANGED_ROUNDS)
        for instances, results in chain(checked, changed):
            wrong = np.flatnonzero(~results.solved)
            if wrong.size:
                return self.task.write_instance(instances.part(int(wrong[0]), int(wrong[0]) + 1)), table.observations
        return None, table.observations

    def _checked(self, level: int) -> Iterator[Instances]:
        """Yield hard instances, every small one, and some of every distribution at all sizes."""
        if self.hard:
            yield join_instances(self.task, [self.task.parse_instance(text)[0] for text in self.hard])
        small = enumeration_of(self.task)
        for size in range(min(small.largest, SMALL_SIZES[-1]) + 1):
            if small.count(size) <= MOST_ENUMERATED * ENUMERATED[level]:
                yield from small.instances(size)
        largest = max(self.config.large_sizes, default=0)
        large = () if level == BRIEFLY else self.config.large_sizes
        for size in sorted({*SMALL_SIZES, *(n for n in self.sizes if n <= largest and large), *large}):
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
            "stale": self.stale,
            **{name: getattr(self, name) for name in KEPT},
        }
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        record = conform(STATE, record, SOURCE)
        for name in KEPT:
            setattr(self, name, record[name])
        self.stale = record.get("stale", 0)
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


def _agent_to_improve(task: Task, name: str) -> Agent:
    """Return the agent of a name, carried over if it is one of a smaller task; a bare name is a teacher's."""
    found = agent_of_recipe(task, name)
    if not isinstance(found, Agent) or task.interface.is_full_view:
        raise SettingError(f"{name} has a full view; only an agent with a table can be improved")
    return found


def _agents_to_level_with(task: Task, names: str, start: Agent) -> list[Agent]:
    """Return the agents of some names, separated by commas, and the one to start from; none if there is no name."""
    if not names:
        return []
    if task.measure == "steps":
        raise SettingError(
            f"levelled is {names!r}; in {task.name} steps count, and a program must be better at every size"
        )
    return [start, *(_agent_to_improve(task, name.strip()) for name in names.split(","))]


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes)


def _written(program: Program | None) -> str:
    return "" if program is None else write_text(program)


def _default_sizes(task: Task) -> tuple[int, ...]:
    """Return some sizes up to those to train on."""
    low, high = task.training_sizes
    return tuple(sorted({max(2, low // 4), max(3, low // 2), low, high}))
