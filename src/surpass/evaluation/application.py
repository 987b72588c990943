"""Run an agent on one's own lists: the result of each, and its steps."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

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
    is_file = isinstance(lists, str | Path)
    written = list(read_written(Path(lists)) if isinstance(lists, str | Path) else _given(of_task, lists))
    if not written:
        raise InstanceError(f"{lists if is_file else 'what was given'} holds no lists")
    read: list[tuple[Instances, tuple[str, ...]]] = []
    for one in written:
        try:
            read.append(of_task.read_parts(one.parts))
        except InstanceError as error:
            kind, where = (DataFileError, f"{lists}, ") if is_file else (InstanceError, "")
            raise kind(f"{where}{one.place}: {error}") from None
    return Applications(found.name, of_task.name, str(most), tuple(_run(found, written, read, most, progress)))


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
        parts = parts_of(task, place, one)
        yield Written(place, parts, parts)


def parts_of(task: Task, place: str, given: Any) -> list[list[Number]]:
    """Return the parts of an instance that is given as a list of numbers, or as a tuple of such."""
    whole = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(whole, Sequence):
        raise InstanceError(f"{place} is {given!r}; it must be {task.inputs.written}, or numbers such as [5, 2, 9, 1]")
    is_several = any(isinstance(part, Sequence | np.ndarray) for part in whole)
    return [_numbers(place, part) for part in whole] if is_several else [_numbers(place, whole)]


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


class _End(NamedTuple):
    """What an episode left behind."""

    outcome: Outcome
    steps: int
    registers: Ints
    items: Ints
    reals: Reals


def _run(
    agent: AnyAgent,
    written: list[Written],
    read: list[tuple[Instances, tuple[str, ...]]],
    limit: Limit,
    progress: Progress | None,
) -> Iterator[Application]:
    """Yield what came of each instance, which was read with the texts of its items."""
    instances = [instance for instance, _ in read]
    ends = _ends_of(agent, instances, limit, progress)
    memory, signature = agent.task.memory, signature_of(agent.task)
    arrays_of = cache(memory.arrays)
    results = _results_of(agent.task, signature, instances, ends, arrays_of)
    for given, (instance, texts), end in zip(written, read, ends, strict=True):
        is_solved, size = end.outcome is Outcome.SOLVED, int(instance.sizes[0])
        registers = dict(zip(getattr(memory.registers, "_fields", ()), end.registers[FIRST:].tolist(), strict=True))
        result, write = dict[str, Any](), _writer(given, instance, texts)
        for label, (name, length) in results.items():
            if name in registers:
                result[label] = registers[name]
            else:
                items = end.items[arrays_of(size).get(name, [])].tolist()
                result[label] = list(map(write, items[: max(0, registers[length])] if length else items))
        yield Application(
            place=given.place,
            size=size,
            is_solved=is_solved,
            outcome=end.outcome.reason,
            steps=end.steps,
            result=result | _read_memory(agent.task, signature, size, end) if is_solved else None,
        )


def _ends_of(agent: AnyAgent, instances: list[Instances], limit: Limit, progress: Progress | None) -> list[_End]:
    """Return how the episode of each instance ends; those of a size are run together."""
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
        for k, memory, outcome, steps in zip(rows.tolist(), left, found.outcomes, found.steps, strict=True):
            ends[k] = _End(Outcome(int(outcome)), int(steps), *memory)
    return [ends[k] for k in range(len(instances))]


def _results_of(
    task: Task,
    signature: Signature,
    instances: list[Instances],
    ends: list[_End],
    arrays_of: Callable[[int], dict[str, list[int]]],
) -> dict[str, tuple[str, str]]:
    """Return what a task's programs return by name: each a register or an array, and the register of its length.

    Unless the task says so, these are all arrays and, of a user's task, registers. A single array is the list, which is
    left out where programs do not change it and return something else.
    """
    if task.memory.results:
        return {name: (name, length) for name, length in task.memory.results.items()}
    results = {name: (name, "") for name in task.memory.names if signature.everything and not name.startswith("_")}
    if signature.items not in ("list", "memory"):
        return results
    arrays = list(arrays_of(max(int(one.sizes[0]) for one in instances)))
    if len(arrays) > 1:
        return {name: (name, "") for name in arrays} | results
    gives_more = signature.everything or signature.answer is not None or signature.chosen
    changes = any(
        (end.items[at] != one.items[0, at]).any()
        for one, end in zip(instances, ends, strict=True)
        for at in arrays_of(int(one.sizes[0])).values()
    )
    return ({"list": ("".join(arrays), "")} if changes or not gives_more else {}) | results


def _read_memory(task: Task, signature: Signature, size: int, end: _End) -> dict[str, Any]:
    """Return what the programs of a task return beside registers and arrays, as its signature says."""
    result: dict[str, Any] = {}
    if signature.answer is not None:
        answer = int(end.registers[signature.answer])
        result[task.memory.names[signature.answer - FIRST]] = answer if answer >= 0 else None
    if signature.chosen:
        chosen = np.flatnonzero(end.items[size : 2 * size] == 1)
        result[signature.chosen] = chosen.tolist()
        for given in signature.reals:
            if given.each:
                numbers = end.reals[given.place + given.sizes * size + chosen]
                result[f"sum of {given.name}"] = float(numbers.sum())
    if signature.score:
        result[signature.score] = float(end.reals[SCORE])
    elif signature.everything and task.measure == "reward":
        result[task.memory.reals[SCORE]] = float(end.reals[SCORE])
    return result


def _writer(given: Written, instance: Instances, texts: Sequence[str]) -> Callable[[int], Any]:
    """Return the function that writes an item as its value was written; equal values in turn as each of them.

    What an item stands for is told by `texts`, or else by the number that was written at its place.
    """
    numbers = [number for part in given.parts for number in part]
    words = [word for part in given.words for word in part]
    placed: set[tuple[int, Number]] = {*zip(instance.items[0].tolist(), numbers, strict=False)}
    is_one_to_one = len(placed) == len({item for item, _ in placed}) == len({number for _, number in placed})
    by_text = {str(number): number for number in reversed(numbers)}
    values = dict(placed) if is_one_to_one else {}
    values |= {item: by_text[text] for item, text in enumerate(texts) if text in by_text}
    written: dict[Number, deque[Any]] = {}
    for number, word in zip(numbers, words, strict=True):
        written.setdefault(number, deque()).append(word)

    def write(item: int) -> Any:
        if (found := written.get(values.get(item, item))) is None:
            return texts[item] if 0 <= item < len(texts) else item
        found.rotate(-1)
        return found[-1]

    return write
