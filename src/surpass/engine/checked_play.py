"""Play a task at random as plain Python, with every index into an episode's memory checked.

`check_task` runs this module in a process of its own, with the compiler off: the engine's own loops then run as plain
Python, and call the task's kernels through functions that look at what goes in and what comes out.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from surpass.arrays import Flags, Ints
from surpass.bundles import digest
from surpass.engine.record import Episode
from surpass.engine.run import run
from surpass.errors import DeclarationError, InstanceError, ObservationError, SurpassError
from surpass.machine.instructions import Action
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import DEPTH, LOCALS, RUNNING, SIZE, SOLVED, WRONG, Outcome, State
from surpass.printing import truncate
from surpass.table import Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Limit, Request, Task
from surpass.tasks.teacher import Teacher, declared_teachers
from surpass.tasks.user_code import describe_error, is_users, place_of, place_of_function, show_place, user_frames
from surpass.tasks.user_file import USER_MODULE, find_task_again

SECONDS, STEPS = 3.0, 2000
"""Seconds of work after which no further episode begins, and about how many random steps are taken in all."""
LEAST_SECONDS = 0.5
"""Seconds of work that every size has."""
SIZES, LARGEST = (1, 2, 3, 5, 8), 12
"""The sizes of small drawn instances, beside the smallest that the task is learned on, if it is at most `LARGEST`."""
LADDER = (16, 64, 250, 1000, 4000, 16_000)
"""The sizes of large ones, as far as they are wanted, beside those that the task names and the largest wanted."""
PATIENCE = 5
"""How many times longer a call may take on large instances, where it took a while on smaller ones."""
ENUMERATED, MOST_OF_A_SIZE = 3, 15
"""Up to which size instances are enumerated, and how many of a size."""
TAUGHT, ASKED, MOST_TAUGHT = 20, 4096, 100
"""A teacher plays on about so many instances, for so many steps at most (the last number), and is asked about all
observations if there are no more than this."""
LEAST_CLAIMS = 10
"""How many solutions must have been claimed before it is said that all are wrong."""
HAS_TIMER = hasattr(signal, "setitimer")
"""Whether the system can interrupt a call after some seconds of work; else `check_task` ends the process later."""


class BadAccessError(IndexError):
    """A kernel reads or writes memory that it must not."""


class KernelError(DeclarationError):
    """The user's code raises an error when it runs as plain Python."""


class EndlessError(BaseException):
    """A call of the user's code takes too long."""


class SlowError(BaseException):
    """A call of the user's code takes so long on large instances that nobody can tell whether it ends."""


