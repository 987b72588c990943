"""Our learner: change a program rule by rule, keep what shortens it, and teach the result to a network.

It starts from any agent of a task with a table. A change says that where some features have certain values and the
program would take one action, it shall take another. Many changes are tried at once on few instances, and what
survives on ever more of them: paired with the program as it was, so that even small savings show. What is kept must solve
every instance, ties and all named distributions included, and lists much longer than those it is improved on.
The improved program is then learned by a fresh network, exactly, as from any teacher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surpass.agents import find_agent
from surpass.agents.agent import NO_ACTION, Agent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.engine.batch import allocate
from surpass.engine.kernels import EMPTY
from surpass.engine.lookup import Lookup
from surpass.engine.run import core_count, make_room, raise_bad_observation, run
from surpass.engine.specialise import specialise
from surpass.errors import SettingError
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.state import load_random, random_state
from surpass.machine.features import PreviousAction
from surpass.machine.state import SCORE, Outcome
from surpass.tasks.task import Instances, Limit, Request, Task

__all__ = ["AmendedAgent", "Change", "Improvement", "ImprovementConfig"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[Any]]

MOST_ROUNDS = 40
"""How often a candidate may wait for actions of observations that nobody has met before."""
MOST_KNOWN = 50_000
"""How many observations are kept before those that only failed candidates met are forgotten."""


class Change(NamedTuple):
    """Where `features` have the value numbers `digits` and the action would be `old`, it is `new`."""

    features: Ints
    digits: Ints
    old: int
    new: int


class _Remembered:
    """An agent that is asked once for each observation."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.task, self.name = agent, agent.task, agent.name
        self._answers: dict[int, int] = {}

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        wanted = observations.tolist()
        new = np.array([o for o in wanted if o not in self._answers], np.int64)
        if len(new):
            self._answers.update(zip(new.tolist(), self.agent.actions(new).tolist(), strict=True))
        return np.array([self._answers[o] for o in wanted], np.int64)


class AmendedAgent:
    """An agent with changes made to it, one after the other."""

    def __init__(self, base: Agent, changes: Sequence[Change], name: str = "amended") -> None:
        self.base, self.task, self.name = base, base.task, name
        self.changes = list(changes)

    def actions(self, observations: Ints) -> Ints:
        """Return the action [m] for each packed observation [m]."""
        return amend(self.task, self.changes, observations, np.array(self.base.actions(observations), np.int64))


def amend(task: Task, changes: Sequence[Change], observations: Ints, actions: Ints) -> Ints:
    """Make changes to the actions [m] of observations [m] in place, and return them."""
    kernels, interface = specialise(task), task.interface
    strides, radices = np.array(interface.strides), np.array(interface.radices)
    for features, digits, old, new in changes:
        kernels.amend(observations, actions, digits, strides[features], radices[features], old, new)
    return actions


