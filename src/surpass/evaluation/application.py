"""Run an agent on one's own lists: the result of each, and its steps."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from surpass.agents import AgentLike, TaskLike, as_agent
from surpass.arrays import Ints, Reals
from surpass.engine.advance import Player
from surpass.engine.batch import Batch
from surpass.engine.run import AnyAgent, core_count, run_by
from surpass.errors import DataFileError, InstanceError
from surpass.machine.state import FIRST, SCORE, Outcome
from surpass.printing import Printed, Progress, count, text_table
from surpass.programs.export.plan import signature_of
from surpass.table import Agent, Table
from surpass.tasks.files import Written, read_written
from surpass.tasks.signature import Signature
from surpass.tasks.task import Instances, Limit, Number, Task, join_instances, parse_numbers, split_words

MOST_SHOWN = 20
"""How many results are printed; all of them are in `rows` and in files."""


@dataclass(frozen=True)
class Application:
    """What came of one list."""

    place: str
    """Where the list stands: `line 3` of a file, or `list 0`."""
    size: int
    is_solved: bool
    outcome: str
    """How the run ended, in words."""
    steps: int
    result: dict[str, Any] | None
    """What the task's programs give back, by name; None unless it is solved, since it would be wrong."""


@dataclass(frozen=True, repr=False)
class Applications(Printed):
    """What an agent made of one's own lists, in their order."""

    agent: str
    task: str
    limit: str
    rows: tuple[Application, ...]

    @property
    def unsolved(self) -> tuple[Application, ...]:
        """Those that were not solved."""
        return tuple(row for row in self.rows if not row.is_solved)

    @property
    def results(self) -> list[dict[str, Any] | None]:
        """The result of each list; None where it was not solved."""
        return [row.result for row in self.rows]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what the results hold."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.result or ()))

    @property
    def summary(self) -> str:
        """How many lists were solved in how many steps, and why the others were not, in a sentence."""
        steps = sum(row.steps for row in self.rows)
        said = f"{self.agent} solved {len(self.rows) - len(self.unsolved):,} of {count(len(self.rows), 'list')}"
        said += f" in {count(steps, 'step')}"
        if not self.unsolved:
            return said
        first = self.unsolved[0]
        return f"{said}; {count(len(self.unsolved), 'list')} not, the first at {first.place}: {first.outcome}"

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        about = {"agent": self.agent, "task": self.task, "limit": self.limit}
        return {**about, "solved": len(self.rows) - len(self.unsolved), "rows": [vars(row) for row in self.rows]}

    def as_csv(self) -> str:
        """Return a line for each list; a result that is a list stands in one cell, with commas between."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["place", "solved", "outcome", "steps", *self.names])
        for row in self.rows:
            about = [row.place, "yes" if row.is_solved else "no", row.outcome, row.steps]
            writer.writerow([*about, *_cells(row, self.names)])
        return text.getvalue()

    def __str__(self) -> str:
        columns = ["place", "solved", "steps", *self.names]
        rows = [
            [row.place, "yes" if row.is_solved else row.outcome, f"{row.steps:,}"] + _cells(row, self.names)
            for row in self.rows[:MOST_SHOWN]
        ]
        more = len(self.rows) - MOST_SHOWN
        note = f"and {count(more, 'more list')}" if more > 0 else ""
        return text_table(f"{self.agent} on {self.task}", columns, rows, note) + f"\n{self.summary}\n"


def apply(
    agent: AgentLike,
    lists: str | Path | Iterable[Any],
    *,
    task: TaskLike | None = None,
    limit: str | None = None,
    progress: Progress | None = None,
) -> Applications:
    """Run an agent on one's own lists, and return the result of each.

    `lists` is a file, or something with a list of numbers in it for each instance; where an instance has several parts,
    such as a list and a query, these stand in a tuple: `[([1, 3, 5], 3), ([2, 4], 3)]`. Values come back as they
    were given.
    """
    found = as_agent(agent, task)
    of_task, most = found.task, Limit.parse(limit or found.task.limit)
    written: list[Written] = []
    instances: list[Instances] = []
    for one in read_written(Path(lists)) if isinstance(lists, str | Path) else _given(of_task, lists):
        try:
            instances.append(of_task.read_parts(one.parts)[0])
        except InstanceError as error:
            kind = DataFileError if isinstance(lists, str | Path) else InstanceError
            where = f"{lists}, " if isinstance(lists, str | Path) else ""
            raise kind(f"{where}{one.place}: {error}") from None
        written.append(one)
    if not written:
        raise InstanceError(f"{lists if isinstance(lists, str | Path) else 'what was given'} holds no lists")
    return Applications(found.name, of_task.name, str(most), _run(found, written, instances, most, progress))


def _given(task: Task, lists: Iterable[Any]) -> Iterator[Written]:
    """Yield a caller's lists, each a text, a list of numbers, or a tuple of such."""
    if not isinstance(lists, Iterable):
        raise InstanceError(f"{lists!r} holds no lists; give a file or a list of lists such as [[5, 2, 9, 1]]")
    for number, one in enumerate(lists):
        place = f"list {number}"
        if isinstance(one, str):
            try:
                words = [split_words(part) for part in one.split(":")]
                yield Written(place, words, [parse_numbers(part) for part in one.split(":")])
            except InstanceError as error:
                raise InstanceError(f"{place}: {error}") from None
            continue
        whole = one.tolist() if isinstance(one, np.ndarray) else one
        if not isinstance(whole, Sequence):
            raise InstanceError(
                f"{place} is {one!r}; it must be {task.inputs.written}, or numbers such as [5, 2, 9, 1]"
            )
        is_several = any(isinstance(part, Sequence | np.ndarray) for part in whole)
        parts = [_numbers(place, part) for part in whole] if is_several else [_numbers(place, whole)]
        yield Written(place, parts, parts)


