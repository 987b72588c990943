"""What a task is: an interface, its memory and kernels, how instances are drawn, and what an episode is worth."""

from __future__ import annotations

import re
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from surpass.arrays import Array, Flags, Ints, Reals
from surpass.errors import DeclarationError, InstanceError, SettingError, UnknownNameError
from surpass.machine.calls import FRAME
from surpass.machine.dispatch import join_features, join_instructions, join_values
from surpass.machine.features import Feature, Value
from surpass.machine.interface import Interface
from surpass.machine.kernel import kernel
from surpass.machine.state import FIRST, SCORE, State
from surpass.machine.state import SIZE as SIZE_REGISTER
from surpass.reading import (
    ANY_SEED,
    COUNT,
    SIZE,
    Finite,
    Name,
    Natural,
    Range,
    Size,
    check_fields,
    check_range,
    show,
    validate,
)
from surpass.tasks.drawing import Drawing
from surpass.tasks.signature import Signature
from surpass.tasks.user_code import place_of_function, user_errors

Number = int | float

ELEMENT = re.compile(r"(.+)\[(\d+)\]")
"""The name of an element of an array: the array's name and the index."""
TRIED_SIZES = (*range(10), 20, 50, 100)
"""The sizes at which a function of the size is tried when it is declared."""
WIDEST = 10**6
"""How many numbers an instance of these sizes may need."""
MOST_TRIED = 1000
"""How many of them are asked for their names then."""
ITEMS = Range(0, 10**9)
"""How many items all instances that are drawn at once may have: 8 GB."""
MOST_STEPS = 10**15
"""The largest number that a limit may be written with; no run comes that far."""


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


def join_instances(task: Task, parts: Sequence[Instances], widest: int = 0) -> Instances:
    """Return all instances of some batches together, whatever their sizes; with room for `widest` if that is more."""
    sizes = np.concatenate([part.sizes for part in parts])
    joined = replace(task.allocate(len(sizes), max(widest, int(sizes.max()))), sizes=sizes)
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
        check_fields(self, "a request", DeclarationError)
        check_range("size", self.size, SIZE)
        check_range("the number of instances", self.count, COUNT)
        check_range("seed", self.seed, ANY_SEED)
        check_range("the number of items, instances times their size,", self.size * self.count, ITEMS)

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
        if not match or not (match[1] or match[2]) or (match[1] and not 0 < float(match[1]) <= MOST_STEPS):
            allowed = f"a number above 0, Kn or Kn^2 (such as 5000 or 10n^2) with K up to {MOST_STEPS:,}"
            raise SettingError(f"the limit {show(text)} is not {allowed}")
        return cls(float(match[1] or 1), (2 if match[3] else 1) if match[2] else 0)

    def steps(self, sizes: Ints) -> Ints:
        """Return the limit for each size: at least 1 step, and at most what no run comes to."""
        steps: Ints = np.clip(self.factor * np.asarray(sizes, np.int64) ** self.power, 1, MOST_STEPS).astype(np.int64)
        return steps

    def __str__(self) -> str:
        if self.power == 0:
            return f"{self.factor:g}"
        return ("" if self.factor == 1 else f"{self.factor:g}") + ("n" if self.power == 1 else "n^2")


def limits_in_turn(text: str, sizes: Ints) -> Ints:
    """Return a limit for each of some instances, which have sizes [m], from limits that are taken in turn."""
    limits = np.array([Limit.parse(word).steps(sizes) for word in text.split(",")])
    turns = np.arange(len(sizes))
    taken: Ints = limits[turns % len(limits), turns]
    return taken


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """Every small instance of a task, for checks that leave none out."""

    what: str
    """What is enumerated, in words, for certificates."""
    instances: Callable[[int], Iterator[Instances]]
    """Yields the instances of a size in batches, the simplest first; sizes begin with 0, the empty instance."""
    count: Callable[[int], int]
    """How many instances there are of a size."""
    largest: Natural
    """The size up to which a check goes unless it is told otherwise."""
    exhaustive: bool = True
    """Whether every instance of the kind that `what` names is there, and not a sample."""

    def __post_init__(self) -> None:
        check_fields(self, "an enumeration", DeclarationError)


