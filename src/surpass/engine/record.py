"""Record one run step by step, and replay a recorded one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np

from surpass.arrays import Ints
from surpass.engine.advance import advance, judge_spent
from surpass.engine.batch import Batch, allocate
from surpass.engine.check_task import check_once
from surpass.engine.run import AnyAgent
from surpass.engine.specialise import specialise
from surpass.errors import TraceError
from surpass.machine.instructions import Action
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import DEPTH, FIRST, FUNCTION, Outcome, State
from surpass.machine.trace import Change, Trace, TraceStep
from surpass.reading import Range, check_range
from surpass.table import Agent, Table
from surpass.tasks.task import Instances, Limit, Task

TRACED = Range(0, 100_000)
"""The sizes of which a run is recorded: every step is kept, and the whole instance stands above them."""


class Episode:
    """One episode that is stepped by hand, by the same kernels that run batches."""

    def __init__(self, task: Task, instance: Instances, limit: int, labels: Sequence[str] = ()) -> None:
        self.task = task
        self.labels = labels
        self._kernels = specialise(task)
        self._limits = np.array([limit])
        self._start = instance
        self._size = int(instance.sizes[0])
        check_once(task, self._size)
        self.batch = allocate(task, 1, self._size)
        """The episode as a batch of one."""
        self._kernels.reset(self.batch, *map(np.ascontiguousarray, instance), np.arange(1))

    @property
    def outcome(self) -> Outcome:
        """How the episode stands."""
        return Outcome(int(self.batch.outcomes[0]))

    @property
    def judged(self) -> Outcome:
        """How the episode stands, once the task's `find_wrong` has looked at what the kernels call solved."""
        batch, task = self.batch, self.task
        if self.outcome != Outcome.SOLVED or not task.judge(self._start, batch.registers, batch.items, batch.reals)[0]:
            return self.outcome
        return Outcome.WRONG_ANSWER

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return int(self.batch.registers[0, DEPTH])

    @property
    def items(self) -> Ints:
        """The list as it stands, [1, n]."""
        return self.batch.items[:, : self._size]

    @property
    def state(self) -> State:
        """The whole memory as it stands, which the next step changes in place; of the stack, the open calls."""
        batch = self.batch
        stack = batch.stack[0, : self.depth * self.task.frame_size]
        return State(batch.registers[0], batch.items[0], batch.reals[0], stack)

    @property
    def digest(self) -> bytes:
        """A short text that tells whole states apart: registers, integers, real numbers and open calls."""
        return hashlib.blake2b(b"".join(part.tobytes() for part in self.state), digest_size=16).digest()

    @property
    def is_running(self) -> bool:
        """Whether the episode waits for an action."""
        return self.outcome == Outcome.RUNNING

    def end(self, outcome: Outcome) -> None:
        """End the episode with an outcome, in place."""
        self.batch.outcomes[0] = outcome

    def observe(self) -> int:
        """Return what the agent sees, packed."""
        digits = np.zeros((1, len(self.task.interface.features)), np.int64)
        self._kernels.look(self.batch, digits)
        return int(self.task.interface.pack_digits(digits)[0])

    def step(self, number: int, row: Ints) -> tuple[Change, ...]:
        """Execute an action in place, given by its number and its row of indices, and return its changes."""
        before = self.snapshot()
        chosen = (np.array([number]), row[None, :], self._limits)
        self.batch = advance(self.task, self.batch, lambda batch: [(self._kernels.step, (batch, *chosen))])
        judge_spent(self.task, self.batch)
        return self._changes(before)

    def snapshot(self) -> Batch:
        """Return a copy of the episode as it stands."""
        return Batch._make(array.copy() for array in self.batch)

    def _changes(self, before: Batch) -> tuple[Change, ...]:
        """Return every named part of the state that differs from `before`."""
        now, task = self.batch, self.task
        was, is_now = before.registers[0].tolist(), now.registers[0].tolist()
        found = [Change("function", str(was[FUNCTION] or None), str(is_now[FUNCTION] or None))]
        found += map(Change, task.memory.names, map(str, was[FIRST:]), map(str, is_now[FIRST:]))
        found = [one for one in found if one.before != one.after and not one.name.startswith("_")]
        for k in np.flatnonzero(before.items[0] != now.items[0]).tolist():
            name = task.memory.item_name(k, self._size)
            if name is not None:
                found.append(Change(name, self._label(before.items[0, k]), self._label(now.items[0, k])))
        for k, name in enumerate(task.memory.reals):
            if before.reals[0, k] != now.reals[0, k]:
                found.append(Change(name, f"{before.reals[0, k]:.6g}", f"{now.reals[0, k]:.6g}"))
        return tuple(found)

    def _label(self, item: int) -> str:
        return self.labels[item] if 0 <= item < len(self.labels) else str(item)


