"""Try a task's kernels on small instances, as plain Python on guarded memory: see `guarded` for what is refused.

Actions are chosen at random, those that were tried least where they were seen come first, and some are repeated many
times, which leads to the ends of a list. An action that ends the episode is taken back, so that a walk goes on.
Teachers are followed on the same instances, and asked about every observation if there are few, else about those met.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surpass.engine.guarded import Endless, Guard, interpret_kernels, is_python_only, refuse, time_limit
from surpass.engine.refusals import Declared, check_kernel, of_feature, of_hints, of_instruction, of_start
from surpass.errors import DeclarationError, InstanceError, ObservationError, SurpassError
from surpass.machine.calls import FRAME
from surpass.machine.dispatch import compare
from surpass.machine.features import SIGNS, Comparison, CurrentFunction, Feature, PreviousAction
from surpass.machine.instructions import Instruction
from surpass.machine.interface import NO_ACTION, Interface
from surpass.machine.state import FUNCTION, LOCALS, PREVIOUS, RUNNING, SIZE, SOLVED, WRONG
from surpass.printing import cut
from surpass.tasks.blame import blaming, place_of, place_of_function
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances
from surpass.tasks.teacher import Teacher, declared_teachers

CALL_SECONDS = 2.0
"""Seconds of work after which a call of a kernel is taken to be endless."""
SECONDS = 3.0
"""Seconds of work after which no further walk begins."""
STEPS = 3000
"""About how many steps all walks take together."""
SIZES = (1, 2, 3, 5, 8)
"""The sizes of drawn instances, beside the smallest that the task is learned on..."""
LARGEST = 12
"""...unless that is larger than this."""
ENUMERATED = 3
"""Every instance is taken up to this size..."""
MOST_OF_A_SIZE = 15
"""...but no more than this many of a size."""
FRAMES = 512
"""How many calls there is room for, more than a walk can open."""
JUDGED = 40
"""How many ends of a size `find_wrong` is shown."""
TEACHER_SECONDS = 0.3
"""Seconds of work after which a teacher is neither followed nor asked any more."""
ASKED = 4096
"""Up to how many observations a teacher is asked about all of them."""
AT_ONCE = 64
"""How many observations a teacher is asked about at once."""


class Rehearsal(NamedTuple):
    """What came of a trial in which nothing went wrong."""

    instances: int
    """On how many instances."""
    doubts: tuple[str, ...]
    """What is allowed but hardly meant, in sentences."""


def rehearse(task: Task, effort: int = 1) -> Rehearsal:
    """Raise `SurpassError` about the first thing that goes wrong when a task's kernels and teachers are tried.

    With more `effort`, walks are as many times longer and also on larger instances. Return what there is to say if
    nothing goes wrong.
    """
    interpret_kernels()
    ends: dict[int, list[_Claim]] = {}
    instances = list(_choose_instances(task))
    if effort > 1:
        sizes = sorted({size for size in (*task.training_sizes, *task.sizes) if LARGEST < size <= LARGEST * effort})
        instances += [one for size in sizes for one in _draw(task, size)]
    _try_texts(task, instances)
    walker = _Walker(task, max(12, effort * STEPS // max(1, len(instances))), ends)
    for instance in instances:
        walker.walk(instance)
        if time.process_time() > effort * SECONDS + walker.began:
            break
    # First a few of all sizes: the time may be too short for all.
    few = slice(None, None, max(1, len(instances) // 8))
    ordered = [*instances[few], *instances]
    known = declared_teachers().values() if not task.interface.is_full_view else ()
    doubts = [walker.try_teacher(one, ordered, effort * TEACHER_SECONDS) for one in known if one.task is task]
    walker.raise_strange()
    _judge(task, ends)
    return Rehearsal(len(instances), tuple(filter(None, doubts)))


# Instances


def _choose_instances(task: Task) -> Iterator[Instances]:
    """Yield instances one by one, the smallest first: every small one, and drawn ones of each distribution."""
    with _watched(task, "inputs.small", "on small sizes"):
        enumeration = enumeration_of(task)
        largest = min(enumeration.largest, ENUMERATED) if enumeration.exhaustive else -1
        enumerated = [one for size in range(largest + 1) for one in _enumerate(task, enumeration.instances(size))]
    yield from enumerated
    for size in sorted({*SIZES, min(task.training_sizes[0], LARGEST)}):
        yield from _draw(task, size)


def _draw(task: Task, size: int) -> Iterator[Instances]:
    """Yield an instance of a size from each distribution."""
    named = min((*task.sizes, *task.training_sizes))
    for data, kind in task.inputs.kinds:
        try:
            with _watched(task, f"inputs.draw[{data!r}]", f"for an instance of size {size}"):
                drawn = task.draw(Request(size=size, count=2, data=data, queries=kind))
        except SurpassError as error:
            # A task may know no instances that are smaller than those it names itself.
            if size >= named or isinstance(error.__cause__, Endless):
                raise
            continue
        yield drawn.part(0, 1)


def _enumerate(task: Task, batches: Any) -> Iterator[Instances]:
    """Yield the first instances of some batches one by one."""
    left = MOST_OF_A_SIZE
    for batch in batches:
        whole = task.check_instances("inputs.small.instances", batch)
        for row in range(min(left, whole.count)):
            yield whole.part(row, row + 1)
        left -= whole.count
        if left <= 0:
            return


def _try_texts(task: Task, instances: list[Instances]) -> None:
    """Write one instance of each size, and read it again."""
    if task.inputs.write is None:
        return
    for instance in {int(one.sizes[0]): one for one in instances}.values():
        where = f"an instance of size {int(instance.sizes[0])}"
        with _watched(task, "inputs.write", f"for {where}"):
            text = task.write_instance(instance)
        if task.inputs.read is None or not instance.sizes[0]:
            continue
        try:
            with _watched(task, "inputs.read", f"for {where}"):
                task.parse_instance(text)
        except InstanceError as error:
            inner: BaseException = error
            while isinstance(inner, SurpassError) and inner.__cause__ is not None:
                inner = inner.__cause__
            said = f": {type(inner).__name__}: {inner} ({place_of(inner)[1]})" if inner is not error else ""
            raise DeclarationError(
                f"task {task.name!r}: inputs.read does not read {text!r}, which inputs.write wrote for {where}{said}"
            ) from None


@contextmanager
def _watched(task: Task, of: str, where: str) -> Iterator[None]:
    """Limit the time of a user's plain Python, and say what raises or does not end."""
    try:
        with blaming(f"task {task.name!r}: {of}"), time_limit(2 * CALL_SECONDS):
            yield
    except Endless as error:
        raise refuse(task, of, error, where) from error