@dataclass(frozen=True, kw_only=True)
class Reward:
    """What an episode is worth: `progress * (gain of the score) - step_cost * steps - wrong_cost * [wrong answer]`.

    Where a program with a score must end by itself, an episode that is not solved keeps no gain of the score, and costs
    what a wrong answer does.
    """

    step_cost: Finite = 1.0
    progress: Finite = 0.0
    wrong_cost: Finite = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "a reward", DeclarationError)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What an episode remembers beside its instance."""

    registers: Any = ()
    """The task's own registers, as `registers(...)` returns them."""
    hidden: tuple[str, ...] = ()
    """The names of those that are kept out of traces and exported results."""
    results: Mapping[str, str] = field(default_factory=dict)
    """What `apply` returns: names of registers and of arrays (those of `item_name`, without the index), each array with
    the register that holds its length, or "" for all of it. If left out, all registers and arrays that are shown."""
    saved: Natural | None = None
    """How many of them, from the first, a call saves and a return restores; None for a task without calls."""
    reals: tuple[Name, ...] = ("score",)
    """The leading real numbers, the score first, as traces call them."""
    item_width: Callable[[int], int] = lambda size: size
    """How many integers an instance of a size needs."""
    real_width: Callable[[int], int] = lambda _: 1
    """How many real numbers an instance of a size needs."""
    item_name: Callable[[int, int], str | None] = lambda index, _: f"A[{index}]"
    """What traces call integer `index` of an instance of a size; None keeps it out."""

    def __post_init__(self) -> None:
        check_fields(self, "a memory", DeclarationError)
        if not self.reals:
            raise DeclarationError("the reals of a memory have no names; the first one is the score")
        names = getattr(self.registers, "_fields", ())
        if not names and self.registers != ():
            raise DeclarationError("the registers of a memory have no names; make them with surpass.registers")
        odd = set(self.hidden) - set(names)
        if odd:
            raise DeclarationError(f"a memory hides {sorted(odd)[0]!r}, which is none of its registers")
        for name, length in self.results.items():
            if name not in (*names, *self.arrays(TRIED_SIZES[-1])) or (length and length not in names):
                known = ", ".join([*names, *self.arrays(TRIED_SIZES[-1])])
                raise DeclarationError(f"a memory returns {name!r} of length {length!r}; it has {known}")
        if (self.saved or 0) > len(self.registers):
            raise DeclarationError(f"a call saves {self.saved} registers of a memory that has {len(self.registers)}")
        for name, least in (("item_width", 0), ("real_width", len(self.reals))):
            for size in TRIED_SIZES:
                least = self._call(name, Annotated[int, Range(least, WIDEST)], size)
        for size in (1, 2, 5):
            for index in range(min(self.item_width(size), MOST_TRIED)):
                self._call("item_name", str | None, index, size)

    def _call(self, name: str, kind: Any, *numbers: int) -> Any:
        """Return what one of the functions returns; raise `DeclarationError` unless it is of a kind."""
        whose = f"{name}({', '.join(map(str, numbers))}) of a memory"
        with user_errors(whose):
            returned = getattr(self, name)(*numbers)
        return validate(kind, returned, whose, DeclarationError)

    def arrays(self, size: int) -> dict[str, list[int]]:
        """Return where the values of each array stand in an instance of a size: items named like `A[3]`, by name."""
        found: dict[str, list[int]] = {}
        for place in range(self.item_width(size)):
            if match := ELEMENT.fullmatch(self.item_name(place, size) or ""):
                found.setdefault(match[1], []).append(place)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the registers; those that are hidden begin with `_`."""
        names = getattr(self.registers, "_fields", ())
        return tuple(f"_{name}" if name in self.hidden else name for name in names)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """How the instances of a task are drawn, enumerated, written and read."""

    draw: Mapping[Name, Draw]
    """How to draw instances, by the name of the distribution; the first is the default."""
    queries: tuple[Name, ...] = ()
    """For tasks that ask for something in a list: the kinds of query that `draw` knows, the default first."""
    eval_only_queries: tuple[str, ...] = ()
    """Those of `queries` that are drawn only when they are asked for: they show nothing that the others do not."""
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

    def __post_init__(self) -> None:
        check_fields(self, "inputs", DeclarationError)
        if any(kind not in self.queries[1:] for kind in self.eval_only_queries):
            raise DeclarationError(
                f"eval_only_queries {self.eval_only_queries} are not among `queries` after the first"
            )

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Every distribution with every kind of query that trials, checks and extraction draw, "" if there are none."""
        queries = [kind for kind in self.queries if kind not in self.eval_only_queries] or [""]
        return tuple((data, kind) for data in self.draw for kind in queries)

    @property
    def usual_data(self) -> str:
        """The distribution that is drawn from unless another is named."""
        return next(iter(self.draw))

    @property
    def usual_queries(self) -> str:
        """The kind of query that is drawn unless another is named; any word does where there are none."""
        return self.queries[0] if self.queries else Request.queries