def _numbers(place: str, part: Any) -> list[Number]:
    """Return a part of an instance as a list, every one of which is a number that can be ordered."""
    values = part.tolist() if isinstance(part, np.ndarray) else part
    found = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    for value in found:
        if not isinstance(value, Real) or isinstance(value, bool) or value != value:
            raise InstanceError(f"{place} holds {value!r}, which is not a number that can be ordered")
    return found


def _cells(row: Application, names: Sequence[str]) -> list[str]:
    """Return the results of a list as they stand in cells: `none` where there is no answer, nothing if unsolved."""
    if row.result is None:
        return [""] * len(names)
    found = [row.result.get(name) for name in names]
    return [",".join(map(str, x)) if isinstance(x, list) else "none" if x is None else str(x) for x in found]


# Running


@dataclass(frozen=True)
class _End:
    """What an episode left behind."""

    outcome: int
    steps: int
    registers: Ints
    items: Ints
    reals: Reals


def _run(
    agent: AnyAgent, written: list[Written], instances: list[Instances], limit: Limit, progress: Progress | None
) -> tuple[Application, ...]:
    """Return what came of each instance; those of a size are run together."""
    ends: dict[int, _End] = {}
    sizes = np.array([int(one.sizes[0]) for one in instances])
    play = Player(Table.of(agent), threads=core_count()).finish if isinstance(agent, Agent) else agent.finish
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        left: list[tuple[Any, ...]] = []

        def finish(batch: Batch, limits: Ints, report: Any, left: list[tuple[Any, ...]] = left) -> Batch:
            ended = play(batch, limits, report)
            left.extend(zip(*(array.copy() for array in (ended.registers, ended.items, ended.reals)), strict=True))
            return ended

        done = len(ends)
        report = (lambda n, d=done: progress(f"{agent.name}: doing the lists", d + n, len(sizes))) if progress else None
        found = run_by(finish, agent.task, join_instances(agent.task, [instances[k] for k in rows]), limit, report)
        for k, memory, outcome, steps in zip(rows, left, found.outcomes, found.steps, strict=True):
            ends[int(k)] = _End(int(outcome), int(steps), *memory)
    give = _Results(agent.task, written, instances, ends)
    return tuple(
        Application(
            place=written[k].place,
            size=int(sizes[k]),
            is_solved=ends[k].outcome == Outcome.SOLVED,
            outcome=Outcome(ends[k].outcome).reason,
            steps=ends[k].steps,
            result=give.of(k) if ends[k].outcome == Outcome.SOLVED else None,
        )
        for k in range(len(written))
    )


class _Results:
    """What the programs of a task give back, as its signature says, with the values as they were written."""

    def __init__(self, task: Task, written: list[Written], instances: list[Instances], ends: dict[int, _End]) -> None:
        self.task, self.written, self.instances, self.ends = task, written, instances, ends
        self.signature: Signature = signature_of(task)
        gives_more = self.signature.everything or self.signature.answer is not None or self.signature.chosen
        self.gives_list = self.signature.items in ("list", "memory") and (not gives_more or self._changes_lists())

    def _changes_lists(self) -> bool:
        sizes = ((k, int(one.sizes[0])) for k, one in enumerate(self.instances))
        return any(not np.array_equal(self.ends[k].items[:n], self.instances[k].items[0, :n]) for k, n in sizes)

    def of(self, number: int) -> dict[str, Any]:
        """Return the result of an instance."""
        signature, end, result = self.signature, self.ends[number], dict[str, Any]()
        if self.gives_list:
            result["list"] = self._list(number)
        if signature.answer is not None:
            answer = int(end.registers[signature.answer])
            result[self.task.memory.names[signature.answer - FIRST]] = answer if answer >= 0 else None
        if signature.chosen:
            result |= self._chosen(number)
        if signature.score:
            result[signature.score] = float(end.reals[SCORE])
        if signature.everything:
            registers = zip(self.task.memory.names, end.registers[FIRST:].tolist(), strict=True)
            result |= {name: held for name, held in registers if not name.startswith("_")}
        return result

    def _list(self, number: int) -> list[Any]:
        """Return the list at the end; a value that the list held at the start is written as it was there."""
        size = int(self.instances[number].sizes[0])
        words: dict[int, deque[Any]] = {}
        given = self.written[number].words[0]
        before, after = self.instances[number].items[0, :size].tolist(), self.ends[number].items[:size].tolist()
        for item, word in zip(before, given, strict=False) if len(given) == size else ():
            words.setdefault(item, deque()).append(word)
        return [words[item].popleft() if words.get(item) else item for item in after]

    def _chosen(self, number: int) -> dict[str, Any]:
        """Return the positions that were chosen, and the sum of each of the numbers that the items have."""
        size, end = int(self.instances[number].sizes[0]), self.ends[number]
        chosen = np.flatnonzero(end.items[size : 2 * size] == 1)
        sums = {
            f"sum of {given.name}": float(end.reals[given.place + given.sizes * size + chosen].sum())
            for given in self.signature.reals
            if given.each
        }
        return {self.signature.chosen: chosen.tolist(), **sums}
