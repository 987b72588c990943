"""Recordings: one agent's run on one instance as plain data, from which every moving picture is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints
from surpass.engine.record import Episode, record
from surpass.engine.run import AnyAgent, run
from surpass.errors import SettingError
from surpass.machine.calls import NO_RECEIVER
from surpass.machine.state import FIRST, FUNCTION, PREVIOUS, Outcome
from surpass.machine.trace import TraceStep
from surpass.pictures.plan import PicturePlan, plan_of
from surpass.pictures.scene import Renderer, Scene
from surpass.printing import Progress, count
from surpass.programs.extract import write_program
from surpass.programs.listing import ListedLine, list_program
from surpass.programs.program import Program
from surpass.reading import show
from surpass.table import Agent, Table
from surpass.tasks.task import Limit, Request, Task

MOST_STEPS = 10_000
"""How many steps of a run are shown."""
MOST_CHANGES = 100_000
"""How many changes of what is shown: a file of about two megabytes."""
MOST_SIZE = 2_000
"""The largest size that is shown: more bars than a screen has columns tell nothing."""
OTHER_RUNS = 30
"""How many more runs, of each of the sizes to learn on, the rules of an agent without a program are taken from."""
MOST_OBSERVATIONS = 1_000
"""From more observations than this, rules take long to write and are no easier to read than the table."""
MOST_LINES = 1_000
"""A longer listing is not shown."""


class Listing(NamedTuple):
    """The lines of a program, and where they come from."""

    lines: tuple[ListedLine, ...]
    note: str
    program: Program | None = None


class Move(NamedTuple):
    """One step, and what it changed."""

    action: str
    rule: int | None
    """The rule that fired, as the listing counts them from 0 on."""
    changes: tuple[tuple[int, str], ...]
    """Each slot that changed, with what stands in it now."""
    function: str
    previous: str
    """What the agent sees as its previous action from now on; it is one of its function's own."""
    kept: int
    """How many of the calls that were open still are..."""
    opened: tuple[str, ...]
    """...and those that were opened."""
    bracket: tuple[int, int] | None
    """Where the level can be, as far as everything seen until now tells."""
    score: float


@dataclass(frozen=True, repr=False)
class Recording:
    """A run of an agent on an instance."""

    task: Task
    agent: str
    instance: str
    renderer: Renderer
    start: tuple[str, ...]
    """What stands in each slot of the plan before the first step."""
    moves: tuple[Move, ...]
    outcome: str
    uses_budget: bool
    """Whether steps are a budget, and the run used all of it."""
    steps: int
    """How many steps the whole run takes, as `surpass evaluate` counts them; the recording may show fewer."""
    first_score: float
    score: float
    """The score of the whole run at its end."""
    listing: Listing
    notices: tuple[str, ...]
    """What to know about the recording."""

    @property
    def plan(self) -> PicturePlan:
        """What is shown of an episode."""
        return self.renderer.plan

    @property
    def ending(self) -> str:
        """How what is shown ends, in a few words: where steps are a budget, using it up does not solve the task."""
        if len(self.moves) < self.steps:
            return "cut"
        return "budget used" if self.uses_budget else self.outcome

    @cached_property
    def calls(self) -> bool:
        """Whether the run calls a function."""
        return any(move.opened for move in self.moves)

    @cached_property
    def idle(self) -> frozenset[int]:
        """The slots that say nothing: the score of a task that never counts one."""
        scores = {slot for slot, name in enumerate(self.plan.names) if name == self.task.memory.reals[0]}
        changed = {slot for move in self.moves for slot, _ in move.changes}
        return frozenset(scores - changed) if self.task.measure != "reward" else frozenset()

    @cached_property
    def awaited(self) -> frozenset[int]:
        """The slots of registers that hold an answer once there is one, and -1 before."""
        registers = set(self.task.memory.names)
        names = self.plan.names
        return frozenset(slot for slot in self.plan.values if names[slot] in registers and self.start[slot] == "-1")

    def scenes(self) -> Iterator[tuple[Scene, Move | None]]:
        """Yield the scene at the start and after each move, with that move."""
        texts, hidden = list(self.start), set(self.idle | self.awaited)
        for at, move in enumerate((None, *self.moves)):
            changes = move.changes if move else ()
            for slot, text in changes:
                texts[slot] = text
            changed = [slot for slot, _ in changes]
            hidden.difference_update(changed, self.awaited if at == len(self.moves) else ())
            yield self.renderer.scene(texts, changed, hidden), move

    def __repr__(self) -> str:
        steps = count(self.steps, "step")
        how = f"budget of {steps} used" if self.uses_budget else f"{self.outcome} after {steps}"
        score = f", score {self.score:.4g}" if self.task.measure == "reward" else ""
        return f"{self.agent} on {self.task.name}: {how}{score}"