def record(
    agent: AnyAgent,
    instance: str,
    *,
    limit: Limit | None = None,
    look: Callable[[Episode, TraceStep | None], bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Run an agent on one written instance and return every step.

    A run whose whole state repeats is a loop and ends there, unless steps are a budget that may be spent. `look` is
    shown the episode at the start and after each step, with that step; where it returns False, the trace ends.
    """
    task = agent.task
    start, labels = task.parse_instance(instance)
    check_range("the size of a trace", int(start.sizes[0]), TRACED)
    most = int((limit or Limit.parse(task.limit)).steps(start.sizes)[0])
    episode = Episode(task, start, most, labels)
    table = Table.of(agent) if isinstance(agent, Agent) else None
    met: set[bytes] = set()
    steps: list[TraceStep] = []
    goes_on = look is None or look(episode, None)
    while episode.is_running and goes_on:
        depth = episode.depth
        if not task.limit_is_budget:
            state = episode.digest
            if state in met:
                episode.end(Outcome.LOOP)
                break
            met.add(state)
        if table is None:
            row = agent.rows(episode.items)[0]  # type: ignore[union-attr]
            action, seen = Action(task.interface.instructions[row[0]].name, tuple(row[1:].tolist())), None
            changes = episode.step(NO_ACTION, row)
        else:
            seen = episode.observe()
            number = int(table.actions(np.array([seen]))[0])
            if number == NO_ACTION:
                episode.end(Outcome.NO_ACTION)
                break
            action = task.interface.actions[number]
            changes = episode.step(number, task.interface.action_rows[number])
        if episode.outcome == Outcome.STACK_LIMIT:
            break
        steps.append(TraceStep(depth, seen, str(action), changes))
        goes_on = look is None or look(episode, steps[-1])
        if progress:
            progress(len(steps))
    return Trace(task.name, agent.name, instance, most, tuple(steps), episode.judged.reason)


def replay(task: Task, trace: Trace) -> None:
    """Raise `TraceError` unless the trace's actions, executed on its instance, show and change what it says."""
    start, labels = task.parse_instance(trace.instance)
    episode = Episode(task, start, trace.limit, labels)
    for number, step in enumerate(trace.steps, 1):
        if not episode.is_running:
            raise TraceError(f"step {number} comes after the end: {episode.outcome.reason}")
        if episode.depth != step.depth:
            raise TraceError(f"step {number} says depth {step.depth}, but it is {episode.depth}")
        if not task.interface.is_full_view:
            seen = episode.observe()
            if seen != step.observation:
                raise TraceError(f"step {number} says observation {step.observation}, but it is {seen}")
        changes = execute(episode, step.action)
        if changes != step.changes:
            shown = ", ".join(map(str, changes)) or "nothing"
            raise TraceError(f"step {number}, {step.action}, changes something else than it says: {shown}")
    reason = episode.judged.reason
    # The agent, not the machine, ends a run for want of an action or in a loop.
    if reason != trace.outcome and not (reason == "running" and trace.outcome in ("no action", "loop", "stack limit")):
        raise TraceError(f"the trace ends with {trace.outcome!r}, but its steps lead to {reason!r}")


def execute(episode: Episode, action: str) -> tuple[Change, ...]:
    """Execute a written action in an episode in place, and return its changes."""
    interface = episode.task.interface
    if interface.is_full_view:
        return episode.step(NO_ACTION, _pointer_row(action, episode.items.shape[1]))
    number = interface.parse_action(action)
    return episode.step(number, interface.action_rows[number])


def _pointer_row(action: str, size: int) -> Ints:
    """Return what to execute for a written action that points into a list; all pointers must lie in it."""
    inside = re.fullmatch(r"\w+\((\d+), (\d+)\)", action)
    if inside is None or not all(int(pointer) < size for pointer in inside.groups()):
        raise TraceError(f"{action} is not an action on two of the positions 0 to {size - 1}")
    return np.array([0, *map(int, inside.groups())], np.int64)
