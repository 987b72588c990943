"""Our learner: change a program little by little, keep what shortens it, and teach the result to a network.

It starts from any agent of a task with a table. A change says that where some features have certain values and the
program would take one action, it shall take another. Many changes are tried at once on few instances, and those that
do no worse on ever more of them, paired with the program as it was, so that even small savings show. What is kept
must solve everything that the program solved, ties and all named distributions included, and instances much larger
than those it is improved on. The improved program is then learned by a fresh network, exactly, as from any teacher.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surpass.agents import find_agent
from surpass.agents.carried import CarriedAgent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.engine.run import run
from surpass.errors import SettingError
from surpass.learning.changes import AmendedAgent
from surpass.learning.imitation import Imitation, ImitationConfig
from surpass.learning.proposals import Proposer
from surpass.learning.state import load_random, random_state
from surpass.learning.trials import Trial
from surpass.table import Agent, Amendment, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Request, Task

__all__ = ["Improvement", "ImprovementConfig"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[Any]]

MOST_KNOWN = 5
"""How many times as many observations are kept as the program meets, before those of failures are forgotten."""
BEAM = 8
"""How many candidates get further changes."""
YARDSTICK = 9_000_000
"""The place in the stream of instances of those that programs of all rounds are compared on."""
COUNTERS = ("is_perfect", "sound", "generations", "tried", "draws", "drawn_from")
CHECKED_STEPS = 400_000
"""About how many steps the instances of a size and distribution may take together when a program is checked."""
SMALL_SIZES = range(1, 13)
"""Sizes at which the program is checked on many instances at the end of each round."""
MOST_ENUMERATED = 5000
"""It is tried on every instance of those sizes that have no more than these."""
MOST_CHECKED = 600_000
"""It is checked, at the end of each round, on every instance of those sizes that have no more than these."""


@dataclass(frozen=True, kw_only=True)
class ImprovementConfig:
    """How `Improvement` learns. Every field is part of the recipe."""

    task: str
    teacher: str
    """The agent to start from."""
    seed: int = 0
    sizes: tuple[int, ...] = ()
    """The sizes that the program is made shorter on, all of equal weight; if empty, some up to those to train on."""
    large_sizes: tuple[int, ...] = (100, 300)
    """Sizes at which it must still solve what it solved before, at the end of each round."""
    queries: str = ""
    """The kind of queries, for a task that has several; the task's first if empty."""
    generations: int = 1000
    generations_per_round: int = 10
    candidates: int = 64
    """Changes tried side by side in a generation."""
    depth: int = 3
    """How many more changes are tried where a change led to something new."""
    screened: int = 16
    """Instances that all candidates are tried on."""
    tested: int = 400
    """Instances for those that did no worse on these."""
    confirmed: int = 4000
    """Instances for those that did better on these."""
    errors: float = 2.5
    """How many standard errors the saving on the last must lie above nothing."""
    drift: float = 0.02
    """The share of changes that make no difference on any of them and are kept all the same."""
    temperature: float = 0.0
    """What share of the cost a change may add at first, about, and still be kept; it falls to nothing by the end."""
    slack: float = 1.25
    """How many times the program's own steps a candidate may take before it is stopped."""

    def __post_init__(self) -> None:
        for name in ("generations", "generations_per_round", "candidates", "screened", "tested", "confirmed"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if self.depth < 0:
            raise SettingError(f"depth is {self.depth}; it must be 0 or more")
        for name in ("sizes", "large_sizes"):
            if min(getattr(self, name), default=1) < 1:
                raise SettingError(f"{name} are {getattr(self, name)}; they must be numbers from 1 on")
        if not 0 <= self.drift <= 1:
            raise SettingError(f"drift is {self.drift}; it must lie between 0 and 1")
        if not 0 <= self.temperature < 1:
            raise SettingError(f"temperature is {self.temperature}; it must be 0 or more, and below 1")
        if not self.errors >= 0 or not self.slack >= 1:
            raise SettingError(f"errors is {self.errors} and slack {self.slack}; they must be 0 and 1 or more")


class Improvement:
    """A learner that makes an agent's program shorter, and then teaches it to a network."""

    def __init__(self, task: Task, config: ImprovementConfig) -> None:
        self.task, self.config = task, config
        self.teacher = _agent_to_improve(task, config.teacher)
        self.base = Table.of(self.teacher)
        self.sizes = config.sizes or _default_sizes(task)
        if config.queries and config.queries not in task.queries:
            raise SettingError(f"queries is {config.queries!r}; allowed: {', '.join(task.queries) or 'none'}")
        self.queries = config.queries or (task.queries[0] if task.queries else "mixed")
        self.random = np.random.default_rng([config.seed, 4])
        self.changes: list[Amendment] = []
        self.is_perfect = False
        """Whether the agent to start from solved everything at first."""
        self.sound = 0
        """How many of the changes have passed the checks at the end of a round."""
        self.best: list[Amendment] = []
        self.best_cost = np.inf
        """The program with the lowest cost on the yardstick at the end of a round, and that cost."""
        self.generations = self.tried = self.draws = 0
        self.drawn_from = 0
        """How many times instances had been drawn before those of the trials."""
        self.known = Table(task)
        self.trials: list[Trial] = []
        self.proposer = Proposer(task, self.random)
        self._small = list(self._every_small(MOST_ENUMERATED))
        self._yardstick: Trial | None = None
        self._pupil: Imitation | None = None

    @property
    def program(self) -> AmendedAgent:
        """The program as it is now."""
        return AmendedAgent(self.base, self.changes)

    @property
    def pupil(self) -> Imitation:
        """The learner of the program as it was when first asked for."""
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
    def has_network(self) -> bool:
        """Whether there is a network worth keeping: it has begun to learn the final program."""
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

    # A round

    def advance(self) -> dict[str, float]:
        """Try some generations of changes; once all are done, let the network learn for a round."""
        if not self.is_improving:
            curve = self.pupil.advance()
            return {"generation": self.generations, **{k: v for k, v in curve.items() if k != "round"}}
        if not self.trials:
            self._renew()
            self.is_perfect = not any(trial.unsolved.any() for trial in self.trials) and not self._failures([])
        for _ in range(min(self.config.generations_per_round, self.config.generations - self.generations)):
            self._try_generation()
            self.generations += 1
        self._go_back_to_sound()
        self._measure()
        if not self.is_improving:
            self.changes = self.best
        trial = self.trials[-1]
        counted = trial.is_counted
        means = {f"cost_{size}": float(trial.costs[counted & (trial.sizes == size)].mean()) for size in self.sizes}
        return {
            "generation": self.generations,
            "tried": self.tried,
            "changes": len(self.changes),
            "observations": len(self.proposer.observations),
            "solved": float(1 - trial.unsolved.mean()),
            "relative_cost": self.best_cost,
            **means,
        }

    def _try_generation(self) -> None:
        """Try one set of candidates and some of their descendants, and keep the best that passes all trials."""
        screen, heat = self.trials[0], self._heat()
        candidates = self.proposer.some(self.config.candidates)
        costs = self._run(screen, candidates)
        finalists: list[tuple[float, list[Amendment]]] = []
        for depth in range(self.config.depth + 1):
            self.tried += len(candidates)
            for candidate, row in zip(candidates, costs, strict=True):
                saving = _saving(screen, row)[0]
                is_same = bool((row == screen.costs).all())
                if saving >= -3 * heat and not (is_same and self.random.random() >= self.config.drift):
                    finalists.append((saving, candidate))
            if depth == self.config.depth:
                break
            candidates = self._descend(candidates, costs)
            if not candidates:
                break
            costs = self._run(screen, candidates)
        if heat > 0:
            self.random.shuffle(finalists)
        else:
            finalists.sort(key=lambda finalist: -finalist[0])
        for _, candidate in finalists:
            if self._passes(candidate):
                self._keep(candidate)
                return

    def _descend(self, candidates: list[list[Amendment]], costs: Reals) -> list[list[Amendment]]:
        """Return candidates with one more change, where the first ones led to what the program never meets.

        A change can be good that only pays once the program knows what to do next: those that lost least go on.
        """
        screen = self.trials[0]
        dear = np.where(np.isfinite(costs), costs, 2 * self.config.slack * np.abs(screen.costs) + 24)
        loss = ((dear - screen.costs) * screen.weights).sum(axis=1)
        loss[(costs == screen.costs).all(axis=1)] = np.inf
        children = []
        share = -(-self.config.candidates // BEAM)
        for k in np.argsort(loss, kind="stable")[:BEAM].tolist():
            if loss[k] == np.inf:
                break
            counts, values = screen.visits(self.base, self.changes, self.known, candidates[k])
            places = np.flatnonzero(counts)
            places = places[np.argsort(self.known.keys[places])]
            places = places[~np.isin(self.known.keys[places], self.proposer.observations)]
            if not len(places):
                continue
            often = np.cumsum(counts[places]) / counts[places].sum()
            for _ in range(share):
                at = places[np.searchsorted(often, self.random.random(), side="right")]
                changes = self.proposer.at(int(self.known.keys[at]), int(values[at]))
                if changes:
                    children.append([*candidates[k], *changes])
        return children[: self.config.candidates]

    def _heat(self) -> float:
        """Return the temperature of this generation."""
        return self.config.temperature * (1 - self.generations / self.config.generations)

    def _passes(self, candidate: list[Amendment]) -> bool:
        """Tell whether a candidate is better on all larger trials, or makes no difference on any.

        One that solves what the program fails need not save beyond chance; with some heat it may be worse by a random
        amount.
        """
        heat = self._heat()
        if heat > 0:
            saving = _saving(self.trials[1], self._run(self.trials[1], [candidate])[0])[0]
            return bool(saving > heat * np.log(self.random.random()))
        for trial, errors in zip(self.trials[1:], (0.5, self.config.errors), strict=True):
            costs = self._run(trial, [candidate])[0]
            saving, error = _saving(trial, costs)
            if self._worsens(trial, costs):
                return False
            mends = bool((costs < trial.costs)[trial.unsolved].any())
            if not (costs == trial.costs).all() and saving <= (0 if mends else errors * error):
                return False
        return True

    def _worsens(self, trial: Trial, costs: Reals) -> bool:
        """Tell whether a candidate costs more at some size, beyond chance: no size shall pay for another."""
        for size in self.sizes:
            member = (trial.sizes == size) & trial.is_counted
            more = costs[member] - trial.costs[member]
            if more.sum() > 2 * np.sqrt((more**2).sum()):
                return True
        return False

    def _keep(self, candidate: list[Amendment]) -> None:
        """Make a candidate part of the program and draw new instances; drop it if it fails one and we never did."""
        before, self.changes = self.changes, [*self.changes, *candidate]
        self.known.amend(candidate)
        self._renew()
        if self.is_perfect and any(trial.unsolved.any() for trial in self.trials):
            self._go_back(before)

    def _go_back(self, changes: list[Amendment]) -> None:
        """Make an earlier program the current one, in place."""
        self.changes = changes
        self.known.clear()
        self._renew()

    def _run(self, trial: Trial, candidates: list[list[Amendment]]) -> Reals:
        return trial.run(self.base, self.changes, self.known, candidates)

    def _go_back_to_sound(self) -> None:
        """Take back the latest changes until the program solves all that it did before them."""
        if len(self.changes) == self.sound:
            return
        self.draws += 1
        kept, allowed = len(self.changes), 0 if self.is_perfect else None
        while kept > self.sound:
            failures = self._failures(self.changes[:kept])
            if failures and allowed is None:
                allowed = self._failures(self.changes[: self.sound])
            if failures <= (allowed or 0):
                break
            kept -= 1
        self.sound = kept
        if kept < len(self.changes):
            self._go_back(self.changes[:kept])

    def _measure(self) -> None:
        """Keep the program if it is the best so far by the yardstick, in place."""
        if self._yardstick is None:
            draws, self.draws = self.draws, YARDSTICK
            self._yardstick = Trial(self.task, *self._draw(self.config.confirmed), 1)
            self.draws = draws
            self._yardstick.measure_program(self.base, [], Table(self.task), self.config.slack)
            self._weigh(self._yardstick)
        trial = self._yardstick
        trial.measure_program(self.base, self.changes, self.known, self.config.slack)
        cost = float((trial.weights * trial.costs).sum())
        if cost < self.best_cost:
            self.best, self.best_cost = self.changes, cost

    def _failures(self, changes: list[Amendment]) -> int:
        """Return how many instances a program does not solve: drawn ones, small and large, and every small one."""
        table = Table.of(AmendedAgent(self.base, changes))
        failures = 0
        for size in (*SMALL_SIZES, *self.sizes, *self.config.large_sizes):
            count = 2
            for name in self.task.data:
                request = Request(size=size, count=count, seed=self._seed(), data=name, queries=self.queries)
                results = run(table, self.task.draw(request))
                failures += int((~results.solved).sum())
                # The first few tell how many can be afforded of the other distributions, and of the first once more.
                if name == next(iter(self.task.data)):
                    count = int(np.clip(CHECKED_STEPS / max(1.0, results.steps.mean()), 2, 500))
                    request = Request(size=size, count=count, seed=self._seed(), data=name, queries=self.queries)
                    failures += int((~run(table, self.task.draw(request)).solved).sum())
        for part in self._every_small(MOST_CHECKED):
            failures += int((~run(table, part).solved).sum())
        return failures

    def _every_small(self, most: int) -> Iterator[Instances]:
        """Yield every instance of the small sizes that have no more than `most`."""
        every = enumeration_of(self.task)
        for size in SMALL_SIZES:
            if every.count(size) <= most:
                yield from every.instances(size)

    # Trials

    def _seed(self) -> int:
        return self.config.seed * 10_000_000 + self.draws

    def _renew(self) -> None:
        """Draw new instances for all trials, run the program on them, and see what it meets."""
        config = self.config
        self.drawn_from = self.draws
        wanted = [config.tested] if config.temperature else [config.tested, config.confirmed]
        larger = [Trial(self.task, *self._draw(count), 1) for count in wanted]
        for trial in larger:
            self._measure_on(trial)
        # Candidates that mend something must show it at once: the first failures are among what all are tried on.
        instances, is_counted = self._draw(config.screened)
        failed = [trial.instances.part(k, k + 1) for trial in larger for k in np.flatnonzero(trial.unsolved).tolist()]
        failed = failed[: config.screened]
        screen = Trial(
            self.task,
            _join(self.task, [instances, *failed]),
            np.concatenate([is_counted, np.zeros(len(failed), bool)]),
            config.candidates,
        )
        self._measure_on(screen)
        self.trials = [screen, *larger]
        known = self.known
        counts, _ = self.trials[1].visits(self.base, self.changes, known, [])
        places = np.flatnonzero(counts)
        places = places[np.argsort(known.keys[places])]
        if not len(places):
            raise SettingError(f"sizes are {self.sizes}: at these {self.task.name} leaves nothing to do")
        observations, actions = known.keys[places], known.values[places]
        self.proposer.learn(observations, actions, counts[places], self._visited_on(failed) if failed else [])
        if len(known) > MOST_KNOWN * len(observations) + 1000:
            known.clear()
            known.insert(observations, actions)

    def _visited_on(self, parts: list[Instances]) -> list[tuple[int, int]]:
        """Return what the program meets on instances, and its actions there."""
        instances = _join(self.task, parts)
        trial = Trial(self.task, instances, np.zeros(instances.count, bool), 1)
        counts, values = trial.visits(self.base, self.changes, self.known, [])
        places = np.flatnonzero(counts)
        return sorted(zip(self.known.keys[places].tolist(), values[places].tolist(), strict=True))

    def _measure_on(self, trial: Trial) -> None:
        """Run the program on a trial and weigh its instances, in place."""
        trial.measure_program(self.base, self.changes, self.known, self.config.slack)
        self._weigh(trial)

    def _weigh(self, trial: Trial) -> None:
        """Make all sizes count alike in place, by the share of the cost or the reward.

        Of the other distributions only what the program fails on counts, so that it pays to mend it.
        """
        for size in self.sizes:
            member = trial.sizes == size
            counted = member & trial.is_counted
            total = np.abs(trial.costs[counted]).sum()
            trial.weights[member & (trial.is_counted | trial.unsolved)] = 1 / (len(self.sizes) * max(1e-9, total))

    def _draw(self, wanted: int) -> tuple[Instances, npt.NDArray[np.bool_]]:
        """Return instances, and of which the cost counts: the others, if many are wanted, only have to be solved.

        Every small one is among them if as many are wanted as confirm a change.
        """
        share = max(1, wanted // len(self.sizes))
        parts, is_counted = [], []
        for size in self.sizes:
            for number, name in enumerate(self.task.data):
                count = share if number == 0 else share // 8
                if count == 0:
                    continue
                self.draws += 1
                request = Request(size=size, count=count, seed=self._seed(), data=name, queries=self.queries)
                parts.append(self.task.draw(request))
                is_counted.append(np.full(count, number == 0))
        if wanted >= self.config.confirmed:
            parts += self._small
            is_counted += [np.zeros(part.count, bool) for part in self._small]
        return _join(self.task, parts), np.concatenate(is_counted)

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        pad = np.full((len(self.changes), len(self.task.interface.features)), -1, np.int64)
        for row, change in zip(pad, self.changes, strict=True):
            row[change.features] = change.digits
        tensors: Tensors = {
            "changes": pad,
            "actions": np.array([(change.old, change.new) for change in self.changes], np.int64).reshape(-1, 2),
            "known": self.known.observations,
        }
        record: dict[str, Any] = {
            "best": len(self.best),
            "best_cost": self.best_cost if np.isfinite(self.best_cost) else None,
            "random": random_state(self.random),
            **{name: getattr(self, name) for name in COUNTERS},
        }
        if not self.is_improving:
            learned, record["pupil"] = self.pupil.save_state()
            tensors.update(learned)
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        self.changes = []
        for row, (old, new) in zip(tensors["changes"], tensors["actions"].tolist(), strict=True):
            features = np.flatnonzero(row >= 0)
            self.changes.append(Amendment(features, row[features], old, new))
        for name in COUNTERS:
            setattr(self, name, record[name])
        self.best, self.best_cost = self.changes[: record["best"]], record["best_cost"] or np.inf
        load_random(self.random, record["random"])
        self._pupil = None
        if not self.is_improving:
            self.pupil.load_state(tensors, record["pupil"])
            return
        self.known.clear()
        self.known.insert(tensors["known"], self.program.actions(tensors["known"]))
        after, self.draws = self.draws, self.drawn_from
        self._renew()
        self.draws = after


def _saving(trial: Trial, costs: Reals) -> tuple[float, float]:
    """Return what a candidate saves and the standard error of that; less than nothing if it fails."""
    if not np.isfinite(costs).all():
        return -np.inf, 0.0
    saved = trial.weights * (trial.costs - costs)
    return float(saved.sum()), float(np.sqrt((saved**2).sum()))


def _join(task: Task, parts: list[Instances]) -> Instances:
    """Return all instances together."""
    widest = max(int(part.sizes.max()) for part in parts)
    sizes = np.concatenate([part.sizes for part in parts])
    items = np.zeros((len(sizes), task.item_width(widest)), np.int64)
    reals = np.zeros((len(sizes), task.real_width(widest)))
    at = 0
    for part in parts:
        for whole, own in ((items, part.items), (reals, part.reals)):
            width = min(whole.shape[1], own.shape[1])
            whole[at : at + part.count, :width] = own[:, :width]
        at += part.count
    return Instances(sizes, items, reals)


def _agent_to_improve(task: Task, name: str) -> Agent:
    """Return the agent of a name, carried over if it is one of a smaller task; a bare name is a teacher's."""
    found = find_agent(name if ":" in name or "/" in name or name.endswith(".rules") else f"teacher:{name}")
    if not isinstance(found, Agent) or task.interface.is_full_view:
        raise SettingError(f"{name} has a full view; only an agent with a table can be improved")
    return found if found.task is task else CarriedAgent(found, task)


def _default_sizes(task: Task) -> tuple[int, ...]:
    """Return some sizes up to those to train on."""
    low, high = task.training_sizes
    return tuple(sorted({max(2, low // 4), max(3, low // 2), low, high}))
