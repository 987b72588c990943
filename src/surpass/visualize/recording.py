"""Recordings: one agent's run on one instance as plain data, from which every moving picture is made."""

from __future__ import annotations

from collections.abc import Iterator
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
from surpass.reading import show
from surpass.tasks.task import Limit, Task
from surpass.visualize.reading_aid import NO_LISTING, Listing, write_aid

MOST_STEPS = 10_000
"""How many steps of a run are shown."""
MOST_CHANGES = 100_000
"""How many changes of what is shown: a file of about two megabytes."""
MOST_SIZE = 2_000
"""The largest size that is shown: more bars than a screen has columns tell nothing."""


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
        return "cut" if not self.is_whole else "budget used" if self.uses_budget else self.outcome

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

    @property
    def is_whole(self) -> bool:
        """Whether every step is shown."""
        return len(self.moves) == self.steps

    def moments(self) -> Iterator[tuple[list[str], Move | None]]:
        """Yield what stands in each slot at the start and after each move, with that move; the list is changed."""
        texts = list(self.start)
        yield texts, None
        for move in self.moves:
            for slot, text in move.changes:
                texts[slot] = text
            yield texts, move

    def scenes(self) -> Iterator[tuple[Scene, Move | None]]:
        """Yield the scene at the start and after each move, with that move."""
        hidden = set(self.idle | self.awaited)
        for at, (texts, move) in enumerate(self.moments()):
            changed = [slot for slot, _ in move.changes] if move else []
            hidden -= {*changed, *(self.awaited if at == len(self.moves) else ())}
            yield self.renderer.scene(texts, changed, hidden), move

    def __repr__(self) -> str:
        steps = count(self.steps, "step")
        how = f"budget of {steps} used" if self.uses_budget else f"{self.outcome} after {steps}"
        value = f", value {self.score:.4g}" if self.task.measure == "reward" else ""
        return f"{self.agent} on {self.task.name}: {how}{value}"


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
    # Where the score counts, steps are a budget, and spending it in a loop is not a failure.
    results = run(agent, start, limit=limit, find_loops=task.measure == "steps")
    steps, outcome = int(results.steps[0]), Outcome(int(results.outcomes[0])).reason
    budget = int((limit or Limit.parse(task.limit)).steps(start.sizes)[0])
    aid = write_aid(agent, recorder.observations, progress) if listing else NO_LISTING
    rules = aid.rules_for(recorder.observations)
    moves = tuple(move._replace(rule=rule) for move, rule in zip(recorder.moves, rules, strict=True))
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
        moves=moves,
        outcome=outcome,
        uses_budget=outcome == "solved" and task.measure == "reward" and steps >= budget,
        steps=steps,
        first_score=recorder.first_score,
        score=float(results.scores[0]),
        listing=aid,
        notices=tuple(notices),
    )


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
        self.moves.append(
            Move(
                action=step.action,
                rule=None,
                changes=changes,
                function=self._function(int(state.registers[FUNCTION])),
                previous=self._action(int(state.registers[PREVIOUS])),
                kept=kept,
                opened=opened,
                bracket=self._narrow(),
                score=float(state.reals[0]),
            )
        )
        self.observations.append(step.observation)
        self.changes += len(changes) + 1
        return len(self.moves) < MOST_STEPS and self.changes < MOST_CHANGES

    def _narrow(self) -> tuple[int, int] | None:
        """Return where the level can be, from what is seen now and what was seen before."""
        if self.plan.bracket and self._bracket:
            now = self.renderer.scene(self._texts).bracket
            low, high = (max(now[0], self._bracket[0]), min(now[1], self._bracket[1])) if now else (1, 0)
            self._bracket = (low, high) if low <= high else None
        return self._bracket

    def _compare_stack(self, words: Ints) -> tuple[int, tuple[str, ...]]:
        """Return how many open calls are as they were, and those that are new."""
        if words.shape == self._stack.shape and np.array_equal(words, self._stack):
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