# Walks


class _StrangeError(Exception):
    """A feature showed a value that it does not have; the walk ends there."""


def _out_of_range(task: Task, feature: Feature, number: Any, where: str) -> ObservationError:
    place = "".join(declared.place for declared in of_feature(task, feature)[:1])
    return ObservationError(
        f"the kernel of feature {feature.name!r} returned {int(number)}; allowed: 0 to "
        f"{len(feature.values) - 1} (task {task.name!r}, {where}){place}"
    )


class _Claim:
    """How an episode stood when it claimed to be solved."""

    def __init__(self, instance: Instances, memory: tuple[npt.NDArray[Any], ...]) -> None:
        self.instance = instance
        self.registers, self.items, self.reals = (array.copy()[None] for array in memory[:3])


class _Walker:
    """Walks through the episodes of a task."""

    def __init__(self, task: Task, steps: int, ends: dict[int, list[_Claim]]) -> None:
        self.task, self.steps, self.ends = task, steps, ends
        self.began = time.process_time()
        self.random = np.random.default_rng(0)
        self.tried: Counter[tuple[Any, ...]] = Counter()
        self.strange: dict[int, ObservationError] = {}
        """By size, what a feature showed that it does not have."""
        self.sizes: set[int] = set()
        """The sizes at which something was seen."""
        self.start = of_start(task)
        self.features = [of_feature(task, f) if isinstance(f, Feature) else () for f in task.interface.features]
        self.instructions = [of_instruction(task, instruction) for instruction in task.interface.instructions]
        self.hints = list(zip(task.hints, of_hints(task), strict=True))
        self.counts = [len(o.values) for i in task.interface.instructions for o in i.operands]

    # One episode

    def begin(self, instance: Instances) -> int:
        """Start an episode on an instance; return how it stands."""
        task, size = self.task, int(instance.sizes[0])
        items = np.zeros(task.memory.item_width(size), np.int64)
        reals = np.zeros(task.memory.real_width(size))
        items[:] = instance.items[0, : len(items)]
        reals[:] = instance.reals[0, : len(reals)]
        registers = np.zeros(task.register_count, np.int64)
        registers[SIZE], registers[LOCALS] = size, task.frame_size - FRAME
        self.instance, self.size, self.taken, self.last = instance, size, 0, ""
        self.guard = Guard(task, registers, items, reals, np.zeros(FRAMES * task.frame_size, np.int64))
        where = f"at the start of an instance of size {size}"
        return self._outcome(self.start, self._call(self.start, (), where), where)

    def raise_strange(self) -> None:
        """Raise `ObservationError` about a feature that is out of range where the task is learned, or everywhere.

        This harms nobody, since every run notices it; a task whose features fit small instances alone may be run on
        those.
        """
        smallest, largest = self.task.training_sizes
        for size, error in sorted(self.strange.items()):
            if smallest <= size <= largest or self.sizes <= self.strange.keys():
                raise error

    @property
    def where(self) -> str:
        """Where an episode has come to, in words."""
        steps = "1 step," if self.taken == 1 else f"{self.taken} steps, the last"
        after = f" after {steps} {self.last}" if self.last else ""
        return f"on an instance of size {self.size}{after}"

    def see(self) -> tuple[int, ...]:
        """Return the value numbers of the features."""
        where = self.where
        self.guard.may_write = False
        features = zip(self.task.interface.features, self.features, strict=True)
        self.sizes.add(self.size)
        seen = tuple(self._see(feature, kernels, where) for feature, kernels in features)
        for hint, declared in self.hints:
            given = self._call(declared, hint.arguments, where)
            self._number(declared, given, int | float | np.number | np.bool_, where)
        self.guard.may_write = True
        return seen

    def _see(self, feature: Feature | PreviousAction, kernels: tuple[Declared, ...], where: str) -> int:
        if isinstance(feature, PreviousAction):
            return int(self.guard.memory[0][PREVIOUS])
        if isinstance(feature, CurrentFunction):
            return self._in_range(feature, int(self.guard.memory[0][FUNCTION]), where)
        if not isinstance(feature, Comparison):
            number = self._call(kernels[0], feature.arguments, where)
            return self._in_range(feature, self._number(kernels[0], number, int | np.integer | np.bool_, where), where)
        *edge, left, right = kernels
        if feature.edge is not None and self._call(edge[0], feature.edge.arguments, where):
            return feature.edge_number or 0
        sides = [
            self._number(side, self._call(side, value.arguments, where), int | float | np.number | np.bool_, where)
            for side, value in ((left, feature.left), (right, feature.right))
        ]
        return feature.number(SIGNS[compare(*sides)])

    def act(self, instruction: int, choices: tuple[int, ...], number: int) -> int:
        """Execute an action, given by its indices and its number; return how the episode stands."""
        declared = self.task.interface.instructions[instruction]
        codes = [o.codes[c] if o.codes else c for o, c in zip(declared.operands, choices, strict=True)]
        self.guard.memory[0][PREVIOUS] = number + 1
        text = self._show(declared, choices)
        where, kernel = f"in {text} on an instance of size {self.size}", self.instructions[instruction]
        outcome = self._outcome(kernel, self._call(kernel, tuple(codes), where), where)
        self.taken, self.last = self.taken + 1, text
        return outcome

    def _show(self, declared: Instruction, choices: tuple[int, ...]) -> str:
        values = [str(o.values[c] if o.values else c) for o, c in zip(declared.operands, choices, strict=True)]
        return f"{declared.name}({', '.join(values)})"

    # What kernels may do and return

    def _call(self, declared: Declared, arguments: tuple[int, ...], where: str) -> Any:
        """Return what a kernel returns, or 0 if it only fails in Python; raise `DeclarationError` if it goes wrong."""
        try:
            with time_limit(CALL_SECONDS):
                return declared.kernel(self.guard.begin(most_calls=1), *arguments)
        except Exception as error:
            if is_python_only(error):
                check_kernel(declared)
                return 0
            raise refuse(self.task, declared.of, error, where) from None
        except BaseException as error:
            raise refuse(self.task, declared.of, error, where) from None

    def _number(self, declared: Declared, value: Any, kind: Any, where: str) -> Any:
        if not isinstance(value, kind):
            check_kernel(declared)
            raise DeclarationError(
                f"{declared.whose} returned {value!r}; it must return {declared.returns[1]}, {where}{declared.place}"
            )
        return value

    def _in_range(self, feature: Feature, number: Any, where: str) -> int:
        if not 0 <= number < len(feature.values):
            self.strange.setdefault(self.size, _out_of_range(self.task, feature, number, where))
            raise _StrangeError
        return int(number)

    def _outcome(self, declared: Declared, outcome: Any, where: str) -> int:
        if isinstance(outcome, bool | np.bool_) or not isinstance(outcome, int | np.integer):
            check_kernel(declared)
            outcome = self._number(declared, outcome, int | np.integer | np.bool_, where)
        if int(outcome) not in (RUNNING, SOLVED, WRONG):
            raise DeclarationError(
                f"{declared.whose} returns {int(outcome)}, which is no outcome; "
                f"it must return RUNNING ({RUNNING}), SOLVED ({SOLVED}) or WRONG ({WRONG}), {where}{declared.place}"
            )
        return int(outcome)

    # Many episodes

    def walk(self, instance: Instances) -> None:
        """Walk through an instance twice: by actions that were tried least, and by repeated ones."""
        for repeats in (False, True):
            # Who points into a list has nothing to do on an empty one.
            is_idle = self.task.interface.is_full_view and not instance.sizes[0]
            if self.begin(instance) == RUNNING and not is_idle:
                with suppress(_StrangeError):
                    self._walk(repeats)

    def _walk(self, repeats: bool) -> None:
        action: tuple[int, tuple[int, ...]] | None = None
        for _ in range(self.steps // 2):
            seen = self.see()
            if action is None or not repeats or self.random.random() < 0.3:
                candidates = [self._draw_action() for _ in range(1 if repeats else 4)]
                action = min(candidates, key=lambda one: self.tried[(seen, one)])
            self.tried[(seen, action)] += 1
            before = [array.copy() for array in self.guard.memory]
            if self.act(*action, self._number_of(action)) != RUNNING:
                self._keep_end()
                for array, old in zip(self.guard.memory, before, strict=True):
                    array[:] = old
                action = None

    def _draw_action(self) -> tuple[int, tuple[int, ...]]:
        instruction = int(self.random.integers(len(self.instructions)))
        operands = self.task.interface.instructions[instruction].operands
        counts = [len(operand.values) or max(1, self.size) for operand in operands]
        return instruction, tuple(int(self.random.integers(count)) for count in counts)

    def _number_of(self, action: tuple[int, tuple[int, ...]]) -> int:
        interface = self.task.interface
        if interface.is_full_view:
            return NO_ACTION
        number, operands = 0, interface.instructions[action[0]].operands
        for operand, choice in zip(operands, action[1], strict=True):
            number = number * len(operand.values) + choice
        return interface.offsets[action[0]] + number

    def _keep_end(self) -> None:
        ends = self.ends.setdefault(self.size, [])
        if len(ends) < JUDGED:
            ends.append(_Claim(self.instance, self.guard.memory))

    # Teachers

    def try_teacher(self, teacher: Teacher, instances: list[Instances], seconds: float) -> str:
        """Raise what goes wrong when a teacher is asked; return a sentence if it has no action where it comes to."""
        began, doubt = time.process_time(), ""
        for instance in instances:
            if doubt or time.process_time() > began + seconds:
                break
            with suppress(_StrangeError):
                doubt = self._follow(teacher, instance)
        interface = self.task.interface
        asked = range(interface.observation_count)
        if interface.observation_count > ASKED:
            asked = sorted({_pack(interface, seen) for seen, _ in self.tried})[:ASKED]  # type: ignore[assignment]
        for k in range(0, len(asked), AT_ONCE):
            if time.process_time() > began + 2 * seconds:
                break
            self._ask(teacher, asked[k : k + AT_ONCE])
        return doubt

    def _follow(self, teacher: Teacher, instance: Instances) -> str:
        """Walk through an instance by a teacher; return a sentence if the teacher has no action on its way."""
        interface = self.task.interface
        most = min(100, int(Limit.parse(self.task.limit).steps(instance.sizes)[0]))
        if self.begin(instance) != RUNNING:
            return ""
        for _ in range(most):
            packed = _pack(interface, self.see())
            (number,) = self._ask(teacher, [packed])
            if number == NO_ACTION:
                place = place_of_function(teacher.choose)
                sees = cut(interface.describe(packed), 200)
                return f"{teacher.name} of task {self.task.name!r} returns no action {self.where}, for {sees}{place}"
            instruction, *choices = interface.action_rows[number].tolist()
            used = len(interface.instructions[instruction].operands)
            if self.act(instruction, tuple(choices[:used]), number) != RUNNING:
                self._keep_end()
                break
        return ""

    def _ask(self, teacher: Teacher, observations: Sequence[int]) -> list[int]:
        """Return the actions of a teacher for packed observations."""
        try:
            with time_limit(CALL_SECONDS):
                answers: list[int] = teacher.actions(np.array(observations)).tolist()
        except Endless as error:
            raise refuse(self.task, teacher.name, error, f"asked about observation {observations[0]}") from None
        return answers


def _pack(interface: Interface, seen: tuple[int, ...]) -> int:
    return sum(digit * stride for digit, stride in zip(seen, interface.strides, strict=True))


def _judge(task: Task, ends: dict[int, list[_Claim]]) -> None:
    """Show `find_wrong` the ends of each size, and some of all sizes together."""
    groups = [*ends.values(), [end for group in ends.values() for end in group[:5]]]
    for group in groups:
        if not group:
            continue
        before = join_instances(task, [end.instance for end in group])
        padded = [
            np.concatenate([np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays])
            for arrays, width in (
                ([end.items for end in group], before.items.shape[1]),
                ([end.reals for end in group], before.reals.shape[1]),
            )
        ]
        with _watched(task, "find_wrong", f"for {len(group)} instances"):
            task.judge(before, np.concatenate([end.registers for end in group]), *padded)