def saving(recordings: Sequence[Recording]) -> str:
    """Return what the first of two recordings saves against the second, in words; empty unless both are solved."""
    first, second = recordings
    if first.outcome != "solved" or second.outcome != "solved":
        return ""
    if first.task.measure == "reward":
        gain = first.score - second.score
        return f"a score {abs(gain):.3g} {'higher' if gain > 0 else 'lower'}" if gain else "no difference"
    saved = second.steps - first.steps
    share = f" ({abs(saved) / second.steps:.0%})" if second.steps else ""
    return f"{abs(saved):,} steps{share} {'saved' if saved > 0 else 'more'}" if saved else "no difference"


def record_run(
    agent: AnyAgent,
    instance: str,
    *,
    limit: Limit | None = None,
    listing: bool = True,
    progress: Progress | None = None,
) -> Recording:
    """Return an agent's run on one written instance, with the listing of its program if `listing`."""
    task, report = agent.task, progress or (lambda *_: None)
    start, labels = task.parse_instance(instance)
    size = int(start.sizes[0])
    if size > MOST_SIZE:
        raise SettingError(
            f"a picture shows up to {MOST_SIZE:,} values, and {show(instance)} has {size:,}: watch a smaller size, and"
            " measure larger ones with surpass evaluate"
        )
    plan = plan_of(task, size)
    recorder = _Recorder(plan, labels)
    trace = record(agent, instance, limit=limit, look=recorder.look, progress=lambda n: report("steps so far", n, None))
    # Where steps are a budget, spending it in a loop is not a failure.
    results = run(agent, start, limit=limit, find_loops=not task.limit_is_budget)
    steps, outcome = int(results.steps[0]), Outcome(int(results.outcomes[0])).reason
    budget = int((limit or Limit.parse(task.limit)).steps(start.sizes)[0])
    aid = _write_listing(agent, recorder.observations, progress) if listing else Listing((), "")
    moves = recorder.moves
    if aid.program is not None:
        fired = aid.program.rules_for(np.array(recorder.observations, np.int64))
        moves = [move._replace(rule=int(rule)) for move, rule in zip(moves, fired, strict=True)]
    notices = []
    if trace.outcome == "loop":
        notices.append(
            f"After {count(len(moves), 'step')} everything is as it was before: from here on the run repeats itself."
        )
    elif len(moves) < steps:
        notices.append(
            f"The first {len(moves):,} of {steps:,} steps are shown: the rest is left out to keep the page small."
        )
    return Recording(
        task=task,
        agent=agent.name,
        instance=instance,
        renderer=recorder.renderer,
        start=recorder.start,
        moves=tuple(moves),
        outcome=outcome,
        uses_budget=outcome == "solved" and task.limit_is_budget and steps >= budget,
        steps=steps,
        first_score=recorder.first_score,
        score=float(results.scores[0]),
        listing=aid,
        notices=tuple(notices),
    )


def _write_listing(agent: AnyAgent, observations: Sequence[int | None], progress: Progress | None) -> Listing:
    """Return the listing of an agent whose run showed some observations.

    An agent that is a program is listed as it is. For another one rules are written, quickly, that do what it did in
    this run and some more; `surpass show` looks at everything that occurs, which takes longer.
    """
    if not isinstance(agent, Agent):
        return Listing((), f"{agent.name} sees the whole list: there are no rules to show.")
    program, note = agent, ""
    if not isinstance(program, Program):
        seen = np.unique(np.array([o for o in observations if o is not None], np.int64))
        table, where = Table(agent.task, agent), f"this run and {2 * OTHER_RUNS} more"
        inputs = agent.task.inputs
        for size in agent.task.training_sizes:
            request = Request(size=size, count=OTHER_RUNS, data=inputs.usual_data, queries=inputs.usual_queries)
            run(table, agent.task.draw(request))
        table.actions(seen)
        if len(table) > MOST_OBSERVATIONS:
            table, where = Table(agent.task, agent), "this run"
            table.actions(seen)
        if len(table) > MOST_OBSERVATIONS or not len(table):
            told = f"{agent.name} saw {len(table):,} different observations here, too many to list as rules."
            return Listing((), told)
        program = write_program(agent.name, table, progress)
        note = f"Rules that do what {agent.name} did in {where}; surpass show {agent.name} looks at all that can occur."
    lines = list_program(program)
    if len(lines) > MOST_LINES:
        return Listing((), f"{program.name} has {len(program.rules):,} rules, too many to show beside its run.")
    return Listing(tuple(lines), note, program)