@dataclass(frozen=True, kw_only=True)
class ImprovementConfig:
    """How `Improvement` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    """The agent to start from."""
    seed: int = 0
    sizes: tuple[int, ...] = ()
    """The sizes that the program is made shorter on, all of equal weight; some up to the task's training sizes if
    empty."""
    large_sizes: tuple[int, ...] = (100, 300)
    """Sizes that it must still solve at the end of each round."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    generations: int = 2000
    generations_per_round: int = 20
    candidates: int = 64
    """Changes tried side by side in a generation."""
    screened: int = 16
    """Instances that all candidates are tried on."""
    tested: int = 400
    """Instances for those that did no worse on these."""
    confirmed: int = 4000
    """Instances for those that did better on these."""
    errors: float = 2.5
    """How many standard errors the saving on the last must lie above nothing."""
    drift: float = 0.02
    """How many of the changes that make no difference on any of them are kept."""
    slack: float = 1.25
    """How many times the program's own steps a candidate may take before it is stopped."""

    def __post_init__(self) -> None:
        for name in ("generations", "generations_per_round", "candidates", "screened", "tested", "confirmed"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        for name in ("sizes", "large_sizes"):
            if min(getattr(self, name), default=1) < 1:
                raise SettingError(f"{name} are {getattr(self, name)}; they must be numbers from 1 on")
        if not 0 <= self.drift <= 1:
            raise SettingError(f"drift is {self.drift}; it must lie between 0 and 1")
        if not self.errors >= 0 or not self.slack >= 1:
            raise SettingError(f"errors is {self.errors} and slack {self.slack}; they must be 0 and 1 or more")


class _Trial:
    """Instances, what the current program does on them, and room to run candidates on them."""

    def __init__(self, task: Task, instances: Instances, weights: Reals, copies: int) -> None:
        self.task, self.copies, self.count = task, copies, instances.count
        self.weights = weights
        """[m] what an instance counts for in the mean; 0 if it only has to be solved."""
        self.instances = Instances(
            *(np.concatenate([part] * copies) for part in (instances.sizes, instances.items, instances.reals))
        )
        self.batch = allocate(task, instances.count * copies, int(instances.sizes.max()))
        self.limits = np.zeros(0, np.int64)
        self.costs = np.zeros(0)

    def slice(self, k: int) -> slice:
        """Return the episodes of candidate `k`."""
        return slice(k * self.count, (k + 1) * self.count)


class _Known:
    """Every observation that any candidate met, with the current program's action for it, as the engine reads it."""

    def __init__(self, task: Task) -> None:
        self.task, self.kernels = task, specialise(task)
        self.forget()

    def forget(self) -> None:
        """Empty it in place."""
        self.keys: Ints = np.full(1024, EMPTY, np.int64)
        self.values: Ints = np.full(1024, NO_ACTION, np.int64)
        self.count = 0

    def extend(self, observations: Ints, actions: Ints) -> None:
        """Add new, distinct observations [m] and their actions in place."""
        if 2 * (self.count + len(observations)) > len(self.keys):
            taken = self.keys != EMPTY
            old_keys, old_values = self.keys[taken], self.values[taken]
            capacity = 1 << (4 * (self.count + len(observations))).bit_length()
            self.keys, self.values = np.full(capacity, EMPTY, np.int64), np.full(capacity, NO_ACTION, np.int64)
            self.kernels.insert(self.keys, self.values, old_keys, old_values)
        self.kernels.insert(self.keys, self.values, observations, actions)
        self.count += len(observations)

    def with_changes(self, changes: Sequence[Change]) -> Ints:
        """Return the actions of the current program with these changes."""
        return amend(self.task, changes, self.keys, self.values.copy())


class Improvement:
    """A learner that makes an agent's program shorter, and then teaches it to a network."""

    def __init__(self, task: Task, config: ImprovementConfig) -> None:
        self.task, self.config = task, config
        base = find_agent(config.teacher)
        if base.task is not task:
            raise SettingError(f"{config.teacher} is an agent of {base.task.name}, not of {task.name}")
        if not isinstance(base, Agent):
            raise SettingError(f"{config.teacher} has a full view; only agents with a table can be improved")
        self.teacher: Agent = base
        self.base = _Remembered(base)
        self.sizes = config.sizes or _default_sizes(task)
        if task.queries and config.queries and config.queries not in task.queries:
            raise SettingError(f"queries is {config.queries!r}; allowed: {', '.join(task.queries)}")
        self.queries = config.queries or (task.queries[0] if task.queries else "mixed")
        self.random = np.random.default_rng([config.seed, 4])
        self.changes: list[Change] = []
        self.sound = 0
        """How many of the changes have passed the checks at the end of a round."""
        self.generations = 0
        self.draws = 0
        self.tried = 0
        self.known = _Known(task)
        self.kernels = specialise(task)
        self.rows = task.interface.action_rows
        self._numbers = {tuple(row): number for number, row in enumerate(self.rows.tolist())}
        features = task.interface.features
        self._where = [k for k, f in enumerate(features) if isinstance(f, PreviousAction) or f.name == "function"]
        self._others = [k for k in range(len(features)) if k not in self._where]
        self._trials: list[_Trial] = []
        self._met: Ints = np.zeros(0, np.int64)
        self._met_actions: Ints = np.zeros(0, np.int64)
        self._met_often: Reals = np.zeros(0)
        self._pupil: Imitation | None = None

    @property
    def program(self) -> AmendedAgent:
        """The program as it is now."""
        return AmendedAgent(self.base, self.changes)

    @property
    def pupil(self) -> Imitation:
        """The learner of the final program."""
        if self._pupil is None:
            config = ImitationConfig(task=self.task.name, teacher=self.config.teacher, seed=self.config.seed)
            self._pupil = Imitation(self.task, config, teacher=self.program)
        return self._pupil

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the final program."""
        return self.pupil.network

    @property
    def is_improving(self) -> bool:
        """Whether the program is still being changed, rather than learned by the network."""
        return self.generations < self.config.generations

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

    # A round

    def advance(self) -> dict[str, float]:
        """Try some generations of changes; once all are done, let the network learn for a round."""
        if not self.is_improving:
            return self.pupil.advance()
        if not self._trials:
            self._renew()
        for _ in range(min(self.config.generations_per_round, self.config.generations - self.generations)):
            self._generation()
            self.generations += 1
        self._go_back_to_sound()
        trial = self._trials[-1]
        sizes = trial.instances.sizes
        means = {
            f"cost_{size}": float(trial.costs[(sizes == size) & (trial.weights > 0)].mean()) for size in self.sizes
        }
        return {
            "round": -(-self.generations // self.config.generations_per_round),
            "generation": self.generations,
            "tried": self.tried,
            "changes": len(self.changes),
            "observations": len(self._met),
            **means,
        }

    def _generation(self) -> None:
        """Try one set of candidates, and keep the best that passes all trials."""
        screen = self._trials[0]
        candidates = [[change] for change in self._propose_some()]
        costs, new = self._run(screen, candidates)
        # What failed where nobody had been before gets a second change there.
        for k, candidate in enumerate(candidates):
            if len(new[k]) and not self._saving(screen, costs[k])[0] > 0 and self.random.random() < 0.5:
                actions = AmendedAgent(self.base, self.changes + candidate).actions(new[k])
                at = int(self.random.integers(len(new[k])))
                candidate += self._propose(int(new[k][at]), int(actions[at]))
        again = [k for k, candidate in enumerate(candidates) if len(candidate) > 1]
        if again:
            for k, row in zip(again, self._run(screen, [candidates[k] for k in again])[0], strict=True):
                costs[k] = row
        self.tried += len(candidates) + len(again)
        savings = [self._saving(screen, row)[0] for row in costs]
        for k in np.argsort([-s for s in savings], kind="stable").tolist():
            if savings[k] < 0:
                return
            is_drift = bool((costs[k] == screen.costs).all())
            if is_drift and self.random.random() >= self.config.drift:
                continue
            if self._passes(candidates[k]):
                self._keep(candidates[k])
                return

    def _passes(self, candidate: list[Change]) -> bool:
        """Tell whether a candidate is better on all larger trials, or makes no difference on any."""
        for trial, errors in zip(self._trials[1:], (0.5, self.config.errors), strict=True):
            costs = self._run(trial, [candidate])[0][0]
            saving, error = self._saving(trial, costs)
            if (costs == trial.costs).all():
                continue
            if saving <= errors * error:
                return False
        return True

    def _keep(self, candidate: list[Change]) -> None:
        """Make a candidate the program, and draw new instances; take it back if it fails one of them."""
        self.changes += candidate
        self.known.values = self.known.with_changes(candidate)
        try:
            self._renew()
        except SettingError:
            del self.changes[-len(candidate) :]
            self._rebuild()
            self._renew()

    def _go_back_to_sound(self) -> None:
        """Take back the latest changes until the program solves everything again."""
        while len(self.changes) > self.sound and not self._is_sound():
            self.changes.pop()
            self._rebuild()
            self._renew()
        self.sound = len(self.changes)

    def _is_sound(self) -> bool:
        """Tell whether the program solves fresh instances of all distributions, small and large."""
        lookup = Lookup(self.program)
        for size in (*range(1, 9), *self.sizes, *self.config.large_sizes):
            for name in self.task.data:
                self.draws += 1
                count = max(2, min(500, 2000 // size))
                request = Request(size=size, count=count, seed=self._seed(), data=name, queries=self.queries)
                if not run(lookup.agent, self.task.draw(request), lookup=lookup).solved.all():
                    return False
        return True

    def _rebuild(self) -> None:
        """Forget the actions of the program, after changes were taken back."""
        self.known.forget()

    # Candidates

    def _propose_some(self) -> Iterator[Change]:
        """Yield the changes of a generation: half where the program often is, half anywhere it has been."""
        wanted = self.config.candidates
        while wanted > 0:
            if self.random.random() < 0.5:
                at = int(np.searchsorted(self._met_often, self.random.random(), side="right"))
            else:
                at = int(self.random.integers(len(self._met)))
            for change in self._propose(int(self._met[at]), int(self._met_actions[at])):
                yield change
                wanted -= 1

    def _propose(self, observation: int, old: int) -> list[Change]:
        """Return a random change at an observation, or none if it would change nothing."""
        new = self._other_action(old)
        if new == old or old < 0:
            return []
        digits = self.task.interface.digits(np.array([observation]))[0]
        features = self._some_features()
        return [Change(features, digits[features], old, new)]

    def _other_action(self, old: int) -> int:
        """Return an action: the old one with another operand, one that the program uses, or any."""
        kind, interface = self.random.random(), self.task.interface
        if kind < 0.35 and old >= 0:
            row = self.rows[old].copy()
            operands = interface.instructions[row[0]].operands
            if operands:
                k = int(self.random.integers(len(operands)))
                row[1 + k] = self.random.integers(len(operands[k].values))
            return self._numbers[tuple(row.tolist())]
        if kind < 0.65:
            return int(self._met_actions[self.random.integers(len(self._met_actions))])
        row = np.zeros(self.rows.shape[1], np.int64)
        row[0] = self.random.integers(len(interface.instructions))
        for k, operand in enumerate(interface.instructions[row[0]].operands):
            row[1 + k] = self.random.integers(len(operand.values))
        return self._numbers[tuple(row.tolist())]

    def _some_features(self) -> Ints:
        """Return the features that a change looks at: all, a few, or most; where it is almost always among them."""
        kind = self.random.random()
        if kind < 0.25:
            return np.arange(len(self.task.interface.features))
        chosen = list(self._where) if kind > 0.85 or self.random.random() < 0.9 else []
        if kind < 0.85:
            some = min(len(self._others), int(self.random.integers(0, 5)))
            chosen += self.random.choice(self._others, some, replace=False).tolist()
        else:
            chosen += [k for k in self._others if self.random.random() < 0.6]
        return np.array(sorted(chosen), np.int64)

    # Trials

    def _seed(self) -> int:
        return self.config.seed * 10_000_000 + self.draws

    def _renew(self) -> None:
        """Draw new instances for all trials and run the program on them; raise `SettingError` if it fails one."""
        config = self.config
        trials = [
            self._draw(count, copies)
            for count, copies in ((config.screened, config.candidates), (config.tested, 1), (config.confirmed, 1))
        ]
        for trial in trials:
            trial.limits = Limit.parse(self.task.limit).steps(trial.instances.sizes)
            costs = self._run(trial, [[]], is_program=True)[0][0]
            if not np.isfinite(costs).all():
                bad = trial.instances.sizes[: trial.count][~np.isfinite(costs)]
                raise SettingError(f"{self.config.teacher} does not solve every instance of size {bad[0]}")
            trial.costs = costs
            if self.task.measure == "steps":
                allowed = (config.slack * costs + 12).astype(np.int64)
                trial.limits = np.minimum(trial.limits, np.concatenate([allowed] * trial.copies))
                for size in self.sizes:
                    member = (trial.instances.sizes[: trial.count] == size) & (trial.weights > 0)
                    trial.weights[member] = 1 / max(1e-9, costs[member].sum())
            trial.weights /= trial.weights.sum() if self.task.measure == "reward" else len(self.sizes)
        self._trials = trials
        self._take_stock()

    def _take_stock(self) -> None:
        """Count how often the program meets each observation, and forget what only failed candidates met."""
        trial, known = self._trials[1], self.known
        counts = np.zeros(len(known.keys), np.int64)
        self._start(trial, trial.count)
        limits = Limit.parse(self.task.limit).steps(trial.instances.sizes)
        self.kernels.tally(trial.batch, known.keys, known.values, self.rows, limits, counts, 0, trial.count)
        places = np.flatnonzero(counts)
        places = places[np.argsort(known.keys[places])]
        self._met, self._met_actions = known.keys[places], known.values[places]
        self._met_often = np.cumsum(counts[places]) / counts.sum()
        if known.count > MOST_KNOWN:
            known.forget()
            known.extend(self._met, self._met_actions)

    def _start(self, trial: _Trial, count: int) -> Instances:
        """Start the first episodes of a trial in place and return their instances."""
        instances = trial.instances.part(0, count)
        rows = np.arange(count)
        self.kernels.reset(trial.batch, instances.sizes, instances.items, instances.reals, rows)
        return instances

    def _draw(self, wanted: int, copies: int) -> _Trial:
        """Return a trial: the first distribution counts, the others only have to be solved."""
        names = list(self.task.data)
        parts, weights = [], []
        for size in self.sizes:
            for number, name in enumerate(names):
                share = max(1, wanted // len(self.sizes)) if number == 0 else max(1, wanted // (8 * len(self.sizes)))
                if number and wanted < 10 * len(self.sizes):
                    continue
                self.draws += 1
                request = Request(size=size, count=share, seed=self._seed(), data=name, queries=self.queries)
                parts.append(self.task.draw(request))
                weights.append(np.full(share, float(number == 0)))
        widest = max(self.sizes)
        total = sum(part.count for part in parts)
        items = np.zeros((total, self.task.item_width(widest)), np.int64)
        reals = np.zeros((total, self.task.real_width(widest)))
        at = 0
        for part in parts:
            items[at : at + part.count, : part.items.shape[1]] = part.items
            reals[at : at + part.count, : part.reals.shape[1]] = part.reals
            at += part.count
        sizes = np.concatenate([part.sizes for part in parts])
        return _Trial(self.task, Instances(sizes, items, reals), np.concatenate(weights), copies)

    def _saving(self, trial: _Trial, costs: Reals) -> tuple[float, float]:
        """Return how much of the cost a candidate saves, and the standard error; less than nothing if it failed."""
        if not np.isfinite(costs).all():
            return -np.inf, 0.0
        saved = trial.weights * (trial.costs - costs)
        return float(saved.sum()), float(np.sqrt((saved**2).sum()))

    def _run(
        self, trial: _Trial, candidates: Sequence[list[Change]], *, is_program: bool = False
    ) -> tuple[Reals, list[Ints]]:
        """Return the costs [K, m] of candidates on a trial, infinite where they fail, and what was new to each."""
        batch = trial.batch
        used = slice(0, len(candidates) * trial.count)
        instances = self._start(trial, used.stop)
        before = batch.reals[used, SCORE].copy()
        new = self._finish(trial, candidates, trial.limits)
        batch = trial.batch
        outcomes = batch.outcomes[used].copy()
        if self.task.measure == "reward":
            outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.SOLVED
            reward = self.task.reward
            costs = -reward.progress * (batch.reals[used, SCORE] - before) + reward.step_cost * batch.steps[used]
        else:
            costs = batch.steps[used].astype(float)
        solved = outcomes == Outcome.SOLVED
        if is_program and solved.all():
            solved &= ~self.task.find_wrong(instances, batch.registers[used], batch.items[used], batch.reals[used])
        return np.where(solved, costs, np.inf).reshape(len(candidates), trial.count), new

    def _finish(self, trial: _Trial, candidates: Sequence[list[Change]], limits: Ints) -> list[Ints]:
        """Run every candidate on its episodes until all have ended, in place; return what was new to each."""
        new: list[list[Ints]] = [[] for _ in candidates]
        with ThreadPoolExecutor(core_count()) as pool:
            for round_number in count(1):
                batch, keys = trial.batch, self.known.keys

                def run_one(k: int, batch: Any = batch, keys: Ints = keys) -> None:
                    part = trial.slice(k)
                    if (batch.outcomes[part] <= Outcome.RUNNING).any():
                        values = self.known.with_changes(candidates[k])
                        self.kernels.run(batch, keys, values, self.rows, limits, part.start, part.stop)

                list(pool.map(run_one, range(len(candidates))))
                outcomes = batch.outcomes[: len(candidates) * trial.count]
                if (outcomes > Outcome.RUNNING).all():
                    break
                raise_bad_observation(self.task, batch)
                waiting = outcomes == Outcome.UNKNOWN_OBSERVATION
                if waiting.any():
                    fresh = np.unique(batch.pending[: len(outcomes)][waiting])
                    for k in range(len(candidates)):
                        part = trial.slice(k)
                        new[k].append(np.unique(batch.pending[part][waiting[part]]))
                    self.known.extend(fresh, self.program.actions(fresh))
                if (outcomes == Outcome.STACK_FULL).any():
                    trial.batch = make_room(self.task, batch)
                    outcomes = trial.batch.outcomes[: len(outcomes)]
                if round_number >= MOST_ROUNDS and len(candidates) > 1:
                    outcomes[outcomes < Outcome.RUNNING] = Outcome.STEP_LIMIT
                outcomes[outcomes < Outcome.RUNNING] = Outcome.RUNNING
        return [np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64) for parts in new]


def _default_sizes(task: Task) -> tuple[int, ...]:
    """Return some sizes up to the task's training sizes."""
    low, high = task.training_sizes
    return tuple(sorted({max(2, low // 4), max(3, low // 2), low, (low + high) // 2, high}))