@kernel
def _size(state: State) -> int:
    """Return the size of the instance."""
    return state.registers[SIZE_REGISTER]


@kernel
def _score(state: State) -> float:
    """Return the score."""
    return state.reals[SCORE]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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
    hints: tuple[Value, ...] = ()
    """Numbers from which what is still to come can be estimated: learners may see them, agents do not."""
    is_right: Callable[..., Any] | None = None
    """A kernel that judges: `is_right(state, before)` tells whether what an episode ends with is right, given the items
    with which it began. Learners and checks ask it; exported programs leave it out."""
    find_wrong: Callable[[Instances, Ints, Ints, Reals], Flags] | None = None
    """Tells for each instance, from the final registers, items and reals, whether a claimed solution is wrong: a second
    opinion in NumPy, which only a task with `is_right` may leave out."""
    optimum: Callable[[Instances], Reals] | None = None
    """Returns the best score that there is for each instance, NaN where that would take too long to find."""
    limit: str = "10n^2"
    """The default step limit."""
    reward: Reward = Reward()
    measure: Literal["steps", "reward"] = "steps"
    """What agents are compared by: fewer steps or more reward."""
    limit_is_budget: bool = False
    """Whether the step limit is a budget: any time is an end, and what counts is the score then. Only with
    `measure="reward"`; without it a program must end by itself, also where there is a score."""
    sizes: tuple[Size, ...] = (5, 10, 20, 50, 100)
    """The sizes of a default evaluation."""
    training_sizes: tuple[Size, Size] = (10, 20)
    """The smallest and largest size to learn on."""
    signature: Signature | None = None
    """How exported programs are called; if left out, with a list where instances are lists, else with the memory."""
    default_teacher: str = ""
    """The teacher to learn from unless another is named; the first one if empty."""
    drawing: Drawing = field(default_factory=Drawing)
    """How it is drawn for people to watch."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", str(self.limit) if isinstance(self.limit, int) else self.limit)
        check_fields(self, f"task {self.name!r}", DeclarationError)
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise DeclarationError(f"task name {self.name!r} is not of lower-case letters, digits and dashes")
        if not self.sizes:
            raise DeclarationError(f"task {self.name!r} needs at least one size")
        if self.training_sizes[0] > self.training_sizes[1]:
            raise DeclarationError(f"task {self.name!r}: training_sizes {self.training_sizes} do not rise")
        for feature in self.interface.features:
            if type(feature) is Feature and feature.kernel is None:
                raise DeclarationError(f"task {self.name!r} needs a kernel for its feature {feature.name!r}")
        for instruction in self.interface.instructions:
            if instruction.does is None:
                raise DeclarationError(f"task {self.name!r} needs a kernel for its instruction {instruction.name}")
        items = (self.memory.item_name(k, 2) for k in range(self.memory.item_width(2)))
        self.drawing.check(self.name, getattr(self.memory.registers, "_fields", ()), self.memory.reals, items)
        if self.is_right is None and self.find_wrong is None:
            raise DeclarationError(f"task {self.name!r} needs `is_right` or `find_wrong`, which say what is right")
        if not self.inputs.draw:
            raise DeclarationError(f"task {self.name!r} needs at least one way to draw instances")
        if self.limit_is_budget and self.measure != "reward":
            raise DeclarationError(
                f"task {self.name!r}: limit_is_budget is True and measure is {self.measure!r}; "
                "only with measure='reward' the limit can be a budget"
            )
        Limit.parse(self.limit)

    def __repr__(self) -> str:
        return f"<task {self.name}: {self.summary}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Write a task for another process as its name, and the file that registers it if it is a user's own."""
        from surpass.tasks.user_file import find_task_again, task_file

        return find_task_again, (self.name, task_file(self))

    @cached_property
    def observe(self) -> Callable[..., Any] | None:
        """The kernel that gives the value number of each feature; a full view, which shows the whole list, has none."""
        return None if self.interface.is_full_view else join_features(self.interface.features, self.name)

    @cached_property
    def act(self) -> Callable[..., Any]:
        """The kernel that executes an action, given as indices into the declaration."""
        return join_instructions(self.interface.instructions, self.name)

    @cached_property
    def all_hints(self) -> tuple[Value, ...]:
        """The size, the score, and the hints that the task declares."""
        return (Value("size", _size), Value("score", _score), *self.hints)

    @cached_property
    def hint(self) -> Callable[..., Any]:
        """The kernel that gives all hints."""
        return join_values(self.all_hints, self.name)

    @cached_property
    def seconds_drawing(self) -> defaultdict[str, float]:
        """How many seconds this process has spent in each of `inputs.draw`."""
        return defaultdict(float)

    @property
    def must_finish_score(self) -> bool:
        """Whether the score counts, but only that of an episode which the program ends by itself."""
        return self.measure == "reward" and not self.limit_is_budget

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
        what, began = f"task {self.name!r}: inputs.draw[{request.data!r}]", time.monotonic()
        with user_errors(f"{what}, asked for {request.count} of size {request.size},"):
            drawn = self.inputs.draw[request.data](request)
        self.seconds_drawing[request.data] += time.monotonic() - began
        place = place_of_function(self.inputs.draw[request.data])
        instances = self.check_instances(f"inputs.draw[{request.data!r}]", drawn, place)
        if instances.count != request.count or (instances.sizes != request.size).any():
            sizes = ", ".join(map(str, np.unique(instances.sizes)[:4]))
            raise DeclarationError(
                f"{what} returned {instances.count} instances of the sizes {sizes}; "
                f"it was asked for {request.count} of size {request.size}{place}"
            )
        return instances

    def check_instances(self, what: str, instances: Any, place: str = "") -> Instances:
        """Return what a function of the task made, with the types of the engine; raise if it cannot be instances.

        `place` says in words where the function stands.
        """
        what = f"task {self.name!r}: {what} returned"
        if not isinstance(instances, Instances):
            raise DeclarationError(f"{what} {_short(instances)}; it must return surpass.Instances{place}")
        whole, rows = ("iu", "whole"), (2, "[count, width]")
        forms = {"sizes": (1, "[count]", *whole), "items": (*rows, *whole), "reals": (*rows, "iuf", "real")}
        for (name, (dimensions, shape, kinds, numbers)), array in zip(forms.items(), instances, strict=True):
            if not isinstance(array, np.ndarray) or array.ndim != dimensions or array.dtype.kind not in kinds:
                raise DeclarationError(
                    f"{what} {name} that are {_short(array)}; they must be an array {shape} of {numbers} numbers{place}"
                )
        sizes = instances.sizes.astype(np.int64, copy=False)
        items, reals = instances.items.astype(np.int64, copy=False), instances.reals.astype(np.float64, copy=False)
        if not len(sizes) == len(items) == len(reals):
            raise DeclarationError(
                f"{what} {len(sizes)} sizes, {len(items)} rows of items and {len(reals)} of reals{place}"
            )
        if sizes.min(initial=0) < 0:
            raise DeclarationError(f"{what} an instance of size {sizes.min()}; sizes are 0 or more{place}")
        widest = int(sizes.max(initial=0))
        widths = {"items": self.memory.item_width(widest), "reals": self.memory.real_width(widest)}
        for name, found in (("items", items.shape[1]), ("reals", reals.shape[1])):
            if len(sizes) and found < widths[name]:
                says = f"memory.{name[:-1]}_width says that it needs {widths[name]}"
                raise DeclarationError(f"{what} {found} {name} for size {widest}; {says}{place}")
        return Instances(sizes, items, reals)

    def judge(self, before: Instances, registers: Ints, items: Ints, reals: Reals) -> Flags:
        """Return which claimed solutions [B] are wrong, as `find_wrong` tells; none if there is none."""
        if self.find_wrong is None:
            return np.zeros(before.count, np.bool_)
        with user_errors(f"task {self.name!r}: find_wrong"):
            found: Any = np.asarray(self.find_wrong(before, registers, items, reals))
        if found.shape != (before.count,) or found.dtype != np.bool_:
            raise DeclarationError(
                f"task {self.name!r}: find_wrong returned {_short(found)}; "
                f"it must return an array of {before.count} truths, one for each instance"
                f"{place_of_function(self.find_wrong)}"
            )
        return np.asarray(found, np.bool_)

    def allocate(self, count: int, size: int) -> Instances:
        """Return `count` blank instances of a size, for a distribution to fill in."""
        items, reals = self.memory.item_width(size), self.memory.real_width(size)
        check_range(f"the number of items of {count:,} instances of size {size:,}", count * max(items, reals), ITEMS)
        return Instances(np.full(count, size, np.int64), np.zeros((count, items), np.int64), np.zeros((count, reals)))

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
        try:
            return self.read_parts([parse_numbers(part) for part in text.split(":")])
        except InstanceError as error:
            raise InstanceError(f"{show(text)} is not an instance of {self.name}: {error}") from error

    def read_parts(self, parts: Sequence[Sequence[Number]]) -> tuple[Instances, tuple[str, ...]]:
        """Return one instance whose parts are lists of numbers, and the texts of its items."""
        if self.inputs.read is None:
            raise InstanceError(f"task {self.name} does not read instances")
        try:
            with user_errors(f"task {self.name!r}: inputs.read"):
                read: Any = self.inputs.read(parts)
        except DeclarationError as error:
            # A user's own `read` need not look at everything itself.
            if not isinstance(error.__cause__, ArithmeticError | LookupError | TypeError | ValueError):
                raise
            said = " ".join(str(error.__cause__).split())
            raise InstanceError(f"{said and said + '; '}it takes {self.inputs.written}") from error
        if not isinstance(read, tuple) or len(read) != 2 or not isinstance(read[1], tuple | list):
            raise DeclarationError(
                f"task {self.name!r}: inputs.read returned {_short(read)}; it must return an instance and a tuple of "
                "the texts of its items"
            )
        instances = self.check_instances("inputs.read", read[0])
        if instances.count != 1:
            raise DeclarationError(f"task {self.name!r}: inputs.read returned {instances.count} instances instead of 1")
        return instances, tuple(read[1])

    def write_instance(self, instance: Instances) -> str:
        """Return one instance as text that `parse_instance` understands."""
        if self.inputs.write is None:
            raise InstanceError(f"task {self.name} does not write instances")
        with user_errors(f"task {self.name!r}: inputs.write"):
            text: Any = self.inputs.write(instance)
        if not isinstance(text, str):
            said = f"task {self.name!r}: inputs.write returned {_short(text)}; it must return a text"
            raise DeclarationError(said + place_of_function(self.inputs.write))
        return text


