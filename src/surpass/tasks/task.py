"""What a task is: an interface, its memory and kernels, how instances are drawn, and what an episode is worth."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from surpass.errors import DeclarationError, InstanceError, SettingError, UnknownNameError
from surpass.machine.calls import FRAME
from surpass.machine.interface import Interface
from surpass.machine.state import FIRST

__all__ = ["Enumeration", "Instances", "Limit", "Request", "Reward", "Task"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
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

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        yield from (self.sizes, self.items, self.reals)

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.sizes)

    def part(self, first: int, last: int) -> Instances:
        """Return the instances `first` to `last - 1`."""
        return Instances(self.sizes[first:last], self.items[first:last], self.reals[first:last])


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A question that agents answer, with everything that the engine, Gymnasium and the learners derive theirs from.

    `start`, `observe` and `act` are kernels (see `surpass.kernel`) on a `State`:

    - `start(state) -> Outcome` completes the memory of a fresh instance; it returns `SOLVED` if there is nothing to do.
    - `observe(state) -> tuple` returns the value number of each feature, in the order of the declaration.
    - `act(state, instruction, operands) -> Outcome` executes an action, given as indices into the declaration.
    """

    name: str
    summary: str
    interface: Interface
    start: Callable[..., Any]
    act: Callable[..., Any]
    observe: Callable[..., Any] | None = None
    """Absent for a full view, whose observation is the whole list."""
    registers: tuple[str, ...] = ()
    """The task's own registers, from register `FIRST` on. A name that starts with `_` is kept out of traces."""
    local_count: int = 0
    """How many of them, from the first, a call saves and a return restores."""
    has_calls: bool = False
    """Whether `act` opens calls, so that episodes need a stack."""
    real_names: tuple[str, ...] = ("score",)
    """The leading real numbers, the score first, as traces call them."""
    item_width: Callable[[int], int] = lambda size: size
    """How many integers an instance of a size needs."""
    real_width: Callable[[int], int] = lambda _: 1
    """How many real numbers an instance of a size needs."""
    item_name: Callable[[int, int], str | None] = lambda index, _: f"A[{index}]"
    """What traces call integer `index` of an instance of a size; None keeps it out."""
    data: Mapping[str, Draw] = field(default_factory=dict)
    """How to draw instances, by the name of the distribution; the first is the default."""
    small: Enumeration | None = None
    """How to enumerate small instances for checks; a task that reads lists need not say it, and has `every_list`."""
    queries: tuple[str, ...] = ()
    """For tasks that ask for something in a list: the kinds of query that `data` can draw, the default first."""
    read: Callable[[Sequence[Sequence[Number]]], tuple[Instances, tuple[str, ...]]] | None = None
    """Turns a written instance (its parts, lists of numbers) into one instance and the texts of its items."""
    write: Callable[[Instances], str] | None = None
    """Turns one instance back into text that `read` understands."""
    complete: Callable[[Sequence[Number], str, np.random.Generator], Sequence[Sequence[Number]]] | None = None
    """Adds a drawn query of a kind to a list that comes without one."""
    written: str = "a list such as 5,2,9,1"
    """How a written instance looks, for messages."""
    find_wrong: Callable[[Instances, Ints, Ints, Reals], npt.NDArray[np.bool_]]
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

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise DeclarationError(f"task name {self.name!r} is not of lower-case letters, digits and dashes")
        if self.interface.is_full_view != (self.observe is None):
            raise DeclarationError(f"task {self.name!r} needs `observe` unless its interface has pointer operands")
        if len(set(self.registers)) < len(self.registers):
            raise DeclarationError(f"task {self.name!r} names a register twice: {', '.join(self.registers)}")
        if not 0 <= self.local_count <= len(self.registers):
            raise DeclarationError(
                f"task {self.name!r} saves {self.local_count} registers in a call but has {len(self.registers)}"
            )
        if not self.data:
            raise DeclarationError(f"task {self.name!r} has no data: it needs at least one way to draw instances")
        Limit.parse(self.limit)

    @property
    def register_count(self) -> int:
        """All registers: the machine's and the task's."""
        return FIRST + len(self.registers)

    @property
    def frame_size(self) -> int:
        """The words that an open call takes, or 0 if the task has no calls."""
        return FRAME + self.local_count if self.has_calls else 0

    def draw(self, request: Request) -> Instances:
        """Return the instances that `request` asks for."""
        if request.data not in self.data:
            raise UnknownNameError(f"distribution for {self.name}", request.data, self.data)
        if self.queries and request.queries not in self.queries:
            raise UnknownNameError("kind of query", request.queries, self.queries)
        return self.data[request.data](request)

    def allocate(self, count: int, size: int) -> Instances:
        """Return `count` blank instances of a size, for a distribution to fill in."""
        return Instances(
            np.full(count, size, np.int64),
            np.zeros((count, self.item_width(size)), np.int64),
            np.zeros((count, self.real_width(size))),
        )

    def parse_instance(self, text: str) -> tuple[Instances, tuple[str, ...]]:
        """Return one instance written as text, parts separated by colons, and the texts of its items."""
        if self.read is None:
            raise InstanceError(f"task {self.name} does not read instances")
        try:
            return self.read([parse_numbers(part) for part in text.split(":")])
        except InstanceError as error:
            raise InstanceError(f"{text!r} is no instance of {self.name}: {error}") from None

    def write_instance(self, instance: Instances) -> str:
        """Return one instance as text that `parse_instance` understands."""
        if self.write is None:
            raise InstanceError(f"task {self.name} does not write instances")
        return self.write(instance)


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
