"""What a task is: an interface, its memory and kernels, how instances are drawn, and what an episode is worth."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from surpass.arrays import Array, Flags, Ints, Reals
from surpass.errors import DeclarationError, InstanceError, SettingError, UnknownNameError
from surpass.machine.calls import FRAME
from surpass.machine.dispatch import join_features, join_instructions
from surpass.machine.features import Feature
from surpass.machine.interface import Interface
from surpass.machine.state import FIRST
from surpass.tasks.signature import Signature

Number = int | float


@dataclass(frozen=True, eq=False)
class Instances:
    """A batch of inputs, laid out as the memory with which their episodes start."""

    sizes: Ints
    """[B] the size n of each."""
    items: Ints
    """[B, W] the integers of each."""
    reals: Reals
    """[B, X] the real numbers of each."""

    def __iter__(self) -> Iterator[Array]:
        yield from (self.sizes, self.items, self.reals)

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.sizes)

    def part(self, first: int, last: int) -> Instances:
        """Return the instances `first` to `last - 1`."""
        return self.rows(slice(first, last))

    def rows(self, rows: Ints | slice) -> Instances:
        """Return the instances of some rows."""
        return Instances(self.sizes[rows], self.items[rows], self.reals[rows])


def join_instances(task: Task, parts: Sequence[Instances]) -> Instances:
    """Return all instances of some batches together, whatever their sizes."""
    sizes = np.concatenate([part.sizes for part in parts])
    joined = replace(task.allocate(len(sizes), int(sizes.max())), sizes=sizes)
    at = 0
    for part in parts:
        for whole, own in ((joined.items, part.items), (joined.reals, part.reals)):
            width = min(whole.shape[1], own.shape[1])
            whole[at : at + part.count, :width] = own[:, :width]
        at += part.count
    return joined


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which instances to draw. The first instances are the same however many are asked for."""

    size: int
    count: int
    seed: int = 0
    data: str = "uniform"
    queries: str = "mixed"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingError(f"size is {self.size}; it must be 1 or more")
        if self.count < 1:
            raise SettingError(f"the number of instances is {self.count}; it must be 1 or more")
        if self.seed < 0:
            raise SettingError(f"seed is {self.seed}; it must be 0 or more")

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the random numbers of this seed and size for one purpose.

        Draw one array per stream, with the instance as its first axis: then more instances never change the first.
        """
        return np.random.default_rng([self.seed, self.size, zlib.crc32(purpose.encode())])


Draw = Callable[[Request], Instances]


@dataclass(frozen=True)
class Limit:
    """A number of steps that may depend on the size n: `factor * n ** power`."""

    factor: float
    power: int

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Return the limit written as a number, `Kn` or `Kn^2` (K may be left out)."""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)?\s*(?:(n)(\^2)?)?\s*", str(text))
        if not match or not (match[1] or match[2]) or (match[1] and float(match[1]) <= 0):
            raise SettingError(f"the limit {text!r} is not a number above 0, Kn or Kn^2 (such as 5000 or 10n^2)")
        return cls(float(match[1] or 1), (2 if match[3] else 1) if match[2] else 0)

    def steps(self, sizes: Ints) -> Ints:
        """Return the limit for each size, at least 1 step."""
        steps: Ints = np.maximum(1, self.factor * np.asarray(sizes, np.int64) ** self.power).astype(np.int64)
        return steps

    def __str__(self) -> str:
        if self.power == 0:
            return f"{self.factor:g}"
        return ("" if self.factor == 1 else f"{self.factor:g}") + ("n" if self.power == 1 else "n^2")


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """Every small instance of a task, for checks that leave none out."""

    what: str
    """What is enumerated, in words, for certificates."""
    instances: Callable[[int], Iterator[Instances]]
    """Yields the instances of a size in batches, the simplest first; sizes begin with 0, the empty instance."""
    count: Callable[[int], int]
    """How many instances there are of a size."""
    largest: int
    """The size up to which a check goes unless it is told otherwise."""
    exhaustive: bool = True
    """Whether every instance of the kind that `what` names is there, and not a sample."""