def _short(value: Any) -> str:
    """Return a value that somebody returned, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array {list(value.shape)} of {value.dtype}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"a {type(value).__name__}"


MOST_DIGITS = 4000
"""The longest whole number that is read, in digits; Python itself reads 4300."""


def parse_numbers(text: str) -> list[Number]:
    """Return the numbers of a text, separated by commas or blanks."""
    return [_parse_number(word) for word in split_words(text)]


def split_words(text: str) -> list[str]:
    """Return the words of a text, separated by commas or blanks; commas at the end, as of short rows, mean nothing."""
    if re.search(r"^\s*,|,\s*,", text.rstrip(", \t\r\n")):
        raise InstanceError("a number is missing before a comma")
    return text.replace(",", " ").split()


def _hint(word: str) -> str:
    """Return what to do about a word that is not a number, as spreadsheets write some."""
    if ";" in word:
        return ": numbers are separated by semicolons; use commas between them, and points in decimals"
    if word[:1] in ("'", '"') or word[-1:] in ("'", '"'):
        return ": it is in quotation marks; write plain numbers, such as 5,2,9,1"
    return ""


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
        raise InstanceError(f"{show(word)} is not a number{_hint(word)}") from None
    if value != value:
        raise InstanceError(f"{word!r} cannot be ordered: NaN compares with nothing")
    return value
