"""Discover: a portfolio that finds the best program of a task, whatever the task.

Programs come from all sides: the teachers, agents that are named, and gradients from nothing (`gradients.py`). Islands
edit them side by side, each with a distribution and a temperature of its own (`population.py`). An attempt is some
rounds of edits of one program (`attempts.py`, `rounds.py`). Costs are relative, over sizes that double
(`objective.py`).

Attempt number j is planned from what all attempts before j - islands have brought, and a gradient run is looked at
every so many attempts, whoever does the work and however long that takes. So equal seeds give equal programs on any
number of workers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surpass.agents.teachers import known_teachers, usual_teacher
from surpass.bundles import Tensors
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError, SettingError
from surpass.extras import load, load_names
from surpass.learning.discover.attempts import Attempt, Judged
from surpass.learning.discover.config import DiscoverConfig
from surpass.learning.discover.front import Front, find_front, write_front
from surpass.learning.discover.gradients import LearnedPart, Part, load_parts, save_parts
from surpass.learning.discover.objective import Objective, doubling_sizes
from surpass.learning.discover.population import Found, Population
from surpass.learning.discover.rounds import Budget, RulePrices
from surpass.learning.discover.worker import Scale, Worker, find_start
from surpass.learning.status import AGREEMENT, Measure, Status, TeacherComparison
from surpass.learning.updates import SOURCE
from surpass.printing import count, truncate
from surpass.programs.program import Program
from surpass.programs.text import parse_program
from surpass.reading import Count, Size, Weight, validate
from surpass.tasks.task import Task
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Replicas, Runner

if TYPE_CHECKING:
    from surpass.agents.networks.agent import NetworkAgent
    from surpass.agents.networks.structured import StructuredPolicy
    from surpass.learning.imitation import Imitation

log = logging.getLogger("surpass")

NOTHING = "nothing"
LONGEST_NAME = 40
"""How long the name of the first start may be in what is shown while it searches."""
CONDITION_PRICE = 0.3
"""What a condition costs, as a share of the price of a rule."""
FIRST_WINDOW, WINDOW = 1, 3
"""A part of a gradient run is waited for after each island has made so many attempts; of the first runs sooner."""
KEPT = {
    **dict.fromkeys(("rounds", "tried", "tried_in_vain", "planned"), Count),
    "reference": str,
    "means": list[float],
    "is_reference_sound": bool,
}
"""What a checkpoint keeps as it is."""
ATTEMPT = {
    **{"number": Count, "program": str, "mate": str, "focus": str, "temperature": Weight, "last_temperature": Weight},
    **{"least": float | None, "known": list[Count], "parents": list[Count]},
}
STATE = {
    **KEPT,
    **{"sizes": list[Size], "texts": list[str], "flight": [ATTEMPT], "population": dict[str, Any]},
    **{"parts": list[dict[str, Any]], "due": list[Count], "student": dict[str, Any] | None},
}
"""What a checkpoint says beside its tensors."""
COST = Measure(
    "relative_cost",
    "best so far",
    is_share=True,
    is_lower_better=True,
    of="of the cost of",
    is_best=True,
)


class Planned(NamedTuple):
    """An attempt that is on its way."""

    attempt: Attempt
    parents: tuple[int, ...]
    """The program that it comes from, and the one that it may copy from, by their numbers."""
    wait: Callable[[], Judged]
    """Returns what came of it."""


class Running(NamedTuple):
    """A part of a gradient run that is on its way."""

    part: Part
    due: int
    """After how many attempts it is waited for."""
    wait: Callable[[], LearnedPart]
    """Returns what came of it."""


class Discover:
    """A learner that keeps a population of programs."""

    def __init__(self, task: Task, config: DiscoverConfig) -> None:
        if task.interface.is_full_view:
            raise SettingError(f"{task.name} has a full view; programs are discovered for tasks with a table")
        if config.queries and config.queries not in task.inputs.queries:
            raise SettingError(f"queries is {config.queries!r}; allowed: {', '.join(task.inputs.queries) or 'none'}")
        if config.network == "yes":
            load("torch")  # if it is missing, that is said now and not after the search
        self.task = task
        self.teacher: AnyAgent | None = usual_teacher(task)
        """Whom the result is compared with."""
        first = Objective(task, config.data, config.queries, config.seed, config.sizes, config.digest)
        self.sources, self.focuses = first.sources, first.names[1:]
        self.config = replace(config, digest=self.sources.digest)
        self.sizes: tuple[int, ...] = first.sizes
        """The sizes that count; empty until there is a program whose steps tell which these are."""
        self.reference = ""
        """The program that costs are relative to, as text."""
        self.means: list[float] = []
        """The mean cost of that program at each size, on the first distribution."""
        self.is_reference_sound = False
        """Whether a search found no failure of it."""
        self.given = {name: getattr(self.config, name) for name in ("data", "queries", "seed", "digest")}
        """What workers need to know of the settings."""
        self.names = self._names()
        """The agents to begin with; the first is what costs are relative to."""
        self.runner: Runner = LocalRunner()
        """Who does the work."""
        self.prices = RulePrices(config.rule_price, CONDITION_PRICE * config.rule_price)
        self.budget = Budget(config.sets, config.candidates, config.instances)
        self._replicas: Replicas | None = None
        self._student: Imitation | None = None
        self._reset()

    def _reset(self) -> None:
        self.population = Population([None] * self.config.islands)
        self.rounds = self.tried = self.tried_in_vain = self.planned = 0
        """How many attempts were made, how many programs were tried, also since the last gain, and attempts planned."""
        self._flight: deque[Planned] = deque()
        self._gradients: list[Running] = []

    # What a run asks of a learner

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that is needed to repeat this run."""
        return {"method": "discover", **asdict(self.config)}

    @property
    def best(self) -> Found | None:
        """The best program so far."""
        return self.population.best

    @property
    def program(self) -> Program | None:
        """The best program so far; None before there is any."""
        return None if self.best is None else self.parse(self.best.program)

    @property
    def is_searching(self) -> bool:
        """Whether there are rounds left."""
        return self.rounds < self.config.rounds

    @property
    def has_network(self) -> bool:
        """Whether a network learns the best program: if it was asked for, once the search is over."""
        return self.config.network == "yes" and not self.is_searching and self.best is not None

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.is_searching and (not self.has_network or self.student.done)

    @property
    def finished(self) -> bool:
        """Whether all rounds are done, and the network, if there is one, equals the program."""
        return not self.is_searching and (not self.has_network or self.student.finished)

    @property
    def student(self) -> Imitation:
        """The learner of the best program."""
        if self._student is None:
            learner, settings = load_names("surpass.learning.imitation", "Imitation", "ImitationConfig")
            self._student = learner(
                self.task, settings(task=self.task.name, teacher="", seed=self.config.seed), teacher=self.program
            )
        student: Imitation = self._student
        return student

    @property
    def network(self) -> StructuredPolicy:
        """The network that learns the best program: its neural form."""
        return self.student.network

    def agent(self, name: str = "discover") -> NetworkAgent:
        """Return the network as an agent."""
        (network_agent,) = load_names("surpass.agents.networks.agent", "NetworkAgent")
        agent: NetworkAgent = network_agent(name, self.task, self.network)
        return agent

    def status(self, curve: Mapping[str, float]) -> Status:
        """Return how far it has come."""
        if AGREEMENT.column in curve:
            measure = replace(AGREEMENT, words="like the program")
            return replace(self.student.status(curve), measure=measure, doing="a network learns the program")
        sign = 1 if self.task.measure == "steps" else -1
        comparisons = tuple(
            TeacherComparison(size, sign * curve[f"cost_{size}"], sign * first)
            for size, first in zip(self.sizes, self.means, strict=False)
            if f"cost_{size}" in curve
        )
        return Status(
            measure=self._measure,
            done=self.rounds,
            expected=self.config.rounds,
            work=self.tried,
            unit="programs",
            comparisons=comparisons,
            beside=truncate(self.reference_name.removeprefix("teacher:"), LONGEST_NAME),
            facts=self._facts(),
        )

    @property
    def _measure(self) -> Measure:
        """The cost, with the name of what it is relative to."""
        return replace(COST, of=f"{COST.of} {truncate(self.reference_name, LONGEST_NAME)}")

    def _facts(self) -> tuple[tuple[str, str], ...]:
        """Return what the best program is, and what the islands do, in words."""
        if self.best is None:
            return (("best so far", "none yet: gradients from nothing look for a first program"),)
        best, first = self.best, self.population.lineage(self.best.number)[0]
        source = f", from {first.how}" if first is not best else ""
        islands = [island.focus or self.task.inputs.usual_data for island in self.population.islands if island]
        since = (("tried since the last gain", f"{self.tried_in_vain:,} programs"),) if self.tried_in_vain else ()
        return (
            ("by", f"{count(best.rules, 'rule')}, {best.how}{source}"),
            ("islands", ", ".join(f"{islands.count(name)} {name}" for name in dict.fromkeys(islands)) or "none"),
            *since,
        )

    def advance(self) -> dict[str, float]:
        """Take in the next part of work, in the order of the plan; after the last one, let the network learn."""
        if not self.is_searching:
            curve = self.student.advance()
            return {"round": self.rounds, **{k: v for k, v in curve.items() if k != "round"}}
        before = self.best
        if not self.rounds and not self.population.found and self.names:
            self._judge_starts()
        if not self._gradients:
            for run in range(self.config.gradients):
                first = Part.first(self.config.seed, run)
                self._learn(self._from_best(first) if run else first)
        if self._must_rescale and not self._flight:
            self._rescale()
        if self.population.found:
            while not self._must_rescale and len(self._flight) < min(
                self.config.islands, self.config.rounds - self.rounds
            ):
                self._try(*self.population.plan(self.planned, self.config.islands, self.config.seed, self.focuses))
                self.planned += 1
            self._take_attempt(self._flight.popleft())
        self.rounds += 1
        for running in [one for one in self._gradients if one.due <= self.rounds or not self.population.found]:
            self._take_learned(running)
        if self.best is not before:
            self.tried_in_vain = 0
        return self._line()

    def _line(self) -> dict[str, float]:
        """Return a line of the curves."""
        line: dict[str, float] = {"round": self.rounds, "tried": self.tried}
        if self.best is None:
            return line
        costs = {f"cost_{size}": cost for size, cost in zip(self.sizes, self.best.means, strict=True)}
        return {**line, "rules": self.best.rules, "relative_cost": self.best.cost, "number": self.best.number, **costs}

    # Starts

    def _names(self) -> tuple[str, ...]:
        """Return the names of the agents to begin with: those that are named, or all teachers, the usual one first."""
        if self.config.start:
            words = [word.strip() for word in self.config.start.split(",")]
            named = () if words == [NOTHING] else tuple(words)
            for name in named:
                find_start(self.task, name)
            return named
        known = sorted(known_teachers(self.task), key=lambda one: one is not self.teacher)
        return tuple(one.name for one in known)

    def _judge_starts(self) -> None:
        """Write the programs of the agents to begin with, and measure them, in place."""
        waits = [self._workers.submit("extract", name) for name in self.names]
        texts = []
        for name, wait in zip(self.names, waits, strict=True):
            log.info("writing the program of %s", name)
            texts.append(wait())
        self._set_scale(*texts)
        waits = [self._workers.submit("judge", self._scale, text, 0) for text in texts]
        for name, wait in zip(self.names, waits, strict=True):
            log.info("checking the program of %s", name)
            self._add(wait(), name, ())
        if self.best is not None:
            found = f"{self.best.how}, {count(self.best.rules, 'rule')}, {self.best.cost:.1%} {self._measure.of}"
            log.info("editing the programs on %d islands; the best so far is %s", self.config.islands, found)

    def _set_scale(self, text: str, *others: str) -> None:
        """Take the first program as the one that costs are relative to, and sizes for the fastest of all, in place."""
        self.reference = text
        if not self.config.sizes and not self.sources.has_files:
            sizes = [doubling_sizes(self.task, self.parse(one), self.config.queries) for one in (text, *others)]
            self.sizes = max(sizes, key=len)

    @property
    def reference_name(self) -> str:
        """What costs are relative to, in words."""
        return self.names[0] if self.names else "the first program"

    # Plan and harvest

    @property
    def _scale(self) -> Scale:
        return Scale(self.reference, self.sizes)

    @property
    def _workers(self) -> Replicas:
        if self._replicas is None:
            self._replicas = self.runner.replicate_apart(Worker, self.task, self.given, self.prices, self.budget)
        return self._replicas

    def parse(self, text: str) -> Program:
        """Return the program of a text."""
        return parse_program(text, "a program of the run", self.task)

    def _try(self, attempt: Attempt, parents: tuple[int, ...]) -> None:
        """Have an attempt made, in place."""
        wait = self._workers.submit("attempt", self._scale, attempt)
        self._flight.append(Planned(attempt, parents, wait))

    def _learn(self, part: Part, due: int | None = None) -> None:
        """Have a gradient run advanced, in place."""
        wait = self._workers.submit("learn", part)
        window = WINDOW if part.is_later else FIRST_WINDOW
        due = self.rounds + window * self.config.islands if due is None else due
        self._gradients = sorted(
            [*(one for one in self._gradients if one.part.run != part.run), Running(part, due, wait)],
            key=lambda one: one.part.run,
        )

    def _take_attempt(self, planned: Planned) -> None:
        """Wait for an attempt, and take in what came of it, in place."""
        judged, attempt = planned.wait(), planned.attempt
        self.tried += judged.tried
        self.tried_in_vain += judged.tried
        self.population.learn_failures(judged.failing)
        is_new = judged.program != attempt.program
        how = f"edited on {attempt.focus}" if attempt.focus else "edited"
        made = self._add(judged, how, planned.parents, is_start=False) if is_new else None
        self.population.receive(attempt.number % self.config.islands, attempt, judged, made)
        self.population.drop_unused(also=[number for one in self._gradients for number in one.part.parents])

    def _take_learned(self, running: Running) -> None:
        """Wait for a part of a gradient run, take in its program, and have the run advanced further, in place."""
        part, learned = running.part, running.wait()
        how = f"gradients from {'the best program' if part.program else NOTHING}"
        for program in learned.programs:
            judged = self._judge_learned(program, is_late=part.is_later)
            if judged is not None and all(program != one.program for one in self.population.found.values()):
                self._add(judged, how, part.parents, is_start=not part.program)
        if learned.state is not None:
            self._learn(part._replace(state=learned.state))
        else:
            self._learn(self._from_best(part.next()) if part.run else part.next())

    def _from_best(self, part: Part) -> Part:
        """Return the first part of a gradient run that begins with the best program, if there is one."""
        return part if self.best is None else part._replace(program=self.best.program, parents=(self.best.number,))

    def _judge_learned(self, program: str, *, is_late: bool) -> Judged | None:
        """Return the measures of a program of a gradient run.

        The first that is sound becomes what costs are relative to, in place; of later runs any. None for others.
        """
        before = self._scale
        if not self.reference:
            self._set_scale(program)
        judged: Judged = self._workers.submit("judge", self._scale, program, self.rounds)()
        if before.reference or judged.is_sound or is_late:
            return judged
        self.reference, self.sizes = before
        return None

    @property
    def _must_rescale(self) -> bool:
        """Whether costs are relative to a program that fails, and there is one that does not.

        A program that fails may answer at once where others have to work, so what it costs says little.
        """
        return not self.is_reference_sound and self.best is not None and self.best.is_sound

    def _rescale(self) -> None:
        """Let costs be relative to the best program, and begin all chains anew, in place."""
        assert self.best is not None
        self._set_scale(self.best.program)
        found = [*self.population.found.values()]
        waits = [self._workers.submit("judge", self._scale, one.program, one.number) for one in found]
        for one, wait in zip(found, waits, strict=True):
            self.population.measure_again(one.number, wait())
        self.population.islands = [None] * self.config.islands
        self.means, self.is_reference_sound = list(self.best.means), True

    def _add(self, outcome: Judged, how: str, parents: tuple[int, ...], *, is_start: bool = True) -> Found:
        if not self.means:  # the first program is the one that costs are relative to
            self.means, self.is_reference_sound = list(outcome.means), outcome.is_sound
        return self.population.add(outcome, self.parse(outcome.program), self.prices, how, parents, is_start)

    # The end

    def let_go(self) -> None:
        """End the work that is on its way, in place: what was saved is all that a run needs to go on."""
        if self._replicas is not None:
            self._replicas.close()
            self._replicas = None

    def describe(self, agent: AnyAgent | None = None) -> str:
        """Return the front, how the best program came about, and how sure it is, as text."""
        return str(self.front() or "")

    def front(self) -> Front | None:
        """Return the front, how the best program came about, and how sure it is; None before there is a program."""
        return find_front(self)

    def write_files(self, folder: Path) -> None:
        """Write the programs of the front into a folder of a run, with a record of where each came from."""
        if self.best is not None:
            write_front(self, folder)

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        tensors, parts = save_parts([one.part for one in self._gradients])
        student = None
        if self.has_network:
            learned, student = self.student.save_state()
            tensors |= {f"student.{name}": array for name, array in learned.items()}
        texts: dict[str, int] = {}
        flight = []
        for planned in self._flight:
            known = [texts.setdefault(text, len(texts)) for text in planned.attempt.known]
            flight.append({**planned.attempt._asdict(), "known": known, "parents": list(planned.parents)})
        return tensors, {
            **{name: getattr(self, name) for name in KEPT},
            **{"sizes": list(self.sizes), "texts": list(texts), "flight": flight},
            **{"population": self.population.save(), "student": student},
            **{"parts": parts, "due": [one.due for one in self._gradients]},
        }

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place, and begin again what was on its way."""
        state = validate(STATE, record, SOURCE)
        self._reset()
        for name in KEPT:
            setattr(self, name, state[name])
        self.sizes = tuple(state["sizes"])
        self.population = Population.load(state["population"], self.config.islands)
        for one in self.population.found.values():
            self.parse(one.program)
        for saved in state["flight"]:
            if any(k >= len(state["texts"]) for k in saved["known"]):
                raise SavedFileError(f"{SOURCE} lacks counter-examples that an attempt knows")
            known = tuple(state["texts"][k] for k in saved["known"])
            self._try(
                Attempt(**{**{name: saved[name] for name in Attempt._fields}, "known": known}), tuple(saved["parents"])
            )
        for part, due in zip(load_parts(tensors, state["parts"]), state["due"], strict=False):
            self._learn(part, due)
        self._student = None
        if self.has_network and state["student"] is not None:
            self.student.load_state(tensors, state["student"])