class _Recorder:
    """Looks at an episode after each step, and keeps what changed of what is shown."""

    def __init__(self, plan: PicturePlan, labels: tuple[str, ...]) -> None:
        self.plan, self.labels = plan, labels
        self.slots = {name: slot for slot, name in enumerate(plan.names)}
        self.moves: list[Move] = []
        self.observations: list[int | None] = []
        self.changes = 0
        self._frames: list[str] = []
        self._stack: Ints = np.zeros(0, np.int64)

    def look(self, episode: Episode, step: TraceStep | None) -> bool:
        """Keep what a step changed; return whether there is room for more."""
        state, plan = episode.state, self.plan
        if step is None:
            self.renderer = Renderer(plan, state.reals.copy(), self.labels)
            self._texts = plan.read(state.registers, state.items, state.reals, self.labels)
            self.start = tuple(self._texts)
            self.first_score = float(state.reals[0])
            self._bracket = self.renderer.scene(self._texts).bracket
            return True
        changes = tuple((self.slots[c.name], c.after) for c in step.changes if c.name in self.slots)
        for slot, text in changes:
            self._texts[slot] = text
        kept, opened = self._compare_stack(state.stack)
        if plan.bracket and self._bracket:
            # Where the level can be is where it could be before and, by what is seen now, still can.
            now = self.renderer.scene(self._texts).bracket or (1, 0)
            low, high = max(now[0], self._bracket[0]), min(now[1], self._bracket[1])
            self._bracket = (low, high) if low <= high else None
        self.moves.append(
            Move(
                action=step.action,
                rule=None,
                changes=changes,
                function=self._function(int(state.registers[FUNCTION])),
                previous=self._action(int(state.registers[PREVIOUS])),
                kept=kept,
                opened=opened,
                bracket=self._bracket,
                score=float(state.reals[0]),
            )
        )
        self.observations.append(step.observation)
        self.changes += len(changes) + 1
        return len(self.moves) < MOST_STEPS and self.changes < MOST_CHANGES

    def _compare_stack(self, words: Ints) -> tuple[int, tuple[str, ...]]:
        """Return how many open calls are as they were, and those that are new."""
        if np.array_equal(words, self._stack):
            return len(self._frames), ()
        wide = self.plan.task.frame_size
        common = min(len(words), len(self._stack))
        differs = np.flatnonzero(words[:common] != self._stack[:common])
        kept = int(differs[0] if differs.size else common) // wide
        opened = tuple(self._frame(frame) for frame in words[kept * wide :].reshape(-1, wide))
        self._frames = [*self._frames[:kept], *opened]
        self._stack = words.copy()
        return kept, opened

    def _frame(self, frame: Ints) -> str:
        """Return an open call in words: who waits, at which action, for what, and what it keeps."""
        function, previous, receiver, *saved = frame.tolist()
        names = self.plan.task.memory.names
        kept = ", ".join(f"{name} = {value}" for name, value in zip(names, saved, strict=False) if name[0] != "_")
        text = f"{self._function(function)}: {self._action(previous)}"
        if receiver != NO_RECEIVER and 0 <= receiver - FIRST < len(names):
            text += f" into {names[receiver - FIRST]}"
        return f"{text}; {kept}" if kept else text

    def _function(self, number: int) -> str:
        return f"function {number}" if number else "main"

    def _action(self, previous: int) -> str:
        interface = self.plan.task.interface
        return "" if previous == 0 or interface.is_full_view else str(interface.actions[previous - 1])