@dataclass(frozen=True, kw_only=True)
class Reward:
    """What an episode is worth: `progress * (gain of the score) - step_cost * steps - wrong_cost * [wrong answer]`."""

    step_cost: float = 1.0
    progress: float = 0.0
    wrong_cost: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What an episode remembers beside its instance."""

    registers: Any = ()
    """The task's own registers, as `registers(...)` returns them."""
    hidden: tuple[str, ...] = ()
    """The names of those that are kept out of traces and exported results."""
    saved: int | None = None
    """How many of them, from the first, a call saves and a return restores; None for a task without calls."""
    reals: tuple[str, ...] = ("score",)
    """The leading real numbers, the score first, as traces call them."""
    item_width: Callable[[int], int] = lambda size: size
    """How many integers an instance of a size needs."""
    real_width: Callable[[int], int] = lambda _: 1
    """How many real numbers an instance of a size needs."""
    item_name: Callable[[int, int], str | None] = lambda index, _: f"A[{index}]"
    """What traces call integer `index` of an instance of a size; None keeps it out."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the registers; those that are hidden begin with `_`."""
        fields = getattr(self.registers, "_fields", ())
        return tuple(f"_{name}" if name in self.hidden else name for name in fields)

    def check(self, task: str) -> None:
        """Raise `DeclarationError` unless the parts fit each other."""
        if len(self.names) != len(self.registers):
            raise DeclarationError(f"the registers of task {task!r} have no names; make them with surpass.registers")
        odd = set(self.hidden) - set(getattr(self.registers, "_fields", ()))
        if odd:
            raise DeclarationError(f"task {task!r} hides {sorted(odd)[0]!r}, which is none of its registers")
        if self.saved is not None and not 0 <= self.saved <= len(self.registers):
            raise DeclarationError(
                f"task {task!r} saves {self.saved} registers in a call but has {len(self.registers)}"
            )


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """How the instances of a task are drawn, enumerated, written and read."""

    draw: Mapping[str, Draw]
    """How to draw instances, by the name of the distribution; the first is the default."""
    queries: tuple[str, ...] = ()
    """For tasks that ask for something in a list: the kinds of query that `draw` knows, the default first."""
    small: Enumeration | None = None
    """How to enumerate small instances for checks; a task that reads lists need not say it, and has `every_list`."""
    read: Callable[[Sequence[Sequence[Number]]], tuple[Instances, tuple[str, ...]]] | None = None
    """Turns a written instance (its parts, lists of numbers) into one instance and the texts of its items."""
    write: Callable[[Instances], str] | None = None
    """Turns one instance back into text that `read` understands."""
    complete: Callable[[Sequence[Number], str, np.random.Generator], Sequence[Sequence[Number]]] | None = None
    """Adds a drawn query of a kind to a list that comes without one."""
    written: str = "a list such as 5,2,9,1"
    """How a written instance looks, for messages."""

    @property
    def usual_data(self) -> str:
        """The distribution that is drawn from unless another is named."""
        return next(iter(self.draw))

    @property
    def usual_queries(self) -> str:
        """The kind of query that is drawn unless another is named; any word does where there are none."""
        return self.queries[0] if self.queries else Request.queries


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A question that agents answer, with everything that the engine, Gymnasium and the learners derive theirs from."""

    name: str
    summary: str
    interface: Interface
    start: Callable[..., Any]
    """A kernel that completes the memory of a fresh instance: `start(state)` returns `RUNNING`, or `SOLVED` if there is
    nothing to do."""
    memory: Memory = Memory()
    inputs: Inputs
    find_wrong: Callable[[Instances, Ints, Ints, Reals], Flags]
    """Tells for each instance, from the final registers, items and reals, whether a claimed solution is wrong."""
    limit: str = "10n^2"
    """The default step limit."""
    reward: Reward = Reward()
    measure: Literal["steps", "reward"] = "steps"
    """What agents are compared by: fewer steps or more reward."""
    sizes: tuple[int, ...] = (5, 10, 20, 50, 100)
    """The sizes of a default evaluation."""
    training_sizes: tuple[int, int] = (10, 20)
    """The smallest and largest size to learn on."""
    learning: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings with which each method learns this task best, by the name of the method."""
    signature: Signature | None = None
    """How exported programs are called; if left out, with a list where instances are lists, else with the memory."""
    default_teacher: str = ""
    """The teacher to learn from unless another is named; the first one if empty."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise DeclarationError(f"task name {self.name!r} is not of lower-case letters, digits and dashes")
        for feature in self.interface.features:
            if type(feature) is Feature and feature.kernel is None:
                raise DeclarationError(f"task {self.name!r} needs a kernel for its feature {feature.name!r}")
        for instruction in self.interface.instructions:
            if instruction.does is None:
                raise DeclarationError(f"task {self.name!r} needs a kernel for its instruction {instruction.name}")
        self.memory.check(self.name)
        if not self.inputs.draw:
            raise DeclarationError(f"task {self.name!r} needs at least one way to draw instances")
        Limit.parse(self.limit)

    @cached_property
    def observe(self) -> Callable[..., Any] | None:
        """The kernel that gives the value number of each feature; a full view, which shows the whole list, has none."""
        return None if self.interface.is_full_view else join_features(self.interface.features, self.name)

    @cached_property
    def act(self) -> Callable[..., Any]:
        """The kernel that executes an action, given as indices into the declaration."""
        return join_instructions(self.interface.instructions, self.name)

    @property
    def register_count(self) -> int:
        """All registers: the machine's and the task's."""
        return FIRST + len(self.memory.registers)

    @property
    def frame_size(self) -> int:
        """The words that an open call takes, or 0 if the task has no calls."""
        return 0 if self.memory.saved is None else FRAME + self.memory.saved

    def draw(self, request: Request) -> Instances:
        """Return the instances that `request` asks for."""
        if request.data not in self.inputs.draw:
            raise UnknownNameError(f"distribution for {self.name}", request.data, self.inputs.draw)
        if self.inputs.queries and request.queries not in self.inputs.queries:
            raise UnknownNameError("kind of query", request.queries, self.inputs.queries)
        return self.inputs.draw[request.data](request)

    def allocate(self, count: int, size: int) -> Instances:
        """Return `count` blank instances of a size, for a distribution to fill in."""
        return Instances(
            np.full(count, size, np.int64),
            np.zeros((count, self.memory.item_width(size)), np.int64),
            np.zeros((count, self.memory.real_width(size))),
        )

    def draw_each(self, sizes: Ints, widest: int, ask: Callable[[int, int], Request]) -> Instances:
        """Return an instance of each of some sizes [B], with room for `widest`; `ask(size, count)` says which."""
        drawn = replace(self.allocate(len(sizes), widest), sizes=sizes)
        for size in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == size)
            fresh = self.draw(ask(size, len(rows)))
            items, reals = self.memory.item_width(size), self.memory.real_width(size)
            drawn.items[rows, :items] = fresh.items[:, :items]
            drawn.reals[rows, :reals] = fresh.reals[:, :reals]
        return drawn

    def parse_instance(self, text: str) -> tuple[Instances, tuple[str, ...]]:
        """Return one instance written as text, parts separated by colons, and the texts of its items."""
        if self.inputs.read is None:
            raise InstanceError(f"task {self.name} does not read instances")
        try:
            return self.inputs.read([parse_numbers(part) for part in text.split(":")])
        except InstanceError as error:
            raise InstanceError(f"{text!r} is no instance of {self.name}: {error}") from None
        except (ArithmeticError, TypeError, ValueError):  # a user's own `read` need not look at everything itself
            raise InstanceError(f"{text!r} is no instance of {self.name}: it takes {self.inputs.written}") from None

    def write_instance(self, instance: Instances) -> str:
        """Return one instance as text that `parse_instance` understands."""
        if self.inputs.write is None:
            raise InstanceError(f"task {self.name} does not write instances")
        return self.inputs.write(instance)


MOST_DIGITS = 4000
"""The longest whole number that is read, in digits; Python itself reads 4300."""


def parse_numbers(text: str) -> list[Number]:
    """Return the numbers of a text, separated by commas or blanks."""
    words = text.replace(",", " ").split()
    return [_parse_number(word) for word in words]


def _parse_number(word: str) -> Number:
    if word.lstrip("+-").isdecimal() and len(word) > MOST_DIGITS:
        raise InstanceError(f"a number of {len(word)} digits is too long; the most is {MOST_DIGITS}")
    try:
        return int(word)
    except ValueError:
        pass
    try:
        value = float(word)
    except ValueError:
        raise InstanceError(f"{word!r} is not a number") from None
    if value != value:
        raise InstanceError(f"{word!r} cannot be ordered: NaN compares with nothing")
    return value