class CheckedArray(np.ndarray[Any, Any]):
    """One array of an episode's memory: it refuses indices outside it, and gives plain Python numbers."""

    label: str = ""

    def __array_finalize__(self, source: Any) -> None:
        self.label = getattr(source, "label", "")

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int | np.integer):
            return super().__getitem__(index)
        self._check("reads", int(index))
        return self.item(int(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise BadAccessError(f"writes {self.label}, but what a program sees must only be read")
        if isinstance(index, int | np.integer):
            self._check("writes", int(index))
            if type(value) is int and self.dtype == np.int64:
                value = (value + 2**63) % 2**64 - 2**63  # compiled integers wrap at 64 bits
        super().__setitem__(index, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _check(self, does: str, index: int) -> None:
        if 0 <= index < len(self):
            return
        if self.label == "stack":
            raise BadAccessError("opens a second call in one step, or a call although its memory saves no registers")
        has = f"its indices are 0 to {len(self) - 1}" if len(self) else "it is empty"
        raise BadAccessError(f"{does} {self.label}[{index}], but {has}")


class Checker:
    """Plays the episodes of a task and raises `DeclarationError` at the first mistake."""

    def __init__(self, task: Task, effort: int, call_seconds: float, largest: int) -> None:
        self.task, self.effort, self.call_seconds, self.largest = task, effort, call_seconds, largest
        self._size, self._longest, self._before = 0, 0.0, (1, 0.0)
        """The present size, the longest call there, and the size before with its longest call."""
        self.doubts: list[str] = []
        """What is allowed but hardly meant, in sentences."""
        self._random = np.random.default_rng(0)
        self._met: set[int] = set()
        self._claims = 0
        """How many solutions the kernels have claimed,"""
        self._refuted: list[Instances] = []
        """and the instances of those that `find_wrong` calls wrong."""
        self._start, self._observe, self._act, self._hint = task.start, task.observe, task.act, task.hint
        self._judge, self._is_right = task.judge, task.is_right
        vars(task).update(start=self.start, observe=self.observe, act=self.act, judge=self.judge)
        if self._is_right is not None:
            vars(task).update(is_right=self.is_right)
        if HAS_TIMER:
            signal.signal(signal.SIGPROF, _raise_endless)

    # What stands in for the task's kernels

    def start(self, state: State) -> int:
        """Complete the memory of a fresh instance in place."""
        where = f"at the start of an instance of size {state.registers[SIZE]}"
        return self._change(state, self._start, "start", self._start, where)

    def act(self, state: State, instruction: int, operands: tuple[int, ...]) -> int:
        """Execute an action in place."""
        declared, choices = self.task.interface.instructions[instruction], tuple(map(int, operands))
        values = (o.values[c] if o.values else c for o, c in zip(declared.operands, choices, strict=False))
        where = f"in {Action(declared.name, tuple(values))} on an instance of size {state.registers[SIZE]}"
        act = partial(self._act, instruction=int(instruction), operands=choices)
        return self._change(state, act, f"instruction {declared.name}", declared.does, where)

    def observe(self, state: State) -> tuple[int, ...]:
        """Return the value numbers of the features."""
        interface, where = self.task.interface, f"on an instance of size {state.registers[SIZE]}"
        with self._calling(where):
            checked = self._checked(state, may_write=False)
            seen = () if self._observe is None else tuple(self._observe(checked))
            self._hint(checked)
        for feature, number, radix in zip(interface.features, seen, interface.radices, strict=True):
            if not (isinstance(number, int | np.integer) and 0 <= number < radix):
                said = f"the kernel of feature {feature.name!r} returned {number}; allowed: 0 to {radix - 1}"
                place = place_of_function(getattr(feature, "kernel", None))
                raise ObservationError(f"{said} (task {self.task.name!r}, {where}){place}")
        return seen

    def judge(self, before: Instances, *end: Any, is_claim: bool = True) -> Flags:
        """Return whether the end of the one episode of a batch is wrong; note it if a solution is claimed."""
        with self._calling(f"in find_wrong on an instance of size {before.sizes[0]}"):
            wrong = self._judge(before, *end)
        self._claims += is_claim
        self._refuted += [before] if is_claim and wrong[0] else []
        return wrong

    def is_right(self, state: State, before: Ints) -> bool:
        """Judge the end of an episode."""
        assert self._is_right is not None
        size = int(state.registers[SIZE])
        given = before[: self.task.memory.item_width(size)].view(CheckedArray)
        given.label, given.flags.writeable = "before", False
        with self._calling(f"at the end of an instance of size {size}"):
            return bool(self._is_right(self._checked(state, may_write=False), given))

    def _checked(self, state: State, *, may_write: bool) -> State:
        """Return the memory that belongs to an episode as checked arrays, with room for one more call."""
        size, depth, memory = int(state.registers[SIZE]), int(state.registers[DEPTH]), self.task.memory
        rooms = (None, memory.item_width(size), memory.real_width(size), (depth + 1) * self.task.frame_size)
        views = [array[:room].view(CheckedArray) for array, room in zip(state, rooms, strict=True)]
        for view, label in zip(views, State._fields, strict=True):
            view.label, view.flags.writeable = label, may_write
        return State(*views)

    def _change(self, state: State, call: Callable[[State], Any], of: str, kernel: Any, where: str) -> int:
        """Call a kernel that changes the memory; return the outcome."""
        registers, before = state.registers, state.registers.copy()
        with self._calling(where):
            outcome = call(self._checked(state, may_write=True))
        whose = f"task {self.task.name!r}, {of}: {getattr(kernel, '__name__', of)!r}"
        if isinstance(outcome, bool) or outcome not in (RUNNING, SOLVED, WRONG):
            said = f"returns {outcome!r}; it must return RUNNING ({RUNNING}), SOLVED ({SOLVED}) or WRONG ({WRONG})"
            raise DeclarationError(f"{whose} {said}, {where}{place_of_function(kernel)}")
        is_kept = (registers[[SIZE, LOCALS]] == before[[SIZE, LOCALS]]).all()
        if not is_kept or not 0 <= registers[DEPTH] <= before[DEPTH] + 1:
            said = f"changes register SIZE, DEPTH or LOCALS, which belong to the machine, {where}"
            raise DeclarationError(f"{whose} {said}{place_of_function(kernel)}")
        return int(outcome)

    @contextmanager
    def _calling(self, where: str) -> Iterator[None]:
        """Turn what the user's code raises, or that it does not end, into a sentence about what it does."""
        most, began = min(PATIENCE * self.call_seconds, max(self.call_seconds, self._expected)), time.process_time()
        try:
            _set_timer(most)
            yield
            self._longest = max(self._longest, time.process_time() - began)
        except SurpassError:
            raise
        except (Exception, EndlessError) as error:
            if isinstance(error, EndlessError) and self._expected >= most > self.call_seconds:
                raise SlowError from error
            frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
            # A loop is in the kernel itself, though a function that it calls may be running at the moment.
            code, line = (user_frames(error) or frames)[0 if isinstance(error, EndlessError) else -1]
            said = {
                BadAccessError: str(error),
                EndlessError: f"is still running after {most:g} s",
                ZeroDivisionError: "divides by zero",
                RecursionError: "calls itself without end",
            }.get(type(error), f"raises {describe_error(error)}")
            whose = f"task {self.task.name!r}: {code.co_name!r}"
            raise KernelError(f"{whose} {said}{show_place(code, line)}, {where}") from error
        finally:
            _set_timer(0)

    @property
    def _expected(self) -> float:
        """How many seconds a call takes that takes time of the size cubed, judged by the size before."""
        size, seconds = self._before
        return seconds * (self._size / size) ** 3

    def _go_to(self, size: int) -> bool:
        """Note the size of the instances that come next; return whether it is another one."""
        if size == self._size:
            return False
        self._before, self._size, self._longest = (max(1, self._size), self._longest), size, 0.0
        return True

    # Instances

    def run(self) -> int:
        """Check everything; return on how many instances."""
        end, instances, played = time.process_time() + self.effort * SECONDS, list[Instances](), list[Instances]()
        with self._until_slow():
            instances.extend(self._instances())
        steps = max(12, self.effort * STEPS // max(1, sum(one.sizes[0] <= LARGEST for one in instances)))
        with self._until_slow():
            for instance in {int(one.sizes[0]): one for one in instances}.values():
                self._check_text(instance)
            for instance in instances:
                if self._go_to(int(instance.sizes[0])):
                    end = max(end, time.process_time() + LEAST_SECONDS)
                if time.process_time() < end and self._play(instance, steps, end) and self._size <= LARGEST:
                    played.append(instance)
        self._go_to(0)
        for teacher in declared_teachers():
            if teacher.task is self.task and not self.task.interface.is_full_view:
                self._check_teacher(teacher, played[:: 1 + len(played) // TAUGHT])
        if len(self._refuted) == self._claims >= LEAST_CLAIMS:
            said = f"find_wrong calls all {self._claims} solutions wrong that were tried, the first of"
            place = place_of_function(self.task.find_wrong)
            self.doubts.append(f"task {self.task.name!r}: {said} {self._written(self._refuted[0])}{place}")
        return len(instances)

    @contextmanager
    def _until_slow(self) -> Iterator[None]:
        """End a block at the size where a call takes too long, and doubt whether that and larger ones are fine."""
        try:
            yield
        except SlowError:
            self.doubts.append(
                f"task {self.task.name!r} was not checked on instances of size {self._size:,} and more: one call of its"
                f" code takes over {PATIENCE * self.call_seconds:g} s there as plain Python"
            )

    def _instances(self) -> Iterator[Instances]:
        """Yield instances one by one, the smallest first: small ones, and drawn ones of each distribution."""
        task, named = self.task, {*self.task.sizes, *self.task.training_sizes}
        with self._calling("in inputs.small"):
            small = enumeration_of(task)
            place = place_of_function(small.instances)
            for size in range(min(small.largest, ENUMERATED) + 1 if small.exhaustive else 0):
                batches = (task.check_instances("inputs.small", some, place) for some in small.instances(size))
                yield from islice((some.part(k, k + 1) for some in batches for k in range(some.count)), MOST_OF_A_SIZE)
        end, usual = time.process_time() + self.effort * SECONDS, {*SIZES, min(task.training_sizes[0], LARGEST)}
        large = {size for size in (*named, *LADDER) if LARGEST < size < self.largest} | {self.largest}
        for size in sorted(usual | (large if self.largest else set())):
            self._go_to(size)
            for data, queries in task.inputs.kinds:
                if size > LARGEST and time.process_time() > end and (data, queries) != task.inputs.kinds[0]:
                    break
                request = Request(size=size, count=2, data=data, queries=queries)
                try:
                    with self._calling(f"in inputs.draw[{data!r}] for an instance of size {size}"):
                        drawn, again = task.draw(request), task.draw(request)
                except KernelError:
                    raise
                except SurpassError:
                    if min(named) <= size <= max(named):
                        raise
                    continue  # a task may have no instances of other sizes than those that it names
                doubt = f"task {task.name!r}: inputs.draw[{data!r}] returns other instances for the same request"
                if not all(map(np.array_equal, drawn, again)) and doubt not in self.doubts:
                    self.doubts.append(doubt)
                yield drawn.part(0, 1)

    def _check_text(self, instance: Instances) -> None:
        """Write an instance, and read it again."""
        inputs, size = self.task.inputs, int(instance.sizes[0])
        with self._calling(f"in inputs.write or inputs.read for an instance of size {size}"):
            text = self.task.write_instance(instance) if inputs.write else ""
            try:
                if inputs.write and inputs.read and size:
                    self.task.parse_instance(text)
            except InstanceError as error:
                said = f"inputs.read does not read {text!r}, which inputs.write wrote: {error}"
                raise DeclarationError(f"task {self.task.name!r}: {said}{place_of(error, inputs.read)}") from error

    def _written(self, instance: Instances) -> str:
        """Return an instance in words."""
        if not self.task.inputs.write:
            return f"one of size {instance.sizes[0]}"
        return repr(self.task.write_instance(instance))

    # Episodes

    def _play(self, instance: Instances, steps: int, end: float) -> bool:
        """Play an episode of so many steps at random, or until a time.

        Return whether there is something to do, and all that it shows is in range.

        Half of the moves repeat the last one, which leads to the ends of a list; one that ends the episode is taken
        back. Every run notices values out of range, so a task whose features fit some sizes may still be run on those.
        """
        size = int(instance.sizes[0])
        smallest, largest = self.task.training_sizes
        move = self._draw_move(max(1, size))
        try:
            episode = Episode(self.task, instance, steps + 1)
            if not episode.is_running:
                return False
            for _ in range(steps if size else 0):
                if time.process_time() > end:
                    break
                if self.task.interface.is_full_view:
                    self.observe(episode.state)
                else:
                    self._met.add(episode.observe())
                if self._random.random() < 0.5:
                    move = self._draw_move(size)
                before = episode.snapshot()
                episode.step(*move)
                if not episode.is_running:
                    self.judge(instance, *episode.batch[:3], is_claim=episode.outcome == SOLVED)
                    episode.batch = before
        except ObservationError:
            if min(smallest, LARGEST) <= size <= largest:
                raise
            return False
        return True

    def _draw_move(self, size: int) -> tuple[int, Any]:
        """Return the number and the row of a random action; a full view's has no number."""
        interface, random = self.task.interface, self._random
        instruction = int(random.integers(len(interface.instructions)))
        operands = interface.instructions[instruction].operands
        row = np.zeros(1 + max(1, interface.most_operands), np.int64)
        row[: 1 + len(operands)] = [instruction, *(int(random.integers(len(o.values) or size)) for o in operands)]
        if interface.is_full_view:
            return NO_ACTION, row
        return int(interface.offsets[instruction] + interface.operand_weights[instruction] @ row[1:]), row

    def _check_teacher(self, teacher: Teacher, instances: list[Instances]) -> None:
        """Let a teacher play, and ask it about all observations, or those met."""
        interface, table = self.task.interface, Table.of(teacher)
        limit, find_loops = Limit.parse(self.task.limit), not self.task.limit_is_budget
        whose, place = f"{teacher.name} of task {self.task.name!r}", place_of_function(teacher.choose)
        ends = []
        for instance in instances:
            most = Limit(min(MOST_TAUGHT, int(limit.steps(instance.sizes)[0])), 0)
            ends.append(run(table, instance, limit=most, find_loops=find_loops, threads=1))
        observations, actions = table.entries()
        if NO_ACTION in actions:
            sees = truncate(interface.describe(observations[actions == NO_ACTION][0]), 200)
            self.doubts.append(f"{whose} returns no action for {sees}{place}")
        elif ends and not any(end.solved[0] for end in ends):
            said = f"solves none of {len(ends)} small instances in up to {MOST_TAUGHT} steps; the end of"
            reason = Outcome(int(ends[0].outcomes[0])).reason
            self.doubts.append(f"{whose} {said} {self._written(instances[0])} is: {reason}{place}")
        is_few = interface.observation_count <= ASKED
        asked = np.arange(interface.observation_count) if is_few else np.array(sorted(self._met))
        with self._calling(f"asked about {len(asked)} observations"):
            teacher.actions(asked)


def _set_timer(seconds: float) -> None:
    """Raise `EndlessError` after some seconds of work, if the system can; 0 for never."""
    if HAS_TIMER:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _raise_endless(*_: object) -> None:
    raise EndlessError


def check(name: str, file: str, effort: int = 1, call_seconds: float = 2.0, largest: int = 0) -> dict[str, Any]:
    """Check the task of a name and a file, on instances up to the size `largest` or on small ones; return the verdict.

    Its kind is `passed`, the name of an error, or `python` if the compiler must decide.
    """
    try:
        with np.errstate(all="ignore"):
            checker = Checker(find_task_again(name, file), effort, call_seconds, largest)
            count = checker.run()
    except SurpassError as error:
        kind, cause = type(error).__name__, error.__cause__ or error
        if isinstance(error, KernelError) and isinstance(cause, TypeError | AttributeError | NameError | ImportError):
            kind = "python"
        frames = traceback.StackSummary.extract(traceback.walk_tb(cause.__traceback__), capture_locals=True)
        way = traceback.StackSummary.from_list([frame for frame in frames if is_users(frame.filename)]).format()
        return {"kind": kind, "said": str(error), "way": "".join(way)}
    modules = {name: getattr(module, "__file__", None) or "<>" for name, module in sys.modules.items()}
    used = {name: path for name, path in modules.items() if is_users(path) and not name.startswith(USER_MODULE)}
    digests = {name: digest(Path(path).read_bytes()) for name, path in used.items()}
    told = {"instances": count, "largest": largest, "doubts": checker.doubts, "modules": digests}
    return {"kind": "passed", **told}


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the verdict
        verdict = check(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
    print(json.dumps(verdict))
